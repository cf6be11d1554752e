"""Frames in which somebody does something: statements, questions, commands, suggestions."""

from jumok.data.builtin.korean.frames.choosing import FOR_WHAT, HOW, ONCE, WHAT_TIME, WHEN, WHY, by_people, decided
from jumok.data.builtin.korean.frames.drawing import Drawing
from jumok.data.builtin.korean.lexicon import Verb
from jumok.data.builtin.korean.meaning import Clause, Entity, Meaning


class Actions(Drawing):
    """Draws meanings in which somebody does something."""

    def statement(self) -> Meaning:
        """Somebody does, did or will do something."""
        verb = self.dice(by_people())
        clause = self.action(verb, self.subject())
        if "will" in verb.flags and self.dice.happens(0.27):
            self._with_modality(clause)
            return Meaning(clause)
        self._around(clause)
        self._in_time(clause)
        done = [one for one in self.words.adverbs if one.kind == "already" and verb.korean in one.goes_with]
        if done and clause.tense == "past" and not clause.adverb and not clause.times and self.dice.happens(0.3):
            clause.adverb = self.dice(done)
        if clause.adverb and clause.adverb.kind == "long":
            clause.times = [time for time in clause.times if time.korean in ("어제", "그저께", "내일", "모레")]
        self._deny(clause, 0.0 if "past" in verb.flags else 0.15)
        if not clause.negative and clause.tense != "past" and not clause.adverb:
            self._focus(clause)
        return Meaning(clause)

    def question(self) -> Meaning:
        """Does somebody do something?"""
        verb = self.dice([one for one in by_people() if "negative" not in one.flags])
        subject = self.subject([("you", 0.62), ("name", 0.16), ("pronoun", 0.1), ("your kin", 0.12)])
        if subject.pronoun == "we":
            subject = self.subject([("you", 1.0)])
        clause = self.action(verb, subject)
        self._no_you(clause)
        if "will" in verb.flags and self.dice.happens(0.3):
            modes = ["want", "can", "been", "must"]
            tried = 0.2 if verb.korean in ONCE else 0.0
            clause.modality = self.dice(modes, [0.4, 0.3, tried, 0.1])
            lasting = bool(verb.flags & {"state", "steady"})
            if clause.modality in ("want", "can") and not lasting and self.dice.happens(0.4):
                clause.times = self._times("future", verb=verb)
        else:
            self._around(clause, 0.7)
            self._in_time(clause, share=0.6)
        return Meaning(clause, "question")

    def question_for(self) -> Meaning:
        """Who, what, whom, where, when, why, how."""
        kinds = [
            self._for_whom,
            self._for_what,
            self._for_who,
            self._for_where,
            self._for_when,
            self._for_why,
            self._for_how,
        ]
        return Meaning(self.dice(kinds, [0.12, 0.22, 0.16, 0.22, 0.14, 0.1, 0.04])(), "question")

    def _you(self) -> Entity:
        found = self.subject([("you", 0.75), ("name", 0.15), ("pronoun", 0.1)])
        return Entity(pronoun="they") if found.pronoun == "we" else found

    def _for_who(self) -> Clause:
        clause = self.action(self.dice(by_people()), Entity(pronoun="who"))
        self._no_you(clause)
        own = any(entity.noun and entity.noun.article == "my" for _, entity in clause.arguments)
        if own or "one's" in getattr(clause.predicate, "english", ""):
            return self._for_who()
        self._when_asked(clause)
        if clause.tense == "present" and not clause.progressive and "state" not in self._flags(clause):
            clause.tense = "past"
        return clause

    def _for_what(self) -> Clause:
        verb = self.dice(
            [
                one
                for one in by_people()
                if one.korean in FOR_WHAT and one.english not in ("have", "take", "hear") and _takes_one(one)
            ]
        )
        return self._asked_of(Clause(verb, self._you(), [(verb.arguments[0], Entity(pronoun="what"))]))

    def _for_whom(self) -> Clause:
        verb = self.dice(
            [
                one
                for one in by_people()
                if len(one.arguments) == 1 and "person" in one.arguments[0].types and "negative" not in one.flags
            ]
        )
        return self._asked_of(Clause(verb, self._you(), [(verb.arguments[0], Entity(pronoun="who"))]))

    def _for_where(self) -> Clause:
        if self.dice.happens(0.45):
            verb = self.dice(
                [one for one in by_people() if one.arguments and one.arguments[0].types[0] in ("visited", "living")]
            )
            return self._asked_of(Clause(verb, self._you(), [(verb.arguments[0], Entity(pronoun="where"))]))
        clause = self.action(self.dice([verb for verb in decided() if verb.places]), self._you(), plain=True)
        self._no_you(clause)
        clause.place = Entity(pronoun="where")
        return self._asked_of(clause)

    def _for_when(self) -> Clause:
        clause = self._doing()
        clause.asked = WHAT_TIME if "clock" in self._flags(clause) and self.dice.happens(0.4) else WHEN
        clause.tense = self.dice(["past", "future"], [0.6, 0.4])
        return clause

    def _for_why(self) -> Clause:
        clause = self._doing()
        clause.asked = WHY
        clause.tense = "past"
        self._deny(clause, 0.35)
        return clause

    def _for_how(self) -> Clause:
        named = [one for one in decided() if one.korean in ("만들다", "고치다", "배우다", "끓이다", "가다", "풀다")]
        clause = self.action(self.dice(named), self._you(), plain=True)
        self._no_you(clause)
        clause.asked, clause.tense = HOW, self.dice(["past", "future"], [0.7, 0.3])
        return clause

    def _doing(self) -> Clause:
        clause = self.action(self.dice([one for one in decided() if "state" not in one.flags]), self._you(), plain=True)
        self._no_you(clause)
        return clause

    def _asked_of(self, clause: Clause) -> Clause:
        """Set the tense of a question for something, or make it a question for a wish."""
        if "will" in self._flags(clause) and self.dice.happens(0.22):
            clause.modality = "want"
        else:
            self._when_asked(clause)
        return clause

    def _when_asked(self, clause: Clause) -> None:
        self._in_time(clause, share=0.4)
        clause.adverb = None
        clause.times = [one for one in clause.times if one.kind in ("past", "future", "now")]
        if clause.tense == "present" and "state" not in self._flags(clause):
            clause.progressive = "long" in self._flags(clause)
            clause.tense = "present" if clause.progressive else "past"

    @staticmethod
    def _flags(clause: Clause) -> frozenset[str]:
        return clause.predicate.flags if isinstance(clause.predicate, Verb) else frozenset()

    def asked_for(self) -> Meaning:
        """Commands, requests, suggestions, offers, promises."""
        mood = self.dice(["command", "request", "suggestion", "offer", "promise"], [0.4, 0.15, 0.22, 0.11, 0.12])
        person = {"command": "you", "request": "you", "suggestion": "we", "offer": "we", "promise": "I"}[mood]
        if mood == "offer" and self.dice.happens(0.4):
            person = "I"
        wanted = {"suggestion": "with", "request": "service", "offer": "with" if person == "we" else "service"}.get(
            mood, "will"
        )
        away = mood in ("command", "request", "promise")  # one does not say: let's come
        verbs = [one for one in decided() if "state" not in one.flags and wanted in one.flags]
        verb = self.dice([one for one in verbs if away or one.korean not in ("오다", "돌아오다")])
        while mood == "command" and verb.korean in ("놀다", "웃다"):
            verb = self.dice(verbs)
        clause = self.action(verb, Entity(pronoun=person))
        for place, (argument, entity) in enumerate(clause.arguments):
            if (entity.pronoun == "you" and person != "I") or (entity.pronoun == "I" and person in ("I", "we")):
                clause.arguments[place] = (argument, Entity(self.dice(self.words.of("name"))))
        self._place(clause, 0.2)
        fitting = [one for one in self._adverbs(verb) if one.kind in ("manner", "again")]
        if mood == "suggestion" and self.dice.happens(0.6):
            clause.adverb = next(one for one in self.words.adverbs if one.korean == "같이")
        elif fitting and mood in ("command", "promise", "request") and self.dice.happens(0.25):
            clause.adverb = self.dice(fitting)
        if mood == "command":
            self._deny(clause, 0.28)
        elif mood != "request" and self.dice.happens(0.4):
            clock = "clock" in verb.flags and self.dice.happens(0.3)
            clause.times = [self._clock()] if clock else self._times("future", verb=verb)
        return Meaning(clause, mood)

    def _no_you(self, clause: Clause) -> None:
        """Replace an object "you" by somebody else: no pronoun for it is polite."""
        for place, (argument, entity) in enumerate(clause.arguments):
            if entity.pronoun == "you" or (entity.owner and entity.owner.pronoun == "I"):
                name = self.dice(self.words.of("name"))
                if entity.pronoun or (entity.noun and entity.noun.is_person):
                    clause.arguments[place] = (argument, Entity(name))
                else:
                    entity.owner = None

    def _focus(self, clause: Clause) -> None:
        draw = self.dice.random()
        if (
            draw < 0.05
            and clause.subject
            and (clause.subject.pronoun or (clause.subject.noun and clause.subject.noun.is_name))
        ):
            clause.subject.focus = "also"
        elif (
            draw < 0.08
            and len(clause.arguments) == 1
            and clause.arguments[0][0].particle == "을"
            and not clause.modality
        ):
            entity = clause.arguments[0][1]
            if (
                not (entity.joined or entity.count or entity.adjective or entity.owner or clause.progressive)
                and entity.noun
            ):
                entity.focus = "only"

    def _with_modality(self, clause: Clause) -> None:
        modes = ["want", "can", "must", "may", "intend", "try", "been"]
        verb = clause.predicate
        assert isinstance(verb, Verb)
        tried = 0.08 if verb.korean in ONCE else 0.0  # worth telling that one has done it
        clause.modality = self.dice(
            modes, [0.3, 0.22, 0.23, 0.04, 0.09, 0.0 if verb.stem.text.endswith("보") else tried / 2, tried]
        )
        if clause.modality in ("may", "must") and self.dice.happens(0.4):
            self._speak_to_you(clause)
        self._place(clause, 0.2)
        tenses = ["present", "past", "future"]
        shares = {"want": [0.8, 0.2, 0], "can": [0.6, 0.2, 0.2], "must": [0.7, 0.15, 0.15], "try": [0, 0.8, 0.2]}
        clause.tense = self.dice(tenses, shares.get(clause.modality, [1, 0, 0]))
        if clause.modality in ("must", "want", "can", "intend") and clause.tense != "past" and self.dice.happens(0.4):
            clause.times = [time for time in self._times("future", verb=verb) if time.korean not in ("곧", "언젠가")]
        elif clause.modality in ("must", "can", "try") and clause.tense == "past" and self.dice.happens(0.4):
            clause.times = self._times("past", verb=verb)
        if clause.modality in ("want", "can", "must", "been", "may") and clause.tense != "future":
            self._deny(clause, 0.25)
        lasting = bool(verb.flags & {"state", "steady"})  # nobody wants to live there tomorrow morning
        if lasting or (clause.modality == "can" and clause.negative and clause.tense == "present"):
            clause.times = []

    def _speak_to_you(self, clause: Clause) -> None:
        for _, entity in clause.arguments:
            if entity.pronoun == "you" or (entity.owner and entity.owner is not clause.subject):
                return
            if entity.owner is clause.subject:
                entity.owner = Entity(pronoun="you")
        old, clause.subject = clause.subject, Entity(pronoun="you")
        for _, entity in clause.arguments:
            if entity.owner and (entity.owner is old or entity.owner.pronoun == "you"):
                entity.owner = clause.subject


def _takes_one(verb: Verb) -> bool:
    return len(verb.arguments) == 1 and verb.arguments[0].particle == "을" and not verb.fixed
