"""DALL-E (Ramesh et al. 2021): one Transformer over the tokens of a text and then the codes of an image.

text (B, S) → embed + place in the text                                  ┐
begin, codes (B, G) → embed + row and column of the cell that comes next ┴ text · begin · codes but the last (B, S + G, D)
  → [masked self-attention → feed-forward] × layers → next token of the text, or next code

A text's own codes follow right behind it, so that padding stands at the end of a row, where nobody looks. Text and codes
have a vocabulary each: behind a text's end come codes and nothing else.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from jumok.config import DrawerModelConfig, check_multiple
from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.lean import LeanStack, linear
from jumok.nn.batch import DrawingBatch
from jumok.nn.dropout import Dropout
from jumok.nn.feedforward import Activation
from jumok.nn.linear import Linear
from jumok.nn.model import DrawingDecoder, Memory
from jumok.nn.transformer import EncoderStack, LayerOptions

# B batch · R hypotheses · S text with its start and end · G cells of the grid · n new tokens · D width · K codes

SPREAD = 0.02  # of weights at the start, as in GPT-2


class DalleConfig(DrawerModelConfig):
    """Sizes and options of a drawer."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"layers": 4, "width": 192, "heads": 4, "feedforward": 768},
        "small": {"layers": 6, "width": 256, "heads": 8, "feedforward": 1024},
    }

    name: Literal["dalle"] = "dalle"
    layers: int = Field(4, ge=1)
    width: int = Field(192, ge=1)
    heads: int = Field(4, ge=1)
    feedforward: int = Field(768, ge=0, description="hidden features; 0 = no feed-forward")
    activation: Activation = "gelu"
    norm_position: Literal["post", "pre"] = "pre"
    dropout: float = Field(0.0, ge=0.0, lt=1.0)
    attention_dropout: float = Field(0.0, ge=0.0, lt=1.0, description="on attention weights (slower: no fused kernel)")

    @model_validator(mode="after")
    def heads_share_the_width(self) -> Self:
        check_multiple("model.width", self.width, "model.heads", self.heads)
        return self


@dataclass
class DrawingState:
    """What a drawer remembers: keys and values of texts and codes, and where each text ends."""

    cache: KeyValueCache
    texts: Tensor  # (R,) tokens of each text, its start and end included

    @property
    def rows(self) -> int:
        """How many drawings there are."""
        return self.cache.rows

    def select(self, rows: Tensor) -> "DrawingState":
        """Return the state of drawings rows (R',): reordered, repeated or left out."""
        return DrawingState(self.cache.select(rows), self.texts[rows])

    def join(self, other: "DrawingState") -> "DrawingState":
        """Return the state with other's drawings after our own."""
        return DrawingState(self.cache.join(other.cache), torch.cat([self.texts, other.texts]))


class Dalle(DrawingDecoder[DrawingState]):
    """Draw what a text says, code by code."""

    Config = DalleConfig
    tasks = ("text-to-image",)

    def __init__(self, config: DalleConfig) -> None:
        super().__init__()
        self.config = config
        width, self.begin = config.width, config.code_count  # the token behind which an image begins
        self.embed_text = nn.Embedding(config.vocabulary, width)
        self.embed_code = nn.Embedding(config.code_count + 1, width)
        self.places = nn.Parameter(torch.zeros(config.longest_text + 2, width))  # of the text, its start and end
        self.row, self.column = (nn.Parameter(torch.zeros(count, width)) for count in (config.rows, config.columns))
        self.dropout = Dropout(config.dropout)
        self.stack = EncoderStack(LayerOptions.of(config), config.layers, kind="decoder")
        self.project = Linear(width, config.code_count)
        self.to_text = Linear(width, config.vocabulary)
        self._initialise()
        self.lean: LeanStack | None = None  # the stack without calls of modules: made when it first draws

    @torch.no_grad()
    def _initialise(self) -> None:
        """Draw small weights; smaller still where a layer adds to the residual stream, which all layers share."""
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                deep = name.endswith(("output.weight", "contract.weight"))
                parameter.normal_(std=SPREAD / math.sqrt(2 * self.config.layers) if deep else SPREAD)
        for projection in (self.project, self.to_text):
            projection.bias.zero_()

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of codes."""
        return self.config.rows, self.config.columns

    @property
    def limit(self) -> int:
        """How many codes it writes: those of one image."""
        return self.config.rows * self.config.columns

    @property
    def project_text(self) -> nn.Linear:
        """What says the next token of a text."""
        return self.to_text

    def features(self, batch: DrawingBatch) -> Tensor:
        """Return what each code of the image is told from (B, G, D), every code before it given."""
        return self.text_and_image(batch)[1]

    def text_and_image(self, batch: DrawingBatch) -> tuple[Tensor, Tensor]:
        """Return what the next token is told from, each given: of text (B, S − 1, D), of the image (B, G, D)."""
        begin = batch.codes.new_full((len(batch), 1), self.begin)
        text, image = self._texts(batch.text), self._codes(torch.cat([begin, batch.codes[:, :-1]], dim=1))
        # Over the padding of a short text.
        behind = batch.text_mask.sum(dim=1)[:, None] + torch.arange(self.limit, device=text.device)  # (B, G)
        places = behind[..., None].expand_as(image)
        tokens = torch.cat([text, torch.zeros_like(image)], dim=1).scatter(1, places, image)
        states: Tensor = self.stack(self.dropout(tokens), causal=True)[-1]
        return states[:, : text.shape[1] - 1], states.gather(1, places)

    def _texts(self, tokens: Tensor) -> Tensor:
        """Return (B, S, D) of texts (B, S)."""
        found: Tensor = self.embed_text(tokens) + self.places[: tokens.shape[1]]
        return found

    def _codes(self, codes: Tensor, first: Tensor | None = None) -> Tensor:
        """Return (B, n, D) of codes (B, n), each with the row and column of the cell that comes next.

        first (B,) is the cell that comes next after the first of them; None: the grid's first.
        """
        cells = torch.arange(codes.shape[1], device=codes.device)
        if first is not None:
            cells = (cells + first[:, None]).clamp(max=self.limit - 1)  # behind the last code there is none
        found: Tensor = self.embed_code(codes) + self.row[cells // self.config.columns]
        return found + self.column[cells % self.config.columns]

    # --- drawing

    def encode(self, inputs: DrawingBatch) -> Memory:
        """Return the embedded texts."""
        return Memory(self._texts(inputs.text), inputs.text_mask)

    def start(self, memory: Memory) -> DrawingState:
        """Read the texts; return the state of one empty drawing for each."""
        self.lean = LeanStack.of(self.stack, self.lean)
        lengths, longest = memory.mask.sum(dim=1).cpu(), memory.mask.shape[1]
        cache = KeyValueCache(len(lengths), self.config.layers, room=longest + self.limit)
        self._read(memory.states, cache)
        return DrawingState(cache.moved(lengths), lengths)

    def extend(self, tokens: Tensor, state: DrawingState) -> tuple[Tensor, DrawingState]:
        """Write codes (R, n) to the drawings; return the next codes' logits (R, n, K) and the new state."""
        tokens = tokens.to(self.embed_code.weight.device)
        drawn = (state.cache.lengths - state.texts).to(tokens.device)
        states = self._read(self._codes(tokens, drawn), state.cache)
        return linear(states, self.project.weight, self.project.bias), state

    def _read(self, embedded: Tensor, cache: KeyValueCache) -> Tensor:
        """Return the last layer's states (R, n, D) of what continues the cache."""
        if self.lean is not None and not self.watched:
            return self.lean(embedded, cache)
        states: Tensor = self.stack(embedded, causal=True, cache=cache)[-1]
        return states
