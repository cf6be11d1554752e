"""A trained masked language model: fill in the masked tokens of a text, explain that, turn texts into vectors, score them.

text with [MASK] → ids → model → the likeliest tokens of each mask; under observe → attention between its tokens
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.data.text.documents import TextStore
from jumok.data.text.sources import clean
from jumok.data.text.tokenizer import UNKNOWN
from jumok.errors import ConfigError
from jumok.inspection.ablation import Ablation
from jumok.inspection.observe import observe
from jumok.nn.batch import MaskedBatch
from jumok.nn.masks import mean_of
from jumok.nn.model import MaskedReader
from jumok.nn.threads import one_thread, one_thread_for
from jumok.predictors.base import Advance, Notice, Warn, ignore_notice
from jumok.predictors.explaining import Look, ablation_of, weighed
from jumok.predictors.explanation import RIVALS, Explanation, HeadWorth, TokenChoice, choices_of
from jumok.predictors.read_text import TextRow
from jumok.predictors.text import TextPredictor
from jumok.tasks.base import Scores
from jumok.tasks.examples import Ids, make_row, pad_rows
from jumok.tasks.labels import MASK, visible_labels
from jumok.tasks.masked_language_modeling import MaskedLanguageModeling

# M masks · V vocabulary

AT_ONCE = 64  # texts read side by side
NOTHING: Ids = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Filling:
    """A text whose masked tokens were filled."""

    text: str  # with the likeliest token in each mask
    masks: list[list[tuple[str, float]]]  # for each mask tokens and probabilities, the likeliest first

    @property
    def headline(self) -> str:
        """The likeliest token of each mask in one line; the text around them is known."""
        return ", ".join(f"{token} {share:.1%}" for (token, share), *_ in self.masks)

    def to_dict(self) -> dict[str, Any]:
        """Return the filling as JSON has it."""
        return {"text": self.text, "masks": self.masks}


class Filler(TextPredictor[MaskedLanguageModeling, MaskedReader]):
    """Fill in masked tokens with a run's weights."""

    verb = "fill"
    source_is = "here the text of --source is scored alone"
    explains = "text"

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
        ids = self.read(text, warn=warn)
        with one_thread_for(1, self.model), self.answering():
            return self._filling(ids, self._logits(self._batch(self._row(ids).padded())), top=top)

    @one_thread()
    @torch.inference_mode()
    def explain(
        self,
        text: str,
        *,
        without_heads: Iterable[tuple[str, int]] = (),
        without_tokens: Iterable[int] = (),
        without_positions: bool = False,
        details: bool = False,
        warn: Warn = ignore_notice,
    ) -> Explanation[Filling]:
        """Return a text with every [MASK] filled, and the attention of every layer and head.

        Something may be left out: heads (the path of a layer and a number from 0), tokens of the text by their places,
        which nobody then looks at, positions. With details, maps keep the queries, keys and values that they were
        computed from.
        """
        ids = self.read(text, warn=warn)
        row, hidden = self._row(ids), frozenset(without_tokens)
        ablation = ablation_of(
            self.model,
            heads=without_heads,
            hidden=hidden,
            without_positions=without_positions,
            tokens=len(ids),
        )
        seen = Ablation(ablation.heads, without_positions=without_positions)  # tokens are hidden by the row's own mask
        with observe(self.model, ablation=seen, details=details) as record:
            logits = self._logits(self._batch(row.hiding(hidden)))
        likeliest = logits.argmax(dim=1).tolist()
        found = iter(choices_of(logits, likeliest, partial(visible_labels, self.task.tokenizer)))
        choices: list[TokenChoice | None] = [next(found) if index == self.task.mark else None for index in row.ids]
        explanation = row.explained(clean(text), self._filling(ids, logits, top=RIVALS + 1), record)
        return replace(explanation, choices=tuple(choices))

    @one_thread()
    @torch.inference_mode()
    def importance(
        self, text: str, *, details: bool = False, warn: Warn = ignore_notice
    ) -> tuple[Explanation[Filling], list[HeadWorth]]:
        """Return an explanation, and what the log-probability of the filled tokens loses without each head.

        The explanation's token_worth tells what it loses when each token of the text is left out.
        """
        explanation, ids = self.explain(text, details=details, warn=warn), self.read(text)
        row = self._row(ids)
        masks = frozenset(place for place, index in enumerate(ids) if index == self.task.mark)
        chosen = self._logits(self._batch(row.padded())).argmax(dim=1)  # (M,)

        def log_probabilities(left_out: Sequence[int | None]) -> Tensor:
            logits = self._logits(self._batch(row.padded(left_out)))  # (N · M, V), text by text
            found = logits.log_softmax(dim=1).view(len(left_out), len(chosen), -1)
            return found.gather(2, chosen[None, :, None].expand(len(left_out), -1, -1)).sum(dim=(1, 2))

        found = weighed(explanation, self.model, log_probabilities, kept=masks)
        return found, list(found.worth)

    def look(self, text: str, asked: Look, *, warn: Warn = ignore_notice) -> Explanation[Filling]:
        """Return what `jumok look` shows of a text."""
        asked.refuse(self.run.folder, "fills in masks")
        if asked.importance:
            return self.importance(text, details=asked.details, warn=warn)[0]
        return self.explain(text, details=asked.details, warn=warn)

    def _row(self, ids: list[int]) -> TextRow:
        return TextRow(*make_row(np.asarray(ids, dtype=np.int64), NOTHING, len(ids) + 2), self.task.tokenizer)

    def _batch(self, padded: tuple[Tensor, Tensor, Tensor | None]) -> MaskedBatch:
        source, mask, _ = padded
        masked = source == self.task.mark
        batch = MaskedBatch(source, mask, masked, torch.zeros(int(masked.sum()), dtype=torch.int64))
        return batch.to(self.model.device)

    def _logits(self, batch: MaskedBatch) -> Tensor:
        """Return the logits (M, V) of the masks of a batch, the mask token's left out: a mask is no answer."""
        states = self.model.states(batch)[batch.masked]
        logits: Tensor = self.model.project(self.model.token_features(states)).float()
        return logits[:, : self.task.mark]

    def _filling(self, ids: list[int], logits: Tensor, *, top: int) -> Filling:
        """Return the text of ids with its masks filled, given their logits (M, V)."""
        likeliest = logits.softmax(dim=1).topk(min(top, logits.shape[1]), dim=1)
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
            with self.answering():
                means.append(mean_of(self.model.states(batch), batch.source_mask))
        vectors = torch.cat(means).float().cpu()
        return vectors[0] if isinstance(texts, str) else vectors

    def read(self, text: str, *, warn: Warn = ignore_notice) -> list[int]:
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
        unknown = ids.count(UNKNOWN)
        if unknown:
            warn(Notice(None, f"{unknown} of {len(ids)} tokens of the text are unknown to the model"))
        return ids

    def score(self, store: TextStore, options: DecodingConfig, progress: Advance) -> Scores:
        """Return loss, perplexity and the share of masked tokens found of a text."""
        scores = self.task.metrics(self.model, store)
        progress(len(store))
        return scores | store.counts
