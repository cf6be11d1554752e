"""What a sentence means, before either language has said it: entities, clauses, and how two clauses belong together.

Meaning → korean_side.py → words | english_side.py → words; `key` names what it is about, by which splits are divided
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from jumok.data.builtin.korean.lexicon import Adjective, Argument, Noun, Phrase, Verb, lexicon

# What these names may be is listed here; a misspelt one fails in the tests, which pass through every frame.
Person = str  # I you he she we they it · who what where, which are asked for · empty: a noun
Tense = str  # past present future
Mood = str  # statement question command request suggestion offer promise
Modality = str  # empty, want can must may intend try been seem
Linked = str  # empty, because but and if when before after to while
Special = str  # predicates without a word of their own: be has exist located rain snow windy jammed
THIRD = ("he", "she", "it", "who", "what")
INTERROGATIVE = ("who", "what", "where")


@dataclass(eq=False, slots=True)
class Entity:
    """Somebody, something or some place: a noun with what is said about it, or a pronoun."""

    noun: Noun | None = None
    pronoun: Person = ""
    determiner: str = ""  # this, that
    owner: "Entity | None" = None
    count: int = 0
    adjective: Adjective | None = None
    relative: "Clause | None" = None
    focus: str = ""  # also, only
    joined: "Entity | None" = None  # an apple and a pear
    article: str = ""  # of English: the, s (plural), a; the noun's own where empty

    @property
    def is_plural(self) -> bool:
        """Whether English verbs agree with a plural."""
        if self.joined:
            return True
        if self.noun:
            return self.noun.article == "s" or "s" in self.article or self.noun.english == "parents" or self.count > 1
        return self.pronoun in ("we", "they", "you")

    @property
    def is_honoured(self) -> bool:
        """Whether Korean speaks of the person with 시."""
        return bool(self.noun and self.noun.honoured)


@dataclass(eq=False, slots=True)
class Clause:
    """A predicate with what belongs to it."""

    predicate: Verb | Adjective | Special
    subject: Entity | None = None  # None: nobody's, as the weather's
    arguments: list[tuple[Argument, Entity]] = field(default_factory=list)
    complement: Entity | Phrase | None = None  # what somebody is, has, or where something is
    position: Phrase | None = None  # on, under … the complement
    place: Entity | None = None
    companion: Entity | None = None
    vehicle: Entity | None = None
    times: list[Phrase] = field(default_factory=list)
    adverb: Phrase | None = None
    than: Entity | None = None
    tense: Tense = "present"
    progressive: bool = False
    negative: bool = False
    modality: Modality = ""
    asked: Phrase | None = None  # when, why, how: what a question asks for beside its entities


@dataclass(eq=False, slots=True)
class Meaning:
    """A sentence: its clause, and perhaps another that Korean says first."""

    clause: Clause
    mood: Mood = "statement"
    link: Linked = ""
    other: Clause | None = None

    def leaves_out(self, clause: Clause) -> bool:
        """Whether a clause says of somebody else what was said before: Minsu came, but Jimin didn't."""
        other = self.other
        if not other or self.link != "but" or clause is not self.clause:
            return False
        return other.predicate is clause.predicate and other.subject is not clause.subject

    @property
    def key(self) -> str:
        """What the sentence is about: the classes of its words, in no order; pronouns, tenses and levels left out."""
        found = _of_clause(self.clause)
        if self.other:
            found += _of_clause(self.other)
        return " · ".join(sorted(found))


def entities(clause: Clause) -> Iterator[Entity]:
    """Yield the entities of a clause, those inside others left out."""
    if clause.subject:
        yield clause.subject
    for _, entity in clause.arguments:
        yield entity
    for part in (clause.complement, clause.place, clause.companion, clause.vehicle, clause.than):
        if isinstance(part, Entity):
            yield part


def _of_clause(clause: Clause) -> list[str]:
    classes = lexicon().classes

    def name(entry: Verb | Adjective | Noun | Phrase) -> str:
        return classes.get(id(entry)) or entry.korean

    found = [clause.predicate if isinstance(clause.predicate, str) else name(clause.predicate)]
    # no "if clause.asked": who asks when, and who says when, speak of the same
    for phrase in (*clause.times, clause.adverb, clause.position):
        if phrase:
            found.append(name(phrase))
    if isinstance(clause.complement, Phrase):
        found.append(name(clause.complement))
    for entity in entities(clause):
        found += _of_entity(entity, name)
    return found


def _of_entity(entity: Entity, name: Callable[[Any], str]) -> list[str]:
    found = [name(entry) for entry in (entity.noun, entity.adjective) if entry]
    if entity.count:
        found.append(str(entity.count))
    if entity.joined:
        found += _of_entity(entity.joined, name)
    if entity.owner and entity.owner.noun:
        found.append(name(entity.owner.noun))
    if entity.relative:
        found += _of_clause(entity.relative)
    return found
