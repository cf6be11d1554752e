"""Image captioning: Show and Tell, Show, Attend and Tell (Vinyals et al. 2015, Xu et al. 2015), and a Transformer that does it.

image → encoder (a CNN trained along, a pretrained one, a ViT, …) → feature map (B, h, w, E) → cells (B, S, E), S = h · w
cells, inputs (B, T) → decoder → features (B, T, D) → logits (B, T, V)

decoder = "recurrent"     starts from the mean of the cells
  attention = "none"      Show and Tell: the same vector, that mean, joins every word
  attention = "mlp", …    Show, Attend and Tell: before every word the state looks at the cells
decoder = "transformer"   cross-attention to the cells

A frozen encoder is no part of the model: what it sees is computed once for each image, and the batch has it.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor, nn

from jumok.config import ComponentConfig, EncoderConfig, ModelConfig, as_encoder, check_multiple
from jumok.config.section import table_or_name
from jumok.decoding.state import RecurrentState, SharedMemory
from jumok.errors import ConfigError
from jumok.models.image_encoders import build_encoder
from jumok.models.text_decoder import TextDecoder
from jumok.nn.batch import CaptionBatch
from jumok.nn.dropout import Dropout
from jumok.nn.embeddings import Embedding
from jumok.nn.feedforward import Activation
from jumok.nn.images import enlarged
from jumok.nn.linear import Linear, linear
from jumok.nn.model import CaptionDecoder, ImageReader, Memory, OwnRate, StateT
from jumok.nn.norms import LayerNorm
from jumok.nn.patches import GridPositions
from jumok.nn.positions import Positions
from jumok.nn.recording import recorder_for
from jumok.nn.recurrent import CellKind, RecurrentStack
from jumok.nn.scores import StateAttention
from jumok.nn.transformer import LayerOptions

# B batch · R hypotheses · S cells · T target · E features of a cell · N embedding width · D width · V vocabulary

ANY = (1, 1)  # positions that are computed fit any grid


class CaptionerConfig(ModelConfig):
    """Sizes and options of a captioner."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("vocabulary", "image_size", "channels", "map_width")
    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "tell": {"decoder": "recurrent", "attention": "none"},
        "attend": {"decoder": "recurrent", "attention": "mlp"},
        "transformer": {"decoder": "transformer", "layers": 3, "width": 256, "heads": 4, "feedforward": 1024},
    }

    name: Literal["captioner"] = "captioner"
    vocabulary: int = Field(0, ge=0, description="filled in from the tokenizer")
    image_size: int = Field(0, ge=0, description="filled in from data.size: pixels a side")
    channels: int = Field(0, ge=0, description="filled in from the data: 1 for grey, 3 for colour")
    map_width: int = Field(0, ge=0, description="filled in from a frozen encoder: features of a cell")
    encoder: EncoderConfig = Field(
        EncoderConfig(), description="what sees the image; its name alone is enough", json_schema_extra=table_or_name
    )
    decoder: Literal["recurrent", "transformer"] = "recurrent"
    layers: int = Field(1, ge=1, description="of the decoder")
    width: int = Field(512, ge=1, description="of the decoder's states")
    dropout: float = Field(0.5, ge=0.0, lt=1.0)
    cell_positions: Literal["none", "sinusoidal"] = Field(
        "sinusoidal", description="what tells the decoder where a cell stands"
    )
    tied: bool = Field(True, description="output projection = word embedding")
    # decoder = "recurrent"
    cell: CellKind = Field("lstm", description="recurrent")
    embedding_width: int = Field(256, ge=1, description="recurrent: of word vectors and of what was seen")
    attention: Literal["none", "dot", "bilinear", "mlp"] = Field(
        "mlp", description="recurrent: how words look at cells"
    )
    gate: bool = Field(True, description="recurrent: the state says how much of what it saw goes on (the paper's β)")
    doubly_stochastic: float = Field(
        0.0, ge=0.0, description="recurrent: weight of the term that wants each cell looked at once (the paper's λ)"
    )
    # decoder = "transformer"
    heads: int = Field(4, ge=1, description="transformer")
    feedforward: int = Field(1024, ge=0, description="transformer: hidden features; 0 = no feed-forward")
    activation: Activation = Field("relu", description="transformer")
    norm_position: Literal["post", "pre"] = Field("pre", description="transformer")

    @field_validator("encoder", mode="before")
    @classmethod
    def encoder_by_name(cls, value: Any) -> Any:
        return as_encoder(value)

    @model_validator(mode="after")
    def options_fit(self) -> Self:
        if self.decoder == "transformer":
            check_multiple("model.width", self.width, "model.heads", self.heads)
            if self.doubly_stochastic:
                raise ConfigError("model.doubly_stochastic is for decoder = 'recurrent'; leave it out")
        elif self.attention == "none" and self.doubly_stochastic:
            raise ConfigError(
                "model.doubly_stochastic needs an attention, and attention = 'none' has none; leave it out"
            )
        return self

    @property
    def components(self) -> Mapping[str, ComponentConfig]:
        """The encoder, where it was trained before."""
        return {"encoder": self.encoder} if self.encoder.pretrained else {}

    @property
    def attends_to_source(self) -> bool:
        """Whether words look at cells of the image."""
        return self.decoder == "transformer" or self.attention != "none"

    @property
    def why_no_film(self) -> str:
        """What is said where there is no attention to be filmed."""
        if self.attends_to_source:
            return ""
        return "its decoder gets one vector of the image and looks nowhere; set model.attention = 'mlp' and train again"


class Captioner(CaptionDecoder[StateT]):
    """Describe an image; config.decoder says which of the two classes below is made."""

    Config = CaptionerConfig
    tasks = ("image-captioning",)
    why_no_attention = "This model gets one vector of the image for every word: there is no attention to show."
    encoder: ImageReader | None  # None: frozen, so that the batch has feature maps

    def __new__(cls, config: CaptionerConfig) -> "Captioner[Any]":
        """Return a captioner of the decoder's own class."""
        return super().__new__(RecurrentCaptioner if config.decoder == "recurrent" else TransformerCaptioner)

    def make_encoder(self, config: CaptionerConfig) -> int:
        """Make the encoder, where it learns, and what reads its map; return the features E of a cell."""
        self.config = config
        self.encoder = None
        width = config.map_width
        if not config.encoder.frozen:
            self.encoder = build_encoder(config.encoder, size=config.image_size, channels=config.channels)
            width = self.encoder.map_width
        self.cell_norm = LayerNorm(width)
        return width

    @property
    def attends_to_source(self) -> bool:
        """Whether words look at cells of the image."""
        return self.config.attends_to_source

    @property
    def own_rates(self) -> tuple[OwnRate, ...]:
        """The encoder's, where a pretrained one is finetuned."""
        own = self.config.encoder
        return (OwnRate("encoder.", own.finetune_rate, own.finetune_after),) if own.finetune else ()

    @property
    def doubly_stochastic(self) -> float:
        """The weight of the term that wants each cell looked at once."""
        return self.config.doubly_stochastic

    def see(self, batch: CaptionBatch) -> tuple[Tensor, tuple[int, int]]:
        """Return the cells (B, S, E) of a batch's images, normed, and their grid."""
        if self.encoder is None:
            assert batch.feature_map is not None, "a frozen encoder's batches have feature maps"
            found = batch.feature_map.float()  # (B, h, w, E)
        else:
            assert batch.images is not None, "an encoder that learns needs images"
            found = self.encoder.feature_map(enlarged(batch.images, self.config.encoder.size)).permute(0, 2, 3, 1)
        grid = found.shape[1], found.shape[2]
        cells: Tensor = self.cell_norm(found.flatten(1, 2))
        return cells, grid


class RecurrentCaptioner(Captioner[RecurrentState]):
    """An LSTM or GRU that begins with the mean of the cells and may look at them before each word."""

    differentiable_steps = True  # extend can be trained through: scheduled sampling is possible

    def __init__(self, config: CaptionerConfig) -> None:
        super().__init__()
        seen, width, narrow = self.make_encoder(config), config.width, config.embedding_width
        self.embed = nn.Embedding(config.vocabulary, narrow)
        nn.init.normal_(self.embed.weight, std=narrow**-0.5)
        self.dropout = Dropout(config.dropout)
        kinds = 2 if config.cell == "lstm" else 1
        self.begin = Linear(seen, kinds * config.layers * width)
        self.of_context = Linear(seen, narrow)
        self.decoder = RecurrentStack(config.cell, 2 * narrow, width, layers=config.layers, dropout=config.dropout)
        if config.attention != "none":
            self.positions = GridPositions(config.cell_positions, seen, ANY)
            self.of_cell = Linear(seen, width) if config.attention == "dot" and seen != width else None
            self.attention = StateAttention(config.attention, width, width if self.of_cell else seen)
            if self.of_cell:
                self.of_context = Linear(width, narrow)
            if config.gate:
                self.gate = nn.Linear(width, 1)
        self.join = Linear(width + 2 * narrow, narrow)
        self.project = nn.Linear(narrow, config.vocabulary)
        nn.init.zeros_(self.project.bias)
        if config.tied:
            self.project.weight = self.embed.weight

    def features(self, batch: CaptionBatch) -> Tensor:
        """Return the decoder's features (B, T, D), every word given (teacher forcing)."""
        return self.features_and_weights(batch)[0]

    def features_and_weights(self, batch: CaptionBatch) -> tuple[Tensor, Tensor | None]:
        """Return the features (B, T, D), and where each word looked (B, T, S); None without attention."""
        features, weights, _ = self._decode(batch.inputs, self.start(self.encode(batch)))
        return features, weights

    def encode(self, inputs: CaptionBatch) -> Memory:
        """Look at the images once."""
        cells, grid = self.see(inputs)
        mask = cells.new_ones(cells.shape[:2], dtype=torch.bool)
        return Memory(cells, mask, (cells.mean(dim=1),), grid)

    def start(self, memory: Memory) -> RecurrentState:
        """Return the state of one empty hypothesis for each image, made of the mean of its cells."""
        (pooled,) = memory.layers
        vectors = list(torch.tanh(self.begin(pooled)).chunk(self.decoder.vectors, dim=1))
        parts: list[Tensor] = []
        if self.config.attention == "none":
            vectors.append(self.of_context(pooled))
        else:
            assert memory.grid is not None
            cells = self.positions(memory.states, memory.grid)
            cells = cells if self.of_cell is None else self.of_cell(cells)
            parts = [cells, self.attention.score.remember(cells)]
        return RecurrentState(vectors, SharedMemory(parts, memory.mask, torch.arange(len(memory.mask))))

    def extend(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Write tokens (R, n) to the hypotheses; return the next tokens' logits (R, n, V) and the new state."""
        features, _, state = self._decode(tokens.to(state.memory.mask.device), state)
        return self.project(features), state

    def _decode(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, Tensor | None, RecurrentState]:
        embedded: Tensor = self.dropout(self.embed(tokens) * math.sqrt(self.config.embedding_width))
        if self.config.attention == "none":
            *own, context = state.vectors
            contexts: Tensor = self.dropout(
                context[:, None].expand(-1, tokens.shape[1], -1)
            )  # another draw for each word
            states, own = self.decoder.run(torch.cat([embedded, contexts], dim=2), own)
            vectors, weights = [*own, context], None
        else:
            states, contexts, weights, vectors = self._step_by_step(embedded, state)
        joined = torch.tanh(self.join(torch.cat([self.dropout(states), embedded, contexts], dim=2)))
        return self.dropout(joined), weights, RecurrentState(vectors, state.memory)

    def _step_by_step(self, embedded: Tensor, state: RecurrentState) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
        """Return states (R, n, D), contexts (R, n, N), weights (R, n, S) and the last vectors: look, then step."""
        cells, keys = state.memory.parts
        own, top = state.vectors, self.config.layers - 1
        gates, of_seen = self.decoder.gates_of_first(embedded)
        states, contexts, looked = [], [], []
        for place in range(embedded.shape[1]):
            context, weights = self.attention(own[top][:, None], cells, keys, state.memory.mask)
            seen = self.of_context(context[:, 0])
            if self.config.gate:
                seen = torch.sigmoid(self.gate(own[top])) * seen
            seen = self.dropout(seen)
            own = self.decoder.step(gates[:, place] + linear(seen, of_seen), own)
            states.append(own[top])
            contexts.append(seen)
            looked.append(weights)
        every = torch.cat(looked, dim=1)
        record = recorder_for(self.attention)
        if record is not None:
            record.file(self.attention, "recurrent", every[:, None])  # one head
        return torch.stack(states, dim=1), torch.stack(contexts, dim=1), every, own


class TransformerCaptioner(Captioner[Any], TextDecoder[CaptionBatch]):
    """A Transformer's decoder whose cross-attention looks at the cells."""

    def __init__(self, config: CaptionerConfig) -> None:
        super().__init__()
        seen, width = self.make_encoder(config), config.width
        self.of_cell = Linear(seen, width)
        self.positions = GridPositions(config.cell_positions, width, ANY)
        self.cell_dropout = Dropout(config.dropout)
        table = nn.Embedding(config.vocabulary, width)
        nn.init.normal_(table.weight, std=width**-0.5)
        self.embed_target = Embedding(table, Positions("sinusoidal", width), config.dropout, scale=math.sqrt(width))
        self.make_decoder(LayerOptions.of(config), config.layers, tied=config.tied)

    def features(self, batch: CaptionBatch) -> Tensor:
        """Return the decoder's states (B, T, D) before the projection."""
        return self.decode(batch.inputs, self.encode(batch), real=batch.target_mask)

    def encode(self, inputs: CaptionBatch) -> Memory:
        """Look at the images once."""
        cells, grid = self.see(inputs)
        states = self.cell_dropout(self.positions(self.of_cell(cells), grid))
        return Memory(states, states.new_ones(states.shape[:2], dtype=torch.bool), (), grid)
