"""Freed memory is kept: a second round of large tensors costs no new pages. Where none is left there is a sentence."""

import platform
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import tomli_w
from forked import Command

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


WIDE = {
    "data": {"set": "copy", "size": 3000},
    "tokenizer": {"kind": "word", "min_frequency": 1},
    "model": {"layers": 2, "heads": 2, "width": 256, "feedforward": 1024},
    "training": {"steps": 3, "batch_tokens": 60_000, "evaluate_every": 3},
}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_batch_beyond_the_limit_ends_in_a_sentence(workers, tmp_path):
    """As under ulimit -v: who may take 300 MB more is not stopped before the first step, and does not come through all three."""

    def limit():
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + (300 << 20), resource.RLIM_INFINITY))

    recipe = tmp_path / "wide.toml"
    recipe.write_text(tomli_w.dumps(WIDE))
    run = ["train", recipe, "--out", tmp_path / "run", "--set", f"training.workers={workers}"]
    command = Command(*run, folder=tmp_path, before=limit)
    assert command.wait() == 2, command.err
    said = re.sub(r"[\d.]+ [MG]B", "SIZE", command.err.splitlines()[-1])
    assert re.fullmatch(
        r"jumok: memory has run out after step [01]: (SIZE were asked for at once, and )?SIZE are free\. Start another run with a "
        r"smaller training\.batch_tokens or training\.batch_size, or with training\.workers = 1; or end other programs and go on "
        r"with --resume\.|jumok: worker process 1 died at step 1, perhaps for want of memory; .*",
        said,
    )
    assert "Traceback" not in command.err
    assert not command.others()
