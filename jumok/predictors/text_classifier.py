"""A trained text classifier: name classes with their probabilities, and score them beside two baselines.

text → ids → row → model → probabilities, best first
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

import torch

from jumok.cache import cache_key, cached_folder
from jumok.config import LabelledFile
from jumok.data.text.labelled import LabelStore
from jumok.errors import ConfigError, DataError, MissingExtraError
from jumok.evaluation.labels import score_labels
from jumok.evaluation.ngrams import fit_ngrams, majority_class
from jumok.nn.batch import LabelBatch
from jumok.nn.model import Model
from jumok.nn.threads import one_thread_for
from jumok.predictors.base import Advance, Notice, Warn, ignore_notice, ignore_progress
from jumok.predictors.classifier import Classifier, Verdict, ranked_verdict
from jumok.tasks.base import Scores
from jumok.tasks.examples import MARKS, make_row, pad_rows
from jumok.tasks.text_classification import TextClassification

AT_ONCE = 64  # texts read side by side


class TextClassifier(Classifier[TextClassification, Model[LabelBatch], LabelStore]):
    """Name the classes of texts with a run's weights."""

    source_is = "a classifier's --source is a table with texts and classes"
    classified = "text"

    @property
    def takes_two(self) -> bool:
        """Whether the training data had two texts per example."""
        return bool(self.task.data.train) and self.task.data.train[0].second != ""

    @overload
    def classify(  # type: ignore[overload-overlap]  # a str and a pair are sequences of them, too
        self, texts: str | tuple[str, str], *, progress: Advance = ignore_progress, warn: Warn = ignore_notice
    ) -> Verdict: ...

    @overload
    def classify(
        self, texts: Sequence[str | tuple[str, str]], *, progress: Advance = ignore_progress, warn: Warn = ignore_notice
    ) -> list[Verdict]: ...

    def classify(
        self,
        texts: str | tuple[str, str] | Sequence[str | tuple[str, str]],
        *,
        progress: Advance = ignore_progress,
        warn: Warn = ignore_notice,
    ) -> Verdict | list[Verdict]:
        """Return the verdict on a text, or on a pair of texts (a tuple), or a list of those on several.

        A text longer than the model takes is cut, and one without any is answered all the same, each with a warning.
        """
        if isinstance(texts, str):
            return self._classify([(texts, "")], progress=progress, warn=warn)[0]
        if isinstance(texts, tuple):
            if not self.takes_two:
                raise ConfigError(
                    f"a tuple is a pair of texts, and {self.run.folder} takes one text; give a list of texts"
                )
            first, second = texts
            return self._classify([(str(first), str(second))], progress=progress, warn=warn)[0]
        pairs = [(text, "") if isinstance(text, str) else text for text in texts]
        return self._classify(pairs, progress=progress, warn=warn)

    @torch.inference_mode()
    def _classify(self, pairs: Sequence[tuple[str, str]], *, progress: Advance, warn: Warn) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for first in range(0, len(pairs), AT_ONCE):
            rows = []
            for number, ids in enumerate(self.task.read(pairs[first : first + AT_ONCE]), start=first + 1):
                rows.append(make_row(*ids, self.task.data.max_length))
                if not any(map(len, ids)):
                    warn(Notice(number, "has no text; the class it gets is only what the model says of nothing at all"))
                lost = sum(map(len, ids)) - (len(rows[-1][0]) - (MARKS if len(ids[1]) else MARKS - 1))
                if lost:
                    longest = self.task.data.max_length
                    what = f"has {lost:,} tokens more than the model takes ({longest:,}); its end was left out"
                    warn(Notice(number, what))
            source, mask, segments = pad_rows(rows)
            batch = LabelBatch(source, mask, torch.zeros(len(rows), dtype=torch.int64), segments).to(self.model.device)
            with one_thread_for(len(rows), self.model):
                probabilities = self.model(batch).float().softmax(dim=1).tolist()
            verdicts += [ranked_verdict(self.task.labels, row) for row in probabilities]
            progress(len(rows))
        return verdicts

    def verdicts(
        self, given: Sequence[str], *, progress: Advance = ignore_progress, warn: Warn = ignore_notice
    ) -> Iterator[tuple[str, Verdict | None]]:
        """Yield each text and the verdict on it; a model of two texts takes them with a tab between."""
        pairs = [_split_at_tab(text) if self.takes_two else (text, "") for text in given]
        yield from zip(given, self._classify(pairs, progress=progress, warn=warn), strict=True)

    def own_data(self, source: Path, target: Path | None = None) -> LabelStore:
        """Return the examples of a table of one's own, laid out as the training data."""
        train = self.task.data.train  # an imported run has none: text and class are then the first two columns
        columns = train[0].model_dump(include={"text", "second", "label"}) if train else {}
        return self.task.corpora.own_store(LabelledFile(file=str(source.absolute()), **columns))

    def baselines_beside(self, store: LabelStore) -> Scores:
        """Return the baselines."""
        return {"baselines": self.baselines(store)}

    def baselines(self, store: LabelStore) -> Scores:
        """Return the accuracy of always saying the commonest class and of n-grams, both learnt from train.

        n-grams are kept in the cache; where the training data or scikit-learn is missing, a sentence stands instead.
        """
        if not self.task.data.train:
            return {"note": "no baselines: the run has no training data"}
        try:
            train = self.task.corpora.train
        except DataError as error:
            return {"note": f"no baselines: {str(error).splitlines()[0]}"}
        wanted = store.classes.tolist()
        common = majority_class(train.classes.tolist())
        found = {"majority": score_labels([common] * len(wanted), wanted, len(self.task.labels)).accuracy}
        try:
            return found | {"n-grams": self._ngrams(train, store)}
        except MissingExtraError as error:
            return found | {"note": str(error)}

    def _ngrams(self, train: LabelStore, store: LabelStore) -> float:
        """Return the accuracy of n-grams learnt from train on a store."""
        texts = [" ".join(store.text(number)) for number in range(len(store))]
        wanted = store.classes.tolist()

        def build(folder: Path) -> None:
            model = fit_ngrams([" ".join(train.text(number)) for number in range(len(train))], train.classes.tolist())
            accuracy = score_labels(model.predict(texts).tolist(), wanted, len(self.task.labels)).accuracy
            (folder / "accuracy.json").write_text(json.dumps(accuracy), encoding="utf-8")

        key = cache_key("ngrams", self.task.fingerprint, store.fingerprint)
        accuracy: float = json.loads((cached_folder(key, build) / "accuracy.json").read_text(encoding="utf-8"))
        return accuracy


def _split_at_tab(text: str) -> tuple[str, str]:
    first, _, second = text.partition("\t")
    return first, second
