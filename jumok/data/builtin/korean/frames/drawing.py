"""Parts of a meaning drawn at random: people, things, what is done to them, where and when."""

from collections.abc import Sequence

from jumok.data.builtin.korean import numbers
from jumok.data.builtin.korean.choices import Dice
from jumok.data.builtin.korean.frames.choosing import (
    ANYBODY,
    BY_VEHICLE,
    COUNTING,
    DAYS,
    JOINING,
    NO_EQUALS,
    QUALIFYING,
    Subjects,
    said_of,
    times_for,
)
from jumok.data.builtin.korean.lexicon import Adjective, Argument, Noun, Phrase, Verb, lexicon
from jumok.data.builtin.korean.meaning import Clause, Entity


class Drawing:
    """Draws parts of a meaning with its dice."""

    def __init__(self, dice: Dice) -> None:
        self.dice, self.words = dice, lexicon()

    # --- entities

    def subject(self, kinds: Subjects = ANYBODY) -> Entity:
        """Return somebody who does something."""
        names, shares = zip(*kinds, strict=True)
        kind = self.dice(names, shares)
        match kind:
            case "pronoun":
                people = ["he", "she", "we", "they"]
                return Entity(pronoun=self.dice(people, [0.38, 0.34, 0.18, 0.1]))
            case "name":
                first, second = self._two(self.words.of("name"))
                return Entity(first, joined=Entity(second) if self.dice.happens(0.08) else None)
            case "kin":
                return Entity(self.dice(self.words.of("kin")), owner=Entity(pronoun="I"))
            case "your kin":
                return Entity(self.dice(self.words.of("kin")), owner=Entity(pronoun="you"))
            case "elder":
                return Entity(self.dice(self.words.of("elder")), article="the")
            case "human":
                determiner = self.dice(["", "this", "that"], [0.5, 0.15, 0.35])
                return Entity(self.dice(self.words.of("stranger")), determiner=determiner, article="the")
        return Entity(pronoun=kind)

    def somebody(self, subject: Entity | None, *, equal: bool = False) -> Entity:
        """Return a person who is not the subject."""
        kind = self.dice(
            ["name", "kin", "pronoun", "elder", "friend", "human"], [0.34, 0.24, 0.14, 0.0 if equal else 0.1, 0.1, 0.08]
        )
        match kind:
            case "pronoun":
                taken = subject.pronoun if subject else ""
                others = [
                    one for one in ("I", "you", "he", "she", "they") if one != taken and {one, taken} != {"I", "we"}
                ]
                if taken in ("he", "she", "they") or (subject and subject.noun):
                    others = ["I", "you"]
                return Entity(pronoun=self.dice(others))
            case "kin":
                kin = [noun for noun in self.words.of("kin") if not (equal and noun.honoured)]
                return self._with_owner(self.dice(kin), subject)
            case "friend":
                return self._with_owner(self.words.noun("친구"), subject)
            case "elder":
                return Entity(self.dice(self.words.of("elder")), article="the")
            case "human":
                return Entity(self.dice(self.words.of("stranger")), determiner=self.dice(["", "that"]), article="the")
        names = self.words.of("name")
        found = self.dice(names)
        while subject and found in (subject.noun, subject.joined and subject.joined.noun):
            found = self.dice(names)
        return Entity(found)

    def _with_owner(self, noun: Noun, subject: Entity | None) -> Entity:
        """Return what belongs to the subject, or to the speaker where the subject has none."""
        if subject and (
            noun.types & {"body", "thing", "owned"}
            or subject.pronoun in ("I", "he", "she", "we", "they", "you")
            or (subject.noun and subject.noun.is_name)
        ):
            return Entity(noun, owner=subject)
        return Entity(noun, owner=Entity(pronoun="I"))

    def object(
        self, argument: Argument, subject: Entity | None, *, verb: Verb | None = None, plain: bool = False
    ) -> Entity:
        """Return something that fits an argument of a verb; plain: nothing more is said about it."""
        equal = verb is not None and verb.korean in NO_EQUALS
        if "person" in argument.types and (len(argument.types) == 1 or self.dice.happens(0.7)):
            return self.somebody(subject, equal=equal)
        kind = self.dice([name for name in argument.types if name != "person"])
        noun = self.dice(self.words.of(kind))
        if noun.is_name and subject and noun in (subject.noun, subject.joined and subject.joined.noun):
            return self.object(argument, subject, verb=verb, plain=plain)
        if noun.is_person and "kin" in noun.types:
            if equal and noun.honoured:
                return self.object(argument, subject, verb=verb, plain=plain)
            return self._with_owner(noun, subject)
        article = argument.article.get(kind, "")
        if noun.article == "my" or "body" in noun.types or (article == "own" and noun.article != "0"):
            return self._with_owner(noun, subject)
        article = "" if article == "own" else article
        found = Entity(noun, article=article or ("the" if noun.is_person and not noun.is_name else ""))
        mixed = verb is not None and verb.korean == "섞다"
        if not plain and not noun.is_person and article != "s" and not mixed:
            self._describe(found, verb)
        bare = not (plain or found.determiner or found.owner or found.adjective or found.count or article)
        joins = argument.particle == "을" and verb is not None and verb.korean in JOINING
        if mixed or (bare and joins and noun.article != "the" and self.dice.happens(0.07)):
            others = [one for one in self.words.of(kind) if one is not noun and one.article != "the"]
            found.joined = Entity(self.dice(others)) if others else None
        return found

    def _describe(self, entity: Entity, verb: Verb | None = None) -> None:
        """Say more about a thing now and then: which, whose, what like, how many."""
        noun = entity.noun
        assert noun
        if noun.article in ("the", "my") or noun.types & {
            "town",
            "country",
            "home",
            "language",
            "subject",
            "meal",
            "sport",
            "hobby",
        }:
            return
        thing = bool(noun.types & {"thing", "owned", "read"}) and noun.article != "0"
        draw = self.dice.random()
        counts = verb is None or verb.korean in COUNTING
        if draw < 0.1 and thing:
            entity.determiner = self.dice(["this", "that"])
        elif draw < 0.16 and noun.types & {"owned"} and noun.article != "0":
            entity.owner = Entity(pronoun="I") if self.dice.happens(0.6) else Entity(self.dice(self.words.of("name")))
        elif draw < 0.3 and entity.article != "the" and said_of(noun) and (verb is None or verb.korean in QUALIFYING):
            entity.adjective = self.dice(said_of(noun))
            entity.article = ""
        elif draw < 0.42 and not entity.article and counts and self._is_counted(noun):
            entity.count = self.dice([2, 3, 4, 5, 6, 7, 10], [0.4, 0.25, 0.12, 0.1, 0.05, 0.04, 0.04])

    @staticmethod
    def _is_counted(noun: Noun) -> bool:
        if noun.article == "a":
            return noun.counter != "" and not noun.types & {"place", "idea", "event", "job"}
        if noun.article == "s":
            return noun.counter in ("켤레", "송이") or bool(noun.types & {"fruit", "vegetable"})
        return noun.article == "0" and noun.counter in ("잔", "인분", "공기")

    # --- clauses

    def action(self, verb: Verb, subject: Entity | None, *, plain: bool = False) -> Clause:
        """Return what somebody does, its arguments filled."""
        clause = Clause(verb, subject)
        for argument in verb.arguments:
            found = self.object(argument, subject, verb=verb, plain=plain)
            named = {entity.noun for _, entity in clause.arguments} | {subject.noun if subject else None}
            while found.noun and found.noun in named:
                found = self.object(argument, subject, verb=verb, plain=plain)
            clause.arguments.append((argument, found))
        return clause

    def _place(self, clause: Clause, share: float) -> None:
        verb = clause.predicate
        if isinstance(verb, Verb) and verb.places and self.dice.happens(share):
            clause.place = Entity(self.dice(self.words.of(*verb.places)))

    def _around(self, clause: Clause, share: float = 1.0) -> None:
        """Add where, with whom, how and by what, now and then."""
        verb = clause.predicate
        assert isinstance(verb, Verb)
        self._place(clause, 0.3 * share)
        subject = clause.subject
        alone = (
            not subject
            or subject.pronoun in ("I", "he", "she", "you")
            or bool(subject.noun and subject.noun.is_name and not subject.joined)
        )
        if "with" in verb.flags and alone and self.dice.happens(0.13 * share):
            clause.companion = self.somebody(subject)
            if clause.companion.pronoun == "you":
                clause.companion = Entity(self.words.noun("친구"), owner=subject if subject else Entity(pronoun="I"))
        fitting = self._adverbs(verb)
        if fitting and not clause.companion and self.dice.happens(0.22 * share):
            adverb = self.dice(fitting)
            if adverb.kind != "together" or (subject and subject.pronoun in ("we", "they")):
                clause.adverb = adverb
        if verb.korean in BY_VEHICLE and not clause.adverb and self.dice.happens(0.25 * share):
            clause.vehicle = Entity(self.dice(self.words.of("transport")))

    def _adverbs(self, verb: Verb) -> list[Phrase]:
        return [one for one in self.words.adverbs if verb.korean in one.goes_with and one.kind != "already"]

    def _times(self, *kinds: str, verb: Verb | None = None) -> list[Phrase]:
        """Return a time of the kinds; a verb tells whether it may be far away."""
        found = times_for(kinds, verb)
        return [self.dice(found)] if found else []

    def _clock(self) -> Phrase:
        hour = self.dice(range(1, 13))
        return numbers.clock(hour, self.dice([0, 30, 20, 10, 15], [0.6, 0.2, 0.08, 0.07, 0.05]), self._half(hour))

    def _span(self) -> Phrase:
        """Return from when until when."""
        if self.dice.happens(0.25):
            day, end = self.dice([("월", "금"), ("월", "수"), ("화", "목"), ("수", "일"), ("월", "토")])
            return Phrase(f"[{day}요일부터] {end}요일까지", f"[from {DAYS[day]}] to {DAYS[end]}", "span")
        hour = self.dice(range(1, 11))
        later = hour + 1 + int(self.dice.random() * 2)
        korean = f"[{numbers.own(hour)} 시부터] {numbers.own(later)} 시까지"
        return Phrase(korean, f"[from {numbers.english(hour)}] to {numbers.english(later)}", "span")

    def _half(self, hour: int) -> str:
        if self.dice.happens(0.7):
            return ""
        return "morning" if 6 <= hour <= 10 else "afternoon" if 1 <= hour <= 5 else ""

    def _in_time(self, clause: Clause, *, share: float = 0.55) -> None:
        """Set when it happens: tense, aspect, and a time that goes with them."""
        verb = clause.predicate
        assert isinstance(verb, Verb)
        if "past" in verb.flags:
            clause.tense = "past"
        elif "state" in verb.flags:
            clause.tense = self.dice(["present", "past"], [0.85, 0.15])
            return
        else:
            tenses = ["past", "present", "future"]
            usual = bool(verb.flags & {"daily", "long"})
            clause.tense = self.dice(tenses, [0.48, 0.27 if usual else 0.0, 0.25 if "will" in verb.flags else 0.08])
        if clause.tense == "present":
            self._in_present(clause, verb)
        elif verb.korean == "일어나다":
            clause.times = [] if clause.adverb else [self._clock()]
        elif self.dice.happens(share):
            if "clock" in verb.flags and self.dice.happens(0.3):
                clause.times = [self._clock()]
            elif "will" in verb.flags or "past" in verb.flags or "big" in verb.flags:
                clause.times = (
                    self._times(clause.tense, "day", verb=verb)
                    if self.dice.happens(0.4)
                    else self._times(clause.tense, verb=verb)
                )
        if clause.tense == "past" and "long" in verb.flags and "steady" not in verb.flags:
            if not clause.adverb and not clause.times and self.dice.happens(0.15):
                unit, most = self.dice([("hour", 6), ("minute", 50), ("day", 6)], [0.7, 0.2, 0.1])
                number = 1 + int(self.dice.random() * most) if unit != "minute" else self.dice([10, 20, 30, 40, 50])
                found = numbers.duration(number, unit)
                clause.times = [Phrase(f"{found.korean} 동안", f"for {found.english}", "duration")]
            elif self.dice.happens(0.08):
                clause.progressive = True
                clause.times = []

    def _in_present(self, clause: Clause, verb: Verb) -> None:
        """Say that it is so every day, or just now."""
        if "steady" in verb.flags or ("long" in verb.flags and self.dice.happens(0.5)):
            clause.progressive = True
            if self.dice.happens(0.45):
                clause.times = self._times("now", "lately") if "big" in verb.flags else self._times("now")
            return
        if verb.korean in ("일어나다", "자다"):
            clause.times = [self._clock()] if not clause.adverb else self._times("habit", verb=verb)
            return
        if not clause.adverb and self.dice.happens(0.35):
            clause.adverb = self.dice([one for one in self.words.adverbs if one.kind == "often"])
        elif self.dice.happens(0.7):
            clock = "clock" in verb.flags and self.dice.happens(0.4)
            clause.times = (
                [self._span() if "long" in verb.flags else self._clock()] if clock else self._times("habit", verb=verb)
            )

    def _deny(self, clause: Clause, share: float) -> None:
        verb = clause.predicate
        if isinstance(verb, Verb) and ("negative" in verb.flags or verb.korean == "알다"):
            return
        odd = clause.adverb or any(entity.count or entity.focus for _, entity in clause.arguments)
        odd = odd or any(time.kind in ("duration", "habit", "span") or time.korean == "곧" for time in clause.times)
        if not odd and self.dice.happens(share):
            clause.negative = True

    def _degree(self, clause: Clause, adjective: Adjective) -> None:
        if self.dice.happens(0.42):
            kinds = ("degree",) if adjective.praise > 0 else ("degree", "degree-bad")
            clause.adverb = self.dice([one for one in self.words.adverbs if one.kind in kinds])

    def _two(self, nouns: Sequence[Noun]) -> tuple[Noun, Noun]:
        first = second = self.dice(nouns)
        while second is first:
            second = self.dice(nouns)
        return first, second
