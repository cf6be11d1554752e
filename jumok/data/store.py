"""What all stores share: folders of memory-mapped files, so that a corpus may be larger than memory.

examples → files of numbers, and store.json with the size of each file, so that a cut-off one is noticed → a store
One side of a corpus of texts is five files: the ids of all texts end to end, where each text begins, which ids begin a
word, the tidied texts end to end, and where each of those begins.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import numpy as np

from jumok.errors import DataError
from jumok.reading import check_entries, json_of, what_is_wrong

FACTS = "store.json"


@contextmanager
def refuse_damage(folder: Path, what: str) -> Iterator[None]:
    """Turn whatever goes wrong in opening the store in folder into a DataError with its cure; what names its contents."""
    try:
        yield
    except FileNotFoundError as error:
        raise _damaged(folder, what, f"{Path(error.filename).name} is missing") from None
    except ValueError as error:
        raise _damaged(folder, what, str(error)) from None
    except (OSError, KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise _damaged(folder, what, what_is_wrong(error)) from None


def _damaged(folder: Path, what: str, why: str) -> DataError:
    return DataError(f"{what} in {folder} is damaged ({why}); run jumok cache --clear, and it is made again.")


def read_facts(folder: Path) -> dict[str, Any]:
    """Return what a store says of itself; a file of another size than it says is a ValueError."""
    facts: dict[str, Any] = json_of((folder / FACTS).read_text(encoding="utf-8"))
    check_entries(facts, {"sizes": dict[str, int]}, needed=())
    for name, size in facts.get("sizes", {}).items():
        found = (folder / name).stat().st_size
        if found != size:
            raise ValueError(f"{name} has {found:,} bytes, not {size:,}")
    return facts


def write_facts(folder: Path, names: Sequence[str], **facts: object) -> None:
    """Write what a store says of itself, and the sizes of its files of these names."""
    sizes = {name: (folder / name).stat().st_size for name in names}
    (folder / FACTS).write_text(json.dumps({**facts, "sizes": sizes}), encoding="utf-8")


def map_array(path: Path, kind: str) -> np.ndarray:
    """Return the numbers in a file of ours without reading them into memory."""
    if path.stat().st_size == 0:  # an empty file cannot be mapped
        return np.empty(0, dtype=kind)
    return np.memmap(path, dtype=kind, mode="r").view(np.ndarray)  # the class memmap slices ten times slower


def array_hash(*arrays: np.ndarray) -> str:
    """Return the sha256 of arrays' numbers."""
    digest = sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def id_type_for(vocabulary: int) -> str:
    """Return the smallest type of number that holds the ids of a vocabulary."""
    return "<u2" if vocabulary <= 1 << 16 else "<u4"


# --- one side of a corpus


def side_files(side: str, id_type: str = "") -> dict[str, tuple[str, str]]:
    """Return the files of a side by what they hold, each with the type of its numbers."""
    kinds = {"ids": id_type, "words": "|u1", "offsets": "<i8", "text": "|u1", "text_offsets": "<i8"}
    return {part: (f"{side}.{part}", kind) for part, kind in kinds.items()}


def check_offsets(offsets: np.ndarray, rows: int) -> None:
    """Raise a ValueError where offsets do not cut so many rows into pieces, one behind the other."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != rows or (np.diff(offsets) < 0).any():
        raise ValueError(f"its offsets do not lead from 0 to {rows:,}")


def side_names(*sides: str) -> list[str]:
    """Return the names of the files of sides."""
    return [name for side in sides for name, _ in side_files(side).values()]


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


class StoredSide(TokenSide):
    """A side as a SideWriter wrote it, with its texts."""

    def __init__(self, folder: Path, side: str, id_type: str) -> None:
        """Open the files of a side in a store's folder."""
        arrays = {part: map_array(folder / name, kind) for part, (name, kind) in side_files(side, id_type).items()}
        super().__init__(arrays["ids"], arrays["offsets"], words=arrays["words"])
        self._text, self._text_offsets = arrays["text"], arrays["text_offsets"]
        check_offsets(self.offsets, len(self.ids))

    def text(self, index: int) -> str:
        """Return a sentence as tidied text."""
        return self._text[self._text_offsets[index] : self._text_offsets[index + 1]].tobytes().decode("utf-8")


class SideWriter:
    """Appends sentences to the files of one side.

    Plain writes, not writes into a map: on a full disk these raise an error, those kill the process.
    """

    def __init__(self, folder: Path, side: str, id_type: str, stack: ExitStack) -> None:
        """Open the files for writing; they are closed by the stack."""
        files = side_files(side, id_type)
        self.types = {part: kind for part, (_, kind) in files.items()}
        self.files: dict[str, IO[bytes]] = {
            part: stack.enter_context((folder / name).open("wb")) for part, (name, _) in files.items()
        }
        self.tokens = self.bytes = 0
        self._append("offsets", [0])
        self._append("text_offsets", [0])

    def _append(self, part: str, values: Sequence[int] | np.ndarray) -> None:
        self.files[part].write(np.asarray(values, dtype=self.types[part]).tobytes())

    def write(self, sentences: Sequence[tuple[str, list[int], list[int]]]) -> None:
        """Append (text, ids, word of each id)."""
        texts = [text.encode("utf-8") for text, _, _ in sentences]
        ends = self.tokens + np.cumsum([len(ids) for _, ids, _ in sentences], dtype=np.int64)
        text_ends = self.bytes + np.cumsum([len(text) for text in texts], dtype=np.int64)
        self._append("ids", [token for _, ids, _ in sentences for token in ids])
        self._append("words", [start for _, _, words in sentences for start in _word_starts(words)])
        self._append("offsets", ends)
        self._append("text_offsets", text_ends)
        self.files["text"].write(b"".join(texts))
        if sentences:
            self.tokens, self.bytes = int(ends[-1]), int(text_ends[-1])


def _word_starts(words: list[int]) -> Iterator[bool]:
    return (index == 0 or word != words[index - 1] for index, word in enumerate(words))
