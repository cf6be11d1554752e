"""Names of tokens for people: one for each token of a row or a line, and the word that it belongs to."""

from collections.abc import Sequence

from jumok.data.text.tokenizer import UNKNOWN, Tokenizer

MASK = "[MASK]"
SIGNS = str.maketrans({"\n": "⏎", "\t": "⇥", "\r": "␍"})


def visible_labels(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """Return a name for each id; signs stand for line breaks and tabs, so that a drawing keeps its lines.

    A mask, whose id stands behind the tokenizer's own, is named as users write it.
    """
    known = _known(tokenizer, ids)
    labels = [label.translate(SIGNS) for label in tokenizer.labels(known)]
    return [MASK if index >= len(tokenizer) else label for index, label in zip(ids, labels, strict=True)]


def word_numbers(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[int, ...]:
    """Return the number of the word that each id belongs to, counted from 0.

    A mask is a word by itself, and a line break ends a word as a space does.
    """
    known = _known(tokenizer, ids)
    breaks = [not label.strip("\n\t\r") for label in tokenizer.labels(known)]
    numbers: list[int] = []
    words = tokenizer.words(known)
    for place, word in enumerate(words):
        begins = place > 0 and (word != words[place - 1] or breaks[place] != breaks[place - 1])
        numbers.append(numbers[-1] + begins if numbers else 0)
    return tuple(numbers)


def text_with_masks(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """Return the text of ids with [MASK] where a token is masked; special tokens are left out."""
    parts: list[list[int]] = [[]]
    for index in ids:
        if index >= len(tokenizer):
            parts.append([])
        else:
            parts[-1].append(index)
    return f" {MASK} ".join(tokenizer.decode(part).strip() for part in parts).strip()


def _known(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    return [int(index) if index < len(tokenizer) else UNKNOWN for index in ids]
