"""BERT (Devlin et al. 2019): the Transformer's encoder alone, which looks both ways.

source (B, S) → embed + positions + segments → norm → encoder (B, S, D)
  to fill in masked tokens    every place → dense, activation, norm → project → logits (B, S, V)
  to classify     first place → dense, tanh (B, D) → project → logits (B, classes)
"""

from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from jumok.config import TextModelConfig, check_multiple
from jumok.nn.batch import LabelBatch, MaskedBatch
from jumok.nn.dropout import Dropout
from jumok.nn.feedforward import ACTIVATIONS, Activation
from jumok.nn.linear import Linear
from jumok.nn.masks import mean_of, over_keys
from jumok.nn.model import MaskedReader
from jumok.nn.norms import LayerNorm
from jumok.nn.positions import PositionKind, Positions
from jumok.nn.transformer import EncoderStack, LayerOptions

# B batch · S source · M masked tokens · D width · V vocabulary

SPREAD = 0.02  # of weights at the start
SEGMENTS = 2


class BertConfig(TextModelConfig):
    """Sizes and options of a BERT."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"layers": 4, "width": 128, "feedforward": 512, "heads": 4, "max_positions": 128},
        "small": {"layers": 4, "width": 256, "feedforward": 1024, "heads": 4, "max_positions": 256},
        "base": {"layers": 12, "width": 768, "feedforward": 3072, "heads": 12, "max_positions": 512},
        "large": {"layers": 24, "width": 1024, "feedforward": 4096, "heads": 16, "max_positions": 512},
    }
    FILLED_IN: ClassVar[tuple[str, ...]] = ("vocabulary", "classes")
    EXTRA_TOKENS: ClassVar[int] = 1  # the mask token

    name: Literal["bert"] = "bert"
    layers: int = Field(4, ge=1)
    width: int = Field(128, ge=1)
    heads: int = Field(4, ge=1)
    feedforward: int = Field(512, ge=0, description="hidden features; 0 = no feed-forward")
    max_positions: int = Field(128, ge=3, description="the longest text, special tokens included")
    positions: PositionKind = "learned"
    activation: Activation = "gelu"
    norm_position: Literal["post", "pre"] = "post"
    norm_epsilon: float = Field(1e-12, gt=0.0)
    dropout: float = Field(0.1, ge=0.0, lt=1.0)
    attention_dropout: float = Field(0.0, ge=0.0, lt=1.0, description="on attention weights (slower: no fused kernel)")
    pooling: Literal["first", "mean"] = Field(
        "first", description="what stands for a whole text: its first place or all"
    )
    classes: int = Field(0, ge=0, description="filled in from the data; 0 = it fills in masked tokens")

    @model_validator(mode="after")
    def heads_share_the_width(self) -> Self:
        check_multiple("model.width", self.width, "model.heads", self.heads)
        return self

    @property
    def longest(self) -> int:
        """The longest text, special tokens included."""
        return self.max_positions


class Bert(MaskedReader):
    """Read a text both ways; find its hidden words, or name its class."""

    Config = BertConfig
    tasks = ("masked-language-modeling", "text-classification")

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.table = nn.Embedding(config.vocabulary, width)
        self.places = Positions(config.positions, width, longest=config.max_positions)
        self.segments = nn.Embedding(SEGMENTS, width)
        # Learned positions start as small as embeddings; sinusoids have unit size, to which embeddings are raised.
        self.scale = 1.0 if config.positions in ("learned", "none") else 1 / SPREAD
        self.norm = LayerNorm(width, eps=config.norm_epsilon)
        self.dropout = Dropout(config.dropout)
        self.encoder = EncoderStack(LayerOptions.of(config), config.layers)
        self.first = nn.Linear(width, width)  # the pooler: what a text says as a whole
        if config.classes:
            self.project = nn.Linear(width, config.classes)
        else:
            self.transform = Linear(width, width)
            self.activation = ACTIVATIONS[config.activation]()
            self.transform_norm = LayerNorm(width, eps=config.norm_epsilon)
            self.project = nn.Linear(width, config.vocabulary)
            self.next_sentence = nn.Linear(width, 2)  # does the second sentence follow the first?
        self._initialise()
        if not config.classes:
            self.project.weight = self.table.weight

    @torch.no_grad()
    def _initialise(self) -> None:
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                parameter.normal_(std=SPREAD)
            elif name.endswith("bias"):
                parameter.zero_()

    @property
    def limit(self) -> int:
        """The longest sequence the model can take, or 0 where there is no end."""
        return self.places.limit

    def features(self, batch: MaskedBatch | LabelBatch) -> Tensor:
        """Return what is projected: (B, S, D) to fill in masked tokens, or (B, D) to classify."""
        states = self.states(batch)
        return (
            self.dropout(self.pooled(states, batch.source_mask)) if self.config.classes else self.token_features(states)
        )

    def states(self, batch: MaskedBatch | LabelBatch) -> Tensor:
        """Return the last layer's states (B, S, D)."""
        segments = torch.zeros_like(batch.source) if batch.segments is None else batch.segments
        embedded = self.places(self.scale * (self.table(batch.source) + self.segments(segments)))
        states: list[Tensor] = self.encoder(
            self.dropout(self.norm(embedded)), over_keys(batch.source_mask), real=batch.source_mask
        )
        return states[-1]

    def pooled(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return what a text says as a whole, (B, D): its first place, or the mean of its real (B, S) places."""
        vector = states[:, 0] if self.config.pooling == "first" else mean_of(states, mask)
        return torch.tanh(self.first(vector))

    def token_features(self, states: Tensor) -> Tensor:
        """Return what is projected to find the word of each place: (…, D) of states (…, D)."""
        found: Tensor = self.transform_norm(self.activation(self.transform(states)))
        return found
