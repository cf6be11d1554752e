"""The Korean side: a meaning in words, at one of four speech levels.

Meaning → levels_of → one level → clauses (subject, times, place, objects, predicate) → Words

Where Korean is free (level, dropped subject, order, one of two negations), the writer asks choose.
"""

from dataclasses import replace
from typing import Literal, get_args

from jumok.data.builtin.korean.choices import Choose
from jumok.data.builtin.korean.conjugation import Stem, adnominal, attach, copula, plain
from jumok.data.builtin.korean.jamo import final_of
from jumok.data.builtin.korean.lexicon import Adjective, Noun, Phrase, Verb
from jumok.data.builtin.korean.meaning import INTERROGATIVE, THIRD, Clause, Entity, Meaning, entities
from jumok.data.builtin.korean.numbers import own
from jumok.data.builtin.korean.particles import with_particle
from jumok.data.builtin.korean.words import Node, Word, marked

Level = Literal["해", "해요", "합쇼", "해라"]
LEVELS = get_args(Level)
POLITE = ("해요", "합쇼")
SPOKEN = ("해", "해요")
SHARES = {"해": 0.27, "해요": 0.43, "합쇼": 0.15, "해라": 0.15}  # how often each level is heard

# What an honoured subject does, and what is done for an honoured person.
HONORIFIC = {
    "먹": "드시", "마시": "드시", "자": "주무시", "말하": "말씀하시", "아프": "편찮으시", "배고프": "시장하시",
}  # fmt: skip
HUMBLE = {
    "돕": "도와드리", "도와주": "도와드리", "주": "드리", "보여 주": "보여 드리", "빌려주": "빌려드리", "전화하": "전화드리",
    "연락하": "연락드리", "부탁하": "부탁드리", "인사하": "인사드리", "말해 주": "말씀드리", "말하": "말씀드리",
    "데려다주": "모셔다드리", "찾아가": "찾아뵙", "설명하": "설명해 드리", "묻": "여쭤보", "사과하": "사과드리",
    "축하하": "축하해 드리", "위로하": "위로해 드리", "소개하": "소개해 드리",
}  # fmt: skip
INNER = {
    "무섭",
    "부럽",
    "부끄럽",
    "외롭",
    "심심하",
    "기쁘",
    "슬프",
    "불안하",
    "배고프",
    "목마르",
    "졸리",
}  # others' are seen: 슬퍼하다
NOT_DIVIDED = {
    "좋아하",
    "싫어하",
    "원하",
    "사랑하",
    "그리워하",
    "칭찬하",
    "축하하",
    "서두르",
}  # 안 좋아해요, not *좋아 안 해요
MOTION = {"가", "오", "떠나", "출발하", "도착하", "돌아오", "돌아가", "이사하", "만나", "시작하", "끝나"}  # 내일 가요
PRONOUNS = {
    "he": ("그",), "she": ("그녀",), "they": ("그들",), "who": ("누구",), "where": ("어디",), "it": ("그것",),
}  # fmt: skip
SPECIAL = {"rain": ("비가", "오"), "snow": ("눈이", "오"), "windy": ("바람이", "불"), "jammed": ("길이", "막히")}
DIRECT = {
    "statement": {"해": "아", "해요": "아요", "합쇼": "습니다"},
    "question": {"해": "아", "해요": "아요", "합쇼": "습니까", "해라": "니"},
    "command": {"해": "아", "해라": "아라"},
    "suggestion": {"해": "자", "해요": "아요", "합쇼": "읍시다", "해라": "자"},
    "offer": {"해": "을까", "해요": "을까요"},
    "promise": {"해": "을게", "해요": "을게요", "합쇼": "겠습니다"},
}
FUTURE = {
    "statement": {"해": "거야", "해요": "거예요", "합쇼": "것입니다", "해라": "것이다"},
    "question": {"해": "거야", "해요": "거예요", "합쇼": "겁니까", "해라": "거니"},
}


def levels_of(meaning: Meaning) -> tuple[Level, ...]:
    """Return the speech levels at which a meaning can be said."""
    found: list[Level] = [level for level in LEVELS if level in _levels_of_mood(meaning.mood)]
    if meaning.mood == "suggestion" and not (meaning.clause.adverb and meaning.clause.adverb.kind == "together"):
        found.remove("해요")  # 운동해요 alone is a statement: 같이 운동해요
    clauses = [meaning.clause, *([meaning.other] if meaning.other else [])]
    if any(_speaks_of_you(clause) for clause in clauses):
        found = [level for level in found if level not in POLITE]  # no pronoun for "you" is polite
    return tuple(found)


def _levels_of_mood(mood: str) -> tuple[Level, ...]:
    return {
        "command": LEVELS, "request": ("해", "해요", "합쇼"), "offer": SPOKEN, "promise": ("해", "해요", "합쇼"),
        "suggestion": ("해", "해요", "합쇼"),
    }.get(mood, LEVELS)  # fmt: skip


def _speaks_of_you(clause: Clause) -> bool:
    def names_you(entity: Entity) -> bool:
        if entity.owner and entity.owner.pronoun == "you" and entity.noun and entity.noun.article != "my":
            return True
        return bool(entity.relative and _speaks_of_you(entity.relative))

    others = [entity for entity in entities(clause) if entity is not clause.subject]
    return any(entity.pronoun == "you" or names_you(entity) for entity in others) or bool(
        clause.subject and names_you(clause.subject)
    )


def korean(meaning: Meaning, choose: Choose, *, loose: bool = False) -> list[Word]:
    """Return the words of a Korean sentence that means it.

    loose: everything that Korean may leave unsaid can be left out, whoever the subject is; for references.
    """
    possible = levels_of(meaning)
    level = choose(possible, [SHARES[level] for level in possible])
    words = Writer(level, choose, meaning, loose=loose).sentence()
    mark = "?" if meaning.mood in ("question", "offer") else "."
    words[-1].text += mark
    return words


class Writer:
    """Writes one sentence at one level."""

    def __init__(self, level: Level, choose: Choose, meaning: Meaning, *, loose: bool = False) -> None:
        self.level, self.choose, self.meaning, self.loose = level, choose, meaning, loose
        self.link: Node = (meaning, "link")
        self.titles: bool | None = None

    def sentence(self) -> list[Word]:
        """Return the words, without the mark at the end."""
        meaning = self.meaning
        if not meaning.other:
            return self._clause(meaning.clause, meaning.mood)
        shared = meaning.other.subject is meaning.clause.subject
        first = self._clause(meaning.other, self._connective(), contrasted=meaning.link == "but", inner=not shared)
        return first + self._clause(meaning.clause, meaning.mood, silent=shared, contrasted=meaning.link == "but")

    def _connective(self) -> str:
        link, mood = self.meaning.link, self.meaning.mood
        if link == "because":
            if mood not in ("statement", "question"):
                return "으니까"
            return self.choose(["아서", "으니까"] if self.level in SPOKEN else ["아서", "기 때문에"], [0.8, 0.2])
        return {
            "but": "지만", "and": "고", "if": "으면", "when": "을 때", "before": "기 전에", "to": "으러", "while": "으면서",
        }.get(link) or self.choose(["은 후에", "은 다음에"])  # fmt: skip

    # --- clauses

    def _clause(
        self, clause: Clause, final: str, *, inner: bool = False, silent: bool = False, contrasted: bool = False
    ) -> list[Word]:
        """Return the words of a clause; inner: it is part of another; silent: its subject was said before."""
        subject = [] if silent else self._subject(clause, inner=inner and not contrasted, final=final)
        times = [word for phrase in clause.times for word in marked(phrase.korean, phrase)]
        if clause.asked and clause.asked.kind == "when":
            times += marked(clause.asked.korean, clause.asked)
        weather = bool(times and clause.subject and clause.subject.noun and clause.subject.noun.korean == "날씨")
        early = bool(times and subject) and clause.subject is not None and clause.subject.pronoun not in INTERROGATIVE
        words = times + subject if weather or (early and self.choose([False, True], [0.7, 0.3])) else subject + times
        if clause.predicate == "exist":
            words = times + self._location(clause) + subject  # the place comes first: 책상 위에 책이 있어요
        adverb = marked(clause.adverb.korean, clause.adverb) if clause.adverb else []
        soon = bool(
            clause.adverb and clause.adverb.kind in ("often", "often-not", "together", "alone", "already", "yet")
        )
        if clause.asked and clause.asked.kind != "when":
            words += marked(clause.asked.korean, clause.asked)
        if soon:
            words += adverb
        if clause.companion:
            words += self._entity(clause.companion, self.choose(["과", "하고"] if self.level in SPOKEN else ["과"]))
        if clause.place:
            words += self._entity(clause.place, "에서")
        if clause.vehicle:
            words += self._entity(clause.vehicle, "으로")
        if clause.than:
            words += self._entity(clause.than, "보다")
            if isinstance(clause.predicate, Adjective):
                adverb = [Word("더", ((clause, "more"),))] if self.choose([True, False], [0.8, 0.2]) else []
        for argument, entity in [] if self.meaning.leaves_out(clause) else clause.arguments:
            words += self._entity(entity, self._particle(argument.particle, entity, clause))
        if isinstance(clause.complement, Phrase) and isinstance(clause.predicate, Verb):
            words += marked(clause.complement.korean, clause.complement)
        if clause.than and isinstance(clause.predicate, Verb):
            words.append(Word("더", ((clause, "more"),)))
        predicate = self._predicate(clause, final)
        if soon:
            return words + predicate
        apart = isinstance(clause.predicate, Adjective) and clause.predicate.fixed.endswith("가")  # 키가 아주 커요
        return words + (predicate[:1] + adverb + predicate[1:] if apart else adverb + predicate)

    def _subject(self, clause: Clause, *, inner: bool, final: str) -> list[Word]:
        entity = clause.subject
        if not entity or (entity.pronoun == "you" and self.meaning.mood in ("command", "request")):
            return []
        if entity.pronoun == "it" and not isinstance(clause.predicate, Verb):
            return []
        spoken = entity.pronoun in (("I", "we", "you", "he", "she", "they") if self.loose else ("I", "we", "you"))
        if spoken and not entity.focus and self._drops(entity, inner=inner):
            return []
        if entity.pronoun in INTERROGATIVE or clause.predicate == "exist" or final == "adnominal":
            return self._entity(entity, "이")
        if inner:
            return self._entity(entity, "이")
        if self.meaning.mood == "promise":
            return self._entity(entity, "이")
        if isinstance(clause.predicate, Verb) and "state" in clause.predicate.flags:
            return self._entity(entity, "은")
        if clause.predicate in ("located", "has", "be") or entity.pronoun or self.meaning.link == "but":
            return self._entity(entity, "은")
        happens = isinstance(clause.predicate, Verb) and clause.predicate.subject != ("person",)
        topics = [0.25, 0.75] if happens else [0.75, 0.25] if entity.determiner else [0.6, 0.4]
        return self._entity(entity, self.choose(["은", "이"], topics))

    def _drops(self, entity: Entity, *, inner: bool) -> bool:
        if self.meaning.mood in ("suggestion", "offer", "promise"):
            return entity.pronoun != "I" or self.choose([True, False], [0.9, 0.1])
        if entity.pronoun not in ("I", "you"):
            return self.loose and self.choose([True, False])
        if entity.pronoun == "you":
            return self.level in POLITE or self.choose([True, False], [0.5, 0.5])
        if inner:
            return False
        return self.choose([True, False], [0.15, 0.85] if self.level == "해라" else [0.45, 0.55])

    def _particle(self, particle: str, entity: Entity, clause: Clause) -> str:
        main, other = self.meaning.clause, self.meaning.other
        shared = other and other.predicate is main.predicate and other.subject is main.subject
        if particle == "을" and self.meaning.link == "but" and shared:
            return "은"  # 축구는 좋아하지만 야구는 안 좋아해요
        if particle != "에게":
            return particle
        if entity.is_honoured:
            return "께"
        return self.choose(["에게", "한테"], [0.5, 0.5]) if self.level in SPOKEN else "에게"

    # --- entities

    def _entity(self, entity: Entity, particle: str, *, stem: bool = False) -> list[Word]:
        """Return the words of an entity with its particle; stem: the last word is still to get the copula."""
        if entity.joined:
            first = self._entity(
                replace(entity, joined=None), self.choose(["과", "하고"] if self.level in SPOKEN else ["과"])
            )
            for word in first:
                word.nodes = tuple(entity if isinstance(node, Entity) else node for node in word.nodes)
            first[-1].nodes += ((entity, "and"),)
            return first + self._entity(entity.joined, particle, stem=stem)
        before = self._before(entity)
        name, extra = self._name(entity)
        if name == "것" and before:  # 이것
            pointer = before.pop()
            text = pointer.text + name
            return [*before, Word(text if stem else with_particle(text, particle), (entity, *pointer.nodes))]
        *others, last = name.split(" ")
        words = before + [Word(part, (entity,)) for part in others]
        if entity.count:
            words.append(Word(last, (entity,)))
            words.append(Word(own(entity.count), ((entity, "count"),)))
            last, counter = (entity.noun.counter if entity.noun else "개"), True
        else:
            counter = False
        if stem:
            text = last + extra
        elif entity.focus:
            text = self._with_focus(last + extra, particle, entity.focus)
        elif particle == "이" and entity.is_honoured and self.choose([True, False], [0.5, 0.5]):
            text = last + "께서"
        elif particle == "은" and entity.is_honoured and self.choose([False, True], [0.6, 0.4]):
            text = last + "께서는"
        else:
            text = with_particle(last + extra, particle)
        focus: tuple[Node, ...] = ((entity, "focus"),) if entity.focus else ()
        words.append(Word(text, focus, (entity,)) if counter else Word(text, (entity, *focus)))
        return words

    def _with_focus(self, text: str, particle: str, focus: str) -> str:
        mark = {"also": "도", "only": "만"}[focus]
        return text + mark if particle in ("은", "이", "을") else with_particle(text, particle) + mark

    def _before(self, entity: Entity) -> list[Word]:
        words: list[Word] = []
        if entity.relative:
            known = entity.relative.subject is self.meaning.clause.subject
            words += self._clause(entity.relative, "adnominal", inner=True, silent=known)
        if entity.determiner:
            text = "이" if entity.determiner == "this" else self.choose(["그", "저"], [0.7, 0.3])
            words.append(Word(text, ((entity, "determiner"),)))
        if entity.owner and entity.noun:
            words += self._owner(entity.owner, entity.noun)
        if entity.adjective:
            words += marked_stem(entity.adjective, adnominal(entity.adjective.stem, "present"), (entity, "adjective"))
        return words

    def _owner(self, owner: Entity, noun: Noun) -> list[Word]:
        """Return my, his, Minsu's; Korean leaves out what goes without saying."""
        kin = "kin" in noun.types
        if owner is self.meaning.clause.subject or (self.meaning.other and owner is self.meaning.other.subject):
            return []
        if owner.pronoun in ("I", "we"):
            mine, ours = ("제", "저희") if self.level in POLITE else ("내", "우리")
            options = (
                ["", ours] if "parents" in noun.types else ["", mine, ours] if "family" in noun.types else ["", mine]
            )
            complement = self.meaning.clause.complement
            said = isinstance(complement, Entity) and complement.owner is owner  # 제 동생이에요
            shown = self.choose(options[1:] if said else options) if kin and owner.pronoun == "I" else mine
            if "body" in noun.types or not shown:
                return []
            return [Word(shown, ((owner, "owner"),))]
        if owner.pronoun == "you":
            return [] if self.level in POLITE else [Word("네", ((owner, "owner"),))]
        words = self._entity(owner, "의" if not owner.noun or not kin or self.choose([True, False], [0.6, 0.4]) else "")
        for word in words:
            word.nodes = ((owner, "owner"),)
        return words

    def _name(self, entity: Entity) -> tuple[str, str]:
        """Return what an entity is called, and what a name gets behind it."""
        if entity.noun:
            if "korean-name" in entity.noun.types:
                if self.level == "해":
                    return entity.noun.korean, "이" if final_of(entity.noun.korean) else ""
                if self.level in POLITE and self._says_title():
                    return f"{entity.noun.korean} 씨", ""
            return entity.noun.korean, ""
        if entity.pronoun == "I":
            return ("저" if self.level in POLITE else "나"), ""
        if entity.pronoun == "we":
            return (self.choose(["저희", "우리"], [0.4, 0.6]) if self.level in POLITE else "우리"), ""
        if entity.pronoun == "you":
            return "너", ""
        if entity.pronoun == "what":
            return ("뭐" if self.level in SPOKEN else "무엇"), ""
        return PRONOUNS[entity.pronoun][0], ""

    def _says_title(self) -> bool:
        """Return whether names get 씨: all of a sentence, or none."""
        if self.titles is None:
            self.titles = self.choose([True, False], [0.7, 0.3])
        return self.titles

    # --- predicates

    def _predicate(self, clause: Clause, final: str) -> list[Word]:
        self.unraised: Stem | None = None
        self.compound = False
        words, verb, nodes = self._core(clause, final)
        if clause.negative and not self._negates_itself(clause):
            words, verb, nodes = self._negated(clause, words, verb, nodes, final)
        words, verb, nodes = self._with_modality(clause, words, verb, nodes)
        tense = "present" if clause.modality == "seem" else clause.tense
        words += self._ended(clause, verb, nodes, tense, final)
        if clause is self.meaning.other and self.meaning.link:
            words[-1].nodes += (self.link,)
        return words

    def _core(self, clause: Clause, final: str) -> tuple[list[Word], Stem, tuple[Node, ...]]:
        """Return what stands before the predicate's last word, and the stem of that."""
        predicate = clause.predicate
        honoured = self._honours(clause, final)
        if predicate == "be":
            return self._copular(clause, honoured)
        if predicate in ("exist", "has", "located"):
            return self._existing(clause, honoured)
        if isinstance(predicate, str):
            fixed, text = SPECIAL[predicate]
            return [Word(fixed, (clause,))], Stem(text), (clause,)
        verb = self._humble(clause, predicate) if isinstance(predicate, Verb) else predicate.stem
        said_before = self.meaning.leaves_out(clause) and "[" in predicate.english
        words = [] if said_before else marked_fixed(predicate, clause)
        if isinstance(predicate, Adjective) and self._is_inner(clause):
            verb = Stem(attach(verb, "아") + "하")
        if honoured and clause.modality != "want":  # there it goes to the wish: 가고 싶으세요?
            self.unraised = verb if verb.text not in HONORIFIC else None
            verb = honorific_of(verb)
        self.compound = " " in verb.text or predicate.fixed in ("보여", "말해")  # 안 stands before the whole
        if " " in verb.text:
            first, rest = verb.text.rsplit(" ", 1)
            return [*words, Word(first, (clause,))], replace(verb, text=rest), (clause,)
        return words, verb, (clause,)

    def _copular(self, clause: Clause, honoured: bool) -> tuple[list[Word], Stem, tuple[Node, ...]]:
        complement = clause.complement
        if clause.negative:
            assert isinstance(complement, Entity)
            return (
                self._entity(complement, "이"),
                _raised(Stem("아니", action=False), honoured),
                (clause, (clause, "not")),
            )
        if isinstance(complement, Phrase):
            words = marked(complement.korean, complement)
        else:
            assert complement
            words = self._entity(complement, "", stem=True)
        last = words.pop()
        return words, _raised(copula(last.text), honoured), (*last.nodes, *last.loose, clause)

    def _existing(self, clause: Clause, honoured: bool) -> tuple[list[Word], Stem, tuple[Node, ...]]:
        complement = clause.complement
        words = self._location(clause) if clause.predicate == "located" else []
        lacks = clause.negative
        nodes: tuple[Node, ...] = (clause, (clause, "not")) if lacks else (clause,)
        if clause.predicate == "has":
            assert isinstance(complement, Entity)
            words = self._entity(complement, "이")
            return words, _raised(Stem("없" if lacks else "있", "있", action=False), honoured), nodes
        if clause.predicate == "exist":
            return words, Stem("없" if lacks else "있", "있", action=False), nodes
        if honoured:
            negation = [Word("안", ((clause, "not"),))] if lacks else []
            return words + negation, Stem("계시", "시"), (clause,)
        return words, Stem("없" if lacks else "있", "있"), nodes

    def _location(self, clause: Clause) -> list[Word]:
        """Return where something is: 책상 위에."""
        if not isinstance(clause.complement, Entity):
            return []
        if not clause.position:
            return self._entity(clause.complement, "에")
        return [*self._entity(clause.complement, ""), Word(f"{clause.position.korean}에", (clause.position,))]

    def _honours(self, clause: Clause, final: str) -> bool:
        subject = clause.subject
        if not subject or final in ("command", "request"):
            return False
        if subject.pronoun == "you" and self.level in POLITE and self.meaning.mood in ("question", "statement"):
            return self.level == "합쇼" or self.choose([True, False], [0.7, 0.3])
        return subject.is_honoured

    def _humble(self, clause: Clause, verb: Verb) -> Stem:
        particle = "에게" if any(argument.particle == "에게" for argument, _ in clause.arguments) else "을"
        receivers = [
            entity for argument, entity in clause.arguments if argument.particle == particle and entity.is_honoured
        ]
        if receivers and verb.stem.text in HUMBLE and not (clause.subject and clause.subject.is_honoured):
            return Stem(HUMBLE[verb.stem.text], "ㅂ" if verb.stem.text == "찾아가" else "")
        return verb.stem

    def _is_inner(self, clause: Clause) -> bool:
        assert isinstance(clause.predicate, Adjective)
        subject = clause.subject
        others = bool(subject and (subject.noun or subject.pronoun in THIRD or subject.pronoun == "they"))
        return others and "feeling" in clause.predicate.flags and clause.predicate.stem.text in INNER

    def _negates_itself(self, clause: Clause) -> bool:
        return clause.predicate in ("be", "exist", "has", "located")

    def _negated(
        self, clause: Clause, words: list[Word], verb: Stem, nodes: tuple[Node, ...], final: str
    ) -> tuple[list[Word], Stem, tuple[Node, ...]]:
        no: Node = (clause, "not")
        if verb.text == "있":  # 관심이 없어요
            return words, Stem("없", "있", action=False), (*nodes, no)
        unable = clause.modality == "can" or (isinstance(clause.predicate, Verb) and "unable" in clause.predicate.flags)
        if clause.modality in ("want", "must", "may", "been") or (final in ("command",)):
            return words, verb, nodes  # their own forms are negative
        if clause.modality == "can" and self.choose([False, True], [0.6, 0.4]):
            return words, verb, nodes
        mark, long = ("못", Stem("못하")) if unable else ("안", Stem("않", action=verb.action))
        root = verb.text.removesuffix("하")
        divided = verb.action and verb.text.endswith("하") and len(root) > 1 and verb.text not in NOT_DIVIDED
        mark_nodes: tuple[Node, ...] = (no, (clause, "modality")) if clause.modality == "can" else (no,)
        felt = isinstance(clause.predicate, Adjective) and self._is_inner(clause)  # 심심해하지 않아요
        short, rest = [Word(mark, mark_nodes)], verb
        if divided and not clause.arguments and not words and verb.kind != "시" and not felt:
            short, rest = [Word(root, (clause,)), *short], Stem("하")  # 공부 안 해요
        elif (
            (divided and not words)
            or (not verb.action and len(verb.text) > 2)
            or verb.text in ("알", "모르", "잘하")
            or felt
        ):
            short = []
        if bool(short) and self.choose([True, False], [0.6, 0.4]):
            if self.compound:
                return [*words[:-1], *short, words[-1]], rest, nodes
            return [*words, *short], rest, nodes
        if self.unraised:  # 가지 않으세요
            return [*words, Word(attach(self.unraised, "지"), nodes)], long.honorific, mark_nodes
        return [*words, Word(attach(verb, "지"), nodes)], long, mark_nodes

    def _with_modality(
        self, clause: Clause, words: list[Word], verb: Stem, nodes: tuple[Node, ...]
    ) -> tuple[list[Word], Stem, tuple[Node, ...]]:
        modality, no = clause.modality, (clause, "not")
        mode: Node = (clause, "modality")

        def then(ending: str, *more: str) -> list[Word]:
            return [*words, Word(attach(verb, ending), nodes), *(Word(text, (mode,)) for text in more)]

        simply = clause.predicate in SPECIAL or (self.loose and clause.tense == "present")
        if clause.progressive and simply and (clause.negative or self.choose([True, False], [0.6, 0.4])):
            return words, verb, nodes  # 지금 비가 와요
        if clause.progressive:
            raised = verb.kind == "시"
            words = [*words, Word(attach(self.unraised or verb, "고"), nodes)]  # 빨고 계세요, 드시고 계세요
            return words, Stem("계시", "시") if raised else Stem("있", "있"), ((clause, "progressive"),)
        match modality:
            case "want":
                other = bool(
                    clause.subject and (clause.subject.noun or clause.subject.pronoun in ("he", "she", "they"))
                )
                words = then("고")
                if clause.negative:
                    if other and not (clause.subject and clause.subject.is_honoured):
                        return [*words, Word("싶어", (mode,)), Word("하지", (mode,))], Stem("않"), (no,)
                    return [*words, Word("싶지", (mode,))], Stem("않", action=False), (no,)
                if other and not (clause.subject and clause.subject.is_honoured):
                    return [*words, Word("싶어", (mode,))], Stem("하"), (mode,)
                wish = Stem("싶", action=False)
                return words, _raised(wish, self._honours(clause, "")), (mode,)
            case "can":
                if clause.negative:
                    already = (words and no in words[-1].nodes) or no in nodes
                    if already:
                        return words, verb, nodes
                    return then("을", "수"), Stem("없", "있", action=False), (mode, no)
                return then("을", "수"), Stem("있", "있", action=False), (mode,)
            case "must":
                if clause.negative:
                    words = [*words, Word(attach(verb, "지"), nodes), Word("않아도", (no, mode))]
                    return words, Stem("되"), (mode,)
                return then("아야"), Stem(self.choose(["하", "되"], [0.75, 0.25])), (mode,)
            case "may":
                if clause.negative:
                    return [*then("으면"), Word("안", (no,))], Stem("되"), (mode,)
                return then("아도"), Stem("되"), (mode,)
            case "intend":
                return then("으려고"), Stem("하"), (mode,)
            case "try":
                return then("아"), Stem("보"), (mode,)
            case "been":
                return (
                    then("은", "적이"),
                    Stem("없" if clause.negative else "있", "있", action=False),
                    (mode, *([no] if clause.negative else [])),
                )
            case "seem":
                words = [*words, Word(adnominal(verb, clause.tense), nodes), Word("것", (mode,))]
                return words, Stem("같", action=False), (mode,)
        return words, verb, nodes

    def _ended(self, clause: Clause, verb: Stem, nodes: tuple[Node, ...], tense: str, final: str) -> list[Word]:
        """Return the last words of a clause: tense and ending."""

        def word(text: str) -> list[Word]:
            return [Word(text, nodes)]

        if final == "adnominal":
            return word(adnominal(verb, tense))
        if final in ("command", "request"):
            return self._asked(clause, verb, nodes, final)
        if final in FUTURE and tense == "future":
            near = verb.text in MOTION and any(phrase.kind == "future" for phrase in clause.times)
            if not near or self.choose([True, False], [0.75, 0.25]):
                return [Word(attach(verb, "을"), nodes), Word(FUTURE[final][self.level], ((clause, "future"),))]
            tense = "present"
        worn = isinstance(clause.predicate, Adjective) and "past2" in clause.predicate.flags and not clause.negative
        past = verb.past if tense == "past" or (worn and clause.modality != "seem") else verb
        if final in DIRECT:
            return word(self._direct(clause, past, final))
        return self._connected(verb, past, nodes, final)

    def _direct(self, clause: Clause, verb: Stem, final: str) -> str:
        if final == "statement" and self.level == "해라":
            return plain(verb)
        struck = isinstance(clause.predicate, Adjective) and verb.kind != "었" and not clause.negative
        struck = (
            final == "statement" and struck and self.level in SPOKEN and bool(clause.subject and clause.subject.noun)
        )
        if struck and self.choose([False, True], [0.85, 0.15]):
            return attach(verb, "네") + ("요" if self.level == "해요" else "")
        return attach(verb, DIRECT[final][self.level])

    def _asked(self, clause: Clause, verb: Stem, nodes: tuple[Node, ...], final: str) -> list[Word]:
        """Return a command or a request."""
        if clause.negative:
            words = [Word(attach(verb, "지"), nodes)]
            end = {"해": "마", "해요": "마세요", "합쇼": "마십시오", "해라": "마라"}[self.level]
            return [*words, Word(end, ((clause, "not"),))]
        if final == "request":
            please: Node = (clause, "please")
            if verb.text == "돕":
                verb = Stem("도와주")
            if verb.text.endswith("주"):  # 빌려주세요, not *빌려줘 주세요
                text = {"해": attach(verb, "아"), "해요": attach(verb.honorific, "아요")}.get(self.level) or attach(
                    verb.honorific, "읍시오"
                )
                return [Word(text, (*nodes, please))]
            end = {"해": "줘", "해요": "주세요", "합쇼": "주십시오"}[self.level]
            return [Word(attach(verb, "아"), nodes), Word(end, (please,))]
        if self.level in POLITE:
            polite = honorific_of(verb)
            return [Word(attach(polite, "아요" if self.level == "해요" else "읍시오"), nodes)]
        return [Word(attach(verb, DIRECT["command"][self.level]), nodes)]

    def _connected(self, verb: Stem, past: Stem, nodes: tuple[Node, ...], final: str) -> list[Word]:
        """Return the last words of a clause that another follows; the second of them is the conjunction."""
        first, _, second = final.partition(" ")
        tensed = past if first in ("지만", "으니까", "기") and second != "전에" else verb
        if final == "을 때":
            tensed = past
        if first == "은":
            return [Word(adnominal(verb, "past"), nodes), Word(second)]
        text = attach(tensed, first)
        return [Word(text, nodes), Word(second)] if second else [Word(text, nodes)]


def honorific_of(verb: Stem) -> Stem:
    """Return the stem that honours the subject: 가시, 드시, 주무시."""
    if verb.kind == "시":
        return verb
    if verb.text in HONORIFIC:
        return Stem(HONORIFIC[verb.text], "시", action=verb.action)
    if verb.action is True and verb.text == "있":
        return Stem("계시", "시")
    return verb.honorific


def marked_fixed(predicate: Verb | Adjective, clause: Clause) -> list[Word]:
    """Return the fixed words before a verb, with their own counterpart where English has one: 사진을, pictures."""
    node: Node = (clause, "fixed") if "[" in predicate.english else clause
    return [Word(text, (node,)) for text in predicate.fixed.split()]


def marked_stem(adjective: Adjective, form: str, node: Node) -> list[Word]:
    """Return an adjective before a noun: 키가 큰."""
    return [Word(text, (node,)) for text in [*adjective.fixed.split(), form]]


def _raised(verb: Stem, honoured: bool) -> Stem:
    return verb.honorific if honoured else verb
