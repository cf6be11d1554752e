"""The Transformer (Vaswani et al. 2017): encoder-decoder, built of attention alone.

source (B, S) → embed + positions → encoder (B, S, D) ┐
inputs (B, T) → embed + positions → decoder (B, T, D) ┴→ project → logits (B, T, V)
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from torch import Tensor, nn

from jumok.config import PairModelConfig, check_multiple
from jumok.decoding.lean import LeanStack
from jumok.decoding.native_sources import NativeSources
from jumok.errors import ConfigError
from jumok.models.text_decoder import TextDecoder
from jumok.nn.batch import PairBatch
from jumok.nn.embeddings import Embedding
from jumok.nn.feedforward import Activation
from jumok.nn.masks import over_keys
from jumok.nn.model import Memory
from jumok.nn.norms import NormKind
from jumok.nn.positions import Join, PositionKind, Positions
from jumok.nn.transformer import EncoderStack, LayerOptions

# B batch · S source · T target · D width · V vocabulary


class TransformerConfig(PairModelConfig):
    """Sizes and options of a Transformer. The defaults are the paper's base model."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"layers": 4, "width": 128, "feedforward": 256, "heads": 4, "dropout": 0.3},
        "small": {"layers": 3, "width": 256, "feedforward": 1024, "heads": 4, "dropout": 0.1},
        "base": {"layers": 6, "width": 512, "feedforward": 2048, "heads": 8, "dropout": 0.1},
        "big": {"layers": 6, "width": 1024, "feedforward": 4096, "heads": 16, "dropout": 0.3},
    }

    name: Literal["transformer"] = "transformer"
    layers: int = Field(6, ge=1, description="of the encoder and of the decoder")
    encoder_layers: int = Field(0, ge=0, description="0 = layers")
    decoder_layers: int = Field(0, ge=0, description="0 = layers")
    width: int = Field(512, ge=1)
    heads: int = Field(8, ge=1)
    head_width: int = Field(0, ge=0, description="of a head's queries and keys; 0 = width ÷ heads")
    value_width: int = Field(0, ge=0, description="of a head's values; 0 = head_width")
    feedforward: int = Field(2048, ge=0, description="hidden features; 0 = no feed-forward")
    middle_feedforward: bool = Field(False, description="one more between the decoder's self- and cross-attention")
    activation: Activation = "relu"
    dropout: float = Field(0.1, ge=0.0, lt=1.0)
    attention_dropout: float = Field(0.0, ge=0.0, lt=1.0, description="on attention weights (slower: no fused kernel)")
    scaled: bool = Field(True, description="divide scores by the root of head_width")
    norm: NormKind = "layer"
    norm_position: Literal["post", "pre"] = "post"
    residual: bool = True
    positions: PositionKind = "sinusoidal"
    position_join: Join = Field("add", description="how positions meet embeddings")
    position_width: int = Field(0, ge=0, description="features of a concatenated position; 0 = width ÷ 4")
    max_positions: int = Field(512, ge=1, description="size of a learned table")
    cross_attention: Literal["last", "same_depth"] = Field(
        "last", description="the encoder layer that decoders look at"
    )
    tied: bool = Field(True, description="output projection = target embedding")

    @model_validator(mode="after")
    def sizes_fit(self) -> Self:
        if not self.head_width:
            check_multiple(
                "model.width", self.width, "model.heads", self.heads, "or set model.head_width to free the two"
            )
        concatenated = self.position_join == "concatenate" and self.positions != "none"
        if concatenated and (self.position_width or 2) >= self.width:
            raise ConfigError(f"model.position_width ({self.position_width}) must be below model.width ({self.width})")
        if concatenated and self.tied:
            raise ConfigError(
                "model.tied needs embeddings as wide as the model, but position_join = 'concatenate' makes them "
                "narrower; set model.tied = false"
            )
        if self.cross_attention == "same_depth" and self.depths[0] != self.depths[1]:
            raise ConfigError(
                f"cross_attention = 'same_depth' needs as many encoder as decoder layers, not {self.depths[0]} and "
                f"{self.depths[1]}"
            )
        return self

    @property
    def depths(self) -> tuple[int, int]:
        """Layers of the encoder and of the decoder."""
        return self.encoder_layers or self.layers, self.decoder_layers or self.layers


class Transformer(TextDecoder[PairBatch]):
    """Translate one sequence into another."""

    Config = TransformerConfig
    tasks = ("translation",)

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        options = LayerOptions.of(config)
        encoder_depth, decoder_depth = config.depths
        source_positions, target_positions = self._positions(), self._positions()
        width = source_positions.embedding_width
        target_table = self._table(config.target_vocabulary, width)
        shared = config.shared_embeddings and config.source_vocabulary == config.target_vocabulary
        source_table = target_table if shared else self._table(config.source_vocabulary, width)
        scale = math.sqrt(width)  # a table of spread 1/√D comes to unit size, as positions have
        self.embed_source = Embedding(source_table, source_positions, config.dropout, scale=scale)
        self.embed_target = Embedding(target_table, target_positions, config.dropout, scale=scale)
        self.encoder = EncoderStack(options, encoder_depth)
        self.make_decoder(options, decoder_depth, tied=config.tied, middle_feedforward=config.middle_feedforward)
        self.lean: LeanStack | None = None  # the encoder without calls of modules: made when it first encodes

    def _positions(self) -> Positions:
        config = self.config
        return Positions(
            config.positions,
            config.width,
            join=config.position_join,
            position_width=config.position_width,
            longest=config.max_positions,
        )

    def _table(self, vocabulary: int, width: int) -> nn.Embedding:
        table = nn.Embedding(vocabulary, width)
        nn.init.normal_(table.weight, std=width**-0.5)  # times √D: unit variance
        return table

    @property
    def embedding_tables(self) -> dict[str, nn.Embedding]:
        """The tables of token vectors of both sides; one and the same where they are shared."""
        return {"source": self.embed_source.table, "target": self.embed_target.table}

    def features(self, batch: PairBatch) -> Tensor:
        """Return the decoder's states (B, T, D) before the projection."""
        return self.decode(batch.inputs, self.encode(batch), real=batch.target_mask)

    def prepare(self) -> None:
        """Pack the weights of both sides."""
        super().prepare()
        if self.config.cross_attention == "last":
            NativeSources.of(self.embed_source, self.encoder, self.decoder)

    def encode(self, inputs: PairBatch) -> Memory:
        """Read the source once."""
        mask, plain = inputs.source_mask, self.config.cross_attention == "last" and not self.watched
        sources = NativeSources.of(self.embed_source, self.encoder, self.decoder) if plain else None
        memory = None if sources is None else sources(inputs.source, mask)
        if memory is not None:
            return memory
        embedded = self.embed_source(inputs.source)
        if plain:
            self.lean = LeanStack.of(self.encoder, self.lean)
            if self.lean is not None:
                return Memory(self.lean(embedded, mask=over_keys(mask)), mask)
        layers = self.encoder(embedded, over_keys(mask), real=mask)
        return Memory(layers[-1], mask, tuple(layers))

    def attended(self, memory: Memory) -> Sequence[Tensor]:
        """Return the states (B, S, D) that each layer attends to: the encoder's last, or those of equal depth."""
        return memory.layers if self.config.cross_attention == "same_depth" else super().attended(memory)
