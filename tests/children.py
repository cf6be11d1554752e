"""Processes seen from outside: which this one has started, and which are alive."""

import time
from collections.abc import Iterable
from pathlib import Path


def children() -> set[int]:
    """Return the processes that this one started and that are left, zombies among them."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(number) for found in tasks for number in found.read_text().split()}


def alive(process: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(processes: Iterable[int], *, within: float = 10.0) -> bool:
    """Return whether all of the processes end within some seconds."""
    until = time.monotonic() + within
    left = set(processes)
    while left := {process for process in left if alive(process)}:
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
