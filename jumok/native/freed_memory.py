"""Keep freed memory for the next step, but not for ever.

A training step, or a search, frees and takes hundreds of megabytes. glibc hands large blocks back to the system and gets them
anew, page by page: 5 % of a small model's step on a CPU (docs/log.md). Asked to, it keeps them; the largest still go,
because gaps of their size between others would add up. Batches of many shapes leave gaps all the same, so that what is
kept would grow for hours to several times of what is in use: now and then all of it is given back.
"""

import ctypes
import time

# mallopt's names for them (malloc.h)
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
LARGEST = 64 << 20  # bytes of a block that is kept
SECONDS = 30.0  # between two times of giving back, which costs a tenth of one


class FreedMemory:
    """What a process has freed; where the C library takes no requests, nothing is done."""

    def __init__(self) -> None:
        self._library: ctypes.CDLL | None = None
        self._given_back = time.monotonic()

    def keep(self) -> None:
        """Ask the C library not to return freed memory to the system."""
        try:
            library = ctypes.CDLL(None)
            mallopt, _ = library.mallopt, library.malloc_trim
        except (OSError, AttributeError, TypeError):  # not glibc: macOS, Windows, musl
            return
        mallopt(TRIM_THRESHOLD, (1 << 31) - 1)  # the most that it takes
        mallopt(MMAP_THRESHOLD, LARGEST)
        self._library = library

    def tidy(self) -> None:
        """Give back what is not in use, if the last time was long ago."""
        if self._library is not None and time.monotonic() - self._given_back > SECONDS:
            self._library.malloc_trim(0)
            self._given_back = time.monotonic()
