"""A text that is too long for a model, cut where it hurts least."""

from collections.abc import Callable

SENTENCE_ENDS = ".!?。！？…;؟।"
NO_SPACE_AFTER = "。！？"  # the next sentence follows at once


def longest_beginning(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest beginning that fits and ends at a sentence, else at a word, else anywhere."""
    low, high = 0, len(text)
    while low < high:  # tokens hardly ever get fewer as text grows: bisect
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(text[:middle]) else (low, middle - 1)
    ends = [
        place + 1
        for place in range(low // 2, low)
        if text[place] in NO_SPACE_AFTER or (text[place] in SENTENCE_ENDS and text[place + 1 : place + 2].isspace())
    ]
    spaces = [place for place in range(low // 2, low + 1) if text[place : place + 1].isspace()]
    return text[: (ends or spaces or [low])[-1]].rstrip()
