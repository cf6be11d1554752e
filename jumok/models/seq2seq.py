"""Seq2Seq (Sutskever et al. 2014), with attention (Bahdanau et al. 2015, Luong et al. 2015) or without.

source (B, S) → embed → recurrent encoder → states (B, S, E) and one last vector ┐ bridge
inputs (B, T) → embed → recurrent decoder, starting from that vector ────────────┴→ features (B, T, D) → logits (B, T, V)

attention = "none"   all that the decoder knows of the source is the last vector
attend = "after"     a step first, then the new state looks at all encoder states (Luong)
attend = "before"    the previous state looks first; what it saw, joined with it, takes the token (Bahdanau's order)
"""

import math
from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from jumok.config import PairModelConfig
from jumok.decoding.state import RecurrentState, SharedMemory
from jumok.errors import ConfigError
from jumok.nn.batch import PairBatch
from jumok.nn.dropout import Dropout
from jumok.nn.linear import Linear
from jumok.nn.model import Decoder, Memory
from jumok.nn.recording import recorder_for
from jumok.nn.recurrent import CellKind, RecurrentEncoder, RecurrentStack
from jumok.nn.scores import StateAttention

# B batch · R hypotheses · S source · T target · n new tokens · D width · E encoder's width · V vocabulary


class Seq2SeqConfig(PairModelConfig):
    """Sizes and options of a recurrent encoder-decoder."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"layers": 1, "width": 256, "dropout": 0.3},
        "small": {"layers": 2, "width": 512, "dropout": 0.3},
        "base": {"layers": 4, "width": 1000, "dropout": 0.2},
    }

    name: Literal["seq2seq"] = "seq2seq"
    cell: CellKind = "gru"
    layers: int = Field(1, ge=1, description="of the encoder and of the decoder")
    width: int = Field(256, ge=1, description="of the decoder's state and of embeddings")
    encoder_width: int = Field(0, ge=0, description="of the encoder's states, both directions together; 0 = width")
    bidirectional: bool = Field(True, description="the encoder reads both ways")
    attention: Literal["none", "dot", "bilinear", "mlp"] = "mlp"
    attend: Literal["before", "after"] = Field("after", description="look before the decoder's step, or after it")
    input_feeding: bool = Field(False, description="attend = 'after': the next step also gets what was looked at")
    context: Literal["first", "every"] = Field(
        "first", description="attention = 'none': the source's vector starts the decoder, or also joins every input"
    )
    reverse_source: bool = Field(False, description="read the source from its last word to its first")
    dropout: float = Field(0.3, ge=0.0, lt=1.0)
    tied: bool = Field(True, description="output projection = target embedding")

    @model_validator(mode="after")
    def options_fit(self) -> Self:
        if self.bidirectional and self.reader_width % 2:
            raise ConfigError(
                f"a two-way encoder needs an even width, not {self.reader_width}; set model.encoder_width = "
                f"{self.reader_width + 1}, or model.bidirectional = false"
            )
        if self.attention == "dot" and self.reader_width != self.width:
            raise ConfigError(
                f"attention = 'dot' needs equal widths, not model.width = {self.width} and encoder_width = "
                f"{self.reader_width}; 'bilinear' and 'mlp' take any"
            )
        if self.input_feeding and (self.attention == "none" or self.attend == "before"):
            raise ConfigError("model.input_feeding needs an attention and attend = 'after'")
        if self.context == "every" and self.attention != "none":
            raise ConfigError(
                "model.context = 'every' is for attention = 'none'; an attention looks at every step anyway"
            )
        return self

    @property
    def attends_to_source(self) -> bool:
        """Whether there is attention over the source."""
        return self.attention != "none"

    @property
    def why_no_film(self) -> str:
        """What is said where there is no attention to be filmed."""
        if self.attends_to_source:
            return ""
        return "its decoder has no attention to be filmed; set model.attention = 'mlp' and train again"

    @property
    def reader_width(self) -> int:
        """The width of the encoder's states."""
        return self.encoder_width or self.width


class Seq2Seq(Decoder[PairBatch, RecurrentState]):
    """Translate one sequence into another with a recurrent encoder and decoder."""

    Config = Seq2SeqConfig
    tasks = ("translation",)
    differentiable_steps = True  # extend can be trained through: scheduled sampling is possible

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.config = config
        width, reader = config.width, config.reader_width
        target_table = self._table(config.target_vocabulary)
        shared = config.shared_embeddings and config.source_vocabulary == config.target_vocabulary
        self.embed_target = target_table
        self.embed_source = target_table if shared else self._table(config.source_vocabulary)
        self.dropout = Dropout(config.dropout)
        self.encoder = RecurrentEncoder(
            config.cell,
            width,
            reader,
            layers=config.layers,
            bidirectional=config.bidirectional,
            dropout=config.dropout,
        )
        extra = width if config.input_feeding else reader if config.context == "every" else 0
        self.decoder = RecurrentStack(config.cell, width + extra, width, layers=config.layers, dropout=config.dropout)
        kinds = 2 if config.cell == "lstm" else 1
        self.bridge = nn.ModuleList(Linear(reader, width) for _ in range(kinds)) if reader != width else None
        if config.attention != "none":
            self.attention = StateAttention(config.attention, width, reader)
            self.combine = Linear(width + reader, width)
        self.project = nn.Linear(width, config.target_vocabulary)
        nn.init.zeros_(self.project.bias)
        if config.tied:
            self.project.weight = target_table.weight
        else:
            nn.init.xavier_uniform_(self.project.weight)

    @property
    def attends_to_source(self) -> bool:
        """Whether there is attention over the source."""
        return self.config.attends_to_source

    @property
    def embedding_tables(self) -> dict[str, nn.Embedding]:
        """The tables of token vectors of both sides; one and the same where they are shared."""
        return {"source": self.embed_source, "target": self.embed_target}

    def _table(self, vocabulary: int) -> nn.Embedding:
        table = nn.Embedding(vocabulary, self.config.width)
        nn.init.normal_(table.weight, std=self.config.width**-0.5)
        return table

    def features(self, batch: PairBatch) -> Tensor:
        """Return the decoder's features (B, T, D), every target token given (teacher forcing)."""
        features, _ = self._decode(batch.inputs, self.start(self.encode(batch)))
        return features

    def encode(self, inputs: PairBatch) -> Memory:
        """Read the source once."""
        source, mask = inputs.source, inputs.source_mask
        order = reversing_order(mask) if self.config.reverse_source else None
        embedded = self._embed(self.embed_source, source if order is None else source.gather(1, order))
        states, vectors = self.encoder(embedded, mask)
        if order is not None:  # back to the source's own order, so that attention and its labels agree
            states = states.gather(1, order[..., None].expand_as(states))
        return Memory(states, mask, tuple(vectors))

    def start(self, memory: Memory) -> RecurrentState:
        """Return the state of one empty hypothesis for each sentence: the encoder's last vectors."""
        vectors = list(memory.layers)
        context = vectors[self.config.layers - 1]
        if self.bridge is not None:
            vectors = [torch.tanh(self.bridge[i // self.config.layers](vector)) for i, vector in enumerate(vectors)]
        if self.config.context == "every":
            vectors.append(context)
        if self.config.input_feeding:
            vectors.append(vectors[0].new_zeros(len(context), self.config.width))
        parts = [memory.states, self.attention.score.remember(memory.states)] if self.config.attention != "none" else []
        return RecurrentState(vectors, SharedMemory(parts, memory.mask, torch.arange(len(memory.mask))))

    def extend(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Write tokens (R, n) to the hypotheses; return the next tokens' logits (R, n, V) and the new state."""
        features, state = self._decode(tokens.to(state.memory.mask.device), state)
        return self.project(features), state

    def _decode(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        embedded, config = self._embed(self.embed_target, tokens), self.config
        if config.attention == "none" or (config.attend == "after" and not config.input_feeding):
            features, vectors = self._all_steps_at_once(embedded, state)
        else:
            features, vectors = self._step_by_step(embedded, state)
        return self.dropout(features), RecurrentState(vectors, state.memory)

    def _all_steps_at_once(self, embedded: Tensor, state: RecurrentState) -> tuple[Tensor, list[Tensor]]:
        """Run the cells over all tokens, then let all states look at once: nothing they saw is fed back."""
        own, extra = state.vectors[: self.decoder.vectors], state.vectors[self.decoder.vectors :]
        if extra:
            embedded = torch.cat([embedded, extra[0][:, None].expand(-1, embedded.shape[1], -1)], dim=2)
        features, own = self.decoder.run(embedded, own)
        if self.config.attention != "none":
            context, weights = self._look(features, state)
            self._file(weights)
            features = self._join(features, context)
        return features, own + extra

    def _step_by_step(self, embedded: Tensor, state: RecurrentState) -> tuple[Tensor, list[Tensor]]:
        """Run one token after another: what was looked at changes the next step."""
        config, own = self.config, state.vectors[: self.decoder.vectors]
        fed = state.vectors[-1] if config.input_feeding else None
        top = config.layers - 1
        gates = None if config.input_feeding else self.decoder.input_gates(embedded)
        features, looked = [], []
        for place in range(embedded.shape[1]):
            if config.attend == "before":
                assert gates is not None
                context, weights = self._look(own[top][:, None], state)
                own = [*own[:top], self._join(own[top], context[:, 0]), *own[top + 1 :]]
                own = self.decoder.step(gates[:, place], own)
                features.append(own[top])
            else:
                assert fed is not None
                own = self.decoder.step(self.decoder.input_gates(torch.cat([embedded[:, place], fed], dim=1)), own)
                context, weights = self._look(own[top][:, None], state)
                fed = self._join(own[top], context[:, 0])
                features.append(fed)
            looked.append(weights)
        self._file(torch.cat(looked, dim=1))
        return torch.stack(features, dim=1), own if fed is None else [*own, fed]

    def _look(self, query: Tensor, state: RecurrentState) -> tuple[Tensor, Tensor]:
        memory, keys = state.memory.parts
        context, weights = self.attention(query, memory, keys, state.memory.mask)
        return context, weights

    def _join(self, state: Tensor, context: Tensor) -> Tensor:
        """Return the state and what it saw, projected back to the state's size."""
        return torch.tanh(self.combine(torch.cat([state, context], dim=-1)))

    def _file(self, weights: Tensor) -> None:
        record = recorder_for(self.attention)
        if record is not None:
            record.file(self.attention, "recurrent", weights[:, None])  # one head

    def _embed(self, table: nn.Embedding, tokens: Tensor) -> Tensor:
        embedded: Tensor = self.dropout(table(tokens) * math.sqrt(self.config.width))
        return embedded


def reversing_order(mask: Tensor) -> Tensor:
    """Return (B, S) places that read each row's words backwards; the end token and padding stay. It undoes itself."""
    places = torch.arange(mask.shape[1], device=mask.device).expand(mask.shape)
    last = mask.sum(dim=1, keepdim=True) - 2  # the last word: the end token stands behind it
    return torch.where(places <= last, last - places, places)
