"""Where captions come from: tables, COCO's and Karpathy's JSON, Flickr8k's text, lists by name or in order, classes.

CaptionFiles (of a recipe) → find → rows: an image's name or number, its captions, split and group → those of the split,
    gathered by image → found in a folder or in an .npz → CaptionListing
images of classes → the name of its class as the caption of each; images alone, where no captions are needed
No image is opened here. What is wrong with a file is a DataError; images that are missing are kept by name and told.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from jumok.config import CaptionFiles, ImageFiles
from jumok.data.files import Find, read_lines
from jumok.data.images.listing import SUFFIXES, ImageEntry, NoClassesError, holds_images, list_images
from jumok.data.images.places import ImagePlace, open_place
from jumok.data.tables import NAMED_SUFFIXES, TABLE_SUFFIXES, is_table, read_values, values_of
from jumok.data.text.sources import tidy
from jumok.errors import ConfigError, DataError, counted
from jumok.reading import read_json

NAMED = 5  # missing images that are named; the rest are counted
FLICKR_LINE = re.compile(r"(.+?)#\d+\t(.*)", re.DOTALL)  # 1000268201_693b08cb0e.jpg#0 → A child in a pink dress …
COUNTED_AS = {"restval": "train"}  # Karpathy's images of COCO's val that everybody trains on

Place = tuple[Path, int]  # of an image: its file, and its number there


Wording = Literal["caption", "brief"]  # which sentence of a built-in scene
PLAIN: tuple[Wording, ...] = ("caption",)


@dataclass(frozen=True)
class CaptionedImage:
    """An image that has not been opened yet, its group the label, and what its captions say."""

    image: ImageEntry
    captions: tuple[str, ...] = ()
    wordings: tuple[Wording, ...] = PLAIN  # of a built-in set, whose captions are made when they are needed


@dataclass
class CaptionListing:
    """The images of one file of captions."""

    items: list[CaptionedImage] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # names of images that are not there
    unnamed: dict[Place, str] = field(default_factory=dict)  # names of images that no caption of the file is of
    notes: list[str] = field(default_factory=list)


class Row(NamedTuple):
    """Some captions of an image; an image has one row or several."""

    image: str | int  # its name, or its place where images have none
    captions: list[str]
    split: str = ""
    group: str = ""


def read_captions(files: CaptionFiles, find: Find, *, needed: bool = True) -> CaptionListing:
    """Return the images of a file that are there, each once, with all of its captions; where needed, with one at least."""
    path = find(files.file)
    if holds_images(path):
        return _images_of_classes(path, files, find, needed=needed)
    images = open_place(find(files.images) if files.images else path.parent, whole=bool(files.images))
    chosen = _Chosen(files, find)
    captions: dict[str | int, list[str]] = {}
    groups: dict[str | int, list[str]] = {}
    others: set[str | int] = set()
    for row in _rows(path, files, images):
        if row in chosen:
            captions.setdefault(row.image, []).extend(row.captions)
            if row.group:
                groups.setdefault(row.image, []).append(row.group)
        else:
            others.add(row.image)
    if not captions:
        raise DataError(chosen.why_nothing(path))
    listing = CaptionListing(notes=list(images.notes))
    entries: dict[Place, ImageEntry] = {}
    gathered: dict[Place, list[str]] = {}  # one image may be named in two ways
    groups_of: dict[Place, list[str]] = {}
    for name, texts in captions.items():
        entry = images.find(name)
        if entry is None:
            listing.missing.append(str(name))
        else:
            entries.setdefault(entry.place, entry)
            gathered.setdefault(entry.place, []).extend(texts)
            groups_of.setdefault(entry.place, []).extend(groups.get(name, []))
    if not gathered:
        raise DataError(
            f"{path} names {counted(len(captions), 'image')}, and none is in {images.path}: {some_of(listing.missing)}; "
            "set images to their folder, or to an .npz of them."
        )
    if listing.missing:
        listing.notes.append(
            f"missing in {images.path}, and left out: {len(listing.missing):,} of {len(captions):,} images that "
            f"{path.name} names ({some_of(listing.missing)})"
        )
    several = [entries[place].name for place, found in groups_of.items() if len(set(found)) > 1]
    if several:
        listing.notes.append(
            f"{path.name} has several groups for {counted(len(several), 'image')}, and the first counts ({some_of(several)})"
        )
    listing.items = [
        CaptionedImage(replace(entries[place], label=next(iter(groups_of[place]), "")), tuple(texts))
        for place, texts in gathered.items()
    ]
    known = gathered.keys() | {entry.place for entry in map(images.find, others) if entry}
    listing.unnamed = {entry.place: entry.name for entry in images.all if entry.place not in known}
    return listing


def _images_of_classes(path: Path, files: CaptionFiles, find: Find, *, needed: bool) -> CaptionListing:
    """Return images whose captions are the names of their classes; all images, as they are, where none is needed."""
    for key in ("images", "split", "split_column", "group"):
        if getattr(files, key) != "":
            raise ConfigError(
                f"{files.file} holds images, and their captions are their classes; {key} = '{getattr(files, key)}' is for "
                "a file of captions: name that in file, or leave it out"
            )
    try:
        listing = list_images(ImageFiles(file=files.file, labels_file=files.labels_file), find, classes=needed)
    except NoClassesError as error:
        raise DataError(
            f'{error}\nOr name a file of captions: file = "captions.csv", images = "{files.file}".'
        ) from None
    items = [CaptionedImage(entry, (entry.label,) if needed else ()) for entry in listing.entries]
    return CaptionListing(items, notes=listing.notes)


def splits_of(files: CaptionFiles, find: Find) -> list[str]:
    """Return the splits that a file speaks of, in its order."""
    path = find(files.file)
    images = open_place(find(files.images) if files.images else path.parent, whole=False)
    return list(dict.fromkeys(row.split for row in _rows(path, files, images) if row.split))


def keys_of(path: Path) -> list[str]:
    """Return the keys of the objects in a .json that is a list of them; none of any other file."""
    if not path.name.lower().removesuffix(".gz").endswith(".json"):
        return []
    content = _parsed(path)
    first = content[0] if isinstance(content, list) and content else None
    return list(map(str, first)) if isinstance(first, dict) else []


def some_of(names: Sequence[str]) -> str:
    """Return the first of many names, for a message."""
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")


class _Chosen:
    """The rows of the wanted split: those that say so, or whose image a list of names has."""

    def __init__(self, files: CaptionFiles, find: Find) -> None:
        self.split, self.seen = files.split, dict[str, None]()
        self.names: set[str] | None = None
        if files.split.lower().removesuffix(".gz").endswith(".txt"):
            self.names = {line.strip() for line in read_lines(find(files.split))}

    def __contains__(self, row: object) -> bool:
        assert isinstance(row, Row)
        if self.names is not None:
            return str(row.image) in self.names or Path(str(row.image)).name in self.names
        self.seen[row.split] = None
        return not self.split or self.split in (row.split, COUNTED_AS.get(row.split))

    def why_nothing(self, path: Path) -> str:
        """Return the sentence for a file that has nothing of the split."""
        if self.names is not None:
            return f"{path} has no caption of the {len(self.names):,} images that {self.split} names."
        if self.split:
            splits = ", ".join(filter(None, self.seen)) or "none"
            return f"{path} has no captions of the split {self.split!r}; its splits: {splits}."
        return f"{path} holds no captions."


# --- rows of each format


def _rows(path: Path, files: CaptionFiles, images: ImagePlace) -> Iterator[Row]:
    name = path.name.lower().removesuffix(".gz")
    if is_table(path):
        return _table_rows(path, files, images)
    if name.endswith(".json"):
        return _json_rows(path, files, images)
    _refuse_groups(files)
    return _flickr_rows(path)


def _refuse_groups(files: CaptionFiles) -> None:
    """Refuse groups of a file whose format has no place for them."""
    if files.group != "":
        raise ConfigError(
            f"{files.file}: group = '{files.group}' is for a table or a .json list of objects, and this file has no groups; "
            "leave it out"
        )


def _table_rows(path: Path, files: CaptionFiles, images: ImagePlace) -> Iterator[Row]:
    columns = {"image": files.image} | _caption_columns(files)
    if files.split_column != "":
        columns["split_column"] = files.split_column
    elif files.split and not files.split.lower().removesuffix(".gz").endswith(".txt"):
        raise ConfigError(f"{files.file}: split = '{files.split}' needs split_column, the column that holds it")
    columns |= _group_column(files)
    may_have_header = not path.name.lower().removesuffix(".gz").endswith(NAMED_SUFFIXES) and not any(
        isinstance(column, str) for column in columns.values()
    )
    for number, (image, *captions) in read_values(path, columns):
        group = captions.pop() if "group" in columns else ""
        split = captions.pop() if "split_column" in columns else ""
        if may_have_header:
            may_have_header = False
            if Path(image).suffix.lower() not in SUFFIXES and images.find(image) is None:
                continue  # image,caption
        where = f"{path} line {number:,}"
        texts = [text for each in captions for text in _captions(each, where)]
        yield Row(_name(image, where), texts, str(split), _group(group, where))


def _caption_columns(files: CaptionFiles) -> dict[str, int | str]:
    """Return the columns of captions by what messages call them."""
    if not isinstance(files.caption, list):
        return {"caption": files.caption}
    return {f"caption {number}": column for number, column in enumerate(files.caption, start=1)}


def _group_column(files: CaptionFiles) -> dict[str, int | str]:
    return {} if files.group == "" else {"group": files.group}


def _flickr_rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        found = FLICKR_LINE.fullmatch(line)
        if found is None:
            raise DataError(
                f"{path} line {number:,} is no caption as Flickr8k writes it (name.jpg#0, a tab, the caption): "
                f"{line[:60]!r}. Is it a table? Then let its name end in {', '.join(TABLE_SUFFIXES)} (or .gz)."
            )
        yield Row(found[1], [found[2]])


def _json_rows(path: Path, files: CaptionFiles, images: ImagePlace) -> Iterator[Row]:
    content = _parsed(path)
    if isinstance(content, list):
        return _listed(path, content, files, images)
    _refuse_groups(files)
    if not isinstance(content, dict):
        raise DataError(f"{path} holds {type(content).__name__}; lists of captions by image are needed.")
    if isinstance(content.get("annotations"), list):
        return _coco(path, content)
    if isinstance(content.get("images"), list) and all(isinstance(image, dict) for image in content["images"]):
        return _karpathy(path, content["images"])
    return (Row(name, _captions(captions, f"{path}, {name}")) for name, captions in content.items())


def _parsed(path: Path) -> Any:
    return read_json(path, _no_json)


def _no_json(place: str, why: str) -> DataError:
    return DataError(f"{place} is no JSON ({why}); write it again. One object per line is .jsonl.")


def _coco(path: Path, content: dict[str, Any]) -> Iterator[Row]:
    """Read COCO's captions: images have ids and file names, annotations ids and captions."""
    images = content.get("images")
    names = {
        str(image.get("id")): str(image.get("file_name", image.get("id")))
        for image in (images if isinstance(images, list) else [])
        if isinstance(image, dict)
    }
    for number, annotation in enumerate(content["annotations"], start=1):
        where = f"{path} annotation {number:,}"
        if not isinstance(annotation, dict) or not {"image_id", "caption"} <= annotation.keys():
            raise DataError(
                f"{where} has no image_id and caption: {str(annotation)[:60]}; is it COCO's file of captions?"
            )
        image = str(annotation["image_id"])
        yield Row(names.get(image, image), _captions(annotation["caption"], where))


def _karpathy(path: Path, images: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Read Karpathy's split file: images with their folder, split and sentences."""
    for number, image in enumerate(images, start=1):
        where = f"{path} image {number:,}"
        sentences = image.get("sentences")
        if "filename" not in image or not isinstance(sentences, list):
            raise DataError(f"{where} has no filename and sentences: {str(image)[:60]}; is it Karpathy's split file?")
        folder = image.get("filepath")
        name = _name(image["filename"], where)
        captions = [text for said in sentences for text in _captions(_raw(said), where)]
        yield Row(
            f"{folder}/{name}" if isinstance(folder, str) and folder else name, captions, str(image.get("split", ""))
        )


def _raw(sentence: Any) -> Any:
    """Return the text of one of Karpathy's sentences: raw, or its tokens."""
    if not isinstance(sentence, dict):
        return sentence
    tokens = sentence.get("tokens")
    return sentence.get("raw", " ".join(map(str, tokens)) if isinstance(tokens, list) else None)


def _listed(path: Path, content: list[Any], files: CaptionFiles, images: ImagePlace) -> Iterator[Row]:
    """Read a list: in the order of images that have no names, else objects that name them."""
    in_order = images.nameless is not None
    if in_order and len(content) != images.nameless:
        raise DataError(
            f"{path} has {len(content):,} entries for the {images.nameless:,} images of {images.path}; as many are needed."
        )
    columns = ({} if in_order else {"image": files.image}) | _caption_columns(files) | _group_column(files)
    for number, said in enumerate(content, start=1):
        where = f"{path} entry {number:,}"
        if isinstance(said, dict):
            values = list(values_of(said, columns, Path(where)))
            image = number - 1 if in_order else _name(values.pop(0), where)
            group = _group(values.pop(), where) if "group" in columns else ""
            yield Row(image, [text for each in values for text in _captions(each, where)], group=group)
        elif in_order:
            _refuse_groups(files)
            yield Row(number - 1, _captions(said, where))
        else:
            raise DataError(
                f"{where} does not say which image it describes: {str(said)[:60]}; an object that names it is needed."
            )


def _name(value: Any, where: str) -> str:
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return str(value).strip()
    raise DataError(f"{where} names no image: {str(value)[:60]!r}; the name of its file is needed.")


def _captions(value: Any, where: str) -> list[str]:
    """Return a caption or a list of them; nothing at all is an empty caption, which is counted later."""
    if isinstance(value, list):
        return [text for part in value for text in _captions(part, where)]
    if value is None:
        return [""]
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return [str(value)]
    raise DataError(f"{where} holds {type(value).__name__} {str(value)[:40]!r}; a caption or a list of them is needed.")


def _group(value: Any, where: str) -> str:
    """Return the name of a group; nothing at all is none."""
    if value is None:
        return ""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return tidy(str(value))
    raise DataError(f"{where} holds {type(value).__name__} {str(value)[:40]!r}; the name of one group is needed.")
