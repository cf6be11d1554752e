"""What corpora of texts share: a tokenizer trained on their training texts once, and names for what the cache keeps."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from jumok.cache import cached_folder
from jumok.config import TokenizerConfig
from jumok.data.text.tokenizer import Tokenizer

Split = Literal["train", "val", "test"]
Progress = Callable[[str, int], None]  # what is being done, and how many texts are through
TOLD_EVERY = 1000


@dataclass
class Corpora(ABC):
    """The texts of a recipe, for one tokenizer."""

    FORMAT: ClassVar[int]  # of the stores; another number makes them anew
    DECISIVE: ClassVar[set[str]]  # keys of [data] that change what is stored

    data: Any
    config: TokenizerConfig
    folders: Sequence[Path]
    progress: Progress = lambda what, done: None
    given: Tokenizer | None = None  # by a run, or by the run that weights come from; trained otherwise

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the texts."""
        if self.given is not None:
            return self.given
        settings = self.config.model_dump(exclude={"dropout", "target_dropout", "shared"})
        folder = cached_folder(self._key("tokenizer", settings), self._train_tokenizer)
        return Tokenizer.load(folder / "text.json")

    def _train_tokenizer(self, folder: Path) -> None:
        def texts() -> Iterator[str]:
            for number, text in enumerate(self._train_texts()):
                if number % TOLD_EVERY == 0:
                    self.progress("training the tokenizer", number)
                yield text

        Tokenizer.train(texts(), self.config).save(folder / "text.json")

    @property
    def fingerprint(self) -> str:
        """What the training data is made of: a resumed run must find the same."""
        return self._key("data", [])

    def _key(self, kind: str, parts: object, files: list[Any] | None = None) -> str:
        """Return a name that changes with everything the contents depend on: of some files, or of the training data."""
        data = self.data.model_dump(include=self.DECISIVE)
        content = self._train_content if files is None else self._content(files)
        text = json.dumps([self.FORMAT, kind, data, not self.data.val, parts, content], sort_keys=True, default=str)
        return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"

    @cached_property
    def _train_content(self) -> object:
        return self._content(self.data.train)

    @abstractmethod
    def _content(self, files: list[Any]) -> object:
        """Return what changes when files or their columns do."""

    @abstractmethod
    def _train_texts(self) -> Iterator[str]:
        """Yield the training texts, as the tokenizer learns from them."""
