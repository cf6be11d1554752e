"""Numbers in words: Korean's own (세 개) and the Chinese ones (삼월), English, clock times, dates and prices."""

from jumok.data.builtin.korean.lexicon import Phrase

OWN = ["", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉"]
OWN_ALONE = ["", "하나", "둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉"]
OWN_TENS = ["", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"]
CHINESE = ["", "일", "이", "삼", "사", "오", "육", "칠", "팔", "구"]
ENGLISH = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
ENGLISH_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
]  # fmt: skip


def own(number: int) -> str:
    """Return a Korean number below 100 as it stands before a counter: 스물세."""
    if number == 20:
        return "스무"
    return OWN_TENS[number // 10] + OWN[number % 10]


def chinese(number: int) -> str:
    """Return a number below 100 million in Chinese words: 만 오천."""
    if number >= 10_000:
        tens_of_thousands = "" if number // 10_000 == 1 else chinese(number // 10_000)
        rest = chinese(number % 10_000)
        return f"{tens_of_thousands}만 {rest}".strip()
    found = ""
    for unit, name in ((1000, "천"), (100, "백"), (10, "십"), (1, "")):
        digit = number // unit % 10
        if digit:
            found += ("" if digit == 1 and name else CHINESE[digit]) + name
    return found


def english(number: int) -> str:
    """Return a number in English words below 100, in digits from there on."""
    if number < 20:
        return ENGLISH[number]
    if number < 100:
        ones = f"-{ENGLISH[number % 10]}" if number % 10 else ""
        return ENGLISH_TENS[number // 10] + ones
    return f"{number:,}"


def clock(hour: int, minute: int, half: str = "") -> Phrase:
    """Return a time of day; half: morning, afternoon, evening or none."""
    before = {"": "", "morning": "아침 ", "afternoon": "오후 ", "evening": "저녁 "}[half]
    minutes = {0: "", 30: " 반"}.get(minute, f" {chinese(minute)} 분")
    korean = f"{before}[{own(hour)}] 시{minutes}에"
    exact = f"at [{english(hour)}]" + (f" {english(minute)}" if minute else "" if half else " o'clock")
    return Phrase(korean, exact + (f" in the {half}" if half else ""), "clock")


def date(month: int, day: int) -> Phrase:
    """Return a day of the year."""
    return Phrase(f"[{month}월] {day}일", f"[{MONTHS[month - 1]}] {day}", "date")


def duration(number: int, unit: str) -> Phrase:
    """Return how long something takes: minutes, hours, days, months, years."""
    korean, name = {
        "minute": (f"[{chinese(number)}] 분", "minute"), "hour": (f"[{own(number)}] 시간", "hour"),
        "day": (f"[{chinese(number)}] 일", "day"), "month": (f"[{own(number)}] 달", "month"),
        "year": (f"[{chinese(number)}] 년", "year"), "week": (f"[{chinese(number)}] 주", "week"),
    }[unit]  # fmt: skip
    return Phrase(korean, f"[{english(number)}] {name}{'s' if number > 1 else ''}", "duration")


def price(won: int) -> Phrase:
    """Return a sum of money."""
    return Phrase(f"[{chinese(won)}] 원", f"[{won:,}] won", "price")
