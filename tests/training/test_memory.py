"""Freed memory is kept: a second round of large tensors costs no new pages."""

import platform
import subprocess
import sys

import pytest

from jumok.training.memory import peak_memory

ROUNDS = """
import os, resource, sys
import torch
from jumok.native import freed_memory as memory

def round():
    torch.empty(9 << 20).fill_(1)  # 36 MB: more than glibc ever keeps unasked
    freed.tidy()

def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for how in sys.argv[1:]:
    if os.fork():
        os.wait()
        continue
    freed = memory.FreedMemory()
    if how != "plain":
        freed.keep()
    if how == "tidy":
        memory.SECONDS = 0.0
    for _ in range(20):
        round()
    before = pages()
    for _ in range(5):
        round()
    print(pages() - before, flush=True)
    os._exit(0)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked")
def test_pages_are_used_again() -> None:
    ways = ("keep", "plain", "tidy")
    done = subprocess.run([sys.executable, "-c", ROUNDS, *ways], capture_output=True, text=True, check=True)
    keep, plain, tidy = map(int, done.stdout.split())
    assert keep < 1000 < plain
    assert tidy > 1000, "what is not in use is given back when its time has come"


def test_the_peak_is_the_processes_own_and_not_that_of_the_one_that_started_it():
    large = b"x" * 300_000_000
    code = "from jumok.training.memory import peak_memory; print(peak_memory())"
    own = int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    assert own < len(large) < peak_memory()
