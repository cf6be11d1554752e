"""Pairs tokenised once and kept in memory-mapped files, so that a corpus may be larger than memory.

parts of (source, target) strings → tidy → filter → encode, in chunks → files → PairStore
A folder holds for each side the ids of all sentences end to end, where each begins, which ids begin a word, and the
tidied text; store.json holds the counts, how many pairs each part has, and the size of every file, so that a cut-off one
is noticed. Where a part has a tag, its target language's, the tag is the first of each source's ids.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np

from jumok.config import ParallelData
from jumok.data.text.sources import tidy
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import DataError

FORMAT = 1
CHUNK = 10_000
SIDES = ("source", "target")


@dataclass
class Counts:
    """What became of the pairs that were read."""

    read: int = 0
    kept: int = 0
    empty_source: int = 0
    empty_target: int = 0
    too_long: int = 0
    bad_ratio: int = 0
    duplicates: int = 0

    @property
    def dropped(self) -> int:
        """Pairs read and not kept."""
        return self.read - self.kept

    def __str__(self) -> str:
        reasons = {
            "empty source": self.empty_source,
            "empty target": self.empty_target,
            "too long": self.too_long,
            "unlike lengths": self.bad_ratio,
            "said twice": self.duplicates,
        }
        listed = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)
        return f"{self.kept:,} of {self.read:,} pairs kept" + (
            f" ({self.dropped:,} dropped: {listed})" if self.dropped else ""
        )


class Part(NamedTuple):
    """The pairs of one corpus, and the tag that tells its target language where there are several."""

    pairs: Iterable[tuple[str, str]]
    tag: int | None = None


class TokenSide:
    """One side of a corpus: sentence i is ids[offsets[i]:offsets[i + 1]], without special tokens."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray, *, words: np.ndarray | None = None) -> None:
        """Wrap ids and offsets; words is 1 where an id begins a word, else 0."""
        self.ids, self.offsets, self.words = ids, offsets, words
        self.lengths = np.diff(offsets).astype(np.int32)  # there may be millions

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> np.ndarray:
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


class PairStore:
    """The tokenised pairs of one split, read from its folder as they are needed."""

    def __init__(self, folder: Path) -> None:
        """Open the store in folder; a missing or cut-off file is a DataError."""
        self.folder = Path(folder)
        description = _description(self.folder)
        self.counts = Counts(**description["counts"])
        self.parts: list[int] = description.get("parts", [self.counts.kept])  # pairs of each corpus, one after another
        self._texts: list[tuple[np.ndarray, np.ndarray]] = []
        sides = []
        for side in SIDES:
            arrays = {
                part: map_array(self.folder / f"{side}.{part}", kind)
                for part, kind in parts_of(description["id_types"][side]).items()
            }
            sides.append(TokenSide(arrays["ids"], arrays["offsets"], words=arrays["words"]))
            self._texts.append((arrays["text"], arrays["text_offsets"]))
        self.source, self.target = sides
        self.lengths = np.stack([self.source.lengths, self.target.lengths], axis=1)
        self.lengths += 1

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Return the store in folder."""
        return cls(folder)

    def __reduce__(self) -> tuple[type[Self], tuple[Path]]:
        return type(self), (self.folder,)

    def __len__(self) -> int:
        return len(self.source)

    def text(self, index: int) -> tuple[str, str]:
        """Return source and target of pair index as tidied text."""
        source, target = (
            raw[offsets[index] : offsets[index + 1]].tobytes().decode("utf-8") for raw, offsets in self._texts
        )
        return source, target


def build_pair_store(
    parts: Iterable[Part],
    *,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    data: ParallelData,
    folder: Path,
    keep_all: bool = False,
    progress: Callable[[int], None] | None = None,
) -> PairStore:
    """Tokenise the pairs of parts into folder and open it; keep_all drops nothing, so that scores are over every line.

    progress is called with the number of pairs read so far.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    counts = Counts()
    choose = _Filter(data, counts, keep_all=keep_all)
    tokenizers = (source_tokenizer, target_tokenizer)
    id_types = {side: id_type_of(tokenizer) for side, tokenizer in zip(SIDES, tokenizers, strict=True)}
    with ExitStack() as stack:
        writers = [SideWriter(folder, side, id_types[side], stack) for side in SIDES]
        sizes: list[int] = []
        for tag, chunk in _chunks(parts, sizes):
            tidied = (_tidy_pair(pair, data.lowercase) for pair in chunk)
            texts = [pair for pair in tidied if choose.by_text(*pair, tag)]
            encoded = [
                tokenizer.encode_words([pair[number] for pair in texts]) for number, tokenizer in enumerate(tokenizers)
            ]
            if tag is not None:
                encoded[0] = [([tag, *ids], [-1, *words]) for ids, words in encoded[0]]  # a word of its own
            kept = [
                row
                for row, (source, target) in enumerate(zip(*encoded, strict=True))
                if choose.by_length(source, target)
            ]
            for number, writer in enumerate(writers):
                writer.write([(texts[row][number], *encoded[number][row]) for row in kept])
            counts.read += len(chunk)
            counts.kept += len(kept)
            sizes[-1] += len(kept)
            if progress:
                progress(counts.read)
    if not counts.kept:
        raise DataError(
            f"no pairs are left to work with: {counts}; check the files, and max_length and max_ratio of [data]."
        )
    _describe(folder, counts, id_types, sizes)
    return PairStore(folder)


def _chunks(parts: Iterable[Part], sizes: list[int]) -> Iterator[tuple[int | None, list[tuple[str, str]]]]:
    """Yield pairs by the chunk, with their tag; sizes gets a zero for each part that begins."""
    for pairs, tag in parts:
        sizes.append(0)
        iterator = iter(pairs)
        while chunk := list(islice(iterator, CHUNK)):
            yield tag, chunk


class _Filter:
    """Decides which pairs stay and counts why others go."""

    def __init__(self, data: ParallelData, counts: Counts, *, keep_all: bool) -> None:
        self.data, self.counts, self.keep_all = data, counts, keep_all
        self.seen: set[bytes] = set()

    def by_text(self, source: str, target: str, tag: int | None = None) -> bool:
        """Say whether a pair of tidied texts stays."""
        if self.keep_all:
            return True
        if not source:
            self.counts.empty_source += 1
            return False
        if not target:
            self.counts.empty_target += 1
            return False
        shorter, longer = sorted((len(source), len(target)))
        if 0 < self.data.max_ratio * shorter < longer:
            self.counts.bad_ratio += 1
            return False
        return not self._seen_before(source, target if tag is None else f"{target}\n{tag}")

    def _seen_before(self, source: str, target: str) -> bool:
        if not self.data.deduplicate:
            return False
        # Hashes of 16 bytes instead of the texts: millions of pairs fit in memory and none is lost to chance.
        key = blake2b(f"{source}\n{target}".encode(), digest_size=16).digest()
        if key in self.seen:
            self.counts.duplicates += 1
            return True
        self.seen.add(key)
        return False

    def by_length(self, source: tuple[list[int], list[int]], target: tuple[list[int], list[int]]) -> bool:
        """Say whether a tokenised pair stays; the end token counts."""
        if not self.keep_all and max(len(source[0]), len(target[0])) + 1 > self.data.max_length:
            self.counts.too_long += 1
            return False
        return True


class SideWriter:
    """Appends sentences to the files of one side.

    Plain writes, not writes into a map: on a full disk these raise an error, those kill the process.
    """

    def __init__(self, folder: Path, side: str, id_type: str, stack: ExitStack) -> None:
        self.types = parts_of(id_type)
        self.files: dict[str, IO[bytes]] = {
            part: stack.enter_context((folder / f"{side}.{part}").open("wb")) for part in self.types
        }
        self.tokens = self.bytes = 0
        self._append("offsets", [0])
        self._append("text_offsets", [0])

    def _append(self, part: str, values: Any) -> None:
        self.files[part].write(np.asarray(values, dtype=self.types[part]).tobytes())

    def write(self, sentences: list[tuple[str, list[int], list[int]]]) -> None:
        """Append (text, ids, word of each id)."""
        texts = [text.encode("utf-8") for text, _, _ in sentences]
        ends = self.tokens + np.cumsum([len(ids) for _, ids, _ in sentences], dtype=np.int64)
        text_ends = self.bytes + np.cumsum([len(text) for text in texts], dtype=np.int64)
        self._append("ids", [token for _, ids, _ in sentences for token in ids])
        self._append("words", [start for _, _, words in sentences for start in _begins(words)])
        self._append("offsets", ends)
        self._append("text_offsets", text_ends)
        self.files["text"].write(b"".join(texts))
        if sentences:
            self.tokens, self.bytes = int(ends[-1]), int(text_ends[-1])


def _begins(words: list[int]) -> Iterator[bool]:
    return (index == 0 or word != words[index - 1] for index, word in enumerate(words))


def _tidy_pair(pair: tuple[str, str], lowercase: bool) -> tuple[str, str]:
    return tidy(pair[0], lowercase), tidy(pair[1], lowercase)


def id_type_of(tokenizer: Tokenizer) -> str:
    return "<u2" if len(tokenizer) <= 1 << 16 else "<u4"


def parts_of(id_type: str) -> dict[str, str]:
    """Return the files of a side and the type of number in each."""
    return {"ids": id_type, "words": "|u1", "offsets": "<i8", "text": "|u1", "text_offsets": "<i8"}


def _describe(folder: Path, counts: Counts, id_types: dict[str, str], parts: list[int]) -> None:
    sizes = {
        name: (folder / name).stat().st_size for side in SIDES for name in (f"{side}.{part}" for part in parts_of(""))
    }
    description = {"format": FORMAT, "counts": asdict(counts), "parts": parts, "id_types": id_types, "sizes": sizes}
    (folder / "store.json").write_text(json.dumps(description, indent=1), encoding="utf-8")


def _description(folder: Path) -> dict[str, Any]:
    cure = "run jumok cache --clear; it is built again from the data files."
    try:
        description: dict[str, Any] = json.loads((folder / "store.json").read_text(encoding="utf-8"))
        if description["format"] != FORMAT:
            raise DataError(f"the tokenised data in {folder} has format {description['format']}, not {FORMAT}; {cure}")
        for name, size in description["sizes"].items():
            found = (folder / name).stat().st_size
            if found != size:
                raise DataError(
                    f"the tokenised data in {folder} is damaged: {name} has {found:,} bytes, not {size:,}; {cure}"
                )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"the tokenised data in {folder} is damaged ({type(error).__name__}: {error}); {cure}"
        ) from None
    return description


def map_array(path: Path, kind: str) -> np.ndarray:
    """Return the numbers in a file of ours without reading them into memory."""
    if path.stat().st_size == 0:  # an empty file cannot be mapped
        return np.empty(0, dtype=kind)
    return np.memmap(path, dtype=kind, mode="r").view(np.ndarray)  # the class memmap slices ten times slower
