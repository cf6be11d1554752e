"""Numbers packed into text: exact where a page shows them, 16 bits or fewer where it computes with them.

arrays → all first bytes, all second bytes, …, which deflate shortens → base85; where each array lies goes into the JSON
lens/page/unpacking.js is the other half.
"""

import base64
import zlib
from typing import Any

import numpy as np
from torch import Tensor

SAFE = bytes.maketrans(b"<{(&", b",.:[")  # characters that mean nothing in HTML, and make no {{ or url(
BITS = 16  # of a rounded number; where fewer are wanted, the last ones are 0 and deflate leaves them out


class Packing:
    """Collect arrays; the page knows each by its number."""

    def __init__(self) -> None:
        self.places: list[dict[str, Any]] = []
        self._bytes = bytearray()
        self._known: dict[tuple[str, tuple[int, ...], float, bytes], int] = {}

    def exact(self, array: Tensor) -> int:
        """Add numbers as they are (float32)."""
        return self._add(array.float().numpy(force=True).astype("<f4"), scale=1.0)

    def rounded(self, array: Tensor, bits: int = BITS) -> int:
        """Add numbers rounded to some bits: 16 are right to a 65,000th of the largest, 11 to a 2,000th."""
        numbers, step = array.float().numpy(force=True), 1 << (BITS - bits)
        if not np.isfinite(numbers).all():  # of a model whose training diverged: there is nothing to round by
            return self.exact(array)
        levels = (1 << (bits - 1)) - 1  # each way from 0
        scale = float(np.abs(numbers).max(initial=0.0)) / levels or 1.0
        return self._add((np.round(numbers / scale) * step).astype("<i2"), scale=scale / step)

    def truths(self, array: Tensor) -> int:
        """Add true and false."""
        return self._add(array.numpy(force=True).astype("u1"), scale=1.0)

    def text(self) -> str:
        """Return everything as text of 85 characters, a sixteenth shorter than base64."""
        packed = zlib.compress(bytes(self._bytes), level=6)  # 9 takes five times as long for 2 % less
        return base64.b85encode(packed).translate(SAFE).decode("ascii")

    def _add(self, numbers: np.ndarray[Any, Any], *, scale: float) -> int:
        kind = numbers.dtype.str.lstrip("<|")
        planes = np.ascontiguousarray(numbers).reshape(-1).view("u1").reshape(-1, numbers.itemsize).T.tobytes()
        known = (kind, numbers.shape, scale, planes)
        if known not in self._known:  # tables of positions are often the same
            place = {"type": kind, "shape": numbers.shape, "start": len(self._bytes)}
            self.places.append(place if scale == 1.0 else place | {"scale": scale})
            self._bytes += planes
            self._known[known] = len(self.places) - 1
        return self._known[known]
