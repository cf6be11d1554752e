"""What the recipes of all tasks share: files and what is held out, steps, averages, and starting from an earlier run."""

from typing import Any

import numpy as np

from jumok.runs.run import Run
from jumok.workflows.new.material import Material
from jumok.workflows.new.plan import Entry

STEPS_PER_EPOCH = 12
WIDE = 512  # a pre-trained model of this width or more takes smaller steps


def rounded(steps: float, *, least: int, most: int) -> int:
    """Return a number of steps between two bounds, in round figures."""
    unit = 50 if steps < 2000 else 500
    return int(min(max(round(steps / unit) * unit, least), most))


def batch_for(amount: float, most: int) -> int:
    """Return the size of a batch: a power of two, such that an epoch has a dozen steps or more where it can."""
    size = most
    while size > 8 and size * STEPS_PER_EPOCH > amount:
        size //= 2
    return size


def vocabulary_for(characters: float, most: int) -> int:
    """Return a number of subwords that a text is long enough to show often."""
    return int(min(max(characters // 25 // 100 * 100, 300), most))


def hold_out(examples: int, *, most: int = 1000) -> int:
    """Return how many examples to hold out for val: a tenth, enough to tell two models apart where there are enough."""
    return max(min(examples // 10, most), 2)


def data_entries(material: Material, *more: Entry) -> list[Entry]:
    """Return the entries of [data]: the files of each split, then others."""
    return [*(Entry(split, value) for split, value in material.files.items()), *more]


def held_out(material: Material, unit: str, *, most: int = 1000) -> list[Entry]:
    """Return how many examples are held out, where there is no val."""
    if "val" in material.files:
        return []
    return [
        Entry(
            "hold_out", hold_out(material.count, most=most), f"{unit} taken from train for val; or name a file: val = …"
        )
    ]


def training_entries(steps: int, why: str, *entries: Entry, monitor: str = "", decay: bool = True) -> list[Entry]:
    """Return the entries of [training]: steps first, what tasks share last."""
    every = max(steps // 10, 20)
    shared = [
        Entry("warmup", max(steps // 10, 10), "steps until the learning rate is reached"),
        Entry("schedule", "cosine", "down to zero at the last step: choose steps first"),
        *([Entry("optimizer", "adamw"), Entry("weight_decay", 0.01)] if decay else []),
        *([Entry("monitor", monitor, "the val score that decides which weights are best")] if monitor else []),
        Entry("evaluate_every", every),
        Entry("save_every", every),
        Entry("log_every", max(min(steps // 20, 50), 1)),
        Entry("seed", 1),
    ]
    return [Entry("steps", steps, why), *entries, *shared]


def average(steps: int) -> list[Entry]:
    """Return a running average of weights, over a share of the steps."""
    return [
        Entry("average", "ema", "score and save a running average of the weights: better and steadier"),
        Entry("average_decay", 0.999 if steps >= 4000 else 0.995 if steps >= 800 else 0.98),
    ]


def starts_from(earlier: Run) -> Entry:
    return Entry("init", earlier.folder, "its weights, its [tokenizer] and its [model] are where this run starts")


def fine_tuning_rate(earlier: Run, small: float, large: float) -> float:
    """Return a learning rate for weights that know something already: the wider the model, the smaller."""
    return large if size_of(earlier, "width") >= WIDE else small


def size_of(earlier: Run, key: str) -> int:
    value = earlier.recipe.model.model_dump().get(key, 0)
    return int(value) if isinstance(value, int) else 0


def lowercase(earlier: Run | None) -> list[Entry]:
    folded = earlier is not None and bool(earlier.recipe.data.model_dump().get("lowercase"))
    return [Entry("lowercase", True, "as the earlier run")] if folded else []


def length_for(tokens: np.ndarray[Any, Any], *, share: float, least: int, most: int) -> int:
    """Return a length in tokens that a share of texts stays below, with room for a wrong estimate."""
    wanted = np.ceil(float(np.quantile(tokens, share)) * 1.5 / 32) * 32
    return int(min(max(wanted, least), most))


def share_held_out(material: Material) -> list[Entry]:
    """Return the share of running text that is held out, where there is no val; of few documents, enough to hold one."""
    if "val" in material.files:
        return []
    few = material.count < 20  # then the end of each document is held out
    share = (
        (0.1 if material.characters < 100_000 else 0.05) if few else round(max(0.05, min(0.3, 8 / material.count)), 2)
    )
    return [Entry("hold_out", share, "share of the text taken for val; or name a file: val = …")]
