"""From a recipe's [data] of running text to a tokenizer and stores of documents, each made once and kept in the cache.

files or built-in set → documents → tokenizer (trained on train) → TextStore: all ids end to end
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

from jumok.cache import cached_folder
from jumok.config import Split, TextData, TextFile, TokenizerConfig
from jumok.data.corpora import ProgressCallback, by_title
from jumok.data.files import content_hash
from jumok.data.split import HoldOut
from jumok.data.store import id_type_for, map_array, read_facts, refuse_damage, write_facts
from jumok.data.text.sources import clean, read_documents, text_files
from jumok.data.text.tokenized import SingleTokenizerCorpora
from jumok.data.text.tokenizer import END, Tokenizer
from jumok.errors import ConfigError, DataError, did_you_mean

FILES = ("ids", "words", "starts")
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
        with refuse_damage(folder, "the tokenised text"):
            facts = read_facts(folder)
            self.ids = map_array(folder / "ids", facts["id_type"])
            self.words = map_array(folder / "words", "|u1")  # 1 where a token begins a word
            self.starts = map_array(folder / "starts", "<i8")  # where each document's first token stands
            self.documents: int = facts["documents"]
            self.characters: int = facts["characters"]
            self.bytes: int = facts["bytes"]
            if not (len(self.ids) == len(self.words) == facts["tokens"] and len(self.starts) == self.documents):
                raise ValueError("a file is cut off")

    def __len__(self) -> int:
        return self.tokens

    @property
    def counts(self) -> dict[str, int]:
        """How much text it is, for tables."""
        return {"documents": self.documents, "tokens": self.tokens, "characters": self.characters, "bytes": self.bytes}

    @property
    def tokens(self) -> int:
        """Tokens to predict: all but the end token before the first document."""
        return len(self.ids) - 1


@dataclass
class _TextSize:
    """How much text a store has; tokens begin with the end token before the first document."""

    documents: int = 0
    characters: int = 0
    bytes: int = 0
    tokens: int = 1


def build_text_store(
    documents: Iterator[str], tokenizer: Tokenizer, folder: Path, *, progress: Callable[[int], None]
) -> None:
    """Tokenise documents into folder; empty ones are left out."""
    id_type, size = id_type_for(len(tokenizer)), _TextSize()
    with ExitStack() as stack:
        ids, words, starts = (stack.enter_context((folder / name).open("wb")) for name in FILES)
        ids.write(np.array([END], dtype=id_type).tobytes())
        words.write(b"\x01")
        while chunk := list(islice(documents, CHUNK)):
            texts = [text for text in chunk if text.strip()]
            for text, (encoded, numbers) in zip(texts, tokenizer.encode_words(texts), strict=True):
                starts.write(np.array([size.tokens], dtype="<i8").tobytes())
                ids.write(np.array([*encoded, END], dtype=id_type).tobytes())
                words.write((np.diff([-1, *numbers, -1]) != 0).astype("|u1").tobytes())
                size.tokens += len(encoded) + 1
                size.characters += len(text)
                size.bytes += len(text.encode())
            size.documents += len(texts)
            progress(size.documents)
    if not size.documents:
        raise DataError("there is no text to work with: every document is empty; check the files of [data].")
    write_facts(folder, FILES, id_type=id_type, **asdict(size))


class TextCorpora(SingleTokenizerCorpora[TextData, TextStore]):
    """The text of a recipe: read, cleaned, tokenised, stored."""

    DECISIVE: ClassVar[set[str]] = {"set", "documents", "hold_out", "lowercase"}
    FILE_IN_RECIPE = '"FILE"'

    def __init__(
        self,
        data: TextData,
        config: TokenizerConfig,
        folders: Sequence[Path],
        progress: ProgressCallback = lambda what, done: None,
        given: Tokenizer | None = None,
    ) -> None:
        """Take the given tokenizer, or train one; without it, a set or files are needed."""
        super().__init__(data, config, folders, progress, given)
        missing = not data.set and not data.train and given is None  # an imported run has no data
        if missing or (data.set and data.train):
            raise ConfigError(
                '[data] needs either set = "NAME" (a built-in set, see jumok list) or train = "FILE" (or a list of files)'
            )
        if data.set and data.set not in BUILT_IN:
            raise ConfigError(
                f"data.set = '{data.set}' is not a built-in set of text; {did_you_mean(data.set, BUILT_IN)}"
            )

    # --- stores

    def own_store(self, file: TextFile) -> TextStore:
        """Return the store of one file."""
        return self._store("file", lambda: self._read(file), content=self._content([file]))

    def _train_store(self) -> TextStore:
        return self._store("train", self._train_texts)

    def _built_in_stores(self, split: Split) -> dict[str, TextStore]:
        return {self.data.set: self._store(split, lambda: iter(BUILT_IN[self.data.set](split)))}

    def _file_stores(self, split: Split) -> dict[str, TextStore]:
        return by_title(self.data.files(split), self.own_store)

    def _held_out_stores(self) -> dict[str, TextStore]:
        try:
            return {"held out": self._store("held out", lambda: self._divided(held_out=True))}
        except DataError:
            if self.train.documents:
                raise DataError(
                    "too few different documents to hold some out for val; name val files in [data]"
                ) from None
            raise

    def _store(self, what: str, documents: Callable[[], Iterator[str]], *, content: object = None) -> TextStore:
        def build(folder: Path) -> None:
            build_text_store(
                documents(), self.tokenizer, folder, progress=lambda done: self.progress("tokenising", done)
            )

        return TextStore(cached_folder(self._key("text", [what, self.tokenizer.fingerprint], content), build))

    # --- keys of the cache

    def _content_of_train(self) -> object:
        if self.data.set:
            texts = BUILT_IN[self.data.set]("train")  # Python's own texts change with its version
            return [self.data.set, hashlib.sha256("\0".join(texts).encode()).hexdigest()]
        return self._content(self.data.train)

    def _content(self, files: Sequence[TextFile]) -> object:
        """Return what changes when files, or the way they are read, do."""
        return [
            [file.column, Path(file.file).suffixes[-2:], content_hash(text_files(self.find(file.file)))]
            for file in files
        ]

    # --- documents

    def _read(self, file: TextFile) -> Iterator[str]:
        for text in read_documents(file, self.find, documents=self.data.documents):
            yield clean(text, self.data.lowercase)

    def _train_texts(self) -> Iterator[str]:
        if self.data.set:
            return iter(BUILT_IN[self.data.set]("train"))
        return self._divided(held_out=False) if self.data.holds_out else self._documents()

    def _documents(self) -> Iterator[str]:
        """Yield all documents of the training files."""
        for file in self.data.train:
            yield from self._read(file)

    def _divided(self, *, held_out: bool) -> Iterator[str]:
        """Return what is held out, or the rest: whole documents by lot, or the end of each where there are few."""
        if self._has_few:
            return (after if held_out else before for before, after in map(self._cut, self._documents()))
        return HoldOut.share(self.data.hold_out).part(self._documents(), str, held_out=held_out)

    @cached_property
    def _has_few(self) -> bool:
        return len(list(islice(self._documents(), FEW))) < FEW

    def _cut(self, text: str) -> tuple[str, str]:
        """Return a document in two, the second about as long as the share to hold out; cut between lines where it can."""
        share = self.data.hold_out
        place = int(len(text) * (1 - share))
        nearest = text.rfind("\n", max(int(len(text) * (1 - 2 * share)), 0), place)  # no long line as a whole
        cut = nearest + 1 or place
        return text[:cut], text[cut:]
