"""How fast a GPT writes at batch 1: jumok with and without a cache, beside transformers.

    python benchmarks/generation.py

Random weights of the same sizes, drawn tokens, nothing ends early. Every text begins with one token; the time of a
text of n tokens is divided by n. `weights` is how many GB of weights per second were read: each token reads them all once.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from contest import HERE, OURS, Contestant, build_peers, hold, save, speed, warn_if_busy

SIZES = {
    "tiny": {"layers": 4, "width": 128, "heads": 4, "feedforward": 512, "vocabulary": 65, "window": 1024},
    "gpt2": {"layers": 12, "width": 768, "heads": 12, "feedforward": 3072, "vocabulary": 50257, "window": 1024},
}
WRITERS = {OURS: "cached", "jumok, no cache": "full", "transformers": "transformers"}
LONGEST_FULL = 256  # without a cache a text of 1,024 tokens would take minutes


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Speed of generation: jumok beside transformers.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--models", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="each is tried; a toolkit's best counts")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "generation", help="OUT.json and OUT.md")
    parser.add_argument("--data", help="not needed: weights are random (make bench passes it to every part)")
    return parser.parse_args()


def main() -> None:
    """Hold the contest."""
    given = arguments()
    contestants = [
        Contestant(
            f"{model} {length}",
            toolkit,
            "generate.py",
            {"how": how, "model": SIZES[model], "length": length},
            apart=how == "transformers",
        )
        for model in given.models
        for length in given.lengths
        for toolkit, how in WRITERS.items()
        if how != "full" or (model == "tiny" and length <= LONGEST_FULL)
    ]
    build_peers()
    warn_if_busy()
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        for record in hold(contestants, rounds=given.rounds, threads=given.threads, job={}, folder=Path(name)):
            records.append(record)
            print(
                f"round {record['round'] + 1}/{given.rounds} · {record['event']:<9} · {record['toolkit']:<15} · "
                f"threads {record['threads']} · {speed(record):,.1f} tokens/s",
                flush=True,
            )
    settings = {"sizes": SIZES, "rounds": given.rounds, "threads": given.threads}
    print(
        save(
            given.out,
            title="Generation at batch 1",
            event="model, tokens",
            settings=settings,
            records=records,
            unit="tokens/s",
            does="writes",
        )
    )
    for model in given.models:
        own = [r for r in records if r["toolkit"] == OURS and r["event"].startswith(f"{model} ")]
        read = {r["event"]: [] for r in own}
        for record in own:
            read[record["event"]].append(speed(record) * record["parameters"] * 4 / 1e9)
        print(*(f"{event}: {median(values):.1f} GB/s of weights" for event, values in read.items()), sep="\n")
    print(f"copying memory on this machine: {copy_speed():.1f} GB/s read")


def copy_speed() -> float:
    """Return how many GB per second a sum over a tensor larger than any cache reads."""
    import time

    import torch

    numbers = torch.ones(1 << 27)
    numbers.sum()
    started = time.perf_counter()
    for _ in range(5):
        numbers.sum()
    return 5 * numbers.numel() * 4 / 1e9 / (time.perf_counter() - started)


if __name__ == "__main__":
    main()
