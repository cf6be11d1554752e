"""Do products in bf16 cost quality? Pairs of runs, fp32 and bf16, with equal seeds and steps.

    python benchmarks/precision.py --data FOLDER [--only multi30k-en-de] [--list]

recipe, precision, seed → a run under runs/precision → its val scores, floor and curve → results/precision/NAME.json
                        → results/precision.md, docs/figures/precision.png

A run that is finished is not made again, one that was broken off goes on: so days and machines add up. --jobs runs stand side
by side, each in one process of one thread. FOLDER holds multi30k, tinyshakespeare, mnist and cifar10; the dates need none.
"""

import argparse
import gzip
import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from contest import HERE, PRECISIONS, find_data, machine
from precision_table import save, told

from jumok.config.recipe import find_recipe
from jumok.errors import JumokError

ENTRY = [sys.executable, "-c", "from jumok.cli.main import main; main()"]
FIGURE = HERE.parent / "docs" / "figures" / "precision.png"
BETWEEN = 30.0  # seconds from one line of progress to the next
SCALED = ("steps", "warmup", "evaluate_every", "save_every")


@dataclass(frozen=True)
class Case:
    """A recipe, trained in each precision with each seed."""

    score: str  # of val, that is compared
    seeds: tuple[int, ...]
    folder: str = ""  # of its data, in the folder of all
    share: float = 1.0  # of the recipe's steps


CASES = {
    "dates-seq2seq-mlp": Case("exact_match", (1, 2)),
    "shakespeare-char": Case("loss", (1, 2, 3, 4, 5), "tinyshakespeare"),
    "mnist-vit": Case("accuracy", (1, 2), "mnist"),
    "multi30k-en-de": Case("bleu", (1, 2), "multi30k", 0.5),
    "cifar10-vit": Case("accuracy", (1,), "cifar10"),
}


@dataclass(frozen=True)
class Run:
    """One run of a case."""

    recipe: str
    precision: str
    seed: int

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.recipe}-{self.precision}-{self.seed}"

    @property
    def case(self) -> Case:
        """The case it belongs to."""
        return CASES[self.recipe]

    @property
    def kept(self) -> Path:
        """The file of its result."""
        return HERE / "results" / "precision" / f"{self.name}.json"

    @property
    def settings(self) -> dict[str, Any]:
        """What is asked of [training], seed and precision apart: the recipe's schedule at the case's length."""
        training = tomllib.loads(find_recipe(self.recipe).read_text(encoding="utf-8"))["training"]
        scaled = {key: max(round(self.case.share * training[key]), 1) for key in SCALED}
        return {**scaled, "log_every": max(scaled["steps"] // 100, 1), "workers": 1, "threads": 1, "probes": 0}

    @property
    def digest(self) -> str:
        """A name for all that is asked: a result of a recipe that has changed since is none."""
        recipe = tomllib.loads(find_recipe(self.recipe).read_text(encoding="utf-8"))
        text = json.dumps([recipe, self.settings], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def folder(self, runs: Path) -> Path:
        """Return where it is trained."""
        return runs / f"{self.name}-{self.digest}"

    def result(self) -> dict[str, Any] | None:
        """Return its result, or None where there is none yet."""
        if not self.kept.exists():
            return None
        found: dict[str, Any] = json.loads(self.kept.read_text(encoding="utf-8"))
        return found if found["digest"] == self.digest else None

    def rows(self, runs: Path) -> list[dict[str, Any]]:
        """Return what it has logged so far."""
        log = self.folder(runs) / "metrics.jsonl"
        lines = log.read_text(encoding="utf-8").split("\n")[:-1] if log.exists() else []  # the last may be half a line
        return [json.loads(line) for line in lines]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Quality of training in bf16 beside fp32, at equal steps.")
    parser.add_argument("--data", type=Path, help="the folder of the sets, or that of the one recipe of --only")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES), metavar="RECIPE")
    parser.add_argument("--seeds", type=int, nargs="+", help="instead of each recipe's own")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=list(PRECISIONS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs side by side")
    parser.add_argument("--list", action="store_true", help="tell what is done and what is missing, and do nothing")
    parser.add_argument("--runs", type=Path, default=HERE.parent / "runs" / "precision")
    parser.add_argument("--png", type=Path, default=FIGURE)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "precision", help="OUT.json and OUT.md")
    return parser.parse_args()


def wanted(given: argparse.Namespace) -> list[Run]:
    """Return the runs that are asked for, pairs side by side."""
    return [
        Run(recipe, precision, seed)
        for recipe in given.only
        for seed in given.seeds or CASES[recipe].seeds
        for precision in given.precisions
    ]


# --- training


class Trainer:
    """Train and score runs, each in a process of its own that is told to save and end when we must."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.stopping = given, False
        self.running: dict[str, tuple[Run, subprocess.Popen[bytes]]] = {}
        self.lock = threading.Lock()

    def complete(self, run: Run) -> None:
        """Train a run to its last step, score it, and keep the result."""
        folder, data = run.folder(self.given.runs), self.data(run)
        named = ["--data", str(data)] if data else []
        changes = {**run.settings, "precision": run.precision, "seed": run.seed}
        settings = [part for key, value in changes.items() for part in ("--set", f"training.{key}={value}")]
        self.call(run, ["train", run.recipe, "--out", str(folder), "--resume", *named, *settings])
        scored = json.loads(self.call(run, ["evaluate", str(folder), "--json", "--precision", "fp32", *named]))
        keep(run, run.rows(self.given.runs), next(iter(scored.values())), floor(run, folder, data, scored))

    def data(self, run: Run) -> Path | None:
        """Return the folder of a run's data; None where it needs none."""
        if not run.case.folder:
            return None
        if self.given.data is None:
            raise SystemExit(
                f"{run.recipe} needs --data FOLDER, which holds {run.case.folder}; or leave it out by --only"
            )
        return find_data(self.given.data, run.case.folder).absolute()

    def call(self, run: Run, command: Sequence[str]) -> str:
        """Return what a command of jumok prints, on one thread; what it says beside that goes to the run's log."""
        self.given.runs.mkdir(parents=True, exist_ok=True)
        one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        log = self.given.runs / f"{run.folder(self.given.runs).name}.log"
        with log.open("ab") as file:
            with self.lock:
                if self.stopping:
                    raise Stopped
                process = subprocess.Popen(
                    [*ENTRY, *command], stdout=subprocess.PIPE, stderr=file, env=os.environ | one_thread, start_new_session=True
                )  # fmt: skip
                self.running[run.name] = run, process
            printed, _ = process.communicate()
        with self.lock:
            del self.running[run.name]
        if self.stopping:
            raise Stopped
        if process.returncode:
            raise SystemExit(f"{run.name} failed; its log is {log}")
        return printed.decode()

    def stop(self) -> None:
        """Let every run save and end."""
        with self.lock:
            self.stopping = True
            for _, process in self.running.values():
                process.terminate()

    def progress(self) -> str:
        """Return where the runs are that are being trained."""
        with self.lock:
            running = [run for run, _ in self.running.values()]
        return " · ".join(f"{run.name} {state(run, self.given.runs)}" for run in running)


class Stopped(Exception):  # noqa: N818 -- no error
    """We have been told to stop."""


def state(run: Run, runs: Path) -> str:
    """Return how far a run has come, and how long the rest will take."""
    rows, steps = run.rows(runs), run.settings["steps"]
    if not rows:
        return "is starting" if run.folder(runs).exists() else "is missing"
    step, seconds = rows[-1]["step"], max(row["seconds"] for row in rows)
    left = seconds / max(step, 1) * (steps - step) / 60
    return f"step {step:,} of {steps:,}, about {left:,.0f} min to go" if step < steps else "is being scored"


def train(missing: Sequence[Run], given: argparse.Namespace) -> None:
    """Make runs, some side by side; tell how far they are."""
    trainer = Trainer(given)
    for run in missing:
        trainer.data(run)  # or a refusal, before anything begins
    with ThreadPoolExecutor(given.jobs) as pool:
        waiting: dict[Future[None], Run] = {pool.submit(trainer.complete, run): run for run in missing}
        count, spoken = len(waiting), time.monotonic()
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
        try:
            while waiting:
                time.sleep(0.5)
                for future in [one for one in waiting if one.done()]:
                    run = waiting.pop(future)
                    future.result()
                    found = run.result()
                    assert found is not None
                    print(f"{count - len(waiting)}/{count} · {run.name} · {told(found)}", flush=True)
                if time.monotonic() - spoken > BETWEEN:
                    spoken = time.monotonic()
                    print(f"{count - len(waiting)}/{count} · {trainer.progress()}", flush=True)
        except BaseException:
            for future in waiting:
                future.cancel()
            trainer.stop()
            raise
        finally:
            signal.signal(signal.SIGTERM, before)


# --- results


def floor(run: Run, folder: Path, data: Path | None, scored: dict[str, Any]) -> float:
    """Return what a trivial answer scores: the commonest class, the letters' frequencies, the source as it is."""
    scores = next(iter(scored.values()))
    if run.case.score == "accuracy":
        return float(scores["baselines"]["majority"])
    if run.case.score == "loss":
        assert data is not None
        train, val = (gzip.decompress((data / f"{split}.txt.gz").read_bytes()).decode() for split in ("train", "val"))
        known = Counter(train)
        return -mean(math.log((known[letter] + 1) / (len(train) + len(known))) for letter in val)
    from jumok import api
    from jumok.evaluation.text import mean_scores

    predictor = api.load(folder)
    store = next(iter(predictor.stores("val").values()))
    pairs = [store.text(number) for number in range(len(store))]
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    return float(mean_scores(sources, targets, [""] * len(pairs))[run.case.score])


def keep(run: Run, rows: Sequence[dict[str, Any]], scores: dict[str, Any], lowest: float) -> None:
    """Write a run's result."""
    score = run.case.score
    facts = machine()
    result = {
        "recipe": run.recipe,
        "precision": run.precision,
        "seed": run.seed,
        "digest": run.digest,
        "steps": run.settings["steps"],
        "score": score,
        "value": scores[score],
        "floor": lowest,
        "minutes": max(row["seconds"] for row in rows) / 60,
        "curve": [[row["step"], row["evaluation"][score]] for row in rows if "evaluation" in row],
        "losses": [[row["step"], round(row["loss"], 5)] for row in rows if "loss" in row],
        **{key: facts[key] for key in ("processor", "commit", "when")},
    }
    run.kept.parent.mkdir(parents=True, exist_ok=True)
    run.kept.write_text(json.dumps(result, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """Train what is missing, then compare all that is there."""
    given = arguments()
    runs = wanted(given)
    if given.list:
        for run in runs:
            found = run.result()
            print(f"{run.name:<28} {told(found) if found else state(run, given.runs)}")
        return
    train([run for run in runs if run.result() is None], given)
    kept = [run.result() for recipe in CASES for run in kept_runs(recipe)]
    print(save([result for result in kept if result], out=given.out, png=given.png))
    print(f"saved as {given.out.with_suffix('.json')}, {given.out.with_suffix('.md')} and {given.png}")


def kept_runs(recipe: str) -> list[Run]:
    """Return the runs of a recipe that have a result, of whatever seeds."""
    files = sorted((HERE / "results" / "precision").glob(f"{recipe}-*.json"))
    found = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    return [Run(one["recipe"], one["precision"], one["seed"]) for one in found]


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("stopped; the same command goes on") from None
    except JumokError as error:
        raise SystemExit(f"jumok: {error}") from None
