"""Labels of tokens as people read them: the bytes of one character, scattered over tokens, joined again.

["<EB>", "<84>", "<8C>"] → ["넌", "·", "·"]; lens/page/labels.js has the same rule
"""

import re
from collections.abc import Sequence

CLASS = "[CLASS]"  # the label of what stands before the cells of an image
REST = "·"  # stands for a token that is the rest of a character begun before it
BYTE = re.compile(r"<([89A-F][0-9A-F])>")  # a byte of a character that is not whole inside its token


def readable_labels(labels: Sequence[str]) -> list[str]:
    """Return labels in which a character stands with the token that has its first byte.

    Bytes that make no character together keep their names.
    """
    shown = [""] * len(labels)
    run: list[tuple[int, int]] = []  # neighbouring bytes, each with the place of its label
    for place, label in enumerate(labels):
        for part in re.split(r"(<[89A-F][0-9A-F]>)", label):
            if found := BYTE.fullmatch(part):
                run.append((int(found[1], 16), place))
            elif part:
                _write(run, shown)
                shown[place] += part
    _write(run, shown)
    return shown


def cell_labels(grid: tuple[int, int], special: int) -> tuple[str, ...]:
    """Return the label of each token of an image: "row,column" from 1 for cells, after the special tokens before them."""
    cells = (f"{row + 1},{column + 1}" for row in range(grid[0]) for column in range(grid[1]))
    return (*[CLASS] * special, *cells)


def join_bytes(text: str) -> str:
    """Return text with the characters that its named bytes make together."""
    return readable_labels([text])[0]


def _write(run: list[tuple[int, int]], shown: list[str]) -> None:
    """Add a run of bytes to the labels they belong to, as characters where they make some, and forget the run."""
    at = 0
    while at < len(run):
        byte, place = run[at]
        length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        part = run[at : at + length]
        character = _decode(bytes(one for one, _ in part))
        if character is None:
            shown[place] += f"<{byte:02X}>"
            at += 1
            continue
        shown[place] += character
        for later in {where for _, where in part} - {place}:
            shown[later] += REST
        at += length
    run.clear()


def _decode(one: bytes) -> str | None:
    """Return the one character that some bytes are, or None."""
    try:
        text = one.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if len(text) == 1 else None
