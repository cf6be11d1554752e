"""SentencePiece models made byte by byte: what is damaged is told at once, however long it is."""

import struct
import time

import numpy as np
import pytest

from jumok.data.text.character_map import check_character_map
from jumok.errors import DataError
from jumok.export.sentencepiece import read_pieces


def number(value):
    """Return a whole number as protocol buffers have it."""
    raw = bytearray()
    while value > 0x7F:
        raw.append(0x80 | value & 0x7F)
        value >>= 7
    return bytes([*raw, value])


def entry(place, value):
    """Return a field of a message: a whole number, four bytes of a float, or bytes."""
    if isinstance(value, int):
        return number(place << 3) + number(value)
    if isinstance(value, float):
        return number(place << 3 | 5) + struct.pack("<f", value)
    return number(place << 3 | 2) + number(len(value)) + value


def piece(text, score=-1.5, kind=1):
    return entry(1, entry(1, text.encode()) + entry(2, score) + entry(3, kind))


def character_map(units, texts=b"b\0"):
    raw = np.zeros(512, dtype="<u4")
    for place, unit in units.items():
        raw[place] = unit
    return struct.pack("<I", raw.nbytes) + raw.tobytes() + texts


GOOD = piece("▁a") + piece("<unk>", 0.0, 2) + piece("b", -2.5)
LEAF = 1 << 8
# From the root by the byte of "a" to unit 97, and from there (its offset is 256) to 97 ^ 256, where its value stands.
A_IS_B = {97: 97 | LEAF | 256 << 10, 97 ^ 256: 0x80000000}


def read(tmp_path, content):
    path = tmp_path / "source.spm"
    path.write_bytes(content)
    return read_pieces(path)


def test_pieces_are_read(tmp_path):
    normaliser = entry(3, entry(2, character_map(A_IS_B)) + entry(4, 0))
    found = read(tmp_path, GOOD + entry(2, entry(3, 1)) + normaliser)
    assert found.scores == {"▁a": -1.5, "b": -2.5}
    assert found.characters == character_map(A_IS_B)
    assert found.keeps_spaces


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff" * 400_000, "a number of more than 10 bytes"),
        (GOOD + b"\x80" * 9, "it is cut off"),
        (GOOD[:-1], "it is cut off"),
        (number(1 << 3 | 2) + number(2**62), "it is cut off"),
        (GOOD + entry(1, entry(1, 7)), "a number stands where a text is needed"),
        (GOOD + entry(1, entry(2, 1.0)), "a number stands where a text is needed"),
        (GOOD + entry(2, 5), "a number stands where a text is needed"),
        (GOOD + entry(3, entry(2, 5)), "a number stands where a text is needed"),
        (GOOD + number(1 << 3 | 3), "a field of kind 3"),
        (GOOD + entry(1, entry(1, b"\xff")), "'utf-8' codec can't decode byte 0xff"),
        (GOOD + piece("c", float("nan")), "a piece's score is no number"),
        (GOOD + entry(1, entry(1, b"c") + entry(2, b"12345")), "a piece's score is no number"),
        (GOOD + entry(3, entry(2, b"damaged")), "its map of characters is damaged"),
        (GOOD + entry(3, entry(2, character_map(A_IS_B)[:-1500])), "its map of characters is damaged"),
        (entry(9, 1), "no pieces"),
        (b"", "no pieces"),
    ],
)
def test_what_is_damaged_is_told_at_once(tmp_path, content, why):
    started = time.perf_counter()
    with pytest.raises(DataError) as told:
        read(tmp_path, content)
    assert str(told.value).startswith(f"{tmp_path}/source.spm is no SentencePiece model ({why}")
    assert time.perf_counter() - started < 2


def test_another_kind_of_model_is_told(tmp_path):
    with pytest.raises(DataError, match=r"is no unigram model; jumok reads SentencePiece's unigram models"):
        read(tmp_path, GOOD + entry(2, entry(3, 2)))


@pytest.mark.parametrize(
    ("units", "texts", "why"),
    [
        ({97: 97 | 5000 << 10}, b"b\0", "leads beyond its end"),
        ({0: 512 << 10}, b"b\0", "leads beyond its end"),
        (A_IS_B | {97 ^ 256: 0x80000003}, b"b\0", "has replacements that are not there"),
        (A_IS_B | {97 ^ 256: 0x80000001}, "가\0".encode(), "has replacements that are not there"),
    ],
)
def test_a_map_that_would_stop_the_process_is_refused(units, texts, why):
    """The library panics at the first such letter; a text may lead anywhere that its bytes can."""
    check_character_map(character_map(A_IS_B))
    with pytest.raises(ValueError, match=why):
        check_character_map(character_map(units, texts))
