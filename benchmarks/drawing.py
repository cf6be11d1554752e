"""How fast drawers draw and learn: jumok beside transformers' GPT-2 and a plain loop.

    python benchmarks/drawing.py

`draw`    codes of guided drawings per second, random weights: 16 drawings of one text, and one of each of 64 texts; beside
          a GPT-2 of equal size, by `generate` as its users would write it, and in a loop by hand with both rows in one batch
`train`   sequences (a text and its image's codes) per second, data included, beside a loop of torch.nn parts

Sizes are those of shapes-dalle (8 × 8 codes) and larger ones (16 × 16). All data are made; nothing is needed.
"""

import argparse
import io
import json
import os
import random
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
    build_peers,
    hold,
    machine,
    spread,
    warn_if_busy,
    whole_speed,
)
from rich.console import Console

from jumok.errors import JumokError
from jumok.runs.job import prepare_job

GENERATE, LOOP, PLAIN = "transformers, generate", "transformers, loop by hand", "torch, plain loop"
WAYS = {OURS: "jumok", GENERATE: "generate", LOOP: "loop"}
TEXT = {"vocabulary": 40, "code_count": 240, "longest_text": 100}  # about what the word tokenizer finds in `shapes`
SIZES = {
    "8 × 8": {"layers": 4, "width": 192, "heads": 4, "feedforward": 768, "rows": 8, "columns": 8, **TEXT},
    "16 × 16": {"layers": 6, "width": 256, "heads": 8, "feedforward": 1024, "rows": 16, "columns": 16, **TEXT},
}
DRAWN = {"16 of a text": (1, 16), "64 texts": (64, 1)}  # texts, drawings of each
SHORTEST, LONGEST = 20, 33  # words of a text
GUIDANCE, BATCH = 3.0, 64
RECIPE, CODES = "shapes-dalle", "shapes-codes"
TRAINED = {"8 × 8": (64, 3), "16 × 16": (16, 2)}  # sequences of a batch, halvings of an image of 64 pixels
IMAGES = 2000  # that are learnt from
ENDLESS = [f"training.{key}=1000000" for key in ("steps", "evaluate_every", "save_every", "log_every")]
KEPT = ("layers", "width", "heads", "feedforward", "dropout", "activation", "rows", "columns", *TEXT)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Speed of drawing and of training drawers.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="that drawings are repeated for")
    parser.add_argument("--steps", type=int, default=20, help="timed steps of each training run")
    parser.add_argument("--warm-up", type=int, default=4, help="steps before them")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1, os.cpu_count() or 1], help="in training: processes"
    )
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--events", nargs="+", choices=["draw", "train"], default=["draw", "train"])
    parser.add_argument("--out", type=Path, default=HERE / "results" / "drawing", help="OUT.json and OUT.md")
    parser.add_argument("--data", help="not needed: data are made (make bench passes it to every part)")
    given = parser.parse_args()
    given.threads = sorted(set(given.threads))
    return given


def main() -> None:
    """Measure and show."""
    given = arguments()
    build_peers()
    warn_if_busy()
    facts = machine()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["JUMOK_CACHE"] = str(folder / "cache")  # stores of images that nobody needs again
        drawn = contest(drawers(given), given, folder / "draw", unit="drawings/s") if "draw" in given.events else []
        learnt = (
            contest(trainers(given, folder), given, folder / "train", unit="sequences/s")
            if "train" in given.events
            else []
        )
    results = {
        "title": "Drawers: drawings per second, sequences trained per second",
        "machine": facts,
        "settings": {key: getattr(given, key) for key in ("rounds", "seconds", "steps", "warm_up", "threads")}
        | {"sizes": SIZES, "guidance": GUIDANCE, "batch_size": BATCH, "words": [SHORTEST, LONGEST]},
        "drawing": summarise(drawn),
        "training": summarise(learnt),
        "records": [*drawn, *learnt],
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


def contest(contestants: list[Contestant], given: argparse.Namespace, folder: Path, *, unit: str) -> list[Record]:
    """Return the records of all rounds, each told as it ends."""
    folder.mkdir()
    job = {"steps": given.steps, "warm_up": given.warm_up, "seconds": given.seconds}
    records = []
    for record in hold(contestants, rounds=given.rounds, threads=given.threads, job=job, folder=folder):
        records.append(record)
        print(
            f"round {record['round'] + 1}/{given.rounds} · {record['event']:<21} · {record['toolkit']:<26} · "
            f"threads {record['threads']} · {record['parameters']:,} parameters · {whole_speed(record):,.2f} {unit}",
            flush=True,
        )
    return records


# --- drawing


def drawers(given: argparse.Namespace) -> list[Contestant]:
    """Return who draws."""
    found = []
    for size in given.sizes:
        for event, (count, samples) in DRAWN.items():
            chance = random.Random(1)
            texts = [
                [chance.randrange(4, TEXT["vocabulary"]) for _ in range(chance.randint(SHORTEST, LONGEST))]
                for _ in range(count)
            ]
            job = {
                "sizes": SIZES[size], "texts": texts, "samples": samples, "guidance": GUIDANCE, "batch_size": BATCH,
            }  # fmt: skip
            found += [
                Contestant(f"{size}, {event}", toolkit, "draw.py", {**job, "how": how}, apart=toolkit != OURS)
                for toolkit, how in WAYS.items()
            ]
    return found


# --- training


def trainers(given: argparse.Namespace, folder: Path) -> list[Contestant]:
    """Return who trains, on codes of an image coder that took a few steps."""
    found = []
    for size in given.sizes:
        batch_size, halvings = TRAINED[size]
        sizes, codes = SIZES[size], folder / f"codes-{halvings}"
        data = ["data.set_size=" + str(IMAGES)]
        few = ["training.steps=2", "training.evaluate_every=2", "training.workers=1", "training.probes=0"]
        prepare_job(CODES, out=codes, overrides=[*data, *few, f"model.halvings={halvings}"]).train(
            Console(file=io.StringIO())
        )
        overrides = [
            *data, *ENDLESS, f"model.codes={codes}", f"training.batch_size={batch_size}", "training.optimizer=adamw",
            "training.learning_rate=0.001", *(f"model.{key}={sizes[key]}" for key in ("layers", "width", "heads", "feedforward")),
        ]  # fmt: skip
        training = prepare_job(RECIPE, out=folder / f"unused-{halvings}", overrides=overrides)
        model, recipe, batches = training.recipe.model.model_dump(), training.recipe.training, training.batches
        rows = folder / f"drawings-{halvings}.npz"
        captions = batches.store.captions
        np.savez(
            rows, ids=np.concatenate([captions[number] for number in range(len(captions))]).astype(np.int64),
            first=np.concatenate([[0], np.cumsum(captions.lengths)]), images=batches.store.image_of.astype(np.int64),
            codes=batches.codes.astype(np.int64),
        )  # fmt: skip
        theirs = {
            "sizes": {name: model[name] for name in KEPT},
            "drawings": str(rows),
            "batch_size": batch_size,
            "text_share": model["text_share"],
            "text_dropout": model["text_dropout"],
            "learning_rate": recipe.learning_rate,
            "weight_decay": recipe.weight_decay,
            "clip": recipe.clip,
        }
        ours = {"recipe": RECIPE, "data": None, "overrides": overrides}
        found += [
            Contestant(size, OURS, "train_jumok.py", ours, apart=False),
            Contestant(size, PLAIN, "train_plain_drawing.py", theirs, apart=False),
        ]
    return found


# --- what the records say


def summarise(records: list[Record]) -> list[Record]:
    """Return the speed of each event, toolkit and number of threads; jumok's with its ratios to each peer, and to the best.

    Ratios are taken round by round, to a peer at as many threads and to a peer at its best number of threads.
    """

    def speeds(event: str, toolkit: str, threads: int) -> list[float]:
        wanted = (event, toolkit, threads)
        return [whole_speed(r) for r in records if (r["event"], r["toolkit"], r["threads"]) == wanted]

    def ratios(ours: list[float], theirs: list[float]) -> dict[str, float]:
        return spread([a / b for a, b in zip(ours, theirs, strict=True)])

    rows = []
    for event in dict.fromkeys(record["event"] for record in records):
        own = [record for record in records if record["event"] == event]
        counts = sorted({record["threads"] for record in own})
        toolkits = list(dict.fromkeys(record["toolkit"] for record in own))
        peers = [toolkit for toolkit in toolkits if toolkit != OURS]
        for toolkit in (OURS, *peers):
            for count in counts:
                some = [r for r in own if (r["toolkit"], r["threads"]) == (toolkit, count)]
                found = speeds(event, toolkit, count)
                row = {
                    "event": event, "toolkit": toolkit, "version": some[0]["version"], "threads": count,
                    "parameters": some[0]["parameters"], "peak_memory": max(r["peak_memory"] for r in some),
                    "a_second": spread(found),
                }  # fmt: skip
                if toolkit == OURS:
                    equal = {peer: speeds(event, peer, count) for peer in peers}
                    best = {peer: max((speeds(event, peer, each) for each in counts), key=median) for peer in peers}
                    row["at_equal_threads"] = {peer: ratios(found, equal[peer]) for peer in peers}
                    row["at_its_best"] = {peer: ratios(found, best[peer]) for peer in peers}
                    row["to_the_better_peer"] = ratios(found, max(best.values(), key=median))
                rows.append(row)
    return rows


def shown(results: Record) -> str:
    """Return the results as markdown."""
    facts = results["machine"]
    lines = [
        f"# {results['title']}",
        "",
        f"`{facts['command']}` at {facts['commit']}, {facts['when']}; {facts['processor']}, {facts['cores']} cores, "
        f"Python {facts['python']}. Median (least–most) of {results['settings']['rounds']} alternating rounds; ratios are "
        "taken round by round.",
        "",
    ]
    for name, unit in (("drawing", "drawings/s"), ("training", "sequences/s")):
        if not results[name]:
            continue
        lines += [
            f"| {name} | toolkit | parameters | threads | {unit} | peak MB |",
            "| --- | --- | ---: | ---: | ---: | ---: |",
        ]
        for row in results[name]:
            cells = [
                row["event"], f"{row['toolkit']} {row['version']}", f"{row['parameters']:,}", str(row["threads"]),
                of_rounds(row["a_second"], ",.1f"), f"{row['peak_memory'] / 1e6:,.0f}",
            ]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
        lines += [
            "",
            f"| {name}: jumok is × as fast as | threads | at as many threads | at its best number of threads |",
            "| --- | ---: | ---: | ---: |",
        ]
        for row in results[name]:
            if row["toolkit"] != OURS:
                continue
            for peer, ratio in row["at_equal_threads"].items():
                best = of_rounds(row["at_its_best"][peer], ".2f")
                lines.append(f"| {row['event']}: {peer} | {row['threads']} | {of_rounds(ratio, '.2f')} | {best} |")
            lines.append(
                f"| {row['event']}: the better peer | {row['threads']} | | {of_rounds(row['to_the_better_peer'], '.2f')} |"
            )
        lines.append("")
    return "\n".join(lines)


def of_rounds(values: dict[str, float], form: str) -> str:
    """Return median (least–most)."""
    return f"{values['median']:{form}} ({values['least']:{form}}–{values['most']:{form}})"


def in_short(results: Record) -> dict[str, Any]:
    """Return the medians."""
    found: dict[str, Any] = {}
    for kind in ("drawing", "training"):
        for row in results[kind]:
            name = f"{kind}, {row['event']}, {row['toolkit']}, {row['threads']} threads"
            found[f"{name}, per second"] = round(row["a_second"]["median"], 2)
            for peer, ratio in row.get("at_equal_threads", {}).items():
                found[f"{name}, × {peer}"] = round(ratio["median"], 2)
            if "to_the_better_peer" in row:
                found[f"{name}, × the better peer at its best"] = round(row["to_the_better_peer"]["median"], 2)
    return found


if __name__ == "__main__":
    try:
        main()
    except JumokError as error:
        raise SystemExit(f"jumok: {error}") from None
