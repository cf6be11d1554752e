"""What a frozen encoder sees, computed once for each image and kept in the cache.

pixels (B, S, S, C) → normalised → enlarged to the side that the encoder sees → its feature map → (B, h, w, E), float16
ImageStore (N images) → processes of one thread each → (N, h, w, E) in one memory-mapped file → FeatureMaps

An entry of the cache is keyed by everything that it depends on: the encoder's weights, the side it sees, how pixels are
normalised, and the entry of the images.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.cache import cache_key, cached_folder
from jumok.data.images.decode import Pixels
from jumok.data.images.image_store import ImageStore
from jumok.data.store import map_array, read_facts, refuse_damage, write_facts
from jumok.errors import ConfigError
from jumok.nn.component import Component
from jumok.nn.images import enlarged
from jumok.nn.model import ImageReader
from jumok.tasks.image_arrays import build_array
from jumok.tasks.image_batches import normalise

# B batch · S side · C channels · N images of a store · h rows · w columns of a map · E features of a cell

ROWS = 4  # images at once on a CPU: what lies between the layers then stays in its cache


class FeatureMaps:
    """The feature maps of a store's images, in their order."""

    def __init__(self, folder: Path) -> None:
        """Open the maps in folder; a missing or cut-off file is a DataError."""
        with refuse_damage(folder, "the store of feature maps"):
            facts = read_facts(folder)
            self.grid: tuple[int, int] = (facts["rows"], facts["columns"])
            self.width: int = facts["width"]
            shape = (facts["images"], *self.grid, self.width)
            self.maps: NDArray[np.float16] = map_array(folder / "maps", "<f2").reshape(shape)  # (N, h, w, E)

    def __len__(self) -> int:
        return len(self.maps)


@torch.inference_mode()
def see(component: Component, pixels: Pixels) -> Tensor:
    """Return what an encoder sees in pixels (B, S, S, C) of 0 to 255: (B, h, w, E), rounded as in the cache."""
    encoder = component.model
    assert isinstance(encoder, ImageReader)
    if pixels.shape[-1] != component.channels:
        raise ConfigError(
            f"data.channels = {pixels.shape[-1]}: the encoder sees images of {component.channels} channels; leave it out, or set it "
            "to that"
        )
    rows = ROWS if encoder.device.type == "cpu" else len(pixels)
    found = []
    for first in range(0, len(pixels), rows):
        values = normalise(pixels[first : first + rows], list(component.mean), list(component.deviation))
        images = enlarged(torch.from_numpy(values).to(encoder.device), component.size)
        found.append(encoder.feature_map(images).permute(0, 2, 3, 1).half())  # (B, h, w, E)
    return torch.cat(found)


def feature_maps(
    component: Component, images: ImageStore, *, progress: Callable[[int], None] = lambda done: None
) -> FeatureMaps:
    """Return the feature maps of a store's images, computed if the cache does not have them yet."""
    key = cache_key(
        "feature-maps",
        component.hash,
        component.config,
        component.size,
        component.mean,
        component.deviation,
        images.folder.name,
    )

    def build(folder: Path) -> None:
        build_feature_maps(component, images, folder, progress=progress)

    return FeatureMaps(cached_folder(key, build))


def build_feature_maps(
    component: Component, images: ImageStore, folder: Path, *, progress: Callable[[int], None]
) -> None:
    """Look at all images of a store and write their maps into folder."""
    rows, columns, width = build_array(
        folder / "maps",
        images,
        lambda pixels: see(component, pixels).cpu().numpy(),
        device=component.model.device,
        progress=progress,
    )
    write_facts(folder, ["maps"], images=len(images), rows=rows, columns=columns, width=width)
