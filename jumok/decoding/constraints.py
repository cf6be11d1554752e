"""What a hypothesis may not write next: forbidden tokens get −∞ before a strategy chooses.

logits (R, V), rows' history → the same logits, changed in place

Probabilities are taken before this, so a hypothesis' score is what the model itself gives its tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from jumok.decoding.hypotheses import Rows

# R rows · V vocabulary · T tokens written · W windows · n size of an n-gram

FORBIDDEN = float("-inf")


def forbid(logits: Tensor, tokens: Sequence[int]) -> None:
    """Forbid tokens in every row of logits (R, V)."""
    for token in tokens:
        logits[:, token] = FORBIDDEN


def forbid_early_end(logits: Tensor, length: Tensor, *, end: int, minimum: int) -> None:
    """Forbid the end in rows whose length (R,) is below the minimum."""
    early = length < minimum
    if early.any():
        logits[early.to(logits.device), end] = FORBIDDEN


def forbid_repeats(logits: Tensor, history: Tensor, *, length: Tensor, size: int) -> None:
    """Forbid tokens that would repeat an n-gram of this size in a row's history (R, T) of length (R,)."""
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
    """Make tokens of a row's history (R, T) of length (R,) less likely: positive logits ÷ penalty, negative × it."""
    longest = int(length.max())
    if not longest:
        return
    history, length = history[:, :longest].to(logits.device), length.to(logits.device)
    # Places behind a row's end point to its first token, which it has written anyway; empty rows stay as they are.
    written = torch.arange(longest, device=logits.device) < length[:, None]
    tokens = torch.where(written, history, history[:, :1])
    values = logits.gather(1, tokens)
    changed = torch.where(values > 0, values / penalty, values * penalty)
    logits.scatter_(1, tokens, torch.where(length[:, None] > 0, changed, values))


def force(logits: Tensor, rows: Tensor, *, tokens: Tensor, values: Tensor) -> None:
    """Leave rows (F,) of logits nothing but their tokens (F,), which keep these values (F,)."""
    logits[rows] = FORBIDDEN
    logits[rows, tokens] = values


@dataclass(frozen=True)
class Constraints:
    """All rules of one call, in the order in which they outrank each other."""

    start: int
    end: int
    pad: int
    min_length: int
    no_repeat_ngram: int
    repetition_penalty: float = 1.0

    @property
    def never(self) -> list[int]:
        """Tokens that nobody may write; some models start with their end token."""
        return sorted({self.start, self.pad} - {self.end})

    def never_among(self, words: Tensor | None) -> list[int]:
        """Return where those tokens stand among words (K,), among all where None."""
        if words is None:
            return self.never
        return torch.isin(words, torch.tensor(self.never)).nonzero()[:, 0].tolist()

    @property
    def plain(self) -> bool:
        """Whether rows may write whatever they like else, once their prefixes are written."""
        return not self.min_length and not self.no_repeat_ngram and self.repetition_penalty == 1.0

    def apply(self, logits: Tensor, rows: Rows, words: Tensor | None = None) -> None:
        """Forbid in logits (R, V) what rows may not write next; a prefix outranks every other rule.

        words (V,) are the tokens that logits are of, in order, where not of the whole vocabulary.
        """
        if words is not None:
            self._among(logits, rows, words)
            return
        forced = None
        if rows.prefix.shape[1]:  # else nobody has a prefix
            forced = (rows.length < rows.prefix_length).nonzero()[:, 0]
            tokens = rows.prefix[forced, rows.length[forced]].to(logits.device)
            forced = forced.to(logits.device)
            values = logits[forced, tokens]
        ending = logits[:, self.end].clone() if self.no_repeat_ngram else None

        if self.repetition_penalty > 1.0:
            penalise_repeats(logits, rows.tokens, length=rows.length, penalty=self.repetition_penalty)
        forbid(logits, self.never)
        if self.min_length:
            forbid_early_end(logits, rows.length, end=self.end, minimum=self.min_length)
        if ending is not None:
            forbid_repeats(logits, rows.tokens, length=rows.length, size=self.no_repeat_ngram)
            # A row with nothing left to write may end, however short it is.
            stuck = logits.amax(dim=1) == FORBIDDEN
            logits[:, self.end] = torch.where(stuck, ending, logits[:, self.end])
        if forced is not None and len(forced):
            force(logits, forced, tokens=tokens, values=values)

    def _among(self, logits: Tensor, rows: Rows, words: Tensor) -> None:
        """The same for logits (R, K) of words (K,), where nobody asks for anything about repetitions."""
        assert not self.no_repeat_ngram
        assert self.repetition_penalty == 1.0
        forced = (rows.length < rows.prefix_length).nonzero()[:, 0]
        places = torch.searchsorted(words, rows.prefix[forced, rows.length[forced]]).to(logits.device)
        forced = forced.to(logits.device)
        values = logits[forced, places]
        forbid(logits, self.never_among(words))
        if self.min_length:
            end = int(torch.searchsorted(words, self.end))
            forbid_early_end(logits, rows.length, end=end, minimum=self.min_length)
        if len(forced):
            force(logits, forced, tokens=places, values=values)
