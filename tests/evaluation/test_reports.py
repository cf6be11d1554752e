"""Scores as people read them: lines and tables as data, one report for each task of the catalogue."""

import pytest

from jumok.catalogue import TASKS, report_of
from jumok.evaluation.drawing_report import drawing_report
from jumok.evaluation.reports import (
    MOST_CLASSES,
    ScoreReport,
    caption_report,
    classification_report,
    language_report,
    masked_language_report,
    translation_report,
)

TRANSLATION = {
    "sentences": 1234,
    "decoding": {"beam": 5},
    "bleu": 31.456,
    "chrf": 52.1,
    "loss": 1.23456,
    "perplexity": 3.4,
    "exact_match": 7.25,
    "cut": 0,
    "by_length": [{"shortest": 1, "longest": 7, "sentences": 1000, "bleu": 40.0, "exact_match": 10.0}],
    "bleu_signature": "nrefs:1|tok:13a",
    "chrf_signature": "nrefs:1|nc:6",
}
CLASSES = {
    "labels": ["bad", "good"],
    "examples": 40,
    "accuracy": 75.0,
    "macro_f1": 74.0,
    "loss": 0.5,
    "confusion": [[15, 5], [5, 15]],
    "f1": [75.0, 73.0],
    "baselines": {"majority": 50.0, "n-grams": 70.0},
}


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_report(task):
    assert callable(report_of(task))


def test_a_translation_by_length():
    report = translation_report("test.de", "test", TRANSLATION)
    assert report.lines == (
        "test.de (test), 1,234 sentences, beam 5",
        "  BLEU 31.46   chrF 52.10   loss 1.2346   perplexity 3.400",
        "  exact match (test): 7.2 %",
    )
    assert report.table.headings == ("source tokens", "sentences", "BLEU", "exact match")
    assert report.table.rows == (("1-7", "1,000", "40.00", "10.0 %"),)
    assert report.footnotes == ("  nrefs:1|tok:13a", "  nrefs:1|nc:6")
    cut = translation_report("test.de", "test", TRANSLATION | {"cut": 1200})
    assert cut.lines[-1] == "  1,200 sources are longer than the model takes and were cut"


def test_language_models_have_lines_alone():
    scores = {"documents": 2, "tokens": 3000, "characters": 9000, "loss": 1.0, "perplexity": 2.7183}
    told = language_report("val", "val", scores | {"bits_per_byte": 0.5, "bits_per_character": 0.6})
    assert told == ScoreReport(
        (
            "val (val), 2 documents, 3,000 tokens, 9,000 characters",
            "  loss 1.0000   perplexity 2.718   bits per byte 0.5000   bits per character 0.6000",
        )
    )
    masked = masked_language_report("val", "val", scores | {"accuracy": 31.5})
    assert masked.lines[1] == "  masked tokens found 31.50 %   loss 1.0000   perplexity 2.718"
    paired = masked_language_report("val", "val", scores | {"accuracy": 31.5, "next_sentence": 80.0})
    assert paired.lines[1].endswith("perplexity 2.718   next text right 80.00 %")


def test_classes_beside_their_baselines():
    report = classification_report("val.tsv", "val", CLASSES)
    assert report.lines == (
        "val.tsv (val), 40 texts",
        "  accuracy 75.00 %   macro-F1 74.00 %   loss 0.5000",
        "  beside it: accuracy of majority 50.00 %, n-grams 70.00 %",
    )
    assert report.table.headings == ("is \\ was named", "bad", "good", "F1")
    assert report.table.rows == (("bad", "15", "5", "75.0 %"), ("good", "5", "15", "73.0 %"))
    note = classification_report("val.tsv", "val", CLASSES | {"baselines": {"note": "no baselines: no data"}})
    assert note.lines[-1] == "  no baselines: no data"


def test_images_and_many_classes():
    labels = [str(number) for number in range(MOST_CLASSES + 1)]
    report = classification_report("test", "test", CLASSES | {"labels": labels, "top5": 99.0, "broken": 3})
    assert report.lines[0] == "test (test), 40 images"
    assert report.lines[1].endswith("among the first five 99.00 %")
    assert report.lines[2] == "  3 images cannot be used and are left out"
    assert report.table is None
    few = classification_report("test", "test", CLASSES | {"top5": 100.0})
    assert "first five" not in few.lines[1]


CAPTIONS = {
    "images": 1000, "bleu1": 57.7, "bleu2": 39.7, "bleu3": 26.5, "bleu4": 17.5, "cider_d": 40.3, "rouge_l": 42.4,
    "distinct": 312, "distinct_references": 4900, "vocabulary": 250, "signature": "refs:5|case:lower",
    "decoding": {"beam": 3}, "loss": 3.0, "perplexity": 20.0855,
}  # fmt: skip


def test_captions_beside_what_needs_no_captioner():
    floor = CAPTIONS | {"cider_d": 8.0, "distinct": 1}
    report = caption_report("flickr8k", "val", CAPTIONS | {"floors": {"one constant caption": floor}})
    assert report.lines == (
        "flickr8k (val), 1,000 images, beam 3",
        "  CIDEr-D 40.3   BLEU-4 17.5   ROUGE-L 42.4   loss 3.0000   perplexity 20.085",
        "  312 distinct captions, 250 distinct words",
    )
    assert report.table.rows == (
        ("this model", "40.3", "57.7", "39.7", "26.5", "17.5", "42.4", "312"),
        ("one constant caption", "8.0", "57.7", "39.7", "26.5", "17.5", "42.4", "1"),
    )
    assert report.footnotes == ("  refs:5|case:lower",)
    counted = caption_report("flickr8k", "val", CAPTIONS | {"with_punctuation": CAPTIONS | {"bleu4": 18.6}})
    assert counted.table.rows[-1][0] == "this model, punctuation counted"
    assert counted.table.rows[-1][5] == "18.6"


def test_the_same_caption_for_everything_is_warned_of():
    report = caption_report("flickr8k", "val", CAPTIONS | {"distinct": 12})
    assert "warning: nearly the same caption for everything" in report.lines[-1]
    few = caption_report("signs", "val", CAPTIONS | {"distinct": 12, "distinct_references": 40})  # no more can be said
    assert "warning" not in few.lines[-1]


def test_objects_of_scenes():
    shares = {"form": 97.5, "colour": 99.0, "size": 98.0, "place": 95.0, "all_right": 80.0}
    objects = shares | {"by_number": [{"objects": 1, "all_right": 99.0}, {"objects": 5, "all_right": 61.5}]}
    report = caption_report("shapes", "val", CAPTIONS | {"objects": objects, "meteor": 20.25, "broken": 1})
    assert report.lines[2] == "  METEOR 20.2"
    assert report.lines[4] == "  1 image cannot be used and is left out"
    assert report.lines[5:] == (
        "  right: form 97.5 %   colour 99.0 %   size 98.0 %   place 95.0 %   all objects 80.0 %",
        "  all right by number of objects: 1: 99.0 %, 5: 61.5 %",
    )


DRAWINGS = {
    "images": 95,
    "captions": 190,
    "loss": 3.59642,
    "bits": 5.1885,
    "text_loss": 5.18426,
    "too_long": 0,
    "drawings": 94,
    "decoding": {"guidance": 2.0, "temperature": 0.7, "seed": 1},
    "reader_note": "nobody reads",
    "copied": {"note": "nobody looked"},
}
GROUPS = {
    "groups": 10,
    "prompts": 94,
    "right": {
        "drawings": 40.04,
        "real images": 71.58,
        "reconstructions": 60.6,
        "drawings of other prompts": 7.45,
    },
    "commonest": "people & body",
    "commonest_right": 25.3,
}


def test_drawings_of_groups():
    plain = drawing_report("val.json", "val", DRAWINGS)
    assert plain.lines == (
        "val.json (val), 95 images, 190 captions",
        "  loss 3.5964   bits per code 5.189   text loss 5.1843",
        "  94 drawings (guidance 2, temperature 0.7, seed 1)",
        "  nobody reads",
    )
    assert plain.footnotes == ("  nobody looked",)
    report = drawing_report("val.json", "val", DRAWINGS | {"groups": GROUPS})
    assert report.lines == plain.lines
    assert report.footnotes == (
        "  of the right group, by their nearest training image (10 groups): drawings 40.0 %, real images 71.6 %, "
        "reconstructions 60.6 %",
        "  floors: drawings of other prompts 7.5 %, the commonest group 'people & body' for every prompt 25.3 %",
        "  nobody looked",
    )
    note = drawing_report("val.json", "val", DRAWINGS | {"groups": {"note": "no groups"}})
    assert note.footnotes == ("  no groups", "  nobody looked")
    right = {"right": 50.0, "by_class": {"cat": 50.0}}
    read = {"reader": "vit", "read": {"drawings": right, "real images": right}, "frechet": {}}
    assert set(report.footnotes) < set(drawing_report("v", "val", DRAWINGS | read | {"groups": GROUPS}).footnotes)


def test_captions_that_were_left_out_are_told():
    report = drawing_report("val.json", "val", DRAWINGS | {"too_long": 1200})
    assert report.lines[2] == "  left out, as longer than data.max_length: 1,200 captions"
