"""Processes that share the sentences of a call: each searches on a thread of its own.

sentences, longest first → portions → whoever is free takes the next → answers, in the order of the sentences

On a CPU two threads inside one small operation wait for each other; two processes never do. They are forked: the
weights are there already, and nobody copies them.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TypeVar

import torch

from jumok.errors import JumokError
from jumok.native.freed_memory import FreedMemory
from jumok.processes import spread

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

    def begin() -> Callable[[Portion], list[Answer]]:
        torch.set_num_threads(1)
        freed = FreedMemory()
        freed.keep()  # 3 to 6 % of a small model's search

        def work(portion: Portion) -> list[Answer]:
            freed.tidy()
            return answer(portion)

        return work

    found: dict[int, Answer] = {}
    with closing(spread(begin, given, processes=processes, died=lambda: JumokError(died))) as answered:
        for number, answers in answered:
            found |= dict(zip(given[number], answers, strict=True))
            if progress is not None:
                progress(len(given[number]))
    return [found[place] for place in range(len(found))]
