"""The English side: a meaning in words.

Meaning → clauses: subject, auxiliaries, verb, objects, place, time → Words, with contractions where one likes them

Where English is free (a or the, don't or do not, will or going to), the writer asks choose.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from jumok.data.builtin.korean import english_forms as forms
from jumok.data.builtin.korean.choices import Choose
from jumok.data.builtin.korean.lexicon import Adjective, Phrase, Verb
from jumok.data.builtin.korean.meaning import INTERROGATIVE, Clause, Entity, Meaning
from jumok.data.builtin.korean.numbers import english as number_word
from jumok.data.builtin.korean.words import Node, Word, marked

OBJECTS = {"I": "me", "you": "you", "he": "him", "she": "her", "we": "us", "they": "them", "it": "it", "who": "who"}
POSSESSIVES = {"I": "my", "you": "your", "he": "his", "she": "her", "we": "our", "they": "their", "it": "its"}
NEVER_THE = {
    "language", "subject", "sport", "racket-sport", "hobby", "country", "town", "name", "meal", "season", "skill", "home",
    "nationality", "day-noun", "weather-like",
}  # fmt: skip
MODALS = ("will", "can", "could", "must", "may", "should", "shall", "would")
CONTRACTED = {"am": "'m", "is": "'s", "are": "'re", "will": "'ll", "have": "'ve", "has": "'s"}
NEGATED = {"will": "won't", "can": "can't", "must": "must not", "may": "may not", "am": "am not", "cannot": "can't"}
MEASURES = {
    "잔": "cup",
    "인분": "serving",
    "공기": "bowl",
    "장": "sheet",
    "켤레": "pair",
    "단": "bunch",
    "포기": "head",
}
SPECIAL = {"rain": "rain", "snow": "snow", "windy": "be windy", "jammed": "be heavy"}
FORMS: dict[str, Callable[[str], str]] = {"base": str, "to": str, "ing": forms.ing, "participle": forms.participle}
CONJUNCTIONS = {
    "because": "because",
    "but": "but",
    "and": "and",
    "if": "if",
    "when": "when",
    "before": "before",
    "after": "after",
    "while": "while",
}


@dataclass(slots=True)
class Auxiliary:
    """A verb of a verb group, and the form of the next one: base, to, ing, participle."""

    verb: str
    node: Node
    follows: str
    extra: str = ""  # able, allowed


def english(meaning: Meaning, choose: Choose) -> list[Word]:
    """Return the words of an English sentence that means it."""
    words = Writer(choose, meaning).sentence()
    words = [word for word in words if word.text]
    words[-1].text += "?" if meaning.mood in ("question", "offer") else "."
    if meaning.mood == "request" and words[0].text == "could":
        words[-1].text = words[-1].text[:-1] + "?"
    words[0].text = words[0].text[0].upper() + words[0].text[1:]
    return words


class Writer:
    """Writes one sentence."""

    def __init__(self, choose: Choose, meaning: Meaning) -> None:
        self.choose, self.meaning = choose, meaning
        self.link: Node = (meaning, "link")

    def sentence(self) -> list[Word]:
        """Return the words, without capital and mark."""
        meaning = self.meaning
        if not meaning.other:
            return self._main(meaning.clause)
        link = meaning.link
        shared = meaning.other.subject is not None and meaning.other.subject is meaning.clause.subject
        if link == "to":
            return self._main(meaning.clause) + self._infinitive(meaning.other)
        if link == "and" or link == "but":
            first = self._finite(meaning.other)
            if link == "but":
                self._comma(first)
            return [
                *first,
                Word(link, (self.link,)),
                *self._main(meaning.clause, again=shared, silent=shared and link == "and"),
            ]
        if link == "because" and meaning.mood in ("statement", "promise") and self.choose([True, False], [0.55, 0.45]):
            first = self._comma(self._finite(meaning.other))
            return [*first, Word("so", (self.link,)), *self._main(meaning.clause, again=shared)]
        conjunction = Word(CONJUNCTIONS[link], (self.link,))
        if link == "while" or (link in ("before", "after") and shared and self.choose([True, False], [0.5, 0.5])):
            return [*self._main(meaning.clause), conjunction, *self._gerund(meaning.other)]
        if link in ("if", "when") and self.choose([True, False], [0.6, 0.4]):
            first = self._comma([conjunction, *self._finite(meaning.other)])
            return first + self._main(meaning.clause, again=shared)
        return [*self._main(meaning.clause), conjunction, *self._finite(meaning.other, again=shared)]

    @staticmethod
    def _comma(words: list[Word]) -> list[Word]:
        words[-1].text += ","
        return words

    # --- clauses

    def _main(self, clause: Clause, *, again: bool = False, silent: bool = False) -> list[Word]:
        match self.meaning.mood:
            case "command":
                if clause.negative:
                    no: Node = (clause, "not")
                    start = self.choose(
                        [[Word("don't", (no,))], [Word("do", (), (clause,)), Word("not", (no,))]], [0.8, 0.2]
                    )
                    return [*start, *self._from_verb(clause, "base")]
                return self._from_verb(clause, "base")
            case "request":
                please = (clause, "please")
                if self.choose([True, False], [0.75, 0.25]):
                    return [Word("please", (please,)), *self._from_verb(clause, "base")]
                return [Word("could", (please,)), Word("you", (), (clause,)), *self._from_verb(clause, "base")]
            case "suggestion":
                return [Word("let's", ((clause, "let's"),), (clause,)), *self._from_verb(clause, "base")]
            case "offer":
                subject = self._subject(clause)
                return [Word("shall", (), (clause,)), *subject, *self._from_verb(clause, "base")]
            case "question":
                return self._question(clause)
        if clause.modality == "seem":
            think = [Word("I", (), ((clause, "modality"),)), Word("think", ((clause, "modality"),))]
            that = self.choose([[], [Word("that", (), ((clause, "modality"),))]], [0.75, 0.25])
            said = self._finite(clause)
            return think + ([] if said[0].text == "that" else that) + said
        return self._finite(clause, again=again, silent=silent)

    def _finite(self, clause: Clause, *, again: bool = False, silent: bool = False) -> list[Word]:
        """Return a clause as a statement; again: its subject was said before; silent: need not be said again."""
        subject = [] if silent else self._subject(clause, again=again)
        group = self._verb_group(clause)
        if self.meaning.leaves_out(clause):  # but Jimin didn't
            main = group[0] if self._is_light(group[0]) else Auxiliary("do", clause, "base")
            form, no = self._first_form(main, clause), (clause, "not")
            return subject + self.choose(
                [[Word(negated(form), (clause, no))], [Word(form, (clause,)), Word("not", (no,))]], [0.8, 0.2]
            )
        time, rest = self._rest(clause)
        if silent and clause.tense == "future":
            return self._from_verb(clause, "base")
        words = subject + self._negated(group, clause)
        words = self._contracted(words, len(subject), clause) + self._around(clause, rest)
        ahead = clause is self.meaning.other and self.meaning.link == "and" and bool(time)
        if ahead or (
            clause.modality != "seem"
            and clause.times
            and not (clause.subject and clause.subject.focus)
            and not again
            and clause is self.meaning.clause
            and not self.meaning.other
            and self.choose([False, True], [0.8, 0.2])
        ):
            return time + words
        return words + time

    def _question(self, clause: Clause) -> list[Word]:
        asked = self._asked(clause)
        time, rest = self._rest(clause)
        if clause.subject and clause.subject.pronoun in ("who", "what"):
            said = self._negated(self._verb_group(clause), clause)
            return self._subject(clause) + said + self._around(clause, rest) + time
        group = self._verb_group(clause)
        if not self._is_light(group[0]):
            group = [Auxiliary("do", (clause, "do"), "base"), *group]
        start, *others = self._forms(group, clause)
        if clause.negative:
            start = Word(negated(start.text), ((clause, "not"), *start.nodes), (*start.loose, clause))
        subject = [Word("there", (), (clause,))] if clause.predicate == "exist" else self._subject(clause)
        ever = [Word("ever", ((clause, "modality"),))] if clause.modality == "been" else []
        return [*asked, start, *subject, *ever, *self._often(clause), *others, *self._around(clause, rest), *time]

    def _asked(self, clause: Clause) -> list[Word]:
        """Return the question word that comes first, and take it away from where it would stand."""
        if clause.asked:
            return marked(clause.asked.english, clause.asked)
        for entity in (
            clause.subject,
            clause.complement,
            clause.place,
            clause.companion,
            *(found for _, found in clause.arguments),
        ):
            if isinstance(entity, Entity) and entity.pronoun in INTERROGATIVE:
                return [] if entity is clause.subject else [Word(entity.pronoun, (entity,))]
        return []

    def _from_verb(self, clause: Clause, form: str) -> list[Word]:
        """Return a clause without its subject: its verb in the form that something before it asks for."""
        time, rest = self._rest(clause)
        main = self._main_verb(clause)
        head = {"base": main.verb, "ing": forms.ing(main.verb), "to": main.verb}[form]
        return [
            Word(head, *self._nodes_of(main, clause)),
            *self._after_verb(clause),
            *rest,
            *self._late_adverb(clause),
            *time,
        ]

    def _infinitive(self, clause: Clause) -> list[Word]:
        return [Word("to", (self.link,), (clause,)), *self._from_verb(clause, "to")]

    def _gerund(self, clause: Clause) -> list[Word]:
        return self._from_verb(clause, "ing")

    # --- the verb

    def _verb_group(self, clause: Clause) -> list[Auxiliary]:
        """Return auxiliaries and main verb in their order; the first will agree with the subject."""
        group: list[Auxiliary] = []
        mode: Node = (clause, "modality")
        future: Node = (self.meaning.clause if self.meaning.link == "and" else clause, "future")
        if clause.tense == "future" and self._tells_future(clause):
            group.append(
                self.choose([Auxiliary("will", future, "base"), Auxiliary("be", future, "to", "going")], [0.7, 0.3])
            )
        elif self.meaning.mood == "promise" and clause is self.meaning.clause:
            group.append(Auxiliary("will", clause, "base"))
        match clause.modality:
            case "want":
                group.append(Auxiliary("want", mode, "to"))
            case "can":
                if clause.tense == "present" and any(time.kind == "future" for time in clause.times):
                    group.append(Auxiliary("can", mode, "base"))
                elif clause.tense == "present":
                    group.append(
                        self.choose([Auxiliary("can", mode, "base"), Auxiliary("be", mode, "to", "able")], [0.85, 0.15])
                    )
                elif clause.tense == "past":
                    group.append(
                        self.choose([Auxiliary("could", mode, "base"), Auxiliary("be", mode, "to", "able")])
                        if clause.negative
                        else Auxiliary("be", mode, "to", "able")
                    )
                else:
                    group.append(Auxiliary("be", mode, "to", "able"))
            case "must":
                if clause.tense == "present" and not clause.negative:
                    group.append(
                        self.choose([Auxiliary("have", mode, "to"), Auxiliary("must", mode, "base")], [0.75, 0.25])
                    )
                else:
                    group.append(Auxiliary("have", mode, "to"))
            case "may":
                group.append(
                    self.choose([Auxiliary("may", mode, "base"), Auxiliary("can", mode, "base")])
                    if not clause.negative
                    else Auxiliary("must", mode, "base")
                )
            case "intend":
                group.append(
                    self.choose([Auxiliary("be", mode, "to", "planning"), Auxiliary("plan", mode, "to")])
                    if clause.tense == "present"
                    else Auxiliary("be", mode, "to", "going")
                )
            case "try":
                group.append(Auxiliary("try", mode, "ing"))
            case "been":
                group.append(Auxiliary("have", mode, "participle"))
        if clause.progressive:
            group.append(Auxiliary("be", (clause, "progressive"), "ing"))
        group.append(self._main_verb(clause))
        return group

    def _tells_future(self, clause: Clause) -> bool:
        return not (clause is self.meaning.other and self.meaning.link in ("if", "when", "before", "after"))

    def _main_verb(self, clause: Clause) -> Auxiliary:
        predicate = clause.predicate
        if predicate in ("be", "exist", "located") or isinstance(predicate, Adjective):
            return Auxiliary("be", clause, "")
        if predicate == "has":
            return Auxiliary("have", clause, "")
        return Auxiliary(self._verb_word(clause), clause, "")

    def _verb_words(self, clause: Clause) -> list[str]:
        predicate = clause.predicate
        text = predicate.english if isinstance(predicate, Verb) else SPECIAL.get(str(predicate), "")
        if text == "go" and clause.modality == "been":
            text = "be"  # I have been to Busan
        return text.removeprefix("not ").split(" ")

    def _verb_word(self, clause: Clause) -> str:
        return self._verb_words(clause)[0].replace("[", "").replace("]", "")

    def _negated(self, group: list[Auxiliary], clause: Clause) -> list[Word]:
        """Return the words of a verb group, with not where the clause is negative, frequency where it has some."""
        words = self._forms(group, clause)
        denied = clause.negative or (isinstance(clause.predicate, Verb) and "negative" in clause.predicate.flags)
        light = self._is_light(group[0])
        often = self._often(clause)
        if not denied:
            return [words[0], *often, *words[1:]] if light else [*often, *words]
        no: Node = (clause, "not") if clause.negative else clause
        if clause.modality == "been":
            return [words[0], Word("never", (no,)), *words[1:]]
        if not light:
            helper = Auxiliary("do", (clause, "do"), "base")
            words = self._forms([helper, *group], clause)
        start, *others = words
        if self.choose([True, False], [0.75, 0.25]) and start.text not in ("may", "am", "must"):
            return [Word(negated(start.text), (no, *start.nodes), start.loose), *often, *others]
        if start.text == "can":
            return [Word("cannot", (no, *start.nodes), start.loose), *often, *others]
        return [start, Word("not", (no,)), *often, *others]

    def _often(self, clause: Clause) -> list[Word]:
        adverb = clause.adverb
        return marked(adverb.english, adverb) if adverb and adverb.kind in ("often", "often-not", "already") else []

    def _forms(self, group: list[Auxiliary], clause: Clause) -> list[Word]:
        words = [Word(self._first_form(group[0], clause), *self._nodes_of(group[0], clause))]
        for before, verb in pairwise(group):
            if before.extra:
                words.append(Word(before.extra, (before.node,), (clause,)))
            if before.follows == "to":
                words.append(Word("to", (before.node,), (clause,)))
            form = FORMS[before.follows](verb.verb)
            words.append(Word(form, *self._nodes_of(verb, clause)))
        return words + self._after_verb(clause)

    def _nodes_of(self, verb: Auxiliary, clause: Clause) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
        if isinstance(verb.node, tuple) and verb.node[1] in ("do", "future", "progressive"):
            return ((verb.node,), (clause,))
        if verb.node is clause and isinstance(clause.predicate, Verb):
            if clause.predicate.english.startswith("["):
                return ((clause, (clause, "fixed")), ())
            return ((clause,), ())
        return ((verb.node,), ())

    def _after_verb(self, clause: Clause) -> list[Word]:
        """Return what belongs to the main verb and follows it at once: up, for, a shower."""
        predicate = clause.predicate
        if isinstance(predicate, Adjective):
            return self._adjective(predicate, clause)
        words: list[Word] = []
        inside = False
        found = self._verb_words(clause)
        inside = found[0].startswith("[") and "]" not in found[0]
        for text in found[1:]:
            inside = inside or text.startswith("[")
            shown = text.replace("[", "").replace("]", "")
            if shown == "one's":
                words.append(Word(self._ones(clause), (), (clause,)))
            else:
                words.append(Word(shown, ((clause, "fixed"),) if inside else (clause,)))
            inside = inside and "]" not in text
        return words

    def _ones(self, clause: Clause) -> str:
        subject = clause.subject
        if not subject or self.meaning.mood in ("command", "request"):
            return "your"
        return POSSESSIVES[self._pronoun_of(subject)] if self.meaning.mood != "suggestion" else "our"

    def _pronoun_of(self, entity: Entity) -> str:
        if entity.pronoun in POSSESSIVES and not entity.joined:
            return entity.pronoun
        if entity.is_plural or entity.pronoun == "who":
            return "they"
        if entity.noun and entity.noun.gender:
            return {"m": "he", "f": "she"}[entity.noun.gender]
        return "they" if entity.noun and entity.noun.is_person else "it"

    def _adjective(self, adjective: Adjective, clause: Clause) -> list[Word]:
        adverb = clause.adverb
        degree = marked(adverb.english, adverb) if adverb and adverb.kind.startswith("degree") else []
        if clause.than:
            more = forms.comparative(adjective.english)
            if more.startswith("more "):
                return [
                    Word("more", ((clause, "more"),), (clause,)),
                    *(Word(text, (clause,)) for text in adjective.english.split()),
                ]
            return [Word(more, (clause, (clause, "more")))]
        return degree + [Word(text, (clause,)) for text in adjective.english.split()]

    @staticmethod
    def _is_light(verb: Auxiliary) -> bool:
        """Whether a verb takes not and goes before the subject without do."""
        return verb.verb in MODALS or verb.verb == "be" or (verb.verb == "have" and verb.follows == "participle")

    def _first_form(self, verb: Auxiliary, clause: Clause) -> str:
        if verb.verb in MODALS:
            return verb.verb
        tense = "past" if clause.tense == "past" and clause.modality != "been" else "present"
        subject = clause.subject
        if subject is None:
            return forms.finite(verb.verb, tense, "it", many=False)
        return forms.finite(verb.verb, tense, subject.pronoun, many=subject.is_plural)

    def _contracted(self, words: list[Word], subject: int, clause: Clause) -> list[Word]:
        """Return the words with I am as I'm where one likes it."""
        owner = clause.subject
        if subject != 1 or len(words) < 2:
            return words
        pronoun, verb = words[0], words[1]
        alone = verb.text in CONTRACTED and not (verb.text in ("have", "has") and clause.modality != "been")
        if not alone or (owner and not owner.pronoun) or (owner and owner.pronoun in INTERROGATIVE):
            return words
        clumsy = verb.text in ("will", "have", "has") and len(words) > 2 and words[2].text == "not"  # I'll not
        if not clumsy and self.choose([True, False], [0.65, 0.35]):
            return [pronoun.joined(verb, pronoun.text + CONTRACTED[verb.text]), *words[2:]]
        return words

    # --- what follows

    def _rest(self, clause: Clause) -> tuple[list[Word], list[Word]]:
        """Return times, and objects with everything else that follows the verb."""
        words: list[Word] = []
        plain = [(argument, entity) for argument, entity in clause.arguments if not argument.preposition]
        led = [(argument, entity) for argument, entity in clause.arguments if argument.preposition]
        if len(plain) == 1 and len(led) == 1 and led[0][0].particle == "에게" and led[0][0].preposition == "to":
            heavy = plain[0][1].relative is not None or plain[0][1].noun is None or plain[0][1].noun.is_person
            giving = isinstance(clause.predicate, Verb) and clause.predicate.english in (
                "give",
                "send",
                "show",
                "lend",
                "teach",
            )
            if giving and not heavy and led[0][1].pronoun not in INTERROGATIVE and self.choose([True, False]):
                plain, led = [led[0], plain[0]], []
        for _, entity in plain:
            words += self._entity(entity)
        timed = isinstance(clause.predicate, Verb)
        if timed:
            words += self._complement(clause)
        for argument, entity in led:
            own = entity.noun.at if argument.preposition == "@" and entity.noun else argument.preposition.strip("@")
            words += self._with_preposition(own, entity)
        if not timed:
            words += self._complement(clause)
        if clause.than:
            if isinstance(clause.predicate, Verb):
                words.append(Word(self.choose(["more", "better"]), ((clause, "more"),)))
            words.append(Word("than", (), (clause.than,)))
            words += self._entity(clause.than, subject=True)
        if clause.companion:
            words += self._with_preposition("with", clause.companion)
        if clause.vehicle and clause.vehicle.noun:
            words += [Word("by", (), (clause.vehicle,)), Word(clause.vehicle.noun.english, (clause.vehicle,))]
        if clause.place:
            words += self._with_preposition(clause.place.noun.at if clause.place.noun else "", clause.place)
        times = [word for phrase in clause.times for word in marked(phrase.english, phrase)]
        if clause.modality == "been" and self.meaning.mood == "statement" and not clause.negative:
            times += self.choose([[], [Word("before", ((clause, "modality"),))]])
        if clause.subject and clause.subject.focus == "also":
            times.append(Word("too", ((clause.subject, "focus"),)))
        return times, words

    def _around(self, clause: Clause, rest: list[Word]) -> list[Word]:
        return rest + self._late_adverb(clause)

    def _late_adverb(self, clause: Clause) -> list[Word]:
        words: list[Word] = []
        adverb = clause.adverb
        if adverb and not adverb.kind.startswith(("degree", "often", "already")):
            words += marked(adverb.english, adverb)
        return words

    def _complement(self, clause: Clause) -> list[Word]:
        complement = clause.complement
        if complement is None:
            return []
        if isinstance(complement, Phrase):
            return marked(complement.english, complement)
        if clause.predicate == "located" or clause.predicate == "exist":
            words = []
            if clause.predicate == "exist" and clause.subject:
                words += self._entity(clause.subject, new=not clause.negative, none=clause.negative)
            if clause.position:
                words += marked(clause.position.english, clause.position)
                return words + self._entity(complement)
            return words + self._with_preposition(complement.noun.at if complement.noun else "", complement)
        if clause.predicate == "has":
            return self._entity(complement, new=not clause.negative, none=clause.negative)
        return self._entity(complement, new=True)

    def _with_preposition(self, preposition: str, entity: Entity) -> list[Word]:
        if entity.pronoun in INTERROGATIVE:
            return [Word(preposition, (), (entity,))] if entity.pronoun != "where" and preposition else []
        home = entity.noun is not None and "home" in entity.noun.types
        words = (
            []
            if home and preposition in ("to", "", "from-home")
            else [Word(preposition, (entity,))]
            if preposition
            else []
        )
        return words + self._entity(entity)

    def _subject(self, clause: Clause, *, again: bool = False) -> list[Word]:
        subject = clause.subject
        if clause.predicate == "exist":
            return [Word("there", (), (clause,))]
        if clause.predicate == "jammed":
            return [Word("the", (), (clause,)), Word("traffic", (clause,))]
        if subject is None:
            return [Word("it", (), (clause,))]
        if again:
            return [Word(self._pronoun_of(subject) if not subject.pronoun else subject.pronoun, (subject,), (clause,))]
        if subject.pronoun:
            return [Word(subject.pronoun, (subject,), (clause,))]
        return self._entity(subject, subject=True)

    # --- entities

    def _entity(self, entity: Entity, *, subject: bool = False, new: bool = False, none: bool = False) -> list[Word]:
        """Return the words of an entity; new: it is mentioned for the first time; none: there is none of it."""
        noun = entity.noun
        if entity.joined:
            article = entity.article or self.choose(["a", "the"]) if not subject else ""
            first = self._entity(replace(entity, joined=None, article=article), subject=subject)
            for word in first:
                word.nodes = tuple(entity if isinstance(node, Entity) else node for node in word.nodes)
                word.loose = tuple(entity if isinstance(node, Entity) else node for node in word.loose)
            second = self._entity(replace(entity.joined, article=article), subject=subject)
            for word in second:
                word.nodes = tuple(entity.joined if isinstance(node, Entity) else node for node in word.nodes)
                word.loose = tuple(entity.joined if isinstance(node, Entity) else node for node in word.loose)
            return [*first, Word("and", ((entity, "and"),)), *second]
        if noun is None:
            if entity.pronoun in ("what", "where"):
                return []
            if entity.pronoun == "who":
                return [] if not subject else [Word("who", (entity,))]
            return [Word(entity.pronoun if subject else OBJECTS[entity.pronoun], (entity,))]
        if noun.korean == "것" and entity.determiner:
            return [Word(entity.determiner, ((entity, "determiner"), entity))]
        many = (entity.count > 1 and noun.article != "s") or (entity.article == "s" and noun.article == "a")
        name = forms.plural(noun.english) if many else noun.english
        words = self._article(entity, subject=subject, new=new, none=none)
        before: list[Word] = []
        if entity.count:
            before += self._counted(entity)
            if noun.article in ("0",) or noun.counter in ("켤레", "벌"):
                name = noun.english
        if entity.adjective:
            before += [Word(text, ((entity, "adjective"),)) for text in entity.adjective.english.split()]
        head = [Word(text, (entity,)) for text in name.split(" ")]
        if words and words[0].text == "a":
            words[0].text = forms.a((before + head)[0].text)
        found = words + before + head
        if entity.focus == "only":
            found = [Word("only", ((entity, "focus"),)), *found]
        if entity.relative:
            found += self._relative(entity, entity.relative)
        return found

    def _counted(self, entity: Entity) -> list[Word]:
        noun = entity.noun
        assert noun
        words = [Word(number_word(entity.count), ((entity, "count"),))]
        if noun.article == "0" or noun.counter == "켤레" or (noun.article == "s" and noun.counter == "벌"):
            measure = MEASURES.get(noun.counter, "pair" if noun.article == "s" else "piece")
            words.append(Word(forms.plural(measure) if entity.count > 1 else measure, (), (entity,)))
            words.append(Word("of", (), (entity,)))
        return words

    def _article(self, entity: Entity, *, subject: bool, new: bool, none: bool) -> list[Word]:
        noun = entity.noun
        assert noun

        def one(text: str) -> list[Word]:
            return [Word(text, (), (entity,))]

        if entity.determiner:
            plural = noun.article == "s" or entity.count > 1
            text = {"this": ("this", "these"), "that": ("that", "those")}[entity.determiner][plural]
            return [Word(text, ((entity, "determiner"),))]
        if entity.owner:
            words = self._possessive(entity.owner)
            for word in words:
                word.loose += (entity,)  # Korean often leaves the owner out
            return words
        if noun.article == "my" and entity.article != "a" and not none:
            return one("my")
        if entity.article == "a" and not none:
            return one("a") if noun.article in ("a", "my", "the") and not entity.count else []
        if entity.count or entity.article in ("s", "0"):
            return []
        if none:
            if noun.article in ("0", "s") and entity is self.meaning.clause.subject:
                return one("any")  # there isn't any perfume
            return one("a") if noun.article in ("a", "my", "the") else []
        if noun.types & NEVER_THE or (noun.article == "0" and not subject and entity.article != "the"):
            return []
        if entity.article == "the" or noun.article == "the" or entity.relative:
            return one("the")
        if entity.adjective or new:
            return one("a") if noun.article == "a" else []
        if noun.article == "0" and noun.types & {"place", "visited"}:
            return []
        if subject:
            return one("the")
        if noun.article == "s":
            return self.choose([[], one("the")], [0.7, 0.3])
        return one(self.choose(["a", "the"], [0.6, 0.4]))

    def _possessive(self, owner: Entity) -> list[Word]:
        node: Node = (owner, "owner")
        if owner.pronoun:
            return [Word(POSSESSIVES[self._pronoun_of(owner)], (node,), (owner,))]
        if owner is self.meaning.clause.subject or (self.meaning.other and owner is self.meaning.other.subject):
            return [Word(POSSESSIVES[self._pronoun_of(owner)], (node,), (owner,))]
        words = self._entity(owner, subject=True)
        words[-1].text = forms.possessive(words[-1].text)
        for word in words:
            word.nodes, word.loose = ((node,), ()) if word.nodes else ((), (node,))
        return words

    def _relative(self, entity: Entity, clause: Clause) -> list[Word]:
        """Return what tells which one: (that) I bought yesterday, who is reading a book."""
        if clause.subject is None:
            person = bool(entity.noun and entity.noun.is_person)
            words = [Word("who" if person else "that", (), (clause,))]
            clause.subject = Entity(entity.noun)  # agrees with what it tells about
            group = self._negated(self._verb_group(clause), clause)
            time, rest = self._rest(clause)
            clause.subject = None
            return words + group + self._around(clause, rest) + time
        that = self.choose([[], [Word("that", (), (clause,))]], [0.7, 0.3])
        return that + self._finite(clause, again=clause.subject is self.meaning.clause.subject)


def negated(verb: str) -> str:
    """Return didn't, isn't, won't."""
    return NEGATED.get(verb) or f"{verb}n't"
