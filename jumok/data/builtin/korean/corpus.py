"""The set `korean`: pairs by number, each with its word alignment, and what else each side could be in the other language.

split, number, seed → dice → a meaning of that split → both sides → Pair

No list is kept: pair 1,000,000 is made as quickly as pair 1. Which split a meaning belongs to follows from what it is
about (`Meaning.key`), so that no seed can carry a meaning from one split into another.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jumok.config import Split
from jumok.data.builtin.examples import is_example
from jumok.data.builtin.korean.choices import Dice, every
from jumok.data.builtin.korean.english_side import english
from jumok.data.builtin.korean.frames import Frames
from jumok.data.builtin.korean.korean_side import korean
from jumok.data.builtin.korean.meaning import Meaning, Person, entities
from jumok.data.builtin.korean.words import Link, Word, links, text_of
from jumok.data.builtin.toys import checked_size, split_of

DEFAULT_SIZES: dict[Split, int] = {"train": 200_000, "val": 1_000, "test": 2_000}
PRONOUNS: tuple[Person, ...] = ("I", "you", "he", "she", "we", "they")


@dataclass(frozen=True)
class Pair:
    """A Korean sentence and an English one of the same meaning."""

    meaning: Meaning
    korean_words: list[Word]
    english_words: list[Word]

    @property
    def korean(self) -> str:
        """The Korean sentence."""
        return text_of(self.korean_words)

    @property
    def english(self) -> str:
        """The English sentence."""
        return text_of(self.english_words)

    @property
    def alignment(self) -> list[Link]:
        """Which word stands for which."""
        return links(self.korean_words, self.english_words)

    def english_references(self) -> list[str]:
        """Return everything that the Korean sentence can mean in English, this pair's own sentence first."""
        found = {self.english: None}
        for variant in _variants(self.meaning):
            if self.korean in {text_of(words) for words in every(lambda choose: korean(variant, choose, loose=True))}:  # noqa: B023
                found |= {text_of(words): None for words in every(lambda choose: english(variant, choose))}  # noqa: B023
        return list(found)

    def korean_references(self) -> list[str]:
        """Return every way to say the English sentence in Korean, at all levels, this pair's own sentence first."""
        found = {self.korean: None}
        for variant in _variants(self.meaning):
            if self.english in {text_of(words) for words in every(lambda choose: english(variant, choose))}:  # noqa: B023
                found |= {text_of(words): None for words in every(lambda choose: korean(variant, choose, loose=True))}  # noqa: B023
        return list(found)


def pair(split: Split, number: int, seed: int = 1) -> Pair:
    """Return one pair of a split, always the same for the same number and seed."""
    dice = Dice(f"korean {split} {seed} {number}")
    frames = Frames(dice)
    while True:
        meaning = frames.draw()
        if split_of(meaning.key) != split:
            continue
        found = Pair(meaning, korean(meaning, dice), english(meaning, dice))
        if not is_example(found.korean) and not is_example(found.english):
            return found


def pairs(split: Split, size: int = 0, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield (Korean, English), size of them; 0 stands for the split's default size.

    In val and test no Korean sentence comes twice.
    """
    size = checked_size("korean", split, size=size, defaults=DEFAULT_SIZES)
    return _pairs(split, size, seed)


def _pairs(split: Split, size: int, seed: int) -> Iterator[tuple[str, str]]:
    for found in numbered(split, size, seed):
        yield found.korean, found.english


def numbered(split: Split, size: int, seed: int = 1) -> Iterator[Pair]:
    """Yield the pairs of a split with their meanings, as `pairs` counts them."""
    seen: set[str] = set()
    number = made = 0
    while made < size:
        found = pair(split, number, seed)
        number += 1
        if split != "train":
            if found.korean in seen:
                continue
            seen.add(found.korean)
        made += 1
        yield found


def grammar_files() -> list[Path]:
    """Return the files that the sentences come from: when one changes, so do they."""
    here = Path(__file__).parent
    return sorted([*here.glob("*.py"), *here.glob("lexicon/*.txt"), here.parent / "examples.py"])


@contextmanager
def _as(meaning: Meaning, pronoun: Person, *, progressive: bool, mood: str) -> Iterator[None]:
    """Let a meaning be said of somebody else for a while."""
    clause, subject = meaning.clause, meaning.clause.subject
    before = (clause.progressive, meaning.mood, clause.tense, subject.pronoun if subject else "")
    clause.progressive, meaning.mood = progressive, mood
    if before[1] == "promise" and mood == "statement":
        clause.tense = "future"
    if subject and pronoun:
        subject.pronoun = pronoun
    try:
        yield
    finally:
        clause.progressive, meaning.mood, clause.tense = before[0], before[1], before[2]
        if subject:
            subject.pronoun = before[3]


def _variants(meaning: Meaning) -> Iterator[Meaning]:
    """Yield the meaning, then as it is said of others, at another time of the same tense, as a promise.

    Each is the same object, changed until the next is asked for.
    """
    clause, subject = meaning.clause, meaning.clause.subject
    pronouns: tuple[Person, ...] = ("",)
    if subject and subject.pronoun in PRONOUNS:
        taken = {entity.pronoun for entity in entities(clause) if entity is not subject}
        others = () if meaning.mood not in ("statement", "question") else PRONOUNS
        pronouns = (subject.pronoun, *(one for one in others if one != subject.pronoun and one not in taken))
    bare = clause.tense == "present" and not clause.times and not clause.adverb and not clause.modality
    lasting = bare and "long" in getattr(clause.predicate, "flags", ()) and not meaning.other
    moods = (meaning.mood, "statement") if meaning.mood == "promise" and not meaning.other else (meaning.mood,)
    for pronoun in pronouns:
        for progressive in (clause.progressive, not clause.progressive) if lasting else (clause.progressive,):
            for mood in moods:
                with _as(meaning, pronoun, progressive=progressive, mood=mood):
                    yield meaning
