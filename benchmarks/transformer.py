"""How fast Transformers are trained: jumok beside toolkits, and loops around libraries' models.

    python benchmarks/transformer.py --data MULTI30K

The same pairs, cut into the same tokens by jumok's tokenizer; the same sizes, from multi30k-tiny.toml, -small and -base;
each toolkit's own batching by tokens. Target tokens are counted without padding, end token included. Everybody multiplies
in fp32, and in bf16 as well where it can on a CPU.
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

SIZES = ("tiny", "small", "base")
DRIVERS = {
    OURS: "train_jumok.py",
    "OpenNMT-py": "train_opennmt.py",
    "eole": "train_eole.py",
    "JoeyNMT": "train_joeynmt.py",
    "Marian": "train_loop.py",
    "torch.nn.Transformer": "train_loop.py",
    "x-transformers": "train_loop.py",
}
FP32_ONLY = ("OpenNMT-py", "JoeyNMT")  # their half precision is for GPUs; both switch it off on a CPU


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Training speed of Transformers: jumok beside its peers.")
    parser.add_argument(
        "--data",
        required=True,
        type=Path,
        help="the folder of Multi30k (train.en.gz, train.de.gz, …), or the one that holds multi30k",
    )
    parser.add_argument("--steps", type=int, default=20, help="timed steps of each run")
    parser.add_argument("--warm-up", type=int, default=5, help="steps before them")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--toolkits", nargs="+", choices=list(DRIVERS), default=list(DRIVERS))
    add_options(parser, "transformer")
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
        job: dict[str, Any] = {"data": str(given.data.absolute()), "steps": given.steps, "warm_up": given.warm_up}
        contestants = []
        for size in given.sizes:
            recipe = HERE / f"multi30k-{size}.toml"
            training = prepare_job(recipe, data=given.data, out=folder / "unused")
            if "pairs" not in job:
                job["pairs"] = write_texts(training, folder)
            own = {"recipe": str(recipe), "sizes": sizes(training), "overrides": []}
            contestants += [
                Contestant(
                    size,
                    toolkit,
                    DRIVERS[toolkit],
                    {**own, "library": toolkit},
                    apart=toolkit != OURS,
                    precision=precision,
                )
                for toolkit in given.toolkits
                for precision in precisions_of(toolkit, given.precisions)
            ]
        records = []
        for record in hold(contestants, rounds=given.rounds, threads=given.threads, job=job, folder=folder):
            records.append(record)
            print(told(record, rounds=given.rounds, unit="target tokens/s"), flush=True)
        made = products.measure(contestants, job=job, folder=folder)
    settings = {**job, "data": given.data.name, "rounds": given.rounds, "threads": given.threads}
    print(
        save(
            given.out,
            title="Training speed, Transformers",
            event="size",
            settings=settings,
            records=records,
            notes=products.notes(made),
            more={"products": made},
        )
    )
    print(f"saved as {given.out.with_suffix('.json')} and {given.out.with_suffix('.md')}")


def precisions_of(toolkit: str, wanted: list[str]) -> list[str]:
    """Return in which of the wanted precisions a toolkit can train on a CPU."""
    return [one for one in wanted if one == "fp32" or toolkit not in FP32_ONLY]


def sizes(training: Job) -> dict[str, Any]:
    """Return what the peers take over from jumok's recipe."""
    model, settings = training.recipe.model.model_dump(), training.recipe.training
    return {
        "vocabulary": len(training.task.source_tokenizer),
        **{key: model[key] for key in ("layers", "width", "heads", "feedforward", "dropout")},
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
