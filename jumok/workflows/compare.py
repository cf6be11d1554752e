"""Runs side by side on the same sentences: scores with significance, size, time, speed, and BLEU by length.

predictors and their stores → same sentences? → each run translates, timed → sacreBLEU → Comparison → table or figure
captioners and their stores → compare_captions.py; forecasters and their windows → compare_forecasts.py
drawers and their stores → compare_drawings.py

The first run is the baseline. Tokenizers differ between runs, so a source is as long as it has words between spaces.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from jumok.config import DecodingConfig
from jumok.data.text.pair_store import PairStore
from jumok.errors import ConfigError, DataError
from jumok.evaluation.significance import Significance, paired_bootstrap
from jumok.evaluation.text import LengthBucket, score_by_length, score_texts, tokenization
from jumok.lens.figure import check_can_draw
from jumok.predictors.base import Notice
from jumok.predictors.captioner import CaptionWriter
from jumok.predictors.drawer import Drawer
from jumok.predictors.drawing_evaluation import DRAWINGS
from jumok.predictors.forecaster import SeriesForecaster
from jumok.predictors.translator import Translator
from jumok.runs.loading import LoadOptions, PredictorT, add_data_folder, load_run, predictor_class_of
from jumok.workflows.compared_runs import ComparedRun, Progress, SideBySide, advance_of, differences, training_time
from jumok.workflows.read_drawings import find_reader, refuse_reading

if TYPE_CHECKING:
    from jumok.predictors.base import AnyPredictor
    from jumok.workflows.compare_captions import CaptionComparison
    from jumok.workflows.compare_drawings import DrawingComparison
    from jumok.workflows.compare_forecasts import ForecastComparison

FIFTHS = 5
WARM_UP = 16  # sentences translated before the clock starts
Texts = list[tuple[str, str]]


@dataclass(frozen=True)
class RunResult(ComparedRun):
    """One run's row of a comparison."""

    training_tokens_per_second: float | None
    bleu: float
    bleu_significance: Significance
    chrf: float
    chrf_significance: Significance
    exact_match: float
    by_length: list[LengthBucket]  # fifths by words of the source, shortest first
    bleu_longest_fifth: float
    translation_seconds: float
    translation_tokens_per_second: float  # target tokens of the run's own tokenizer, end included
    sentences_per_second: float
    cut: int  # sources longer than the model takes
    decoding: dict[str, Any]


@dataclass(frozen=True)
class Comparison(SideBySide):
    """Runs side by side on one corpus."""

    sentences: int
    runs: list[RunResult]
    bleu_signature: str
    chrf_signature: str
    threads: int

    @property
    def decoding_differences(self) -> dict[str, list[Any]]:
        """The decoding options in which the runs differ, with the value of each run."""
        return differences([run.decoding for run in self.runs])


def compare(
    runs: Sequence[str | Path],
    *,
    split: str = "val",
    source: str | Path | None = None,
    target: str | Path | None = None,
    data: str | Path | None = None,
    to: str = "",
    checkpoint: str = "best",
    beam: int | None = None,
    png: str | Path | None = None,
    read: "str | Path | AnyPredictor" = "",
    drawings: int | None = None,
    progress: Progress = lambda name, done, total: None,
) -> "dict[str, Comparison] | dict[str, CaptionComparison] | dict[str, ForecastComparison] | dict[str, DrawingComparison]":
    """Return runs side by side on each corpus of a split, or on two files, by label; the first run is the baseline.

    Runs translate, describe images, forecast, or draw. to is the target language of runs that have several. png draws BLEU
    against the length of the source, for described scenes those all right against the number of objects, or for forecasts
    the error against the steps ahead. read is the captioner or image classifier that says what it sees in so many
    drawings of each corpus. progress is told the run, sentences, images, windows or drawings done since the last call, and
    all.
    """
    names = name_runs(runs)
    if png is not None:
        check_can_draw(Path(png))
    files = {"source": Path(source) if source else None, "target": Path(target) if target else None}
    kind = predictor_class_of(runs[0])
    if issubclass(kind, Drawer):
        from jumok.workflows.compare_drawings import compare_drawers

        if to or beam is not None or png is not None:
            unfit = f"--to {to}" if to else f"--png {png}" if png is not None else f"--beam {beam}"
            raise ConfigError(f"{unfit} is not for runs that draw; leave it out")
        drawers = load_runs(Drawer, names, runs, data=data, checkpoint=checkpoint)
        return compare_drawers(
            drawers,
            [drawer.stores(split, **files) for drawer in drawers.values()],
            reader=find_reader(drawers[names[0]], read),
            drawings=DRAWINGS if drawings is None else drawings,
            checkpoint=checkpoint,
            progress=progress,
        )
    refuse_reading(runs[0], kind, read=read, drawings=drawings)
    if issubclass(kind, SeriesForecaster):
        from jumok.workflows.compare_forecasts import compare_forecasters, draw_steps

        if to or beam is not None:
            given = f"--to {to} is for translation" if to else f"--beam {beam} is for runs that write"
            raise ConfigError(f"{given}; {runs[0]} forecasts")
        forecasters = load_runs(SeriesForecaster, names, runs, data=data, checkpoint=checkpoint)
        windows = [forecaster.stores(split, **files) for forecaster in forecasters.values()]
        forecast = compare_forecasters(forecasters, windows, checkpoint=checkpoint, progress=progress)
        if png is not None:
            draw_steps(forecast, Path(png))
        return forecast
    if issubclass(kind, CaptionWriter):
        from jumok.workflows.compare_captions import compare_captioners, draw_objects

        if to:
            raise ConfigError(f"--to {to} is for translation; {runs[0]} describes images")
        captioners = load_runs(CaptionWriter, names, runs, data=data, checkpoint=checkpoint)
        captioned = [captioner.stores(split, **files) for captioner in captioners.values()]
        described = compare_captioners(captioners, captioned, checkpoint=checkpoint, beam=beam, progress=progress)
        if png is not None:
            draw_objects(described, Path(png))
        return described
    predictors = load_runs(Translator, names, runs, data=data, checkpoint=checkpoint)
    for predictor in predictors.values():
        if to and predictor.task.languages:
            predictor.choose_language(to)
    stores = [predictor.stores(split, **files) for predictor in predictors.values()]
    comparisons = compare_runs(predictors, stores, checkpoint=checkpoint, beam=beam, progress=progress)
    if png is not None:
        from jumok.workflows.compare_figure import draw_lengths

        draw_lengths(comparisons, Path(png))
    return comparisons


def load_runs(
    kind: type[PredictorT],
    names: Sequence[str],
    runs: Sequence[str | Path],
    *,
    data: str | Path | None,
    checkpoint: str,
) -> dict[str, PredictorT]:
    """Return runs of a kind by their names; a run of another kind is refused."""
    found = {}
    for name, run in zip(names, runs, strict=True):
        options = LoadOptions(checkpoint=checkpoint)
        otherwise = "compare is for translation, for captions, for forecasts, or for drawings"
        found[name] = load_run(kind, run, options, otherwise=otherwise)
        add_data_folder(found[name], data)
    return found


def name_runs(folders: Sequence[str | Path]) -> list[str]:
    """Return a short name for each run: its folder's own, or its path where two folders share a name."""
    if len(folders) < 2:
        raise ConfigError(f"{len(folders)} run is given, compare needs two or more; jumok evaluate scores one")
    resolved = [Path(folder).resolve() for folder in folders]
    for number, folder in enumerate(resolved):
        if folder in resolved[:number]:
            raise ConfigError(f"{folders[number]} is named twice; compare needs different runs")
    names = [folder.name for folder in resolved]
    return [
        name if names.count(name) == 1 else str(folder) for name, folder in zip(names, map(Path, folders), strict=True)
    ]


def compare_runs(
    predictors: Mapping[str, Translator],
    stores: Sequence[Mapping[str, PairStore]],
    *,
    checkpoint: str = "best",
    beam: int | None = None,
    progress: Progress = lambda name, done, total: None,
) -> dict[str, Comparison]:
    """Return a comparison for each corpus of the first run; every run must have its sentences."""
    corpora = same_sentences(predictors, stores)  # before the first of them spends its time on translating
    comparisons = {}
    for label, texts in corpora.items():
        # One run may be told the target language of what another translates in its only direction.
        languages = [
            predictor.task.languages_of(next(store for store in of_run.values() if _texts(store) == texts))
            for predictor, of_run in zip(predictors.values(), stores, strict=True)
        ]
        comparisons[label] = _compare(predictors, texts, languages, checkpoint=checkpoint, beam=beam, progress=progress)
    return comparisons


def same_sentences(predictors: Mapping[str, Translator], stores: Sequence[Mapping[str, PairStore]]) -> dict[str, Texts]:
    """Return the pairs of each corpus by the first run's labels; refuse a run that lacks one of them."""
    found = [{label: _texts(store) for label, store in of_run.items()} for of_run in stores]
    wanted, *others = found
    (first, baseline), *rest = predictors.items()
    for label, texts in wanted.items():
        if not texts:
            raise DataError(f"{label} has no sentences; compare needs some")
        for (name, predictor), available in zip(rest, others, strict=True):
            if texts not in available.values():
                nearest = available.get(label) or next(iter(available.values()), [])
                cased = predictor.task.data.lowercase == baseline.task.data.lowercase
                raise DataError(
                    f"{name} does not have the sentences of {first} ({label}): {_difference(texts, nearest)}; compare needs "
                    + ("the same sentences: " if cased else "the same sentences, and data.lowercase differs: ")
                    + "choose runs of the same data, or give --source and --target"
                )
    return wanted


def _texts(store: PairStore) -> Texts:
    return [store.text(number) for number in range(len(store))]


def _difference(wanted: Texts, found: Texts) -> str:
    """Say where two corpora part."""
    if len(wanted) != len(found):
        return f"{len(found):,} pairs instead of {len(wanted):,}"
    number = next(number for number, pair in enumerate(wanted) if pair != found[number])
    (source, reference), (other_source, other_reference) = wanted[number], found[number]
    if source != other_source:
        return f"the source of pair {number + 1:,} is {other_source[:60]!r} instead of {source[:60]!r}"
    return f"the reference of pair {number + 1:,} is {other_reference[:60]!r} instead of {reference[:60]!r}"


def _compare(
    predictors: Mapping[str, Translator],
    texts: Texts,
    languages: Sequence[Sequence[str]],
    *,
    checkpoint: str,
    beam: int | None,
    progress: Progress,
) -> Comparison:
    sources, references = [source for source, _ in texts], [reference for _, reference in texts]
    words = [len(source.split()) for source in sources]
    answered = [
        _translate(predictor, sources, to=to, beam=beam, progress=advance_of(progress, name, len(sources)))
        for (name, predictor), to in zip(predictors.items(), languages, strict=True)
    ]
    written = [answers.texts for answers in answered]
    tokenize = tokenization(references, next((to[0] for to in languages if to[0]), ""))
    bleu, bleu_signature = paired_bootstrap(written, references, metric=BLEU(tokenize=tokenize))
    chrf, chrf_signature = paired_bootstrap(written, references, metric=CHRF())
    runs = []
    for number, ((name, predictor), answers) in enumerate(zip(predictors.items(), answered, strict=True)):
        scores = score_texts(answers.texts, references, tokenize=tokenize)
        buckets = score_by_length(answers.texts, references, words, buckets=FIFTHS, tokenize=tokenize)
        trained, speed = training_time(predictor.run.folder, checkpoint)
        runs.append(
            RunResult(
                name=name,
                folder=str(predictor.run.folder),
                model=predictor.run.recipe.model.name,
                parameters=predictor.parameters,
                training_seconds=trained,
                training_tokens_per_second=speed,
                bleu=scores.bleu,
                bleu_significance=bleu[number],
                chrf=scores.chrf,
                chrf_significance=chrf[number],
                exact_match=scores.exact_match,
                by_length=buckets,
                bleu_longest_fifth=buckets[-1].bleu,
                translation_seconds=answers.seconds,
                translation_tokens_per_second=answers.tokens / answers.seconds,
                sentences_per_second=len(sources) / answers.seconds,
                cut=answers.cut,
                decoding=answers.options.model_dump(),
            )
        )
    return Comparison(len(texts), runs, bleu_signature, chrf_signature, threads=torch.get_num_threads())


@dataclass(frozen=True)
class _Answered:
    """What a run wrote, and how long it took."""

    texts: list[str]
    tokens: int
    seconds: float
    cut: int
    options: DecodingConfig


def _translate(
    predictor: Translator,
    sources: list[str],
    *,
    to: Sequence[str],
    beam: int | None,
    progress: Callable[[int], None],
) -> _Answered:
    options = predictor.options.changed({"beam": beam})
    predictor.answers(sources[:WARM_UP], to=to[:WARM_UP], options=options)
    cut: list[Notice] = []
    started = time.perf_counter()
    found = predictor.answers(sources, to=to, options=options, progress=progress, warn=cut.append)
    seconds = time.perf_counter() - started
    best = [answers[0] for answers in found]
    tokens = sum(len(answer.ids) + answer.finished for answer in best)
    return _Answered([answer.text for answer in best], tokens, seconds, len(cut), options)
