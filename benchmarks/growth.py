"""How cost grows: time and peak memory against sentence length and corpus size.

    python benchmarks/growth.py --png docs/figures/growth.png

Lengths: one training step of the tiny Transformer on 4,096 tokens, in sentences of 64 to 4,096 tokens, and a sentence of that
length translated greedily into one as long. Corpora: synthetic pairs, prepared once (tokenizer, tokens on disk), then
training started again: the time until its first batch is there, the memory of two steps and the evaluation after them.
Each figure comes from a process of its own.
"""

import argparse
import itertools
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contest import HERE, machine, warn_if_busy
from stopwatch import peak_memory

LENGTHS = (64, 256, 1024, 2048, 4096)
PAIRS = (50_000, 500_000, 5_000_000)
VOCABULARY, BATCH_TOKENS = 8000, 4096
WORDS = 30_000
RECIPE = """task = "translation"
[data]
train = { source = "text.src", target = "text.tgt" }
val = { source = "val.src", target = "val.tgt" }
[tokenizer]
vocabulary = 8000
[model]
name = "transformer"
preset = "tiny"
[training]
batch_tokens = 4096
"""


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Time and memory against length and corpus size.")
    parser.add_argument("--lengths", type=int, nargs="*", default=list(LENGTHS))
    parser.add_argument("--pairs", type=int, nargs="*", default=list(PAIRS))
    parser.add_argument("--folder", type=Path, help="where synthetic corpora are kept; a temporary folder by default")
    parser.add_argument("--png", type=Path, help="draw the figures to this file")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "growth", help="OUT.json and OUT.md")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


# --- what one process measures


def peak_megabytes() -> float:
    """Return the most memory this process has held."""
    return peak_memory() / 1e6


def tiny_transformer() -> Any:
    """Return the model."""
    from jumok.models.transformer import Transformer, TransformerConfig

    return Transformer(TransformerConfig(preset="tiny", source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY))


def train_length(length: int) -> dict[str, float]:
    """Return the time and memory of a training step on sentences of a length."""
    import torch

    from jumok.nn.batch import PairBatch
    from jumok.tasks.losses import vocabulary_loss

    model = tiny_transformer().train()
    tokens = torch.randint(4, VOCABULARY, (BATCH_TOKENS // length, length))
    real = torch.ones_like(tokens, dtype=torch.bool)
    batch, times = PairBatch(tokens, real, tokens.roll(1, dims=1), tokens, real), []
    for _ in range(4):
        started = time.perf_counter()
        features = model.features(batch).flatten(0, 1)
        total, _ = vocabulary_loss(features, model.project, batch.targets.flatten())
        total.backward()
        model.zero_grad()
        times.append(time.perf_counter() - started)
    return {"seconds": min(times[1:]), "megabytes": peak_megabytes()}


def translate_length(length: int) -> dict[str, float]:
    """Return the time and memory of a greedy translation of one sentence into as many tokens."""
    import numpy as np
    import torch

    from jumok.config import DecodingConfig
    from jumok.data.text.tokenizer import END, PAD, START
    from jumok.decoding.engine import stream
    from jumok.decoding.requests import Marks, Request
    from jumok.tasks.pairs import collate

    model = tiny_transformer().eval()
    source, nothing = np.random.default_rng(1).integers(4, VOCABULARY, length), np.empty(0, dtype=np.int64)
    options = DecodingConfig(beam=1, min_length=length, max_length=length)
    started = time.perf_counter()
    with torch.inference_mode():
        written = sum(
            1
            for _ in stream(
                model, Request(source, length), collate=lambda rows: collate([(ids, nothing) for ids in rows]),
                options=options, marks=Marks(START, END, PAD),
            )
        )  # fmt: skip
    return {"seconds": time.perf_counter() - started, "megabytes": peak_megabytes(), "written": written}


def write_corpus(folder: Path, pairs: int) -> None:
    """Write synthetic pairs: words of a Zipf-like distribution, a target that mirrors its source."""
    draw = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 9))) for _ in range(WORDS)]
    weights = [1 / (rank + 3) for rank in range(WORDS)]
    pool = draw.choices(words, weights, k=2_000_000)
    for name, count in (("val", 500), ("text", pairs)):
        with (folder / f"{name}.src").open("w") as source, (folder / f"{name}.tgt").open("w") as target:
            for _ in range(count):
                at = draw.randrange(len(pool) - 16)
                sentence = pool[at : at + draw.randint(4, 16)]
                source.write(" ".join(sentence) + "\n")
                target.write(" ".join(reversed(sentence)) + "\n")


def start_training(folder: Path, fresh: bool) -> dict[str, float]:
    """Return the time until the first batch is there, the memory (two steps included unless fresh) and cores in use."""
    import io

    from rich.console import Console

    from jumok.runs.job import prepare_job

    told: list[float] = []
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        job = prepare_job(
            folder / "recipe.toml", data=folder, out=Path(name) / "run",
            overrides=["training.steps=2", "training.workers=1", "training.evaluate_sentences=1", "decoding.beam=1"],
            progress=lambda what, done: told.append(time.perf_counter()),
        )  # fmt: skip
        prepared = time.perf_counter() - started
        first = job.batches.take()
        seconds = time.perf_counter() - started
        job.batches.seek(0, 0)
        assert len(first.source)
        if not fresh:
            job.train(Console(file=io.StringIO()))
    busy = sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    silences = [after - before for before, after in itertools.pairwise(told)]
    return {
        "seconds": seconds, "prepared": prepared, "megabytes": peak_megabytes(),
        "cores": busy / (time.perf_counter() - started), "longest_silence": max(silences, default=0.0),
    }  # fmt: skip


# --- all of them


def apart(measured: Callable[..., Any], *given: Any, environment: dict[str, str] | None = None) -> dict[str, float]:
    """Return what a function measures in a process of its own."""
    asked = json.dumps([measured.__name__, *map(str, given)])
    done = subprocess.run(
        [sys.executable, __file__, "--one", asked], check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(f"{measured.__name__} {' '.join(map(str, given))}: {found}", flush=True)
    return found


def answer(asked: str) -> None:
    """Measure what another process asks for."""
    name, *given = json.loads(asked)
    if name == "start_training":
        print(json.dumps(start_training(Path(given[0]), given[1] == "True")))
    else:
        print(json.dumps({"train_length": train_length, "translate_length": translate_length}[name](int(given[0]))))


def main() -> None:
    """Measure and show."""
    given = arguments()
    if given.one:
        answer(given.one)
        return
    warn_if_busy()
    facts = machine()
    lines = ["# How cost grows", "", f"`{facts['command']}` at {facts['commit']}, {facts['when']}; {facts['processor']}, {facts['cores']} cores.", ""]  # fmt: skip
    results: dict[str, Any] = {"machine": facts, "lengths": [], "corpora": []}
    lines += ["| tokens per sentence | training step, 4,096 tokens | peak MB | translated greedily | per token | peak MB |", "| --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    for length in given.lengths:
        training, translating = apart(train_length, length), apart(translate_length, length)
        results["lengths"].append({"length": length, "training": training, "translating": translating})
        lines.append(
            f"| {length:,} | {training['seconds']:.2f} s | {training['megabytes']:,.0f} | {translating['seconds']:.2f} s | "
            f"{1000 * translating['seconds'] / length:.2f} ms | {translating['megabytes']:,.0f} |"
        )
    lines += ["", "| pairs | first preparation | its peak MB | its cores | longest silence | training starts again in | its peak MB |", "| --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        for pairs in given.pairs:
            folder = (given.folder or Path(name)) / str(pairs)
            if not (folder / "recipe.toml").exists():
                folder.mkdir(parents=True)
                write_corpus(folder, pairs)
                (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
            cache = {"JUMOK_CACHE": str(Path(name) / f"cache-{pairs}")}
            first = apart(start_training, folder, True, environment=cache)
            again = apart(start_training, folder, False, environment=cache)
            results["corpora"].append({"pairs": pairs, "first": first, "again": again})
            lines.append(
                f"| {pairs:,} | {first['seconds']:.0f} s | {first['megabytes']:,.0f} | {first['cores']:.1f} | "
                f"{first['longest_silence']:.1f} s | "
                f"{again['seconds']:.1f} s | {again['megabytes']:,.0f} |"
            )
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    given.out.with_suffix(".md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print("\n".join(lines))
    if given.png:
        draw(results, given.png)


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw time and memory against length."""
    from matplotlib.figure import Figure

    lengths = [row["length"] for row in results["lengths"]]
    figure = Figure(figsize=(8.4, 3.4), dpi=150, layout="constrained")
    for axes, key, label in zip(
        figure.subplots(1, 2), ("seconds", "megabytes"), ("seconds", "peak memory, MB"), strict=True
    ):
        for kind, name in (("training", "training step, 4,096 tokens"), ("translating", "one sentence, greedy")):
            axes.plot(lengths, [row[kind][key] for row in results["lengths"]], marker="o", label=name)
        axes.set(xscale="log", xlabel="tokens per sentence", ylabel=label)
        if key == "seconds":
            axes.set(yscale="log")
        else:
            axes.set(ylim=(0, None))
        axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(path)


if __name__ == "__main__":
    main()
