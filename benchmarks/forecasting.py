"""How fast forecasters are trained and used: jumok beside a plain loop, memory by the length of a table, a panel.

    python benchmarks/forecasting.py [--data FOLDER]

`patchtst`, `recipe`   PatchTST's sizes for ETTh1 and those of etth1-forecaster beside a PatchTST of equal size in a plain torch
                       loop, 512 steps in, 96 out, seven variables: windows per second, data included
`memory`               the most anonymous memory of some steps on tables of ten thousand to ten million rows
`panel`                a thousand series forecast in one call, series per second

Tables are made up, of ETT's length and columns; with --data, training takes ETTh1.
"""

import argparse
import gzip
import json
import os
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from contest import (
    HERE,
    OURS,
    Contestant,
    Record,
    find_data,
    hold,
    machine,
    run,
    spread,
    warn_if_busy,
    whole_speed,
)
from numpy.typing import NDArray

from jumok.errors import JumokError
from jumok.runs.job import prepare_job

PLAIN = "torch, plain loop"
RECIPE = "etth1-forecaster"
TRAINED = {
    "patchtst": [  # PatchTST's own script for ETTh1
        "model.layers=3", "model.stride=8", "model.feedforward=128", "model.head_dropout=0.0",
        "model.window=mean-std", "model.linear=false", "training.average=none",
    ],
    "recipe": [],
}  # fmt: skip
SIZES = (
    "look_back", "horizon", "patch", "stride", "layers", "width", "heads", "feedforward", "dropout", "head_dropout", "window",
)  # fmt: skip
ENDLESS = [f"training.{key}=1000000" for key in ("steps", "evaluate_every", "save_every", "log_every")]
COLUMNS = ("HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT")
LENGTH, TRAIN, VAL = 17_420, 8_640, 2_880  # rows of ETTh1: all, and those of its first two splits
ROWS = (10_000, 1_000_000, 10_000_000)
SERIES, LOOK_BACK = 1000, 512
MEMORY_STEPS, TIMES = 20, 5
AT_ONCE = 200_000  # rows that are written at a time


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Training and forecasting speed, and memory by the length of a table.")
    parser.add_argument(
        "--data", type=Path, help="the folder of ETT, or the one that holds ett; else a table is made up"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30, help="timed steps of each run")
    parser.add_argument("--warm-up", type=int, default=5, help="steps before them")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, os.cpu_count() or 1], help="of jumok: processes")
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS), help="of the tables of `memory`")
    parser.add_argument("--folder", type=Path, help="where those tables are kept; a temporary folder by default")
    events = [*TRAINED, "memory", "panel"]
    parser.add_argument("--events", nargs="+", choices=events, default=events)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "forecasting", help="OUT.json and OUT.md")
    given = parser.parse_args()
    given.threads = sorted(set(given.threads))
    return given


def main() -> None:
    """Measure and show."""
    given = arguments()
    warn_if_busy()
    facts = machine()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["JUMOK_CACHE"] = str(folder / "cache")  # stores of tables that nobody needs again
        records = train(given, folder)
        memory = [measure_memory(rows, given, folder) for rows in given.rows if "memory" in given.events]
        panel = forecast_panel(folder) if "panel" in given.events else None
    results = {
        "title": "Forecasters: windows trained per second, memory by the length of a table, series forecast per second",
        "machine": facts,
        "settings": {key: getattr(given, key) for key in ("rounds", "steps", "warm_up", "threads")}
        | {"data": "ETTh1" if given.data else "made up"},
        "training": summarise(records),
        "memory": memory,
        "panel": panel,
        "records": records,
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.with_suffix(".json").write_text(
        json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    text = shown(results)
    given.out.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)
    print(f"saved as {given.out.with_suffix('.json')} and {given.out.with_suffix('.md')}")
    print(json.dumps(in_short(results), ensure_ascii=False))


# --- training


def train(given: argparse.Namespace, folder: Path) -> list[Record]:
    """Return the records of all rounds, each told as it ends."""
    events = [event for event in TRAINED if event in given.events]
    if not events:
        return []
    data = find_data(given.data, "ett").absolute() if given.data else write_like_ett(folder / "ett")
    contestants = [one for event in events for one in trainers(event, data, folder)]
    own = folder / "training"
    own.mkdir()
    job = {"steps": given.steps, "warm_up": given.warm_up, "data": str(data)}
    records = []
    for record in hold(contestants, rounds=given.rounds, threads=given.threads, job=job, folder=own):
        records.append(record)
        print(
            f"round {record['round'] + 1}/{given.rounds} · {record['event']:<8} · {record['toolkit']:<17} · "
            f"threads {record['threads']} · {record['parameters']:,} parameters · {whole_speed(record):,.1f} windows/s",
            flush=True,
        )
    return records


def trainers(event: str, data: Path, folder: Path) -> list[Contestant]:
    """Return who trains in an event."""
    overrides = [*TRAINED[event], *ENDLESS]
    training = prepare_job(RECIPE, data=data, out=folder / f"unused-{event}", overrides=overrides)
    model, windows, recipe = training.recipe.model.model_dump(), training.task.corpora.train, training.recipe.training
    table = folder / f"{event}.npy"
    mean, deviation = (np.asarray(one) for one in (windows.data.mean, windows.data.deviation))
    np.save(table, ((windows.store.values - mean) / deviation).astype(np.float32))
    theirs = {
        "sizes": {name: model[name] for name in SIZES},
        "table": str(table),
        "batch_size": training.batches.batch_size,
        "learning_rate": recipe.learning_rate,
        "weight_decay": recipe.weight_decay,
        "clip": recipe.clip,
    }
    ours = {"recipe": RECIPE, "overrides": overrides}
    return [
        Contestant(event, OURS, "train_jumok.py", ours, apart=False),
        Contestant(event, PLAIN, "train_plain_forecasting.py", theirs, apart=False),
    ]


def summarise(records: list[Record]) -> list[Record]:
    """Return windows per second of each event, toolkit and number of threads, and how many times as fast jumok is."""

    def speeds(event: str, toolkit: str, threads: int) -> list[float]:
        wanted = (event, toolkit, threads)
        return [whole_speed(r) for r in records if (r["event"], r["toolkit"], r["threads"]) == wanted]

    rows = []
    for event in dict.fromkeys(record["event"] for record in records):
        own = [record for record in records if record["event"] == event]
        counts = sorted({record["threads"] for record in own})
        best = max((speeds(event, PLAIN, count) for count in counts), key=median)  # the peer's best number of threads
        for toolkit in (OURS, PLAIN):
            for count in counts:
                found = speeds(event, toolkit, count)
                some = [r for r in own if (r["toolkit"], r["threads"]) == (toolkit, count)]
                row = {
                    "event": event, "toolkit": toolkit, "version": some[0]["version"], "threads": count,
                    "parameters": some[0]["parameters"], "peak_memory": max(r["peak_memory"] for r in some),
                    "windows_a_second": spread(found),
                }  # fmt: skip
                if toolkit == OURS:
                    equal = speeds(event, PLAIN, count)
                    row["ratio_at_equal_threads"] = spread([a / b for a, b in zip(found, equal, strict=True)])
                    row["ratio_to_its_best"] = spread([a / b for a, b in zip(found, best, strict=True)])
                rows.append(row)
    return rows


# --- memory


def measure_memory(rows: int, given: argparse.Namespace, folder: Path) -> Record:
    """Return the time and memory of reading a table of so many rows, and of some steps on it."""
    where = (given.folder or folder) / f"{rows}"
    if not (where / "table.csv").exists():
        where.mkdir(parents=True, exist_ok=True)
        write_column(where / "table.csv", rows)
    overrides = [
        "data.folder=.", "data.train=table.csv", "data.val=[]", f"data.val_from={rows - VAL}", "training.workers=1",
        f"training.steps={MEMORY_STEPS}", f"training.evaluate_every={MEMORY_STEPS}", "training.probes=0",
    ]  # fmt: skip
    shared = {"recipe": RECIPE, "data": str(where.absolute()), "overrides": overrides, "threads": 1}
    found: Record = {"rows": rows}
    for what in ("read", "train"):
        own = folder / f"{what}-{rows}"
        own.mkdir()
        found[what] = run(Contestant("memory", OURS, "forecast.py", apart=False), {**shared, "what": what}, own=own)
        print(
            f"memory · {rows:,} rows · {what} · {found[what]['seconds']:.1f} s · "
            f"{found[what]['peak_memory'] / 1e6:,.0f} MB",
            flush=True,
        )
    return found


# --- a panel


def forecast_panel(folder: Path) -> Record:
    """Return how long the forecast of a panel takes, by a model of the recipe's sizes that took a few steps."""
    where = folder / "panel"
    where.mkdir()
    write_panel(where / "train.csv", series=8, rows=LOOK_BACK + 400)
    write_panel(where / "panel.csv", series=SERIES, rows=LOOK_BACK)
    overrides = [
        "data.folder=.", "data.train=train.csv", "data.val=[]", "data.date=ds", "data.id=unique_id", "data.targets=y",
        "training.steps=20", "training.workers=1", "training.probes=0",
    ]  # fmt: skip
    trainer, panel = folder / "panel-train", folder / "panel-forecast"
    for own in (trainer, panel):
        own.mkdir()
    contestant = Contestant("panel", OURS, "forecast.py", apart=False)
    run(
        contestant,
        {"what": "train", "recipe": RECIPE, "data": str(where), "overrides": overrides, "threads": 1},
        own=trainer,
    )
    job = {"what": "panel", "run": str(trainer / "run"), "table": str(where / "panel.csv"), "times": TIMES}
    found = run(contestant, {**job, "threads": os.cpu_count() or 1}, own=panel)
    for name in ("file", "store"):
        print(f"panel · from its {name} · {found['series'] / median(found[name]):,.0f} series/s", flush=True)
    return found


# --- made-up tables


def waves(rows: int, seed: int, *, first: int = 0) -> NDArray[np.float64]:
    """Return hours, from one on, of a daily and a weekly season with noise."""
    draw, hours = np.random.default_rng([seed, first]), np.arange(first, first + rows)
    day, week = (np.sin(2 * np.pi * (hours / steps + seed / len(COLUMNS))) for steps in (24, 168))
    return np.asarray(10 + 3 * day + 2 * week + draw.normal(size=rows))


def dates(rows: int, *, first: int = 0) -> list[str]:
    """Return hours, from one on, as text."""
    start = np.datetime64("2016-07-01T00", "h") + first
    return [str(date) for date in np.datetime_as_string(start + np.arange(rows), unit="m").tolist()]


def write_like_ett(folder: Path) -> Path:
    """Write a table of ETT's length and columns, split as ETTh1 is; return its folder."""
    folder.mkdir()
    values = np.stack([waves(LENGTH, number) for number in range(len(COLUMNS))], axis=1)
    when = dates(LENGTH)
    for name, begin, end in (("train", 0, TRAIN), ("val", TRAIN, TRAIN + VAL)):
        with gzip.open(folder / f"ETTh1.{name}.csv.gz", "wt", encoding="utf-8", compresslevel=1) as file:
            print("date", *COLUMNS, sep=",", file=file)
            for date, row in zip(when[begin:end], values[begin:end].tolist(), strict=True):
                print(date, *(f"{value:.4f}" for value in row), sep=",", file=file)
    return folder


def write_column(path: Path, rows: int) -> None:
    """Write a table of dates and one column."""
    with path.open("w", encoding="utf-8") as file:
        file.write("date,OT\n")
        for first in range(0, rows, AT_ONCE):
            count = min(AT_ONCE, rows - first)
            values = waves(count, 0, first=first).tolist()
            file.writelines(
                f"{date},{value:.3f}\n" for date, value in zip(dates(count, first=first), values, strict=True)
            )


def write_panel(path: Path, *, series: int, rows: int) -> None:
    """Write a long table of some series."""
    when = dates(rows)
    with path.open("w", encoding="utf-8") as file:
        file.write("unique_id,ds,y\n")
        for number in range(series):
            values = waves(rows, number).tolist()
            file.writelines(f"series-{number},{date},{value:.3f}\n" for date, value in zip(when, values, strict=True))


# --- what a person sees


def shown(results: Record) -> str:
    """Return the results as markdown."""
    facts = results["machine"]
    lines = [
        f"# {results['title']}",
        "",
        f"`{facts['command']}` at {facts['commit']}, {facts['when']}; {facts['processor']}, {facts['cores']} cores, "
        f"Python {facts['python']}.",
        "",
    ]
    if results["training"]:
        lines += [
            f"Windows trained per second, data included: median (least–most) of {results['settings']['rounds']} alternating "
            "rounds; ratios are taken round by round.",
            "",
            "| sizes | toolkit | parameters | threads | windows/s | peak MB | × the loop at as many threads | × its best |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for row in results["training"]:
            ratios = [
                of_rounds(row[key], ".2f") if key in row else ""
                for key in ("ratio_at_equal_threads", "ratio_to_its_best")
            ]
            cells = [
                row["event"], f"{row['toolkit']} {row['version']}", f"{row['parameters']:,}", str(row["threads"]),
                of_rounds(row["windows_a_second"], ",.0f"), f"{row['peak_memory'] / 1e6:,.0f}", *ratios,
            ]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    if results["memory"]:
        lines += [
            "| rows | read in | peak anonymous MB | prepared again, and 20 steps, in | peak anonymous MB |",
            "| --- | --- | --- | --- | --- |",
        ]
        for found in results["memory"]:
            parts = [
                part
                for what in ("read", "train")
                for part in (f"{found[what]['seconds']:.1f} s", f"{found[what]['peak_memory'] / 1e6:,.0f}")
            ]
            lines.append(f"| {found['rows']:,} | {' | '.join(parts)} |")
        lines.append("")
    if found := results["panel"]:
        lines += [
            f"{found['series']:,} series, {found['steps']} steps each, in one call: "
            + "; ".join(
                f"from {name} {of_rounds(spread([found['series'] / one for one in found[key]]), ',.0f')} series/s"
                for key, name in (("file", "a CSV"), ("store", "series that have been read"))
            ),
            "",
        ]
    return "\n".join(lines)


def of_rounds(values: dict[str, float], form: str) -> str:
    """Return median (least–most)."""
    return f"{values['median']:{form}} ({values['least']:{form}}–{values['most']:{form}})"


def in_short(results: Record) -> dict[str, Any]:
    """Return the medians."""
    found: dict[str, Any] = {}
    for row in results["training"]:
        name = f"{row['event']}, {row['toolkit']}, {row['threads']} threads"
        found[f"{name}, windows/s"] = round(row["windows_a_second"]["median"], 1)
        if "ratio_to_its_best" in row:
            found[f"{name}, × the loop"] = round(row["ratio_at_equal_threads"]["median"], 2)
            found[f"{name}, × the loop at its best"] = round(row["ratio_to_its_best"]["median"], 2)
    for one in results["memory"]:
        found[f"training on {one['rows']} rows, peak anonymous MB"] = round(one["train"]["peak_memory"] / 1e6)
    if panel := results["panel"]:
        for key in ("file", "store"):
            found[f"panel from its {key}, series/s"] = round(panel["series"] / median(panel[key]))
    return found


if __name__ == "__main__":
    try:
        main()
    except JumokError as error:
        raise SystemExit(f"jumok: {error}") from None
