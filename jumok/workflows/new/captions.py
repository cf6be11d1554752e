"""Images and a file of captions, looked at: whose columns are what, which splits it has, how much there is.

images (a folder or an .npz), captions (a table, COCO's or Karpathy's JSON, …) → columns, splits → Material
"""

from pathlib import Path
from typing import Any

import numpy as np

from jumok.config import CaptionFiles, Split
from jumok.data.images.caption_files import keys_of, read_captions, splits_of
from jumok.data.tables import is_table
from jumok.data.text.sources import tidy
from jumok.errors import ConfigError, counted, did_you_mean
from jumok.workflows.new.columns import CAPTIONS, IMAGES, SPLITS, Choice, Column, Table, look_at_table
from jumok.workflows.new.drawing import CODES, DRAWING
from jumok.workflows.new.material import Material, check_captioned, estimated_tokens, refuse_other, shortened
from jumok.workflows.new.opening import near, open_some
from jumok.workflows.new.places import PARTS, Places

CAPTIONING = "image-captioning"
SPOKEN_OF: dict[str, Split] = {name: split for split, names in PARTS.items() for name in names}


def look_at_captions(places: Places, task: str, choice: Choice) -> Material:
    """Return images and what a file says of them; some images are opened."""
    refuse_other(task, (CAPTIONING, DRAWING, CODES), "images and captions")
    captions = places["train"][-1]
    if captions.is_dir():
        raise ConfigError(f"{captions} is a folder; give the images and their captions: jumok new IMAGES CAPTIONS")
    columns, seen = _columns(captions, choice)
    files = {split: _files(paths, columns) for split, paths in places.items()}
    if "val" not in files:
        files = _by_split(files["train"]) or files
    train = CaptionFiles.parse({key: _text(value) for key, value in files["train"].items()}, "data")
    listing = read_captions(train, Path)
    check_captioned(len(listing.items), str(captions))
    texts = [tidy(text) for item in listing.items for text in item.captions]
    characters = sum(map(len, texts))
    side, channels, broken = open_some(captions, [item.image for item in listing.items])
    return Material(
        task or CAPTIONING,
        files,
        [
            *seen,
            f"{captions.name}: {counted(len(texts), 'caption')} of {len(listing.items):,} images, about {side} pixels a side; "
            f"the first is {shortened(texts[0])!r}",
            *listing.notes,
            *broken,
        ],
        count=len(listing.items),
        captions=len(texts),
        example=shortened(texts[0]) if task == DRAWING else near(listing.items[0].image),
        tokens=np.array([estimated_tokens(text) for text in texts], np.float64),
        characters=characters,
        ascii=sum(sum(map(str.isascii, text)) for text in texts) / max(characters, 1),
        side=side,
        channels=channels,
    )


def _files(paths: tuple[Path, ...], columns: dict[str, int | str]) -> dict[str, Any]:
    """Return images and captions as a recipe writes them."""
    *images, captions = paths
    return {"file": captions, **({"images": images[0]} if images else {}), **columns}


def _text(value: Any) -> Any:
    return str(value.absolute()) if isinstance(value, Path) else value


def _columns(captions: Path, choice: Choice) -> tuple[dict[str, int | str], list[str]]:
    """Return the keys that name a table's columns, and what to tell of them; none where the format leaves no choice."""
    if is_table(captions):
        table = look_at_table(captions)
        image, caption = _image_column(table), _caption_column(table, choice)
        columns = {"image": image.key, "caption": caption.key}
        for column in table.columns:
            if column.known_as in SPLITS and any(value.lower() in SPOKEN_OF for value in column.values):
                columns["split_column"] = column.key
        return columns, [f"{captions.name}: a table of {table.rows:,} rows; {table.listed()}"]
    if keys := keys_of(captions):
        wanted = [choice.text] if choice.text else [key for name in CAPTIONS for key in keys if key.lower() == name]
        if not wanted or wanted[0] not in keys:
            cure = did_you_mean(choice.text, keys) if choice.text else f"it has {', '.join(keys)}"
            raise ConfigError(f"{captions}: which key holds the captions? Name it: --text KEY; {cure}")
        named = [key for name in IMAGES for key in keys if key.lower() == name]
        return {**({"image": named[0]} if named else {}), "caption": wanted[0]}, []
    return {}, []


def _image_column(table: Table) -> Column:
    found = table.of_kind("images") or [column for column in table.columns if column.known_as in IMAGES]
    if not found and not table.has_header and len(table.columns) > 1:
        return table.columns[0]
    if len(found) != 1:
        raise ConfigError(
            f"{table.path}: {len(found)} columns may be the names of images: {table.listed()}.\nName the right one 'image' "
            "in the first row."
        )
    return found[0]


def _caption_column(table: Table, choice: Choice) -> Column:
    if choice.text:
        return table.find(choice.text, "--text")
    named = [column for name in CAPTIONS for column in table.columns if column.known_as == name]
    found = named[:1] or table.of_kind("text")
    if len(found) != 1:
        raise ConfigError(
            f"{table.path}: {len(found)} columns may be the captions: {table.listed()}.\nName it: --text COLUMN"
        )
    return found[0]


def _by_split(train: dict[str, Any]) -> dict[Split, dict[str, Any]]:
    """Return the files of each split that one file speaks of: train, val and test; nothing where it has no train."""
    files = {key: _text(value) for key, value in train.items()}
    wanted = {"split": "train"} if "split_column" in files else {}
    found = splits_of(CaptionFiles.parse(files | wanted, "data"), Path)
    named = {SPOKEN_OF[name.lower()]: {**train, "split": name} for name in found if name.lower() in SPOKEN_OF}
    if "train" in named:
        return named
    train.pop("split_column", None)
    return {}
