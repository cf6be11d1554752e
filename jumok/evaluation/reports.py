"""Scores as people read them: the lines and the table that `jumok evaluate` prints, one function per kind of scores.

label of a corpus, split, scores → ScoreReport; catalogue.py names the report of each task
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jumok.errors import are, counted

FEW_CAPTIONS = 10  # below one caption in so many, captions hardly differ
MOST_CLASSES = 20  # with more, the table of confusions is left out

Scores = Mapping[str, Any]


@dataclass(frozen=True)
class ScoreTable:
    """A heading for each column, and rows of as many texts."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ScoreReport:
    """The scores of one corpus: lines, then a table where there is one, then lines about it, then further tables.

    legend says how to read them: once for all corpora, at the end.
    """

    lines: tuple[str, ...]
    table: ScoreTable | None = None
    footnotes: tuple[str, ...] = ()
    further: tuple[ScoreTable, ...] = ()
    legend: tuple[str, ...] = ()


def translation_report(label: str, split: str, scores: Scores) -> ScoreReport:
    """Report BLEU and others, by length of the source."""
    lines = [
        f"{label} ({split}), {counted(scores['sentences'], 'sentence')}, beam {scores['decoding']['beam']}",
        f"  BLEU {scores['bleu']:.2f}   chrF {scores['chrf']:.2f}   loss {scores['loss']:.4f}   "
        f"perplexity {scores['perplexity']:.3f}",
        f"  exact match ({split}): {scores['exact_match']:.1f} %",
    ]
    if scores["cut"]:
        lines.append(
            f"  {counted(scores['cut'], 'source')} {are(scores['cut'])} longer than the model takes and were cut"
        )
    rows = tuple(
        (
            f"{bucket['shortest']}-{bucket['longest']}",
            f"{bucket['sentences']:,}",
            f"{bucket['bleu']:.2f}",
            f"{bucket['exact_match']:.1f} %",
        )
        for bucket in scores["by_length"]
    )
    table = ScoreTable(("source tokens", "sentences", "BLEU", "exact match"), rows)
    return ScoreReport(tuple(lines), table, (f"  {scores['bleu_signature']}", f"  {scores['chrf_signature']}"))


def language_report(label: str, split: str, scores: Scores) -> ScoreReport:
    """Report how well the next token of a text is foretold."""
    return ScoreReport(
        (
            f"{label} ({split}), {counted(scores['documents'], 'document')}, {counted(scores['tokens'], 'token')}, "
            f"{counted(scores['characters'], 'character')}",
            f"  loss {scores['loss']:.4f}   perplexity {scores['perplexity']:.3f}   "
            f"bits per byte {scores['bits_per_byte']:.4f}   bits per character {scores['bits_per_character']:.4f}",
        )
    )


def masked_language_report(label: str, split: str, scores: Scores) -> ScoreReport:
    """Report how many masked tokens of a text are found."""
    follows = f"   next text right {scores['next_sentence']:.2f} %" if "next_sentence" in scores else ""
    return ScoreReport(
        (
            f"{label} ({split}), {counted(scores['documents'], 'document')}, {counted(scores['tokens'], 'token')}",
            f"  masked tokens found {scores['accuracy']:.2f} %   loss {scores['loss']:.4f}   "
            f"perplexity {scores['perplexity']:.3f}{follows}",
        )
    )


def classification_report(label: str, split: str, scores: Scores) -> ScoreReport:
    """Report accuracy beside the baselines, and which classes were taken for which."""
    labels, baselines = scores["labels"], scores["baselines"]
    images = "top5" in scores
    five = f"   among the first five {scores['top5']:.2f} %" if images and len(labels) > 5 else ""
    lines = [
        f"{label} ({split}), {counted(scores['examples'], 'image' if images else 'text')}",
        f"  accuracy {scores['accuracy']:.2f} %   macro-F1 {scores['macro_f1']:.2f} %   loss {scores['loss']:.4f}{five}",
    ]
    if scores.get("broken"):
        lines.append(f"  {counted(scores['broken'], 'image')} cannot be used and {are(scores['broken'])} left out")
    compared = [f"{name} {baselines[name]:.2f} %" for name in ("majority", "n-grams") if name in baselines]
    if compared:
        lines.append(f"  beside it: accuracy of {', '.join(compared)}")
    if "note" in baselines:
        lines.append(f"  {baselines['note']}")
    if len(labels) > MOST_CLASSES:
        return ScoreReport(tuple(lines))
    rows = tuple(
        (name, *(f"{count:,}" for count in counts), f"{f1:.1f} %")
        for name, counts, f1 in zip(labels, scores["confusion"], scores["f1"], strict=True)
    )
    return ScoreReport(tuple(lines), ScoreTable(("is \\ was named", *labels, "F1"), rows))


def caption_report(label: str, split: str, scores: Scores) -> ScoreReport:
    """Report CIDEr-D and others beside what needs no captioner, and whether captions differ at all."""
    lines = [
        f"{label} ({split}), {counted(scores['images'], 'image')}, beam {scores['decoding']['beam']}",
        f"  CIDEr-D {scores['cider_d']:.1f}   BLEU-4 {scores['bleu4']:.1f}   ROUGE-L {scores['rouge_l']:.1f}   "
        f"loss {scores['loss']:.4f}   perplexity {scores['perplexity']:.3f}",
    ]
    if "meteor" in scores:
        lines.append(f"  METEOR {scores['meteor']:.1f}")
    lines.append(
        f"  {counted(scores['distinct'], 'distinct caption')}, {counted(scores['vocabulary'], 'distinct word')}"
    )
    if FEW_CAPTIONS * scores["distinct"] < min(scores["images"], scores["distinct_references"]):
        lines.append(
            "  warning: nearly the same caption for everything; the images hardly matter yet: train longer, or raise "
            "training.learning_rate"
        )
    if scores.get("broken"):
        lines.append(f"  {counted(scores['broken'], 'image')} cannot be used and {are(scores['broken'])} left out")
    lines += _object_lines(scores["objects"]) if "objects" in scores else []
    rows = {"this model": scores, **scores.get("floors", {})}
    if scores.get("with_punctuation", scores)["bleu4"] != scores["bleu4"]:  # else the data has none
        rows["this model, punctuation counted"] = scores["with_punctuation"]
    figures = ("cider_d", "bleu1", "bleu2", "bleu3", "bleu4", "rouge_l")
    table = ScoreTable(
        ("", "CIDEr-D", "BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "distinct"),
        tuple(
            (name, *(f"{found[figure]:.1f}" for figure in figures), f"{found['distinct']:,}")
            for name, found in rows.items()
        ),
    )
    return ScoreReport(tuple(lines), table, (f"  {scores['signature']}",))


def _object_lines(scores: Scores) -> list[str]:
    """Return how many objects of drawn scenes were named right, and by how many there are."""
    by_number = ", ".join(f"{each['objects']}: {each['all_right']:.1f} %" for each in scores["by_number"])
    return [
        f"  right: form {scores['form']:.1f} %   colour {scores['colour']:.1f} %   size {scores['size']:.1f} %   "
        f"place {scores['place']:.1f} %   all objects {scores['all_right']:.1f} %",
        f"  all right by number of objects: {by_number}",
    ]
