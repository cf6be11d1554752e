"""The layers of a LeanStack for one new token of every hypothesis, in one call of C (native/decoding.c).

embedded tokens (R, 1, D), the key-value cache → states (R, 1, D): the numbers of LeanStack, which says what they mean

Hypotheses may have any lengths: C reads as many keys as each has, where torch needs a mask and reads all places.
"""

import ctypes
from collections.abc import Sequence

import torch
from torch import Tensor

from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.native_step import ACTIVATION_ORDER, DecoderArguments, StepArguments
from jumok.native.build import kernels, matrix_product

# R hypotheses · D width

WEIGHTS = 6  # of attention, and of a feed-forward: norm, matrix in, matrix out, each with its bias
LARGEST = 1 << 20  # numbers in a matrix up to which C's one thread is not slower than several of torch's


class NativeStack:
    """Layers in C: where their weights lie, and room to work in. Weights that change in place change here too."""

    def __init__(
        self,
        layers: Sequence[tuple[tuple[Tensor, ...], tuple[Tensor, ...]]],
        final: tuple[Tensor, ...],
        *,
        heads: int,
        activation: str,
        pre: bool,
        scale: float,
        epsilon: float,
    ) -> None:
        """Take weights as LeanStack has them."""
        weights: list[Tensor] = []
        for attention, feedforward in layers:
            weights += [
                *attention,
                *attention,
                *(feedforward or attention),
            ]  # C reads no second attention, nor one as the third
        first, features = layers[0][0], layers[0][1][2].shape[0] if layers[0][1] else 0
        self.kept = [tensor.untyped_storage() for tensor in (*weights, *final)]
        self.pointers = (ctypes.c_void_p * len(weights))(*(tensor.data_ptr() for tensor in weights))
        self.layers, self.space = len(layers), torch.zeros(0)
        self.arguments = DecoderArguments(
            multiply=matrix_product(), layers=len(layers), width=len(first[0]), heads=heads, features=features,
            activation=ACTIVATION_ORDER.index(activation), pre=pre, crosses=0, scale=scale, epsilon=epsilon,
            weights=ctypes.addressof(self.pointers),
        )  # fmt: skip
        if final:
            self.arguments.final_norm, self.arguments.final_shift = (tensor.data_ptr() for tensor in final)

    @staticmethod
    def serves(layers: Sequence[tuple[tuple[Tensor, ...], tuple[Tensor, ...]]]) -> bool:
        """Return whether C can read the weights of these layers, and is the faster."""
        tensors = [tensor for layer in layers for part in layer for tensor in part]
        square = layers[0][0][4].shape[0] == layers[0][0][4].shape[1]  # heads have the model's width among them
        readable = all(
            tensor is not None
            and tensor.dtype == torch.float32
            and tensor.device.type == "cpu"
            and tensor.is_contiguous()
            and (tensor.numel() <= LARGEST or torch.get_num_threads() == 1)
            for tensor in tensors
        )
        return square and readable and bool(matrix_product()) and kernels() is not None

    def __call__(self, x: Tensor, cache: KeyValueCache) -> Tensor:
        """Return states (R, 1, D) of x (R, 1, D), which continues what is cached."""
        library = kernels()
        assert library is not None
        x, rows, longest = x.contiguous(), len(x), cache.longest + 1
        cached, lengths = cache.laid_out(longest), cache.lengths
        needed = library.work_space(ctypes.byref(self.arguments), rows, ctypes.c_int64(longest))
        if len(self.space) < needed:
            self.space = torch.empty(2 * needed)
        remembered = (ctypes.c_void_p * (4 * self.layers))()
        for layer in range(self.layers):
            remembered[4 * layer], remembered[4 * layer + 1] = (
                one.data_ptr() for one in cached[2 * layer : 2 * layer + 2]
            )
        states = torch.empty_like(x)
        step = StepArguments(
            hypotheses=rows, group=1, remembered=ctypes.addressof(remembered), row=cached[0].stride(0),
            head=cached[0].stride(1), length=lengths.data_ptr(), embedded=x.data_ptr(), space=self.space.data_ptr(),
        )  # fmt: skip
        library.decode_stack(ctypes.byref(self.arguments), ctypes.byref(step), ctypes.c_void_p(states.data_ptr()))
        cache.advance(1)
        return states
