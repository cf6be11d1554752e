"""From a recipe's [data] of running text to a tokenizer and stores of documents, each made once and kept in the cache.

files or built-in set → documents → tokenizer (trained on train) → TextStore: all ids end to end
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from jumok.cache import cached_folder
from jumok.config import TextData, TextFile
from jumok.data.corpora import Corpora, Split
from jumok.data.fetch import DOWNLOADS
from jumok.data.files import content_hash, find_file
from jumok.data.store import map_array
from jumok.data.text.sources import clean, read_documents
from jumok.data.text.tokenizer import END, Tokenizer
from jumok.errors import ConfigError, DataError, did_you_mean

CHUNK = 1000
FEW = 20  # documents; of fewer, the end of each is held out instead of some as a whole


def stdlib_documents(split: Split) -> list[str]:
    """Return documents of the set `stdlib`."""
    from jumok.data.builtin import stdlib

    return stdlib.documents(split)


BUILT_IN: dict[str, Callable[[Split], list[str]]] = {"stdlib": stdlib_documents}


class TextStore:
    """The tokens of many documents end to end, each behind an end token: [END] d d d [END] d d [END]."""

    def __init__(self, folder: Path) -> None:
        """Open the store in folder; a missing or cut-off file is a DataError."""
        try:
            facts: dict[str, Any] = json.loads((folder / "store.json").read_text(encoding="utf-8"))
            self.ids = map_array(folder / "ids", facts["id_type"])
            self.words = map_array(folder / "words", "|u1")  # 1 where a token begins a word
            self.starts = map_array(folder / "starts", "<i8")  # where each document's first token stands
            self.documents, self.characters, self.bytes = facts["documents"], facts["characters"], facts["bytes"]
            whole = len(self.ids) == len(self.words) == facts["tokens"] and len(self.starts) == self.documents
        except (OSError, ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise DataError(
                f"the tokenised text in {folder} is damaged; run jumok cache --clear, and it is made again."
            )

    def __len__(self) -> int:
        return self.tokens

    @property
    def counts(self) -> dict[str, int]:
        """How much text it is, for tables."""
        return {"documents": self.documents, "tokens": self.tokens, "characters": self.characters, "bytes": self.bytes}

    @property
    def tokens(self) -> int:
        """Tokens to be said: all but the end token before the first document."""
        return len(self.ids) - 1


def build_text_store(
    documents: Iterator[str], tokenizer: Tokenizer, folder: Path, *, progress: Callable[[int], None]
) -> None:
    """Tokenise documents into folder; empty ones are left out."""
    id_type = "<u2" if len(tokenizer) <= 1 << 16 else "<u4"
    facts = {"id_type": id_type, "documents": 0, "characters": 0, "bytes": 0, "tokens": 1}
    with ExitStack() as stack:
        ids, words, starts = (stack.enter_context((folder / name).open("wb")) for name in ("ids", "words", "starts"))
        ids.write(np.array([END], dtype=id_type).tobytes())
        words.write(b"\x01")
        while chunk := list(islice(documents, CHUNK)):
            texts = [text for text in chunk if text.strip()]
            for text, (encoded, numbers) in zip(texts, tokenizer.encode_words(texts), strict=True):
                starts.write(np.array([facts["tokens"]], dtype="<i8").tobytes())
                ids.write(np.array([*encoded, END], dtype=id_type).tobytes())
                words.write((np.diff([-1, *numbers, -1]) != 0).astype("|u1").tobytes())
                facts["tokens"] += len(encoded) + 1  # type: ignore[operator]
                facts["characters"] += len(text)  # type: ignore[operator]
                facts["bytes"] += len(text.encode())  # type: ignore[operator]
            facts["documents"] += len(texts)  # type: ignore[operator]
            progress(facts["documents"])  # type: ignore[arg-type]
    if not facts["documents"]:
        raise DataError("there is no text to work with: every document is empty; check the files of [data].")
    (folder / "store.json").write_text(json.dumps(facts), encoding="utf-8")


@dataclass
class TextCorpora(Corpora):
    """The text of a recipe: read, cleaned, tokenised, stored."""

    FORMAT = 1
    DECISIVE: ClassVar[set[str]] = {"set", "documents", "hold_out", "lowercase"}

    data: TextData

    def __post_init__(self) -> None:
        missing = not self.data.set and not self.data.train and self.given is None  # an imported run has no data
        if missing or (self.data.set and self.data.train):
            raise ConfigError(
                '[data] needs either set = "NAME" (a built-in set, see jumok list) or train = "FILE" (or a list of files)'
            )
        if self.data.set and self.data.set not in BUILT_IN:
            raise ConfigError(
                f"data.set = '{self.data.set}' is not a built-in set of text; {did_you_mean(self.data.set, BUILT_IN)}"
            )

    @cached_property
    def train(self) -> TextStore:
        """All training text in one store."""
        return self._store("train", self._train_texts)

    def evaluation(self, split: Split) -> dict[str, TextStore]:
        """Return each file of a split by its label."""
        if self.data.set:
            return {self.data.set: self._store(split, lambda: iter(BUILT_IN[self.data.set](split)))}
        files: list[TextFile] = getattr(self.data, split)
        if not files and split == "val" and self.data.train:
            return {"held out": self._held_out()}
        if not files:
            raise DataError(f'the recipe has no {split} data; add {split} = "FILE" to [data], or give --source')
        return {file.label: self.file_store(file) for file in files}

    def _held_out(self) -> TextStore:
        try:
            return self._store("held out", lambda: self._divided(held_out=True))
        except DataError:
            if self.train.documents:
                raise DataError(
                    "too few different documents to hold some out for val; name val files in [data]"
                ) from None
            raise

    def file_store(self, file: TextFile) -> TextStore:
        """Return the store of one file."""
        return self._store("file", lambda: self._read(file), files=[file])

    def _store(
        self, what: str, documents: Callable[[], Iterator[str]], *, files: list[TextFile] | None = None
    ) -> TextStore:
        def build(folder: Path) -> None:
            build_text_store(
                documents(), self.tokenizer, folder, progress=lambda done: self.progress("tokenising", done)
            )

        return TextStore(cached_folder(self._key("text", [what, self.tokenizer.fingerprint], files), build))

    @cached_property
    def _train_content(self) -> object:
        if self.data.set:
            texts = BUILT_IN[self.data.set]("train")  # Python's own texts change with its version
            return [self.data.set, hashlib.sha256("\0".join(texts).encode()).hexdigest()]
        return super()._train_content

    def _content(self, files: list[TextFile]) -> object:
        return [[file.column, Path(file.file).suffixes[-2:], content_hash([self._path(file)])] for file in files]

    def _path(self, file: TextFile) -> Path:
        try:
            return find_file(file.file, self.folders)
        except DataError as error:
            if self.data.folder in DOWNLOADS:
                raise DataError(f"{error}\nThis set has a public home: jumok fetch {self.data.folder}") from None
            raise

    def _read(self, file: TextFile) -> Iterator[str]:
        self._path(file)
        for text in read_documents(file, self.folders, documents=self.data.documents):
            yield clean(text, self.data.lowercase)

    def _train_texts(self) -> Iterator[str]:
        if self.data.set:
            return iter(BUILT_IN[self.data.set]("train"))
        return self._files() if self.data.val else self._divided(held_out=False)

    def _files(self) -> Iterator[str]:
        for file in self.data.train:
            yield from self._read(file)

    def _divided(self, *, held_out: bool) -> Iterator[str]:
        """Yield what is held out, or the rest: whole documents by lot, or the end of each where there are few."""
        few = len(list(islice(self._files(), FEW))) < FEW
        for text in self._files():
            if few:
                share = self.data.hold_out
                place = int(len(text) * (1 - share))
                nearest = text.rfind("\n", max(int(len(text) * (1 - 2 * share)), 0), place)  # no long line as a whole
                cut = nearest + 1 or place
                yield text[cut:] if held_out else text[:cut]
            else:
                lot = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2.0**64
                if (lot < self.data.hold_out) == held_out:
                    yield text
