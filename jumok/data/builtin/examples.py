"""The examples that shipped translators are shown on, which therefore stay out of what they learn from.

A sentence is like an example if both are equal but for case and punctuation or, from five words up, differ in one word.
"""

import re

EXAMPLES = (
    "Who are you?", "넌 누구니?", "너는 누구니?", "넌 누구야?", "너는 누구야?", "누구세요?", "당신은 누구입니까?", "당신은 누구세요?",
    "누구니?", "누구야?", "누구십니까?",
    "I like you.", "나는 너를 좋아해.", "난 널 좋아해.", "난 너를 좋아해.", "나는 널 좋아해.", "나는 너를 좋아한다.", "널 좋아해.",
    "너를 좋아해.", "저는 당신을 좋아해요.", "저는 당신을 좋아합니다.", "당신을 좋아해요.",
    "The animal didn't cross the street because it was too tired.",
    "The animal did not cross the street because it was too tired.",
    "그 동물은 너무 피곤해서 길을 건너지 않았다.", "그 동물은 너무 지쳐서 길을 건너지 않았다.",
    "He hit me with a pie.", "그가 나를 파이로 때렸다.", "그는 나를 파이로 때렸다.", "그가 파이로 나를 때렸다.", "그는 파이로 나를 때렸다.",
    "The chef cooked the meal.", "요리사가 식사를 요리했다.", "요리사가 음식을 요리했다.", "요리사가 요리를 했다.", "요리사는 식사를 요리했다.",
    "요리사가 식사를 요리했어요.", "요리사가 음식을 요리했어요.", "요리사가 음식을 만들었다.", "요리사가 식사를 만들었다.",
    "The meal cooked the chef.", "식사가 요리사를 요리했다.", "음식이 요리사를 요리했다.", "요리가 요리사를 요리했다.",
    "The police arrested the thief.", "경찰이 도둑을 체포했다.", "경찰이 도둑을 잡았다.", "경찰은 도둑을 체포했다.", "경찰은 도둑을 잡았다.",
    "경찰이 도둑을 체포했어요.", "경찰이 도둑을 잡았어요.", "경찰이 도둑을 체포했습니다.", "경찰이 도둑을 잡았습니다.",
    "The thief arrested the police.", "도둑이 경찰을 체포했다.", "도둑이 경찰을 잡았다.", "도둑은 경찰을 체포했다.", "도둑은 경찰을 잡았다.",
    "도둑이 경찰을 체포했어요.", "도둑이 경찰을 잡았어요.", "도둑이 경찰을 체포했습니다.", "도둑이 경찰을 잡았습니다.",
    "The cat chased the mouse.", "고양이가 쥐를 쫓았다.", "고양이가 쥐를 쫓아갔다.", "고양이는 쥐를 쫓았다.", "고양이가 쥐를 쫓았어요.",
    "고양이가 쥐를 쫓았습니다.", "고양이가 쥐를 쫓았어.", "고양이는 쥐를 쫓았어요.", "고양이는 쥐를 쫓았습니다.", "고양이는 쥐를 쫓았어.",
    "The mouse chased the cat.", "쥐가 고양이를 쫓았다.", "쥐가 고양이를 쫓아갔다.", "쥐는 고양이를 쫓았다.", "쥐가 고양이를 쫓았어요.",
    "쥐가 고양이를 쫓았습니다.", "쥐가 고양이를 쫓았어.", "쥐는 고양이를 쫓았어요.", "쥐는 고양이를 쫓았습니다.", "쥐는 고양이를 쫓았어.",
    "Thinking Machines", "생각하는 기계", "생각하는 기계들",
)  # fmt: skip
LONG = 5  # words, from which one word's difference is still too like
_NOT_A_WORD = re.compile(r"[^\w\s]|_")


def words_of(text: str) -> list[str]:
    """Return the words of a sentence without case and punctuation."""
    return _NOT_A_WORD.sub("", text.casefold()).split()


_WORDS = [words_of(example) for example in EXAMPLES]
_WHOLE = {"".join(words) for words in _WORDS}
_BY_LENGTH: dict[int, list[list[str]]] = {}
for _example in _WORDS:
    if len(_example) >= LONG:
        for _length in (len(_example) - 1, len(_example), len(_example) + 1):
            _BY_LENGTH.setdefault(_length, []).append(_example)


def is_example(text: str) -> bool:
    """Return whether a sentence is one of the examples, or too like one."""
    words = words_of(text)
    return "".join(words) in _WHOLE or any(_one_apart(words, example) for example in _BY_LENGTH.get(len(words), ()))


def _one_apart(words: list[str], example: list[str]) -> bool:
    """Return whether one word replaced, added or left out makes a sentence of the other."""
    same = 0
    while same < min(len(words), len(example)) and words[same] == example[same]:
        same += 1
    rest, other = words[same:], example[same:]
    return rest[1:] == other[1:] or rest[1:] == other or rest == other[1:]
