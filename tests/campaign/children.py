"""Cases in children of this process: each child is a fork that has everything imported, and takes many cases.

batches of cases → at most `jobs` children at once → a line of JSON when a case begins and when it has ended → Outcome

A child that dies or hangs says by its last line which case it was in; the cases behind it go to another child.
"""

import faulthandler
import gc
import json
import os
import resource
import selectors
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from campaign.memory import allow
from campaign.target import Outcome, Target, run_case


@dataclass(frozen=True)
class Limits:
    """What a case may take."""

    seconds: float = 10.0  # of the processor: a machine that is busy with other things makes no hang
    waiting: float = 60.0  # seconds on the clock
    address_space: int = 2 << 30  # bytes beside what the process has: more cannot even be asked for


@dataclass(frozen=True)
class Batch:
    """Cases of a target."""

    target: Target
    good: Path
    seed: int
    indices: Sequence[int]


@dataclass
class Child:
    """A process that works on a batch."""

    batch: Batch
    process: int
    pipe: int
    room: Path
    text: bytes = b""
    ended: list[int] = field(default_factory=list)
    begun: int | None = None


def run(batches: Sequence[Batch], *, jobs: int = 2, limits: Limits = Limits()) -> Iterator[Outcome]:
    """Yield how each case of each batch ends, as they end."""
    waiting, running = list(reversed(batches)), selectors.DefaultSelector()
    gc.freeze()  # what is there already is never looked at in children, and so stays shared
    try:
        while waiting or running.get_map():
            while waiting and len(running.get_map()) < jobs:
                child = _start(waiting.pop(), limits)
                running.register(child.pipe, selectors.EVENT_READ, child)
            for key, _ in running.select():
                child = key.data
                if read := os.read(child.pipe, 1 << 16):
                    yield from _outcomes(child, read)
                    continue
                running.unregister(child.pipe)
                died = _end(child)
                if died is not None:
                    yield died
                    child.ended.append(died.index)
                if rest := [index for index in child.batch.indices if index not in child.ended]:
                    waiting.append(replace(child.batch, indices=rest))
    finally:
        for key in list(running.get_map().values()):
            os.kill(key.data.process, signal.SIGKILL)
            _end(key.data)
        running.close()
        gc.unfreeze()


def _outcomes(child: Child, read: bytes) -> Iterator[Outcome]:
    *lines, child.text = (child.text + read).split(b"\n")
    for line in lines:
        told = json.loads(line)
        if "begun" in told:
            child.begun = told["begun"]
        else:
            child.begun = None
            child.ended.append(told["index"])
            yield Outcome(**told)


def _end(child: Child) -> Outcome | None:
    """Clear up after a child that has closed its pipe; return what its death says of the case it was in."""
    os.close(child.pipe)
    _, status = os.waitpid(child.process, 0)
    with suppress(ProcessLookupError):
        os.killpg(child.process, signal.SIGKILL)  # what it may have started and left
    said = (child.room / "said").read_text(encoding="utf-8", errors="replace")
    shutil.rmtree(child.room, ignore_errors=True)
    if child.begun is None:
        assert os.waitstatus_to_exitcode(status) == 0, said  # between two cases: a mistake of the campaign's own
        return None
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGPROF:
        how = "hang"
    elif "Timeout (" in said:
        how = "hang on the clock"
    else:
        how = f"died by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return Outcome(child.batch.target.name, child.begun, how, detail=said[-6000:], root=f"{how} {_deepest(said)}")


def _deepest(said: str) -> str:
    """Return the innermost line of jumok in what faulthandler wrote."""
    lines = [
        line.strip()
        for line in said.splitlines()
        if line.strip().startswith("File") and "/jumok/" in line and "/tests/" not in line
    ]
    return lines[0].rpartition("/jumok/")[2] if lines else ""


def _start(batch: Batch, limits: Limits) -> Child:
    """Fork a child that works on a batch."""
    room = Path(tempfile.mkdtemp(prefix="campaign-"))
    ours, theirs = os.pipe()
    sys.stdout.flush(), sys.stderr.flush()
    process = os.fork()
    if not process:
        os.close(ours)
        _work(batch, limits, room, theirs)
    os.close(theirs)
    return Child(batch, process, ours, room)


def _work(batch: Batch, limits: Limits, room: Path, pipe: int) -> NoReturn:
    """Work on a batch in a child; it never returns."""
    code = 1
    try:
        os.setsid()
        said = os.open(room / "said", os.O_RDWR | os.O_CREAT)
        for stream in (1, 2):
            os.dup2(said, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        # pytest has streams of its own
        sys.stdout = sys.stderr = open(said, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
        os.environ["JUMOK_CACHE"] = str(room / "cache")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        allow(limits.address_space)
        faulthandler.enable(said)
        faulthandler.register(signal.SIGPROF, file=said, chain=True)  # a traceback, then the end, inside C too
        os.chdir(room)
        (room / "case").mkdir()
        for index in batch.indices:
            os.write(pipe, json.dumps({"begun": index}).encode() + b"\n")
            faulthandler.dump_traceback_later(limits.waiting, exit=True, file=said)
            signal.setitimer(signal.ITIMER_PROF, limits.seconds)
            silent = os.fstat(said).st_size
            outcome = run_case(batch.target, batch.good, room / "case", seed=batch.seed, index=index)
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
            sys.stdout.flush(), sys.stderr.flush()
            outcome = _with_what_was_printed(outcome, said, silent)
            os.write(pipe, json.dumps(asdict(outcome)).encode() + b"\n")
            if outcome.failure or index % 16 == 0:
                gc.collect()
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _with_what_was_printed(outcome: Outcome, said: int, silent: int) -> Outcome:
    """Return an outcome that fails where something was printed beside the message."""
    printed = os.pread(said, 2000, silent).decode("utf-8", "replace")
    if outcome.failure or not printed.strip():
        return outcome
    return replace(outcome, failure="printed", detail=printed, root=f"printed {printed[:40]!r}")
