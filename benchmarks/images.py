"""How fast ViT and Swin are trained: jumok beside Hugging Face's models in a plain loop.

    python benchmarks/images.py --data CIFAR10

The same images, sizes and batches, a crop and a flip on both sides; images per second with data included. `one batch`
is jumok on a single batch that lies ready: what preparing images costs is the difference. Both multiply in fp32 and in bf16,
the loop in torch's autocast.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import products
from contest import OURS, Contestant, add_options, build_peers, find_data, hold, save, told, warn_if_busy, whole_speed

from jumok.errors import JumokError
from jumok.runs.job import Job, prepare_job

RECIPES = {"vit": "cifar10-vit", "swin": "cifar10-swin"}
THEIRS = "transformers, plain loop"
ONE_BATCH = "jumok, one batch"
VARIED = ["data.augment.crop=4", "data.augment.flip=true", "data.augment.policy=0", "training.optimizer=adamw"]
OWN = {
    "vit": ["model.pool=class"],
    # transformers' Swin fails where the last stage's grid (2 × 2 of 32 × 32 pixels) is smaller than the window of 4 × 4
    "swin": ["data.size=64", "training.batch_size=32"],
}
SIZES = ("image_size", "channels", "classes", "patch_size", "width", "layers", "heads")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Training speed of ViT and Swin: jumok beside its peers.")
    parser.add_argument(
        "--data", required=True, type=Path, help="the folder of CIFAR-10 (train.npz, …), or the one that holds cifar10"
    )
    parser.add_argument("--steps", type=int, default=40, help="timed steps of each run")
    parser.add_argument("--warm-up", type=int, default=10, help="steps before them")
    parser.add_argument("--models", nargs="+", choices=list(RECIPES), default=list(RECIPES))
    add_options(parser, "images")
    given = parser.parse_args()
    given.data = find_data(given.data, "cifar10")
    return given


def main() -> None:
    """Hold the contest."""
    given = arguments()
    build_peers()
    warn_if_busy()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contestants = [one for model in given.models for one in contestants_of(model, given, folder)]
        job = {"steps": given.steps, "warm_up": given.warm_up, "data": str(given.data.absolute())}
        records = []
        for record in hold(contestants, rounds=given.rounds, threads=given.threads, job=job, folder=folder):
            records.append(record)
            print(told(record, rounds=given.rounds, unit="images/s with data", pace=whole_speed), flush=True)
        made = products.measure(contestants, job=job, folder=folder)
    settings = {
        **job,
        "data": given.data.name,
        "rounds": given.rounds,
        "threads": given.threads,
        "varied": VARIED,
        "own": OWN,
    }
    print(
        save(
            given.out,
            title="Training speed, models for images",
            event="model",
            settings=settings,
            records=records,
            unit="images/s",
            notes=products.notes(made),
            more={"products": made},
        )
    )
    print(f"saved as {given.out.with_suffix('.json')} and {given.out.with_suffix('.md')}")


def contestants_of(model: str, given: argparse.Namespace, folder: Path) -> list[Contestant]:
    """Return who takes part in the event of a model."""
    overrides = [*VARIED, *OWN[model]]
    training = prepare_job(RECIPES[model], data=given.data, out=folder / f"unused-{model}", overrides=overrides)
    ours: dict[str, Any] = {"recipe": RECIPES[model], "overrides": overrides}
    theirs = {
        "kind": model,
        "sizes": sizes(training),
        "arrays": str(write_arrays(training, folder / f"{model}.npz")),
        "mean": training.task.data.mean,
        "deviation": training.task.data.deviation,
        "batch_size": training.batches.batch_size,
        "crop": training.task.data.augment.crop,
    }
    kinds = {
        OURS: ("train_jumok.py", ours),
        ONE_BATCH: ("train_jumok.py", {**ours, "one_batch": True}),
        THEIRS: ("train_plain_images.py", theirs),
    }
    return [
        Contestant(model, toolkit, driver, job, apart=toolkit == THEIRS, precision=precision)
        for toolkit, (driver, job) in kinds.items()
        for precision in given.precisions
    ]


def sizes(training: Job) -> dict[str, Any]:
    """Return what the peers take over from jumok's recipe."""
    model = training.recipe.model.model_dump()
    own = ("window", "feedforward_ratio", "stochastic_depth") if model["name"] == "swin" else ("feedforward",)
    return {name: model[name] for name in (*SIZES, *own)}


def write_arrays(training: Job, path: Path) -> Path:
    """Write jumok's decoded images for the peers."""
    store = training.task.corpora.train
    np.savez(path, x=store.pixels, y=store.classes.astype(np.int64))
    return path


if __name__ == "__main__":
    try:
        main()
    except JumokError as error:
        raise SystemExit(f"jumok: {error}") from None
