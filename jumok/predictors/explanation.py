"""An answer explained: where the model looked, how sure it was, what else it might have said, and what each head was worth.

Translator.explain → Explanation (tokens) → in_words() → Explanation (words)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from jumok.data.tokenizer import SPACE
from jumok.nn.record import AttentionRecord
from jumok.tasks.translation import Answer

# T tokens of an answer, its end included · V vocabulary

RIVALS = 5  # other tokens that are told beside the one chosen


@dataclass(frozen=True)
class Choice:
    """A token of an answer, and the likeliest others in its place."""

    token: str
    probability: float
    rivals: tuple[tuple[str, float], ...]  # best first


@dataclass(frozen=True)
class Explanation:
    """An answer, and where the model looked while it was written."""

    source: list[str]
    answer: Answer
    record: AttentionRecord  # maps of one example each (H, Q, K), with labels
    choices: tuple[Choice, ...] = ()  # of each token of the answer, then of its end
    others: tuple[Answer, ...] = ()  # further answers of the search, best first
    source_words: tuple[int, ...] = ()  # the word of each source token
    answer_words: tuple[int, ...] = ()

    def in_words(self) -> "Explanation":
        """Return the same with words instead of subwords: weights added up over keys, averaged over queries."""
        source = [*self.source_words, _next(self.source_words)]  # the end is a word of its own
        answer = [*self.answer_words, _next(self.answer_words)]
        begun = [0, *(word + 1 for word in self.answer_words)]  # the start comes first where the decoder looks back
        groups = {"encoder": (source, source), "decoder": (answer, begun)}
        maps = [found.merged(*groups.get(found.kind, (answer, source))) for found in self.record.maps]
        return replace(
            self,
            source=_words(self.source, self.source_words),
            record=AttentionRecord([replace(found, queries=_spaced(found.queries), keys=_spaced(found.keys)) for found in maps]),
            source_words=tuple(range(_next(self.source_words))),
            answer_words=tuple(range(_next(self.answer_words))),
        )  # fmt: skip


@dataclass(frozen=True)
class HeadWorth:
    """What an answer loses without a head, beside how the head looked."""

    path: str
    kind: str
    layer: int
    head: int
    lost: float  # log-probability of the answer, with the head minus without
    strongest: float  # its largest weight, a mean over queries: how sharply it looked
    entropy: float


def choices_of(
    logits: Tensor, chosen: Sequence[int], labels: Callable[[Sequence[int]], list[str]]
) -> tuple[Choice, ...]:
    """Return the choice made at each step, given logits (T, V) and the ids (T,) that were chosen."""
    shares = logits.float().softmax(dim=-1)
    best, ids = shares.topk(min(RIVALS + 1, shares.shape[-1]), dim=-1)
    found = []
    for step, (token, name) in enumerate(zip(chosen, labels(chosen), strict=True)):
        others = [(int(index), float(share)) for index, share in zip(ids[step], best[step], strict=True)]
        others = [(index, share) for index, share in others if index != token][:RIVALS]
        names = labels([index for index, _ in others])
        rivals = tuple(zip(names, (share for _, share in others), strict=True))
        found.append(Choice(name, float(shares[step, token]), rivals))
    return tuple(found)


def _next(words: Sequence[int]) -> int:
    """Return the number of the word that would follow."""
    return words[-1] + 1 if words else 0


def _words(labels: Sequence[str], words: Sequence[int]) -> list[str]:
    """Return whole words of labels of pieces."""
    whole = [""] * _next(words)
    for label, word in zip(labels, words, strict=True):
        whole[word] += label
    return list(_spaced(whole))


def _spaced(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of words without the mark of the space before them."""
    return tuple(label.strip(SPACE) or label for label in labels)
