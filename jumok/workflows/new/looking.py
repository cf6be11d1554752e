"""What somebody has, looked at: one function for each kind, and which kind it is.

Places → two files | a table | images | images and captions | running text → Material
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jumok.config import Corpus, ImageFiles, TextFile
from jumok.data.images.listing import SUFFIXES, list_images
from jumok.data.images.listing import holds_images as is_made_of_images
from jumok.data.tables import is_table
from jumok.data.text.sources import clean, read_documents, read_pairs, text_files, tidy
from jumok.errors import ConfigError, DataError, counted
from jumok.workflows.new.captions import CAPTIONING, look_at_captions
from jumok.workflows.new.columns import (
    Choice,
    Column,
    Table,
    label_column,
    look_at_table,
    pair_columns,
    task_of,
    text_column,
)
from jumok.workflows.new.drawing import CODES, DRAWING, look_at_drawn
from jumok.workflows.new.material import (
    Material,
    check_characters,
    check_classes,
    check_pairs,
    estimated_tokens,
    refuse_other,
    shortened,
    told_classes,
    with_mask,
)
from jumok.workflows.new.opening import near, open_some
from jumok.workflows.new.places import Places, has_images, holds_images
from jumok.workflows.new.series import FORECASTING, look_at_series, series_at

MASKED = "masked-language-modeling"
ELSEWHERE = {  # what is no data as it stands, and what to do
    ".json": "one JSON object per line, in a file ending in .jsonl, is read as a table",
    ".xlsx": "save it as CSV (.csv), which is read as a table",
    ".pdf": "save its text as a plain text file (.txt)",
    ".docx": "save its text as a plain text file (.txt)",
    ".hwp": "save its text as a plain text file (.txt)",
    ".zip": "unpack it, and give the folder",
    ".toml": "it is a recipe: jumok train trains it",
}


def look_at(places: Places, task: str, choice: Choice) -> Material:
    """Return what the files of train hold, for a task or for the one that they suggest."""
    path, *target = places["train"]
    name = path.name.lower().removesuffix(".gz")
    if task == CAPTIONING or (target and holds_images(path)):
        return look_at_captions(places, task, choice)
    if task in (CODES, DRAWING):
        return look_at_drawn(places, task) if is_made_of_images(path) else look_at_captions(places, task, choice)
    if target:
        return look_at_two_files(places, task)
    if path.is_dir():
        if has_images(path):
            return look_at_images(places, task)
        if tables := sorted(file.name for file in path.iterdir() if is_table(file)):
            raise ConfigError(f"{path} holds tables: {', '.join(tables[:5])}; give one of them, and --val for another")
        return look_at_text(places, task)
    if is_table(path):
        if task == FORECASTING or choice.of_series:
            refuse_other(task, (FORECASTING,), "a table of series (--date, --id, --horizon)")
            return look_at_series(places, choice)
        if not task and not choice.of_texts:
            looks = series_at(path)
            if looks is not None:
                return look_at_series(places, choice, looks)
        return look_at_rows(places, task, choice)
    if name.endswith((".npz", ".bin")) or "idx3" in name:
        return look_at_images(places, task)
    if name.endswith(SUFFIXES):
        raise DataError(f"{path} is one image; give a folder with a folder of images for each class")
    for suffix, cure in ELSEWHERE.items():
        if name.endswith(suffix):
            raise DataError(f"{path} cannot be learnt from as it is; {cure}")
    return look_at_text(places, task)


def look_at_two_files(places: Places, task: str) -> Material:
    """Return the pairs of two files of lines."""
    refuse_other(task, ("translation",), "two files of lines")
    source, target = (path.absolute() for path in places["train"])
    tokens, characters, example = [], 0, ""
    for one, other in read_pairs(Corpus(source=str(source), target=str(target)), Path):
        one, other = tidy(one), tidy(other)
        tokens.append(max(estimated_tokens(one), estimated_tokens(other)))
        characters += len(one) + len(other)
        example = example or shortened(one)
    check_pairs(len(tokens), f"{source.name} and {target.name} have {len(tokens):,} pairs")
    return Material(
        "translation",
        {split: {"source": paths[0], "target": paths[1]} for split, paths in places.items()},
        [f"{source.name} and {target.name}: {len(tokens):,} lines each, line by line translations of each other"],
        count=len(tokens),
        example=example,
        tokens=np.array(tokens, np.float64),
        characters=characters,
    )


# --- tables


def look_at_rows(places: Places, task: str, choice: Choice) -> Material:
    """Return what a table holds: pairs, texts or images with their classes, or texts alone."""
    table = look_at_table(places["train"][0])
    if len(table.columns) == 1 and not task:
        raise ConfigError(
            f"{table.path} has one column: {table.listed()}. A classifier needs a second one with classes, a translator one "
            "with translations; for a language model on it say --task language-modeling or masked-language-modeling."
        )
    header = "the first row names the columns" if table.has_header else "no header, so columns are numbered"
    seen = [f"{table.path.name}: a table of {table.rows:,} rows; {table.listed()}; {header}"]
    task = task or task_of(table, choice)
    if task == CAPTIONING:
        return look_at_captions(places, task, choice)
    if task == "translation":
        return _pairs(places, table, choice, seen)
    if task == "image-classification":
        return look_at_images(places, task, table, choice, seen)
    text = text_column(table, choice)
    if task == "text-classification":
        return _labelled(places, table, text, choice, seen)
    check_characters(text.characters, f"{table.path}, {text}")
    return Material(
        task,
        {split: {"file": paths[0], "column": text.key} for split, paths in places.items()},
        [*seen, f"the text is {text}, {text.characters:,} characters; other columns are not read"],
        count=table.rows,
        example=with_mask(text.example) if task == MASKED else shortened(text.example, 20),
        tokens=text.lengths,
        characters=text.characters,
        alphabet=len(text.letters),
    )


def _pairs(places: Places, table: Table, choice: Choice, seen: list[str]) -> Material:
    source, target = pair_columns(table, choice)
    check_pairs(table.rows, f"{table.path} has {table.rows:,} rows")
    columns = {"source_column": source.key, "target_column": target.key}
    return Material(
        "translation",
        {split: {"file": paths[0], **columns} for split, paths in places.items()},
        [*seen, f"{source} is translated into {target}; --source and --target choose others"],
        count=table.rows,
        example=shortened(source.example),
        tokens=np.maximum(source.lengths, target.lengths),
        characters=source.characters + target.characters,
    )


def _labelled(places: Places, table: Table, text: Column, choice: Choice, seen: list[str]) -> Material:
    label = label_column(table, choice)
    columns, tokens, example = {"text": text.key}, text.lengths, shortened(text.example)
    if choice.second:
        second = table.find(choice.second, "--second")
        columns["second"], tokens = second.key, tokens + second.lengths
        example = f"{example}\t{shortened(second.example)}"
    check_classes(label.values, f"{table.path}, {label},")
    return Material(
        "text-classification",
        {split: {"file": paths[0], **columns, "label": label.key} for split, paths in places.items()},
        [*seen, f"the text is {text}, its class is {label}", told_classes(label.values)],
        count=table.rows,
        example=example,
        tokens=tokens,
        characters=text.characters,
        classes=label.values,
    )


# --- images


def look_at_images(
    places: Places, task: str, table: Table | None = None, choice: Choice | None = None, seen: Sequence[str] = ()
) -> Material:
    """Return the images of class folders, of a file of many, or of a table; some are opened."""
    refuse_other(task, ("image-classification",), "images")
    columns: dict[str, int | str] = {}
    if table is not None and choice is not None:
        columns = {"image": _image_column(table, choice).key, "label": label_column(table, choice).key}
    path = places["train"][0]
    listing = list_images(ImageFiles.parse({"file": str(path.absolute()), **columns}, "data"), Path)
    entries, classes = listing.entries, Counter(entry.label for entry in listing.entries)
    check_classes(classes, str(path))
    side, channels, broken = open_some(path, entries)
    colour = "in colour" if channels == 3 else "grey"
    return Material(
        "image-classification",
        {split: {"file": paths[0], **columns} if columns else paths[0] for split, paths in places.items()},
        [
            *seen,
            f"{path.name}: {len(entries):,} images, about {side} pixels a side, {colour}",
            told_classes(classes),
            *listing.notes,
            *broken,
        ],
        count=len(entries),
        example=near(entries[0]),
        classes=classes,
        side=side,
        channels=channels,
    )


def _image_column(table: Table, choice: Choice) -> Column:
    images = table.of_kind("images")
    if choice.text or len(images) == 1:
        return table.find(choice.text, "--text") if choice.text else images[0]
    raise ConfigError(
        f"{table.path}: {len(images)} columns may be the image files: {table.listed()}.\nName it: --text COLUMN"
    )


# --- running text


def look_at_text(places: Places, task: str) -> Material:
    """Return the running text of a file or of the files in a folder."""
    refuse_other(task, ("language-modeling", MASKED), "running text")
    path = places["train"][0]
    files, file = text_files(path), TextFile(file=str(path.absolute()))
    characters = tokens = lines = tabs = 0
    letters: set[str] = set()
    first, blank = "", 0
    for text in read_documents(file, Path, documents="file"):
        text = clean(text)
        characters, tokens = characters + len(text), tokens + estimated_tokens(text)
        letters.update(text)
        rows = [line for line in text.splitlines() if line.strip()]
        lines, tabs = lines + len(rows), tabs + sum("\t" in line for line in rows)
        blank += text.count("\n\n")
        first = first or next((line for line in rows if len(line.split()) > 2), "".join(rows[:1]))
    if tabs > 0.9 * lines and not task:
        raise ConfigError(
            f"{path} has a tab in nearly every line, as tables have; name it {path.name.split('.')[0]}.tsv to have it read as "
            "one, or say --task language-modeling to learn it as running text"
        )
    check_characters(characters, str(path))
    task, documents = task or "language-modeling", "file"
    if task == MASKED and len(files) == 1:
        documents = "paragraph" if blank > lines / 20 else "line"
    what = counted(len(files), "text file") if path.is_dir() else "running text"
    seen = [
        f"{path.name}: {what}, {characters:,} characters ({len(letters):,} different ones), {counted(lines, 'line')}"
    ]
    if len({file.parent for file in files}) > 1:
        seen += ["folders inside it are read as one text; a classifier reads texts and their classes from a table"]
    return Material(
        task,
        {split: paths[0] for split, paths in places.items()},
        seen,
        count=sum(1 for _ in read_documents(file, Path, documents=documents)),
        example=with_mask(first) if task == MASKED else shortened(first, 20),
        tokens=np.array([tokens], np.float64),
        characters=characters,
        alphabet=len(letters),
        documents=documents,
    )
