"""A model's weights as C reads them: matrices packed for this processor's products, everything else where it is.

parameters → NativeWeights (addresses, in C's order) → kept beside the model until a parameter changes

Packing takes as long as reading a few sentences, so it is done once, and only where weights rest (nn/precision.py): each
search compares where every parameter lies and how often it was written to. Elsewhere C reads matrices where they are.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from jumok.native.build import kernels
from jumok.native.kernels import PACKED, PACKED_NARROW, PLAIN, address, floats, int64, packs_narrow
from jumok.nn.precision import narrow, stamp, weights_rest

Named = tuple[nn.Module, str]  # a module and the name of one of its parameters


def packing() -> int | None:
    """Return how this processor wants matrices in the precision of now; None: it has no kernels for it."""
    library = kernels()
    if library is None:
        return None
    if not weights_rest():
        return PLAIN
    if narrow():
        return PACKED_NARROW if packs_narrow() else None
    return PACKED if library.packings() >> PACKED & 1 else PLAIN


def packed(weight: Tensor, kind: int) -> Tensor:
    """Return a matrix (F, D) as C reads it."""
    library = kernels()
    assert library is not None
    weight = weight.detach().contiguous()
    if kind == PLAIN:
        return weight
    outside, inside = weight.shape
    room = torch.empty(library.packed_size(kind, int64(outside), int64(inside)), dtype=torch.uint8)
    library.pack(kind, floats(weight), int64(outside), int64(inside), address(room))
    return room


class NativeWeights:
    """Parameters in the order of C. What was taken from them stays alive as long as this does."""

    def __init__(self, names: Sequence[Named], kind: int, *, beside: Sequence[Named] = ()) -> None:
        """Take parameters by their names, matrices packed; others beside them are only watched."""
        self.kind = kind
        self._known = [
            (module._parameters, name, tensor, *stamp(tensor))
            for module, name, tensor in ((*each, parameter(*each)) for each in (*names, *beside))
        ]
        self._counted = not any(tensor.is_inference() for _, _, tensor, _, _ in self._known)
        tensors = [parameter(module, name) for module, name in names]
        self.size = sum(tensor.numel() for tensor in tensors)
        taken: dict[int, Tensor] = {}  # tied matrices are packed once
        for tensor in tensors:
            if id(tensor) not in taken:
                taken[id(tensor)] = packed(tensor, kind) if tensor.dim() == 2 else tensor.detach().contiguous()
        self.kept = [taken[id(tensor)] for tensor in tensors]
        self.addresses = [tensor.data_ptr() for tensor in self.kept]

    @staticmethod
    def fit(names: Sequence[Named]) -> bool:
        """Return whether C can read parameters: float32, on a CPU, not shared out among processes."""
        return all(
            type(tensor) is nn.Parameter and tensor.dtype == torch.float32 and tensor.is_cpu
            for tensor in (getattr(module, name) for module, name in names)
        )

    def are_current(self) -> bool:
        """Return whether the parameters are still the same, and nobody has written to them."""
        counted = self._counted  # a loop without calls: every sentence waits for it
        for owner, name, tensor, place, version in self._known:
            if owner[name] is not tensor or tensor.data_ptr() != place or (counted and tensor._version != version):
                return False
        return True

    def pointers(self) -> "ctypes.Array[ctypes.c_void_p]":
        """Return the addresses as an array of C."""
        return (ctypes.c_void_p * len(self.addresses))(*self.addresses)


def parameter(module: nn.Module, name: str) -> Tensor:
    """Return a module's parameter by its name."""
    found = module._parameters[name]
    assert found is not None
    return found


def both(module: nn.Module) -> list[Named]:
    """Return the weight and the bias of a module."""
    return [(module, "weight"), (module, "bias")]


class Held:
    """What was made of weights, as long as they are the same."""

    weights: NativeWeights


HeldT = TypeVar("HeldT", bound=Held)


class Known(Generic[HeldT]):
    """What was made of each model's weights, by how they are packed: made anew where a weight has changed."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[nn.Module, dict[int, HeldT]] = WeakKeyDictionary()

    def get(self, module: nn.Module, make: Callable[[int], HeldT | None]) -> HeldT | None:
        """Return what belongs to a module, made by make(packing) where it must be; None where C does not serve."""
        kind = packing()
        if kind is None:
            return None
        found = self._of.get(module, {}).get(kind)
        if found is not None and found.weights.are_current():
            return found
        made = make(kind)
        if made is None:
            self._of.pop(module, None)
            return None
        self._of.setdefault(module, {})[kind] = made
        return made
