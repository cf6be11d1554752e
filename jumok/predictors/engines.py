"""What turns source ids into answers, for a Translator: jumok's own search, or another engine's.

Translator → TranslationEngine.search, stream, mean_loss → answers; what an engine cannot do, it refuses in a sentence
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from jumok.config import DecodingConfig
from jumok.data.text.pair_store import PairStore
from jumok.decoding.engine import stream
from jumok.decoding.requests import Request
from jumok.nn.batch import PairBatch
from jumok.nn.model import Decoder
from jumok.predictors.answering import Answering
from jumok.predictors.searching import answer_all
from jumok.tasks.pairs import Ids
from jumok.tasks.translation import Translation
from jumok.tasks.writing import MARKS, Answer, refuse_guidance

PairDecoder = Decoder[PairBatch, Any]
Prefixes = Sequence[str] | None  # what each answer begins with
Progress = Callable[[int], None] | None  # told how many more sentences are done


class TranslationEngine(ABC):
    """What searches for translations of token ids."""

    has_model: ClassVar[bool]  # whether there is a model to look into, and to export

    @property
    @abstractmethod
    def model(self) -> PairDecoder:
        """The model whose layers can be observed; an engine that has none refuses."""

    @property
    @abstractmethod
    def limit(self) -> int:
        """The longest sequence that the engine takes; 0: any."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What tables and pages call it; "": it is jumok's own."""

    @property
    @abstractmethod
    def parameters(self) -> int:
        """How many parameters the model has."""

    @abstractmethod
    def search(
        self, sources: Sequence[Ids], *, options: DecodingConfig, prefixes: Prefixes = None, progress: Progress = None
    ) -> list[list[Answer]]:
        """Return the translations of each source's ids, none of them empty, best first."""

    @abstractmethod
    def stream(self, source: Ids, *, options: DecodingConfig, prefix: Sequence[int] = ()) -> Iterator[int]:
        """Yield the ids of one translation as they are chosen (greedy, or sampled)."""

    @abstractmethod
    def mean_loss(self, store: PairStore) -> float:
        """Return the mean −log p of a store's target tokens."""


class JumokEngine(TranslationEngine):
    """Search with a model of jumok."""

    has_model = True

    def __init__(self, task: Translation, model: PairDecoder) -> None:
        self.task, self._model = task, model
        self.answering = Answering()

    @property
    def model(self) -> PairDecoder:
        """The model."""
        return self._model

    @property
    def limit(self) -> int:
        """The longest sequence that the model takes; 0: any."""
        return self.model.limit

    @property
    def name(self) -> str:
        """Nothing: it is jumok's own."""
        return ""

    @property
    def parameters(self) -> int:
        """How many parameters the model has."""
        return self.model.parameter_count

    def search(
        self, sources: Sequence[Ids], *, options: DecodingConfig, prefixes: Prefixes = None, progress: Progress = None
    ) -> list[list[Answer]]:
        """Return the translations of each source's ids, best first; processes share them where that is faster."""

        def answer(places: Sequence[int], told: Progress) -> list[list[Answer]]:
            own = [prefixes[place] for place in places] if prefixes else None
            chosen = [sources[place] for place in places]
            return self.task.answer(self.model, chosen, options=options, prefixes=own, progress=told)

        lengths = [len(ids) for ids in sources]
        with self.answering():
            return answer_all(answer, lengths, model=self.model, options=options, progress=progress)

    def stream(self, source: Ids, *, options: DecodingConfig, prefix: Sequence[int] = ()) -> Iterator[int]:
        """Yield the ids of one translation as they are chosen."""
        refuse_guidance(options)
        tokens = stream(
            self.model,
            Request(source, self.task.input_length(source), prefix=prefix),
            collate=self.task.collate_inputs(self.model),
            options=options,
            marks=MARKS,
        )
        return (token for token, _ in self.answering.each(tokens))

    def mean_loss(self, store: PairStore) -> float:
        """Return the mean −log p of a store's target tokens."""
        return self.task.mean_loss(self.model, store)
