"""Self-critical training (Rennie et al. 2017): a model learns from the score of its own answers.

batch → K answers each, drawn at random → CIDEr-D against the references, less a baseline → advantage (B, K)
      → −advantage · log p of the drawn answers, by one pass over them

An answer that scores above the baseline becomes likelier, one below less likely: no loss stands between training and
what is scored. It starts from a model that was trained to foretell tokens (training.init). The baseline of one answer is

greedy  the greedy answer's score, K = 1. Draws of a model that is unsure score far below it, and to push all of them away
        is noise that makes the model less sure still, until it writes nonsense: so the batch's mean advantage is taken off
mean    the mean score of the four other answers drawn, K = 5 (Luo 2020): a third of the gradient's noise

Dropout is off in all of it, and tokens that are never drawn (the unknown word) take no part: the answers are those that the
model gives in use, and the pass finds them exactly as likely as the draw did, which the gradient of the expected reward asks
for. Else answers could be made less likely by making likelier what can never be drawn, and so never be punished.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from jumok.config import DecodingConfig
from jumok.decoding.engine import generate
from jumok.decoding.hypotheses import Hypothesis
from jumok.decoding.requests import Marks, Request
from jumok.evaluation.captions import CiderD
from jumok.nn.model import Decoder, StateT
from jumok.nn.precision import products
from jumok.tasks.losses import Loss, vocabulary_loss
from jumok.tasks.scheduled import TargetT

# B batch · T target · N real target positions

DRAWS = {"greedy": 1, "mean": 5}  # answers of each example, by baseline
MOST_PREPARED = 20_000  # examples whose references are kept ready
SEEDS = 2**31

References = Sequence[Sequence[int]]  # of one example, as token ids without the end


class SelfCritic:
    """What rewards answers, and the loss that follows from it."""

    def __init__(self, references: Iterable[References], marks: Marks) -> None:
        """Learn from the references of all training examples which n-grams are rare."""
        self.marks = marks
        self.cider = CiderD(self._ended(of_example) for of_example in references)
        self._prepare = lru_cache(maxsize=MOST_PREPARED)(self.cider.prepare)

    def _ended(self, references: References) -> tuple[tuple[int, ...], ...]:
        """Return references with the end token, which is rewarded, too: else answers would end anywhere ("… on a")."""
        return tuple((*reference, self.marks.end) for reference in references)

    def tokens(self, answer: Hypothesis) -> list[int]:
        """Return the tokens of an answer with its end; one that was cut has none."""
        return [*answer.tokens, self.marks.end] if answer.finished else answer.tokens

    def rewards(self, answers: Sequence[Hypothesis], references: Sequence[References]) -> list[float]:
        """Return the CIDEr-D of each answer against the references of its example."""
        return [
            self.cider.score(self.tokens(answer), self._prepare(self._ended(of_example)))
            for answer, of_example in zip(answers, references, strict=True)
        ]

    def loss(
        self,
        model: Decoder[TargetT, StateT],
        batch: TargetT,
        references: Sequence[References],
        *,
        baseline: str,
        longest: int,
    ) -> Loss:
        """Return the summed loss of answers drawn for a batch, of at most longest tokens, counted over their tokens."""
        training, rows, draws = model.training, len(batch.inputs), DRAWS[baseline]
        model.eval()
        seed = int(torch.randint(SEEDS, ()))  # by torch's generator: a resumed run and each worker draw as they must
        options = DecodingConfig(beam=1, max_length=longest, batch_size=rows, workers=1)
        drawn = self.answer(model, batch, options.changed({"sample": True, "seed": seed, "n_best": draws}))
        wanted = [of_example for of_example in references for _ in range(draws)]
        reward = torch.tensor(self.rewards(drawn, wanted)).view(rows, draws)
        if baseline == "greedy":
            compared = torch.tensor(self.rewards(self.answer(model, batch, options), references))[:, None]
            advantage = reward - compared
            advantage = advantage - advantage.mean()
        else:
            compared = (reward.sum(dim=1, keepdim=True) - reward) / (draws - 1)
            advantage = reward - compared
        own = with_targets(
            take_rows(batch, [row for row in range(rows) for _ in range(draws)]),
            [self.tokens(answer) for answer in drawn],
            self.marks,
        )
        mask = own.target_mask
        advantage = advantage.flatten().to(own.targets.device)
        total, nll = vocabulary_loss(
            model.features(own)[mask],
            model.project,
            own.targets[mask],
            weights=advantage[:, None].expand_as(mask)[mask],
            never=self.marks.never,
        )
        model.train(training)
        count = int(mask.sum())
        means = {"reward": reward} | ({"greedy_reward": compared} if baseline == "greedy" else {})
        return Loss(total, count, {"nll": nll} | {name: each.mean() * count for name, each in means.items()})

    def answer(self, model: Decoder[TargetT, StateT], batch: TargetT, options: DecodingConfig) -> list[Hypothesis]:
        """Return the n best answers to each example of a batch, those of an example side by side."""
        requests = [Request(row, 1) for row in range(len(batch.inputs))]
        with products("fp32"):  # as whoever uses the model searches
            found = generate(
                model, requests, collate=lambda rows: take_rows(batch, rows), options=options, marks=self.marks
            )
        return [answer for answers in found for answer in answers]


def take_rows(batch: TargetT, rows: Sequence[int]) -> TargetT:
    """Return the examples of a batch in some rows."""
    return _changed(batch, {name: value[list(rows)] for name, value in _tensors(batch).items()})


def with_targets(batch: TargetT, targets: Sequence[Sequence[int]], marks: Marks) -> TargetT:
    """Return a batch with other targets (B, T), their ends included."""
    device = batch.targets.device
    ids = pad_sequence([torch.tensor(row) for row in targets], batch_first=True, padding_value=marks.pad).to(device)
    lengths = torch.tensor([len(row) for row in targets], device=device)
    mask = torch.arange(ids.shape[1], device=device) < lengths[:, None]
    inputs = torch.cat([torch.full_like(ids[:, :1], marks.start), ids[:, :-1]], dim=1)
    return _changed(batch, {"inputs": inputs, "targets": ids, "target_mask": mask})


def _tensors(batch: Any) -> dict[str, Tensor]:
    """Return the tensors of a batch by name, a row for each example."""
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return {name: value for name, value in values.items() if value is not None}


def _changed(batch: TargetT, tensors: dict[str, Tensor]) -> TargetT:
    return cast(
        TargetT, replace(cast(Any, batch), **tensors)
    )  # batches are dataclasses, which their protocol cannot say
