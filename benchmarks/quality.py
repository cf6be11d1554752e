"""Speed must not cost quality: the first steps of jumok's fast training beside its plain twin.

    python benchmarks/quality.py --data MULTI30K --png docs/figures/quality.png

Both train the tiny Transformer of multi30k-tiny.toml from the same weights on the same batches. The twin does without all
that was done for speed: torch's own dropout, attention, norms and linear layers, the cross-entropy of whole logits, one process.
What differs between two seeds of the twin (weights, batches and dropout) is the noise to compare with.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import mean
from typing import Any

from contest import HERE, find_data, machine, warn_if_busy

KINDS = ("fast", "plain")
Curve = list[float]  # the training loss of every ten steps


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Loss curves of fast and plain training.")
    parser.add_argument("--data", required=True, type=Path, help="the folder of Multi30k, or the one that holds it")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=Path, default=Path("runs/quality"), help="what is there is not trained again")
    parser.add_argument("--png", type=Path, help="draw the curves to this file")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "quality", help="OUT.json and OUT.md")
    parser.add_argument("--train", nargs=2, metavar=("KIND", "SEED"), help=argparse.SUPPRESS)  # one run, in a process
    given = parser.parse_args()
    given.data = find_data(given.data, "multi30k")
    return given


def make_plain() -> None:
    """Put torch's own in the place of all that is there for speed."""
    import torch.nn.functional as F
    from torch import Tensor, nn

    from jumok.nn.dropout import Dropout
    from jumok.nn.linear import Linear
    from jumok.tasks import writing

    def whole(features: Tensor, project: nn.Linear, targets: Tensor, *, smoothing: float) -> tuple[Tensor, Tensor]:
        logits = project(features)
        smoothed = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
        return smoothed, F.cross_entropy(logits.detach(), targets, reduction="sum")

    assert os.environ["JUMOK_NATIVE"] == "0"
    Dropout.forward = lambda self, x: F.dropout(x, self.rate, self.training)  # type: ignore[method-assign]
    Linear.forward = nn.Linear.forward  # type: ignore[method-assign]
    writing.vocabulary_loss = whole  # type: ignore[assignment]


def train(kind: str, seed: int, given: argparse.Namespace) -> None:
    """Train one run."""
    import jumok

    settings = [
        f"training.steps={given.steps}",
        f"training.evaluate_every={given.steps}",
        f"training.save_every={given.steps}",
        f"training.seed={seed}",
        "training.probes=0",
    ]
    if kind == "plain":
        make_plain()
        settings.append("training.workers=1")
    jumok.train(HERE / "multi30k-tiny.toml", data=given.data, out=given.runs / f"{kind}-{seed}", overrides=settings)


def read(run: Path) -> dict[str, Any]:
    """Return a run's losses in training, and its val loss at the end."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return {
        "curve": [row["loss"] for row in rows if "loss" in row],
        "val": [row["evaluation"]["loss"] for row in rows if "evaluation" in row][-1],
    }


def apart(one: Curve, other: Curve) -> float:
    """Return how far two curves are apart on average."""
    return mean(abs(a - b) for a, b in zip(one, other, strict=True))


def draw(found: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw all curves."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.8), dpi=150, layout="constrained")
    axes = figure.subplots()
    for name, run in found.items():
        kind, seed = name.split("-")
        axes.plot(
            [10 * (number + 1) for number in range(len(run["curve"]))], run["curve"], label=f"{kind}, seed {seed}",
            color={"fast": "C0", "plain": "C1"}[kind], linestyle=["-", "--", ":", "-."][(int(seed) - 1) % 4], linewidth=1,
        )  # fmt: skip
    axes.set(xlabel="step", ylabel="training loss per token", title="Fast training and its plain twin")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Train what is missing, then compare."""
    given = arguments()
    if given.train:
        train(given.train[0], int(given.train[1]), given)
        return
    warn_if_busy()
    found: dict[str, dict[str, Any]] = {}
    for seed in given.seeds:
        for kind in KINDS:
            name = f"{kind}-{seed}"
            if not (given.runs / name / "metrics.jsonl").exists():
                command = [sys.executable, __file__, *sys.argv[1:], "--train", kind, str(seed)]
                native = {} if kind == "fast" else {"JUMOK_NATIVE": "0"}
                subprocess.run(command, check=True, env=os.environ | native)
            found[name] = read(given.runs / name)
    same = mean(apart(found[f"fast-{seed}"]["curve"], found[f"plain-{seed}"]["curve"]) for seed in given.seeds)
    lines = ["| seed | val loss, fast | val loss, plain |", "| --- | --- | --- |"]
    lines += [
        f"| {seed} | {found[f'fast-{seed}']['val']:.4f} | {found[f'plain-{seed}']['val']:.4f} |" for seed in given.seeds
    ]
    lines.append(
        f"\nTraining loss, mean distance of two curves over {given.steps} steps: fast and plain, same seed {same:.4f}"
    )
    if len(given.seeds) > 1:
        first, second = given.seeds[:2]
        lines[-1] += (
            f"; plain, two seeds {apart(found[f'plain-{first}']['curve'], found[f'plain-{second}']['curve']):.4f}"
        )
    text = "\n".join(lines)
    print(text)
    about = ", ".join(map(str, machine().values()))
    given.out.with_suffix(".md").write_text(f"{about}\n\n{text}\n", encoding="utf-8")
    given.out.with_suffix(".json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    if given.png:
        draw(found, given.png)


if __name__ == "__main__":
    main()
