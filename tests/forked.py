"""`jumok …` in a fork of this process, which has read torch: for tests that kill it, or break what it writes to.

start → Command (a session of its own) → wait → exit code, what it wrote, and which of its processes are left
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import NoReturn

from children import alive

import jumok

LONGEST = 60.0  # seconds that a command may take: more is a hang


class Command:
    """A command that runs."""

    def __init__(
        self,
        *arguments: object,
        folder: Path,
        stdin: int | None = None,
        stdout: int | None = None,
        before: Callable[[], object] = lambda: None,
    ) -> None:
        """Start `jumok …`; what it writes goes into files of folder, and before is called in its process."""
        self.written, self.said = (folder / f"{len(list(folder.iterdir()))}.{name}" for name in ("out", "err"))
        self.written.touch()
        out = os.open(self.written, os.O_WRONLY | os.O_APPEND) if stdout is None else os.dup(stdout)
        err = os.open(self.said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        given = os.open(os.devnull, os.O_RDONLY) if stdin is None else os.dup(stdin)
        self.code: int | None = None
        self.process = os.fork()
        if self.process == 0:
            try:
                _run([str(argument) for argument in arguments], (given, out, err), before)
            finally:
                os._exit(1)
        for handle in (given, out, err):
            os.close(handle)

    @property
    def out(self) -> str:
        """What it wrote to standard output, where that is ours."""
        return self.written.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        """What it wrote to the error stream."""
        return self.said.read_text(encoding="utf-8")

    def over(self) -> bool:
        """Return whether it has ended."""
        if self.code is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, longest: float = LONGEST) -> int:
        """Return its exit code; one that takes too long is killed, with all its processes, and is an AssertionError."""
        if not self.until(self.over, longest):
            self.kill_all()
            raise AssertionError(f"no end after {longest:.0f} s: {self.err}")
        assert self.code is not None
        return self.code

    @staticmethod
    def until(true: Callable[[], object], longest: float = LONGEST) -> bool:
        """Wait until something is true, and return whether it became so in time."""
        last = time.monotonic() + longest
        while not true():
            if time.monotonic() > last:
                return False
            time.sleep(0.002)
        return True

    def others(self) -> list[int]:
        """Return the processes that run in its session beside its own, in the order in which they began."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(ValueError, OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == self.process and int(entry.name) != self.process and fields[0] not in "ZX":
                    found.append((int(fields[19]), int(entry.name)))
        return [process for _, process in sorted(found)]

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to its own process."""
        os.kill(self.process, number)

    def kill_all(self) -> None:
        """Kill its whole session."""
        for process in [*self.others(), *([] if self.over() else [self.process])]:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.until(lambda: self.over() and not any(map(alive, self.others())), 10)


def import_all() -> None:
    """Import now what commands import, so that each fork need not."""
    import_module("torch._dynamo")  # torch's optimizers import it at their first step
    for module in walk_packages(jumok.__path__, "jumok."):
        if module.name != "jumok.__main__":
            import_module(module.name)


def _run(arguments: list[str], streams: tuple[int, int, int], before: Callable[[], object]) -> NoReturn:
    """Be `jumok …`: as if Python had just been started, with other streams."""
    import torch

    from jumok.cli.main import main

    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    torch.set_num_threads(1)
    sys.argv = ["jumok", *arguments]
    code = 0
    try:
        before()
        main()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = 120  # as Python does
    os._exit(code)
