"""Frames of two clauses: because, although, if, when, and, before, after, while, in order to."""

from jumok.data.builtin.korean.frames.choosing import (
    COMMUTING,
    SMALL,
    WHILE,
    adjective_named,
    daily,
    decided,
    times_for,
    verbs_named,
)
from jumok.data.builtin.korean.frames.drawing import Drawing
from jumok.data.builtin.korean.lexicon import Adjective
from jumok.data.builtin.korean.meaning import Clause, Entity, Meaning


class LinkedClauses(Drawing):
    """Draws meanings of two clauses."""

    def linked(self) -> Meaning:
        """What comes of something: because, although, if, when."""
        name, effects = self.dice(list(self.words.causes.items()))
        effect = self.dice(effects)
        subject = self.subject([("I", 0.45), ("name", 0.25), ("pronoun", 0.2), ("kin", 0.1)])
        while subject.noun and not subject.noun.gender:
            subject = self.subject([("name", 1.0)])
        cause = self.cause(name, subject)
        done = not effect.startswith("-")
        main = self.effect(effect.removeprefix("-"), subject)
        felt = isinstance(cause.predicate, Adjective)
        shares = [0.55, 0.14 if felt or not done else 0.0, 0.2 if done else 0.08, 0.1 if felt and done else 0.0]
        link = self.dice(["because", "but", "if", "when"], shares)
        if link == "when":
            main.tense = cause.tense = "present"
            return Meaning(main, "statement", "when", cause)
        cause.progressive = cause.progressive and link == "because"
        if link == "if":
            cause.tense = "present"
            mood = self.dice(["command", "suggestion", "statement"], [0.4, 0.2, 0.4])
            if not done and mood == "suggestion":
                mood = "command"
            self._turn(cause, main, mood)
            main.negative = not done
            if mood == "statement":
                main.tense = "future"
            return Meaning(main, mood, "if", cause)
        main.negative = (link == "because") != done
        if link == "but" and "past" in main.predicate.flags:  # type: ignore[union-attr]
            main.negative = False
            link = "because"
            main.negative = not done
        if main.negative and "will" in main.predicate.flags and self.dice.happens(0.5):  # type: ignore[union-attr]
            main.modality = "can"
        cause.tense = main.tense = "past"
        cause.progressive = False
        now = name not in ("늦게 일어나다", "버스를 놓치다") and "past" not in main.predicate.flags  # type: ignore[union-attr]
        if now and self.dice.happens(0.35) and "past" not in getattr(cause.predicate, "flags", ()):
            cause.tense = "present"
            cause.progressive = cause.predicate in ("rain", "snow")
            main.tense = "future" if not main.modality else "present"
            if link == "because" and done and self.dice.happens(0.35):
                mood = self.dice(["suggestion", "promise"])
                self._turn(cause, main, mood)
                main.tense = "present"
                return Meaning(main, mood, "because", cause)
        if main.tense == "past" and self.dice.happens(0.25):
            cause.times = [
                self.dice(
                    [
                        one
                        for one in times_for(("past",), SMALL)
                        if one.korean.startswith(("어제", "[어제", "어젯", "[오늘", "그저께"))
                    ]
                )
            ]
        return Meaning(main, "statement", link, cause)

    def _turn(self, cause: Clause, main: Clause, mood: str) -> None:
        """Let those act who are asked to."""
        person = {"command": "you", "suggestion": "we", "promise": "I"}.get(mood)
        if not person:
            return
        old, new = main.subject, Entity(pronoun=person)
        for clause in (cause, main):
            if clause.subject is old:
                clause.subject = new
            for place, (argument, entity) in enumerate(clause.arguments):
                if entity.owner is old:
                    entity.owner = new
                if entity.pronoun == person:
                    clause.arguments[place] = (argument, Entity(self.dice(self.words.of("name"))))

    def cause(self, name: str, subject: Entity) -> Clause:
        """Return the clause of a cause: 피곤하다, 비가 오다, 시간이 없다."""
        weather: dict[str, str] = {
            "비가 오다": "rain",
            "눈이 오다": "snow",
            "바람이 불다": "windy",
            "길이 막히다": "jammed",
        }
        if name in weather:
            return Clause(weather[name], progressive=name in ("비가 오다", "눈이 오다"))
        if name.startswith("날씨가 "):
            return Clause(adjective_named(name.removeprefix("날씨가 ")), Entity(self.words.noun("날씨")))
        if name.endswith(("이 있다", "가 있다", "이 없다")):
            noun = self.words.noun(name[:-4])
            article = "0" if noun.article == "0" else "a"
            return Clause("has", subject, complement=Entity(noun, article=article), negative=name.endswith("없다"))
        if name == "늦게 일어나다":
            late = next(one for one in self.words.adverbs if one.korean == "늦게")
            return Clause(verbs_named("일어나다")[0], subject, adverb=late)
        found = [one for one in self.words.adjectives if one.korean == name and "feeling" in one.flags]
        if found:
            return Clause(found[0], subject)
        if verbs_named(name):
            return self.action(verbs_named(name)[0], subject, plain=True)
        particle = name.split(" ")[0]
        return self.effect(f"{name.split(' ')[1]} {particle[:-1]}", subject)

    def effect(self, name: str, subject: Entity) -> Clause:
        """Return the clause of an effect: a verb, perhaps with its noun or its noun's type."""
        if name.startswith("["):
            return self.action(verbs_named(name.replace("[", "").replace("]", ""))[0], subject)
        verb_name, _, wanted = name.partition(" ")
        if not wanted:
            return self.action(
                next(iter(sorted(verbs_named(verb_name), key=lambda verb: len(verb.arguments)))), subject, plain=True
            )
        for verb in verbs_named(verb_name):
            for argument in verb.arguments:
                nouns = [noun for kind in argument.types for noun in self.words.of(kind)]
                pool = [noun for noun in (self.words.by_type.get(wanted) or [self.words.noun(wanted)]) if noun in nouns]
                if wanted == "person":
                    return self.action(verb, subject, plain=True)
                if pool:
                    noun = self.dice(pool)
                    the = next((argument.article[kind] for kind in argument.article if noun in self.words.of(kind)), "")
                    entity = (
                        self._with_owner(noun, subject)
                        if noun.article == "my" or the == "own"
                        else Entity(noun, article=the)
                    )
                    others = [
                        (other, self.object(other, subject, plain=True))
                        for other in verb.arguments
                        if other is not argument
                    ]
                    return Clause(verb, subject, [(argument, entity), *others])
        raise AssertionError(f"causes: nothing fits {name}")

    def sequence(self) -> Meaning:
        """One thing after the other: and, before, after; one while the other; one for the other."""
        link = self.dice(["and", "before", "after", "while", "to"], [0.26, 0.18, 0.16, 0.16, 0.24])
        subject = self.subject([("I", 0.5), ("name", 0.28), ("pronoun", 0.22)])
        if link == "while":
            first_name, others = self.dice(list(WHILE.items()))
            other, main = self.effect(first_name, subject), self.effect(self.dice(others), subject)
            main.tense = other.tense = self.dice(["past", "present"], [0.7, 0.3])
            return Meaning(main, "statement", "while", other)
        if link == "to":
            return self.purpose(subject)
        first, second = self.dice(daily()), self.dice(daily())
        while (
            second is first
            or {first.korean, second.korean} <= COMMUTING
            or first.korean in ("자다", "일어나다")
            or second.korean in ("일어나다", first.korean)
        ):
            first, second = self.dice(daily()), self.dice(daily())
        other, main = self.action(first, subject, plain=True), self.action(second, subject, plain=True)
        if any(entity.pronoun == "you" for clause in (other, main) for _, entity in clause.arguments):
            return self.sequence()
        main.tense = other.tense = self.dice(["past", "future"], [0.75, 0.25])
        if link == "and" and self.dice.happens(0.3):
            other.times = self._times(main.tense, verb=SMALL)
        if link in ("before", "after") and main.tense == "future":
            other.tense = "present"
        return Meaning(main, "statement", link, other)

    def purpose(self, subject: Entity) -> Meaning:
        """Somebody goes somewhere to do something."""
        verb = self.dice(
            [one for one in decided() if one.places and "state" not in one.flags and not set(one.places) & {"home"}]
        )
        going = self.dice([verbs_named("가다")[0], verbs_named("가다")[0], verbs_named("오다")[0]])
        fitting = [
            noun
            for noun in self.words.of(*verb.places)
            if noun in self.words.of(*going.arguments[0].types) and noun.types & {"visited"}
        ]
        if not fitting:
            return self.sequence()
        main = Clause(going, subject, [(going.arguments[0], Entity(self.dice(fitting)))])
        other = self.action(verb, subject, plain=True)
        main.tense = self.dice(["past", "future", "present"], [0.6, 0.3, 0.1])
        if main.tense == "present":
            other.times = self._times("habit")
        elif self.dice.happens(0.45):
            other.times = self._times(main.tense)
        return Meaning(main, "statement", "to", other)
