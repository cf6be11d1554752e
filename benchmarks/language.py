"""How fast and how well a small GPT is trained: jumok beside a plain loop of torch.nn parts.

    python benchmarks/language.py --data TINYSHAKESPEARE

The same characters, sizes, steps and learning rates, those of the recipe shakespeare-char. Every run goes to the last step and scores the
whole val text in blocks; characters a second are counted over all steps but the first ones and the last. Both multiply in fp32
and in bf16, the loop in torch's autocast. Each round has a seed of its own.
"""

import argparse
import gzip
import tempfile
from pathlib import Path
from statistics import mean
from typing import Any

import products
from contest import OURS, Contestant, add_options, find_data, hold, save, told, warn_if_busy

from jumok.errors import JumokError
from jumok.runs.job import prepare_job

RECIPE = "shakespeare-char"
PLAIN = "plain loop"
MODEL_SIZES = ("layers", "width", "heads", "feedforward", "window")
LISTENED = 40  # steps in which products are listened to
SETTINGS = ("learning_rate", "final_learning_rate", "warmup", "weight_decay", "betas", "clip")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Training of a small GPT: jumok beside a plain loop.")
    parser.add_argument(
        "--data", required=True, type=Path, help="the folder of tiny Shakespeare, or the one that holds tinyshakespeare"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--steps", type=int, default=2000, help="steps of each run")
    parser.add_argument("--warm-up", type=int, default=100, help="the first of them, not timed")
    add_options(parser, "language")
    given = parser.parse_args()
    if not 0 <= given.warm_up < given.steps - 1:
        parser.error("--steps must leave at least one step to time after --warm-up and before the last")
    given.data = find_data(given.data, "tinyshakespeare")
    return given


def main() -> None:
    """Hold the contest."""
    given = arguments()
    warn_if_busy()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fixed = [f"training.{key}={given.steps}" for key in ("steps", "evaluate_every", "save_every")]
        job = {
            "recipe": RECIPE,
            "data": str(given.data.absolute()),
            "steps": given.steps - given.warm_up - 1,
            "warm_up": given.warm_up,
            "go_on": True,
            **plain_job(given, folder),
        }
        records = []
        for number in range(given.rounds):
            own = folder / f"round-{number}"
            own.mkdir()
            for split in ("train", "val"):
                (own / f"{split}.txt").symlink_to(folder / f"{split}.txt")
            seed = number + given.seed
            kinds = {
                PLAIN: ("train_plain_gpt.py", {"seed": seed}),
                OURS: ("train_jumok.py", {"overrides": [*fixed, f"training.seed={seed}"]}),
            }
            contestants = [
                Contestant("4 × 128", toolkit, driver, own_job, apart=False, precision=precision)
                for toolkit, (driver, own_job) in kinds.items()
                for precision in given.precisions
            ]
            for record in hold(
                contestants[::-1] if number % 2 else contestants, rounds=1, threads=given.threads, job=job, folder=own
            ):
                records.append({**record, "round": number})
                line = told(records[-1], rounds=given.rounds, unit="characters/s")
                print(f"{line} · val loss {record['loss']:.4f}", flush=True)
        short = {**job, "steps": min(job["steps"], LISTENED)}
        made = products.measure(contestants, job=short, folder=folder)
    settings = {**job, "data": given.data.name, "rounds": given.rounds, "threads": given.threads}
    losses: dict[str, list[float]] = {}
    for record in records:
        losses.setdefault(f"{record['toolkit']} in {record['precision']}", []).append(record["loss"])
    notes = [
        f"val loss after {given.steps:,} steps, {name}: {mean(found):.4f} on average, "
        f"from {min(found):.4f} to {max(found):.4f}"
        for name, found in losses.items()
    ]
    title = "Training a small GPT on tiny Shakespeare"
    print(
        save(
            given.out,
            title=title,
            event="layers × width",
            settings=settings,
            records=records,
            unit="characters/s",
            notes=[*notes, *products.notes(made)],
            more={"products": made},
        )
    )
    print(f"saved as {given.out.with_suffix('.json')} and {given.out.with_suffix('.md')}")


def plain_job(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Write the texts for the plain loop; return what it takes over from jumok's recipe."""
    for split in ("train", "val"):
        text = gzip.decompress((given.data / f"{split}.txt.gz").read_bytes())
        (folder / f"{split}.txt").write_bytes(text)
    recipe = prepare_job(RECIPE, data=given.data, out=folder / "unused").recipe
    model, training = recipe.model.model_dump(), recipe.training.model_dump()
    return {
        "sizes": {name: model[name] for name in MODEL_SIZES},
        "settings": {
            **{name: training[name] for name in SETTINGS},
            "rows": training["batch_tokens"] // model["window"],
            "steps": given.steps,
        },
    }


if __name__ == "__main__":
    try:
        main()
    except JumokError as error:
        raise SystemExit(f"jumok: {error}") from None
