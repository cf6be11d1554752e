"""Look-back, horizon, sizes and steps of a forecaster, from what the recipes of ETT, stocks and waves have shown.

Material (series), Size → Plan
"""

from jumok.errors import DataError, counted
from jumok.workflows.new.entries import average, batch_for, data_entries, rounded, starts_from, training_entries
from jumok.workflows.new.material import Material, SeriesFacts
from jumok.workflows.new.plan import Entry, Plan
from jumok.workflows.new.plans import Size, make_plan

LEAST = 30  # steps of a series, of which a fifth is held out
LONGEST = 512  # look-back
PATCH = 16  # steps; of shorter look-backs, each step is a token
HELD_OUT = 0.2


def forecasting(material: Material, size: Size) -> Plan:
    """Return the plan of a forecaster. ETTh1 (8,640 hours, 7 columns): 512 steps back, 96 ahead, under ten minutes."""
    facts, earlier = material.series, size.earlier
    assert facts is not None
    look_back, horizon = _window(facts)
    windows = max(int(facts.count * (facts.length * (1 - HELD_OUT) - look_back - horizon)), 1)
    batch_size = batch_for(windows, 128)
    steps = rounded(windows * (4 if earlier else 12) / batch_size, least=200, most=1500)
    prices = facts.unit == "business" and facts.positive
    data = data_entries(
        material,
        *(Entry(key, value, _why(key)) for key, value in facts.uses.items()),
        *([] if "val" in material.files else [Entry("val_from", 1 - HELD_OUT, "val is the last fifth; or a date: '2024-01-01'")]),
        Entry("look_back", look_back, "steps that a forecast is made of"),
        Entry("horizon", horizon, "steps that are forecast"),
        *([Entry("calendar", calendar, "what of the dates the model sees, known ahead")] if (calendar := _calendar(facts)) else []),
        *([Entry("transform", "log-return", "prices: what is forecast is how far they go from here")] if prices else []),
    )  # fmt: skip
    preset = size.preset or "small"
    tokens = "patches" if look_back >= 2 * PATCH else "steps"
    model = [
        Entry("name", size.model),
        Entry("preset", preset),
        Entry("tokens", tokens, "patches of each variable; or steps, whose attention shows each step; or variables"),
        Entry("head", "quantiles", "bands around the forecast; or point"),
        Entry("dropout", 0.3, "more where training loss falls and val loss rises"),
    ]
    training = training_entries(
        steps,
        f"about {max(round(steps * batch_size / windows), 1)} times through the windows",
        *([starts_from(earlier)] if earlier else []),
        Entry("batch_size", batch_size, "windows"),
        Entry("learning_rate", 2e-4 if earlier else 1e-3),
        *average(steps),
    )
    return make_plan(
        material,
        size,
        {"data": data, "model": model, "training": training},
        title=f"What comes next in {counted(facts.count, 'series', 'series')}, {material.count:,} steps",
        chosen=[
            f"{size.model}, preset {preset}, {tokens}: {look_back} steps back, {horizon} ahead",
            "evaluate shows it beside repeating, the season and a linear model",
            f"{steps:,} steps",
        ],
    )


def _window(facts: SeriesFacts) -> tuple[int, int]:
    """Return look-back and horizon: a season ahead, some back, as far as a series has room for it."""
    if facts.length < LEAST:
        raise DataError(
            f"series have {counted(facts.length, 'step')} (the median); a forecaster needs dozens at least, of which it holds "
            "the last fifth out"
        )
    room = int(facts.length * (1 - HELD_OUT))
    horizon = facts.horizon or min(facts.season if facts.season > 1 else 10, max(int(facts.length * HELD_OUT / 2), 1))
    if horizon > room // 2:
        raise DataError(
            f"--horizon {horizon}: series have {counted(facts.length, 'step')} (the median); at most {room // 2} can be learnt"
        )
    wanted = max(4 * horizon, 7 * facts.season if facts.hours else 2 * facts.season, 16)
    return max(min(wanted, LONGEST, (room - horizon) // 2), 2), horizon


def _calendar(facts: SeriesFacts) -> list[str]:
    if facts.hours:
        return ["hour", "weekday"]
    return {"us": ["weekday", "month"], "business": ["weekday"], "month": ["month"]}.get(facts.unit, [])


def _why(key: str) -> str:
    return {
        "date": "dates, times or step numbers",
        "id": "which series a row belongs to",
        "targets": "the columns to forecast",
        "past": "assumed: known only up to the last step; what is known ahead (holidays) goes to known",
        "static": "constant in each series: numbers or names that tell series apart",
    }[key]
