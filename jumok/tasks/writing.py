"""What every task that ends in text shares: the loss over its target tokens, and answers by a search.

training   batch with inputs, targets and their mask → model.features → vocabulary loss at real target positions
answering  inputs → model.encode → decoding engine → hypotheses → Answer
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.data.text.tokenizer import END, PAD, START, Tokenizer
from jumok.decoding.engine import generate
from jumok.decoding.hypotheses import Hypothesis
from jumok.decoding.requests import Marks, Request
from jumok.decoding.search import ObservedExtend
from jumok.errors import ConfigError
from jumok.inspection.observe import observe
from jumok.inspection.record import mean_over_heads
from jumok.nn.model import Decoder, Model, StateT
from jumok.tasks.base import StoreT, Task
from jumok.tasks.losses import Loss, vocabulary_loss
from jumok.tasks.scheduled import TargetT, sampled_logits, teacher_forcing_ratio
from jumok.tasks.self_critical import References, SelfCritic

# B batch · T target · N real target positions · R hypotheses · n tokens at once · S source · V vocabulary

MARKS = Marks(START, END, PAD)


DecoderT = TypeVar("DecoderT", bound=Decoder[Any, Any])
InputT = TypeVar("InputT")


@dataclass(frozen=True)
class Answer:
    """A text that was written, and how likely the model finds it."""

    text: str
    score: float
    tokens: list[str]
    ids: list[int]
    log_probability: float
    finished: bool  # False where it was cut at the longest length allowed

    @property
    def headline(self) -> str:
        """The answer in one line."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as `jumok look --json` has it."""
        return {"text": self.text}


def token_loss(model: Model[Any], features: Tensor, targets: Tensor, *, smoothing: float) -> Loss:
    """Return the summed loss of targets (N,) given features (N, D)."""
    total, plain = vocabulary_loss(features, model.project, targets, smoothing=smoothing)
    return Loss(total, len(features), {"nll": plain})


class WritingTask(Task[DecoderT, TargetT, StoreT], Generic[DecoderT, TargetT, StoreT, InputT]):
    """A task whose answers are texts: an input goes in, a sequence of tokens comes out."""

    sections: ClassVar[tuple[str, ...]] = ("tokenizer", "decoding")
    unit = "target tokens"
    marks: ClassVar[Marks] = MARKS
    rewarded = True

    @property
    @abstractmethod
    def target_tokenizer(self) -> Tokenizer:
        """What cuts answers into tokens."""

    @abstractmethod
    def collate_inputs(self, model: DecoderT) -> Callable[[Sequence[InputT]], TargetT]:
        """Return the function that makes an encoder's batch of inputs, on the model's device."""

    @abstractmethod
    def input_length(self, item: InputT) -> int:
        """Return the length that bounds an answer where nobody says how long it may be."""

    @abstractmethod
    def training_references(self) -> Iterable[References]:
        """Yield the references of every training example as token ids: which n-grams are rare says what a reward weighs."""

    def references(self, batch: TargetT) -> Sequence[References]:
        """Return the answers that each example of a training batch is rewarded by: its own target."""
        rows = zip(batch.targets, batch.target_mask, strict=True)
        return [[row[mask][:-1].tolist()] for row, mask in rows]  # without the end

    @cached_property
    def critic(self) -> SelfCritic:
        """What rewards answers in self-critical training."""
        return SelfCritic(self.training_references(), self.marks)

    def shortlists(self, items: Sequence[InputT], each: int) -> list[Tensor]:
        """Return the target tokens worth trying for each input."""
        raise ConfigError(f"decoding.shortlist needs source tokens, and {self.recipe.task} has none; set 0")

    def check_fits(self, model: DecoderT) -> None:
        """Refuse what cannot work before training starts."""
        super().check_fits(model)
        training = self.recipe.training
        sampling = training.teacher_forcing < 1.0 or training.teacher_forcing_decay > 0.0
        if sampling and training.self_critical != "none":
            raise ConfigError(
                "training.self_critical learns from whole answers of the model, without teacher forcing; "
                "set teacher_forcing = 1 and teacher_forcing_decay = 0"
            )
        if sampling and not model.differentiable_steps:
            raise ConfigError(
                f"training.teacher_forcing = {training.teacher_forcing:g} with a decay of "
                f"{training.teacher_forcing_decay:g} feeds a model its own tokens, step by step, and "
                f"'{self.recipe.model.name}' cannot be trained through its steps; set teacher_forcing = 1 and "
                "teacher_forcing_decay = 0, or model.name = 'seq2seq'"
            )

    def loss(self, model: DecoderT, batch: TargetT, step: int) -> Loss:
        """Return the summed loss over the batch's target tokens; smoothed, or self-critical, in training only."""
        training = self.recipe.training
        if training.self_critical != "none" and model.training:
            longest = self.recipe.decoding.max_length or 2 * batch.targets.shape[1] + 10
            return self.critic.loss(
                model, batch, self.references(batch), baseline=training.self_critical, longest=longest
            )
        smoothing = training.label_smoothing if model.training else 0.0
        ratio = teacher_forcing_ratio(step, training) if model.training else 1.0
        targets = batch.targets[batch.target_mask]  # (N,)
        if ratio == 1.0:
            return token_loss(model, model.features(batch)[batch.target_mask], targets, smoothing=smoothing)
        logits = sampled_logits(model, batch, ratio)[batch.target_mask].float()  # (N, V)
        total = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
        plain = F.cross_entropy(logits.detach(), targets, reduction="sum")
        return Loss(total, len(targets), {"nll": plain})

    def answer(
        self,
        model: DecoderT,
        items: Sequence[InputT],
        *,
        options: DecodingConfig,
        prefixes: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Answer]]:
        """Return the answers to each input, best first; each begins with its prefix where there are any."""
        refuse_guidance(options)
        if options.shortlist and not model.restrictable:
            raise ConfigError(
                f"decoding.shortlist: '{self.recipe.model.name}' always tries its whole vocabulary; set 0"
            )
        shortlists = self.shortlists(items, options.shortlist) if options.shortlist else [None] * len(items)
        forced = self.prefix_ids(prefixes) if prefixes else [[]] * len(items)
        found = generate(
            model,
            [
                Request(item, self.input_length(item), prefix, shortlist)
                for item, prefix, shortlist in zip(items, forced, shortlists, strict=True)
            ],
            collate=self.collate_inputs(model),
            options=options,
            marks=self.marks,
            progress=progress,
            observed_extend=observed_extend(model) if options.coverage_penalty else None,
        )
        return [[self.write(hypothesis) for hypothesis in hypotheses] for hypotheses in found]

    def prefix_ids(self, prefixes: Sequence[str]) -> list[list[int]]:
        """Return the tokens of beginnings of answers."""
        return self.target_tokenizer.encode(list(prefixes))

    def write(self, hypothesis: Hypothesis) -> Answer:
        """Return a hypothesis as text."""
        return self.written(
            hypothesis.tokens,
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            finished=hypothesis.finished,
        )

    def written(self, ids: list[int], *, score: float, log_probability: float, finished: bool) -> Answer:
        """Return the answer that ids are."""
        tokenizer = self.target_tokenizer
        return Answer(tokenizer.decode(ids), score, tokenizer.labels(ids), ids, log_probability, finished)


def refuse_guidance(options: DecodingConfig) -> None:
    """Refuse guidance where text is written: only a drawer has learnt what it does without its text."""
    if options.guidance != 1.0:
        raise ConfigError(f"decoding.guidance = {options.guidance:g} is for drawing (text-to-image); leave it out here")


def observed_extend(model: Decoder[Any, StateT]) -> ObservedExtend[StateT] | None:
    """Return an extend that also tells where the model looked in the source: (R, n, S), the mean of layers and heads."""
    if not model.attends_to_source:
        return None

    def extend(tokens: Tensor, state: StateT) -> tuple[Tensor, StateT, Tensor]:
        with observe(model) as record:
            logits, state = model.extend(tokens, state)
        return logits, state, mean_over_heads(record.of_kind("cross") or record.of_kind("recurrent"))

    return extend


def perplexity(loss: float) -> float:
    """Return e to the mean loss of a token, held below what a float can say."""
    return float(np.exp(min(loss, 50.0)))
