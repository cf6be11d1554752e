"""SentencePiece's compiled map of characters, checked: the library would stop the whole process at a damaged one.

four bytes: the size of a trie; the trie, a double array of units of four bytes; replacements, each ended by a zero
From a node one goes on by a byte to `node ^ byte`, whose unit says whether that byte leads there, and where from there.
"""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import normalizers

BYTES = np.arange(1, 256)


def check_character_map(compiled: bytes) -> None:
    """Raise a ValueError where a text might lead out of the trie or of the replacements."""
    try:
        normalizers.Precompiled(compiled)
    except Exception:  # a bare one
        raise ValueError("its map of characters is damaged") from None
    size = int.from_bytes(compiled[:4], "little")
    units = np.frombuffer(compiled, "<u4", size // 4, offset=4).astype(np.int64)
    texts = compiled[4 + size // 4 * 4 :]
    seen = np.zeros(len(units) + 256, dtype=bool)
    nodes = _offsets(units[:1])
    while len(nodes):
        if nodes.max() | 0xFF >= len(units):
            raise ValueError("its map of characters leads beyond its end")
        seen[nodes] = True
        places = nodes[:, None] ^ BYTES
        found = units[places]
        leads = (found & 0x800000FF) == BYTES
        nodes = places[leads] ^ _offsets(found[leads])
        leaves = nodes[(found[leads] >> 8 & 1).astype(bool)]
        if len(leaves) and (leaves.max() >= len(units) or not _begin_letters(units[leaves] & 0x7FFFFFFF, texts)):
            raise ValueError("its map of characters has replacements that are not there")
        nodes = np.unique(nodes)
        nodes = nodes[(nodes >= len(seen)) | ~seen[np.minimum(nodes, len(seen) - 1)]]


def check_character_maps(normalizer: Any) -> None:
    """Check the maps in a tokenizer.json's description of how text is normalised."""
    if isinstance(normalizer, dict):
        for inner in normalizer.get("normalizers") or []:
            check_character_maps(inner)
        if normalizer.get("type") == "Precompiled":
            check_character_map(base64.b64decode(normalizer["precompiled_charsmap"]))


def _offsets(units: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each unit's node stands, relative to the unit."""
    offsets: NDArray[np.int64] = units >> 10 << ((units & 1 << 9) >> 6)
    return offsets


def _begin_letters(places: NDArray[np.int64], texts: bytes) -> bool:
    """Return whether each place is inside texts, or at their end, and not in the middle of a letter."""
    if places.max() > len(texts):
        return False
    letters = np.frombuffer(texts + b"\0", np.uint8)[places]
    return bool(((letters & 0xC0) != 0x80).all())
