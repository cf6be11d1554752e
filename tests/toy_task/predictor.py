"""A trained counter in use, and its scores for people."""

import torch

from jumok.config import DataFile
from jumok.evaluation.reports import ScoreReport
from jumok.predictors.base import ModelPredictor
from toy_task.data import BitsStore
from toy_task.model import Counter
from toy_task.task import Counting, batch_of


class BitsCounter(ModelPredictor[Counting, Counter, BitsStore]):
    """Count bits with a run's weights."""

    verb = "count"
    source_is = "a counter's --source has one row of bits per line"

    @torch.inference_mode()
    def count(self, row: str) -> int:
        """Return how many bits of a row are set."""
        return int(self.model(batch_of([[int(bit) for bit in row]])).argmax())

    def own_data(self, source, target=None):
        return self.task.corpora.own_store(DataFile(file=str(source)))

    def score(self, store, options, progress):
        progress(len(store))
        return self.task.metrics(self.model, store)


def report(label, split, scores):
    """Report the mean error."""
    return ScoreReport((f"{label} ({split}): off by {scores['error']:.2f} bits",))
