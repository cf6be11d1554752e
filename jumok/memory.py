"""Memory: how much is free for this process, and whether an error says that it has run out.

MemoryError, torch's RuntimeError, a refused mmap → shortage → "1.2 GB were asked for, 0.3 GB are free"
"""

import errno
import os
import re
import resource
from contextlib import suppress
from pathlib import Path

# What libraries say: that the system gave nothing (CPU, CUDA), that a size is beyond any number, that a library found no room;
# oneDNN's own words for room that it did not get to work in, or for the code that it writes.
TOLD = re.compile(
    r"allocate memory|not enough memory|out of memory|bad_alloc|Storage size calculation overflowed|failed to map segment"
    r"|could not (?:create|execute) a (?:primitive(?! descriptor)|memory)"
)
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
ASKED = re.compile(r"(?:tried to allocate|Unable to allocate) ([\d.]+) ?([KMGTP]?)i?B?", re.IGNORECASE)


def free_memory() -> int:
    """Return how many bytes this process may still take: the least of what the system and its limits leave."""
    free = [_available()]
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            free.append(limit - pages * resource.getpagesize())
    with suppress(OSError, ValueError):  # a container's limit, which the system's own figures leave out
        group = Path("/sys/fs/cgroup")
        most = int((group / "memory.max").read_text(encoding="ascii"))  # "max": none
        used = int((group / "memory.current").read_text(encoding="ascii"))
        kept = re.search(r"^inactive_file (\d+)", (group / "memory.stat").read_text(encoding="ascii"), re.MULTILINE)
        free.append(most - used + (int(kept[1]) if kept else 0))  # files that were read make room
    return max(min(free), 0)


def shortage(error: BaseException) -> str:
    """Return what an error says of memory, in words: how much was asked for, and is free; "" where it is another error."""
    told = str(error)
    if isinstance(error, OSError):
        if error.errno != errno.ENOMEM:
            return ""
    elif not isinstance(error, MemoryError) and not (
        isinstance(error, RuntimeError | ImportError) and TOLD.search(told)
    ):
        return ""
    free = in_words(free_memory())
    if found := ASKED.search(told):
        asked = in_words(float(found[1]) * UNITS[found[2].upper()])
        return f"{asked} were asked for at once, and {free} are free"
    return f"{free} are free"


def in_words(size: float) -> str:
    """Return a number of bytes as people say it: 640 GB, 1.2 GB, 35 MB."""
    for unit, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}" if size < 100 * unit else f"{size / unit:,.0f} {name}"
    return f"{size / 1e6:,.0f} MB"


def _available() -> int:
    """Return what the system has left, without pushing anything out."""
    with suppress(OSError):
        found = re.search(r"^MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE)
        if found:
            return 1024 * int(found[1])
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # all there is, where nobody says what is left
