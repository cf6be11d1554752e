"""What a hypothesis may not write next: forbidden tokens get −∞ before a strategy chooses.

logits (R, V), the hypotheses' tokens → the same logits, changed in place

Probabilities are taken before this, so a hypothesis' score is what the model itself gives its tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from jumok.decoding.hypotheses import Hypotheses
from jumok.decoding.requests import Marks

# R hypotheses · V vocabulary · K tokens of a shortlist · T tokens so far · W windows · n size of an n-gram

FORBIDDEN = float("-inf")


def forbid(logits: Tensor, columns: Sequence[int]) -> None:
    """Forbid columns of logits (R, V) to every hypothesis."""
    for column in columns:
        logits[:, column] = FORBIDDEN


def forbid_early_end(logits: Tensor, length: Tensor, *, end: int, minimum: int) -> None:
    """Forbid the column of the end to hypotheses whose length (R,) is below the minimum."""
    early = length < minimum
    if early.any():
        logits[early.to(logits.device), end] = FORBIDDEN


def forbid_repeats(logits: Tensor, history: Tensor, *, length: Tensor, size: int) -> None:
    """Forbid tokens that would repeat an n-gram of this size in a hypothesis' history (R, T) of length (R,)."""
    longest = int(length.max())
    if longest < size:
        return
    history, length = history[:, :longest].to(logits.device), length.to(logits.device)
    windows = history.unfold(1, size, 1)  # (R, W, n)
    places = length[:, None] + torch.arange(1 - size, 0, device=logits.device)
    latest = history.gather(1, places.clamp(min=0))  # (R, n - 1): what the next token completes
    complete = torch.arange(size, longest + 1, device=logits.device) <= length[:, None]  # (R, W)
    repeats = complete & (windows[..., :-1] == latest[:, None]).all(dim=2)
    # Adding 0 or −∞ lets windows that share their last token meet in one place without a race.
    logits.scatter_add_(1, windows[..., -1], logits.new_zeros(repeats.shape).masked_fill_(repeats, FORBIDDEN))


def penalise_repeats(logits: Tensor, history: Tensor, *, length: Tensor, penalty: float) -> None:
    """Make tokens of a history (R, T) of length (R,) less likely: positive logits ÷ penalty, negative × it."""
    longest = int(length.max())
    if not longest:
        return
    history, length = history[:, :longest].to(logits.device), length.to(logits.device)
    # Places behind a hypothesis' end point to its first token, which is penalised anyway; empty ones stay as they are.
    used = torch.arange(longest, device=logits.device) < length[:, None]
    tokens = torch.where(used, history, history[:, :1])
    values = logits.gather(1, tokens)
    changed = torch.where(values > 0, values / penalty, values * penalty)
    logits.scatter_(1, tokens, torch.where(length[:, None] > 0, changed, values))


def force(logits: Tensor, rows: Tensor, *, columns: Tensor, values: Tensor) -> None:
    """Leave rows (F,) of logits nothing but one column each (F,), which keeps its value (F,)."""
    logits[rows] = FORBIDDEN
    logits[rows, columns] = values


@dataclass(frozen=True)
class Constraints:
    """All rules of a search, in the order in which they outrank each other."""

    marks: Marks
    min_length: int
    no_repeat_ngram: int
    repetition_penalty: float = 1.0

    def never(self, shortlist: Tensor | None) -> list[int]:
        """Return the columns of tokens that are never written, of a shortlist (K,) or of the whole vocabulary."""
        if shortlist is None:
            return self.marks.never
        return torch.isin(shortlist, torch.tensor(self.marks.never)).nonzero()[:, 0].tolist()

    @property
    def none(self) -> bool:
        """Whether hypotheses are free, once they have their prefixes, to write anything but marks."""
        return not self.min_length and not self.no_repeat_ngram and self.repetition_penalty == 1.0

    def apply(self, logits: Tensor, hypotheses: Hypotheses, shortlist: Tensor | None = None) -> None:
        """Forbid in logits (R, V) what hypotheses may not write next; a prefix outranks every other rule.

        shortlist (V,) is the token of each column; None: columns are tokens.
        """
        if shortlist is not None:
            self._apply_to_shortlist(logits, hypotheses, shortlist)
            return
        forced, end, length = None, self.marks.end, hypotheses.length
        if hypotheses.prefix.shape[1]:  # else nobody has a prefix
            forced = (length < hypotheses.prefix_length).nonzero()[:, 0]
            tokens = hypotheses.prefix[forced, length[forced]].to(logits.device)
            forced = forced.to(logits.device)
            values = logits[forced, tokens]
        ending = logits[:, end].clone() if self.no_repeat_ngram else None

        if self.repetition_penalty > 1.0:
            penalise_repeats(logits, hypotheses.tokens, length=length, penalty=self.repetition_penalty)
        forbid(logits, self.marks.never)
        if self.min_length:
            forbid_early_end(logits, length, end=end, minimum=self.min_length)
        if ending is not None:
            forbid_repeats(logits, hypotheses.tokens, length=length, size=self.no_repeat_ngram)
            # A hypothesis with nothing left to write may end, however short it is.
            stuck = logits.amax(dim=1) == FORBIDDEN
            logits[:, end] = torch.where(stuck, ending, logits[:, end])
        if forced is not None and len(forced):
            force(logits, forced, columns=tokens, values=values)

    def _apply_to_shortlist(self, logits: Tensor, hypotheses: Hypotheses, shortlist: Tensor) -> None:
        """Do the same with logits (R, K) of a shortlist (K,), which comes without rules about repetitions."""
        assert not self.no_repeat_ngram
        assert self.repetition_penalty == 1.0
        length = hypotheses.length
        forced = (length < hypotheses.prefix_length).nonzero()[:, 0]
        columns = torch.searchsorted(shortlist, hypotheses.prefix[forced, length[forced]]).to(logits.device)
        forced = forced.to(logits.device)
        values = logits[forced, columns]
        forbid(logits, self.never(shortlist))
        if self.min_length:
            end = int(torch.searchsorted(shortlist, self.marks.end))
            forbid_early_end(logits, length, end=end, minimum=self.min_length)
        if len(forced):
            force(logits, forced, columns=columns, values=values)
