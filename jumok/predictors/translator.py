"""A trained translator: translate, stream, explain, score.

text → cut where too long → ids, after the tag of the target language where there are several → engine → text;
explain adds one teacher-forced pass that is observed
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Self, overload

from jumok.config import Corpus, DecodingConfig
from jumok.data.text.pair_store import PairStore
from jumok.data.text.sources import tidy
from jumok.errors import ConfigError, DataError
from jumok.evaluation.text import score_by_length, score_texts, tokenization
from jumok.nn.precision import Precision
from jumok.nn.threads import one_thread
from jumok.predictors.base import Advance, Notice, Predictor, Warn, ignore_notice
from jumok.predictors.cutting import longest_beginning
from jumok.predictors.engines import JumokEngine, PairDecoder, TranslationEngine
from jumok.predictors.explaining import Look, ablation_of, weighed
from jumok.predictors.explanation import HeadWorth, TranslationExplanation
from jumok.predictors.translation_explaining import explain, log_probabilities_of
from jumok.runs.run import Run
from jumok.tasks.base import Scores
from jumok.tasks.pairs import Ids
from jumok.tasks.translation import Translation
from jumok.tasks.writing import Answer

LISTED = 5  # answers of a page, where the beam is as wide


class Translator(Predictor[Translation, PairDecoder, PairStore]):
    """Translate with a run's weights."""

    verb = "translate"
    explains = "text"

    def __init__(self, run: Run, task: Translation, engine: TranslationEngine) -> None:
        super().__init__(run, task)
        self.engine = engine
        self.to = ""  # the target language where a call names none

    @classmethod
    def with_model(cls, run: Run, task: Translation, model: PairDecoder) -> Self:
        """Return the translator of a run whose model was loaded."""
        return cls(run, task, JumokEngine(task, model))

    @classmethod
    def with_export(cls, run: Run, task: Translation, *, int8: bool) -> Self:
        """Return the translator of a folder that was exported to CTranslate2."""
        from jumok.predictors.ctranslate2_engine import CTranslate2Engine

        return cls(run, task, CTranslate2Engine(run, task, int8=int8))

    @property
    def model(self) -> PairDecoder:
        """The engine's model; an engine that has none refuses."""
        return self.engine.model

    @property
    def longest_source(self) -> int:
        """The most source tokens the model was made for, end token included."""
        limit, trained = self.engine.limit, self.task.data.max_length
        return min(limit, trained) if limit else trained

    def choose_precision(self, precision: Precision) -> None:
        """Choose the precision of the products that answers are made of."""
        super().choose_precision(precision)
        if isinstance(self.engine, JumokEngine):
            self.engine.answering = self.answering

    def choose_language(self, to: str) -> None:
        """Choose the target language that is meant where a call names none."""
        self.to = self.language(to)

    def language(self, to: str = "") -> str:
        """Return the target language: the one asked for, else this translator's own, else the only one."""
        known, name = self.task.languages, self.run.folder
        if not known and to:
            raise ConfigError(f"{name} translates in one direction only; leave out --to {to}")
        wanted = to or self.to or (known[0] if len(known) == 1 else "")
        if known and not wanted:
            raise ConfigError(f"{name} translates to {', '.join(known)}: say which, for example --to {known[0]}")
        if wanted and wanted not in known:
            raise ConfigError(f"--to {wanted}: {name} translates to {', '.join(known)}")
        return wanted

    @overload
    def translate(  # type: ignore[overload-overlap]  # a str is a sequence of them, too
        self,
        texts: str,
        *,
        to: str = "",
        beam: int | None = None,
        prefixes: Sequence[str] | None = None,
        options: DecodingConfig | None = None,
        progress: Advance | None = None,
    ) -> str: ...

    @overload
    def translate(
        self,
        texts: Sequence[str],
        *,
        to: str | Sequence[str] = "",
        beam: int | None = None,
        prefixes: Sequence[str] | None = None,
        options: DecodingConfig | None = None,
        progress: Advance | None = None,
    ) -> list[str]: ...

    def translate(
        self,
        texts: str | Sequence[str],
        *,
        to: str | Sequence[str] = "",
        beam: int | None = None,
        prefixes: Sequence[str] | None = None,
        options: DecodingConfig | None = None,
        progress: Advance | None = None,
    ) -> str | list[str]:
        """Return the best translation of a text, or a list of those of several.

        to is the target language, or one for each text, of a run that has several.
        """
        options = (options or self.options).changed({"beam": beam})
        given = [texts] if isinstance(texts, str) else texts
        found = self.answers(given, to=to, prefixes=prefixes, options=options, progress=progress)
        best = [answers[0].text for answers in found]
        return best[0] if isinstance(texts, str) else best

    @overload
    def answers(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        to: str = "",
        prefixes: Sequence[str] | None = None,
        options: DecodingConfig | None = None,
        progress: Advance | None = None,
        warn: Warn = ignore_notice,
    ) -> list[Answer]: ...

    @overload
    def answers(
        self,
        texts: Sequence[str],
        *,
        to: str | Sequence[str] = "",
        prefixes: Sequence[str] | None = None,
        options: DecodingConfig | None = None,
        progress: Advance | None = None,
        warn: Warn = ignore_notice,
    ) -> list[list[Answer]]: ...

    def answers(
        self,
        texts: str | Sequence[str],
        *,
        to: str | Sequence[str] = "",
        prefixes: Sequence[str] | None = None,
        options: DecodingConfig | None = None,
        progress: Advance | None = None,
        warn: Warn = ignore_notice,
    ) -> list[Answer] | list[list[Answer]]:
        """Return the n best translations of a text with scores and tokens, or a list of those of several.

        An empty text gives one empty answer.
        """
        if isinstance(texts, str):
            return self.answers([texts], to=to, prefixes=prefixes, options=options, progress=progress, warn=warn)[0]
        texts = list(texts)
        sources = self.read(texts, to=to, warn=warn)
        real = [number for number, ids in enumerate(sources) if len(ids)]
        found = self.engine.search(
            [sources[number] for number in real],
            options=options or self.options,
            progress=progress,
            prefixes=[prefixes[number] for number in real] if prefixes else None,
        )
        results = [[Answer("", 0.0, [], [], 0.0, True)] for _ in texts]
        for number, answers in zip(real, found, strict=True):
            results[number] = answers
        return results

    def read(
        self,
        texts: Sequence[str],
        *,
        to: str | Sequence[str] = "",
        warn: Warn = ignore_notice,
    ) -> list[Ids]:
        """Return the ids of texts; one that is too long is cut at a sentence or word, with a warning."""
        languages = [self.language(to)] * len(texts) if isinstance(to, str) else [self.language(one) for one in to]
        sources = self.task.read(texts, languages)
        for number, ids in enumerate(sources):
            if len(ids) + 1 > self.longest_source:
                kept = longest_beginning(tidy(texts[number]), partial(self._fits, languages[number]))
                what = (
                    f"has {len(ids) + 1:,} tokens, the model takes {self.longest_source:,}: cut after {kept[-40:]!r} "
                    f"({len(kept):,} of {len(texts[number]):,} characters); give it sentence by sentence"
                )
                warn(Notice(number + 1, what))
                sources[number] = self.task.read([kept], languages[number : number + 1])[0][: self.longest_source - 1]
        return sources

    def _fits(self, language: str, text: str) -> bool:
        """Return whether the model takes a text whole."""
        return len(self.task.read([text], [language])[0]) < self.longest_source

    def stream(
        self,
        text: str,
        *,
        to: str = "",
        prefix: str = "",
        options: DecodingConfig | None = None,
        warn: Warn = ignore_notice,
    ) -> Iterator[str]:
        """Yield the translation piece by piece while it is written (greedy, or sampled)."""
        ids = self.read([text], to=to, warn=warn)[0]
        if not len(ids):
            return
        written: list[int] = []
        whole = shown = ""
        for token in self.engine.stream(ids, options=options or self.options, prefix=self._target_ids(prefix)):
            written.append(token)
            whole = self.task.target_tokenizer.decode(written)
            if not whole.endswith("\N{REPLACEMENT CHARACTER}"):  # half of a character: wait for the rest
                yield whole[len(shown) :]
                shown = whole
        if whole != shown:  # the rest never came
            yield whole[len(shown) :]

    @one_thread()
    def explain(
        self,
        text: str,
        *,
        to: str = "",
        target: str | None = None,
        options: DecodingConfig | None = None,
        without_heads: Iterable[tuple[str, int]] = (),
        without_tokens: Iterable[int] = (),
        without_positions: bool = False,
        details: bool = False,
        warn: Warn = ignore_notice,
    ) -> TranslationExplanation:
        """Return the answer to text, or the given target, with the attention of every layer and head.

        The answer is searched for at full speed; then one pass over its final ids is observed. Both may leave something
        out: heads (the path of a layer and a number from 0), source tokens by their places, positions. With details, maps
        keep the queries, keys and values that they were computed from.
        """
        given = None if target is None else self.given(target)
        ids = self.read([text], to=to, warn=warn)[0]
        ablation = ablation_of(
            self.model,
            heads=without_heads,
            hidden=without_tokens,
            without_positions=without_positions,
            tokens=len(ids),
        )
        return explain(
            self.engine,
            self.task,
            ids,
            given=given,
            options=options or self.options,
            ablation=ablation,
            details=details,
        )

    @one_thread()
    def importance(
        self,
        text: str,
        *,
        to: str = "",
        target: str | None = None,
        options: DecodingConfig | None = None,
        details: bool = False,
        warn: Warn = ignore_notice,
    ) -> tuple[TranslationExplanation, list[HeadWorth]]:
        """Return an explanation, and what its answer loses without each head, the dearest first.

        The explanation's token_worth tells what the answer loses when each source token is left out.
        """
        explanation = self.explain(text, to=to, target=target, options=options, details=details, warn=warn)
        ids = self.read([text], to=to)[0]
        found = weighed(explanation, self.model, log_probabilities_of(self.model, ids, explanation.answer))
        return found, list(found.worth)

    def look(self, text: str, asked: Look, *, warn: Warn = ignore_notice) -> TranslationExplanation:
        """Return what `jumok look` shows of a text."""
        replace(asked, to="").refuse(self.run.folder, "translates", target=True, decoding={"beam", "max_length"})
        options = self.options.changed(asked.decoding)
        if asked.details and not options.sample:  # a page lists other answers, too
            options = options.changed({"n_best": max(options.n_best, min(options.beam, LISTED))})
        if asked.importance:
            return self.importance(
                text, to=asked.to, target=asked.target, options=options, details=asked.details, warn=warn
            )[0]
        return self.explain(text, to=asked.to, target=asked.target, options=options, details=asked.details, warn=warn)

    def given(self, text: str) -> Answer:
        """Return a text as if it were our answer; its score is not known yet."""
        ids = self._target_ids(text)
        return Answer(text, 0.0, self.task.target_tokenizer.labels(ids), ids, 0.0, True)

    def _target_ids(self, text: str) -> list[int]:
        return self.task.target_tokenizer.encode([tidy(text, self.task.data.lowercase)])[0]

    def stores(self, split: str, *, source: Path | None = None, target: Path | None = None) -> dict[str, PairStore]:
        """Return the pairs of each corpus of a split, or of two files, by label."""
        if bool(source) != bool(target):
            raise ConfigError("--source and --target belong together: two files with the same number of lines")
        stores = super().stores(split, source=source, target=target)
        if not self.to:
            return stores
        chosen = {label: store for label, store in stores.items() if self.to in self.task.languages_of(store)}
        if not chosen:
            raise DataError(f"no {split} data of the recipe is translated to {self.to}; give --source and --target")
        return chosen

    def mean_loss(self, store: PairStore) -> float:
        """Return the mean −log p of a store's target tokens."""
        return self.engine.mean_loss(store)

    def own_data(self, source: Path, target: Path | None = None) -> PairStore:
        """Return the pairs of two files of one's own."""
        names = str(source.absolute()), str(target and target.absolute())
        corpus = Corpus(source=names[0], target=names[1], to=self.language())
        return self.task.corpora.own_store(corpus)

    def score(self, store: PairStore, options: DecodingConfig, progress: Advance) -> Scores:
        """Return BLEU and others of pairs."""
        texts, languages = [store.text(number) for number in range(len(store))], self.task.languages_of(store)
        cut: list[Notice] = []
        answers = self.answers(
            [source for source, _ in texts], to=languages, options=options, progress=progress, warn=cut.append
        )
        written, references = [found[0].text for found in answers], [reference for _, reference in texts]
        tokenize = tokenization(references, languages[0])
        loss = self.mean_loss(store)
        lengths = [int(length) for length in store.lengths[:, 0]]
        return {
            **asdict(score_texts(written, references, tokenize=tokenize)),
            "loss": loss,
            "perplexity": math.exp(min(loss, 50.0)),
            "cut": len(cut),  # sources longer than the model takes
            "by_length": [
                asdict(bucket) for bucket in score_by_length(written, references, lengths, tokenize=tokenize)
            ],
            "decoding": options.model_dump(),
        }

    @property
    def parameters(self) -> int:
        """How many parameters the model has."""
        return self.engine.parameters

    def to_dict(self) -> dict[str, str | int]:
        """Return facts about the model for tables and pages, and the engine where it is not jumok's."""
        return super().to_dict() | ({"engine": self.engine.name} if self.engine.name else {})
