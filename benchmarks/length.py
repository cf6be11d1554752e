"""Training time per target token against sentence length, for recurrent models and the Transformer.

python benchmarks/length.py --png docs/figures/time-by-length.png

Random `copy` sentences of 8 to 256 tokens, 4,096 tokens per batch, forward + backward + step, median of several rounds in
alternating order.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch

from jumok.catalogue import model_class
from jumok.config import TrainingConfig
from jumok.nn.batch import PairBatch
from jumok.tasks.losses import vocabulary_loss
from jumok.training.optimizer import make_optimizer

VOCABULARY, BATCH_TOKENS = 6000, 4096
LENGTHS = (8, 16, 32, 64, 128, 256)
MODELS = {
    "Transformer tiny": ("transformer", {"preset": "tiny"}),
    "GRU, fixed context": ("seq2seq", {"preset": "tiny", "attention": "none"}),
    "GRU, dot attention": ("seq2seq", {"preset": "tiny", "attention": "dot"}),
    "GRU, MLP attention": ("seq2seq", {"preset": "tiny", "attention": "mlp"}),
    "GRU, MLP attention before the step": ("seq2seq", {"preset": "tiny", "attention": "mlp", "attend": "before"}),
}


def copy_batch(length: int) -> PairBatch:
    """Return sentences of one length and their copies."""
    rows = BATCH_TOKENS // length
    tokens = torch.randint(4, VOCABULARY, (rows, length))
    real = torch.ones_like(tokens, dtype=torch.bool)
    return PairBatch(tokens, real, tokens.roll(1, dims=1), tokens, real)


class Trial:
    """A model with its optimizer."""

    def __init__(self, name: str, options: dict) -> None:
        built = model_class(name)
        sizes = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY}
        self.model = built(built.Config(**sizes, **options)).train()
        self.optimizer = make_optimizer(self.model, TrainingConfig())

    def seconds_per_token(self, batch: PairBatch) -> float:
        """Return the time of one training step, divided by its target tokens."""
        started = time.perf_counter()
        features = self.model.features(batch).flatten(0, 1)
        total, _ = vocabulary_loss(features, self.model.project, batch.targets.flatten())
        (total / len(features)).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return (time.perf_counter() - started) / len(features)


def main() -> None:
    """Measure, print a table and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--png", type=Path)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    trials = {name: Trial(*made) for name, made in MODELS.items()}
    times: dict[str, dict[int, list[float]]] = {name: {length: [] for length in arguments.lengths} for name in trials}
    for number in range(arguments.rounds + 1):  # the first round warms up
        for length in arguments.lengths:
            batch = copy_batch(length)
            for name, trial in trials.items():
                seconds = trial.seconds_per_token(batch)
                if number:
                    times[name][length].append(seconds)
    medians = {name: {n: statistics.median(v) * 1e6 for n, v in by.items()} for name, by in times.items()}
    print(f"microseconds per target token, {torch.get_num_threads()} threads, median of {arguments.rounds} rounds")
    print("length".ljust(36), *(f"{length:>8}" for length in arguments.lengths))
    for name, by_length in medians.items():
        print(name.ljust(36), *(f"{by_length[length]:>8.0f}" for length in arguments.lengths))
    if arguments.json:
        arguments.json.write_text(json.dumps(medians, indent=1), encoding="utf-8")
    if arguments.png:
        draw(medians, arguments.png)


def draw(medians: dict[str, dict[int, float]], path: Path) -> None:
    """Draw one line per model."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for name, by_length in medians.items():
        axes.plot(list(by_length), list(by_length.values()), marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel="tokens per sentence", ylabel="training time per target token (µs)")
    axes.set_xticks(list(next(iter(medians.values()))), [str(n) for n in next(iter(medians.values()))])
    axes.set_yticks([100, 200, 400, 800], ["100", "200", "400", "800"])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
