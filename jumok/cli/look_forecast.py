"""`jumok look RUN TABLE --at DATE`: a forecast, and which steps of the past one of its steps looked at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from jumok.cli.display import error_console, say, standard_console, warn_on
from jumok.cli.look_page import Wanted, save_page
from jumok.json_text import json_text

if TYPE_CHECKING:
    from jumok.api import ForecastExplanation, Looked


@dataclass(frozen=True)
class Window:
    """Which forecast is looked at, and which of its steps."""

    at: str = ""
    series: str = ""
    step: int = 1
    target: str = ""


def look_at_forecast(runs: Mapping[str, str], table: str, wanted: Wanted, window: Window) -> None:
    """Show where each run, by its name, looked in the past while it forecast; several of them on one page."""
    from jumok import api

    found = []
    options = api.LoadOptions(checkpoint=wanted.checkpoint)
    for name, run in runs.items():
        forecaster = api.load_for(api.SeriesForecaster, run, options)
        warn = warn_on(error_console())
        explanation = forecaster.explain(table, at=window.at, series=window.series, warn=warn)
        show(explanation, wanted, window, name=name if len(runs) > 1 else "")
        found.append(explanation.look(name))
    if wanted.page:
        save_page(api.make_forecast_page(found), wanted.html, opened=wanted.opened)


def show(explanation: "ForecastExplanation", wanted: Wanted, window: Window, *, name: str = "") -> None:
    """Show one run's weights in the terminal or as a PNG, or print its numbers; name it where there are several."""
    from jumok import api

    looked = explanation.looked(
        window.step, target=window.target, kind=wanted.kind, layer=wanted.layer, head=wanted.head
    )
    if wanted.as_json:
        told = ({"run": name} if name else {}) | explanation.to_dict() | weights_of(explanation, looked)
        typer.echo(json_text(told))
        return
    console, view = standard_console(), explanation.forecast
    if name:
        console.print(f"[{name}]", markup=False, soft_wrap=True)
    say(f"{view.labels[looked.step]}, step {looked.step + 1} of {len(view)}: {looked.title}")
    if explanation.why and not wanted.kind:
        say(explanation.why)
    for warning in explanation.warnings if looked.is_attention else ():
        warn_on(error_console())(api.Notice(None, warning))
    if wanted.png is not None:
        explanation.save_png(looked, wanted.png)
        say(f"image: {wanted.png}")
    elif not wanted.page:
        console.print(explanation.draw(looked, colour=console.is_terminal), soft_wrap=True)
    for label, weight in looked.strongest():
        number = f"{weight:.1%}" if looked.is_attention else f"{weight:+.4g}"
        console.print(f"  {number:>10}  {label}", markup=False, highlight=False, soft_wrap=True)


def weights_of(explanation: "ForecastExplanation", looked: "Looked") -> dict[str, object]:
    """Return the chosen weights as JSON has them."""
    return {
        "step": looked.step + 1,
        "target": explanation.forecast.targets[looked.target],
        "what": looked.title,
        "keys": list(looked.keys.labels),
        "weights": looked.weights.tolist(),
    }
