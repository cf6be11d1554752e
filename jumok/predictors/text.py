"""What the predictors of running text share, be it written on or filled in: files of one's own to score."""

from pathlib import Path
from typing import TypeVar

from jumok.config import TextFile
from jumok.data.text.documents import TextStore
from jumok.predictors.base import ModelPredictor, ModelT
from jumok.tasks.language_modeling import LanguageModeling
from jumok.tasks.masked_language_modeling import MaskedLanguageModeling

TextTaskT = TypeVar("TextTaskT", bound=LanguageModeling | MaskedLanguageModeling)


class TextPredictor(ModelPredictor[TextTaskT, ModelT, TextStore]):
    """A predictor of running text."""

    def own_data(self, source: Path, target: Path | None = None) -> TextStore:
        """Return the text of a file of one's own."""
        return self.task.corpora.own_store(TextFile(file=str(source.absolute()), name=source.name))
