"""Beam search: the best few hypotheses of each sentence side by side.

logits (R, V), R = sentences × width → each sentence's best 2 × width continuations → width that go on, some that end

A sentence's step, as most toolkits (CTranslate2 among them) have it:
- Of all continuations of its hypotheses, the 2 × width likeliest are candidates. A hypothesis ends in one way only, so
  at least width of them do not end, and those fill the beam again.
- Candidates that end, among the first width, become finished hypotheses.
- The search is over with width finished hypotheses, or at the longest length; then hypotheses still open count as they
  are, unfinished.
Open hypotheses compete by log-probability, since they are equally long; finished ones by their normalised score
(search.py).
"""

import torch
from torch import Tensor

from jumok.decoding.hypotheses import Chosen, Continuations, Hypotheses
from jumok.decoding.logits import likeliest

# N sentences · W width of the beam · R = N × W hypotheses · V columns of the logits · K likeliest tokens of a hypothesis
# C candidates of a sentence

IMPOSSIBLE = float("-inf")  # total of a hypothesis that only keeps a place: the beam is not full

Candidate = tuple[int, int, float]  # the hypothesis it continues, its token and that token's log-probability


class Beam:
    """Choose for all sentences at once. The hypotheses of a sentence stand side by side."""

    likeliest = True

    def __init__(self, width: int, *, end: int) -> None:
        self.width = width
        self.end = end

    def begin(self, hypotheses: Hypotheses) -> None:
        """Let one hypothesis of each new sentence live: equal ones would fill the beam with copies."""
        hypotheses.total[torch.arange(len(hypotheses)) % self.width != 0] = IMPOSSIBLE

    def advance(
        self, logits: Tensor, normaliser: Tensor, hypotheses: Hypotheses, shortlist: Tensor | None = None
    ) -> Chosen:
        """Choose the best continuations from constrained logits (R, V), whose log-sum was normaliser (R,).

        shortlist (V,) is the token of each column; None: columns are tokens.
        """
        width = self.width
        continuing: list[Candidate] = []
        ending: list[Candidate] = []
        # A few numbers per sentence: plain loops take less time than a tensor operation for each of these steps.
        last = (hypotheses.length[::width] + 1 >= hypotheses.longest[::width]).tolist()
        ended = hypotheses.ended[::width].tolist()
        for sentence, candidates in enumerate(self._candidates(logits, normaliser, hypotheses, shortlist)):
            possible = [candidate for total, candidate in candidates if total != IMPOSSIBLE]
            beam = [candidate for candidate in possible if candidate[1] != self.end][:width]
            complete = [candidate for candidate in possible[:width] if candidate[1] == self.end]
            ended[sentence] += len(complete)
            full = ended[sentence] >= width
            if not beam and not ended[sentence]:
                complete = [candidates[0][1]]  # never leave a sentence without any answer
            ending += complete
            if last[sentence] and not full:
                ending += beam  # as they are, unfinished
            if beam and not full and not last[sentence]:
                continuing += in_their_places(beam, width)
        hypotheses.ended = torch.tensor(ended).repeat_interleave(width)
        return Chosen(_continuations(continuing), _continuations(ending))

    def _candidates(
        self, logits: Tensor, normaliser: Tensor, hypotheses: Hypotheses, shortlist: Tensor | None
    ) -> list[list[tuple[float, Candidate]]]:
        """Return the likeliest C continuations of each sentence with their totals, best first."""
        width = self.width
        count = min(2 * width, logits.shape[1])
        values, tokens = likeliest(logits, count)
        tokens = tokens.cpu() if shortlist is None else shortlist[tokens.cpu()]
        log_probabilities = (values - normaliser[:, None]).cpu()  # (R, K)
        totals = (hypotheses.total[:, None] + log_probabilities).view(-1, width * count)
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
    """Return width candidates, each in the place of its hypothesis if no better one is there, the others in free places.

    So a decoder has fewer hypotheses to move. Places that none can fill repeat the first, as impossible ones.
    """
    places: list[Candidate | None] = [None] * width
    left_over = []
    for candidate in beam:
        place = candidate[0] % width
        if places[place] is None:
            places[place] = candidate
        else:
            left_over.append(candidate)
    spare = iter(left_over)
    parent, token, _ = beam[0]
    return [candidate if candidate is not None else next(spare, (parent, token, IMPOSSIBLE)) for candidate in places]


def _continuations(candidates: list[Candidate]) -> Continuations:
    parents, tokens, log_probabilities = zip(*candidates, strict=True) if candidates else ((), (), ())
    return Continuations(
        torch.tensor(parents, dtype=torch.int64),
        torch.tensor(tokens, dtype=torch.int64),
        torch.tensor(log_probabilities, dtype=torch.float32),
    )
