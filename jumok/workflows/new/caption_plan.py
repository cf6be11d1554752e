"""Sizes, steps and rates of a captioner, from what the recipes of Flickr8k and shapes have shown.

Material (images and captions), Size → Plan
"""

import importlib.util

from jumok.runs.components import PRETRAINED
from jumok.runs.run import Run
from jumok.workflows.new.entries import (
    average,
    batch_for,
    data_entries,
    held_out,
    length_for,
    rounded,
    starts_from,
    training_entries,
    vocabulary_for,
)
from jumok.workflows.new.material import Material
from jumok.workflows.new.plan import Entry, Plan
from jumok.workflows.new.plans import Size, make_plan

ENCODER = "efficientnet-lite0"
SMALL = 64  # pixels a side for a CNN that is trained along
BY_WORDS = 0.8  # share of ASCII from which captions are cut into words


def image_captioning(material: Material, size: Size) -> Plan:
    """Return the plan of a captioner. Flickr8k (6,000 images, 30,000 captions): a frozen Lite0, a dozen epochs."""
    images, captions, earlier = material.count, material.captions, size.earlier
    pretrained = importlib.util.find_spec(PRETRAINED[ENCODER].package) is not None
    preset = size.preset or "attend"
    batch_size = batch_for(captions, 64 if captions < 10_000 else 128)
    steps = rounded(captions * (3 if earlier else 12) / batch_size, least=200 if earlier else 600, most=4000)
    side = min(material.side, PRETRAINED[ENCODER].size) if pretrained else SMALL
    data = data_entries(
        material,
        *held_out(material, "images"),
        *(_as_the_earlier(earlier) if earlier else _prepared(side)),
        Entry("max_length", length_for(material.tokens, share=0.999, least=32, most=128), "longer captions (in tokens) are left out"),
    )  # fmt: skip
    tokenizer = tokenizer_entries(material)
    model = [
        Entry("name", size.model),
        Entry("preset", preset, "attend looks at the image before every word, tell does not; or transformer"),
        Entry("encoder", ENCODER, "trained on ImageNet; what it sees is computed once for each image")
        if pretrained
        else Entry("encoder", "cnn", "trained along; pip install 'jumok[vision]' brings a pretrained one, which sees far more"),
    ]  # fmt: skip
    if not size.preset:
        model += [Entry("width", 256 if images < 5000 else 512), Entry("dropout", 0.5, "more for little data")]
    augment = [] if pretrained or earlier else [Entry("crop", SMALL // 16, "so many pixels to and fro")]
    training = training_entries(
        steps,
        f"about {max(round(steps * batch_size / captions), 1)} times through the captions",
        *([starts_from(earlier)] if earlier else []),
        Entry("batch_size", batch_size, "captions"),
        Entry("learning_rate", 2e-4 if earlier else 1e-3),
        Entry("label_smoothing", 0.1),
        *average(steps),
        monitor="cider_d",
    )
    encoder = ENCODER if pretrained else "cnn"
    return make_plan(
        material, size,
        {"data": data, "data.augment": augment, "tokenizer": tokenizer, "model": model, "training": training,
         "decoding": [Entry("beam", 5)]},
        title=f"Captions, {images:,} images, {captions:,} captions",
        chosen=[f"{size.model}, preset {preset}, encoder {encoder}, images of {side} × {side} pixels", f"{steps:,} steps"],
    )  # fmt: skip


def tokenizer_entries(material: Material) -> list[Entry]:
    """Return the entries of [tokenizer] for captions: words, or subwords where letters are of many scripts."""
    if material.ascii >= BY_WORDS:
        return [
            Entry("kind", "word"),
            Entry("vocabulary", 8000, "the commonest words"),
            Entry("min_frequency", 5 if material.captions >= 20_000 else 2, "rarer words are not said"),
        ]
    return [
        Entry("kind", "bpe", "byte-level: knows every character of every language"),
        Entry("vocabulary", vocabulary_for(material.characters, 4000)),
    ]


def _prepared(side: int) -> list[Entry]:
    return [
        Entry("lowercase", True, "so that Dog and dog are one word"),
        Entry("punctuation", False, "marks around words are dropped"),
        Entry("size", side, "pixels a side: images are squeezed square"),
    ]


def _as_the_earlier(earlier: Run) -> list[Entry]:
    """Return how captions and images must be prepared for the model of an earlier run."""
    data = earlier.recipe.data.model_dump()
    keys = ("lowercase", "punctuation", "size", "channels", "fit", "mean", "deviation")
    return [Entry(key, data[key], "as the earlier run") for key in keys]
