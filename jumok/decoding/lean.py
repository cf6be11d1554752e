"""A stack of layers, flat: the numbers of nn.transformer.EncoderStack, without calls of modules.

states (R, n, D), and the key-value cache of hypotheses that are continued → states (R, n, D)

Writing one token at a time, a small model spends more time in calls of modules (about 4 µs each, some sixty per token)
than in products (5 to 9 µs each). So the weights are collected when a model first decodes, and one function walks through
them. It serves plain layers that nobody observes or trains; `fits` says which those are.

A large model is bound by reading its weights. torch multiplies one row by a matrix on a single thread; `lay_out` stores
large matrices column by column, so that threads can share them (docs/log.md has the figures).
"""

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.native_stack import NativeStack
from jumok.decoding.native_weights import Named, both, packing
from jumok.nn.attention import attend
from jumok.nn.feedforward import FUNCTIONS
from jumok.nn.linear import multiplies, multiply, narrow_linear
from jumok.nn.norms import LayerNorm
from jumok.nn.precision import narrow
from jumok.nn.transformer import EncoderLayer, EncoderStack, Weighted

# R hypotheses · n new tokens · D width · F features · H heads · d head width

LARGE = 1 << 18  # numbers in a matrix from which reading it takes longer than calls

FEWEST_ROWS, SMALLEST = (
    4,
    1 << 20,
)  # rows, and multiplications in all, from which oneDNN is faster than MKL (docs/log.md)


def lay_out(model: nn.Module) -> None:
    """Store the large matrices of a model that writes column by column, in place: they stay what they are."""
    for module in model.modules():
        if isinstance(module, nn.Linear) and module.weight.numel() >= LARGE and module.weight.device.type == "cpu":
            module.weight.data = module.weight.data.t().contiguous().t()


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x (…, D) · weight (F, D)ᵀ + bias; one row and a matrix that was laid out are shared among threads."""
    if narrow():
        return narrow_linear(x, weight, bias)
    features, width = weight.shape
    rows = x.numel() // width
    if rows >= FEWEST_ROWS and rows * features * width >= SMALLEST and multiplies(x, weight):
        return multiply(x, weight, bias)
    if x.numel() != width or features * width < LARGE or weight.stride(0) != 1:
        return F.linear(x, weight, bias)
    threads = torch.get_num_threads()
    each = features // threads
    columns = weight.t().as_strided((threads, width, each), (each, features, 1))
    found = torch.bmm(x.reshape(1, 1, width).expand(threads, 1, width), columns).flatten()
    if each * threads < features:
        found = torch.cat([found, weight[each * threads :] @ x.flatten()])
    return (found if bias is None else found + bias).view(*x.shape[:-1], features)


class LeanStack:
    """The layers of a stack as plain tensors: the model's own parameters, so that what changes there changes here."""

    def __init__(self, stack: EncoderStack) -> None:
        assert self.fits(stack)
        first = stack.layers.first
        attention = first.attention
        self.heads, self.width, self.scale = attention.heads, attention.output.out_features, attention.scale
        self.pre, self.epsilon = first.around_attention.pre, first.around_attention.norm.eps
        self.activation = first.feedforward.kind if first.has_feedforward else "relu"
        self.activate = FUNCTIONS[self.activation] if first.has_feedforward else None
        self._owners: list[
            tuple[dict[str, nn.Parameter | None], str, Tensor]
        ] = []  # where each of the weights comes from
        self.names = [_names(layer) for layer in stack.layers]
        self.weights = [self._weights(layer) for layer in stack.layers]
        self.final_names = [] if stack.final is None else both(stack.final)
        self.final: tuple[Tensor, Tensor] | None = None
        if stack.final is not None:
            weight, bias = self._parameters(stack.final)
            self.final = weight, bias
        self.native: NativeStack | Literal[False] | None = (
            None  # the layers in C; False: C does not serve; None: not tried
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "native": None}  # a copy has weights elsewhere

    @classmethod
    def of(cls, stack: EncoderStack, known: "LeanStack | None") -> "LeanStack | None":
        """Return the flat form of a stack: the known one while its weights are the stack's; None where it does not fit."""
        if known is not None and known.current:
            if not (known.native and known.native.current):
                known.native = None  # parameters may have been given other memory
            return known
        return cls(stack) if cls.fits(stack) else None

    @staticmethod
    def fits(stack: EncoderStack) -> bool:
        """Return whether the layers are plain: layer norm, residual connections, values as wide as keys, local weights."""
        first = stack.layers.first
        wrapped, attention = first.around_attention, first.attention
        plain = isinstance(wrapped.norm, LayerNorm) and wrapped.residual
        local = type(attention.output.weight) is nn.Parameter  # not sharded among processes: then modules gather them
        return plain and local and attention.head_width == attention.value_width

    @property
    def current(self) -> bool:
        """Whether the weights are still the modules' parameters: load_state_dict(assign=True) and FSDP replace them."""
        return all(owner[name] is weight for owner, name, weight in self._owners)

    def _native(self) -> NativeStack | None:
        """Return the layers in C for one new token of every hypothesis, or None where torch must serve."""
        if self.native is None:
            kind = packing()
            self.native = (kind is not None and NativeStack.serves(self.weights, kind)) and NativeStack(
                self.names, self.final_names, kind, heads=self.heads, activation=self.activation, pre=self.pre,
                scale=self.scale, epsilon=self.epsilon,
            )  # fmt: skip
        return self.native or None

    def _weights(self, layer: EncoderLayer) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        attention, feedforward = _modules(layer)
        return self._parameters(*attention), self._parameters(*feedforward)

    def _parameters(self, *modules: Weighted) -> tuple[Tensor, ...]:
        """Return weight and bias of each module."""
        for module in modules:
            self._owners += [(module._parameters, "weight", module.weight), (module._parameters, "bias", module.bias)]
        return tuple(weight for module in modules for weight in (module.weight, module.bias))

    def __call__(self, x: Tensor, cache: KeyValueCache | None = None, mask: Tensor | None = None) -> Tensor:
        """Return (R, n, D) of x (R, n, D), which continues what is cached; without a cache, mask is that of attention."""
        rows, new = x.shape[:2]
        if cache is not None and new == 1 and cache.longest and (native := self._native()) is not None:
            return native(x, cache)
        heads, scale, pre = self.heads, self.scale, self.pre
        shape, epsilon = (self.width,), self.epsilon
        for number, (attention, feedforward) in enumerate(self.weights):
            weight, bias, in_weight, in_bias, out_weight, out_bias = attention
            given = torch.layer_norm(x, shape, weight, bias, epsilon) if pre else x
            parts = linear(given, in_weight, in_bias).view(rows, new, 3, heads, -1)
            query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)  # (R, H, n, d) each
            causal = False
            if cache is not None:
                key, value, mask, causal = cache.append(number, key, value)
            mixed = attend(query, key, value, mask, causal=causal, scale=scale)
            x = x + linear(mixed.transpose(1, 2).flatten(2), out_weight, out_bias)
            if not pre:
                x = torch.layer_norm(x, shape, weight, bias, epsilon)
            if self.activate is not None:
                weight, bias, in_weight, in_bias, out_weight, out_bias = feedforward
                given = torch.layer_norm(x, shape, weight, bias, epsilon) if pre else x
                x = x + linear(self.activate(linear(given, in_weight, in_bias)), out_weight, out_bias)
                if not pre:
                    x = torch.layer_norm(x, shape, weight, bias, epsilon)
        if cache is not None:
            cache.advance(new)
        if self.final is not None:
            x = torch.layer_norm(x, shape, *self.final, epsilon)
        return x


def _modules(layer: EncoderLayer) -> tuple[list[Weighted], list[Weighted]]:
    """Return what a layer's attention is made of, and its feed-forward, where it has one."""
    attention: list[Weighted] = [
        layer.around_attention.norm,
        layer.attention.query_key_value,
        layer.attention.output,
    ]
    feedforward: list[Weighted] = []
    if layer.has_feedforward:
        feedforward = [layer.around_feedforward.norm, layer.feedforward.expand, layer.feedforward.contract]
    return attention, feedforward


def _names(layer: EncoderLayer) -> list[Named]:
    """Return a layer's parameters in the order of decoding.h."""
    attention, feedforward = _modules(layer)  # C reads no second attention, nor one as the third
    return [name for module in (*attention, *attention, *(feedforward or attention)) for name in both(module)]
