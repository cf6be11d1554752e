"""Frames in which somebody or something is something: jobs, families, ages, dates, prices, times."""

from jumok.data.builtin.korean import numbers
from jumok.data.builtin.korean.frames.choosing import Subjects, said_of
from jumok.data.builtin.korean.frames.drawing import Drawing
from jumok.data.builtin.korean.lexicon import Phrase
from jumok.data.builtin.korean.meaning import Clause, Entity, Meaning


class Identities(Drawing):
    """Draws meanings with "to be"."""

    def identity(self) -> Meaning:
        """Somebody or something is something."""
        kind = self.dice(
            ["job", "nation", "this", "kin", "age", "date", "price", "time"],
            [0.27, 0.1, 0.22, 0.1, 0.09, 0.06, 0.1, 0.06],
        )
        clause = Clause("be")
        mood = "question" if self.dice.happens(0.2) else "statement"
        people: Subjects = (
            [("you", 1.0)]
            if mood == "question" and self.dice.happens(0.6)
            else [("I", 0.3), ("pronoun", 0.25), ("name", 0.3), ("kin", 0.15)]
        )
        match kind:
            case "job":
                clause.subject = self.subject(people)
                several = "s" if clause.subject.pronoun in ("we", "they") else "a"
                clause.complement = Entity(self.dice(self.words.of("job")), article=several)
                clause.tense = self.dice(["present", "past"], [0.85, 0.15])
            case "nation":
                clause.subject = self.subject(people)
                clause.complement = Entity(self.dice(self.words.of("nationality")))
            case "this":
                clause.subject = Entity(self.words.noun("것"), determiner=self.dice(["this", "that"]))
                noun = self.dice(
                    [
                        one
                        for one in self.words.of("owned", "garment", "reading", "instrument", "gift")
                        if one.article in ("a",)
                    ]
                )
                clause.complement = Entity(noun)
                if self.dice.happens(0.6):
                    clause.complement.owner = self.dice([Entity(pronoun="I"), Entity(self.dice(self.words.of("name")))])
                    if mood == "question":
                        clause.complement.owner = Entity(self.dice(self.words.of("name")))
                elif said_of(noun) and self.dice.happens(0.4):
                    clause.complement.adjective = self.dice(said_of(noun))
            case "kin":
                clause.subject = self.subject([("name", 0.6), ("human", 0.0), ("pronoun", 0.4)])
                while clause.subject.pronoun in ("we", "they"):
                    clause.subject = self.subject([("name", 1.0)])
                nouns = [
                    one
                    for one in self.words.of("kin")
                    if not one.honoured and (not one.gender or self._gender(clause.subject) == one.gender)
                ]
                clause.complement = Entity(
                    self.dice(nouns),
                    owner=self.dice(
                        [Entity(pronoun="I"), Entity(pronoun="I"), Entity(self.dice(self.words.of("name")))]
                    ),
                )
                if mood == "question":
                    clause.complement.owner = Entity(self.dice(self.words.of("name")))
                if clause.complement.owner and clause.complement.owner.noun is clause.subject.noun:
                    clause.complement.owner = Entity(pronoun="I")
            case "age":
                years = 3 + int(self.dice.random() * 60)
                clause.subject = self.subject([("I", 0.3), ("pronoun", 0.25), ("name", 0.45)])
                clause.complement = Phrase(f"[{numbers.own(years)}] 살", f"[{numbers.english(years)}] years old", "age")
            case "date":
                clause.subject = Entity(self.dice(self.words.of("day-noun", "anniversary")))
                if clause.subject.noun and clause.subject.noun.article == "my":
                    clause.subject.owner = Entity(pronoun="I") if mood == "statement" else Entity(pronoun="you")
                clause.complement = numbers.date(1 + int(self.dice.random() * 12), 1 + int(self.dice.random() * 28))
            case "price":
                noun = self.dice(
                    [
                        one
                        for one in self.words.of("bought")
                        if one.article in ("a", "s", "0")
                        and one.types & {"garment", "snack", "dish", "reading", "accessory", "footwear", "headwear"}
                    ]
                )
                clause.subject = Entity(noun, determiner=self.dice(["this", "that"]))
                food = bool(noun.types & {"snack", "dish", "fruit", "vegetable"})
                clause.complement = numbers.price(
                    1000
                    * self.dice([2, 3, 4, 5, 6, 7, 8, 9, 10, 12] if food else [10, 12, 15, 18, 20, 25, 30, 35, 40, 50])
                )
            case "time":
                hour, minute = self.dice(range(1, 13)), self.dice([0, 30, 10, 20, 40, 5, 15, 45])
                minutes = "" if not minute else " 반" if minute == 30 else f" {numbers.chinese(minute)} 분"
                english = (
                    f"[{numbers.english(hour)}] {numbers.english(minute) if minute and minute != 5 else ''}".strip()
                )
                if minute == 5:
                    english = f"five past [{numbers.english(hour)}]"
                elif not minute:
                    english += " o'clock"
                clause.times = []
                clause.complement = Phrase(f"[{numbers.own(hour)}] 시{minutes}", english, "clock time")
                clause.subject = None
        if clause.subject:
            clause.subject.joined = None
            if mood == "question" and clause.subject.pronoun == "we":
                clause.subject.pronoun = "they"
            if mood == "question" and clause.subject.owner and clause.subject.owner.pronoun == "I":
                clause.subject.owner = Entity(pronoun="you")
        if mood == "statement" and isinstance(clause.complement, Entity):
            self._deny(clause, 0.18)
        return Meaning(clause, mood)

    @staticmethod
    def _gender(entity: Entity) -> str:
        return entity.noun.gender if entity.noun else {"he": "m", "she": "f"}.get(entity.pronoun, "")
