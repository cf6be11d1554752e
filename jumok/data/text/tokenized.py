"""What corpora of texts share: tokenizers, trained on their training texts once or given by a run."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from jumok.cache import cached_folder
from jumok.config import TokenizerConfig
from jumok.data.corpora import Corpora, DataT, ProgressCallback, StoreT
from jumok.data.text.tokenizer import Tokenizer


class TokenizedCorpora(Corpora[DataT, StoreT]):
    """Texts and the tokenizers that cut them."""

    WITHOUT_EFFECT: ClassVar[set[str]] = {"dropout", "target_dropout"}  # keys of [tokenizer] that change no tokenizer

    def __init__(
        self,
        data: DataT,
        config: TokenizerConfig,
        folders: Sequence[Path],
        progress: ProgressCallback = lambda what, done: None,
    ) -> None:
        super().__init__(data, folders, progress)
        self.config = config

    @cached_property
    def _trained(self) -> Path:
        """The cache's folder of the tokenizers trained on the training texts."""
        settings = self.config.model_dump(exclude=self.WITHOUT_EFFECT)
        return cached_folder(self._key("tokenizer", settings), self._train_tokenizers)

    @abstractmethod
    def _train_tokenizers(self, folder: Path) -> None:
        """Train tokenizers on the training texts and save them into folder."""


class SingleTokenizerCorpora(TokenizedCorpora[DataT, StoreT]):
    """Texts that are all cut by one tokenizer."""

    WITHOUT_EFFECT: ClassVar[set[str]] = {"dropout", "target_dropout", "shared"}
    DECISIVE: ClassVar[set[str]]  # keys of [data] that change what is stored

    def __init__(
        self,
        data: DataT,
        config: TokenizerConfig,
        folders: Sequence[Path],
        progress: ProgressCallback = lambda what, done: None,
        given: Tokenizer | None = None,
    ) -> None:
        """Take the given tokenizer, of a run or of the run that weights come from, or train one."""
        super().__init__(data, config, folders, progress)
        self.given = given

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the texts."""
        return self.given if self.given is not None else Tokenizer.load(self._trained / "text.json")

    def _train_tokenizers(self, folder: Path) -> None:
        texts = self._reported("training the tokenizer", self._train_texts())
        Tokenizer.train(texts, self.config).save(folder / "text.json")

    @abstractmethod
    def _train_texts(self) -> Iterable[str]:
        """Return the training texts, as the tokenizer learns from them."""

    @property
    def _settings(self) -> list[object]:
        return [self.data.model_dump(include=self.DECISIVE), not self.data.val]
