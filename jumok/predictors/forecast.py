"""A forecast as an answer: numbers in the data's own units, as JSON, as rows of a table, as a chart in a notebook."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jumok.lens.forecast_chart import draw_forecast
from jumok.lens.forecast_figure import save_forecasts
from jumok.lens.forecast_look import ForecastLook
from jumok.lens.forecast_page import make_forecast_page
from jumok.lens.forecast_svg import forecast_svg
from jumok.lens.forecast_view import ForecastView, Values
from jumok.lens.html import Page
from jumok.lens.terminal import Drawing
from jumok.texts import localized
from jumok.writing import explained, whole_file

# L steps of history · H steps ahead · V targets · K ways

MOST_SHOWN = 4  # charts of a notebook's cell


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(ForecastView):
    """What is forecast of one series."""

    def __repr__(self) -> str:
        name = f"{self.series!r}, " if self.series else ""
        return f"Forecast({name}{len(self)} steps of {', '.join(self.targets)} from {self.labels[0]} on)"

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast as JSON has it: a list of steps for each target."""
        told: dict[str, Any] = {
            "series": self.series,
            "origin": self.history_labels[-1],
            "dates": self.labels,
            "point": self._by_target(self.point),
        }
        if self.quantiles:
            told["quantiles"] = {f"{level:g}": self._by_target(values) for level, values in self.quantiles.items()}
        if self.ways is not None and self.likelihood is not None:
            told["ways"] = [
                {"likelihood": number(self.likelihood[way]), "point": self._by_target(self.ways[way])}
                for way in np.argsort(-self.likelihood).tolist()
            ]
        if self.truth is not None:
            told["truth"] = self._by_target(self.truth)
        return told

    def _by_target(self, values: Values) -> dict[str, list[float | None]]:
        return {name: [number(value) for value in values[:, place]] for place, name in enumerate(self.targets)}

    @property
    def headings(self) -> list[str]:
        """The columns of `rows`."""
        levels = [f"{level:g}" for level in self.quantiles]
        return ["series", "date", "target", "point", *levels, *(["truth"] if self.truth is not None else [])]

    def rows(self) -> Iterator[list[str | float | None]]:
        """Yield the rows of a long table: series, date, target, point, quantiles; None where there is no number."""
        columns = [self.point, *self.quantiles.values(), *([self.truth] if self.truth is not None else [])]
        for step, date in enumerate(self.labels):
            for place, target in enumerate(self.targets):
                yield [self.series, date, target, *(number(values[step, place]) for values in columns)]

    def draw(self) -> list[Drawing]:
        """Return the chart of each target for a terminal; a path is one chart."""
        return draw_forecast(self)

    def _repr_html_(self) -> str:
        """Show charts in a notebook."""
        return Forecasts([self])._repr_html_()


class Forecasts(list[Forecast]):
    """The forecasts of some series by one run; in a notebook, the charts of the first."""

    most_on_page = 50  # series

    def __init__(self, forecasts: Iterable[Forecast] = (), *, run: str = "", season: int = 0) -> None:
        """Take forecasts, the name of their run and the steps of a season."""
        super().__init__(forecasts)
        self.run, self.season = run, season

    def page(self, *, lang: str | None = None) -> Page:
        """Return the page of the first forecasts; SeriesForecaster.explain adds where the model looked."""
        looks = [ForecastLook(self.run, one, season=self.season) for one in self[: self.most_on_page]]
        return make_forecast_page(looks, lang=lang)

    def csv_parts(self) -> Iterator[str]:
        """Yield one long table in CSV, series by series: series, date, target, point, quantiles."""
        for number, one in enumerate(self):
            file = io.StringIO()
            csv.writer(file, lineterminator="\n").writerows([*([] if number else [one.headings]), *one.rows()])
            yield file.getvalue()

    def save_csv(self, path: str | Path) -> None:
        """Write one long table in CSV."""
        with explained(path), whole_file(path) as part, part.open("w", encoding="utf-8") as file:
            file.writelines(self.csv_parts())

    def save_png(self, path: str | Path) -> int:
        """Draw the charts of the first series and targets (extra `plot`); return how many found no room."""
        return save_forecasts(self, Path(path))

    def _repr_html_(self) -> str:
        charts = [(one, place) for one in self for place in range(1 if one.paths else len(one.targets))]
        shown = "".join(forecast_svg(one, place) for one, place in charts[:MOST_SHOWN])
        left = len(charts) - MOST_SHOWN
        more = localized(f"and {left:,} more charts") if left > 0 else ""
        return f"<div>{shown}<p>{more}</p></div>"


def number(value: float) -> float | None:
    """Return a value as a table has it, with the seven digits that a model's numbers have; None where there is none."""
    return float(f"{value:.7g}") if np.isfinite(value) else None
