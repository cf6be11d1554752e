"""An answer explained: where the model looked, how sure it was, what else it might have said, and what each head was worth.

Translator.explain → Explanation (tokens) → in_words() → Explanation (words)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from jumok.data.text.tokenizer import SPACE
from jumok.inspection.record import END, AttentionRecord
from jumok.lens.html import Page, make_page
from jumok.lens.view import NOTHING_TO_SHOW, Side, View
from jumok.predictors.alignment import Alignment, alignment_of
from jumok.tasks.writing import Answer

# T tokens of an answer, its end included · V vocabulary

RIVALS = 5  # other tokens that are told beside the one chosen


@dataclass(frozen=True)
class TokenChoice:
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
    choices: tuple[TokenChoice, ...] = ()  # of each token of the answer, then of its end
    others: tuple[Answer, ...] = ()  # further answers of the search, best first
    source_words: tuple[int, ...] = ()  # the word of each source token
    answer_words: tuple[int, ...] = ()
    text: str = ""  # the source as it was read

    def __repr__(self) -> str:
        """Return one line: the source, the answer, and how many maps there are."""
        source, answer = (_shortened(text) for text in (self.text, self.answer.text))
        return f"Explanation({source!r} → {answer!r}, {len(self.record.maps)} attention maps)"

    def in_words(self) -> "Explanation":
        """Return the same with words instead of subwords: weights added up over keys, averaged over queries.

        A word is as likely as its pieces together; its rivals are those of its first piece, where it was decided.
        """
        sides = self.sides()
        maps = [found.merged(*(side.words for side in sides[found.kind])) for found in self.record.maps]
        return replace(
            self,
            source=_words(self.source, self.source_words),
            record=AttentionRecord([replace(found, queries=_spaced(found.queries), keys=_spaced(found.keys)) for found in maps]),
            choices=_choices_of_words(self.choices, sides[""][0].words),
            source_words=tuple(range(_next(self.source_words))),
            answer_words=tuple(range(_next(self.answer_words))),
        )  # fmt: skip

    def alignment(self, *, kind: str = "", layer: int | None = None, head: int | None = None) -> Alignment:
        """Return the weights of one layer and head, counted from 1, or the mean of all; kind "": over the source."""
        return alignment_of(self.record, kind=kind, layer=layer, head=head)

    @property
    def note(self) -> str:
        """What is said where there is no attention."""
        return "" if self.record.maps else NOTHING_TO_SHOW

    def sides(self) -> dict[str, tuple[Side, Side]]:
        """Return what looks at what by kind of attention; "" stands for kinds without a name here."""
        outputs = tuple(choice.token for choice in self.choices)
        source = Side("source", (*self.source, END), (*self.source_words, _next(self.source_words)))
        output = Side("output", outputs, (*self.answer_words, _next(self.answer_words)))
        # The start comes first where the decoder looks back.
        begun = Side("output so far", ("[START]", *outputs[:-1]), (0, *(word + 1 for word in self.answer_words)))
        known = {"encoder": (source, source), "decoder": (output, begun), "": (output, source)}
        return {kind: known.get(kind, known[""]) for kind in ["", *self.record.kinds]}

    def view(self, name: str = "", *, worth: "Sequence[HeadWorth]" = ()) -> View:
        """Return what a page shows of this; worth are the heads' (Translator.importance)."""
        sides = self.sides()
        return View(
            name or "answer",
            self.record,
            sides,
            output=sides[""][0],
            source=self.text,
            answer=self.answer.text,
            choices=[(choice.token, choice.probability, choice.rivals) for choice in self.choices],
            answers=[(answer.text, answer.score) for answer in (self.answer, *self.others)],
            worth=[(head.path, head.head, head.lost, head.strongest) for head in worth],
        )

    def page(self) -> Page:
        """Return the page that shows this."""
        return make_page([self.view()])

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return self.page()._repr_html_()


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
) -> tuple[TokenChoice, ...]:
    """Return the choice made at each step, given logits (T, V) and the ids (T,) that were chosen."""
    shares = logits.float().softmax(dim=-1)
    best, ids = shares.topk(min(RIVALS + 1, shares.shape[-1]), dim=-1)
    found = []
    for step, (token, name) in enumerate(zip(chosen, labels(chosen), strict=True)):
        others = [(int(index), float(share)) for index, share in zip(ids[step], best[step], strict=True)]
        others = [(index, share) for index, share in others if index != token][:RIVALS]
        names = labels([index for index, _ in others])
        rivals = tuple(zip(names, (share for _, share in others), strict=True))
        found.append(TokenChoice(name, float(shares[step, token]), rivals))
    return tuple(found)


def _choices_of_words(choices: Sequence[TokenChoice], words: Sequence[int]) -> tuple[TokenChoice, ...]:
    """Return the choice of each word, given the word of each token."""
    names = _words([choice.token for choice in choices], words)
    shares, rivals = [1.0] * len(names), [choices[list(words).index(word)].rivals for word in range(len(names))]
    for choice, word in zip(choices, words, strict=True):
        shares[word] *= choice.probability
    return tuple(map(TokenChoice, names, shares, rivals))


def _shortened(text: str, longest: int = 20) -> str:
    """Return a text, or its beginning; half of an 80-column line may be letters of two columns."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


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
