"""A trained text classifier: name classes with their probabilities, explain that, and score it beside two baselines.

text → ids → row → model → probabilities, best first; under observe → attention between the tokens of the text
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import overload

import torch
from torch import Tensor

from jumok.cache import cache_key, cached_folder, damaged_entry
from jumok.config import LabelledFile
from jumok.data.text.labelled import LabelStore
from jumok.data.text.sources import tidy
from jumok.errors import ConfigError, DataError, MissingExtraError, did_you_mean
from jumok.evaluation.labels import score_labels
from jumok.evaluation.ngrams import fit_ngrams, majority_class
from jumok.inspection.ablation import Ablation, attention_layers
from jumok.inspection.observe import observe
from jumok.nn.batch import LabelBatch
from jumok.nn.model import Model
from jumok.nn.threads import one_thread, one_thread_for
from jumok.predictors.base import Advance, Notice, Warn, ignore_notice, ignore_progress
from jumok.predictors.classifier import Classifier, Verdict, ranked_verdict
from jumok.predictors.explaining import Look, ablation_of, weighed
from jumok.predictors.explanation import Explanation, HeadWorth
from jumok.predictors.read_text import TextRow
from jumok.reading import is_kind, read_json, words_for_value
from jumok.tasks.base import Scores
from jumok.tasks.examples import MARKS, make_row, pad_rows
from jumok.tasks.text_classification import TextClassification

AT_ONCE = 64  # texts read side by side
NO_ATTENTION = "This model has no attention to show."
Text = str | tuple[str, str]  # one text, or two


class TextClassifier(Classifier[TextClassification, Model[LabelBatch], LabelStore]):
    """Name the classes of texts with a run's weights."""

    source_is = "a classifier's --source is a table with texts and classes"
    classified = "text"
    explains = "text"

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
        texts: Text | Sequence[Text],
        *,
        progress: Advance = ignore_progress,
        warn: Warn = ignore_notice,
    ) -> Verdict | list[Verdict]:
        """Return the verdict on a text, or on a pair of texts (a tuple), or a list of those on several.

        A text longer than the model takes is cut, and one without any is answered all the same, each with a warning.
        """
        if isinstance(texts, str | tuple):
            return self._classify([self._pair(texts)], progress=progress, warn=warn)[0]
        pairs = [(text, "") if isinstance(text, str) else text for text in texts]
        return self._classify(pairs, progress=progress, warn=warn)

    def _pair(self, text: Text) -> tuple[str, str]:
        """Return a text and nothing, or two texts, which the run must have been trained on."""
        if isinstance(text, str):
            return text, ""
        if not self.takes_two:
            raise ConfigError(f"a tuple is a pair of texts, and {self.run.folder} takes one text; give a list of texts")
        first, second = text
        return str(first), str(second)

    @torch.inference_mode()
    def _classify(self, pairs: Sequence[tuple[str, str]], *, progress: Advance, warn: Warn) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for first in range(0, len(pairs), AT_ONCE):
            rows = self.read(pairs[first : first + AT_ONCE], first=first + 1, warn=warn)
            with one_thread_for(len(rows), self.model), self.answering():
                found = self._logits(pad_rows([(row.ids, row.second) for row in rows])).softmax(dim=1).tolist()
            verdicts += [ranked_verdict(self.task.labels, row) for row in found]
            progress(len(rows))
        return verdicts

    def read(self, pairs: Sequence[tuple[str, str]], *, first: int = 1, warn: Warn = ignore_notice) -> list[TextRow]:
        """Return the rows of texts, of which the first is that of line `first`; what is too long is cut with a warning."""
        rows = []
        for number, ids in enumerate(self.task.read(pairs), start=first):
            row, second = make_row(*ids, self.task.data.max_length)
            rows.append(TextRow(row, second, self.task.tokenizer))
            if not any(map(len, ids)):
                warn(Notice(number, "has no text; the class it gets is only what the model says of nothing at all"))
            lost = sum(map(len, ids)) - (len(row) - (MARKS if len(ids[1]) else MARKS - 1))
            if lost:
                longest = self.task.data.max_length
                what = f"has {lost:,} tokens more than the model takes ({longest:,}); its end was left out"
                warn(Notice(number, what))
        return rows

    def _logits(self, padded: tuple[Tensor, Tensor, Tensor | None]) -> Tensor:
        """Return the logits (B, classes) of padded rows."""
        source, mask, segments = padded
        batch = LabelBatch(source, mask, torch.zeros(len(source), dtype=torch.int64), segments)
        logits: Tensor = self.model(batch.to(self.model.device)).float()
        return logits

    @one_thread()
    @torch.inference_mode()
    def explain(
        self,
        text: Text,
        *,
        label: str | None = None,
        without_heads: Iterable[tuple[str, int]] = (),
        without_tokens: Iterable[int] = (),
        without_positions: bool = False,
        details: bool = False,
        warn: Warn = ignore_notice,
    ) -> Explanation[Verdict]:
        """Return the verdict on a text, or on two, and the attention of every layer and head; label: of that class.

        Something may be left out: heads (the path of a layer and a number from 0), tokens of the text by their places,
        positions. A token that is left out is not looked at; a recurrent model does not read it at all. With details,
        maps keep the queries, keys and values that they were computed from.
        """
        [row], hidden = self.read([self._pair(text)], warn=warn), frozenset(without_tokens)
        ablation = ablation_of(
            self.model,
            heads=without_heads,
            hidden=hidden,
            without_positions=without_positions,
            tokens=row.tokens,
        )
        seen = Ablation(ablation.heads, without_positions=without_positions)  # tokens are hidden by the row's own mask
        with observe(self.model, ablation=seen, details=details) as record:
            attends = attention_layers(self.model)
            logits = self._logits(row.hiding(hidden) if attends else row.without(hidden).padded())
        verdict = ranked_verdict(self.task.labels, logits.softmax(dim=1)[0].tolist())
        if label is not None:
            self._class(label)
            verdict = Verdict(label, verdict.probabilities[label], verdict.probabilities)
        shown = " · ".join(filter(None, map(tidy, [text] if isinstance(text, str) else text)))
        return replace(
            row.explained(shown, verdict, record),
            classes=tuple(verdict.probabilities.items()),
            no_attention=self.model.why_no_attention or NO_ATTENTION,
        )

    @one_thread()
    @torch.inference_mode()
    def importance(
        self, text: Text, *, label: str | None = None, details: bool = False, warn: Warn = ignore_notice
    ) -> tuple[Explanation[Verdict], list[HeadWorth]]:
        """Return an explanation, and what the log-probability of its class loses without each head, the dearest first.

        The explanation's token_worth tells what it loses when each token of the text is left out.
        """
        explanation = self.explain(text, label=label, details=details, warn=warn)
        [row], chosen = self.read([self._pair(text)]), self._class(explanation.answer.label)

        def log_probabilities(left_out: Sequence[int | None]) -> Tensor:
            return self._logits(row.padded(left_out)).log_softmax(dim=1)[:, chosen]

        found = weighed(explanation, self.model, log_probabilities, kept=row.ends)
        return found, list(found.worth)

    def look(self, text: str, asked: Look, *, warn: Warn = ignore_notice) -> Explanation[Verdict]:
        """Return what `jumok look` shows of a text; a model of two texts takes them with a tab between."""
        asked.refuse(self.run.folder, "names classes", target=True)
        given = _split_at_tab(text) if self.takes_two else text
        if asked.importance:
            return self.importance(given, label=asked.target, details=asked.details, warn=warn)[0]
        return self.explain(given, label=asked.target, details=asked.details, warn=warn)

    def _class(self, label: str) -> int:
        """Return the number of a class, or say which there are."""
        if label not in self.task.labels:
            raise ConfigError(f"there is no class '{label}'; {did_you_mean(label, self.task.labels)}")
        return self.task.labels.index(label)

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
        kept = cached_folder(key, build) / "accuracy.json"
        accuracy = read_json(kept, damaged_entry)
        if not is_kind(accuracy, float):
            raise damaged_entry(str(kept), f"it holds {words_for_value(accuracy)}")
        return float(accuracy)


def _split_at_tab(text: str) -> tuple[str, str]:
    first, _, second = text.partition("\t")
    return first, second
