"""Images as codes: what a fixed model of image codes says of each image, computed once and kept in the cache.

pixels (B, S, S, C) → normalised → ImageCoder.encode → codes (B, G), row by row; codes → ImageCoder.decode → pixels
ImageStore (N images) → (N, G) in one memory-mapped file

An entry of the cache is keyed by the weights of the codes and by the entry of the images.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.cache import cache_key, cached_folder
from jumok.data.images.decode import Pixels
from jumok.data.images.image_store import ImageStore
from jumok.data.store import map_array, read_facts, refuse_damage, write_facts
from jumok.errors import ConfigError, RunError
from jumok.nn.component import Component
from jumok.nn.model import ImageCoder
from jumok.tasks.image_arrays import build_array
from jumok.tasks.image_batches import normalise

# B batch · S side · C channels · N images of a store · G cells of the grid

ROWS = 16  # images at once on a CPU: what lies between the layers then stays in its cache


def coder_of(component: Component) -> ImageCoder:
    """Return the model of image codes that a component is."""
    assert isinstance(component.model, ImageCoder)
    return component.model


@torch.inference_mode()
def encode(component: Component, pixels: Pixels) -> NDArray[np.uint16]:
    """Return the codes (B, G) of pixels (B, S, S, C) of 0 to 255."""
    coder = coder_of(component)
    if pixels.shape[1:] != (component.size, component.size, component.channels):
        side, channels = pixels.shape[1], pixels.shape[3]
        raise ConfigError(
            f"images of {side} × {side} pixels and {channels} channels: the image codes are of {component.size} × "
            f"{component.size} and {component.channels}; set data.size and data.channels to these, or leave them out"
        )
    found = []
    for first in range(0, len(pixels), ROWS):
        values = normalise(pixels[first : first + ROWS], list(component.mean), list(component.deviation))
        found.append(coder.encode(torch.from_numpy(values).to(coder.device)).flatten(1).cpu())
    return torch.cat(found).numpy().astype(np.uint16)


@torch.inference_mode()
def decode(component: Component, codes: NDArray[Any]) -> Pixels:
    """Return the pixels (B, S, S, C) of 0 to 255 that codes (B, G) tell."""
    coder = coder_of(component)
    found = []
    for first in range(0, len(codes), ROWS):
        rows = torch.from_numpy(np.asarray(codes[first : first + ROWS], dtype=np.int64)).to(coder.device)
        images = coder.decode(rows.view(len(rows), *coder.grid))
        found.append(to_pixels(images.cpu().numpy(), component.mean, component.deviation))
    return np.concatenate(found)


def to_pixels(images: NDArray[np.float32], mean: tuple[float, ...], deviation: tuple[float, ...]) -> Pixels:
    """Return pixels (B, S, S, C) of 0 to 255 of normalised images (B, C, S, S)."""
    values = images.transpose(0, 2, 3, 1) * np.asarray(deviation, dtype=np.float32) + np.asarray(mean, dtype=np.float32)
    if not np.isfinite(values).all():
        raise RunError(
            "the model's pixels are no numbers (NaN, or beyond all bounds): its weights are damaged, or its training diverged; "
            "use another checkpoint, or train it anew"
        )
    pixels: Pixels = np.clip(np.rint(values * 255.0), 0, 255).astype(np.uint8)
    return pixels


def image_tokens(
    component: Component, images: ImageStore, *, progress: Callable[[int], None] = lambda done: None
) -> NDArray[np.uint16]:
    """Return the codes (N, G) of a store's images, computed if the cache does not have them yet."""

    def build(folder: Path) -> None:
        (cells,) = build_array(
            folder / "codes",
            images,
            lambda pixels: encode(component, pixels),
            device=component.model.device,
            progress=progress,
        )
        write_facts(folder, ["codes"], images=len(images), cells=cells)

    folder = cached_folder(cache_key("image-tokens", component.hash, images.folder.name), build)
    with refuse_damage(folder, "the store of image codes"):
        facts = read_facts(folder)
        codes: NDArray[np.uint16] = map_array(folder / "codes", "<u2").reshape(facts["images"], facts["cells"])
    return codes
