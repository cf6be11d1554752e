"""The hypotheses of a search: those that are open, how they are continued, and finished answers.

Hypotheses (all that are open) → Continuations (which of them go on, by which token) → Hypotheses … → Hypothesis
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from jumok.nn.model import OpenHypotheses

# N sentences · R hypotheses · T room for tokens · P longest prefix · S source · C continuations


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """An answer: its tokens without start and end, and how likely the model finds them."""

    tokens: list[int]
    finished: bool  # False: cut at the longest length
    log_probability: float  # of all tokens, the end included
    score: float  # log_probability ÷ length ** length_penalty, plus the coverage penalty: what ranks
    token_log_probabilities: list[float]  # one more than tokens when finished: the end's


class Continuations(NamedTuple):
    """Hypotheses continued by one token each, with its log-probability: all (C,), on the CPU."""

    parents: Tensor  # which hypotheses they continue
    tokens: Tensor
    log_probabilities: Tensor

    def keep(self, chosen: Tensor) -> "Continuations":
        """Return the continuations where chosen (C,) is true."""
        return Continuations(*(part[chosen] for part in self))

    def unmoved(self, count: int) -> bool:
        """Return whether each of so many hypotheses is continued once, in its own place."""
        return len(self.parents) == count and torch.equal(self.parents, torch.arange(count))

    def in_place(self, count: int, width: int) -> "Continuations":
        """Return the continuations of count hypotheses, ordered so that most sentences stay in their places.

        The width continuations of a sentence stay side by side. A sentence from the end takes the place of one that
        has left.
        """
        if len(self.parents) == count or len(self.parents) % width or not len(self.parents):
            return self
        parents = self.parents.view(-1, width)
        block = parents[:, 0] // width
        if not bool((parents // width == block[:, None]).all()) or len(torch.unique(block)) < len(block):
            return self  # some hypotheses of a sentence have left: it has no block of its own
        kept = len(block)
        target = torch.full((count // width,), -1)
        target[block] = torch.arange(kept)  # the continuations that come from each block
        order = target[:kept].clone()
        order[order < 0] = target[kept:][target[kept:] >= 0]
        places = (order[:, None] * width + torch.arange(width)).flatten()
        return Continuations(*(part[places] for part in self))


class Chosen(NamedTuple):
    """What a strategy chose: the hypotheses of the next step, and those that end or have no room left."""

    continuing: Continuations
    ending: Continuations


@dataclass
class Hypotheses:
    """All open hypotheses of a search, those of a sentence side by side: each field has a row for every one."""

    sentence: Tensor  # (R,) the id of its request
    next: Tensor  # (R,) its token chosen last, not yet read by the decoder
    length: Tensor  # (R,) tokens so far, next included
    longest: Tensor  # (R,) most tokens it may have, the end included
    total: Tensor  # (R,) log-probability of its tokens
    ended: Tensor  # (R,) how many hypotheses of its sentence have ended
    tokens: Tensor  # (R, T)
    log_probabilities: Tensor  # (R, T) of each token
    prefix: Tensor  # (R, P) tokens that it must begin with
    prefix_length: Tensor  # (R,)
    noise: Tensor  # (R, T) uniform random numbers when sampling, else (R, 0)
    covered: Tensor  # (R, S) attention that each source position had so far, (R, 0) without a coverage penalty
    source: Tensor  # (R, S) which source positions are real, (R, 0) without a coverage penalty

    @classmethod
    def empty(
        cls,
        ids: Sequence[int],
        *,
        start: int,
        longest: Sequence[int],
        prefixes: Sequence[Sequence[int]],
        source: Tensor,
    ) -> "Hypotheses":
        """Return a hypothesis without tokens for each request."""
        count, room = len(ids), max(longest)
        return cls(
            sentence=torch.tensor(ids),
            next=torch.full((count,), start),
            length=torch.zeros(count, dtype=torch.int64),
            longest=torch.tensor(longest),
            total=torch.zeros(count),
            ended=torch.zeros(count, dtype=torch.int64),
            tokens=torch.zeros(count, room, dtype=torch.int64),
            log_probabilities=torch.zeros(count, room),
            prefix=torch.nn.utils.rnn.pad_sequence(
                [torch.tensor(prefix, dtype=torch.int64) for prefix in prefixes], batch_first=True
            ),
            prefix_length=torch.tensor([len(prefix) for prefix in prefixes]),
            noise=torch.zeros(count, 0),
            covered=torch.zeros(source.shape),
            source=source,
        )

    def __len__(self) -> int:
        return len(self.sentence)

    def select(self, rows: Tensor) -> "Hypotheses":
        """Return hypotheses rows (R',): reordered, repeated or left out."""
        return Hypotheses(*(getattr(self, field.name).index_select(0, rows) for field in fields(self)))

    def join(self, other: "Hypotheses") -> "Hypotheses":
        """Return both, other's last, with zeros where the other is wider."""
        joined = []
        for field in fields(self):
            ours, theirs = getattr(self, field.name), getattr(other, field.name)
            if ours.dim() == 2:
                width = max(ours.shape[1], theirs.shape[1])
                ours, theirs = (F.pad(part, (0, width - part.shape[1])) for part in (ours, theirs))
            joined.append(torch.cat([ours, theirs]))
        return Hypotheses(*joined)

    def given(self, width: int) -> OpenHypotheses:
        """Return the fields that a decoder writes into which searches by itself; each sentence has width hypotheses."""
        return OpenHypotheses(
            self.next, self.length, self.total, self.tokens, self.log_probabilities,
            longest=self.longest[::width].contiguous(), ended=self.ended[::width].contiguous(),
        )  # fmt: skip

    def taken_back(self, found: OpenHypotheses, sentences: Tensor, width: int) -> "Hypotheses":
        """Return the hypotheses that a decoder found, of sentences (N',) by their former places."""
        rows = self
        if len(found.next) < len(self):
            rows = self.select((sentences[:, None] * width + torch.arange(width)).flatten())
        rows.next, rows.length, rows.total = found.next, found.length, found.total
        rows.tokens, rows.log_probabilities = found.tokens, found.log_probabilities
        rows.ended = found.ended.repeat_interleave(width)
        return rows

    def append(self, continuations: Continuations) -> "Hypotheses":
        """Return the hypotheses themselves, each continued by the token in its place."""
        self.next = continuations.tokens
        self.tokens.scatter_(1, self.length[:, None], continuations.tokens[:, None])
        self.log_probabilities.scatter_(1, self.length[:, None], continuations.log_probabilities[:, None])
        self.length = self.length + 1
        self.total = self.total + continuations.log_probabilities
        return self

    def follow(self, continuations: Continuations) -> "Hypotheses":
        """Return the parents of continuations, moved and repeated as these have them, each with its new token."""
        return self.select(continuations.parents).append(continuations)
