"""How much data each model for images needs: accuracy against the share of the training images.

    python benchmarks/data_amount.py --data FOLDER --png docs/figures/data-amount.png

FOLDER holds mnist and cifar10. Every run of a set has the same number of steps. What --json holds already is not measured
again, and what is measured is added to it at once, so it can be stopped and gone on with, another day as well.
"""

import argparse
import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MODELS = {"vit": "ViT", "swin": "Swin", "mixer": "MLP-Mixer", "cnn": "CNN"}
SETS = {"mnist": 55_000, "cifar10": 45_000}  # training images
SHARES = (0.01, 0.1, 1.0)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Accuracy against the amount of training data.")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--runs", type=Path, default=Path("runs/data-amount"))
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--steps", type=int, nargs="+", default=[600, 600], help="of a run, for each set")
    parser.add_argument("--threads", type=int, default=0, help="of a run; 0 = all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--png", type=Path, help="draw the figure to this file")
    parser.add_argument(
        "--json", type=Path, default=HERE / "results" / "data-amount.json", help="where figures are kept"
    )
    return parser.parse_args()


def train(name: str, model: str, share: float, seed: int, steps: int, given: argparse.Namespace) -> dict[str, Any]:
    """Train one run where it is missing; return its best val accuracy and its minutes."""
    run = given.runs / f"{name}-{model}-{share:g}-{seed}"
    settings = [
        f"training.steps={steps}",
        f"training.warmup={steps // 20}",
        f"training.evaluate_every={steps}",
        f"training.save_every={steps}",
        f"training.seed={seed}",
        f"training.threads={given.threads}",
        f"data.limit={round(share * SETS[name]) if share < 1 else 0}",
    ]
    options = [part for setting in settings for part in ("--set", setting)]
    command = [
        sys.executable,
        "-c",
        "from jumok.cli.main import main; main()",
        "train",
        f"{name}-{model}",
        "--out",
        str(run),
    ]
    if not (run / "done").exists():
        resume = ["--resume"] if (run / "run.json").exists() else []
        subprocess.run([*command, "--data", str(given.data), *options, *resume], check=True)
        (run / "done").touch()
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    last = [row for row in rows if "evaluation" in row][-1]
    return {
        "set": name, "model": model, "share": share, "seed": seed, "steps": steps,
        "accuracy": last["evaluation"]["accuracy"], "minutes": last["seconds"] / 60,
    }  # fmt: skip


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """Draw one plane per set, one line per model, the mean over seeds."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(result["set"] for result in results))
    figure = Figure(figsize=(4.2 * len(names), 3.6), dpi=150, layout="constrained")
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for model in dict.fromkeys(result["model"] for result in results):
            means = []
            for share in SHARES:
                found = [r["accuracy"] for r in results if (r["set"], r["model"], r["share"]) == (name, model, share)]
                means.append(sum(found) / max(len(found), 1))
            axes.plot([100 * share for share in SHARES], means, marker="o", label=MODELS[model])
        axes.set(xscale="log", xlabel="% of the training images", ylabel="val accuracy, %", title=name)
        axes.set_xticks([100 * share for share in SHARES], [f"{100 * share:g}" for share in SHARES])
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(path)


def main() -> None:
    """Train what is missing, then show the table and the figure."""
    given = arguments()
    kept = json.loads(given.json.read_text(encoding="utf-8")) if given.json.exists() else []
    results = []
    steps_of = dict(zip(SETS, given.steps, strict=True))
    for name, seed, share, model in product(given.sets, given.seeds, SHARES, given.models):
        wanted = {"set": name, "model": model, "share": share, "seed": seed, "steps": steps_of[name]}
        found = [one for one in kept if all(one[key] == value for key, value in wanted.items())]
        if not found:
            found = [train(name, model, share, seed, steps_of[name], given)]
            kept += found
            given.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        print(found[0], flush=True)
        results += found
    print("| set | model | " + " | ".join(f"{100 * share:g} %" for share in SHARES) + " |")
    print("| --- | --- |" + " --- |" * len(SHARES))
    for name in given.sets:
        for model in given.models:
            cells = []
            for share in SHARES:
                found = [r["accuracy"] for r in results if (r["set"], r["model"], r["share"]) == (name, model, share)]
                cells.append(f"{sum(found) / len(found):.2f}")
            print(f"| {name} | {MODELS[model]} | " + " | ".join(cells) + " |")
    if given.png:
        draw(results, given.png)
        print(given.png)


if __name__ == "__main__":
    main()
