"""Images and the captions of each, tokenised once into memory-mapped files.

ImageStore (N images) and their entries' captions → captions (M), those of an image side by side → CaptionStore
Groups of images, which only scores need, are given along and not stored: other groups tokenise nothing anew.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jumok.data.images.image_store import NAMED, ImageStore
from jumok.data.store import (
    SideWriter,
    StoredSide,
    id_type_for,
    map_array,
    read_facts,
    refuse_damage,
    side_names,
    write_facts,
)
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import DataError, counted

CHUNK = 10_000  # captions that are tokenised at once

Cut = tuple[str, list[int], list[int]]  # a caption, its token ids, the word of each


class CaptionStore:
    """The images of one split and their captions; an item is an image."""

    def __init__(self, images: ImageStore, folder: Path, groups: Sequence[str] = ()) -> None:
        """Open the captions in folder, which belong to images; groups are those of the images, '' where one has none."""
        self.images, self.folder = images, folder
        self.groups = list(groups) or [""] * len(images)  # (N,)
        assert len(self.groups) == len(images), "each image has its group"
        with refuse_damage(folder, "the store of captions"):
            facts = read_facts(folder)
            self.captions = StoredSide(folder, "captions", facts["id_type"])  # M captions
            self.first: np.ndarray[Any, np.dtype[np.int64]] = map_array(folder / "first", "<i8")  # (N + 1,)
            self.counts: dict[str, int] = facts["counts"]  # kept, and why others were left out
            self.named: list[list[str]] = facts["named"]  # some that were left out, each with the reason
            if len(self.first) != len(images) + 1:
                raise ValueError(f"captions of {len(self.first) - 1:,} images for {len(images):,}")

    def __len__(self) -> int:
        return len(self.images)

    @cached_property
    def image_of(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The number of the image that each caption describes, (M,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    def numbers(self, image: int) -> range:
        """Return the numbers of an image's captions."""
        return range(int(self.first[image]), int(self.first[image + 1]))

    def texts(self, image: int) -> list[str]:
        """Return the captions of an image, as tidied."""
        return [self.captions.text(number) for number in self.numbers(image)]

    @property
    def notes(self) -> list[str]:
        """What was left out, one line each."""
        notes = []
        if empty := self.counts["empty"]:
            notes.append(f"left out, as empty: {counted(empty, 'caption')}")
        if too_long := self.counts["too_long"]:
            notes.append(f"left out, as longer than data.max_length: {counted(too_long, 'caption')}")
        if captionless := self.counts["captionless"]:
            names = ", ".join(name for name, _ in self.named) + (", …" if captionless > len(self.named) else "")
            notes.append(f"left out, as none of their captions can be used: {counted(captionless, 'image')} ({names})")
        return notes + self.images.notes


def chosen_entries(folder: Path) -> list[int]:
    """Return which of the entries have captions in the store in folder; some of their images may be broken."""
    with refuse_damage(folder, "the store of captions"):
        chosen: list[int] = map_array(folder / "chosen", "<i8").tolist()
    return chosen


def build_caption_store(
    folder: Path,
    names: Sequence[str],
    captions: Sequence[Sequence[str]],
    tokenizer: Tokenizer,
    *,
    decode: Callable[[Sequence[int]], ImageStore],
    most: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Tokenise the tidied captions of images into folder; empty ones, and those above most tokens, are left out.

    decode gives the images of some numbers; captions of those that are broken are left out, too. most = 0: all lengths.
    """
    counts = {"captions": 0, "empty": 0, "too_long": 0, "captionless": 0}
    texts = [text for said in captions for text in said]
    cut: list[Cut | None] = []
    for first in range(0, len(texts), CHUNK):
        some = texts[first : first + CHUNK]
        for text, (ids, words) in zip(some, tokenizer.encode_words(some), strict=True):
            too_long = 0 < most < len(ids) + 1  # the end token counts
            counts["empty"] += not text
            counts["too_long"] += too_long
            cut.append((text, ids, words) if text and not too_long else None)
        progress(len(cut))
    ends = np.cumsum([len(said) for said in captions]).tolist()
    kept = [
        [caption for caption in cut[end - len(said) : end] if caption] for end, said in zip(ends, captions, strict=True)
    ]
    chosen = [number for number, said in enumerate(kept) if said]
    named = [[names[number], "no caption that can be used"] for number, said in enumerate(kept) if not said]
    counts["captionless"] = len(named)
    if not chosen:
        raise DataError(
            f"none of {counted(len(texts), 'caption')} can be used: {counts['empty']:,} are empty, "
            f"{counts['too_long']:,} longer than data.max_length = {most}; check the files of [data] and their columns."
        )
    images = decode(chosen)
    written = [kept[chosen[place]] for place in images.kept.tolist()]
    counts["captions"] = sum(map(len, written))
    id_type = id_type_for(len(tokenizer))
    with ExitStack() as stack:
        SideWriter(folder, "captions", id_type, stack).write([caption for said in written for caption in said])
    first_of = np.cumsum([0, *map(len, written)])
    (folder / "first").write_bytes(first_of.astype("<i8").tobytes())
    (folder / "chosen").write_bytes(np.array(chosen, dtype="<i8").tobytes())
    files = [*side_names("captions"), "first", "chosen"]
    write_facts(folder, files, id_type=id_type, counts=counts, named=named[:NAMED])
