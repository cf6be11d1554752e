"""Subword dropout (Provilkov et al. 2020; Kudo 2018): each epoch sees words cut into other pieces.

TokenSide → distinct words → table of VARIANTS segmentations each → epoch e: one of them for every word of the text
The library's own dropout cannot be seeded. Here variant k of a word is a pure function of (word, k, rate), and which
variant the n-th word of the corpus takes is one of (seed, epoch, n): neither workers nor their order matter.
The table is made once and kept in the cache.
"""

import hashlib
import math
from collections.abc import Callable, Iterator
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import numpy as np

from jumok.cache import cache_key, cached_folder
from jumok.data.store import TokenSide, array_hash, map_array, refuse_damage
from jumok.data.text.tokenizer import SPECIALS, TAG, UNKNOWN, Tokenizer
from jumok.errors import ConfigError

VARIANTS = 16
SHARPNESS = 0.0225  # of unigram sampling, see _sample_unigram
FORMAT = 1
CHUNK = 1 << 20  # tokens, or table cells, worked on at once
WordsDone = Callable[[int, int], None]  # words cut so far, and words in all
Words = list[tuple[int, ...]]
Variants = Iterator[tuple[int, list[list[int]]]]
Lattice = list[list[tuple[float, int, int]]]
COLUMNS = VARIANTS + 1  # of a word in starts and lengths; the last is the word as it stands
_FILES = {"occurrences": "<u4", "word_offsets": "<i8", "ids": "<u4", "starts": "<i8", "lengths": "<i8"}


class SubwordSampler:
    """Draws a new segmentation of one side of a corpus for each epoch."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        side: TokenSide,
        rate: float,
        seed: int,
        *,
        longest: int = 0,
        progress: WordsDone | None = None,
    ) -> None:
        """Prepare sampling.

        A sentence that would have more than longest tokens (0: than the longest of the side) stays as it is.
        progress(words done, words in all) is called while the table is made, at the first epoch.
        """
        if tokenizer.kind not in ("bpe", "unigram"):
            raise ConfigError(f"subword dropout needs a tokenizer of kind 'bpe' or 'unigram', not '{tokenizer.kind}'")
        assert side.words is not None, "the side must say where words begin"
        self._tokenizer, self._side, self._rate, self._seed, self._progress = tokenizer, side, rate, seed, progress
        self._longest = longest or int(side.lengths.max(initial=0))
        self._table: dict[str, np.ndarray] = {}

    def epoch(self, epoch: int) -> TokenSide:
        """Return the side as epoch sees it."""
        if not self._table:
            self._table = self._open(cached_folder(self._key(), self._build))
        digest = hashlib.blake2b(f"{self._seed} {epoch}".encode(), digest_size=8).digest()
        key = np.uint64(int.from_bytes(digest, "little"))
        return SampledSide(self._table, key=key, longest=self._longest, kind=self._side.ids.dtype)

    def _open(self, folder: Path) -> dict[str, np.ndarray]:
        with refuse_damage(folder, "the table of subwords"):
            table = {name: map_array(folder / name, kind) for name, kind in _FILES.items()}
            whole = len(table["starts"]) == len(table["lengths"]) and len(table["ids"]) == table["lengths"].sum()
            whole = whole and len(table["word_offsets"]) == len(self._side) + 1
            whole = whole and len(table["occurrences"]) == table["word_offsets"][-1]
            if not whole:
                raise ValueError("a file is cut off")
        return table

    def _key(self) -> str:
        assert self._side.words is not None
        content = array_hash(self._side.ids, self._side.words, self._side.offsets)
        return cache_key("subwords", VARIANTS, self._rate, self._tokenizer.fingerprint, content, format=FORMAT)

    def _build(self, folder: Path) -> None:
        with open(folder / "occurrences", "wb") as file:
            words, keys, word_offsets = _distinct_words(self._side, file.write)
        sample = _sample_bpe if self._tokenizer.kind == "bpe" else _sample_unigram
        lengths = np.zeros((len(words), COLUMNS), dtype="<i8")
        pieces: list[Any] = [None] * len(words)
        sampled = sample(self._tokenizer.model, words, keys, rate=self._rate)
        for done, (index, variants) in enumerate(sampled, start=1):
            variants = [*variants, list(words[index])]
            lengths[index] = [len(variant) for variant in variants]
            pieces[index] = np.fromiter((token for variant in variants for token in variant), dtype="<u4")
            if self._progress and (done % 1000 == 0 or done == len(words)):
                self._progress(done, len(words))
        starts = np.cumsum(lengths).reshape(lengths.shape) - lengths
        ids = np.concatenate([*pieces, np.empty(0, dtype="<u4")])
        for name, array in (("word_offsets", word_offsets), ("ids", ids), ("starts", starts), ("lengths", lengths)):
            (folder / name).write_bytes(array.tobytes())


class SampledSide(TokenSide):
    """A side in one epoch's segmentation, put together sentence by sentence; it has no ids array of its own."""

    def __init__(self, table: dict[str, np.ndarray], *, key: np.uint64, longest: int, kind: Any) -> None:
        self._table, self._kind = table, kind
        offsets = table["word_offsets"]
        self.lengths = np.zeros(len(offsets) - 1, dtype=np.int64)
        self._variants = np.zeros(len(table["occurrences"]), dtype=np.uint8)  # that each word of the corpus takes
        step = max(1, CHUNK * len(self.lengths) // max(1, len(self._variants)))  # sentences with about CHUNK words
        for first in range(0, len(self.lengths), step):
            bounds = offsets[first : first + step + 1]
            begin, end = int(bounds[0]), int(bounds[-1])
            rows = table["occurrences"][begin:end].astype(np.int64) * COLUMNS
            variants = _mix(key + np.arange(begin, end, dtype=np.uint64) * _STEP) % np.uint64(VARIANTS)
            lengths = _sums(table["lengths"][rows + variants.astype(np.int64)], bounds - begin)
            grown = lengths > longest  # too long for position tables and budgets made for the text as it stands
            variants[np.repeat(grown, np.diff(bounds))] = VARIANTS
            self._variants[begin:end] = variants
            self.lengths[first : first + step] = np.where(
                grown, _sums(table["lengths"][rows + VARIANTS], bounds - begin), lengths
            )

    def __getitem__(self, index: int) -> np.ndarray:
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        begin, end = self._table["word_offsets"][index : index + 2].tolist()
        rows = self._table["occurrences"][begin:end].astype(np.int64) * COLUMNS + self._variants[begin:end]
        lengths = self._table["lengths"][rows]
        shift = (
            self._table["starts"][rows] - lengths.cumsum() + lengths
        )  # from place in the sentence to place in the table
        ids: np.ndarray = self._table["ids"][shift.repeat(lengths) + np.arange(self.lengths[index])]
        return ids.astype(self._kind)


def _sums(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the sum of values between each two neighbours of bounds."""
    before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(values, dtype=np.int64)])
    sums: np.ndarray = np.diff(before[bounds])
    return sums


# --- numbers that look random and depend on their counter only (SplitMix64)

_STEP = np.uint64(0x9E3779B97F4A7C15)


def _mix(numbers: np.ndarray) -> np.ndarray:
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = numbers ^ (numbers >> np.uint64(31))
    return mixed


# --- words


def _distinct_words(side: TokenSide, write: Callable[[bytes], Any]) -> tuple[Words, np.ndarray, np.ndarray]:
    """Return the distinct words (as ids), a hash of each, and where each sentence's words begin.

    The number of each word of the corpus, in order, is handed to write.
    """
    assert side.words is not None
    numbers: dict[int, int] = {}
    words: Words = []
    word_offsets = np.zeros(len(side) + 1, dtype="<i8")
    step = max(1, CHUNK * len(side) // max(1, len(side.ids)))
    for first in range(0, len(side), step):
        last = min(first + step, len(side))
        begin, end = int(side.offsets[first]), int(side.offsets[last])
        ids, flags = side.ids[begin:end].astype(np.uint64), side.words[begin:end].astype(np.int64)
        before = np.concatenate([[0], np.cumsum(flags)])
        word_offsets[first + 1 : last + 1] = word_offsets[first] + before[side.offsets[first + 1 : last + 1] - begin]
        starts = np.flatnonzero(flags)
        if not len(starts):
            continue
        sizes = np.diff(starts, append=len(ids))
        place = (np.arange(len(ids)) - np.repeat(starts, sizes)).astype(np.uint64)
        hashes = np.add.reduceat(_mix(ids * _STEP + _mix(place + np.uint64(1))), starts)
        distinct, where, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        for hashed, index in zip(distinct.tolist(), where.tolist(), strict=True):
            if hashed not in numbers:
                numbers[hashed] = len(words)
                words.append(tuple(ids[starts[index] : starts[index] + sizes[index]].tolist()))
        local = np.fromiter((numbers[hashed] for hashed in distinct.tolist()), dtype="<u4", count=len(distinct))
        write(local[inverse].tobytes())
    return words, np.fromiter(numbers, dtype=np.uint64, count=len(numbers)), word_offsets


# --- BPE


def _sample_bpe(model: dict[str, Any], words: Words, keys: np.ndarray, *, rate: float) -> Variants:
    """Yield (number of a word, its variants) by BPE-dropout: at each step every merge is left out with chance rate."""
    vocabulary: dict[str, int] = model["vocab"]
    letters = {
        index: [index] if TAG.fullmatch(token) else [vocabulary[letter] for letter in token]
        for token, index in vocabulary.items()
        if index >= len(SPECIALS)
    }
    merges = _Merges(vocabulary, model["merges"])
    spelt = [[letter for token in word for letter in letters[token]] for word in words]
    by_length: dict[int, list[int]] = {}
    for index, spelling in enumerate(spelt):
        by_length.setdefault(len(spelling), []).append(index)
    for length, indices in sorted(by_length.items()):
        step = max(1, CHUNK // (length * VARIANTS))
        for block in (indices[start : start + step] for start in range(0, len(indices), step)):
            symbols = np.repeat(np.array([spelt[index] for index in block], dtype=np.int64), VARIANTS, axis=0)
            variant = np.tile(np.arange(1, VARIANTS + 1, dtype=np.uint64), len(block))
            rows = _drop_merges(symbols, merges, _mix(np.repeat(keys[block], VARIANTS) + variant * _STEP), rate=rate)
            for number, index in enumerate(block):
                yield index, rows[number * VARIANTS : (number + 1) * VARIANTS]


class _Merges:
    """Ranks and results of merges, looked up for many pairs at once."""

    NONE = np.iinfo(np.int64).max

    def __init__(self, vocabulary: dict[str, int], merges: list[list[str]]) -> None:
        self.size = max(vocabulary.values()) + 1
        codes = np.array(
            [vocabulary[left] * self.size + vocabulary[right] for left, right in merges] or [-1], dtype=np.int64
        )
        self.ranks = np.argsort(codes)
        self.codes = codes[self.ranks]
        self.results = np.array([vocabulary[left + right] for left, right in merges] or [0], dtype=np.int64)

    def rank(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the rank of each pair, NONE where it does not merge (ids below 0 never do)."""
        code = np.where((left < 0) | (right < 0), -2, left * self.size + right)
        place = np.minimum(np.searchsorted(self.codes, code), len(self.codes) - 1)
        return np.where(self.codes[place] == code, self.ranks[place], self.NONE)


def _drop_merges(symbols: np.ndarray, merges: _Merges, keys: np.ndarray, *, rate: float) -> list[list[int]]:
    """Return each row of symbols (rows, length) merged until every possible merge was left out at one step."""
    rows, length = symbols.shape
    result: list[list[int]] = [[]] * rows
    numbers, columns = np.arange(rows), np.arange(length)
    barrier = np.full((rows, 1), -1, dtype=np.int64)
    symbols = np.concatenate([symbols, barrier], axis=1)  # (rows, length + 1); -1 from the end of the word on
    ranks = merges.rank(symbols[:, :-1], symbols[:, 1:])  # of the pair that begins at each place
    threshold = np.uint64(min(int(rate * 2.0**64), 2**64 - 1))
    for step in range(1, length + 1):
        draws = _mix(keys[:, None] + (np.uint64(step * length) + columns.astype(np.uint64)) * _STEP)
        allowed = np.where(draws < threshold, merges.NONE, ranks)
        best = allowed.argmin(axis=1)
        rank = allowed[np.arange(len(best)), best]
        over = rank == merges.NONE
        for number, row in zip(numbers[over].tolist(), symbols[over].tolist(), strict=True):
            result[number] = [symbol for symbol in row if symbol >= 0]
        go = ~over
        if not go.any():
            break
        numbers, keys, best, rank = numbers[go], keys[go], best[go], rank[go]
        every = np.arange(len(numbers))
        moved = columns + (columns > best[:, None])  # closes the gap that a merge leaves
        symbols, ranks = symbols[go], np.concatenate([ranks[go], np.full((len(numbers), 1), merges.NONE)], axis=1)
        symbols[every, best] = merges.results[rank]
        symbols[:, :-1] = np.take_along_axis(symbols, moved, axis=1)
        symbols[:, -1] = -1
        ranks = np.take_along_axis(ranks, moved, axis=1)
        ranks[every, best] = merges.rank(symbols[every, best], symbols[every, best + 1])
        left = np.maximum(best - 1, 0)
        ranks[every, left] = np.where(
            best > 0, merges.rank(symbols[every, left], symbols[every, best]), ranks[every, left]
        )
    return result


# --- unigram


def _sample_unigram(model: dict[str, Any], words: Words, keys: np.ndarray, *, rate: float) -> Variants:
    """Yield (number of a word, its variants) drawn from all its segmentations.

    A segmentation has chance ∝ probability ** (SHARPNESS · (1 − rate) / rate): near rate 0 it is always the best
    one, near 1 all are alike. SHARPNESS makes a rate lengthen text about as much as the same rate of BPE-dropout.
    """
    scores = {piece: (index, score) for index, (piece, score) in enumerate(model["vocab"])}
    texts = [piece for piece, _ in model["vocab"]]
    longest = max(map(len, texts))
    power = SHARPNESS * (1 - rate) / rate if rate else 1e9
    for number, word in enumerate(words):
        variants: list[list[int]] = [[] for _ in range(VARIANTS)]
        for unknown, group in groupby(word, key=UNKNOWN.__eq__):  # text that is unknown cannot be cut again
            stretch = list(group)
            text = "".join(texts[token] for token in stretch)
            lattice = [] if unknown else _lattice(text, scores, longest=longest, power=power)
            key = _mix(keys[number] + np.arange(1, VARIANTS + 1, dtype=np.uint64) * _STEP)
            draws = _mix(key[:, None] + np.arange(len(text), dtype=np.uint64) * _STEP) >> np.uint64(11)
            for variant, uniform in zip(variants, (draws * 2.0**-53).tolist(), strict=True):
                variant += stretch if unknown else _draw(lattice, uniform)
        yield number, variants


def _lattice(text: str, scores: dict[str, tuple[int, float]], *, longest: int, power: float) -> Lattice:
    """Return for each place in text the pieces that may end there: (summed chance, where it begins, id)."""
    totals = [0.0]  # log of the summed weight of all segmentations up to a place
    lattice: Lattice = [[]]
    for end in range(1, len(text) + 1):
        found = []
        for start in range(max(0, end - longest), end):
            piece = scores.get(text[start:end])
            if piece and totals[start] > -math.inf:
                found.append((totals[start] + power * piece[1], start, piece[0]))
        top = max(found)[0] if found else -math.inf
        weights = [math.exp(weight - top) for weight, _, _ in found]
        whole = sum(weights)
        totals.append(top + math.log(whole) if found else -math.inf)
        summed = accumulate(weight / whole for weight in weights)
        lattice.append([(chance, start, piece) for chance, (_, start, piece) in zip(summed, found, strict=True)])
    return lattice


def _draw(lattice: Lattice, uniform: list[float]) -> list[int]:
    """Return one segmentation, drawn piece by piece from the end."""
    pieces: list[int] = []
    place = len(lattice) - 1
    for number in uniform:
        if place == 0:
            break
        choices = lattice[place]
        _, place, piece = next((choice for choice in choices if number < choice[0]), choices[-1])
        pieces.append(piece)
    return pieces[::-1]
