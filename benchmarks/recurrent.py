"""How fast recurrent models with attention are trained: jumok beside OpenNMT-py and JoeyNMT.

    python benchmarks/recurrent.py --data MULTI30K

The same pairs, cut into the same tokens by jumok's tokenizer; the same sizes, from multi30k-recurrent.toml; each
toolkit's own batching by tokens, trainer and optimizer. Target tokens are counted without padding, end token included. The
peers multiply in fp32: their half precision is for GPUs. jumok does so in fp32 and in bf16.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import products
from contest import HERE, OURS, Contestant, add_options, build_peers, find_data, hold, save, told, warn_if_busy
from texts import write_texts

from jumok.errors import JumokError
from jumok.runs.job import Job, prepare_job

RECIPE = HERE / "multi30k-recurrent.toml"
SCORES = {  # what each toolkit calls the same score
    "bilinear": {"jumok": "bilinear", "OpenNMT-py": "general", "JoeyNMT": "luong"},
    "mlp": {"jumok": "mlp", "OpenNMT-py": "mlp", "JoeyNMT": "bahdanau"},
}
DRIVERS = {OURS: "train_jumok.py", "OpenNMT-py": "train_opennmt.py", "JoeyNMT": "train_joeynmt.py"}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Training speed of recurrent models: jumok beside its peers.")
    parser.add_argument(
        "--data",
        required=True,
        type=Path,
        help="the folder of Multi30k (train.en.gz, train.de.gz, …), or the one that holds multi30k",
    )
    parser.add_argument("--steps", type=int, default=40, help="timed steps of each run")
    parser.add_argument("--warm-up", type=int, default=10, help="steps before them")
    parser.add_argument("--scores", nargs="+", choices=list(SCORES), default=list(SCORES))
    parser.add_argument("--toolkits", nargs="+", choices=list(DRIVERS), default=list(DRIVERS))
    add_options(parser, "recurrent", rounds=5, threads=(1, 2))
    given = parser.parse_args()
    if OURS not in given.toolkits:
        parser.error(f"ratios need {OURS} among --toolkits")
    given.data = find_data(given.data, "multi30k")
    return given


def main() -> None:
    """Hold the contest."""
    given = arguments()
    build_peers()
    warn_if_busy()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        training = prepare_job(RECIPE, data=given.data, out=folder / "unused")
        job = {
            "recipe": str(RECIPE),
            "data": str(given.data.absolute()),
            "steps": given.steps,
            "warm_up": given.warm_up,
            "pairs": write_texts(training, folder),
            "sizes": sizes(training),
        }
        contestants = [
            Contestant(
                score, toolkit, DRIVERS[toolkit], request(toolkit, score), apart=toolkit != OURS, precision=precision
            )
            for score in given.scores
            for toolkit in given.toolkits
            for precision in given.precisions
            if toolkit == OURS or precision == "fp32"
        ]
        records = []
        for record in hold(contestants, rounds=given.rounds, threads=given.threads, job=job, folder=folder):
            records.append(record)
            print(told(record, rounds=given.rounds, unit="target tokens/s"), flush=True)
        made = products.measure(contestants, job=job, folder=folder)
    settings = {**job, "recipe": RECIPE.name, "data": given.data.name, "rounds": given.rounds, "threads": given.threads}
    title = "Training speed, recurrent models with attention"
    print(
        save(
            given.out,
            title=title,
            event="score",
            settings=settings,
            records=records,
            notes=products.notes(made),
            more={"products": made},
        )
    )
    print(f"saved as {given.out.with_suffix('.json')} and {given.out.with_suffix('.md')}")


def request(toolkit: str, score: str) -> dict[str, Any]:
    """Return what a driver must know of a contestant."""
    name = SCORES[score][toolkit]
    return {"attention": name, "overrides": [f"model.attention={name}"] if toolkit == OURS else []}


def sizes(training: Job) -> dict[str, Any]:
    """Return what the peers take over from jumok's recipe."""
    model, settings = training.recipe.model.model_dump(), training.recipe.training
    fixed = {"cell": "lstm", "bidirectional": True, "encoder_width": 0, "attend": "after", "input_feeding": False}
    assert fixed.items() <= model.items(), f"the peers' drivers are written for {fixed}"
    return {
        "vocabulary": len(training.task.source_tokenizer),
        "layers": model["layers"],
        "width": model["width"],
        "dropout": model["dropout"],
        "batch_tokens": settings.batch_tokens,
        "learning_rate": settings.learning_rate,
        "warmup": settings.warmup,
        "clip": settings.clip,
        "label_smoothing": settings.label_smoothing,
    }


if __name__ == "__main__":
    try:
        main()
    except JumokError as error:
        raise SystemExit(f"jumok: {error}") from None
