"""The lexicon: nouns, verbs, adjectives, times and adverbs, read from the tables in lexicon/.

lexicon/*.txt → Lexicon → nouns of a type, verbs by what they need, adjectives by what they are said of
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from jumok.data.builtin.korean.conjugation import Stem, stem

FOLDER = Path(__file__).parent / "lexicon"
NOUN_FILES = ("people", "food", "things", "places", "world")
ARTICLES = ("a", "the", "0", "s", "my")


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun in both languages, and what it can be used for."""

    korean: str
    english: str
    types: set[str]
    article: str = "a"  # a, the, 0 (none: a mass, a name), s (a plural), my (belongs to somebody)
    counter: str = "개"
    at: str = "at"  # the English preposition of being there
    honoured: bool = False
    gender: str = ""  # m or f, where he or she must be said

    @property
    def is_name(self) -> bool:
        """Whether it names one person."""
        return "name" in self.types

    @property
    def is_person(self) -> bool:
        """Whether it is somebody."""
        return "person" in self.types


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """What a verb takes beside its subject: a Korean particle, an English preposition, and the types of its nouns."""

    particle: str
    types: tuple[str, ...]
    preposition: str = ""
    article: dict[str, str] = field(default_factory=dict)  # by type, where English wants another than the noun's own


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb in both languages."""

    fixed: str  # what stands before the Korean verb: 사진을
    stem: Stem
    english: str  # take [pictures]
    arguments: tuple[Argument, ...]
    places: tuple[str, ...]
    flags: frozenset[str]
    subject: tuple[str, ...]

    @property
    def korean(self) -> str:
        """The dictionary form."""
        return f"{self.fixed} {self.stem.text}다".strip()


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective in both languages."""

    fixed: str
    stem: Stem
    english: str
    types: tuple[str, ...]
    praise: int  # 1, 0 or -1
    flags: frozenset[str]

    @property
    def korean(self) -> str:
        """The dictionary form."""
        return f"{self.fixed} {self.stem.text}다".strip()


@dataclass(frozen=True, slots=True, eq=False)
class Phrase:
    """A time or an adverb in both languages, and what it goes with."""

    korean: str
    english: str
    kind: str
    goes_with: tuple[str, ...] = ()  # the verbs of an adverb, what a position is said of


@dataclass(frozen=True)
class Lexicon:
    """All words."""

    nouns: tuple[Noun, ...]
    verbs: tuple[Verb, ...]
    adjectives: tuple[Adjective, ...]
    times: tuple[Phrase, ...]
    adverbs: tuple[Phrase, ...]
    positions: tuple[Phrase, ...]
    causes: dict[str, tuple[str, ...]]
    by_type: dict[str, tuple[Noun, ...]]
    classes: dict[int, str]

    def of(self, *types: str) -> tuple[Noun, ...]:
        """Return the nouns of any of the types."""
        return self.by_type[types[0]] if len(types) == 1 else self._of_several(types)

    def _of_several(self, types: tuple[str, ...]) -> tuple[Noun, ...]:
        joined = " ".join(types)
        if joined not in self.by_type:
            self.by_type[joined] = tuple(dict.fromkeys(noun for name in types for noun in self.by_type[name]))
        return self.by_type[joined]

    def noun(self, korean: str, kind: str = "") -> Noun:
        """Return the noun of that spelling, of a type where there are several."""
        return next(noun for noun in self.nouns if noun.korean == korean and (not kind or kind in noun.types))


def rows(name: str) -> Iterator[str]:
    """Yield the lines of a table, without comments and empty ones."""
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


@cache
def lexicon() -> Lexicon:
    """Return the lexicon, read once."""
    nouns = [noun for name in NOUN_FILES for noun in _nouns(name)]
    by_type = _by_type(nouns)
    verbs = tuple(_verb(row) for row in rows("verbs"))
    adjectives = tuple(_adjective(row) for row in rows("adjectives"))
    times, adverbs = (tuple(_phrase(row) for row in rows(name)) for name in ("times", "adverbs"))
    positions = tuple(
        Phrase(cells[0], cells[1], "position", tuple(cells[2].split())) for cells in _table("positions", 3)
    )
    causes = dict(_cause(row) for row in rows("causes"))
    found = Lexicon(tuple(nouns), verbs, adjectives, times, adverbs, positions, causes, by_type, {})
    found.classes.update(_classes(found))
    return found


def _table(name: str, count: int) -> Iterator[list[str]]:
    return (_cells(row, count) for row in rows(name))


def _phrase(row: str) -> Phrase:
    korean, english, kind, goes_with = _cells(row, 4)
    return Phrase(korean, english, kind, tuple(goes_with.split()))


def _cells(row: str, count: int) -> list[str]:
    cells = [cell.strip() for cell in row.split("|")]
    assert len(cells) <= count, row
    return cells + [""] * (count - len(cells))


def _nouns(name: str) -> Iterator[Noun]:
    types, article, counter, at = [""], "a", "개", "at"
    for row in rows(name):
        if row.startswith("["):
            head = _cells(row.strip("[]"), 4)
            types, article, counter = head[0].split(), head[1], head[2] or "개"
            at = head[3] or (counter if counter in ("at", "in", "on") else "at")
            continue
        korean, rest = row.split(": ", 1)
        english, marks = _cells(rest, 2)
        yield _noun(korean, english, types, article, counter, at, marks.split())


def _noun(korean: str, english: str, types: list[str], article: str, counter: str, at: str, marks: list[str]) -> Noun:
    own = set(types)
    honoured, gender = False, ""
    for mark in marks:
        if mark in ARTICLES:
            article = mark
        elif mark == "honoured":
            honoured = True
        elif mark in ("m", "f"):
            gender = mark
        elif mark.startswith("at-"):
            at = mark.removeprefix("at-")
        elif mark.startswith("-"):
            own.discard(mark[1:])
        elif re.fullmatch("[가-힣]+", mark):
            counter = mark
        else:
            own.add(mark)
    return Noun(korean, english, own, article, counter, at, honoured, gender)


def _by_type(nouns: list[Noun]) -> dict[str, tuple[Noun, ...]]:
    found: dict[str, list[Noun]] = {}
    for noun in nouns:
        for kind in noun.types:
            found.setdefault(kind, []).append(noun)
    for row in rows("types"):
        if " = " in row:
            name, parts = row.split(" = ")
            members = [noun for part in parts.split() for noun in found[part]]
        else:
            name, listed = row.split(":")
            members = list(_listed(listed, nouns))
        found[name] = list(dict.fromkeys(found.get(name, []) + members))
        for noun in members:
            noun.types.add(name)
    return {name: tuple(members) for name, members in found.items()}


def _listed(listed: str, nouns: list[Noun]) -> Iterator[Noun]:
    """Yield the nouns that a row of types names; a name may consist of several words."""
    spellings = {noun.korean: noun for noun in reversed(nouns)}
    words = listed.split()
    while words:
        for count in (3, 2, 1):
            name = " ".join(words[:count])
            if name in spellings:
                yield spellings[name]
                words = words[count:]
                break
        else:
            raise AssertionError(f"types: no noun '{words[0]}' in {listed}")


def _stem(word: str, *, action: bool) -> tuple[str, Stem]:
    kind = ""
    if word.endswith(")"):
        word, kind = word[:-1].rsplit(" (", 1)
    *fixed, last = word.replace("[", "").replace("]", "").split()
    return " ".join(fixed), stem(last, "" if kind == "으" else kind, action=action)


def _verb(row: str) -> Verb:
    korean, english, arguments, places, flags = _cells(row, 5)
    marks = flags.split()
    fixed, found = _stem(korean, action="descriptive" not in marks)
    subject = tuple(mark.removeprefix("subject:") for mark in marks if mark.startswith("subject:")) or ("person",)
    takes = tuple(_argument(part.strip()) for part in arguments.split(";") if part.strip())
    return Verb(fixed, found, english, takes, tuple(places.split()), frozenset(marks), subject)


def _argument(text: str) -> Argument:
    left, _, preposition = text.partition("=")
    particle, *types = left.split()
    articles = {kind.partition(":")[2]: kind.partition(":")[0] for kind in types if ":" in kind}
    return Argument(
        {"를": "을", "로": "으로", "와": "과"}.get(particle, particle),
        tuple(kind.rpartition(":")[2] for kind in types),
        preposition.strip(),
        articles,
    )


def _adjective(row: str) -> Adjective:
    korean, english, types, praise, flags = _cells(row, 5)
    fixed, found = _stem(korean, action="verb" in flags.split())
    return Adjective(
        fixed, found, english, tuple(types.split()), {"+": 1, "-": -1, "0": 0}[praise], frozenset(flags.split())
    )


def _cause(row: str) -> tuple[str, tuple[str, ...]]:
    cause, effects = row.split(":")
    return cause.strip(), tuple(effect.strip() for effect in effects.split(","))


def _classes(found: Lexicon) -> dict[int, str]:
    """Return for each word the name of its class: words that share a spelling in either language are one class.

    A split that is decided by classes cannot hold a sentence's translation in another.
    """
    entries: list[Noun | Verb | Adjective | Phrase] = [
        *found.nouns,
        *found.verbs,
        *found.adjectives,
        *found.times,
        *found.adverbs,
        *found.positions,
    ]
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    for entry in entries:
        ours, theirs = root(f"ko {entry.korean}"), root(f"en {entry.english.replace('[', '').replace(']', '')}")
        parent[max(ours, theirs)] = min(ours, theirs)
    return {id(entry): root(f"ko {entry.korean}") for entry in entries}
