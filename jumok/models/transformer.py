"""The Transformer (Vaswani et al. 2017): encoder-decoder, built of attention alone.

source (B, S) → embed + positions → encoder (B, S, D) ┐
inputs (B, T) → embed + positions → decoder (B, T, D) ┴→ project → logits (B, T, V)
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from jumok.config import PairModelConfig, check_multiple
from jumok.decoding.lean import LeanStack
from jumok.decoding.native_search import search_on
from jumok.decoding.native_step import NativeStep
from jumok.decoding.state import AttendingState, KeyValueCache, SharedMemory
from jumok.errors import ConfigError
from jumok.nn.batch import PairBatch
from jumok.nn.embeddings import Embedding
from jumok.nn.feedforward import Activation
from jumok.nn.masks import over_keys
from jumok.nn.model import Decoder, Memory, OpenHypotheses, SearchRequest, SearchResult
from jumok.nn.norms import NormKind
from jumok.nn.positions import Join, PositionKind, Positions
from jumok.nn.recording import recorder_for
from jumok.nn.transformer import DecoderStack, EncoderStack, LayerOptions

# B batch · R rows · S source · T target · D width · V vocabulary


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
    def attends_to_source(self) -> bool:
        """Whether there is attention over the source: always."""
        return True

    @property
    def depths(self) -> tuple[int, int]:
        """Layers of the encoder and of the decoder."""
        return self.encoder_layers or self.layers, self.decoder_layers or self.layers


class Transformer(Decoder[PairBatch, AttendingState]):
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
        self.lean = LeanStack(self.encoder) if LeanStack.fits(self.encoder) else None
        self.decoder = DecoderStack(options, decoder_depth, middle_feedforward=config.middle_feedforward)
        self.project = nn.Linear(config.width, config.target_vocabulary)
        nn.init.zeros_(self.project.bias)
        if config.tied:
            self.project.weight = target_table.weight
        else:
            nn.init.xavier_uniform_(self.project.weight)

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
    def attends_to_source(self) -> bool:
        """Whether there is attention over the source: always."""
        return True

    @property
    def limit(self) -> int:
        """The longest sequence the model can take, or 0 where there is no end."""
        return self.embed_source.positions.limit

    def features(self, batch: PairBatch) -> Tensor:
        """Return the decoder's states (B, T, D) before the projection."""
        memory = self.encode(batch)
        return self._decode(
            self.embed_target(batch.inputs),
            self.decoder.side_by_side(self._looked_at(memory)),
            memory.mask,
            real=batch.target_mask,
        )

    def encode(self, inputs: PairBatch) -> Memory:
        """Read the source once."""
        mask, embedded = inputs.source_mask, self.embed_source(inputs.source)
        if self.lean is not None and not self._watched and self.config.cross_attention == "last":
            return Memory(self.lean(embedded, mask=over_keys(mask)), mask)
        layers = self.encoder(embedded, over_keys(mask), real=mask)
        return Memory(layers[-1], mask, tuple(layers))

    def start(self, memory: Memory) -> AttendingState:
        """Return the state of one empty row a sentence."""
        sentences = len(memory.mask)
        cache = KeyValueCache(sentences, len(self.decoder.layers))
        parts = [part for pair in self.decoder.remember(self._looked_at(memory)) for part in pair]
        return AttendingState(cache, SharedMemory(parts, memory.mask, torch.arange(sentences)), NativeStep.of(self))

    def extend(self, tokens: Tensor, state: AttendingState) -> tuple[Tensor, AttendingState]:
        """Write tokens (R, n) to the rows; return logits (R, n, V) of what comes next, and the new state."""
        tokens = tokens.to(state.memory.mask.device)
        if state.step is not None and tokens.shape[1] == 1 and not self._watched:
            return state.step(tokens, state), state
        first = state.cache.longest if state.cache.even else state.cache.lengths.to(tokens.device)
        features = self._decode(
            self.embed_target(tokens, first), state.remembered, state.memory.mask, cache=state.cache
        )
        if state.projection is not None:
            return F.linear(features, *state.projection), state
        return self.project(features), state

    def search_on(
        self, state: AttendingState, hypotheses: OpenHypotheses, request: SearchRequest
    ) -> SearchResult[AttendingState] | None:
        """Go on with a search for some steps in one call; None where it takes one step at a time."""
        if state.step is None or self._watched:
            return None
        return search_on(state.step, state, hypotheses, request)

    def restrict(self, state: AttendingState, tokens: Tensor) -> AttendingState:
        """Return the state, whose logits will be those of tokens (K,) alone, in their order."""
        chosen = tokens.to(self.project.weight.device)
        state.projection = self.project.weight[chosen], self.project.bias[chosen]
        return state

    @property
    def _watched(self) -> bool:
        """Whether somebody trains or observes: then every layer is called as it stands."""
        return self.training or torch.is_grad_enabled() or recorder_for(self) is not None

    def _looked_at(self, memory: Memory) -> Sequence[Tensor]:
        """Return what each decoder layer looks at."""
        if self.config.cross_attention == "same_depth":
            return memory.layers
        return [memory.states] * len(self.decoder.layers)

    def _decode(
        self,
        x: Tensor,
        remembered: Sequence[Tensor | tuple[Tensor, Tensor]],
        mask: Tensor,
        *,
        real: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        states: Tensor = self.decoder(x, remembered, memory_mask=over_keys(mask), real=real, cache=cache)
        return states
