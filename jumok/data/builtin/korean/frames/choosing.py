"""Which words go together: lists of verbs by what they are good for, opposites, adjectives of a noun, times of a verb."""

from collections.abc import Sequence
from functools import cache

from jumok.data.builtin.korean.conjugation import Stem
from jumok.data.builtin.korean.lexicon import Adjective, Noun, Phrase, Verb, lexicon

WHEN = Phrase("언제", "when", "when")
WHAT_TIME = Phrase("[몇] 시에", "[what] time", "when")
WHY = Phrase("왜", "why", "why")
HOW = Phrase("어떻게", "how", "how")
NO_EQUALS = (
    "칭찬하다",
    "껴안다",
    "부르다",
    "용서하다",
    "따라가다",
    "싸우다",
    "사귀다",
    "얘기하다",
    "속삭이다",
)  # of elders
OPPOSITES = [
    set(pair.split("/"))
    for pair in [
        "부지런하다/게으르다",
        "싸다/비싸다",
        "깨끗하다/더럽다",
        "편하다/불편하다",
        "튼튼하다/낡다",
        "가볍다/무겁다",
        "쉽다/어렵다",
        "밝다/어둡다",
        "넓다/좁다",
        "안전하다/위험하다",
        "빠르다/느리다",
        "재미있다/재미없다",
        "재미있다/지루하다",
        "조용하다/시끄럽다",
        "맛있다/맛없다",
        "간단하다/복잡하다",
        "부드럽다/딱딱하다",
        "가깝다/멀다",
        "귀엽다/사납다",
        "착하다/게으르다",
        "예쁘다/더럽다",
        "편리하다/느리다",
        "유익하다/어렵다",
    ]
]
DAYS = {
    "월": "Monday",
    "화": "Tuesday",
    "수": "Wednesday",
    "목": "Thursday",
    "금": "Friday",
    "토": "Saturday",
    "일": "Sunday",
}
PASSING = {
    "배고프다",
    "목마르다",
    "졸리다",
    "배부르다",
    "무섭다",
    "기쁘다",
    "부끄럽다",
    "부럽다",
    "괜찮다",
}  # feelings of a moment
COMMUTING = {"출근하다", "퇴근하다", "등교하다"}
BY_VEHICLE = ("가다", "오다", "출근하다", "등교하다", "여행하다", "돌아오다", "돌아가다")
FOR_WHAT = {
    "먹다",
    "마시다",
    "사다",
    "보다",
    "읽다",
    "만들다",
    "배우다",
    "찾다",
    "쓰다",
    "듣다",
    "주문하다",
    "좋아하다",
    "가르치다",
    "그리다",
    "팔다",
    "준비하다",
}
WHILE = {  # what is done while doing what
    "듣다 heard": [
        "공부하다",
        "걷다",
        "요리하다 dish",
        "청소하다 room",
        "운동하다",
        "일하다",
        "쉬다",
        "산책하다",
        "설거지하다",
    ],
    "부르다 sung": ["걷다", "요리하다 dish", "청소하다 room", "샤워하다", "설거지하다"],
    "마시다 drink": ["공부하다", "일하다", "쉬다", "읽다 reading", "보다 media", "이야기하다 name"],
    "보다 media": ["먹다 snack", "먹다 meal", "쉬다"],
    "이야기하다 name": ["걷다", "산책하다", "먹다 meal", "마시다 drink"],
    "먹다 snack": ["보다 media", "읽다 reading", "걷다"],
}
WHO = {
    "남자": "아버지 삼촌 형 남편 아들 사촌 동료", "여자": "어머니 누나 아내 딸 이모 사촌 동료",
    "소년": "아들 남동생 조카 손자", "소녀": "딸 여동생 조카 손녀",
}  # fmt: skip
VISIBLE = {
    "크다",
    "작다",
    "예쁘다",
    "빨갛다",
    "파랗다",
    "노랗다",
    "까맣다",
    "하얗다",
    "낡다",
    "깨끗하다",
    "더럽다",
    "길다",
    "짧다",
    "두껍다",
}
SMALL = Verb("", Stem("하"), "do", (), (), frozenset(), ())  # stands for what happens on any day
ONCE = {  # what is worth telling that one has done it
    "가다",
    "방문하다",
    "여행하다",
    "배우다",
    "읽다",
    "보다",
    "만나다",
    "쓰다",
    "등산하다",
    "캠핑하다",
    "낚시하다",
    "가르치다",
    "심다",
    "기르다",
    "키우다",
    "구경하다",
    "번역하다",
    "빌리다",
    "만들다",
    "스키를 타다",
    "떨어지다",
    "싸우다",
    "먹다",
    "마시다",
    "요리하다",
    "타다",
    "치다",
    "하다",
    "부르다",
    "굽다",
    "불다",
    "수영하다",
    "운전하다",
}
COUNTING = {
    "먹다",
    "마시다",
    "사다",
    "팔다",
    "주문하다",
    "빌리다",
    "읽다",
    "만들다",
    "쓰다",
    "보내다",
    "받다",
    "깨뜨리다",
    "굽다",
    "그리다",
    "심다",
    "챙기다",
    "가져오다",
    "고르다",
    "삶다",
    "깎다",
    "기르다",
    "주다",
    "포장하다",
}
JOINING = {
    *COUNTING,
    "배우다",
    "공부하다",
    "좋아하다",
    "키우다",
    "가르치다",
    "원하다",
    "섞다",
    "맛보다",
    "요리하다",
    "볶다",
}
QUALIFYING = {
    "사다",
    "팔다",
    "먹다",
    "마시다",
    "입다",
    "신다",
    "쓰다",
    "보다",
    "읽다",
    "고르다",
    "받다",
    "찾다",
    "잃어버리다",
    "주다",
    "빌리다",
    "원하다",
    "가져오다",
    "버리다",
    "필요하다",
}
Subjects = Sequence[tuple[str, float]]
ANYBODY: Subjects = [("I", 0.36), ("pronoun", 0.2), ("name", 0.22), ("kin", 0.11), ("elder", 0.04), ("human", 0.07)]


@cache
def verbs_named(korean: str) -> tuple[Verb, ...]:
    """Return the verbs of a spelling."""
    return tuple(verb for verb in lexicon().verbs if verb.korean == korean)


@cache
def adjective_named(korean: str) -> Adjective:
    """Return the adjective of a spelling."""
    return next(one for one in lexicon().adjectives if one.korean == korean)


@cache
def said_of(noun: Noun) -> tuple[Adjective, ...]:
    """Return the adjectives that can stand before a noun."""
    found = lexicon()
    stuff = noun.article == "0" and "dish" not in noun.types  # it has no size
    return tuple(
        one
        for one in found.adjectives
        if "noun" in one.flags
        and not (stuff and one.korean in ("크다", "작다", "길다", "짧다", "예쁘다"))
        and any(noun in found.of(kind) for kind in one.types)
        and "person" not in noun.types
    )


@cache
def by_people() -> tuple[Verb, ...]:
    """Return what people do; what takes an object often, because there is more to say of it."""
    found = [verb for verb in lexicon().verbs if verb.subject == ("person",)]
    return tuple(verb for verb in found for _ in range(3 if verb.arguments else 1))


@cache
def by_others() -> tuple[Verb, ...]:
    """Return what animals and things do."""
    return tuple(verb for verb in lexicon().verbs if verb.subject not in (("person",), ("nobody",)))


@cache
def decided() -> tuple[Verb, ...]:
    """Return what people decide to do."""
    return tuple(verb for verb in by_people() if "will" in verb.flags)


@cache
def daily() -> tuple[Verb, ...]:
    """Return what belongs to everybody's days."""
    return tuple(verb for verb in by_people() if "daily" in verb.flags)


@cache
def times_for(kinds: tuple[str, ...], verb: Verb | None) -> tuple[Phrase, ...]:
    """Return the times of some kinds that go with a verb."""

    def fits(time: Phrase) -> bool:
        if verb is not None and "life" in verb.flags:
            return "life" in time.goes_with
        if "far" in time.goes_with:
            return verb is None or "big" in verb.flags
        if time.goes_with == ("near",):
            return verb is None or "big" not in verb.flags
        return not time.goes_with or (verb is not None and verb.korean in time.goes_with)

    return tuple(time for time in lexicon().times if time.kind in kinds and fits(time))
