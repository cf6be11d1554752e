"""Where readers and writers of one text attend in the same few val texts: what is filmed at each evaluation.

masked text     → one pass under observe → maps between its tokens, the likeliest token of each mask
running text    → one pass under observe → maps of each token over those before it, a greedy continuation of its first half
classified text → one pass under observe → maps between its tokens, the class and its probability
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.data.text.documents import TextStore
from jumok.data.text.tokenizer import END, PAD, Tokenizer
from jumok.decoding.engine import stream
from jumok.decoding.requests import Marks, Request
from jumok.inspection.ablation import attention_layers
from jumok.inspection.film import Shot
from jumok.inspection.observe import observe
from jumok.inspection.record import AttentionMap
from jumok.nn.batch import LabelBatch, MaskedBatch, TextBatch
from jumok.nn.model import Decoder, MaskedReader, Model
from jumok.nn.threads import one_thread_for
from jumok.tasks.examples import Ids
from jumok.tasks.labels import text_with_masks, visible_labels, word_numbers

# B probes · S tokens of a row · M masks · V vocabulary

LONGEST, LEAST = 40, 16  # tokens of a probe: at most, and where a model has many heads
WEIGHTS = 50_000  # that are kept of a probe, all heads together: 100 kB on disk
SHORTEST = 8  # tokens of running text that are worth a look


class MaskedCamera:
    """Show where a model attends in texts with masks."""

    def __init__(self, batch: MaskedBatch, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        mark = torch.full_like(batch.source, len(tokenizer))
        # Every token that is to be found is masked: one that was replaced or left would only puzzle whoever looks.
        self.batch = MaskedBatch(
            torch.where(batch.masked, mark, batch.source),
            batch.source_mask,
            batch.masked,
            batch.answers,
            batch.segments,
        )

    @torch.inference_mode()
    def __call__(self, model: MaskedReader) -> tuple[Shot, ...]:
        """Return a shot of each probe."""
        batch = self.batch.to(model.device)
        with one_thread_for(len(batch), model), observe(model) as record:
            states = model.states(batch)[batch.masked]
            logits = model.project(model.token_features(states)).float()[:, : len(self.tokenizer)]  # (M, V)
        shares, tokens = logits.softmax(dim=1).max(dim=1)
        whose, shots = batch.masked.nonzero()[:, 0], []
        for row, ids in enumerate(_rows(batch.source, batch.source_mask)):
            own = whose == row
            named = visible_labels(self.tokenizer, tokens[own].tolist())
            found = [f"{token} {share:.1%}" for token, share in zip(named, shares[own].tolist(), strict=True)]
            texts = (
                text_with_masks(self.tokenizer, ids),
                ", ".join(visible_labels(self.tokenizer, batch.answers[own].tolist())),
                ", ".join(found),
            )
            shots.append(_row_shot(texts, ids, record.maps, row, tokenizer=self.tokenizer, answer_is="filling"))
        return tuple(shots)


class ClassCamera:
    """Show where a model attends in texts whose class it names."""

    def __init__(self, batch: LabelBatch, texts: Sequence[str], labels: Sequence[str], tokenizer: Tokenizer) -> None:
        self.batch, self.texts, self.labels, self.tokenizer = batch, texts, labels, tokenizer

    @torch.inference_mode()
    def __call__(self, model: Model[LabelBatch]) -> tuple[Shot, ...]:
        """Return a shot of each probe."""
        batch = self.batch.to(model.device)
        with one_thread_for(len(batch), model), observe(model) as record:
            shares, named = model(batch).float().softmax(dim=1).max(dim=1)
        shots = []
        for row, ids in enumerate(_rows(batch.source, batch.source_mask)):
            answer = f"{self.labels[int(named[row])]} {float(shares[row]):.1%}"
            texts = self.texts[row], self.labels[int(batch.labels[row])], answer
            shots.append(_row_shot(texts, ids, record.maps, row, tokenizer=self.tokenizer, answer_is="class"))
        return tuple(shots)


class LineCamera:
    """Show where a model attends in running text, and how it would have gone on from its first half."""

    def __init__(self, lines: Sequence[Sequence[int]], tokenizer: Tokenizer) -> None:
        self.lines, self.tokenizer = lines, tokenizer

    @torch.inference_mode()
    def __call__(self, model: Decoder[TextBatch, Any]) -> tuple[Shot, ...]:
        """Return a shot of each probe."""
        with one_thread_for(1, model):
            return tuple(self._shot(model, [END, *line]) for line in self.lines)

    def _shot(self, model: Decoder[TextBatch, Any], line: list[int]) -> Shot:
        ids, half = torch.tensor([line], device=model.device), (len(line) + 1) // 2
        with observe(model) as record:
            model(TextBatch(ids[:, :-1], ids[:, 1:]))
        labels, words = visible_labels(self.tokenizer, line), word_numbers(self.tokenizer, line)
        return Shot(
            self.tokenizer.decode(line[:half]),
            self._behind(line[:half], line[half:]),
            self._behind(line[:half], _continued(model, line[:half], len(line) - half)),
            tuple(one.cut(labels[1:], labels[:-1]) for one in record.maps),
            words[:-1],
            tuple(word - words[1] for word in words[1:]),
            sides=("text", "text so far"),
            answer_is="continuation",
        )

    def _behind(self, begun: list[int], rest: list[int]) -> str:
        """Return the text of ids as it reads behind others."""
        return self.tokenizer.decode(begun + rest)[len(self.tokenizer.decode(begun)) :]


def longest_probe(model: Model[Any]) -> int:
    """Return how many tokens a probe may have, whose maps have as many lines as columns; 0 where nothing attends."""
    heads = sum(attention_layers(model).values())
    return min(LONGEST, max(LEAST, math.isqrt(WEIGHTS // heads))) if heads else 0


def lines_of(stores: Iterable[TextStore], *, count: int, longest: int) -> list[list[int]]:
    """Return so many stretches of running text: the beginning of each document, then what follows it."""
    spans = [
        (store, int(start), int(end))
        for store in stores
        for start, end in zip(
            store.starts[:count], [*store.starts[1 : count + 1] - 1, len(store.ids) - 1], strict=False
        )
    ]
    lines: list[list[int]] = []
    for turn in range(count):
        for store, start, end in spans:
            ids = store.ids[start + turn * longest : min(start + (turn + 1) * longest, end)].tolist()
            if len(ids) >= min(SHORTEST, longest):
                lines.append(ids)
    return lines[:count]


def short_examples(classes: Ids, lengths: Ids, *, count: int, longest: int) -> list[int]:
    """Return the numbers of so many short examples, of each class in turn, given classes and lengths (N,)."""
    seen: dict[int, int] = {}
    found: list[tuple[int, int]] = []  # how many of its class came before, number
    for number in np.flatnonzero(lengths <= longest)[: 50 * count].tolist():
        own = int(classes[number])
        found.append((seen.setdefault(own, 0), number))
        seen[own] += 1
    return [number for _, number in sorted(found)[:count]]


def _row_shot(
    texts: tuple[str, str, str],
    ids: Sequence[int],
    maps: Sequence[AttentionMap],
    row: int,
    *,
    tokenizer: Tokenizer,
    answer_is: str,
) -> Shot:
    """Return the shot of a row whose tokens look at each other, given its texts: source, reference, answer."""
    labels, words = visible_labels(tokenizer, ids), word_numbers(tokenizer, ids)
    own = tuple(found.cut(labels, labels, row) for found in maps)
    return Shot(*texts, own, words, words, sides=("text", "text"), answer_is=answer_is)


def _continued(model: Decoder[TextBatch, Any], begun: list[int], room: int) -> list[int]:
    """Return the tokens that a model would write behind others."""
    nothing, given = torch.zeros(1, dtype=torch.int64, device=model.device), len(begun) - 1
    tokens = stream(
        model,
        Request(nothing, 0, prefix=begun[1:]),
        collate=lambda rows: TextBatch(torch.stack(list(rows)), torch.stack(list(rows))),
        options=DecodingConfig(beam=1, max_length=given + room),
        marks=Marks(begun[0], END, PAD, writes_start=True),
    )
    return [token for token, _ in tokens][given:]


def _rows(source: Tensor, mask: Tensor) -> list[list[int]]:
    """Return the real ids of each row of source (B, S)."""
    return [ids[real].tolist() for ids, real in zip(source, mask, strict=True)]
