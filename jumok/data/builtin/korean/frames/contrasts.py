"""Frames that set two things against each other, and those that tell which one by a clause of its own."""

from jumok.data.builtin.korean.frames.choosing import OPPOSITES, WHO, by_people, decided, said_of, verbs_named
from jumok.data.builtin.korean.frames.qualities import Qualities
from jumok.data.builtin.korean.lexicon import lexicon
from jumok.data.builtin.korean.meaning import Clause, Entity, Meaning


class Contrasts(Qualities):
    """Draws meanings with "but", and with relative clauses."""

    def contrast(self) -> Meaning:
        """Good but bad; one but not the other; somebody but not somebody else."""
        kind = self.dice(["quality", "liking", "people"], [0.45, 0.3, 0.25])
        if kind == "liking":
            verb = verbs_named("좋아하다")[0]
            group = self.dice(
                ["fruit", "dish", "drink", "sport", "hobby", "subject", "vegetable", "snack", "pet", "meat"]
            )
            first, second = self._two(self.words.of(group))
            subject = self.subject([("I", 0.5), ("name", 0.3), ("pronoun", 0.2)])
            other = Clause(verb, subject, [(verb.arguments[0], Entity(first, article="s"))])
            main = Clause(verb, subject, [(verb.arguments[0], Entity(second, article="s"))], negative=True)
            return Meaning(main, "statement", "but", other)
        if kind == "people":
            first, second = self._two(self.words.of("name"))
            verb = self.dice(
                [
                    one
                    for one in by_people()
                    if "past" not in one.flags and "negative" not in one.flags and "one's" not in one.english
                ]
            )
            other = self.action(verb, Entity(first), plain=True)
            if any(
                not entity.noun or entity.noun.article == "my" or entity.owner for _, entity in other.arguments
            ) or self._repeated(other):
                return self.contrast()
            main = Clause(verb, Entity(second), other.arguments, negative=True)
            main.tense = other.tense = "present" if "state" in verb.flags else "past"
            return Meaning(main, "statement", "but", other)
        good = self.dice(
            [
                one
                for one in self.words.adjectives
                if one.praise > 0 and "feeling" not in one.flags and one.types[0] != "weather"
            ]
        )
        bad = [one for one in self.words.adjectives if one.praise < 0 and "feeling" not in one.flags]
        noun_type = self.dice(good.types)
        noun = self.dice(self.words.of(noun_type))
        fitting = [
            one
            for one in bad
            if {good.korean, one.korean} not in OPPOSITES and any(noun in self.words.of(kind) for kind in one.types)
        ]
        if not fitting or noun.article == "my" or (noun.is_person and not noun.is_name):
            return self.contrast()
        clause = self._quality_of(good)
        clause.subject = Entity(
            noun,
            article="the" if not noun.is_name else "",
            determiner="" if noun.is_name or noun.article == "the" else self.dice(["this", "that", ""]),
        )
        if noun.types & {"town", "language", "subject", "sport", "season", "country"}:
            clause.subject.article = clause.subject.determiner = ""
        main = Clause(self.dice(fitting), clause.subject)
        if self.dice.happens(0.5):
            return Meaning(clause, "statement", "but", main)
        return Meaning(main, "statement", "but", clause)

    @staticmethod
    def _repeated(clause: Clause) -> bool:
        return any(entity.noun is clause.subject.noun for _, entity in clause.arguments if clause.subject)

    def relative(self) -> Meaning:
        """The book I bought yesterday is interesting; the man who is reading a book is my father."""
        if self.dice.happens(0.25):
            return self._who()
        verb = self.dice([
            one for one in decided()
            if one.korean in ("사다", "읽다", "만들다", "빌리다", "보다", "그리다", "쓰다", "찾다", "주문하다", "입다", "먹다", "마시다", "받다", "팔다", "배우다", "고르다", "가져오다", "찍다", "방문하다")
            and one.arguments and len(one.arguments) == 1
        ])  # fmt: skip
        if verb.english == "look for":  # what was looked for and found: 찾은
            return self.relative()
        argument = verb.arguments[0]
        noun = self.dice(self.words.of(self.dice(argument.types)))
        priced = verb.korean in ("사다", "팔다", "주문하다", "고르다", "먹다", "마시다")
        fitting = [one for one in said_of(noun) if priced or one.korean not in ("싸다", "비싸다")]
        if (
            not fitting
            or noun.is_person
            or noun.article == "my"
            or noun.types & {"town", "country", "language", "weather", "meal", "subject", "event"}
        ):
            return self.relative()
        telling = self.subject([("I", 0.5), ("name", 0.3), ("pronoun", 0.2)])
        inside = Clause(verb, telling, tense="past")
        if self.dice.happens(0.5):
            inside.times = self._times("past", verb=verb)
        self._place(inside, 0.25)
        subject = Entity(noun, relative=inside, article="the")
        if verb.korean in ("먹다", "마시다", "팔다", "주문하다") or self.dice.happens(0.75):
            adjective = self.dice(fitting)
            clause = Clause(adjective, subject)
            gone = verb.korean in ("먹다", "마시다", "팔다")
            clause.tense = "past" if gone else self.dice(["present", "past"], [0.65, 0.35])
            self._degree(clause, adjective)
            return Meaning(clause)
        likes = self.dice(
            [
                one
                for one in lexicon().verbs
                if one.korean in ("좋아하다", "찾다", "잃어버리다")
                and one.arguments
                and any(noun in self.words.of(kind) for kind in one.arguments[0].types)
            ]
            or [verbs_named("좋아하다")[0]]
        )
        clause = Clause(likes, self.subject([("I", 0.6), ("name", 0.4)]), [(likes.arguments[0], subject)])
        clause.tense = "past" if "past" in likes.flags else "present"
        clause.progressive = likes.english == "look for"
        inside.subject = clause.subject if self.dice.happens(0.4) else Entity(self.dice(self.words.of("name")))
        return Meaning(clause)

    def _who(self) -> Meaning:
        verb = self.dice([one for one in by_people() if "long" in one.flags and "one's" not in one.english])
        inside = self.action(verb, None, plain=True)
        if any(not entity.noun or entity.owner for _, entity in inside.arguments):
            return self._who()
        inside.progressive = False
        inside.tense = "present"
        self._place(inside, 0.3)
        name, relatives = self.dice(list(WHO.items()))
        noun = self.words.noun(name)
        somebody = Entity(noun, determiner="that" if self.dice.happens(0.2) else "", relative=inside)
        inside.progressive = True
        if self.dice.happens(0.6) or name in ("소년", "소녀"):
            return Meaning(
                Clause(
                    "be",
                    somebody,
                    complement=Entity(self.words.noun(self.dice(relatives.split())), owner=Entity(pronoun="I")),
                )
            )
        return Meaning(Clause("be", somebody, complement=Entity(self.dice(self.words.of("job")), article="a")))
