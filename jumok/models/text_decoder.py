"""What models share that attend to a memory while they write a text: the Transformer's target side.

memory (B, S, D), of text or an image ┐
inputs (B, T) → embed + positions ────┴→ decoder (B, T, D) → project → logits (B, T, V)

A subclass brings `encode`, and makes `embed_target` before it calls `make_decoder`.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.native_search import search_on
from jumok.decoding.native_step import NativeStep
from jumok.decoding.state import AttendingState, SharedMemory
from jumok.nn.embeddings import Embedding
from jumok.nn.masks import over_keys
from jumok.nn.model import BatchT, Decoder, Memory, OpenHypotheses, SearchRequest, SearchResult
from jumok.nn.precision import NARROW, narrow
from jumok.nn.transformer import DecoderStack, LayerOptions

# B batch · R hypotheses · n new tokens · S source · T target · D width · V vocabulary · K tokens of a shortlist


class TextDecoder(Decoder[BatchT, AttendingState]):
    """Write a text, attending to a memory."""

    restrictable = True
    embed_target: Embedding

    def make_decoder(self, options: LayerOptions, layers: int, *, tied: bool, middle_feedforward: bool = False) -> None:
        """Make the decoder and the projection onto the target vocabulary; tied: by the target embedding's own table."""
        table = self.embed_target.table
        self.decoder = DecoderStack(options, layers, middle_feedforward=middle_feedforward)
        self.project = nn.Linear(options.width, table.num_embeddings)
        nn.init.zeros_(self.project.bias)
        if tied:
            self.project.weight = table.weight
        else:
            nn.init.xavier_uniform_(self.project.weight)

    @property
    def attends_to_source(self) -> bool:
        """Whether there is attention over the source: always."""
        return True

    @property
    def limit(self) -> int:
        """The longest text the model can write; 0: any."""
        return self.embed_target.positions.limit

    def attended(self, memory: Memory) -> Sequence[Tensor]:
        """Return the states (B, S, D) that each layer attends to."""
        return [memory.states] * len(self.decoder.layers)

    def decode(self, inputs: Tensor, memory: Memory, *, real: Tensor | None = None) -> Tensor:
        """Return the decoder's states (B, T, D), all inputs (B, T) given; real (B, T) marks those that are no padding."""
        states: Tensor = self.decoder(
            self.embed_target(inputs),
            self.decoder.side_by_side(self.attended(memory)),
            memory_mask=over_keys(memory.mask),
            real=real,
        )
        return states

    def prepare(self) -> None:
        """Pack the decoder's weights."""
        NativeStep.of(self.embed_target, self.decoder, self.project)

    def start(self, memory: Memory) -> AttendingState:
        """Return the state of one empty hypothesis for each sentence."""
        sentences = len(memory.mask)
        native = NativeStep.of(self.embed_target, self.decoder, self.project)
        parts = list(memory.remembered)
        if not parts:
            parts = [part for pair in self.decoder.remember(self.attended(memory)) for part in pair]
        if narrow():  # C attends in fp32, torch's layers in what products write
            parts = [part.float() if native is not None else part.to(NARROW) for part in parts]
        return AttendingState(
            KeyValueCache(sentences, len(self.decoder.layers)),
            SharedMemory(parts, memory.mask, torch.arange(sentences)),
            native,
        )

    def extend(self, tokens: Tensor, state: AttendingState) -> tuple[Tensor, AttendingState]:
        """Write tokens (R, n) to the hypotheses; return the next tokens' logits (R, n, V) and the new state."""
        tokens = tokens.to(state.memory.mask.device)
        if state.native is not None and not self.watched:
            if tokens.shape[1] == 1:
                return state.native(tokens, state), state
            if narrow():  # torch's layers would remember bf16, which C does not read
                return torch.cat([state.native(token, state) for token in torch.split(tokens, 1, dim=1)], dim=1), state
        cache = state.cache
        first = cache.longest if cache.even else cache.lengths.to(tokens.device)
        features = self.decoder(
            self.embed_target(tokens, first), state.remembered, memory_mask=over_keys(state.memory.mask), cache=cache
        )
        if state.projection is not None:
            return F.linear(features, *state.projection), state
        return self.project(features), state

    def restrict(self, state: AttendingState, shortlist: Tensor | None) -> AttendingState:
        """Return the state, whose logits will be those of the shortlist's tokens (K,) in their order; None: of all tokens."""
        if shortlist is None:
            state.projection = None
        else:
            chosen = shortlist.to(self.project.weight.device)
            state.projection = self.project.weight[chosen], self.project.bias[chosen]
        return state

    def search_on(
        self, state: AttendingState, hypotheses: OpenHypotheses, request: SearchRequest
    ) -> SearchResult[AttendingState] | None:
        """Go on with a search for some steps in one call of C; None where it takes one step at a time."""
        if state.native is None or self.watched:
            return None
        return search_on(state.native, state, hypotheses, request)
