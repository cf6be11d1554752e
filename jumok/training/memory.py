"""How much memory processes have held at most, and what is said where there is none left."""

import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jumok.errors import TrainingError
from jumok.memory import shortage


def peak_memory() -> int:
    """Return the most bytes this process has held."""
    with suppress(OSError, StopIteration):  # getrusage would count what the process held that started this one
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return _in_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def peak_memory_of_children() -> int:
    """Return the most bytes that any of the processes begun here and ended by now has held."""
    return _in_bytes(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


@contextmanager
def within_memory(step: Callable[[], int]) -> Iterator[None]:
    """Turn an error inside the block that says there is no memory into a sentence that says what would need less."""
    try:
        yield
    except (MemoryError, RuntimeError, OSError) as error:
        what = shortage(error)
        if not what:
            raise
        raise TrainingError(
            f"memory has run out after step {step():,}: {what}. Start another run with a smaller training.batch_tokens or "
            "training.batch_size, or with training.workers = 1; or end other programs and go on with --resume."
        ) from error


def _in_bytes(peak: int) -> int:
    return peak if sys.platform == "darwin" else peak * 1024
