"""Scores of a forecaster as people read them: beside every floor, with skill, tests and sentences that say what they mean.

label, split, scores of tasks/forecast_scores.py → ScoreReport
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jumok.errors import counted
from jumok.evaluation.reports import ScoreReport, Scores, ScoreTable

STEPS = 6  # of the horizon that are shown
SMALL = 0.05  # figures of a column below this are shown times 1,000
SURE = 0.05  # p below which a difference is hardly chance
INTERVAL = "80 %"  # the central interval that is shown, where the levels have it
NAMES = {"mse": "MSE", "mae": "MAE", "mase": "MASE", "pinball": "pinball", "crps": "CRPS", "ade": "ADE", "fde": "FDE"}
MODEL = "this model"
NOTHING = "–"


def forecast_report(label: str, split: str, scores: Scores) -> ScoreReport:
    """Report a forecaster beside what needs none."""
    rows: dict[str, Scores] = {MODEL: scores, **scores["floors"]}
    overlap = f"{scores['independent']:,.1f}" if scores["independent"] < 10 else f"{scores['independent']:,.0f}"
    lines = [
        f"{label} ({split}), {counted(scores['windows'], 'window')} of {counted(scores['series'], 'series', 'series')}, "
        f"look-back {scores['look_back']:,}, horizon {scores['horizon']:,}; windows without overlap in time: {overlap}"
    ]
    told = [f"  {line}" for line in [*skill_lines(scores), *copy_lines(scores), *scores["notes"], units_line(scores)]]
    return ScoreReport(
        tuple(lines), main_table(rows), tuple(told), further=(*step_tables(scores), *stretch_tables(scores))
    )


def main_table(rows: Mapping[str, Scores]) -> ScoreTable:
    """Return a row for the model and each floor, and a column for each score that the model has."""
    own = rows[MODEL]
    columns: dict[str, list[float | None]] = {}
    order = (
        ("ade", "fde", "best_ade", "best_fde", "mse", "mae")
        if "ade" in own
        else ("mse", "mae", "mase", "pinball", "crps")
    )
    for name in order:
        if own.get(name) is not None:
            heading = f"{NAMES[name[5:]]}, best of {own['best_of']}" if name.startswith("best_") else NAMES[name]
            columns[heading] = [found.get(name) for found in rows.values()]
    cells = {heading: figures(values) for heading, values in columns.items()}
    if own.get("coverage"):
        shown = INTERVAL if INTERVAL in own["coverage"] else next(iter(own["coverage"]))
        inside = [found.get("coverage", {}).get(shown) for found in rows.values()]
        cells[f"in the {shown} interval"] = "", [NOTHING if each is None else f"{100 * each:.1f} %" for each in inside]
    headings = [f"{heading}{times}" for heading, (times, _) in cells.items()]
    return ScoreTable(
        ("", *headings),
        tuple((name, *row) for name, *row in zip(rows, *(each for _, each in cells.values()), strict=True)),
    )


def figures(values: Sequence[float | None]) -> tuple[str, list[str]]:
    """Return what a column is multiplied by, as its heading says it, and its figures."""
    known = [abs(value) for value in values if value is not None]
    small = bool(known) and max(known) < SMALL
    shown = [
        NOTHING if value is None else f"{value * (1000 if small else 1):.{3 if small else 4}f}" for value in values
    ]
    return " × 1,000" if small else "", shown


def skill_lines(scores: Scores) -> list[str]:
    """Return how much better than the best floor the model is, by each score, and whether that may be chance."""
    lines = []
    for found in scores["skills"]:
        name = f"best {NAMES[found['score'][5:]]}" if found["score"].startswith("best_") else NAMES[found["score"]]
        lines.append(
            f"skill by {name} against the best floor ({found['floor']}): {signed(found['skill'])}; {verdict(found)}"
        )
    return lines


def verdict(found: Mapping[str, Any]) -> str:
    """Return what the test of Diebold and Mariano says of a skill."""
    if found["p"] is None:
        return "too few windows, or too little difference, for a Diebold-Mariano test"
    if found["p"] >= SURE:
        return f"the difference may be chance (Diebold-Mariano p {found['p']:.3f})"
    return f"hardly chance (Diebold-Mariano p {found['p']:.3f})"


def copy_lines(scores: Scores) -> list[str]:
    """Return whether the model only repeats what it saw last."""
    found, repeat, lines = scores["copy"], scores["repeat"], []
    correlation = 0.0 if found["correlation"] is None else found["correlation"]
    if found["copies"]:
        lines.append(
            "this model repeats yesterday: its forecasts agree best with the real series one step back, and their changes do "
            f"not correlate with the real ones ({correlation:.2f})"
        )
    if not repeat["better"]:
        lines.append(
            f"no better than repeating the last value: skill {signed(repeat['skill'])} against it; {verdict(repeat)}"
        )
    if not lines:
        lines.append(
            f"changes from the last value correlate by {correlation:.2f} with the real ones; skill against repeating it "
            f"{signed(repeat['skill'])}"
        )
    return lines


def units_line(scores: Scores) -> str:
    """Return in what units scores are, and by what season MASE is."""
    units = (
        "in deviations of the training data"
        if scores["units"] == "scaled"
        else "in the data's units, after its transform"
    )
    if "ade" in scores:
        return f"MSE and MAE are {units}; ADE and FDE are distances in the data's units"
    season = counted(scores["season"] or 1, "step")
    return f"scores are {units}; a season of MASE has {season}"


def step_tables(scores: Scores) -> list[ScoreTable]:
    """Return the scores at some steps of the horizon, beside the best floor's."""
    horizon = scores["horizon"]
    if horizon == 1:
        return []
    steps = np.unique(np.geomspace(1, horizon, STEPS).round().astype(int)).tolist()
    tables = []
    for found in scores["skills"]:
        name = {"ade": "distance"}.get(found["score"], found["score"])
        if name not in scores["by_step"]:
            continue
        floor = scores["floors"][found["floor"]]["by_step"][name]
        both = [[of[step - 1] for step in steps] for of in (scores["by_step"][name], floor)]
        times, shown = figures([*both[0], *both[1]])
        heading = f"{NAMES.get(name, name)}{times} at step"
        tables.append(
            ScoreTable(
                (heading, *(f"{step:,}" for step in steps)),
                ((MODEL, *shown[: len(steps)]), (found["floor"], *shown[len(steps) :])),
            )
        )
    return tables


def stretch_tables(scores: Scores) -> list[ScoreTable]:
    """Return the scores in consecutive stretches of time, beside the best floor's: a rolling-origin backtest."""
    stretches, main = scores["stretches"], scores["skills"][0]
    if not stretches:
        return []
    many = len(stretches)
    times, shown = figures([*(each[main["score"]] for each in stretches), *(each["floor"] for each in stretches)])
    rows = tuple(
        (
            f"{each['from']} – {each['to']}",
            f"{each['windows']:,}",
            shown[place],
            shown[many + place],
            signed(each["skill"]),
        )
        for place, each in enumerate(stretches)
    )
    return [ScoreTable(("forecasts from", "windows", f"{NAMES[main['score']]}{times}", main["floor"], "skill"), rows)]


def signed(value: float | None) -> str:
    """Return a skill as it is shown."""
    return NOTHING if value is None else f"{round(value, 3) + 0.0:+.3f}"  # never -0.000
