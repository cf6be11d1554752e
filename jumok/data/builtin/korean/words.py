"""Words of a sentence, each with what it stands for, and the alignment that follows from it.

Word("책을", (book,)) in "저는 책을 읽어요", Word("book", (book,)) and Word("a", loose=(book,)) in "I read a book"
→ 책을 – book is sure, 책을 – a is possible
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Node = object  # part of a meaning: an Entity, a Clause, or such a part with the name of what is said about it


@dataclass(slots=True)
class Word:
    """A word, the parts of the meaning that it stands for, and those to which it merely belongs."""

    text: str
    nodes: tuple[Node, ...] = ()
    loose: tuple[Node, ...] = ()

    def joined(self, other: "Word", text: str = "") -> "Word":
        """Return both words as one: I + 'm."""
        return Word(text or self.text + other.text, self.nodes + other.nodes, self.loose + other.loose)


class Link(NamedTuple):
    """A Korean word and an English one that belong together, by their places in the sentences."""

    korean: int
    english: int
    sure: bool = True  # an article, or a pronoun that Korean leaves out, is a possible link


def links(korean: Sequence[Word], english: Sequence[Word]) -> list[Link]:
    """Return which words stand for which."""
    sure: dict[tuple[int, int], bool] = {}
    places: dict[int, list[tuple[int, bool]]] = {}
    for place, word in enumerate(korean):
        for node, strong in _nodes_of(word):
            places.setdefault(_key(node), []).append((place, strong))
    for place, word in enumerate(english):
        for node, strong in _nodes_of(word):
            for other, other_strong in places.get(_key(node), ()):
                sure[other, place] = sure.get((other, place), False) or (strong and other_strong)
    return [Link(*pair, sure[pair]) for pair in sorted(sure)]


def pieces(found: Iterable[Link], korean: Sequence[int], english: Sequence[int]) -> list[Link]:
    """Return links between the pieces of a tokenizer; korean and english have the word's place for each piece."""
    by_words: dict[tuple[int, int], bool] = {(link.korean, link.english): link.sure for link in found}
    return [
        Link(left, right, by_words[word, other])
        for left, word in enumerate(korean)
        for right, other in enumerate(english)
        if (word, other) in by_words
    ]


def marked(text: str, node: Node) -> list[Word]:
    """Return the words of a phrase; what stands in [ ] corresponds to what stands in [ ] in the other language."""
    words, inside = [], False
    for part in text.split(" "):
        inside = inside or part.startswith("[")
        shown = part.replace("[", "").replace("]", "")
        words.append(Word(shown, ((node, "fixed") if inside else node,)))
        if "]" in part:
            inside = False
    return words


def text_of(words: Sequence[Word]) -> str:
    """Return the sentence."""
    return " ".join(word.text for word in words)


def _nodes_of(word: Word) -> list[tuple[Node, bool]]:
    return [(node, True) for node in word.nodes] + [(node, False) for node in word.loose]


def _key(node: Node) -> int:
    """Return what tells parts of a meaning apart: equal words may stand twice in a sentence."""
    return hash((id(node[0]), node[1])) if isinstance(node, tuple) else id(node)
