"""From a recipe's [data] of classified texts to a tokenizer and stores, each made once and kept in the cache.

tables → (text, second text, class) → tokenizer (trained on train) → LabelStore: ids, classes and texts
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

from jumok.cache import cached_folder
from jumok.config import LabelledData, LabelledFile, Split
from jumok.data.corpora import by_title
from jumok.data.files import content_hash
from jumok.data.split import HoldOut, draw
from jumok.data.store import (
    SideWriter,
    StoredSide,
    array_hash,
    id_type_for,
    map_array,
    read_facts,
    refuse_damage,
    side_names,
    write_facts,
)
from jumok.data.text.sources import read_labelled, tidy
from jumok.data.text.tokenized import SingleTokenizerCorpora
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import DataError, did_you_mean

Example = tuple[str, str, str]  # text, second text or nothing, class
CHUNK = 10_000
SIDES = ("first", "second")
MOST_HELD_OUT = 1000  # examples, where the recipe does not say how many
MOST_CLASSES = 1000  # that are believed without data.labels


class LabelStore:
    """The tokenised examples of one split."""

    def __init__(self, folder: Path) -> None:
        """Open the store in folder; a missing or cut-off file is a DataError."""
        with refuse_damage(folder, "the tokenised data"):
            facts = read_facts(folder)
            self.first, self.second = (StoredSide(folder, side, facts["id_type"]) for side in SIDES)
            self.classes = map_array(folder / "classes", "<i4")
            self.skipped: int = facts["skipped"]

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def sides(self) -> tuple[StoredSide, StoredSide]:
        """The texts and the second texts."""
        return self.first, self.second

    @property
    def fingerprint(self) -> str:
        """A hash of the contents."""
        return array_hash(self.classes, self.first.ids, self.second.ids)

    def text(self, index: int) -> tuple[str, str]:
        """Return the text, and the second one or nothing, as tidied."""
        return self.first.text(index), self.second.text(index)


def build_label_store(
    examples: Iterable[Example],
    tokenizer: Tokenizer,
    labels: Sequence[str],
    folder: Path,
    *,
    lowercase: bool,
    progress: Callable[[int], None],
) -> None:
    """Tokenise examples into folder; those without text are left out and counted."""
    numbers = {label: number for number, label in enumerate(labels)}
    id_type, skipped, done = id_type_for(len(tokenizer)), 0, 0
    with ExitStack() as stack:
        writers = [SideWriter(folder, side, id_type, stack) for side in SIDES]
        classes = stack.enter_context((folder / "classes").open("wb"))
        iterator = iter(examples)
        while chunk := list(islice(iterator, CHUNK)):
            kept: list[tuple[str, str]] = []
            named: list[int] = []
            for text, second, label in chunk:
                if label not in numbers:
                    raise DataError(
                        f"the class {label!r} of {text[:40]!r} is not among the training data's {len(labels)}: "
                        f"{did_you_mean(label, labels)}; name all classes in data.labels, or mend the row."
                    )
                tidied = tidy(text, lowercase), tidy(second, lowercase)
                if tidied[0]:
                    kept.append(tidied)
                    named.append(numbers[label])
                else:
                    skipped += 1
            for number, writer in enumerate(writers):
                texts = [row[number] for row in kept]
                writer.write([(text, *cut) for text, cut in zip(texts, tokenizer.encode_words(texts), strict=True)])
            classes.write(np.array(named, dtype="<i4").tobytes())
            done += len(chunk)
            progress(done)
    if done == skipped:
        raise DataError("there are no examples with text; check the files of [data] and their columns.")
    write_facts(folder, [*side_names(*SIDES), "classes"], id_type=id_type, skipped=skipped)


class LabelledCorpora(SingleTokenizerCorpora[LabelledData, LabelStore]):
    """The examples of a recipe: read, tidied, tokenised, stored."""

    FORMAT = 2
    DECISIVE: ClassVar[set[str]] = {"limit", "hold_out", "lowercase"}
    FILE_IN_RECIPE = "{ file = … }"

    @cached_property
    def labels(self) -> list[str]:
        """The classes in order."""
        if self.data.labels:
            return self.data.labels
        found = sorted({label for _, _, label in self._examples()})
        if len(found) < 2:
            raise DataError(
                f"the training data has {'only the class ' + repr(found[0]) if found else 'no examples'}; two classes or "
                "more are needed. Is the label column right?"
            )
        if len(found) > MOST_CLASSES:
            raise DataError(
                f"the training data has {len(found):,} classes, such as {found[0][:30]!r}; is the label column right? "
                "If it is, name them all in data.labels."
            )
        return found

    # --- stores

    def own_store(self, file: LabelledFile) -> LabelStore:
        """Return the store of one table."""
        return self._store("file", lambda: read_labelled(file, self.find), content=self._content([file]))

    def _train_store(self) -> LabelStore:
        return self._store("train", self._train_examples)

    def _file_stores(self, split: Split) -> dict[str, LabelStore]:
        return by_title(self.data.files(split), self.own_store)

    def _held_out_stores(self) -> dict[str, LabelStore]:
        return {"held out": self._store("held out", lambda: self._divided(held_out=True))}

    def _store(self, what: str, examples: Callable[[], Iterator[Example]], *, content: object = None) -> LabelStore:
        def build(folder: Path) -> None:
            build_label_store(
                examples(),
                self.tokenizer,
                self.labels,
                folder,
                lowercase=self.data.lowercase,
                progress=lambda done: self.progress("tokenising", done),
            )

        made_of = [what, self.tokenizer.fingerprint, self.labels]
        return LabelStore(cached_folder(self._key("labelled", made_of, content), build))

    # --- keys of the cache

    def _content_of_train(self) -> object:
        return self._content(self.data.train)

    def _content(self, files: Sequence[LabelledFile]) -> object:
        """Return what changes when tables, or the way they are read, do."""
        return [
            [file.text, file.second, file.label, Path(file.file).suffixes[-2:], content_hash([self.find(file.file)])]
            for file in files
        ]

    # --- examples

    def _train_texts(self) -> Iterator[str]:
        for text, second, _ in self._train_examples():
            yield tidy(text, self.data.lowercase)
            if second:
                yield tidy(second, self.data.lowercase)

    def _train_examples(self) -> Iterator[Example]:
        examples = self._divided(held_out=False) if self.data.holds_out else self._examples()
        if not self.data.limit:
            return examples
        return iter(draw(list(examples), self.data.limit, "\0".join, unit="examples"))

    def _examples(self) -> Iterator[Example]:
        """Yield all examples of the training tables."""
        for file in self.data.train:
            yield from read_labelled(file, self.find)

    def _divided(self, *, held_out: bool) -> Iterator[Example]:
        """Return the held-out examples or the rest; equal texts always fall on the same side."""
        return self._hold_out.part(self._examples(), lambda example: example[0], held_out=held_out)

    @cached_property
    def _hold_out(self) -> HoldOut:
        texts = (text for text, _, _ in self._examples())
        return HoldOut.count(texts, self.data.hold_out, most=MOST_HELD_OUT, unit="examples")
