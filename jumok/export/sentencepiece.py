"""SentencePiece models, read without their library: pieces and scores, and how text is normalised.

source.spm (a protocol buffer) → pieces (text, score, kind), character map → a unigram tokenizer over a given order of ids
"""

import math
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Library

from jumok.data.text.character_map import check_character_map
from jumok.data.text.tokenizer import SPECIALS, UNKNOWN, Tokenizer
from jumok.errors import DataError
from jumok.reading import read_bytes

NORMAL, UNIGRAM = 1, 1  # kinds of pieces and of models, as SentencePiece numbers them
LANGUAGE = re.compile(">>.+<<")
LONGEST = 10  # bytes of a whole number: seven bits in each
FAR = 1e4  # below every score: pieces of the other language, which this side never writes


@dataclass
class Pieces:
    """What a SentencePiece model knows."""

    scores: dict[str, float] = field(default_factory=dict)  # of normal pieces
    characters: bytes = b""  # the compiled map of its normalisation
    keeps_spaces: bool = False


def read_pieces(path: Path) -> Pieces:
    """Return the contents of a SentencePiece model."""
    content = read_bytes(path, _refuse)
    try:
        found = Pieces()
        for number, value in _fields(content):
            if number == 1:  # a piece: text, score, kind
                parts = dict(_fields(_bytes(value)))
                if parts.get(3, NORMAL) == NORMAL:
                    found.scores[_bytes(parts.get(1)).decode("utf-8")] = _score(parts.get(2, bytes(4)))
            elif number == 2 and dict(_fields(_bytes(value))).get(3, UNIGRAM) != UNIGRAM:  # how it was trained
                raise DataError(f"{path} is no unigram model; jumok reads SentencePiece's unigram models")
            elif number == 3:  # how text is normalised
                parts = dict(_fields(_bytes(value)))
                found.characters, found.keeps_spaces = _bytes(parts.get(2, b"")), not parts.get(4, 1)
        if not found.scores:
            raise ValueError("no pieces")
        if found.characters:
            check_character_map(found.characters)
    except ValueError as error:
        raise _refuse(str(path), str(error)) from None
    return found


def _refuse(place: str, why: str) -> DataError:
    return DataError(f"{place} is no SentencePiece model ({why}); copy it again")


def _bytes(value: int | bytes | None) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number stands where a text is needed")
    return value


def _score(value: int | bytes) -> float:
    raw = _bytes(value)
    score: float = struct.unpack("<f", raw)[0] if len(raw) == 4 else math.nan
    if not math.isfinite(score):
        raise ValueError("a piece's score is no number")
    return score


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field of a message: whole numbers, four or eight bytes, or bytes."""
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, place = _varint(data, place)
            yield number, value
            continue
        if kind == 2:
            size, place = _varint(data, place)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field of kind {kind}")
        if place + size > len(data):
            raise ValueError("it is cut off")
        yield number, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return a whole number, seven bits in each byte, and the place behind it."""
    value = 0
    for shift, byte in enumerate(data[place : place + LONGEST]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, place + shift + 1
    raise ValueError("it is cut off" if place + LONGEST > len(data) else f"a number of more than {LONGEST} bytes")


def unigram_tokenizer(pieces: Pieces, order: Mapping[int, str]) -> Tokenizer:
    """Return a tokenizer that cuts as the pieces' model does; order gives each id from the special ones on its token."""
    lowest = min(pieces.scores.values())
    vocabulary = [(name, 0.0) for name in SPECIALS]
    for number in range(len(SPECIALS), len(order) + len(SPECIALS)):
        vocabulary.append((order[number], pieces.scores.get(order[number], lowest - FAR)))
    library = Library(models.Unigram(vocabulary, unk_id=UNKNOWN))
    steps: list[Any] = [normalizers.Precompiled(pieces.characters)] if pieces.characters else []
    if not pieces.keeps_spaces:
        steps += [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    if steps:
        library.normalizer = normalizers.Sequence(steps)
    # Which language to write in, where a model knows several: never cut, and no part of the text.
    library.add_tokens([AddedToken(t, normalized=False) for t in order.values() if LANGUAGE.fullmatch(t)])
    library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    library.decoder = decoders.Metaspace()
    return Tokenizer(library.to_str())
