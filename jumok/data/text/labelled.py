"""From a recipe's [data] of classified texts to a tokenizer and stores, each made once and kept in the cache.

tables → (text, second text, class) → tokenizer (trained on train) → LabelStore: ids, classes and texts
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from jumok.cache import cached_folder
from jumok.config import LabelledData, LabelledFile
from jumok.data.corpora import Corpora, Split
from jumok.data.files import content_hash, find_file
from jumok.data.store import SideWriter, TokenSide, id_type_of, map_array, parts_of
from jumok.data.text.sources import read_labelled, tidy
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError, DataError, did_you_mean

Example = tuple[str, str, str]  # text, second text or nothing, class
CHUNK = 10_000
SIDES = ("first", "second")


class LabelStore:
    """The tokenised examples of one split."""

    def __init__(self, folder: Path) -> None:
        """Open the store in folder; a missing or cut-off file is a DataError."""
        try:
            facts: dict[str, Any] = json.loads((folder / "store.json").read_text(encoding="utf-8"))
            whole = all((folder / name).stat().st_size == size for name, size in facts["sizes"].items())
            sides = []
            self._texts = []
            for side in SIDES:
                arrays = {
                    part: map_array(folder / f"{side}.{part}", kind)
                    for part, kind in parts_of(facts["id_type"]).items()
                }
                sides.append(TokenSide(arrays["ids"], arrays["offsets"], words=arrays["words"]))
                self._texts.append((arrays["text"], arrays["text_offsets"]))
            self.first, self.second = sides
            self.classes = map_array(folder / "classes", "<i4")
            self.skipped: int = facts["skipped"]
        except (OSError, ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise DataError(
                f"the tokenised data in {folder} is damaged; run jumok cache --clear, and it is made again."
            )

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def sides(self) -> tuple[TokenSide, TokenSide]:
        """The texts and the second texts."""
        return self.first, self.second

    def text(self, index: int) -> tuple[str, str]:
        """Return the text, and the second one or nothing, as tidied."""
        first, second = (raw[at[index] : at[index + 1]].tobytes().decode("utf-8") for raw, at in self._texts)
        return first, second


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
    id_type, skipped, done = id_type_of(tokenizer), 0, 0
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
    sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.name.startswith((*SIDES, "classes"))}
    facts = {"id_type": id_type, "skipped": skipped, "sizes": sizes}
    (folder / "store.json").write_text(json.dumps(facts), encoding="utf-8")


@dataclass
class LabelledCorpora(Corpora):
    """The examples of a recipe: read, tidied, tokenised, stored."""

    FORMAT = 2
    DECISIVE: ClassVar[set[str]] = {"limit", "hold_out", "lowercase"}

    data: LabelledData

    def _train_texts(self) -> Iterator[str]:
        for text, second, _ in self._train_examples():
            yield tidy(text, self.data.lowercase)
            if second:
                yield tidy(second, self.data.lowercase)

    @cached_property
    def labels(self) -> list[str]:
        """The classes in order."""
        if self.data.labels:
            return self.data.labels
        found = sorted({label for _, _, label in self._files()})
        if len(found) < 2:
            raise DataError(
                f"the training data has {'only the class ' + repr(found[0]) if found else 'no examples'}; two classes or "
                "more are needed. Is the label column right?"
            )
        if len(found) > 1000:
            raise DataError(
                f"the training data has {len(found):,} classes, such as {found[0][:30]!r}; is the label column right? "
                "If it is, name them all in data.labels."
            )
        return found

    @cached_property
    def train(self) -> LabelStore:
        """All training examples in one store."""
        return self._store("train", self._train_examples)

    def evaluation(self, split: Split) -> dict[str, LabelStore]:
        """Return each table of a split by its name."""
        files: list[LabelledFile] = getattr(self.data, split)
        if not files and split == "val" and self.data.train:
            return {"held out": self._store("held out", lambda: self._divided(held_out=True))}
        if not files:
            raise DataError(f"the recipe has no {split} data; add {split} = {{ file = … }} to [data], or give --source")
        return {file.shown: self.file_store(file) for file in files}

    def file_store(self, file: LabelledFile) -> LabelStore:
        """Return the store of one table."""
        return self._store("file", lambda: read_labelled(file, self.folders), files=[file])

    def _store(
        self, what: str, examples: Callable[[], Iterator[Example]], *, files: list[LabelledFile] | None = None
    ) -> LabelStore:
        def build(folder: Path) -> None:
            build_label_store(
                examples(),
                self.tokenizer,
                self.labels,
                folder,
                lowercase=self.data.lowercase,
                progress=lambda done: self.progress("tokenising", done),
            )

        return LabelStore(
            cached_folder(self._key("labelled", [what, self.tokenizer.fingerprint, self.labels], files), build)
        )

    def _content(self, files: list[LabelledFile]) -> object:
        return [
            [file.text, file.second, file.label, Path(file.file).suffixes[-2:],
             content_hash([find_file(file.file, self.folders)])]
            for file in files
        ]  # fmt: skip

    def _files(self) -> Iterator[Example]:
        for file in self.data.train:
            yield from read_labelled(file, self.folders)

    def _train_examples(self) -> Iterator[Example]:
        examples = self._files() if self.data.val else self._divided(held_out=False)
        if not self.data.limit:
            return examples
        drawn = sorted(examples, key=lambda example: _lot("\0".join(example)))[: self.data.limit]
        if len(drawn) < self.data.limit:
            raise ConfigError(f"data.limit = {self.data.limit:,}, but there are only {len(drawn):,} training examples")
        return iter(drawn)

    def _divided(self, *, held_out: bool) -> Iterator[Example]:
        """Yield the held-out examples or the rest; equal texts always fall on the same side."""
        lots = sorted(_lot(text) for text, _, _ in self._files())
        wanted = self.data.hold_out or max(min(len(lots) // 20, 1000), 1)
        if wanted >= len(lots):
            raise ConfigError(f"data.hold_out = {wanted:,} leaves nothing of {len(lots):,} examples to train on")
        largest = lots[wanted - 1]
        return (example for example in self._files() if (_lot(example[0]) <= largest) == held_out)


def _lot(text: str) -> int:
    """Return a number that looks random and depends on the text alone."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
