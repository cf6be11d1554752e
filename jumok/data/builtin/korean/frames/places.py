"""Frames in which something is somewhere, somebody has something, animals and things do something, and it rains."""

from jumok.data.builtin.korean import numbers
from jumok.data.builtin.korean.frames.choosing import SMALL, VISIBLE, by_others, said_of, verbs_named
from jumok.data.builtin.korean.frames.drawing import Drawing
from jumok.data.builtin.korean.meaning import Clause, Entity, Meaning


class Places(Drawing):
    """Draws meanings of what there is."""

    def existence(self) -> Meaning:
        """There is something somewhere; something is somewhere; somebody is somewhere."""
        kind = self.dice(
            ["there", "thing", "person", "building", "where", "animal"], [0.32, 0.22, 0.18, 0.12, 0.08, 0.08]
        )
        mood = "question" if self.dice.happens(0.15) else "statement"
        clause = Clause("located")
        match kind:
            case "there" | "animal":
                clause = Clause("exist")
                noun = self.dice(self.words.of("small" if kind == "there" else "pet"))
                clause.subject = Entity(noun)
                if self._is_counted(noun) and self.dice.happens(0.3):
                    clause.subject.count = self.dice([2, 3, 4, 5])
                elif kind == "there" and self.dice.happens(0.25):
                    visible = [one for one in said_of(noun) if one.korean in VISIBLE]
                    clause.subject.adjective = self.dice(visible) if visible else None
                self._stand(clause)
            case "thing":
                noun = self.dice([one for one in self.words.of("owned") if one.article in ("a", "s")])
                clause.subject = Entity(noun, article="the")
                if self.dice.happens(0.5):
                    clause.subject.owner = (
                        Entity(pronoun="I") if mood == "statement" else Entity(self.dice(self.words.of("name")))
                    )
                self._stand(clause)
            case "person":
                clause.subject = (
                    self.subject()
                    if mood == "statement"
                    else self.subject([("name", 0.5), ("pronoun", 0.2), ("your kin", 0.3)])
                )
                clause.complement = Entity(
                    self.dice(
                        self.words.of("home", "room", "shop", "eatery", "institution", "station", "town", "country")
                    )
                )
                if self.dice.happens(0.3):
                    clause.times = self._times("now")
            case "building":
                first, second = self._two(self.words.of("building"))
                clause.subject, clause.complement = Entity(first, article="the"), Entity(second)
                clause.position = self.dice([one for one in self.words.positions if "building" in one.goes_with])
            case "where":
                mood = "question"
                if self.dice.happens(0.5):
                    clause.subject = Entity(
                        self.dice(self.words.of("room", "shop", "institution", "station")), article="the"
                    )
                else:
                    noun = self.dice([one for one in self.words.of("owned") if one.article in ("a", "s")])
                    clause.subject = Entity(noun, article="the")
                clause.complement = Entity(pronoun="where")
        if kind != "where" and self.dice.happens(0.12):
            clause.tense = "past"
            clause.times = []
        if mood == "statement" and not (clause.subject and (clause.subject.count or clause.subject.adjective)):
            self._deny(clause, 0.12)
        return Meaning(clause, mood)

    def _stand(self, clause: Clause) -> None:
        """Choose where a small thing or an animal is."""
        clause.position = self.dice(self.words.positions, [5, 5, 2, 1, 2, 1, 1, 0, 0])
        lacking = ("building", "station", "visited", "outdoor-thing")
        places = [kind for kind in clause.position.goes_with if kind not in lacking]
        if clause.subject and clause.subject.noun and "animal" in clause.subject.noun.types:
            instead = {"container": "pet-box", "standing": "outdoor-thing"}
            places = [instead.get(kind, kind) for kind in places]
        if clause.subject and clause.subject.noun and clause.subject.noun.types & {"eaten", "drunk"}:
            places = ["food-box" if kind == "container" else kind for kind in places]
        clause.complement = Entity(self.dice(self.words.of(*places)), article="the")
        if clause.subject and clause.subject.noun is clause.complement.noun:
            self._stand(clause)

    def possession(self) -> Meaning:
        """Somebody has something."""
        clause = Clause("has")
        mood = "question" if self.dice.happens(0.25) else "statement"
        clause.subject = self.subject() if mood == "statement" else self.subject([("you", 0.8), ("name", 0.2)])
        kind = self.dice(["possessed", "pet", "owned", "sibling", "vehicle"], [0.45, 0.12, 0.2, 0.15, 0.08])
        noun = self.dice(self.words.of(kind))
        clause.complement = Entity(noun, article="0" if noun.article == "0" else "a")
        if kind in ("pet", "sibling") and self.dice.happens(0.35):
            clause.complement.count = self.dice([2, 3])
        if mood == "statement" and not clause.complement.count:
            self._deny(clause, 0.3)
        clause.tense = "past" if mood == "statement" and kind == "possessed" and self.dice.happens(0.15) else "present"
        return Meaning(clause, mood)

    def of_others(self) -> Meaning:
        """What animals and things do, and the weather."""
        if self.dice.happens(0.22):
            return self.weather() if self.dice.happens(0.75) else self.way()
        verb = self.dice(by_others())
        noun = self.dice(self.words.of(*verb.subject))
        subject = Entity(noun, article="the")
        if noun.article == "my":
            subject.owner = Entity(pronoun="I")
        elif noun.types & {"owned", "pet", "appliance", "vehicle"} and self.dice.happens(0.4) and noun.article != "0":
            subject.owner = Entity(pronoun="I") if self.dice.happens(0.6) else Entity(self.dice(self.words.of("name")))
        elif noun.types & {"thing", "animal"} and self.dice.happens(0.3):
            subject.determiner = self.dice(["this", "that"])
        if noun.types & {"season"}:
            subject.article = ""
        clause = self.action(verb, subject, plain=True)
        self._place(clause, 0.3)
        if "past" in verb.flags:
            clause.tense = "past"
            clause.times = self._times("past", verb=verb) if self.dice.happens(0.3) else []
        elif verb.korean in ("문을 열다", "문을 닫다", "시작하다", "시작되다", "끝나다") or "boarded" in verb.subject:
            clause.tense = self.dice(["past", "present", "future"], [0.45, 0.2, 0.35])
            if self.dice.happens(0.6):
                clause.times = [self._clock()]
        else:
            self._in_time(clause, share=0.3)
            clause.progressive = clause.tense == "present" and "long" in verb.flags
            clause.adverb = None
            clause.times = [
                one for one in clause.times if one.kind in ("past", "now", "future") and "animal" in noun.types
            ]
        self._deny(clause, 0.0 if "season" in noun.types else 0.08)
        mood = "question" if self.dice.happens(0.12) else "statement"
        if mood == "question" and subject.owner and subject.owner.pronoun == "I":
            subject.owner = None
        return Meaning(clause, mood)

    def way(self) -> Meaning:
        """How long it takes from here to there."""
        verb = verbs_named("걸리다")[1]
        start, end = self._two(self.words.of("domestic"))
        clause = Clause(verb, None, [(verb.arguments[0], Entity(start)), (verb.arguments[1], Entity(end))])
        number, unit = self.dice(
            [
                (2, "hour"),
                (3, "hour"),
                (4, "hour"),
                (5, "hour"),
                (30, "minute"),
                (50, "minute"),
                (1, "hour"),
                (6, "hour"),
            ]
        )
        clause.complement = numbers.duration(number, unit)
        if self.dice.happens(0.6):
            clause.vehicle = Entity(self.dice(self.words.of("on-land")))
        clause.tense = self.dice(["present", "past"], [0.8, 0.2])
        return Meaning(clause)

    def weather(self) -> Meaning:
        """It rains, it will snow."""
        kinds = ["rain", "snow", "windy"]
        clause = Clause(self.dice(kinds, [0.5, 0.3, 0.2]))
        clause.tense = self.dice(["past", "present", "future"], [0.35, 0.25, 0.4])
        if clause.tense == "present":
            clause.progressive = clause.predicate != "windy"
            clause.times = self._times("now") if self.dice.happens(0.4) else []
        elif self.dice.happens(0.8):
            clause.times = self._times(clause.tense, verb=SMALL)
        mood = "question" if self.dice.happens(0.2) else "statement"
        if clause.tense == "future" and mood == "statement" and self.dice.happens(0.4):
            clause.modality = "seem"
        if self.dice.happens(0.15) and mood == "statement" and not clause.modality:
            clause.negative = True
        return Meaning(clause, mood)
