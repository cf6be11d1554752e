"""Transformer layers and stacks, for encoders and decoders of every descendant.

x (B, T, D) → [attention → feed-forward] × layers → (B, T, D); each part wrapped in residual, dropout and norm
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, Self, TypeVar, cast

from torch import Tensor, nn

from jumok.nn.attention import CrossAttention, KeyValues, SelfAttention
from jumok.nn.dropout import Dropout, StochasticDepth, depth_rates
from jumok.nn.feedforward import Activation, FeedForward
from jumok.nn.norms import NormKind, make_norm
from jumok.nn.precision import narrowed

# B batch · R hypotheses · T tokens · S source · D width

LayerT = TypeVar("LayerT", bound=nn.Module)
Weighted = nn.Linear | nn.LayerNorm | nn.BatchNorm1d  # what layers are made of: a weight and a bias each


@dataclass(frozen=True)
class LayerOptions:
    """What one layer is made of."""

    width: int
    heads: int
    feedforward: int  # hidden features; 0 leaves the feed-forward out
    head_width: int = 0
    value_width: int = 0
    dropout: float = 0.0
    attention_dropout: float = 0.0
    activation: Activation = "relu"
    norm: NormKind = "layer"
    norm_position: Literal["post", "pre"] = "post"
    norm_epsilon: float = 1e-5
    residual: bool = True
    scaled: bool = True
    stochastic_depth: float = 0.0  # how often the last layer's parts are left out in training; the first's never

    @classmethod
    def of(cls, config: object) -> Self:
        """Return the options that a model's configuration names by the same words."""
        return cls(**{key: getattr(config, key) for key in cls.__dataclass_fields__ if hasattr(config, key)})


class Wrapped(nn.Module):
    """A part of a layer with its dropout, residual connection and norm, before (pre) or after it (post)."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        self.norm = make_norm(options.norm, options.width, options.norm_epsilon)
        self.dropout = Dropout(options.dropout)
        self.depth = StochasticDepth(options.stochastic_depth)
        self.residual = options.residual
        self.pre = options.norm_position == "pre"

    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor], mask: Tensor | None) -> Tensor:
        """Return x (B, T, D) after part; mask (B, T) marks real positions, for batch norm."""
        x, given = self.norm.beside(x, mask) if self.pre else (x, narrowed(x))
        output = part(given)  # which answers in the numbers that it is given
        if self.training and self.residual:
            output = self.dropout.added(x, self.depth(output))
        else:
            if self.training:  # a call less in every part of every step when writing
                output = self.depth(self.dropout(output))
            if self.residual:
                output = x + output
        return output if self.pre else self.norm(output, mask)


class Layers(nn.ModuleList, Generic[LayerT]):
    """A list of modules that says what they are."""

    def __iter__(self) -> Iterator[LayerT]:
        """Yield the layers, the first one first."""
        return cast(Iterator[LayerT], super().__iter__())  # torch's stubs know modules alone

    @property
    def first(self) -> LayerT:
        """The layer that the others are like."""
        return next(iter(self))


class AttentionLayer(nn.Module):
    """What layers of encoders and decoders share: self-attention, and a feed-forward where there is one."""

    def __init__(self, options: LayerOptions, kind: str) -> None:
        super().__init__()
        self.attention = make_self_attention(options, kind)
        self.around_attention = Wrapped(options)
        if options.feedforward:
            self.feedforward = make_feedforward(options)
            self.around_feedforward = Wrapped(options)
        self.has_feedforward = bool(options.feedforward)


class EncoderLayer(AttentionLayer):
    """Self-attention, then feed-forward."""

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        real: Tensor | None = None,
        causal: bool = False,
        cache: KeyValues | None = None,
        layer: int = 0,
    ) -> Tensor:
        """Return (B, T, D) of x; mask (B, 1, 1 or T, T) says who may look where, real (B, T) which positions count."""
        x = self.around_attention(x, lambda y: self.attention(y, mask, causal=causal, cache=cache, layer=layer), real)
        return self.around_feedforward(x, self.feedforward, real) if self.has_feedforward else x


class DecoderLayer(AttentionLayer):
    """Masked self-attention, cross-attention, then feed-forward; optionally one feed-forward more between the two."""

    def __init__(self, options: LayerOptions, *, middle_feedforward: bool = False) -> None:
        super().__init__(options, kind="decoder")
        self.cross = CrossAttention(
            options.width,
            options.heads,
            kind="cross",
            head_width=options.head_width,
            value_width=options.value_width,
            scaled=options.scaled,
            dropout=options.attention_dropout,
        )
        self.around_cross = Wrapped(options)
        self.has_middle_feedforward = middle_feedforward
        if middle_feedforward:
            self.middle = make_feedforward(options)
            self.around_middle = Wrapped(options)

    def forward(
        self,
        x: Tensor,
        remembered: Tensor | tuple[Tensor, Tensor],
        *,
        memory_mask: Tensor | None,
        real: Tensor | None = None,
        causal: bool = True,
        cache: KeyValues | None = None,
        layer: int = 0,
    ) -> Tensor:
        """Return (B, T, D) of x, looking at remembered keys and values where memory_mask (B, 1, 1, S) is True."""
        x = self.around_attention(x, lambda y: self.attention(y, causal=causal, cache=cache, layer=layer), real)
        if self.has_middle_feedforward:
            x = self.around_middle(x, self.middle, real)
        x = self.around_cross(x, lambda y: self.cross(y, remembered, memory_mask), real)
        return self.around_feedforward(x, self.feedforward, real) if self.has_feedforward else x


class EncoderStack(nn.Module):
    """A stack of encoder layers."""

    def __init__(self, options: LayerOptions, layers: int, kind: str = "encoder") -> None:
        super().__init__()
        rates = depth_rates(options.stochastic_depth, layers)
        self.layers: Layers[EncoderLayer] = Layers(
            EncoderLayer(replace(options, stochastic_depth=rate), kind) for rate in rates
        )
        self.final = (
            make_norm(options.norm, options.width, options.norm_epsilon) if options.norm_position == "pre" else None
        )

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        real: Tensor | None = None,
        causal: bool = False,
        cache: KeyValues | None = None,
    ) -> list[Tensor]:
        """Return the states (B, T, D) of every layer, the last one normed where layers are pre-norm.

        With a cache, x continues what is cached.
        """
        states = []
        for number, layer in enumerate(self.layers):
            x = layer(x, mask, real=real, causal=causal, cache=cache, layer=number)
            states.append(x)
        if cache is not None:
            cache.advance(x.shape[1])
        if self.final is not None:
            states[-1] = self.final(x, real)
        return states


class DecoderStack(nn.Module):
    """A stack of decoder layers."""

    def __init__(self, options: LayerOptions, layers: int, *, middle_feedforward: bool = False) -> None:
        super().__init__()
        self.layers: Layers[DecoderLayer] = Layers(
            DecoderLayer(options, middle_feedforward=middle_feedforward) for _ in range(layers)
        )
        self.final = (
            make_norm(options.norm, options.width, options.norm_epsilon) if options.norm_position == "pre" else None
        )

    def remember(self, memories: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
        """Return each layer's keys and values of its memory (B, S, D)."""
        return [layer.cross.remember(memory) for layer, memory in zip(self.layers, memories, strict=True)]

    def side_by_side(self, memories: Sequence[Tensor]) -> list[Tensor]:
        """Return the same, each layer's keys and values in one tensor (B, S, …), heads not yet apart."""
        return [layer.cross.key_value(narrowed(memory)) for layer, memory in zip(self.layers, memories, strict=True)]

    def forward(
        self,
        x: Tensor,
        remembered: Sequence[Tensor | tuple[Tensor, Tensor]],
        *,
        memory_mask: Tensor | None,
        real: Tensor | None = None,
        cache: KeyValues | None = None,
    ) -> Tensor:
        """Return (R, T, D) of x (R, T, D); with a cache, x continues what is cached."""
        for number, layer in enumerate(self.layers):
            x = layer(x, remembered[number], memory_mask=memory_mask, real=real, cache=cache, layer=number)
        if cache is not None:
            cache.advance(x.shape[1])
        return x if self.final is None else self.final(x, real)


def make_self_attention(options: LayerOptions, kind: str) -> SelfAttention:
    """Return self-attention of the given sizes."""
    return SelfAttention(
        options.width,
        options.heads,
        kind=kind,
        head_width=options.head_width,
        value_width=options.value_width,
        scaled=options.scaled,
        dropout=options.attention_dropout,
    )


def make_feedforward(options: LayerOptions) -> FeedForward:
    """Return a feed-forward layer of the given sizes; the middle one has a hidden layer even where the last is off."""
    hidden = options.feedforward or options.width
    return FeedForward(options.width, hidden, activation=options.activation, dropout=options.dropout)
