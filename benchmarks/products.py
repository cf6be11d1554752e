"""What share of a training step its products take, and how fast they are: oneDNN and MKL tell when they are asked to.

what they print for each product → (operations, seconds) → GFLOPS, share of the steps

Products of jumok's own kernels in C (attention's) are not told, and so not counted.
"""

import ctypes
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from contest import OURS, Contestant, Record, run

ONEDNN = re.compile(
    r"^onednn_verbose,v\d,primitive,exec,cpu,(matmul|inner_product|convolution|rnn),(.*),([^,]*),([\d.]+)$",
    re.MULTILINE,
)
MKL = re.compile(r"^MKL_VERBOSE \w*GEMM\w*\((.*?)\) ([\d.]+)(ns|us|ms|s)\b", re.MULTILINE)
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
GATES = {"vanilla_lstm": 4, "vanilla_gru": 3, "lbr_gru": 3, "vanilla_rnn": 1}


class Product(NamedTuple):
    """One product."""

    operations: float  # multiplications and additions; 0 where its sizes are not told
    seconds: float


def read(text: str) -> Iterator[Product]:
    """Yield the products that oneDNN and MKL told of."""
    for kind, rest, sizes, milliseconds in ONEDNN.findall(text):
        yield Product(operations_of(kind, rest, sizes), float(milliseconds) / 1000)
    for arguments, count, unit in MKL.findall(text):
        parts = arguments.split(",")[2:5]  # after two letters for transposed sides: m, n, k; a batch has pointers there
        known = len(parts) == 3 and all(part.isdecimal() for part in parts)
        yield Product(2.0 * prod(map(int, parts)) if known else 0.0, float(count) * SECONDS[unit])


def operations_of(kind: str, rest: str, sizes: str) -> float:
    """Return how many operations one of oneDNN's products has, by its sizes as oneDNN writes them."""
    if kind == "matmul":  # 8x32x16:8x16x24
        left, right = ([int(side) for side in one.split("x")] for one in sizes.split(":")[:2])
        return 2.0 * prod(left) * right[-1]
    found = {name: int(size) for name, size in re.findall(r"([a-z]+)(\d+)", sizes)}
    if kind == "inner_product":  # mb2048ic128oc384
        return 2.0 * prod(found[name] for name in ("mb", "ic", "oc"))
    if kind == "convolution":  # mb8_ic3oc96_ih32oh8kh4sh4dh0ph0_iw32ow8kw4sw4dw0pw0
        sides = [found.get(name, 1) for name in ("mb", "ic", "oc", "od", "oh", "ow", "kd", "kh", "kw")]
        return 2.0 * prod(sides) / found.get("g", 1)
    gates = next((count for name, count in GATES.items() if f"alg:{name} " in rest), 0)  # l1t5mb8sic64slc32dhc64dic64
    ways = (2 if "bidirectional" in rest else 1) * (2 if ",backward," in rest else 1)
    steps = prod(found[name] for name in ("l", "t", "mb", "dhc"))
    return 2.0 * ways * gates * steps * (found["slc"] + found["sic"])


class Listener:
    """Take over what this process writes to its standard output, and read the products of a stretch of time in it."""

    def __init__(self, path: Path) -> None:
        self.path, self.listening = path, ExitStack()
        self.libraries = ctypes.CDLL(None)
        with path.open("w") as file:
            os.dup2(file.fileno(), 1)

    def begin(self) -> None:
        """Let oneDNN and MKL tell of every product from now on."""
        import torch

        self.listening.enter_context(torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON))
        self.listening.enter_context(torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON))

    def end(self) -> dict[str, float]:
        """Return the seconds of all products since begin, and the operations and seconds of those whose sizes are told."""
        self.listening.close()
        self.libraries.fflush(None)  # what C has written and kept back
        products = list(read(self.path.read_text(encoding="utf-8", errors="replace")))
        known = [product for product in products if product.operations]
        return {
            "product_seconds": sum(product.seconds for product in products),
            "known_seconds": sum(product.seconds for product in known),
            "operations": sum(product.operations for product in known),
        }


def measure(contestants: Sequence[Contestant], *, job: dict[str, Any], folder: Path) -> list[Record]:
    """Train with each of jumok's contestants once more, on one core, and return what its products were."""
    found = []
    for number, contestant in enumerate(one for one in contestants if one.toolkit == OURS):
        own = folder / f"products-{number}"
        own.mkdir()
        given = {**job, **contestant.job, "precision": contestant.precision, "folder": str(folder), "threads": 1}
        record = run(contestant, {**given, "go_on": False, "products": True}, own=own)
        found.append({"event": contestant.event, **record})
    return found


def notes(records: Sequence[Record]) -> list[str]:
    """Return a line for each record."""
    return [
        f"{record['event']}: jumok in {record['precision']} makes its products at "
        f"{record['operations'] / record['known_seconds'] / 1e9:,.0f} GFLOPS on one core; they take "
        f"{record['product_seconds'] / record['step_seconds']:.0%} of a step"
        for record in records
    ]
