"""A run written anew in small form: recipe, tokenizers and weights as float16 or in eight bits, nothing of the machine."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumok.config.recipe import Recipe
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import RunError
from jumok.runs.eight_bits import in_eight_bits
from jumok.runs.run import Run
from jumok.runs.weights import load_weights
from jumok.tensor_file import write_tensors


def write_small_run(
    run: Run,
    folder: Path,
    *,
    tokenizers: dict[str, Tokenizer],
    name: str,
    checkpoint: str = "best",
    eight_bits: bool = False,
) -> Path:
    """Write a run into a new folder in small form; return the file of its weights.

    Eight bits are a quarter, float16 is half; the first changes what a model says by a little more than rounding.
    """
    Run.create(folder, without_places(run.recipe), tokenizers=tokenizers, facts={"data_folders": [], "shipped": name})
    (folder / "metrics.jsonl").unlink()
    weights = load_weights(run, checkpoint)
    if eight_bits:
        weights = in_eight_bits(weights)
    (folder / "best").mkdir()  # a folder, not a link: an installed package has none
    file = folder / "best" / "model.safetensors"
    write_tensors({key: halved(key, value) for key, value in weights.items()}, file)
    return file


def halved(name: str, value: Tensor) -> Tensor:
    """Return a tensor of floats in half their bits; the others as they are."""
    if not value.is_floating_point():
        return value
    half = value.to(torch.float16).contiguous()
    if not half.isfinite().all():
        raise RunError(f"{name} has numbers of up to {float(value.abs().max()):.1e}, which float16 cannot hold")
    return half


def without_places(recipe: Recipe) -> Recipe:
    """Return a recipe that does not tell where files lay on the machine that trained it."""
    data = recipe.data
    splits: dict[str, Any] = {
        split: [file.model_copy(update=_named(dict(file))) for file in getattr(data, split)]
        for split in ("train", "val", "test")
    }
    started = [key for key in ("source_embeddings", "target_embeddings") if getattr(recipe.model, key, "")]
    encoders = {key: config.model_copy(update=_named(dict(config))) for key, config in recipe.model.components.items()}
    return replace(
        recipe,
        data=data.model_copy(update={**splits, "folder": _last_part(data.folder)}),
        model=recipe.model.model_copy(update={**dict.fromkeys(started, ""), **encoders}),
        training=recipe.training.model_copy(update={"init": ""}),
    )


def _named(values: dict[str, Any]) -> dict[str, Any]:
    """Return the texts among some values, absolute paths cut to their last part."""
    return {key: _last_part(value) for key, value in values.items() if isinstance(value, str)}


def _last_part(name: str) -> str:
    return Path(name).name if Path(name).is_absolute() else name
