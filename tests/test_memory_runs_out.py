"""Memory: what is free, and errors that say that none is, wherever they come from."""

import errno
import mmap
import re
import resource
from pathlib import Path

import numpy as np
import pytest
import torch

from jumok.memory import free_memory, in_words, shortage

TOO_MUCH = 1 << 46  # bytes


def numpy_array():
    return np.zeros(TOO_MUCH, np.uint8)


def tensor():
    return torch.zeros(TOO_MUCH, dtype=torch.uint8)


def beyond_64_bits():
    return torch.zeros(1 << 60, 1 << 60)


def mapped():
    return mmap.mmap(-1, TOO_MUCH << 1)


def bytes_of_python():
    return bytes(TOO_MUCH << 10)


ASKING = [numpy_array, tensor, mapped, beyond_64_bits, bytes_of_python]


@pytest.mark.parametrize("ask", ASKING)
def test_errors_for_want_of_memory_are_known(ask):
    with pytest.raises((MemoryError, RuntimeError, OSError)) as raised:
        ask()
    told = shortage(raised.value)
    assert re.fullmatch(r"(\S+ [MGT]B were asked for at once, and )?\S+ [MGT]B are free", told)
    assert ("70.4 TB were asked for" in told) == (ask in (numpy_array, tensor))


@pytest.mark.parametrize("said", ["could not create a primitive", "could not execute a primitive"])
def test_what_onednn_says_of_it_is_known(said):
    assert "are free" in shortage(RuntimeError(said))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("out of memory"),
        RuntimeError("shapes differ"),
        RuntimeError("could not create a primitive descriptor for a matmul primitive"),  # it has no such product
        OSError(errno.ENOENT, "x"),
        KeyError("memory"),
    ],
)
def test_others_are_not(error):
    assert shortage(error) == ""


@pytest.mark.parametrize(
    ("size", "words"),
    [(640e9, "640 GB"), (1.25e9, "1.2 GB"), (35e6, "35 MB"), (96.1e12, "96.1 TB"), (4e18, "4,000 PB"), (0, "0 MB")],
)
def test_sizes_in_words(size, words):
    assert in_words(size) == words


def test_a_limit_is_what_is_free():
    """ulimit -v: what other processes leave is of no use then."""
    everything = free_memory()
    assert 0 < everything < 1 << 50
    before = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (held + (50 << 20), before[1]))
        assert 0 <= free_memory() <= 50 << 20
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
