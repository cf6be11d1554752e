"""How much memory processes have held at most."""

import resource
import sys
from contextlib import suppress
from pathlib import Path


def peak_memory() -> int:
    """Return the most bytes this process has held."""
    with suppress(OSError, StopIteration):  # getrusage would count what the process held that started this one
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return _in_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def peak_memory_of_children() -> int:
    """Return the most bytes that any of the processes begun here and ended by now has held."""
    return _in_bytes(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def _in_bytes(peak: int) -> int:
    return peak if sys.platform == "darwin" else peak * 1024
