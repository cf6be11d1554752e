"""Where a translator attends in the same few val pairs: what is filmed at each evaluation.

val pairs → one pass over their references under observe, one greedy translation → a Shot of each
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from jumok.config import DecodingConfig
from jumok.data.text.pair_store import PairStore
from jumok.data.text.tokenizer import END
from jumok.inspection.film import Shot
from jumok.inspection.observe import observe
from jumok.nn.batch import PairBatch
from jumok.nn.model import Decoder
from jumok.nn.threads import one_thread_for
from jumok.tasks.pairs import collate

if TYPE_CHECKING:
    from jumok.tasks.translation import Translation

LONGEST = 60  # tokens of a probe, each side: longer ones are tedious to look at, and large on disk
KINDS = ("cross", "recurrent")  # attention over the source

Probe = tuple[PairStore, int]  # a store, and the number of a pair in it


def probes_of(stores: Mapping[str, PairStore], *, count: int, limit: int) -> list[Probe]:
    """Return so many short pairs of val; of several corpora each has its turn, so that every direction is filmed."""
    longest = min(LONGEST, limit or LONGEST)
    short = [(store, np.flatnonzero((store.lengths <= longest).all(axis=1))[:count]) for store in stores.values()]
    turns = [(store, int(own[turn])) for turn in range(count) for store, own in short if turn < len(own)]
    return turns[:count]


class PairCamera:
    """Show where a model attends in the probes."""

    def __init__(self, task: Translation, probes: Sequence[Probe]) -> None:
        self.task = task
        self.texts = [store.text(number) for store, number in probes]
        self.ids = [
            (store.source[number].astype(np.int64), store.target[number].astype(np.int64)) for store, number in probes
        ]

    @torch.inference_mode()
    def __call__(self, model: Decoder[PairBatch, Any]) -> tuple[Shot, ...]:
        """Return a shot of each probe."""
        task = self.task
        with one_thread_for(len(self.ids), model):
            with observe(model) as record:
                model(collate(self.ids).to(model.device))
            answers = task.answer(model, [source for source, _ in self.ids], options=DecodingConfig(beam=1))
        attention = [found for found in record.maps if found.kind in KINDS]
        shots = []
        for row, ((source, target), texts) in enumerate(zip(self.ids, self.texts, strict=True)):
            read, written = [*source.tolist(), END], [*target.tolist(), END]
            labels = task.target_tokenizer.labels(written), task.source_tokenizer.labels(read)
            source_words, target_words = (
                (*words, words[-1] + 1 if words else 0)
                for words in (task.source_tokenizer.words(read[:-1]), task.target_tokenizer.words(written[:-1]))
            )
            maps = tuple(found.cut(*labels, row) for found in attention)
            shots.append(Shot(*texts, answers[row][0].text, maps, source_words, target_words))
        return tuple(shots)
