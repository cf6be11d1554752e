"""The doctor: look at a recipe, its data and its model before a run, and say what is wrong and how to cure it.

task → counts and lengths; model → parameters; the largest batch → memory; a few steps → time an epoch
"""

import resource
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from jumok.data.batching import largest_batch, padding_share, plan_batches
from jumok.data.store import PairStore
from jumok.recipe import Recipe
from jumok.tasks.pairs import collate
from jumok.tasks.translation import Translation
from jumok.training.optimizer import make_optimizer

WARM_UP, TIMED, LONGEST_TRIAL = 1, 8, 10.0  # steps, steps, seconds


@dataclass(frozen=True)
class Lengths:
    """Tokens a sentence, end token included."""

    mean: float
    median: int
    nearly_all: int  # 99 % are no longer
    longest: int


@dataclass
class Report:
    """What the doctor found."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)  # split → read, kept and why others were dropped
    lengths: dict[str, Lengths] = field(default_factory=dict)  # side → lengths of the training split
    samples: list[tuple[list[str], list[str]]] = field(default_factory=list)
    vocabularies: tuple[int, int] = (0, 0)
    unknown: dict[str, float] = field(default_factory=dict)  # side → share of val tokens that are unknown
    parameters: int = 0
    largest: tuple[int, int, int] = (0, 0, 0)  # rows, longest source, longest target
    memory: int = 0  # bytes that the largest batch needed at its peak
    padding: float = 0.0
    steps_an_epoch: int = 0
    tokens_a_second: float = 0.0
    seconds_an_epoch: float = 0.0
    seconds_in_all: float = 0.0
    problems: list[tuple[str, str]] = field(default_factory=list)  # what is wrong, what to do

    def to_dict(self) -> dict[str, Any]:
        """Return the report for programs."""
        return asdict(self)


def examine(recipe: Recipe, task: Translation, model: nn.Module) -> Report:
    """Return the report of a recipe with its task and freshly made model."""
    report, store = Report(), task.corpora.train
    task.check_fits(model)
    held_out = task.corpora.evaluation("val")
    report.counts = {"train": asdict(store.counts)} | {label: asdict(found.counts) for label, found in held_out.items()}
    report.lengths = {"source": _lengths(store.lengths[:, 0]), "target": _lengths(store.lengths[:, 1])}
    tokenizers = {"source": task.source_tokenizer, "target": task.target_tokenizer}
    for number in (0, len(store) // 2, len(store) - 1):
        report.samples.append(
            (
                tokenizers["source"].labels(list(store.source[number])),
                tokenizers["target"].labels(list(store.target[number])),
            )
        )
    report.vocabularies = (len(task.source_tokenizer), len(task.target_tokenizer))
    report.unknown = {side: _unknown_share(held_out, side) for side in tokenizers}
    report.parameters = sum(parameter.numel() for parameter in model.parameters())
    _try_out(report, recipe, task, model)
    _find_problems(report, recipe, task, held_out)
    return report


def _lengths(lengths: np.ndarray[Any, Any]) -> Lengths:
    return Lengths(float(lengths.mean()), int(np.median(lengths)), int(np.quantile(lengths, 0.99)), int(lengths.max()))


def _unknown_share(stores: dict[str, PairStore], side: str) -> float:
    ids = [getattr(store, side).ids for store in stores.values()]
    total = sum(len(part) for part in ids)
    return sum(int((np.asarray(part) == 1).sum()) for part in ids) / max(total, 1)


def _try_out(report: Report, recipe: Recipe, task: Translation, model: nn.Module) -> None:
    """Take real steps on the largest batch (memory) and on the first ones of an epoch (time)."""
    store, training = task.corpora.train, recipe.training
    plan = plan_batches(store.lengths, batch_tokens=training.batch_tokens, seed=training.seed, epoch=0)
    largest = largest_batch(store.lengths, plan)
    longest = store.lengths[largest].max(axis=0)
    report.largest = (len(largest), int(longest[0]), int(longest[1]))
    report.padding = padding_share(store.lengths, plan)
    report.steps_an_epoch = max(len(plan) // training.accumulate, 1)
    optimizer = make_optimizer(model, training)
    device = next(model.parameters()).device
    model.train()

    def step(indices: np.ndarray[Any, Any]) -> int:
        batch = collate([(store.source[i], store.target[i]) for i in indices]).to(device)
        loss = task.loss(model, batch, training.steps)  # the slowest step, where teacher forcing fades
        (loss.total / loss.count).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
        return loss.count

    with torch.random.fork_rng(devices=[]):
        before = _resident()
        _forget_peak()
        step(largest)
        report.memory = max(_peak() - before, 0)
        tokens, seconds = 0, 0.0
        for number, indices in enumerate(islice(cycle(plan), WARM_UP + TIMED)):  # a small set has one batch or two
            started = time.perf_counter()
            count = step(indices)
            if number >= WARM_UP:
                tokens, seconds = tokens + count, seconds + time.perf_counter() - started
            if seconds > LONGEST_TRIAL:
                break
    targets = int(store.lengths[:, 1].sum())
    report.tokens_a_second = tokens / max(seconds, 1e-9) if tokens else 0.0
    report.seconds_an_epoch = targets / report.tokens_a_second if tokens else 0.0
    report.seconds_in_all = report.seconds_an_epoch * training.steps / report.steps_an_epoch


def _find_problems(report: Report, recipe: Recipe, task: Translation, held_out: dict[str, PairStore]) -> None:
    counts, training, problems = task.corpora.train.counts, recipe.training, report.problems
    if counts.dropped > 0.02 * counts.read:
        problems.append(
            (
                f"{counts.dropped:,} of {counts.read:,} training pairs are dropped ({counts})",
                "look at data.max_length and data.max_ratio, and for empty lines in the files",
            )
        )
    texts = _some_texts(task.corpora.train)
    same = sum(source == target for source, target in texts) / len(texts)
    if same > 0.05 and not recipe.data.model_dump().get("set"):  # the sides of a built-in set may well be equal
        problems.append(
            (f"about {same:.0%} of the training pairs have equal sides", "is the target file really the translation?")
        )
    seen = {source for source, _ in _some_texts(task.corpora.train, most=200_000)}
    for label, store in held_out.items():
        texts = _some_texts(store, most=2000)
        leaked = sum(source in seen for source, _ in texts)
        if leaked > 0.05 * len(texts):
            problems.append(
                (
                    f"{leaked:,} of {len(texts):,} sources of {label} also stand in the training data: its scores will flatter",
                    "take them out of the training data",
                )
            )
    if training.warmup >= training.steps:
        problems.append(
            (
                f"training.warmup ({training.warmup:,}) is not below training.steps ({training.steps:,}): the peak learning rate is never reached",
                f"set training.warmup = {max(training.steps // 10, 1)}",
            )
        )
    wanted = recipe.tokenizer.vocabulary
    if recipe.tokenizer.kind in ("bpe", "unigram") and max(report.vocabularies) < 0.8 * wanted:
        problems.append(
            (
                f"the data gives only {max(report.vocabularies):,} of the {wanted:,} vocabulary entries asked for",
                f"set tokenizer.vocabulary = {max(report.vocabularies):,} or lower: rare tokens learn little".replace(
                    ",", ""
                ),
            )
        )
    for side, share in report.unknown.items():
        if share > 0.01:
            problems.append(
                (
                    f"{share:.1%} of the val {side} tokens are unknown",
                    "use tokenizer.kind = 'bpe', which knows every character",
                )
            )
    if training.evaluate_every > training.steps:
        problems.append(
            (
                f"training.evaluate_every ({training.evaluate_every:,}) is above training.steps: there is one evaluation, at the end",
                f"set training.evaluate_every = {max(training.steps // 10, 1)}",
            )
        )
    if report.steps_an_epoch < 10:
        problems.append(
            (
                f"an epoch has only {report.steps_an_epoch} steps",
                f"lower training.batch_tokens (now {training.batch_tokens:,})",
            )
        )


def _some_texts(store: PairStore, most: int = 1000) -> list[tuple[str, str]]:
    return [store.text(number) for number in range(0, len(store), max(-(-len(store) // most), 1))]


def _resident() -> int:
    """Return the bytes this process holds now, or the peak where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return _peak()


def _forget_peak() -> None:
    """Let the peak be measured from here on, not from an earlier moment such as training the tokenizer (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> int:
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
