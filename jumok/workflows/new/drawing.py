"""Images to be drawn or said in codes, looked at: each described by the name of its class, or not at all.

a folder of images, of class folders, or a file of many → Material
"""

from pathlib import Path

import numpy as np

from jumok.config import CaptionFiles
from jumok.data.images.caption_files import read_captions
from jumok.data.text.sources import tidy
from jumok.errors import DataError, counted
from jumok.workflows.new.material import LEAST_CAPTIONED, Material, estimated_tokens, shortened
from jumok.workflows.new.opening import near, open_some
from jumok.workflows.new.places import Places

CODES, DRAWING = "image-codes", "text-to-image"


def look_at_drawn(places: Places, task: str) -> Material:
    """Return images, and the names of their classes where they are to be drawn; some images are opened."""
    path = places["train"][0]
    listing = read_captions(CaptionFiles(file=str(path.absolute())), Path, needed=task == DRAWING)
    check_images(len(listing.items), str(path))
    texts = [tidy(text) for item in listing.items for text in item.captions]
    side, channels, broken = open_some(path, [item.image for item in listing.items])
    colour = "in colour" if channels == 3 else "grey"
    seen = [
        f"{path.name}: {len(listing.items):,} images, about {side} pixels a side, {colour}",
        *listing.notes,
        *broken,
    ]
    if texts:
        seen.insert(1, f"an image is described by its class: {counted(len(set(texts)), 'different name')}")
    return Material(
        task,
        {split: paths[0] for split, paths in places.items()},
        seen,
        count=len(listing.items),
        captions=len(texts),
        example=shortened(texts[0]) if texts else near(listing.items[0].image),
        tokens=np.array([estimated_tokens(text) for text in texts], np.float64),
        characters=sum(map(len, texts)),
        ascii=sum(sum(map(str.isascii, text)) for text in texts) / max(sum(map(len, texts)), 1),
        side=side,
        channels=channels,
    )


def check_images(images: int, where: str) -> None:
    """Refuse too few images."""
    if images < LEAST_CAPTIONED:
        raise DataError(f"{where} has {counted(images, 'image')}; codes need thousands, or hundreds that are alike")
