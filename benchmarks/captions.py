"""How fast captioners are trained and used: jumok beside a plain loop, and images described per second.

    python benchmarks/captions.py --data FLICKR8K [--run RUN]

`attend`, `tell`     the recipes flickr8k-attend and flickr8k-tell beside the same model in a plain torch loop; the feature
                     maps of the frozen encoder lie in the cache. Target tokens without padding per second, data included
`cached`, `files`    images described per second with beam 5: their maps in the cache, or from image files
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from contest import HERE, OURS, Contestant, Record, find_data, hold, save, summarise, warn_if_busy, whole_speed

from jumok.errors import JumokError
from jumok.runs.job import Job, prepare_job

RECIPES = {"attend": "flickr8k-attend", "tell": "flickr8k-tell"}
PLAIN = "torch, plain loop"
TWO = "jumok, two processes"
WAYS = {"cached": "maps in the cache", "files": "from image files"}
SIZES = ("vocabulary", "map_width", "width", "embedding_width", "dropout", "tied")
RUN_STEPS = 600  # of a run to describe images with, where none is given


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Training and captioning speed: jumok beside a plain torch loop.")
    parser.add_argument(
        "--data", required=True, type=Path, help="the folder of Flickr8k (train.npz, …), or the one that holds flickr8k"
    )
    parser.add_argument("--run", type=Path, help="a run of flickr8k-attend; without one, one is trained for a while")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40, help="timed steps of each run")
    parser.add_argument("--warm-up", type=int, default=10, help="steps before them")
    parser.add_argument("--images", type=int, default=400, help="image files to describe; of cached maps all are")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[os.cpu_count() or 1], help="of training; torch's own default"
    )
    parser.add_argument("--events", nargs="+", choices=[*RECIPES, *WAYS], default=[*RECIPES, *WAYS])
    parser.add_argument("--out", type=Path, default=HERE / "results" / "captions", help="OUT.json and OUT.md")
    given = parser.parse_args()
    given.data = find_data(given.data, "flickr8k").absolute()
    return given


def main() -> None:
    """Hold the contests."""
    given = arguments()
    ways = [way for way in WAYS if way in given.events]
    if ways and given.run is None:
        given.run = run_for(given.data)
    warn_if_busy()
    records: list[Record] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trained = [one for event in given.events if event in RECIPES for one in trainers(event, given.data, folder)]
        records += contest(trained, given, folder / "training", threads=given.threads)
        if ways:
            described = describers(ways, given, folder)
            records += contest(described, given, folder / "describing", threads=[1])
    settings = {key: getattr(given, key) for key in ("rounds", "steps", "warm_up", "images", "beam", "threads")}
    title = "Captioners: training (target tokens/s) and describing (a target token is an image)"
    print(
        save(
            given.out,
            title=title,
            event="event",
            settings={**settings, "data": given.data.name},
            records=records,
            notes=[*training_notes(records), *describing_notes(records, given.beam)],
        )
    )
    print(f"saved as {given.out.with_suffix('.json')} and {given.out.with_suffix('.md')}")
    print(json.dumps(in_short(records), ensure_ascii=False))


def contest(
    contestants: list[Contestant], given: argparse.Namespace, folder: Path, *, threads: list[int]
) -> list[Record]:
    """Return the records of all rounds, each told as it ends."""
    folder.mkdir()
    job = {"steps": given.steps, "warm_up": given.warm_up, "data": str(given.data)}
    records = []
    for record in hold(contestants, rounds=given.rounds, threads=threads, job=job, folder=folder):
        records.append(record)
        unit = "target tokens/s with data" if record["event"] in RECIPES else "images/s"
        print(
            f"round {record['round'] + 1}/{given.rounds} · {record['event']:<6} · {record['toolkit']:<20} · "
            f"threads {record['threads']} · {whole_speed(record):,.1f} {unit}",
            flush=True,
        )
    return records


# --- training


def trainers(event: str, data: Path, folder: Path) -> list[Contestant]:
    """Return who trains in an event; the feature maps are computed now, if the cache has none yet."""
    training = prepare_job(RECIPES[event], data=data, out=folder / f"unused-{event}")
    recipe = training.recipe.training
    model = training.recipe.model.model_dump()
    theirs = {
        "kind": event,
        "sizes": {name: model[name] for name in SIZES},
        **write_arrays(training, folder / event),
        "batch_size": training.batches.batch_size,
        "learning_rate": recipe.learning_rate,
        "label_smoothing": recipe.label_smoothing,
        "clip": recipe.clip,
    }
    return [
        Contestant(event, OURS, "train_jumok.py", {"recipe": RECIPES[event], "overrides": []}, apart=False),
        Contestant(event, PLAIN, "train_plain_captions.py", theirs, apart=False),
    ]


def write_arrays(training: Job, folder: Path) -> dict[str, str]:
    """Write jumok's feature maps and token ids for the plain loop."""
    folder.mkdir()
    store = training.task.corpora.train
    maps = training.task.maps_of(store)  # (N, h, w, E)
    captions = [store.captions[number] for number in range(len(store.captions))]
    np.save(folder / "maps.npy", maps.reshape(len(maps), -1, maps.shape[-1]))
    np.savez(
        folder / "captions.npz",
        ids=np.concatenate(captions).astype(np.int64),
        first=np.cumsum([0, *map(len, captions)]),
        images=store.image_of,
    )
    return {"maps": str(folder / "maps.npy"), "captions": str(folder / "captions.npz")}


# --- describing


def run_for(data: Path) -> Path:
    """Return a run to describe images with, trained for a while, or as far as it had come before."""
    run = HERE.parent / "runs" / "bench-flickr8k-attend"
    command = [sys.executable, "-c", "from jumok.cli.main import main; main()", "train", RECIPES["attend"]]
    settings = {"steps": RUN_STEPS, "evaluate_every": 300, "save_every": 300, "evaluate_sentences": 100}
    options = [part for key, value in settings.items() for part in ("--set", f"training.{key}={value}")]
    subprocess.run([*command, "--data", str(data), "--out", str(run), "--resume", *options], check=True)
    return run


def describers(ways: list[str], given: argparse.Namespace, folder: Path) -> list[Contestant]:
    """Return one process and two, for each way to get at what the encoder sees; each process has one thread."""
    images = folder / "images"
    images.mkdir()
    with np.load(given.data / "val.npz") as file:
        jpeg, offset = file["jpeg"], file["offset"]
        for number in range(min(given.images, len(offset) - 1)):
            (images / f"{number:05}.jpg").write_bytes(jpeg[offset[number] : offset[number + 1]].tobytes())
    shared = {"run": str(given.run.absolute()), "images": str(images), "beam": given.beam}
    return [
        Contestant(way, toolkit, "caption.py", {**shared, "how": way, "processes": processes}, apart=False)
        for way in ways
        for toolkit, processes in ((OURS, 1), (TWO, 2))
    ]


# --- what the records say


def training_notes(records: list[Record]) -> list[str]:
    """Return captions per second of each trainer, and how many times as fast jumok is with data included."""
    notes = []
    for row in (row for row in summarise(records) if row["event"] in RECIPES):
        own = [r for r in records if (r["event"], r["toolkit"]) == (row["event"], row["toolkit"])]
        captions = float(np.median([record["pairs"] / record["whole_seconds"] for record in own]))
        ratio = row.get("ratio_with_data")
        faster = "" if ratio is None else (
            f"; jumok trains {ratio['median']:.2f} ({ratio['least']:.2f}–{ratio['most']:.2f}) × as fast, data included"
        )  # fmt: skip
        notes.append(f"{row['event']}, {row['toolkit']}: {captions:,.0f} captions/s, data included{faster}")
    return notes


def describing_notes(records: list[Record], beam: int) -> list[str]:
    """Return images per second of each way."""
    notes = []
    for row in (row for row in summarise(records) if row["event"] in WAYS):
        rate = row["with_data"]
        processes = "one process" if row["toolkit"] == OURS else "two processes"
        notes.append(
            f"{WAYS[row['event']]}, beam {beam}, {processes}: {rate['median']:.1f} "
            f"({rate['least']:.1f}–{rate['most']:.1f}) images/s"
        )
    return notes


def in_short(records: list[Record]) -> dict[str, Any]:
    """Return the medians: tokens or images per second of each contestant, and ratios with data included."""
    found: dict[str, Any] = {}
    for row in summarise(records):
        name = f"{row['event']}, {row['toolkit']}"
        found[name] = round(row["with_data"]["median"], 1)
        if row["toolkit"] == PLAIN:
            found[f"{row['event']}, jumok is × as fast"] = round(row["ratio_with_data"]["median"], 2)
    return found


if __name__ == "__main__":
    try:
        main()
    except JumokError as error:
        raise SystemExit(f"jumok: {error}") from None
