"""What tasks on texts of one side share: one tokenizer, trained on the data or given by a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from jumok.config.recipe import Recipe
from jumok.data.corpora import ProgressCallback
from jumok.data.text.tokenized import SingleTokenizerCorpora
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError
from jumok.tasks.base import BatchT, ModelT, StoreT, Task, refuse_batch_size


class TextTask(Task[ModelT, BatchT, StoreT]):
    """A task on texts that one tokenizer reads."""

    sections: ClassVar[tuple[str, ...]] = ("tokenizer",)
    tokenizer_names: ClassVar[tuple[str, ...]] = ("text",)
    Corpora: ClassVar[type[SingleTokenizerCorpora[Any, Any]]]
    subword_dropout: ClassVar[bool] = False  # whether its texts may be cut anew every epoch
    corpora: SingleTokenizerCorpora[Any, StoreT]

    @classmethod
    def open(
        cls,
        recipe: Recipe,
        folders: Sequence[Path],
        *,
        tokenizers: Mapping[str, Tokenizer] | None = None,
        progress: ProgressCallback = lambda what, done: None,
    ) -> Self:
        """Return the task of a recipe; its tokenizer is trained where none is given, its data read when needed."""
        assert isinstance(recipe.data, cls.Data)
        refuse_batch_size(recipe)
        tokenizer = recipe.tokenizer
        if not tokenizer.shared or tokenizer.target_dropout:
            raise ConfigError(
                "tokenizer.shared = false and target_dropout are for translation; take them out of [tokenizer]"
            )
        if tokenizer.dropout and not cls.subword_dropout:
            raise ConfigError(
                "tokenizer.dropout is for translation and text-classification; take it out of [tokenizer]"
            )
        given = None if tokenizers is None else tokenizers["text"]
        return cls(recipe, cls.Corpora(recipe.data, tokenizer, folders, progress, given))

    @property
    def tokenizer(self) -> Tokenizer:
        """What cuts texts into tokens."""
        return self.corpora.tokenizer

    @property
    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizers by name, as a run keeps them."""
        return {"text": self.tokenizer}
