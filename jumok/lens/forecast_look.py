"""A forecast and where its model looked, as a page shows them.

ForecastView, and of an explained forecast its ForecastAttention → ForecastLook → lens/forecast_page.py
"""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from jumok.inspection.pointing import ALIKE, distance_between_queries
from jumok.inspection.record import AttentionRecord
from jumok.inspection.series_tokens import Sides, Span
from jumok.lens.forecast_view import DAY, ForecastView

# H horizon · V targets · S stretches

STEPS_ALIKE = (
    "The steps of the forecast look at nearly the same places: their maps hardly differ, in any head. Such a model says "
    "much the same of every step, unless its linear part tells them apart."
)


@dataclass(frozen=True)
class Occlusion:
    """How a forecast changes where a stretch of the past is taken for missing, in the data's own units."""

    spans: tuple[Span, ...]  # (S,): the first step of each stretch, and the one after its last
    change: Tensor  # (S, H, V): the forecast without the stretch, less the forecast

    def of(self, target: int | None) -> Tensor:
        """Return the change (S, H) of a target; None, for a path: how far each place moves."""
        return self.change.norm(dim=-1) if target is None else self.change[..., target]


@dataclass(frozen=True)
class ForecastAttention:
    """Where a forecaster looked while it forecast one window."""

    tokens: str  # what looks: steps, patches, variables; '': there is no attention
    sides: Sides
    records: tuple[AttentionRecord, ...]  # of patches one per target, else one; their maps are (heads, Q, K)
    occlusion: Occlusion | None = None

    def record_of(self, target: int) -> AttentionRecord:
        """Return what a target's forecast was made with."""
        if not self.records:
            return AttentionRecord()
        return self.records[target] if len(self.records) > 1 else self.records[0]

    @property
    def tells_steps(self) -> bool:
        """Whether it tells where each step of the forecast looks; of patches and variables, the head reads all."""
        return "cross" in self.sides

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know of these maps: that the steps of the forecast look alike."""
        maps = [found for record in self.records for found in record.of_kind("cross")]
        if not maps or maps[0].weights.shape[1] < 2:
            return ()
        apart = max(float(distance_between_queries(found.weights.float()).max()) for found in maps)
        return (STEPS_ALIKE,) if apart < ALIKE else ()


@dataclass(frozen=True)
class ForecastLook:
    """What a page shows of one forecast."""

    name: str  # of the run
    forecast: ForecastView
    attention: ForecastAttention | None = None
    season: int = 0  # steps

    @property
    def marks(self) -> dict[str, int]:
        """How many steps a day and a week have on average, where dates tell, and a season that is neither.

        A week of trading days has five.
        """
        dates, marks = self.forecast.history_dates, {}
        if self.forecast.date_kind == "date" and len(dates) > 1 and dates[-1] > dates[0]:
            day = DAY * (len(dates) - 1) / int(np.int64(dates[-1] - dates[0]))
            found = {"day": round(day), "week": round(7 * day)}
            marks = {name: steps for name, steps in found.items() if steps > 1}
        return marks if self.season < 2 or self.season in marks.values() else marks | {"season": self.season}
