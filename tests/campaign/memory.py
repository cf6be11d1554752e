"""How much memory this process holds, and held at most; a bound on it. Without /proc, the peak is that of all its life."""

import resource
import sys
from contextlib import suppress
from pathlib import Path

SELF = Path("/proc/self")


def _of_status(key: str) -> int:
    """Return the bytes that a line of /proc/self/status tells."""
    with suppress(OSError):
        for line in (SELF / "status").read_text().splitlines():
            if line.startswith(key):
                return int(line.split()[1]) << 10
    return 0


def resident() -> int:
    """Return the bytes that this process holds."""
    return _of_status("VmRSS:") or peak()


def peak() -> int:
    """Return the most bytes that this process held since forget_peak."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return _of_status("VmHWM:") or most


def forget_peak() -> None:
    """Let the peak be measured from here on."""
    with suppress(OSError):
        (SELF / "clear_refs").write_text("5")


def allow(more: int) -> None:
    """Let this process ask for so many bytes more than it has; what is beyond fails."""
    if has := _of_status("VmSize:"):
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (has + more, hard))
