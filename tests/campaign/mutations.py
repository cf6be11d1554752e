"""Seeded damage: what a disk, a network, a wrong tool or a hand may do to the bytes of a file.

content, kind of file, random numbers → mutate → the mutator's name, other bytes

Here is damage to plain bytes, text, gzip and protocol buffers; structured.py knows JSON and TOML, arrays.py .npz and
safetensors.
"""

import gzip
from collections.abc import Callable, Sequence
from functools import cache
from random import Random

from campaign import arrays, structured

Mutator = Callable[[bytes, Random], bytes]

MEMBER = 1 << 24  # bytes that one member of a bomb unpacks to
BOMB = 96  # members of a bomb: 1.5 GB out of 1.5 MB
LONG_LINE = 1 << 18  # letters of a very long line


def _place(content: bytes, rng: Random) -> int:
    """Return a place in a file; every fourth one lies in its first 64 bytes, where formats keep their heads."""
    most = min(len(content), 64) if rng.random() < 0.25 else len(content)
    return rng.randrange(most + 1)


def _span(content: bytes, rng: Random) -> tuple[int, int]:
    """Return the beginning and the end of a part of a file, short ones more often."""
    start = _place(content, rng)
    return start, min(len(content), start + int(2 ** rng.uniform(0, 12)))


def flip_bits(content: bytes, rng: Random) -> bytes:
    """Flip a few bits."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 8, 64])):
        if changed:
            changed[min(_place(content, rng), len(changed) - 1)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def set_zeros(content: bytes, rng: Random) -> bytes:
    """Make a part zeros, as a disk does that lost a block."""
    start, end = _span(content, rng)
    return content[:start] + bytes(end - start) + content[end:]


def set_ones(content: bytes, rng: Random) -> bytes:
    """Make a part 0xff."""
    start, end = _span(content, rng)
    return content[:start] + b"\xff" * (end - start) + content[end:]


def cut(content: bytes, rng: Random) -> bytes:
    """Cut the end off."""
    return content[: _place(content, rng)]


def cut_head(content: bytes, rng: Random) -> bytes:
    """Cut the beginning off."""
    return content[_place(content, rng) :]


def remove(content: bytes, rng: Random) -> bytes:
    """Take a part out."""
    start, end = _span(content, rng)
    return content[:start] + content[end:]


def repeat(content: bytes, rng: Random) -> bytes:
    """Write a part twice, or many times."""
    start, end = _span(content, rng)
    return content[:end] + content[start:end] * rng.choice([1, 2, 100]) + content[end:]


def insert(content: bytes, rng: Random) -> bytes:
    """Put random bytes in."""
    place = _place(content, rng)
    return content[:place] + rng.randbytes(rng.choice([1, 1, 4, 100])) + content[place:]


def swap(content: bytes, rng: Random) -> bytes:
    """Let two neighbouring parts change places."""
    first, second, third = sorted(_place(content, rng) for _ in range(3))
    return content[:first] + content[second:third] + content[first:second] + content[third:]


def splice(content: bytes, rng: Random) -> bytes:
    """Put the beginning of the file before its own end from elsewhere."""
    return content[: _place(content, rng)] + content[_place(content, rng) :]


def huge_length(content: bytes, rng: Random) -> bytes:
    """Write a huge number where a length may stand."""
    start = _place(content, rng)
    width = rng.choice([2, 4, 8])
    number = rng.choice([b"\xff" * width, b"\x7f" + b"\xff" * (width - 1), b"\xff" * (width - 1) + b"\x7f"])
    return content[:start] + number + content[start + width :]


def empty(content: bytes, rng: Random) -> bytes:
    """Leave nothing."""
    return b""


def other_bytes(content: bytes, rng: Random) -> bytes:
    """Write random bytes of the same length, or a file of another kind."""
    return rng.choice(
        [rng.randbytes(len(content)), b"PK\x03\x04", b"\x1f\x8b\x08\x00", b"\x89PNG\r\n\x1a\n", b"{}", b"\n"]
    )


# --- text


def invalid_utf8(content: bytes, rng: Random) -> bytes:
    """Put bytes in that are no UTF-8."""
    place = _place(content, rng)
    return (
        content[:place]
        + rng.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc7\xd1\xb1\xdb"])
        + content[place:]
    )


def control_characters(content: bytes, rng: Random) -> bytes:
    """Put in what a terminal obeys, or what is no character."""
    place = _place(content, rng)
    strange = ["\0", "\x1b[2J\x1b[31m", "\b\b\b", "\u202e", "\u2028", "\x85", "\ufeff", "\ufffe", "\U0001f3f4", "́" * 50]
    return content[:place] + rng.choice(strange).encode() + content[place:]


def other_encoding(content: bytes, rng: Random) -> bytes:
    """Write the text as other systems do."""
    text = content.decode("utf-8", "replace")
    return rng.choice(
        [b"\xef\xbb\xbf" + content, text.encode("utf-16"), text.encode("utf-16-le"), text.encode("cp1252", "replace")]
    )


def other_line_ends(content: bytes, rng: Random) -> bytes:
    """End lines as Windows or as old Macs do, or not at all."""
    return content.replace(b"\n", rng.choice([b"\r\n", b"\r", b"\n\n", b"\n\r", b""]))


def long_line(content: bytes, rng: Random) -> bytes:
    """Put a very long line or word in."""
    place = _place(content, rng)
    return content[:place] + rng.choice([b"a", b"a ", b"7", b'"', b"\xea\xb0\x80"]) * LONG_LINE + content[place:]


def unequal_columns(content: bytes, rng: Random) -> bytes:
    """Give a line more or fewer columns, or quotation marks that do not close."""
    lines = content.split(b"\n")
    number = rng.randrange(len(lines))
    marks = [mark for mark in (b"\t", b",", b";", b" ", b'"') if mark in content] or [b"\t"]
    mark = rng.choice(marks)
    lines[number] = rng.choice(
        [lines[number] + mark, mark + lines[number], lines[number].replace(mark, b"", 1), lines[number].replace(mark, mark * 9), b'"' + lines[number]]
    )  # fmt: skip
    return b"\n".join(lines)


def other_lines(content: bytes, rng: Random) -> bytes:
    """Drop, repeat, empty or exchange lines."""
    lines = content.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(4)
    if way == 0:
        del lines[first]
    elif way == 1:
        lines.insert(second, lines[first])
    elif way == 2:
        lines[first] = rng.choice([b"", b" ", b"\t", b",", b"\x1b"])
    else:
        lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def other_word(content: bytes, rng: Random) -> bytes:
    """Write something else where a word or a number stands."""
    words = content.split(b" " if rng.random() < 0.5 else b"\n")
    strange = ["", "-1", "nan", "inf", "-inf", "1e999", "9" * 5000, "0x10", "1_000", "٣", "½", "null", "None", "true", "9999-99-99", "=1+1", "../../x", "/", "a" * 300]  # fmt: skip
    return content.replace(rng.choice(words) or b" ", rng.choice(strange).encode(), rng.choice([1, 1, -1]))


# --- gzip and protocol buffers


@cache
def _member(letter: bytes) -> bytes:
    return gzip.compress(letter * MEMBER, 1)


def bomb(content: bytes, rng: Random) -> bytes:
    """Unpack to far more than is there: 1.5 GB of one letter, behind the file or instead of it."""
    return rng.choice([content, b""]) + _member(rng.choice([b"\0", b"a", b"7"])) * BOMB


def inside(mutator: Mutator) -> Mutator:
    """Return a mutator of what a gzip file holds."""

    def repacked(content: bytes, rng: Random) -> bytes:
        return gzip.compress(mutator(gzip.decompress(content), rng), 1, mtime=0)

    repacked.__name__ = f"{mutator.__name__} inside"
    return repacked


def long_varint(content: bytes, rng: Random) -> bytes:
    """Put a number of far too many bytes in."""
    place = _place(content, rng)
    return (
        content[:place] + b"\xff" * rng.choice([5, 9, 10, 11, 400_000]) + rng.choice([b"\x01", b""]) + content[place:]
    )


def other_field(content: bytes, rng: Random) -> bytes:
    """Add a field: of another kind, nested in nothing, announced longer than it is."""
    number, kind = rng.randrange(1, 9), rng.randrange(8)
    value = rng.choice([b"", b"\x00", b"\x04abcd", b"\xff\x01", rng.randbytes(9)])
    place = rng.choice([0, len(content), _place(content, rng)])
    return content[:place] + bytes([number << 3 | kind]) + value + content[place:]


# --- by kind of file

BYTES: Sequence[Mutator] = (
    flip_bits, flip_bits, set_zeros, set_ones, cut, cut, cut_head, remove, repeat, insert, swap, splice, huge_length, empty, other_bytes,
)  # fmt: skip
TEXT: Sequence[Mutator] = (
    invalid_utf8, control_characters, other_encoding, other_line_ends, long_line, unequal_columns, other_lines, other_word, other_word,
)  # fmt: skip
PACKED: Sequence[Mutator] = (bomb, cut, cut, cut_head, flip_bits, flip_bits, insert, remove, set_zeros, splice)
KINDS: dict[str, tuple[Sequence[Mutator], ...]] = {  # each group of mutators is drawn from as often as the others
    "bytes": (BYTES,),
    "text": (BYTES, TEXT, TEXT),
    "json": (BYTES, TEXT, structured.JSON, structured.JSON, structured.JSON),
    "jsonl": (BYTES, TEXT, structured.JSONL, structured.JSONL),
    "toml": (BYTES, TEXT, structured.TOML, structured.TOML),
    "npz": (BYTES, arrays.NPZ, arrays.NPZ),
    "safetensors": (BYTES, arrays.SAFETENSORS, arrays.SAFETENSORS),
    "protobuf": (BYTES, BYTES, (long_varint, other_field)),
    "gzip": (BYTES, PACKED, [inside(one) for one in BYTES]),
    "gzip text": (BYTES, PACKED, [inside(one) for one in TEXT]),
}


def mutate(content: bytes, kind: str, rng: Random) -> tuple[str, bytes]:
    """Return the name of a mutator of a kind of file, and what it makes of a file."""
    mutator = rng.choice(rng.choice(KINDS[kind]))
    return mutator.__name__, mutator(content, rng)
