"""An answer explained: where the model looked, how sure it was, what else it might have said, what each part was worth.

predictor.explain → Explanation (tokens) → in_words() → Explanation (words); view → a page; alignment → terminal, PNG, JSON
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

from torch import Tensor

from jumok.data.text.tokenizer import SPACE
from jumok.inspection.record import AttentionRecord
from jumok.lens.html import Page, make_page
from jumok.lens.view import NOTHING_TO_SHOW, Side, View
from jumok.predictors.alignment import Alignment, alignment_of
from jumok.predictors.shown import Shown
from jumok.tasks.writing import Answer

# T tokens of an output · V vocabulary

RIVALS = 5  # other tokens that are told beside the one chosen


class StructuredAnswer(Protocol):
    """What a predictor answers: a text that was written, masks that were filled, a verdict."""

    @property
    def headline(self) -> str:
        """The answer in one line."""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON has it."""


AnswerT = TypeVar("AnswerT", bound=StructuredAnswer)


@dataclass(frozen=True)
class TokenChoice:
    """A token of an answer, and the likeliest others in its place."""

    token: str
    probability: float
    rivals: tuple[tuple[str, float], ...]  # best first


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


@dataclass(frozen=True)
class TokenWorth:
    """What an answer loses when a token of the text is left out."""

    token: str
    place: int  # among the tokens of the text, counted from 0
    lost: float  # log-probability of the answer, with the token minus without


@dataclass(frozen=True)
class Explanation(Shown, Generic[AnswerT]):
    """An answer to a text, and where the model looked for it."""

    text: str  # as it was read
    answer: AnswerT
    record: AttentionRecord  # maps of one example each (H, Q, K), with labels
    source: list[str]  # the tokens of the text, special ones around it left out: without_tokens counts these
    source_words: tuple[int, ...]  # the word of each
    output: Side  # the tokens that choices are of
    looking: Mapping[str, tuple[Side, Side]]  # what looks at what, by kind of attention; "": kinds without a name here
    choices: tuple[TokenChoice | None, ...] = ()  # of each token of the output; None where nothing was decided
    classes: tuple[tuple[str, float], ...] = ()  # of a classifier, the likeliest first
    written: bool = True  # whether the output came token by token
    characters: bool = False  # whether the model reads characters
    no_attention: str = NOTHING_TO_SHOW  # said where there are no maps
    worth: tuple[HeadWorth, ...] = ()  # of each head, the dearest first, where importance was asked for
    token_worth: tuple[TokenWorth, ...] = ()  # of each token of the text, in their order

    def __repr__(self) -> str:
        """Return one line: the text, the answer, and how many maps there are."""
        source, answer = (_shortened(text) for text in (self.text, self.answer.headline))
        return f"Explanation({source!r} → {answer!r}, {len(self.record.maps)} attention maps)"

    def in_words(self) -> Self:
        """Return the same with words instead of subwords: weights added up over keys, averaged over queries.

        A word is as likely as its pieces together; its rivals are those of its first piece, where it was decided.
        """
        sides = self.sides()
        maps = [found.merged(*(side.words for side in sides[found.kind])) for found in self.record.maps]
        return replace(
            self,
            source=words_of(self.source, self.source_words),
            source_words=tuple(range(next_word(self.source_words))),
            record=AttentionRecord([replace(found, queries=_spaced(found.queries), keys=_spaced(found.keys)) for found in maps]),
            output=_in_words(self.output),
            looking={kind: (_in_words(queries), _in_words(keys)) for kind, (queries, keys) in self.looking.items()},
            choices=_choices_of_words(self.choices, self.output.words) if self.choices else (),
        )  # fmt: skip

    def alignment(self, *, kind: str = "", layer: int | None = None, head: int | None = None) -> Alignment:
        """Return the weights of one layer and head, counted from 1, or the mean of all; kind "": over the source."""
        return alignment_of(self.record, kind=kind, layer=layer, head=head)

    @property
    def note(self) -> str:
        """What is said where there is no attention."""
        return "" if self.record.maps else self.no_attention

    def sides(self) -> dict[str, tuple[Side, Side]]:
        """Return what looks at what by each kind of attention that was recorded, and "" for any other."""
        return {kind: self.looking.get(kind, self.looking[""]) for kind in ["", *self.record.kinds]}

    def to_dict(self) -> dict[str, Any]:
        """Return the answer, how sure the model was, and what heads and tokens were worth, as JSON has them."""
        told = self.answer.to_dict()
        if self.choices:
            told["choices"] = [choice and vars(choice) for choice in self.choices]
        if self.worth:
            told["heads"] = [vars(one) for one in self.worth]
        if self.token_worth:
            told["tokens"] = [vars(one) for one in self.token_worth]
        return told

    def view(self, name: str = "", *, worth: Sequence[HeadWorth] = ()) -> View:
        """Return what a page shows of this; worth are the heads', where they are not this explanation's own."""
        return View(
            name or "answer",
            self.record,
            self.sides(),
            output=self.output,
            source=self.text,
            answer=self.answer.headline,
            choices=[None if one is None else (one.token, one.probability, one.rivals) for one in self.choices],
            classes=self.classes,
            written=self.written,
            characters=self.characters,
            tokens=[(one.token, one.lost) for one in self.token_worth],
            note=self.no_attention,
            worth=[(head.path, head.head, head.lost, head.strongest) for head in worth or self.worth],
        )

    def page(self, *, matrices: bool | None = None, lang: str | None = None) -> Page:
        """Return the page that shows this; matrices and lang as in jumok.lens.html.make_page."""
        return make_page([self.view()], matrices=matrices, lang=lang)


@dataclass(frozen=True, repr=False)
class TranslationExplanation(Explanation[Answer]):
    """A translation, and where the model looked while it was written."""

    others: tuple[Answer, ...] = ()  # further answers of the search, best first

    def view(self, name: str = "", *, worth: Sequence[HeadWorth] = ()) -> View:
        """Return what a page shows of this, all answers of the search included."""
        answers = [(answer.text, answer.score) for answer in (self.answer, *self.others)]
        return replace(super().view(name, worth=worth), answers=answers)


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


def _shortened(text: str, longest: int = 20) -> str:
    """Return a text, or its beginning; half of an 80-column line may be letters of two columns."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def next_word(words: Sequence[int]) -> int:
    """Return the number of the word that would follow."""
    return words[-1] + 1 if words else 0


def words_of(labels: Sequence[str], words: Sequence[int]) -> list[str]:
    """Return whole words of labels of pieces."""
    whole = [""] * next_word(words)
    for label, word in zip(labels, words, strict=True):
        whole[word] += label
    return list(_spaced(whole))


def _in_words(side: Side) -> Side:
    """Return a side whose tokens are words."""
    labels = tuple(words_of(side.labels, side.words))
    return Side(side.name, labels, tuple(range(len(labels))))


def _choices_of_words(choices: Sequence[TokenChoice | None], words: Sequence[int]) -> tuple[TokenChoice | None, ...]:
    """Return the choice of each word, given the word of each token; pieces of which nothing was decided are left out."""
    by_word: list[list[TokenChoice]] = [[] for _ in range(next_word(words))]
    for choice, word in zip(choices, words, strict=True):
        if choice is not None:
            by_word[word].append(choice)
    return tuple(map(_joined, by_word))


def _joined(pieces: Sequence[TokenChoice]) -> TokenChoice | None:
    """Return the choice that the choices of a word's pieces amount to."""
    if not pieces:
        return None
    [name] = words_of([piece.token for piece in pieces], [0] * len(pieces))
    probability = 1.0
    for piece in pieces:
        probability *= piece.probability
    return TokenChoice(name, probability, pieces[0].rivals)


def _spaced(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of words without the mark of the space before them."""
    return tuple(label.strip(SPACE) or label for label in labels)
