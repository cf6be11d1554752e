"""The decoder of a TextDecoder for one new token of every hypothesis, in one call of C (native/decoding.c).

tokens (R, 1), what hypotheses remember → logits (R, 1, V): the numbers of nn.transformer.DecoderStack and the projection

A small model's step is a hundred operations of a few microseconds, most of which torch spends on finding its way to
them. It serves plain float32 decoders on a CPU that nobody observes or trains; `NativeStep.of` says which those are.
"""

import ctypes
from typing import NoReturn

import torch
from torch import Tensor, nn

from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.native_weights import Held, Known, Named, NativeWeights, both, packed
from jumok.decoding.row_buffers import blank
from jumok.decoding.state import AttendingState
from jumok.native.build import kernels, matrix_product
from jumok.native.kernels import address, floats
from jumok.nn.embeddings import Embedding
from jumok.nn.masks import shown_keys
from jumok.nn.norms import LayerNorm
from jumok.nn.positions import Positions
from jumok.nn.transformer import DecoderLayer, DecoderStack, Weighted

# R hypotheses · N sentences · H heads · C capacity · d head width · D width · V vocabulary

ROOM = 64  # tokens of a hypothesis that the key-value cache has room for at first
ACTIVATION_ORDER = ("relu", "gelu", "gelu-tanh", "silu")  # in the order of decoding.c


class DecoderArguments(ctypes.Structure):
    """struct decoder of decoding.h."""

    _fields_ = (
        ("multiply", ctypes.c_void_p),
        *(
            (name, ctypes.c_int)
            for name in (
                "layers",
                "width",
                "heads",
                "features",
                "vocabulary",
                "activation",
                "pre",
                "crosses",
                "packing",
            )
        ),
        *((name, ctypes.c_int64) for name in ("tokens", "places")),
        *((name, ctypes.c_float) for name in ("scale", "epsilon", "embedding_scale")),
        *(
            (name, ctypes.c_void_p)
            for name in ("table", "positions", "final_norm", "final_shift", "project", "project_bias", "weights")
        ),
    )


class StepArguments(ctypes.Structure):
    """struct step of decoding.h."""

    _fields_ = (
        ("hypotheses", ctypes.c_int),
        ("group", ctypes.c_int),
        ("remembered", ctypes.c_void_p),
        *(
            (name, ctypes.c_int64)
            for name in (
                "row",
                "head",
                "longest",
                "memory_row",
                "memory_head",
                "memory_place",
                "sentences",
                "source_longest",
            )
        ),
        *(
            (name, ctypes.c_void_p)
            for name in ("next", "length", "embedded", "source_length", "sentence", "space", "logits")
        ),
    )


class NativeDecoder(Held):
    """The weights of a decoder as C reads them, and what does not change from search to search."""

    def __init__(self, embed: Embedding, decoder: DecoderStack, project: nn.Linear, kind: int) -> None:
        first = decoder.layers.first
        names = [name for layer in decoder.layers for name in layer_parameters(layer)]
        self.depth = len(names)
        if decoder.final is not None:
            names += both(decoder.final)
        self.weights = NativeWeights([*names, *both(project)], kind, beside=embedding_parameters(embed))
        self.projection = (project.weight.detach(), project.bias.detach())
        self.positions, self.table = embed.positions, torch.zeros(0, project.in_features)
        self.kept = [tensor.untyped_storage() for tensor in (embed.table.weight, *self.projection)]
        self.pointers, addresses = self.weights.pointers(), self.weights.addresses
        self.arguments = DecoderArguments(
            multiply=matrix_product(), layers=len(decoder.layers), width=project.in_features,
            heads=first.attention.heads, features=first.feedforward.expand.out_features if first.has_feedforward else 0,
            activation=ACTIVATION_ORDER.index(first.feedforward.kind) if first.has_feedforward else 0,
            pre=first.around_attention.pre, crosses=1, packing=kind, scale=first.attention.scale,
            epsilon=first.around_attention.norm.eps, embedding_scale=embed.scale, tokens=len(embed.table.weight),
            table=floats(embed.table.weight), weights=ctypes.addressof(self.pointers),
            vocabulary=project.out_features, project=addresses[len(names)], project_bias=addresses[len(names) + 1],
        )  # fmt: skip
        if decoder.final is not None:
            self.arguments.final_norm, self.arguments.final_shift = addresses[self.depth : self.depth + 2]
        self.size = self.weights.size

    @staticmethod
    def fits(embed: Embedding, decoder: DecoderStack, project: nn.Linear) -> bool:
        """Return whether C serves a decoder between an embedding and a projection."""
        first = decoder.layers.first
        wrapped, attention = first.around_attention, first.attention
        width = project.in_features
        plain = isinstance(wrapped.norm, LayerNorm) and wrapped.residual and not first.has_middle_feedforward
        square = attention.heads * attention.head_width == width and attention.value_width == attention.head_width
        if not (plain and square and joins(embed) and matrix_product() and kernels()):
            return False
        names = [name for layer in decoder.layers for name in layer_parameters(layer)]
        return NativeWeights.fit([*names, *both(project), (embed.table, "weight")]) and all(
            tensor.is_contiguous() for tensor in (project.weight, embed.table.weight)
        )

    def positions_of(self, longest: int) -> Tensor:
        """Return the encodings of at least so many positions."""
        if len(self.table) < longest:
            self.table = encoded_positions(self.positions, longest, self.arguments.width, before=len(self.table))
        return self.table


_decoders: Known[NativeDecoder] = Known()


class NativeStep:
    """The decoder of one search in C: the weights that the model has when it starts, and room to work in.

    What was taken of the weights stays as it is while the search runs, and is left behind at the next start: no request
    is begun with weights of yesterday.
    """

    def __init__(self, shared: NativeDecoder) -> None:
        self.shared, self.size = shared, shared.size
        self.decoder = DecoderArguments.from_buffer_copy(shared.arguments)
        self.layers, self.heads = shared.arguments.layers, shared.arguments.heads
        self.projection: tuple[Tensor, Tensor] | None = None  # of a shortlist, and how C reads it
        self.packed: Tensor | None = None
        self.table = torch.zeros(0)  # encodings of the first positions
        self.space = torch.zeros(0)
        self.mask: Tensor | None = None
        self.source_length = torch.zeros(0, dtype=torch.int64)

    @classmethod
    def of(cls, embed: Embedding, decoder: DecoderStack, project: nn.Linear) -> "NativeStep | None":
        """Return the step of a decoder between an embedding and a projection, or None where C does not serve."""
        if torch.is_autocast_enabled("cpu"):  # what is remembered has other numbers then
            return None

        def make(kind: int) -> NativeDecoder | None:
            fits = NativeDecoder.fits(embed, decoder, project)
            return NativeDecoder(embed, decoder, project, kind) if fits else None

        shared = _decoders.get(decoder, make)
        return None if shared is None else cls(shared)

    def __call__(self, tokens: Tensor, state: AttendingState) -> Tensor:
        """Return logits (R, 1, V) after tokens (R, 1), which the state remembers from now on."""
        library = kernels()
        assert library is not None
        tokens, length = tokens.long().contiguous(), state.cache.lengths.contiguous()
        sentence = torch.arange(len(state.memory.mask))
        logits = torch.empty(len(tokens), self.describe_projection(state))
        step = self.describe(tokens, length, sentence, state, steps=1)
        step.logits = logits.data_ptr()
        if library.decode_step(ctypes.byref(self.decoder), ctypes.byref(step)):
            self.refuse()
        state.cache.advance(1)
        return logits[:, None]

    def describe_projection(self, state: AttendingState) -> int:
        """Let C project onto the whole vocabulary, or onto the state's shortlist; return how many tokens that is."""
        if state.projection is not self.projection:
            self.projection, own = state.projection, self.shared.arguments
            self.decoder.vocabulary = own.vocabulary
            self.decoder.project, self.decoder.project_bias = own.project, own.project_bias
            if state.projection is not None:
                weight, bias = state.projection
                self.packed = packed(weight, own.packing)
                self.decoder.project, self.decoder.project_bias = address(self.packed), floats(bias)
                self.decoder.vocabulary = len(bias)
        return int(self.decoder.vocabulary)

    def describe(
        self, tokens: Tensor, length: Tensor, sentence: Tensor, state: AttendingState, *, steps: int
    ) -> StepArguments:
        """Return the arguments of C for hypotheses of some length (R,) that read tokens (R,), with room for so many steps.

        sentence (N,) is the row of memory that a sentence's hypotheses share. All three must outlive the arguments.
        """
        library, cache, memory = kernels(), state.cache, state.memory
        assert library is not None
        count, longest = len(tokens), cache.longest + steps
        own = self._make_room(cache, longest)
        theirs = memory.buffers.tensors
        sentences, source_longest = memory.mask.shape
        group = count // sentences
        assert len(length) == cache.rows == count == group * sentences
        assert own[0].dtype == torch.float32  # all of them are made alike
        assert len(own[0]) >= count
        if memory.mask is not self.mask:
            assert theirs[0].dtype == torch.float32
            assert theirs[0].is_cpu
            assert len(theirs[0]) >= sentences
            assert theirs[0].shape[2] >= source_longest
            shown = shown_keys(memory.mask[:, None, None], sentences, source_longest)
            assert shown is not None, "tokens of a source stand before its padding"
            self.mask, self.source_length = memory.mask, shown
        self._encode_positions(longest)
        most = ctypes.c_int64(max(longest, source_longest))
        needed = library.work_space(ctypes.byref(self.decoder), count, most)
        if len(self.space) < needed:
            self.space = torch.empty(2 * needed)
        self.remembered = (ctypes.c_void_p * (4 * self.layers))(
            *(
                tensor.data_ptr()
                for layer in range(self.layers)
                for tensor in (*own[2 * layer : 2 * layer + 2], *theirs[2 * layer : 2 * layer + 2])
            )
        )
        memory_row, memory_head, memory_place, _ = theirs[0].stride()
        return StepArguments(
            hypotheses=count, group=group, remembered=ctypes.addressof(self.remembered),
            row=own[0].stride(0), head=own[0].stride(1), longest=longest, memory_row=memory_row,
            memory_head=memory_head, memory_place=memory_place, sentences=sentences, source_longest=source_longest,
            next=tokens.data_ptr(), length=length.data_ptr(), source_length=self.source_length.data_ptr(),
            sentence=sentence.data_ptr(), space=self.space.data_ptr(),
        )  # fmt: skip

    def refuse(self) -> NoReturn:
        """Refuse numbers that C cannot look up."""
        known = self.decoder.tokens
        raise IndexError(
            f"a token is not in the vocabulary of {known}, or a hypothesis is longer than there is room for"
        )

    def _make_room(self, cache: KeyValueCache, longest: int) -> list[Tensor]:
        """Return each layer's keys and values (R, H, C, d), contiguous, with room for so many tokens."""
        buffers = cache.buffers
        if not buffers.tensors:
            shape = (cache.rows, self.heads, max(longest, ROOM), self.decoder.width // self.heads)
            buffers.tensors = [blank(shape, like=self.space) for _ in range(2 * self.layers)]
        return cache.laid_out(longest)

    def _encode_positions(self, longest: int) -> None:
        """Keep the encodings of at least so many positions, where the model has any."""
        if self.shared.positions.kind == "none" or len(self.table) >= longest:
            return
        self.table = self.shared.positions_of(longest)
        self.decoder.positions, self.decoder.places = floats(self.table), len(self.table)


def joins(embed: Embedding) -> bool:
    """Return whether C joins tokens and positions as an embedding does."""
    return embed.positions.join == "add" or embed.positions.kind == "none"


def encoded_positions(positions: Positions, longest: int, width: int, *, before: int) -> Tensor:
    """Return the encodings (P, D) of at least so many positions: twice as many as before, as far as there are any."""
    count = max(longest, 2 * before, ROOM)
    count = min(count, positions.limit) if positions.limit else count
    return positions.encode(torch.arange(count)).detach().float().expand(count, width).contiguous()


def embedding_parameters(embed: Embedding) -> list[Named]:
    """Return what an embedding has learnt: C reads it where it is."""
    positions = [(embed.positions, "table")] if embed.positions.kind == "learned" else []
    return [(embed.table, "weight"), *positions]


def layer_parameters(layer: DecoderLayer) -> list[Named]:
    """Return a layer's parameters in the order of decoding.h."""
    parts: list[Weighted] = [
        layer.around_attention.norm, layer.attention.query_key_value, layer.attention.output,
        layer.around_cross.norm, layer.cross.query, layer.cross.output,
    ]  # fmt: skip
    if layer.has_feedforward:
        parts += [layer.around_feedforward.norm, layer.feedforward.expand, layer.feedforward.contract]
    else:
        parts += parts[:3]  # never read by C
    return [name for part in parts for name in both(part)]
