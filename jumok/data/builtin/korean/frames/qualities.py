"""Frames in which something is such, or more so than something else."""

from jumok.data.builtin.korean.frames.choosing import PASSING, SMALL, verbs_named
from jumok.data.builtin.korean.frames.drawing import Drawing
from jumok.data.builtin.korean.lexicon import Adjective
from jumok.data.builtin.korean.meaning import Clause, Entity, Meaning


class Qualities(Drawing):
    """Draws meanings in which somebody or something is such."""

    def quality(self) -> Meaning:
        """Somebody or something is such."""
        adjective = self.dice(self.words.adjectives)
        clause = self._quality_of(adjective)
        mood = "question" if self.dice.happens(0.15) else "statement"
        if mood == "question" and clause.subject and clause.subject.pronoun in ("I", "we"):
            clause.subject = Entity(pronoun="you")
        if mood == "question" and clause.subject and clause.subject.owner and clause.subject.owner.pronoun == "I":
            clause.subject.owner = Entity(pronoun="you")
        steady = "feeling" not in adjective.flags and adjective.types[0] not in ("weather",)
        clause.tense = self.dice(["present", "past"], [0.8, 0.2])
        if adjective.types[0] == "weather":
            clause.times = (
                self._times("past", verb=SMALL)
                if clause.tense == "past"
                else [self.dice([one for one in self.words.times if one.korean in ("오늘", "요즘", "지금")])]
                if self.dice.happens(0.5)
                else []
            )
            clause.subject = None if self.dice.happens(0.4) and adjective.korean != "좋다" else clause.subject
        elif not steady and self.dice.happens(0.35):
            clause.times = (
                self._times("past", verb=SMALL)
                if clause.tense == "past"
                else self._times("now" if adjective.korean in PASSING else "lately")
            )
        if "plain" not in adjective.flags:
            self._degree(clause, adjective)
        if mood == "statement" and not clause.adverb and "plain" not in adjective.flags and self.dice.happens(0.15):
            clause.negative = True
            if self.dice.happens(0.4):
                clause.adverb = next(one for one in self.words.adverbs if one.korean == "별로")
        if (
            mood == "statement"
            and not clause.negative
            and self.dice.happens(0.08)
            and clause.subject
            and clause.subject.pronoun not in ("I", "we", "you")
        ):
            clause.modality = "seem"
        return Meaning(clause, mood)

    def _quality_of(self, adjective: Adjective) -> Clause:
        kind = self.dice(adjective.types)
        if kind == "person":
            subject = (
                self.subject()
                if "feeling" in adjective.flags
                else self.subject(
                    [("pronoun", 0.25), ("name", 0.3), ("kin", 0.2), ("elder", 0.1), ("human", 0.1), ("you", 0.05)]
                )
            )
            return Clause(adjective, subject)
        noun = self.dice(self.words.of(kind))
        subject = Entity(noun, article="the" if noun.article in ("0", "s", "a") and not noun.is_name else "")
        if noun.article == "my":
            subject.owner = Entity(pronoun="I")
        elif (
            noun.types
            & {
                "town",
                "country",
                "season",
                "language",
                "subject",
                "sport",
                "racket-sport",
                "hobby",
                "weather-like",
                "air",
                "sight",
            }
            or noun.is_name
            or noun.article == "the"
        ):
            subject.article = ""
        elif self.dice.happens(0.55):
            subject.determiner = self.dice(["this", "that"])
        elif (
            noun.types & {"owned", "garment", "footwear", "pet", "vehicle"}
            and self.dice.happens(0.5)
            and noun.article != "0"
        ):
            subject.owner = Entity(pronoun="I") if self.dice.happens(0.5) else Entity(self.dice(self.words.of("name")))
        return Clause(adjective, subject)

    def comparison(self) -> Meaning:
        """Something is more so than something else, or is liked better."""
        if self.dice.happens(0.25):
            return self.preference()
        fitting = [
            one
            for one in self.words.adjectives
            if "feeling" not in one.flags and one.types[0] != "weather" and not one.flags & {"plain", "colour"}
        ]
        adjective = self.dice(fitting)
        kind = self.dice(adjective.types)
        if kind == "person":
            first, second = self._two(self.words.of("name"))
            return Meaning(Clause(adjective, Entity(first), than=Entity(second)))
        nouns = self.words.of(kind)
        if (
            len(nouns) > 1
            and kind in ("town", "language", "subject", "sport", "transport", "season", "wild", "pet", "fruit")
            and self.dice.happens(0.7)
        ):
            first, second = self._two(nouns)
            article = "s" if first.types & {"wild", "pet", "fruit"} else ""
            subject, than = (
                Entity(noun, article=article if noun.article in ("a", "s") else "") for noun in (first, second)
            )
        else:
            noun = self.dice(nouns)
            if (
                noun.article in ("my", "the")
                or noun.types & {"town", "language", "subject", "sport", "season", "racket-sport", "hobby", "country"}
                or noun.is_name
            ):
                return self.comparison()
            subject, than = Entity(noun, determiner="this"), Entity(noun, determiner="that")
        clause = Clause(adjective, subject, than=than)
        return Meaning(clause, "question" if self.dice.happens(0.15) else "statement")

    def preference(self) -> Meaning:
        """Somebody likes one thing more than another."""
        verb = verbs_named("좋아하다")[0]
        kind = self.dice(
            ["fruit", "dish", "drink", "sport", "hobby", "pet", "subject", "vegetable", "racket-sport", "snack"]
        )
        first, second = self._two(self.words.of(kind))
        mood = "question" if self.dice.happens(0.2) else "statement"
        subject = self.subject([("you", 1.0)]) if mood == "question" else self.subject()
        clause = Clause(
            verb, subject, [(verb.arguments[0], Entity(first, article="s"))], than=Entity(second, article="s")
        )
        return Meaning(clause, mood)
