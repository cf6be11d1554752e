"""A Transformer's decoder for one new token of every row, in one call of C (native/writing.c).

tokens (R, 1), what the rows remember → logits (R, 1, V): the numbers of transformer.Decoder and the projection

A small model's step is a hundred operations of a few microseconds, most of which torch spends on finding its way to
them. It serves plain float32 decoders on a CPU that nobody observes or trains; `NativeStep.of` says which those are.
"""

import ctypes
from typing import Any

import torch
from torch import Tensor, nn

from jumok.decoding.row_buffers import blank
from jumok.decoding.state import AttendingState, KeyValueCache
from jumok.native.build import kernels, matrix_product
from jumok.native.kernels import address
from jumok.nn.norms import LayerNorm
from jumok.nn.positions import Positions
from jumok.nn.transformer import DecoderLayer

# R rows · H heads · C capacity · d head width · D width · V vocabulary

ROOM = 64  # places of a row at first
ACTIVATION_ORDER = ("relu", "gelu", "gelu-tanh", "silu")  # in the order of writing.c


class _Model(ctypes.Structure):
    """struct model of writing.h."""

    _fields_ = (
        ("multiply", ctypes.c_void_p),
        *((name, ctypes.c_int) for name in ("layers", "width", "heads", "features", "vocabulary", "activation", "pre")),
        *((name, ctypes.c_float) for name in ("scale", "epsilon", "embedding_scale")),
        *(
            (name, ctypes.c_void_p)
            for name in ("table", "positions", "final_norm", "final_shift", "project", "project_bias", "weights")
        ),
    )


class Step(ctypes.Structure):
    """struct step of writing.h."""

    _fields_ = (
        ("rows", ctypes.c_int),
        ("group", ctypes.c_int),
        ("remembered", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("row", "head", "sentence", "memory_head", "memory_place")),
        *((name, ctypes.c_void_p) for name in ("tokens", "lengths", "source_lengths", "place", "space", "logits")),
    )


class NativeStep:
    """The decoder of one search: the model's own weights, and room to work in."""

    def __init__(self, model: Any) -> None:
        decoder, embed = model.decoder, model.embed_target
        first: DecoderLayer = decoder.layers[0]
        self.layers, self.heads = len(decoder.layers), first.attention.heads
        self.positions: Positions = embed.positions
        self.projection, width = (model.project.weight, model.project.bias), model.project.in_features
        weights = [tensor for layer in decoder.layers for tensor in _weights(layer)]
        self.kept = [*weights, embed.table.weight]  # alive while C reads them
        self.pointers = (ctypes.c_void_p * len(weights))(*(tensor.data_ptr() for tensor in weights))
        self.model = _Model(
            multiply=matrix_product(), layers=self.layers, width=width, heads=self.heads,
            features=first.feedforward.expand.out_features if first.has_feedforward else 0,
            activation=ACTIVATION_ORDER.index(first.feedforward.kind) if first.has_feedforward else 0, pre=first.around_attention.pre,
            scale=first.attention.scale, epsilon=first.around_attention.norm.eps, embedding_scale=embed.scale,
            table=embed.table.weight.data_ptr(), weights=ctypes.addressof(self.pointers),
        )  # fmt: skip
        if decoder.final is not None:
            self.model.final_norm, self.model.final_shift = (
                decoder.final.weight.data_ptr(),
                decoder.final.bias.data_ptr(),
            )
        self.size = sum(tensor.numel() for tensor in (*weights, self.projection[0]))
        self.table = torch.zeros(0, width)  # encodings of the first places
        self.space = torch.zeros(0)
        self.mask: Tensor | None = None
        self.source_lengths = torch.zeros(0, dtype=torch.int64)

    @classmethod
    def of(cls, model: Any) -> "NativeStep | None":
        """Return the step of a Transformer that it serves, else None."""
        first: DecoderLayer = model.decoder.layers[0]
        wrapped, attention = first.around_attention, first.attention
        width = model.project.in_features
        plain = isinstance(wrapped.norm, LayerNorm) and wrapped.residual and not first.has_middle_feedforward
        square = attention.heads * attention.head_width == width and attention.value_width == attention.head_width
        added = model.embed_target.positions.join == "add" or model.embed_target.positions.kind == "none"
        tensors = (model.project.weight, model.embed_target.table.weight)
        readable = all(
            tensor.dtype == torch.float32 and tensor.device.type == "cpu" and tensor.is_contiguous()
            for tensor in tensors
        )
        if not (plain and square and added and readable and matrix_product() and kernels()):
            return None
        return cls(model)

    def __call__(self, tokens: Tensor, state: AttendingState) -> Tensor:
        """Return logits (R, 1, V) after tokens (R, 1), which the state remembers from now on."""
        library = kernels()
        assert library is not None
        tokens, lengths = tokens.contiguous(), state.cache.lengths.contiguous()
        place = torch.arange(len(state.memory.mask))
        logits = torch.empty(len(tokens), self.describe_projection(state))
        step = self.describe(tokens, lengths, place, state, more=1)
        step.logits = logits.data_ptr()
        library.decode_step(ctypes.byref(self.model), ctypes.byref(step))
        state.cache.advance(1)
        return logits[:, None]

    def describe_projection(self, state: AttendingState) -> int:
        """Tell C which tokens logits are wanted of; return how many they are."""
        weight, bias = self.projection if state.projection is None else state.projection
        self.model.project, self.model.project_bias = weight.data_ptr(), bias.data_ptr()
        self.model.vocabulary = len(bias)
        return len(bias)

    def describe(self, tokens: Tensor, lengths: Tensor, place: Tensor, state: AttendingState, *, more: int) -> Step:
        """Return what C is told of rows with tokens and lengths (R,), with room for so many more places.

        place (N,) says where the memory of each group of rows is. All three must stay alive as long as the answer.
        """
        library, cache, memory = kernels(), state.cache, state.memory
        assert library is not None
        rows, places = len(tokens), cache.longest + more
        own = self._room(cache, places)
        theirs = memory.buffers.tensors
        if memory.mask is not self.mask:
            self.mask, self.source_lengths = memory.mask, memory.mask.sum(dim=1)
        self._encode(places)
        needed = library.work_space(ctypes.byref(self.model), rows, ctypes.c_int64(max(places, memory.mask.shape[1])))
        if len(self.space) < needed:
            self.space = torch.empty(2 * needed)
        self.remembered = (ctypes.c_void_p * (4 * self.layers))(
            *(
                tensor.data_ptr()
                for layer in range(self.layers)
                for tensor in (*own[2 * layer : 2 * layer + 2], *theirs[2 * layer : 2 * layer + 2])
            )
        )
        sentence, memory_head, memory_place, _ = theirs[0].stride()
        return Step(
            rows=rows, group=rows // len(memory.mask), remembered=ctypes.addressof(self.remembered),
            row=own[0].stride(0), head=own[0].stride(1), sentence=sentence, memory_head=memory_head,
            memory_place=memory_place, tokens=tokens.data_ptr(), lengths=lengths.data_ptr(),
            source_lengths=self.source_lengths.data_ptr(), place=place.data_ptr(), space=self.space.data_ptr(),
        )  # fmt: skip

    def _room(self, cache: KeyValueCache, places: int) -> list[Tensor]:
        """Return each layer's keys and values (R, H, C, d), laid out one after another, with room for a place more."""
        slots = cache.buffers
        if not slots.tensors:
            shape = (cache.rows, self.heads, max(places, ROOM), self.model.width // self.heads)
            slots.tensors = [blank(shape, like=self.space) for _ in range(2 * self.layers)]
        for number in range(len(slots.tensors)):
            slots.tensors[number] = slots.make_room(number, places).contiguous()
        return slots.tensors

    def _encode(self, places: int) -> None:
        """Keep the encodings of at least so many places, where the model has any."""
        if self.positions.kind == "none" or len(self.table) >= places:
            return
        count = max(places, 2 * len(self.table), 64)
        count = min(count, self.positions.limit) if self.positions.limit else count
        encoded = self.positions.encode(torch.arange(count)).float()
        self.table = encoded.expand(count, self.model.width).contiguous()
        self.model.positions = address(self.table)


def _weights(layer: DecoderLayer) -> list[Tensor]:
    """Return a layer's tensors in the order of writing.c."""
    parts: list[nn.Module] = [
        layer.around_attention.norm, layer.attention.query_key_value, layer.attention.output,
        layer.around_cross.norm, layer.cross.query, layer.cross.output,
    ]  # fmt: skip
    # Without a feed-forward, C never reads what stands in its place.
    parts += (
        [layer.around_feedforward.norm, layer.feedforward.expand, layer.feedforward.contract]
        if layer.has_feedforward
        else parts[:3]
    )
    return [tensor.contiguous() for part in parts for tensor in (part.weight, part.bias)]  # type: ignore[operator]
