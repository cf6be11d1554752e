"""The books of a search: hypotheses in the making, what a strategy chose, and answers.

Rows (all hypotheses so far) → Choice (which go on, with which token) → Rows … → Hypothesis
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

# R rows · T room for tokens · P longest prefix · S source · C choices


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """An answer: its tokens without start and end, and how likely the model finds them."""

    tokens: list[int]
    finished: bool  # False: cut at the longest length
    log_probability: float  # of all tokens, the end included
    score: float  # log_probability ÷ length ** length_penalty, plus the coverage penalty: what ranks
    token_log_probabilities: list[float]  # one more than tokens when finished: the end's


class Choice(NamedTuple):
    """Rows continued by one token each, with its log-probability: all (C,), on the CPU."""

    parents: Tensor
    tokens: Tensor
    log_probabilities: Tensor

    def keep(self, chosen: Tensor) -> "Choice":
        """Return the choices where chosen (C,) is true."""
        return Choice(*(part[chosen] for part in self))

    def unmoved(self, rows: int) -> bool:
        """Return whether each of so many rows goes on where it stands."""
        return len(self.parents) == rows and torch.equal(self.parents, torch.arange(rows))

    def in_place(self, rows: int, width: int) -> "Choice":
        """Return the same choices, ordered so that as many sentences as can stand where they stood among rows.

        Choices of one sentence stay side by side, width of them. A sentence from the end takes the place of one that
        has left.
        """
        if len(self.parents) == rows or len(self.parents) % width or not len(self.parents):
            return self
        parents = self.parents.view(-1, width)
        block = parents[:, 0] // width
        if not bool((parents // width == block[:, None]).all()) or len(torch.unique(block)) < len(block):
            return self  # some rows of a sentence have left: it has no block of its own
        count = len(block)
        target = torch.full((rows // width,), -1)
        target[block] = torch.arange(count)  # the choices that come from each block
        order = target[:count].clone()
        order[order < 0] = target[count:][target[count:] >= 0]
        whole = (order[:, None] * width + torch.arange(width)).flatten()
        return Choice(*(part[whole] for part in self))


class Step(NamedTuple):
    """A strategy's answer: the rows of the next step, and hypotheses that are complete or out of room."""

    going: Choice
    closing: Choice


@dataclass
class Rows:
    """The books of hypotheses in the making: every field has a row each."""

    sentence: Tensor  # (R,) its place in the call
    longest: Tensor  # (R,) most tokens it may have, the end included
    length: Tensor  # (R,) tokens so far
    total: Tensor  # (R,) log-probability so far
    ended: Tensor  # (R,) how many hypotheses of its sentence have ended
    tokens: Tensor  # (R, T)
    log_probabilities: Tensor  # (R, T)
    prefix: Tensor  # (R, P)
    prefix_length: Tensor  # (R,)
    noise: Tensor  # (R, T) uniform random numbers when sampling, else (R, 0)
    covered: Tensor  # (R, S) attention that each source position had so far, (R, 0) when nobody asks
    source: Tensor  # (R, S) which source positions are real

    def __len__(self) -> int:
        return len(self.sentence)

    def select(self, rows: Tensor) -> "Rows":
        """Return rows (R',): reordered, repeated or left out."""
        return Rows(*(getattr(self, field.name).index_select(0, rows) for field in fields(self)))

    def join(self, other: "Rows") -> "Rows":
        """Return both, other's rows last, with zeros where the other is wider."""
        joined = []
        for field in fields(self):
            ours, theirs = getattr(self, field.name), getattr(other, field.name)
            if ours.dim() == 2:
                width = max(ours.shape[1], theirs.shape[1])
                ours, theirs = (F.pad(part, (0, width - part.shape[1])) for part in (ours, theirs))
            joined.append(torch.cat([ours, theirs]))
        return Rows(*joined)

    def follow(self, choice: Choice) -> "Rows":
        """Return the rows that choice continues, each with its new token."""
        rows = self if choice.unmoved(len(self)) else self.select(choice.parents)
        rows.tokens.scatter_(1, rows.length[:, None], choice.tokens[:, None])
        rows.log_probabilities.scatter_(1, rows.length[:, None], choice.log_probabilities[:, None])
        rows.length = rows.length + 1
        rows.total = rows.total + choice.log_probabilities
        return rows
