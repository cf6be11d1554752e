"""What a text decoder reads, in one call of C (native/encoding.c): source ids → states, and what each decoder layer looks at.

source (B, S) → encoder → states (B, S, D), keys and values (B, H, S, d) of each layer of the decoder

Padding is left out, so that no sentence is computed by another's length. It serves plain float32 encoders on a CPU that
nobody observes or trains; `NativeSources.of` says which those are.
"""

import ctypes

import torch
from torch import Tensor

from jumok.decoding.native_step import (
    ACTIVATION_ORDER,
    DecoderArguments,
    embedding_parameters,
    encoded_positions,
    joins,
)
from jumok.decoding.native_weights import Held, Known, Named, NativeWeights, both
from jumok.native.build import kernels, matrix_product
from jumok.native.kernels import address, floats, int64, integers
from jumok.nn.embeddings import Embedding
from jumok.nn.model import Memory
from jumok.nn.norms import LayerNorm
from jumok.nn.transformer import DecoderStack, EncoderLayer, EncoderStack, Weighted

# B sentences · S source · N tokens of all sentences · H heads · d head width · D width

LARGEST = 1 << 20  # numbers in a matrix up to which one thread in C is no slower than several of torch


class _SourceArguments(ctypes.Structure):
    """struct sources of encoding.c."""

    _fields_ = (
        ("sentences", ctypes.c_int),
        ("remembering", ctypes.c_int),
        ("longest", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("tokens", "length", "project", "space", "states", "remembered")),
    )


class NativeSources(Held):
    """The weights of an encoder, and of the decoder's look at it, as C reads them."""

    def __init__(self, embed: Embedding, encoder: EncoderStack, decoder: DecoderStack, kind: int) -> None:
        first = encoder.layers.first
        names = [name for layer in encoder.layers for name in _layer_parameters(layer)]
        final = [] if encoder.final is None else both(encoder.final)
        looks = [name for layer in decoder.layers for name in both(layer.cross.key_value)]
        self.weights = NativeWeights([*names, *final, *looks], kind, beside=embedding_parameters(embed))
        self.layers, self.embed, self.table = len(decoder.layers), embed, torch.zeros(0)
        self.kept = embed.table.weight.untyped_storage()
        self.pointers, addresses = self.weights.pointers(), self.weights.addresses
        self.looks = (ctypes.c_void_p * len(looks))(*addresses[-len(looks) :])
        self.arguments = DecoderArguments(
            multiply=matrix_product(), layers=len(encoder.layers), width=first.attention.output.out_features,
            heads=first.attention.heads, features=first.feedforward.expand.out_features if first.has_feedforward else 0,
            activation=ACTIVATION_ORDER.index(first.feedforward.kind) if first.has_feedforward else 0,
            pre=first.around_attention.pre, crosses=0, packing=kind, scale=first.attention.scale,
            epsilon=first.around_attention.norm.eps, embedding_scale=embed.scale, tokens=len(embed.table.weight),
            table=floats(embed.table.weight), weights=ctypes.addressof(self.pointers),
        )  # fmt: skip
        if final:
            self.arguments.final_norm, self.arguments.final_shift = addresses[len(names) : len(names) + 2]

    @classmethod
    def of(cls, embed: Embedding, encoder: EncoderStack, decoder: DecoderStack) -> "NativeSources | None":
        """Return what reads sources for a decoder, or None where C does not serve, or several threads are faster."""
        if torch.is_autocast_enabled("cpu"):
            return None
        first, features = encoder.layers.first, encoder.layers.first.attention.output.in_features
        widest = max(3 * features, first.feedforward.expand.out_features if first.has_feedforward else 0)
        if torch.get_num_threads() > 1 and widest * features > LARGEST:
            return None

        def make(kind: int) -> NativeSources | None:
            return cls(embed, encoder, decoder, kind) if cls.fits(embed, encoder, decoder) else None

        return _sources.get(encoder, make)

    @staticmethod
    def fits(embed: Embedding, encoder: EncoderStack, decoder: DecoderStack) -> bool:
        """Return whether C serves an encoder behind an embedding, and the keys and values of a decoder's layers."""
        first, cross = encoder.layers.first, decoder.layers.first.cross
        wrapped, attention = first.around_attention, first.attention
        width = attention.output.out_features
        plain = isinstance(wrapped.norm, LayerNorm) and wrapped.residual
        square = all(
            each.heads * each.head_width == width and each.value_width == each.head_width for each in (attention, cross)
        )
        if not (plain and square and attention.heads == cross.heads and joins(embed)):
            return False
        if not (matrix_product() and kernels() and embed.table.weight.is_contiguous()):
            return False
        names = [name for layer in encoder.layers for name in _layer_parameters(layer)]
        looks = [name for layer in decoder.layers for name in both(layer.cross.key_value)]
        return NativeWeights.fit([*names, *looks, (embed.table, "weight")])

    def __call__(self, source: Tensor, mask: Tensor) -> Memory | None:
        """Return what is known of source (B, S) where mask (B, S) shows it; None where it does not begin each row."""
        library = kernels()
        assert library is not None
        sentences, longest = source.shape
        length = mask.sum(dim=1)
        if not bool((mask[:, :-1] >= mask[:, 1:]).all()):
            return None
        tokens = source.flatten() if sentences == 1 and int(length[0]) == longest else source[mask]
        width, heads = self.arguments.width, self.arguments.heads
        states = torch.empty(sentences, longest, width)
        remembered = [torch.empty(sentences, heads, longest, width // heads) for _ in range(2 * self.layers)]
        arguments = DecoderArguments.from_buffer_copy(self.arguments)
        table = self._positions(longest)
        if table is not None:
            arguments.positions, arguments.places = floats(table), len(table)
        space = torch.empty(library.source_space(ctypes.byref(arguments), int64(longest)))
        written = (ctypes.c_void_p * len(remembered))(*(tensor.data_ptr() for tensor in remembered))
        given = _SourceArguments(
            sentences=sentences, remembering=self.layers, longest=longest, tokens=integers(tokens),
            length=integers(length), project=ctypes.addressof(self.looks), space=address(space),
            states=address(states), remembered=ctypes.addressof(written),
        )  # fmt: skip
        if library.encode_sources(ctypes.byref(arguments), ctypes.byref(given)):
            raise IndexError(f"a source token is not in the vocabulary of {arguments.tokens}, or a source is too long")
        return Memory(states, mask, remembered=tuple(remembered))

    def _positions(self, longest: int) -> Tensor | None:
        """Return the encodings of at least so many positions, where the model has any."""
        positions = self.embed.positions
        if positions.kind == "none":
            return None
        if len(self.table) < longest:
            self.table = encoded_positions(positions, longest, self.arguments.width, before=len(self.table))
        return self.table


_sources: Known[NativeSources] = Known()


def _layer_parameters(layer: EncoderLayer) -> list[Named]:
    """Return a layer's parameters in the order of decoding.h; C reads no second attention."""
    attention: list[Weighted] = [
        layer.around_attention.norm, layer.attention.query_key_value, layer.attention.output,
    ]  # fmt: skip
    feedforward: list[Weighted] = attention  # never read by C
    if layer.has_feedforward:
        feedforward = [layer.around_feedforward.norm, layer.feedforward.expand, layer.feedforward.contract]
    return [name for part in (*attention, *attention, *feedforward) for name in both(part)]
