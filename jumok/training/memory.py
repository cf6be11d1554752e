"""Keep freed memory for the next step.

A training step frees and takes hundreds of megabytes. glibc hands large blocks back to the system and gets them
anew, page by page: 5 % of a small model's step on a CPU (docs/log.md). Asked to, it keeps them; the largest still go,
because gaps of their size between others would add up.
"""

import ctypes

# mallopt's names for them (malloc.h)
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
LARGEST = 64 << 20  # bytes of a block that is kept


def keep_freed_memory() -> None:
    """Ask the C library not to return freed memory to the system; where there is no such request, do nothing."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # not glibc: macOS, Windows, musl
        return
    mallopt(TRIM_THRESHOLD, (1 << 31) - 1)  # the most that it takes
    mallopt(MMAP_THRESHOLD, LARGEST)
