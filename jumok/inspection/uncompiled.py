"""Compiled models, which run as they are written while they are observed.

torch.compile(model), model.compile()  → switched off for the model inside the block, from all threads
compiled functions that a model calls  → left compiled; what sees them is kept out of the compiled code
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import ParamSpec, TypeVar

import torch
from torch import nn

Given = ParamSpec("Given")
Found = TypeVar("Found")

ORIGINAL = "_orig_mod"  # the model inside what torch.compile returns


@contextmanager
def uncompiled(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Let the compiled ones of some modules run as they are written within the block."""
    with ExitStack() as stack:
        for module in modules:
            own = vars(module)
            if own.get("_compiled_call_impl") is not None:
                stack.callback(own.__setitem__, "_compiled_call_impl", own["_compiled_call_impl"])
                own["_compiled_call_impl"] = None
            if ORIGINAL in module._modules and "forward" in own:
                stack.callback(own.__setitem__, "forward", own["forward"])
                own["forward"] = module._modules[ORIGINAL]
        yield


def kept_out_of_compiled_code(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Return the function as compiled code calls it: as it is written. Where nothing is compiled, nothing is imported."""
    if "torch._dynamo" not in sys.modules:
        return function
    apart: Callable[Given, Found] = torch.compiler.disable(function)  # type: ignore[no-untyped-call]
    return apart
