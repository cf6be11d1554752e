"""Processes that share the sentences of a call: each searches on a thread of its own.

sentences, longest first → portions → whoever is free takes the next → answers, in the order of the sentences

On a CPU two threads inside one small operation wait for each other; two processes never do. They are forked: the
weights are there already, and nobody copies them.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TypeVar

import torch

from jumok.errors import JumokError
from jumok.native.freed_memory import FreedMemory

Answer = TypeVar("Answer")
Portion = list[int]  # places of sentences in the call

LEAST = 16  # sentences that are worth a process
DIED = "a process that was searching died, perhaps for want of memory; use fewer with --workers 1, or a smaller --batch-size"


def processes_for(sentences: int, *, wanted: int, portion: int, device: torch.device) -> int:
    """Return how many processes should share a call; wanted = 0 asks for what is fastest."""
    if device.type != "cpu" or not sys.platform.startswith("linux"):
        return 1
    cores = wanted or min(torch.get_num_threads(), os.cpu_count() or 1)
    return max(min(cores, -(-sentences // min(portion, LEAST))), 1)


def portions(lengths: Sequence[int], *, processes: int, portion: int) -> list[Portion]:
    """Return the sentences in portions of like length, the longest first, so that all come to their end together."""
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    # A search keeps its batch full by itself: large portions at first, small ones when the end is near.
    found, rest = [], len(order)
    while rest:
        size = min(max(rest // (2 * processes), LEAST), max(4 * portion, LEAST), rest)
        found.append(order[len(order) - rest : len(order) - rest + size])
        rest -= size
    return found


def share(
    answer: Callable[[Portion], list[Answer]],
    given: Sequence[Portion],
    *,
    processes: int,
    progress: Callable[[int], None] | None = None,
    died: str = DIED,
) -> list[Answer]:
    """Return the answers to all portions in the order of their places; answer is called in forked processes.

    died is what is said where one of them dies.
    """
    context = get_context("fork")
    workers: dict[Connection, BaseProcess] = {}
    waiting, found = list(reversed(given)), dict[int, Answer]()
    try:
        for _ in range(min(processes, len(given))):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(answer, theirs, [*workers, ours]), daemon=True)
            with warnings.catch_warnings():
                # Python warns of forks beside threads. Workers use one thread, as the loaders of torch do.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            theirs.close()
            workers[ours] = process
            ours.send(waiting.pop())
        busy = len(workers)
        while busy:
            for ready in wait(list(workers)):
                assert isinstance(ready, Connection)
                try:
                    portion, answers = ready.recv()
                except (EOFError, OSError):
                    raise JumokError(died) from None
                if isinstance(answers, BaseException):
                    raise answers
                found |= dict(zip(portion, answers, strict=True))
                if progress is not None:
                    progress(len(portion))
                if waiting:
                    ready.send(waiting.pop())
                else:
                    busy -= 1
                    done = workers.pop(ready)
                    ready.close()  # it reads the end, and leaves
                    done.join()
    finally:
        for connection, worker in workers.items():
            worker.kill()
            worker.join()
            connection.close()
    return [found[place] for place in range(len(found))]


def _work(answer: Callable[[Portion], list[Answer]], connection: Connection, others: Sequence[Connection]) -> None:
    """Be a worker: answer portions until there are no more."""
    for other in others:
        other.close()  # else nobody would see the end when the process that asks is killed
    torch.set_num_threads(1)
    freed = FreedMemory()
    freed.keep()  # 3 to 6 % of a small model's search
    try:
        while True:
            portion = connection.recv()
            freed.tidy()
            try:
                connection.send((portion, answer(portion)))
            except Exception as error:
                error.add_note(traceback.format_exc())
                connection.send((portion, error))
    except (EOFError, OSError, KeyboardInterrupt):
        os._exit(0)
