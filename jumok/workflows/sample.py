"""`jumok sample`: examples of a built-in data set as they are: lines of text, rows of series, or images in files.

name, split, how many → texts, or images with their labels or captions → standard output, a file, or a folder: class
folders, or images with captions.csv beside them
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from jumok.config import Corpus, Split
from jumok.config.text_data import MADE
from jumok.data.builtin import relations, shapes, waves
from jumok.data.images.listing import SUFFIXES
from jumok.data.series.series_corpora import SETS as SERIES
from jumok.data.series.series_corpora import TEST_FROM, VAL_FROM
from jumok.data.text.documents import BUILT_IN as DOCUMENTS
from jumok.data.text.parallel import BUILT_IN as PAIRS
from jumok.data.text.sources import TABLES, read_pairs
from jumok.errors import ConfigError, DataError, counted, did_you_mean
from jumok.predictors.base import check_split
from jumok.writing import ANOTHER_PLACE, explained, write_bytes, write_text

SIDE = 64  # pixels, large enough to look at
CAPTIONS = "captions.csv"  # beside several images: image, caption


@dataclass(frozen=True)
class SampleFile:
    """An image that was written, and what it shows: its class, or its caption."""

    path: Path
    label: str


def sample_texts(name: str, *, split: str = "test", number: int = 1, skip: int = 0) -> list[str]:
    """Return examples of a built-in set of text: source and target with a tab between, or documents.

    Of a set of series, return the rows of some series up to the end of the split, tabs between columns, their names first.
    """
    known = check_split(split)
    found: Sequence[str]
    if name in SERIES:
        if skip + number > waves.SERIES:
            raise DataError(f"{name} has {counted(waves.SERIES, 'series', 'series')}; ask for fewer")
        return _rows_of_series(known, range(skip, skip + number))
    if name in MADE:
        found = ["\t".join(pair) for pair in PAIRS[name](known, skip + number)]
    elif name in PAIRS:
        found = ["\t".join(pair) for pair in PAIRS[name](known, 0 if known != "train" else skip + number)]
    elif name in DOCUMENTS:
        found = DOCUMENTS[name](known)
    elif name in TABLES:
        table = Corpus(set=name)  # English, Korean
        found = ["\t".join(pair) for pair in read_pairs(table, Path)]
    else:
        raise ConfigError(f"there is no built-in data set '{name}'; {did_you_mean(name, sample_sets())}")
    if skip + number > len(found):
        raise DataError(
            f"the {split} split of {name} has {counted(len(found), 'example')}; ask for fewer, or for train"
        )
    return list(found[skip : skip + number])


@dataclass(frozen=True)
class AlignedSample:
    """A pair of sentences in words, and which word stands for which, by their places."""

    source: list[str]
    target: list[str]
    alignment: list[tuple[int, int]]
    possible: list[tuple[int, int]]  # articles, and pronouns that the other language leaves out

    def groups(self) -> list[tuple[str, str]]:
        """Return each source word with the target words that stand for it, then what stands for none.

        Possible words are in brackets.
        """
        rows: list[tuple[str, str]] = []
        for place, word in enumerate(self.source):
            sure = {other for one, other in self.alignment if one == place}
            words = {other: self.target[other] for other in sure}
            words |= {other: f"({self.target[other]})" for one, other in self.possible if one == place}
            rows.append((word, " ".join(text for _, text in sorted(words.items()))))
        linked = {other for _, other in [*self.alignment, *self.possible]}
        rows += [("", word) for place, word in enumerate(self.target) if place not in linked]
        return [(left.rstrip(".?,"), right.replace(".", "").replace("?", "").replace(",", "")) for left, right in rows]


def sample_aligned(name: str, *, split: str = "test", number: int = 1, skip: int = 0) -> list[AlignedSample]:
    """Return pairs of a built-in set with their word alignments."""
    known = check_split(split)
    if name not in MADE:
        raise ConfigError(f"no word alignments are known of '{name}'; sets that have them: {', '.join(MADE)}")
    from jumok.data.builtin import korean

    found = list(korean.numbered(known, skip + number))[skip:]
    return [
        AlignedSample(
            [word.text for word in pair.korean_words],
            [word.text for word in pair.english_words],
            [(link.korean, link.english) for link in pair.alignment if link.sure],
            [(link.korean, link.english) for link in pair.alignment if not link.sure],
        )
        for pair in found
    ]


def sample_images(
    name: str, target: Path, *, split: str = "test", number: int = 1, skip: int = 0, captions: bool = False
) -> list[SampleFile]:
    """Write images of a built-in set: one to a file, or several to a folder with a folder for each class.

    With captions these are images of up to five objects, and a folder has captions.csv beside them.
    """
    known = check_split(split)
    to_file = target.suffix.lower() in SUFFIXES
    if to_file and number > 1:
        raise ConfigError(
            f"{target} is one file for {number} images; give a folder, and captions.csv is written beside them"
            if captions
            else f"{target} is one file for {number} images; give a folder, and each class gets a folder in it"
        )
    numbers = range(skip, skip + number)
    if not captions:
        return [_write_labelled(known, which, target, to_file=to_file) for which in numbers]
    if to_file:
        return [_write_captioned(known, skip, target, new_folder=False)]
    _refuse_existing(target / CAPTIONS)
    written = [_write_captioned(known, which, target / f"{split}-{which}.png", new_folder=True) for which in numbers]
    rows = io.StringIO(newline="")
    csv.writer(rows).writerows([("image", "caption"), *((one.path.name, one.label) for one in written)])
    write_text(target / CAPTIONS, rows.getvalue(), ANOTHER_PLACE)
    return written


def sample_sets() -> list[str]:
    """Return the built-in sets that have examples to show."""
    return ["shapes", *SERIES, *PAIRS, *DOCUMENTS, *TABLES]


def _rows_of_series(split: Split, numbers: Sequence[int]) -> list[str]:
    last = int(waves.STEPS * {"train": VAL_FROM, "val": TEST_FROM, "test": 1.0}[split])
    dates, holidays = waves.dates(), waves.holidays()
    lines = ["\t".join((waves.ID, waves.DATE, waves.TARGET, waves.KNOWN))]
    for number in numbers:
        values = waves.series(number)
        lines += [
            f"{waves.name(number)}\t{str(dates[step]).replace('T', ' ')}\t{values[step]:g}\t{holidays[step]:g}"
            for step in range(last)
        ]
    return lines


def _write_labelled(split: Split, number: int, target: Path, *, to_file: bool) -> SampleFile:
    scene = shapes.scene(split, number)
    path = target if to_file else target / scene.label / f"{split}-{number}.png"
    _save(shapes.draw(scene, SIDE), path, new_folder=not to_file)
    return SampleFile(path, scene.label)


def _write_captioned(split: Split, number: int, path: Path, *, new_folder: bool) -> SampleFile:
    scene = relations.scene(split, number)
    _save(relations.draw(scene, SIDE), path, new_folder=new_folder)
    return SampleFile(path, scene.caption)


def _save(image: Image.Image, path: Path, *, new_folder: bool) -> None:
    _refuse_existing(path)
    drawn = io.BytesIO()
    image.save(drawn, format=Image.registered_extensions()[path.suffix.lower()])
    if new_folder:
        with explained(path, ANOTHER_PLACE):
            path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, drawn.getvalue(), ANOTHER_PLACE)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise ConfigError(f"{path} exists already; choose another name, or remove it")
