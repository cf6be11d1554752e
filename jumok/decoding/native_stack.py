"""The layers of a LeanStack for one new token of every hypothesis, in one call of C (native/decoding.c).

embedded tokens (R, 1, D), the key-value cache → states (R, 1, D): the numbers of LeanStack, which says what they mean

Hypotheses may have any lengths: C reads as many keys as each has, where torch needs a mask and reads all places.
"""

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.native_step import ACTIVATION_ORDER, DecoderArguments, StepArguments
from jumok.decoding.native_weights import Named, NativeWeights, packing, parameter
from jumok.native.build import kernels, matrix_product
from jumok.native.kernels import PLAIN, address

# R hypotheses · D width

SELF_IN, FEEDFORWARD_IN = 2, 14  # places of matrices among a layer's parameters, as in decoding.h

PORTION = 16  # hypotheses that are worth a thread
LARGEST = (
    1 << 20
)  # numbers in a matrix up to which several threads of torch are no faster than one, if there are few hypotheses


class NativeStack:
    """Layers in C: where their weights lie, and room to work in. Weights that change in place change here too."""

    def __init__(
        self,
        layers: Sequence[Sequence[Named]],
        final: Sequence[Named],
        kind: int,
        *,
        heads: int,
        activation: str,
        pre: bool,
        scale: float,
        epsilon: float,
    ) -> None:
        """Take parameters of layers in the order of decoding.h, and those of a last norm, where there is one."""
        self.weights = NativeWeights([*(name for layer in layers for name in layer), *final], kind)
        self.pointers, first = self.weights.pointers(), [parameter(*name) for name in layers[0]]
        features = first[FEEDFORWARD_IN].shape[0] if first[FEEDFORWARD_IN] is not first[SELF_IN] else 0
        self.layers, self.spaces = len(layers), dict[int, Tensor]()  # each thread has room of its own to work in
        self.pool: ThreadPoolExecutor | None = None
        self.arguments = DecoderArguments(
            multiply=matrix_product(), layers=len(layers), width=len(first[0]), heads=heads, features=features,
            activation=ACTIVATION_ORDER.index(activation), pre=pre, crosses=0, packing=kind, scale=scale, epsilon=epsilon,
            weights=ctypes.addressof(self.pointers),
        )  # fmt: skip
        if final:
            self.arguments.final_norm, self.arguments.final_shift = self.weights.addresses[-2:]

    @property
    def current(self) -> bool:
        """Whether the weights are those of today, and how they are read is what the caller wants."""
        return self.weights.kind == packing() and self.weights.are_current()

    @staticmethod
    def serves(layers: Sequence[tuple[tuple[Tensor, ...], tuple[Tensor, ...]]], kind: int) -> bool:
        """Return whether C can read the weights of these layers, and is the faster."""
        tensors = [tensor for layer in layers for part in layer for tensor in part]
        square = layers[0][0][4].shape[0] == layers[0][0][4].shape[1]  # heads have the model's width among them
        readable = all(
            tensor is not None
            and tensor.dtype == torch.float32
            and tensor.device.type == "cpu"
            and (kind != PLAIN or tensor.is_contiguous())
            and (tensor.numel() <= LARGEST or torch.get_num_threads() == 1)
            for tensor in tensors
        )
        plain = not torch.is_autocast_enabled("cpu")  # what is remembered has other numbers then
        return square and readable and plain and bool(matrix_product()) and kernels() is not None

    def __call__(self, x: Tensor, cache: KeyValueCache) -> Tensor:
        """Return states (R, 1, D) of x (R, 1, D), which continues what is cached; threads share the hypotheses."""
        x, rows, longest = x.contiguous(), len(x), cache.longest + 1
        cached, lengths, states = cache.laid_out(longest), cache.lengths, torch.empty_like(x)
        assert x.dtype == cached[0].dtype == torch.float32  # all that is cached is made alike
        assert len(lengths) == rows
        assert x.numel() == rows * self.arguments.width
        threads = max(min(torch.get_num_threads(), rows // PORTION), 1)
        each = -(-rows // threads)

        def run(thread: int) -> None:
            own = slice(thread * each, (thread + 1) * each)
            self._run(x[own], [tensor[own] for tensor in cached], lengths[own], states[own], thread=thread)

        if threads == 1:
            self._run(x, cached, lengths, states, thread=0)
        else:  # which do not wait for each other within a step, as they would within each of torch's products
            if self.pool is None:
                self.pool = ThreadPoolExecutor(threads)
            list(self.pool.map(run, range(threads)))
        cache.advance(1)
        return states

    def _run(self, x: Tensor, cached: Sequence[Tensor], lengths: Tensor, states: Tensor, *, thread: int) -> None:
        """Write the states of some hypotheses; lengths (R,) of each are cached."""
        library = kernels()
        assert library is not None
        rows, capacity = len(x), cached[0].shape[2]
        needed = library.work_space(ctypes.byref(self.arguments), rows, ctypes.c_int64(capacity))
        space = self.spaces.get(thread)
        if space is None or len(space) < needed:
            space = self.spaces[thread] = torch.empty(needed)
        remembered = (ctypes.c_void_p * (4 * self.layers))()
        for layer in range(self.layers):
            for kind in range(2):  # keys, values
                remembered[4 * layer + kind] = cached[2 * layer + kind].data_ptr()
        step = StepArguments(
            hypotheses=rows, group=1, remembered=ctypes.addressof(remembered), row=cached[0].stride(0),
            head=cached[0].stride(1), longest=capacity, length=lengths.data_ptr(), embedded=x.data_ptr(),
            space=space.data_ptr(),
        )  # fmt: skip
        if library.decode_stack(ctypes.byref(self.arguments), ctypes.byref(step), address(states)):
            raise IndexError(f"a hypothesis is longer than the {capacity} tokens that there is room for")
