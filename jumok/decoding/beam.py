"""Beam search: the best few hypotheses of each sentence side by side.

logits (R, V), R = sentences × width → the best 2 × width continuations a sentence → width that go on, some that end

A sentence's step, as most toolkits (CTranslate2 among them) have it:
- Of all continuations of its rows, the 2 × width likeliest are candidates. A row ends in one way only, so at least
  width of them do not end, and those fill the beam again.
- Candidates that end, among the first width, become finished hypotheses.
- The search is over with width finished hypotheses, or at the longest length; then hypotheses still open count as they
  are, unfinished.
Rows compete by log-probability, since they are equally long; hypotheses by their normalised score (search.py).
"""

import torch
from torch import Tensor

from jumok.decoding.hypotheses import Choice, Rows, Step
from jumok.decoding.logits import likeliest

# N sentences · W width of the beam · R = N × W rows · V vocabulary · K tokens of a row · C candidates of a sentence

IMPOSSIBLE = float("-inf")  # total of a row that only keeps its place: the beam is not full

Candidate = tuple[int, int, float]  # the row it continues, its token and that token's log-probability


class Beam:
    """Choose for all sentences at once. Rows of a sentence stand side by side."""

    def __init__(self, width: int, *, end: int) -> None:
        self.rows_each = width
        self.end = end

    def begin(self, rows: Rows) -> None:
        """Let one row of each new sentence live: equal rows would fill the beam with copies."""
        rows.total[torch.arange(len(rows)) % self.rows_each != 0] = IMPOSSIBLE

    def advance(self, logits: Tensor, normaliser: Tensor, rows: Rows, words: Tensor | None = None) -> Step:
        """Choose the rows that go on from constrained logits (R, V), whose log-sum was normaliser (R,).

        words (V,) are the tokens that logits are of, where not of the whole vocabulary.
        """
        width = self.rows_each
        going: list[Candidate] = []
        closing: list[Candidate] = []
        # A few numbers a sentence: plain loops take less time than a tensor operation for every thought would.
        last = (rows.length[::width] + 1 >= rows.longest[::width]).tolist()
        finished = rows.ended[::width].tolist()
        for place, candidates in enumerate(self._candidates(logits, normaliser, rows, words)):
            alive = [candidate for total, candidate in candidates if total != IMPOSSIBLE]
            beam = [candidate for candidate in alive if candidate[1] != self.end][:width]
            ending = [candidate for candidate in alive[:width] if candidate[1] == self.end]
            finished[place] += len(ending)
            full = finished[place] >= width
            if not beam and not finished[place]:
                ending = [candidates[0][1]]  # never leave a sentence without any answer
            closing += ending
            if last[place] and not full:
                closing += beam  # as they are, unfinished
            if beam and not full and not last[place]:
                going += in_their_places(beam, width)
        rows.ended = torch.tensor(finished).repeat_interleave(width)
        return Step(going=_choice(going), closing=_choice(closing))

    def _candidates(
        self, logits: Tensor, normaliser: Tensor, rows: Rows, words: Tensor | None
    ) -> list[list[tuple[float, Candidate]]]:
        """Return the likeliest C continuations of each sentence with their totals, best first."""
        width = self.rows_each
        count = min(2 * width, logits.shape[1])
        values, tokens = likeliest(logits, count)
        tokens = tokens.cpu() if words is None else words[tokens.cpu()]
        log_probabilities = (values - normaliser[:, None]).cpu()  # (R, K)
        totals = (rows.total[:, None] + log_probabilities).view(-1, width * count)
        best, place = totals.topk(min(2 * width, width * count), dim=1)  # (N, C)
        parents = place // count + width * torch.arange(len(place))[:, None]
        columns = (
            best,
            parents,
            tokens.view(-1, width * count).gather(1, place),
            log_probabilities.view(-1, width * count).gather(1, place),
        )
        return [
            [(total, (parent, token, each)) for total, parent, token, each in zip(*sentence, strict=True)]
            for sentence in zip(*(column.tolist() for column in columns), strict=True)
        ]


def in_their_places(beam: list[Candidate], width: int) -> list[Candidate]:
    """Return width candidates: each stands where its row stood, if no better one does; what is left over fills in masked tokens.

    So a decoder has fewer rows to move. Places that none can fill repeat the first, as impossible rows.
    """
    places: list[Candidate | None] = [None] * width
    homeless = []
    for candidate in beam:
        place = candidate[0] % width
        if places[place] is None:
            places[place] = candidate
        else:
            homeless.append(candidate)
    spare = iter(homeless)
    parent, token, _ = beam[0]
    return [candidate if candidate is not None else next(spare, (parent, token, IMPOSSIBLE)) for candidate in places]


def _choice(candidates: list[Candidate]) -> Choice:
    parents, tokens, log_probabilities = zip(*candidates, strict=True) if candidates else ((), (), ())
    return Choice(
        torch.tensor(parents, dtype=torch.int64),
        torch.tensor(tokens, dtype=torch.int64),
        torch.tensor(log_probabilities, dtype=torch.float32),
    )
