"""A trained masked language model: fill in the masked tokens of a text, turn texts into vectors, score them.

text with [MASK] → ids → model → the likeliest tokens of each mask
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.data.text.documents import TextStore
from jumok.data.text.sources import clean
from jumok.data.text.tokenizer import UNKNOWN
from jumok.errors import ConfigError
from jumok.nn.batch import MaskedBatch
from jumok.nn.masks import mean_of
from jumok.nn.model import MaskedReader
from jumok.nn.threads import one_thread_for
from jumok.predictors.base import Advance, Notice, Warn, ignore_notice
from jumok.predictors.text import TextPredictor
from jumok.tasks.base import Scores
from jumok.tasks.examples import Ids, make_row, pad_rows
from jumok.tasks.masked_language_modeling import MaskedLanguageModeling

MASK = "[MASK]"
AT_ONCE = 64  # texts read side by side
NOTHING: Ids = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Filling:
    """A text whose masked tokens were filled."""

    text: str  # with the likeliest token in each mask
    masks: list[list[tuple[str, float]]]  # for each mask tokens and probabilities, the likeliest first


class Filler(TextPredictor[MaskedLanguageModeling, MaskedReader]):
    """Fill in masked tokens with a run's weights."""

    verb = "fill"
    source_is = "here the text of --source is scored alone"

    @overload
    def fill(  # type: ignore[overload-overlap]  # a str is a sequence of them, too
        self, texts: str, *, top: int = 5, warn: Warn = ignore_notice
    ) -> Filling: ...

    @overload
    def fill(self, texts: Sequence[str], *, top: int = 5, warn: Warn = ignore_notice) -> list[Filling]: ...

    def fill(self, texts: str | Sequence[str], *, top: int = 5, warn: Warn = ignore_notice) -> Filling | list[Filling]:
        """Return a text with every [MASK] filled and the likeliest tokens of each, or a list of those of several."""
        if isinstance(texts, str):
            return self._fill(texts, top=top, warn=warn)
        return [self._fill(text, top=top, warn=warn) for text in texts]

    @torch.inference_mode()
    def _fill(self, text: str, *, top: int, warn: Warn) -> Filling:
        ids = self.read(text)
        unknown = ids.count(UNKNOWN)
        if unknown:
            warn(Notice(None, f"{unknown} of {len(ids)} tokens of the text are unknown to the model"))
        row, second = make_row(np.asarray(ids, dtype=np.int64), NOTHING, len(ids) + 2)
        source, mask, _ = pad_rows([(row, second)])
        masked = source == self.task.mark
        batch = MaskedBatch(source, mask, masked, torch.zeros(int(masked.sum()), dtype=torch.int64))
        batch = batch.to(self.model.device)
        with one_thread_for(1, self.model):
            states = self.model.states(batch)[batch.masked]
            logits = self.model.project(self.model.token_features(states)).float()
        probabilities = logits[:, : self.task.mark].softmax(dim=1)  # a mask is no answer
        likeliest = probabilities.topk(min(top, probabilities.shape[1]), dim=1)
        tokenizer = self.task.tokenizer
        found = [
            [
                (tokenizer.decode([token]) or tokenizer.labels([token])[0], share)
                for token, share in zip(*mask, strict=True)
            ]
            for mask in zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
        ]
        best = iter(likeliest.indices[:, 0].tolist())
        return Filling(tokenizer.decode([next(best) if token == self.task.mark else token for token in ids]), found)

    @torch.inference_mode()
    def embed(self, texts: str | Sequence[str]) -> Tensor:
        """Return the vector of a text (D), or those of several (N, D): the mean of the last states of each."""
        alone = [texts] if isinstance(texts, str) else texts
        ids = self.task.tokenizer.encode([clean(text, self.task.data.lowercase) for text in alone])
        means = []
        for first in range(0, len(ids), AT_ONCE):
            rows = [
                make_row(np.asarray(row, dtype=np.int64), NOTHING, self.task.longest)
                for row in ids[first : first + AT_ONCE]
            ]
            source, mask, _ = pad_rows(rows)
            batch = MaskedBatch(source, mask, torch.zeros_like(mask), torch.zeros(0, dtype=torch.int64))
            batch = batch.to(self.model.device)
            means.append(mean_of(self.model.states(batch), batch.source_mask))
        vectors = torch.cat(means).float().cpu()
        return vectors[0] if isinstance(texts, str) else vectors

    def read(self, text: str) -> list[int]:
        """Return the ids of a text with masked tokens; one without, or one too long, is refused."""
        parts = clean(text, self.task.data.lowercase).split(MASK.lower() if self.task.data.lowercase else MASK)
        if len(parts) < 2:
            raise ConfigError(f"{text[:60]!r} has no mask to fill in; write {MASK} where a word is missing")
        if self.task.tokenizer.kind != "character":
            parts = [part.strip(" ") for part in parts]  # the space before a word belongs to its token
        pieces = self.task.tokenizer.encode(parts)
        ids = [token for piece in pieces for token in [*piece, self.task.mark]][:-1]
        if len(ids) + 2 > self.task.longest:
            raise ConfigError(f"the text has {len(ids) + 2} tokens, the model takes {self.task.longest}; shorten it")
        return ids

    def score(self, store: TextStore, options: DecodingConfig, progress: Advance) -> Scores:
        """Return loss, perplexity and the share of masked tokens found of a text."""
        scores = self.task.metrics(self.model, store)
        progress(len(store))
        return scores | store.counts
