"""The plain recurrent classifier: read a sequence, keep the last vector, name a class. The baseline the story starts from.

source (B, S) → embed → recurrent encoder → last vector (B, D) → project → logits (B, classes)
"""

import math
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from torch import Tensor, nn

from jumok.config import TextModelConfig
from jumok.errors import ConfigError
from jumok.nn.batch import LabelBatch
from jumok.nn.dropout import Dropout
from jumok.nn.model import Model
from jumok.nn.recurrent import CellKind, RecurrentEncoder

# B batch · S source · D width


class RecurrentClassifierConfig(TextModelConfig):
    """Sizes of a recurrent classifier."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"layers": 1, "width": 128},
        "small": {"layers": 2, "width": 256},
    }
    FILLED_IN: ClassVar[tuple[str, ...]] = ("vocabulary", "classes")

    name: Literal["recurrent-classifier"] = "recurrent-classifier"
    cell: CellKind = "gru"
    layers: int = Field(1, ge=1)
    width: int = Field(128, ge=1, description="of embeddings and of the last vector, both directions together")
    bidirectional: bool = True
    dropout: float = Field(0.3, ge=0.0, lt=1.0)
    classes: int = Field(0, ge=0, description="filled in from the data")

    @model_validator(mode="after")
    def two_ways_share_the_width(self) -> Self:
        if self.bidirectional and self.width % 2:
            raise ConfigError(
                f"a two-way reader needs an even width, not {self.width}; set model.width = {self.width + 1}"
            )
        return self

    @property
    def why_no_film(self) -> str:
        """What is said because there is no attention to be filmed."""
        return "a recurrent classifier has no attention to be filmed"


class RecurrentClassifier(Model[LabelBatch]):
    """Name the class of a sequence by its last recurrent state."""

    Config = RecurrentClassifierConfig
    tasks = ("text-classification",)
    why_no_attention = (
        "This model has no attention to show: it reads the text once, and one vector is all that it keeps of it."
    )

    def __init__(self, config: RecurrentClassifierConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        nn.init.normal_(self.embed.weight, std=config.width**-0.5)
        self.dropout = Dropout(config.dropout)
        self.encoder = RecurrentEncoder(
            config.cell,
            config.width,
            config.width,
            layers=config.layers,
            bidirectional=config.bidirectional,
            dropout=config.dropout,
        )
        self.project = nn.Linear(config.width, config.classes)

    def features(self, batch: LabelBatch) -> Tensor:
        """Return the top layer's last vector (B, D)."""
        embedded = self.dropout(self.embed(batch.source) * math.sqrt(self.config.width))
        _, vectors = self.encoder(embedded, batch.source_mask)
        last: Tensor = self.dropout(vectors[self.config.layers - 1])
        return last
