"""The precision of products: what is asked for, or what a model's family and this machine are known to do well.

training.precision = "auto" → the model's family, the processor → fp32 or bf16, kept in the run's recipe
--precision auto            → the same, of answers: nobody asks how many there are, so that none depends on its neighbours
"""

from functools import cache
from pathlib import Path
from typing import Literal

import torch

from jumok.errors import ConfigError, did_you_mean
from jumok.native.kernels import packs_narrow
from jumok.nn.precision import Precision

# Families of models that learnt as well with products in bf16 as in fp32 (docs/log.md tells how that was measured).
LEARNS_AS_WELL: frozenset[str] = frozenset()

# Families of models whose answers are as good with products in bf16 as in fp32 (docs/log.md), and come faster.
ANSWERS_AS_WELL: frozenset[str] = frozenset({"transformer"})

WANTED = ("auto", "fp32", "bf16")

# What processors with products in bf16 call them in /proc/cpuinfo. AMX passed the tests (docs/log.md); ARM's is untested.
FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}


def choose_precision(wanted: Literal["auto", "fp32", "bf16"], family: str, device: torch.device) -> Precision:
    """Return the precision for a family of models on a device."""
    if wanted != "auto":
        return wanted
    return "bf16" if family in LEARNS_AS_WELL and multiplies_narrow(device) else "fp32"


def choose_answering(wanted: str, family: str, device: torch.device) -> Precision:
    """Return the precision in which a family of models answers on a device."""
    if wanted not in WANTED:
        raise ConfigError(f"--precision {wanted}: {did_you_mean(wanted, WANTED)}")
    if wanted == "bf16" and not multiplies_narrow(device):
        raise ConfigError(
            f"--precision bf16: {device.type} has no products in bf16 here, so that answers would come more slowly than "
            "in fp32; leave it out"
        )
    if wanted == "bf16":
        return "bf16"
    narrow = wanted == "auto" and family in ANSWERS_AS_WELL and device.type == "cpu" and multiplies_narrow(device)
    return "bf16" if narrow and packs_narrow() else "fp32"


def multiplies_narrow(device: torch.device) -> bool:
    """Return whether a device has products in bf16; elsewhere they are made of others, and are slower than fp32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return device.type == "cpu" and bool(FLAGS & processor_flags())


@cache
def processor_flags() -> frozenset[str]:
    """Return what the processor says it can do; nothing where nobody tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    told = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return frozenset(told.partition(":")[2].split())
