"""GPT (Radford et al. 2018, 2019): the Transformer's decoder alone, which writes on.

inputs (B, T) → embed + positions → [masked self-attention → feed-forward] × layers (B, T, D) → project → logits (B, T, V)
"""

import math
from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from jumok.config import TextModelConfig, check_multiple
from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.lean import LeanStack, linear
from jumok.nn.batch import TextBatch
from jumok.nn.embeddings import Embedding
from jumok.nn.feedforward import Activation
from jumok.nn.masks import causal_mask
from jumok.nn.model import Decoder, Memory
from jumok.nn.norms import NormKind
from jumok.nn.positions import PositionKind, Positions
from jumok.nn.transformer import EncoderStack, LayerOptions

# B batch · R hypotheses · n new tokens · T tokens · D width · V vocabulary

SPREAD = 0.02  # of weights at the start, as in GPT-2


class GPTConfig(TextModelConfig):
    """Sizes and options of a GPT."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"layers": 4, "width": 128, "feedforward": 512, "heads": 4, "window": 256},
        "small": {"layers": 6, "width": 384, "feedforward": 1536, "heads": 6, "window": 256},
        "gpt2": {
            "layers": 12,
            "width": 768,
            "feedforward": 3072,
            "heads": 12,
            "window": 1024,
            "activation": "gelu-tanh",
            "dropout": 0.1,
        },
    }

    name: Literal["gpt"] = "gpt"
    layers: int = Field(4, ge=1)
    width: int = Field(128, ge=1)
    heads: int = Field(4, ge=1)
    feedforward: int = Field(512, ge=0, description="hidden features; 0 = no feed-forward")
    window: int = Field(256, ge=1, description="tokens it is trained on, and looks back on, at once")
    positions: PositionKind = "learned"
    activation: Activation = "gelu"
    norm: NormKind = "layer"
    norm_position: Literal["post", "pre"] = "pre"
    norm_epsilon: float = Field(1e-5, gt=0.0)
    dropout: float = Field(0.0, ge=0.0, lt=1.0)
    attention_dropout: float = Field(0.0, ge=0.0, lt=1.0, description="on attention weights (slower: no fused kernel)")
    tied: bool = Field(True, description="output projection = embedding")
    output_bias: bool = Field(False, description="a number a token added to its logit")

    @model_validator(mode="after")
    def heads_share_the_width(self) -> Self:
        check_multiple("model.width", self.width, "model.heads", self.heads)
        return self

    @property
    def longest(self) -> int:
        """The longest text that is read at once."""
        return self.window


class GPT(Decoder[TextBatch, KeyValueCache]):
    """Say what comes next, after every token."""

    Config = GPTConfig
    tasks = ("language-modeling",)

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        positions = Positions(config.positions, config.width, longest=config.window)
        # Learned positions start as small as embeddings; sinusoids have unit size, to which embeddings are raised.
        scale = 1.0 if config.positions in ("learned", "none") else 1 / SPREAD
        self.embed = Embedding(nn.Embedding(config.vocabulary, config.width), positions, config.dropout, scale=scale)
        self.stack = EncoderStack(LayerOptions.of(config), config.layers, kind="decoder")
        self.project = nn.Linear(config.width, config.vocabulary, bias=config.output_bias)
        self._initialise()
        if config.tied:
            self.project.weight = self.embed.table.weight
        self.lean: LeanStack | None = None  # the stack without calls of modules: made when it first writes

    @torch.no_grad()
    def _initialise(self) -> None:
        """Draw small weights; smaller still where a layer adds to the residual stream, which all layers share."""
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                deep = name.endswith(("output.weight", "contract.weight"))
                parameter.normal_(std=SPREAD / math.sqrt(2 * self.config.layers) if deep else SPREAD)
        if self.project.bias is not None:
            self.project.bias.zero_()

    @property
    def limit(self) -> int:
        """The longest sequence the model can take at once."""
        return self.config.window

    def features(self, batch: TextBatch) -> Tensor:
        """Return the last layer's states (B, T, D) before the projection."""
        mask = None
        if batch.documents is not None:
            alike = batch.documents[:, :, None] == batch.documents[:, None]  # (B, T, T)
            mask = (alike & causal_mask(alike.shape[1], alike.shape[2], alike.device))[:, None]
        states: list[Tensor] = self.stack(self.embed(batch.inputs), mask, causal=mask is None)
        return states[-1]

    def encode(self, inputs: TextBatch) -> Memory:
        """Return an empty memory for each of the inputs: all that a GPT knows, it was told as tokens."""
        rows, table = len(inputs), self.embed.table.weight
        return Memory(table.new_zeros(rows, 0, self.config.width), table.new_zeros(rows, 0).bool())

    def start(self, memory: Memory) -> KeyValueCache:
        """Return the state of one empty hypothesis each."""
        self.lean = LeanStack.of(self.stack, self.lean)
        return KeyValueCache(len(memory.mask), self.config.layers)

    def extend(self, tokens: Tensor, state: KeyValueCache) -> tuple[Tensor, KeyValueCache]:
        """Write tokens (R, n) to the hypotheses; return the next tokens' logits (R, n, V) and the new state."""
        tokens = tokens.to(self.embed.table.weight.device)
        first = state.longest if state.even else state.lengths.to(tokens.device)
        embedded = self.embed(tokens, first)
        if self.lean is not None and not self.watched:
            return linear(self.lean(embedded, state), self.project.weight, self.project.bias), state
        states: list[Tensor] = self.stack(embedded, causal=True, cache=state)
        return self.project(states[-1]), state
