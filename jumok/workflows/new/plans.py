"""Sizes, steps and rates that suit what somebody has, from what the shipped recipes have shown: one function per task.

Material, Size → PLANS[task] → Plan
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jumok.config import ImageData, ImageModelConfig
from jumok.runs.run import Run
from jumok.workflows.new.entries import (
    average,
    batch_for,
    data_entries,
    fine_tuning_rate,
    held_out,
    length_for,
    lowercase,
    rounded,
    share_held_out,
    starts_from,
    training_entries,
    vocabulary_for,
)
from jumok.workflows.new.material import Material
from jumok.workflows.new.plan import Entry, Plan


@dataclass(frozen=True)
class Size:
    """How a model is to be sized, or that it starts from an earlier run, whose model and tokenizer it takes."""

    model: str = ""
    preset: str = ""
    earlier: Run | None = None
    codes: Path | None = None  # the run of image codes that a drawer will draw in


# --- translation


def translation(material: Material, size: Size) -> Plan:
    """Return the plan of a translator. Multi30k (29,000 pairs): tiny, 9,600 steps; the paper's base has 4.5 million."""
    pairs, tokens, earlier = material.count, float(material.tokens.sum()), size.earlier
    small = pairs < 100_000
    preset = size.preset or ("tiny" if small else "small")
    batch_tokens = batch_for(tokens, 2048 if small else 4096)
    epochs = 5 if earlier else 40 if small else 20
    steps = rounded(tokens * epochs / batch_tokens, least=300 if earlier else 1000, most=8000 if small else 20_000)
    rate = fine_tuning_rate(earlier, 5e-4, 1e-4) if earlier else 2.5e-3 if small else 1e-3
    data = data_entries(
        material,
        *held_out(material, "pairs"),
        Entry("max_length", length_for(material.tokens, share=0.999, least=64, most=1024), "longer pairs (in tokens) are left out"),
        Entry("max_ratio", 6.0, "as are pairs whose lengths differ by more than this factor: often not translations"),
        *lowercase(earlier),
    )  # fmt: skip
    tokenizer = [
        Entry("kind", "bpe", "byte-level: knows every character of every language"),
        Entry("vocabulary", vocabulary_for(material.characters, 4000 if pairs < 20_000 else 6000 if small else 16_000)),
        Entry("shared", True, "one vocabulary for both languages"),
    ]
    dropout = 0.3 if pairs < 10_000 else 0.2 if pairs < 50_000 else 0.1
    model = [Entry("name", size.model), Entry("preset", preset, "by the number of pairs")]
    if size.model == "transformer":
        model += [
            Entry("dropout", dropout, "more for little data, less for much"),
            Entry("norm_position", "pre", "norm before each part: safer at high learning rates"),
        ]
    training = training_entries(
        steps,
        f"about {max(round(steps * batch_tokens / tokens), 1)} times through the data",
        *([starts_from(earlier)] if earlier else []),
        Entry("batch_tokens", batch_tokens),
        Entry("learning_rate", rate if size.model != "seq2seq" else 1e-3),
        *average(steps),
        monitor="bleu",
        decay=False,
    )
    decoding = [Entry("beam", 5), Entry("length_penalty", 1.0)]
    return make_plan(
        material, size, {"data": data, "tokenizer": tokenizer, "model": model, "training": training, "decoding": decoding},
        title=f"Translation, {pairs:,} pairs",
        chosen=[f"{size.model}, preset {preset}: what {pairs:,} pairs can feed in the time of a laptop", f"{steps:,} steps"],
    )  # fmt: skip


# --- classes of texts


def text_classification(material: Material, size: Size) -> Plan:
    """Return the plan of a classifier of texts.

    SST-2 and NSMC: the recurrent classifier is as good as a BERT from scratch in a fraction of the time (92.5 % in 1.5
    minutes, 91.3 % in 17); one that was pre-trained is better.
    """
    texts, earlier = material.count, size.earlier
    longest = 512 if size.model == "recurrent-classifier" else 256
    if earlier is not None:
        longest = earlier.recipe.model.longest or longest
    length = min(length_for(material.tokens, share=0.99, least=32, most=longest), longest)
    tokens = float(np.minimum(material.tokens, length).sum())
    batch_tokens = batch_for(tokens, 1024 if texts < 5000 else 2048 if texts < 100_000 else 4096)
    epochs = 3 if earlier else 6
    steps = rounded(tokens * epochs / batch_tokens, least=100 if earlier else 300, most=2000 if earlier else 4000)
    rates = {"recurrent-classifier": 2e-3, "bert": 1e-3}
    rate = fine_tuning_rate(earlier, 3e-4, 5e-5) if earlier else rates[size.model]
    data = data_entries(
        material,
        *held_out(material, "texts"),
        Entry("max_length", length, "longer texts (in tokens) are cut"),
        *lowercase(earlier),
    )
    tokenizer = [
        Entry("kind", "bpe", "byte-level: knows every character of every language"),
        Entry("vocabulary", vocabulary_for(material.characters, 4000 if texts < 20_000 else 8000)),
    ]
    model = [Entry("name", size.model), Entry("preset", size.preset or "tiny")]
    if size.model == "bert":
        model += [Entry("norm_position", "pre"), Entry("pooling", "mean"), Entry("max_positions", length)]
    training = training_entries(
        steps,
        f"about {max(round(steps * batch_tokens / tokens), 1)} times through the data",
        *([starts_from(earlier)] if earlier else []),
        Entry("batch_tokens", batch_tokens),
        Entry("learning_rate", rate, "small, so that what it knows is not lost" if earlier else ""),
        Entry("label_smoothing", 0.0),
        *average(steps),
        monitor="accuracy",
    )
    chosen = {
        "recurrent-classifier": "recurrent-classifier: as accurate as a BERT from scratch in a fraction of the time; "
        "--model bert has attention to look at, --from RUN starts from a model that was pre-trained",
        "bert": "bert: attention to look at; from scratch it takes longer than --model recurrent-classifier",
    }
    return make_plan(
        material, size, {"data": data, "tokenizer": tokenizer, "model": model, "training": training},
        title=f"The class of a text, {texts:,} texts, {len(material.classes):,} classes",
        chosen=[chosen.get(size.model, ""), f"{steps:,} steps; texts are cut at {length} tokens"],
    )  # fmt: skip


# --- images


def image_classification(material: Material, size: Size) -> Plan:
    """Return the plan of a classifier of images, as MNIST, CIFAR-10 and shapes were learnt; few images need steps, too:

    120 shapes of 64 pixels gave 20 % right after 200 steps and 61 % after 800, where chance is 20 %.
    """
    images, earlier = material.count, size.earlier
    side = 64 if material.side > 48 else max(material.side // 4, 2) * 4  # whole patches of 4 pixels
    colour = material.channels == 3
    batch_size = batch_for(images, 64 if images < 10_000 else 128)
    steps = rounded(
        images * (5 if earlier else 15) / batch_size, least=200 if earlier else 800, most=1000 if earlier else 5000
    )
    entries = [
        Entry("size", side, "pixels a side: images are cut square and resized"),
        Entry("channels", material.channels),
    ]
    if earlier is not None:
        entries = _as_the_earlier_images(earlier)
    augment = [
        Entry("crop", side // 8, "so many pixels to and fro"),
        *([Entry("flip", True, "mirrored half of the time; not for letters, digits or what has a left and a right")] if colour else []),
    ]  # fmt: skip
    preset = size.preset or ("digits" if side <= 32 and images < 20_000 else "small-images")
    model = [Entry("name", size.model), Entry("preset", preset)]
    if size.model == "vit" and preset == "small-images" and not size.preset:
        sizes = {"width": 96, "feedforward": 192, "heads": 4, "pool": "mean"}
        model += [Entry(key, value, "as the recipe cifar10-vit") for key, value in sizes.items()]
    if size.model in ("vit", "mixer") and side == 64 and not size.preset:
        model += [Entry("patch_size", 8, "64 patches of an image")]
    rate = fine_tuning_rate(earlier, 5e-4, 1e-4) if earlier else 1e-2 if size.model == "cnn" else 2e-3
    optimizer = "adamw" if earlier else "muon"
    training = training_entries(
        steps,
        f"about {max(round(steps * batch_size / images), 1)} times through the images",
        *([starts_from(earlier)] if earlier else []),
        Entry("batch_size", batch_size, "images"),
        Entry("optimizer", optimizer, "" if earlier else "orthogonal steps for the layers' matrices: learns in fewer"),
        Entry("learning_rate", rate),
        Entry("weight_decay", 0.05),
        Entry("label_smoothing", 0.1),
        *average(steps),
        monitor="accuracy",
        decay=False,
    )
    chosen = {
        "vit": f"vit, images of {side} × {side} pixels: look shows where it looked; --model cnn is often more accurate, "
        "and has no attention",
    }
    return make_plan(
        material,
        size,
        {"data": data_entries(material, *held_out(material, "images", most=5000), *entries), "data.augment": augment,
         "model": model, "training": training},
        title=f"The class of an image, {images:,} images, {len(material.classes):,} classes",
        chosen=[chosen.get(size.model, f"{size.model}, images of {side} × {side} pixels"), f"{steps:,} steps"],
    )  # fmt: skip


def _as_the_earlier_images(earlier: Run) -> list[Entry]:
    """Return how images must be prepared for the model of an earlier run."""
    data, model = earlier.recipe.data, earlier.recipe.model
    assert isinstance(data, ImageData)
    assert isinstance(model, ImageModelConfig)
    prepared = {"size": model.image_size, "channels": model.channels, "mean": data.mean, "deviation": data.deviation}
    return [Entry(key, value, "as the earlier run") for key, value in prepared.items() if value]


# --- running text


def language_modeling(material: Material, size: Size) -> Plan:
    """Return the plan of a GPT. Tiny Shakespeare, a million characters: 2.51 bits each by characters, 2.20 by subwords."""
    earlier = size.earlier
    by_characters = material.characters < 300_000 and material.alphabet < 3000
    tokens = float(material.characters) if by_characters and not earlier else float(material.tokens.sum())
    batch_tokens = batch_for(tokens, 1024 if by_characters else 2048)
    steps = rounded(tokens * (3 if earlier else 10) / batch_tokens, least=300, most=2000 if tokens < 5e6 else 6000)
    if by_characters:
        cut = [Entry("kind", "character", "a short text is learnt letter by letter; longer ones by subwords (bpe)")]
        cut += [Entry("vocabulary", max(material.alphabet + 50, 100)), Entry("min_frequency", 1)]
    else:
        cut = [Entry("kind", "bpe", "byte-level: knows every character of every language")]
        cut += [Entry("vocabulary", 1000 if tokens < 1e6 else 4000 if tokens < 1e7 else 8000)]
    model = [
        Entry("name", size.model),
        Entry("preset", size.preset or "tiny"),
        Entry("window", 128, "tokens it looks back on: more is slower"),
        Entry("dropout", 0.1, "more where training loss falls and val loss rises"),
    ]
    training = training_entries(
        steps,
        f"about {max(round(steps * batch_tokens / tokens), 1)} times through the text",
        *([starts_from(earlier)] if earlier else []),
        Entry("batch_tokens", batch_tokens),
        Entry("learning_rate", fine_tuning_rate(earlier, 5e-4, 5e-5) if earlier else 3e-3 if by_characters else 2e-3),
        Entry("label_smoothing", 0.0),
    )
    decoding = [Entry("sample", True), Entry("temperature", 0.8, "below 1 safer, above 1 bolder")]
    unit = "characters" if by_characters else "subwords"
    return make_plan(
        material, size,
        {"data": data_entries(material, *share_held_out(material)), "tokenizer": cut, "model": model, "training": training,
         "decoding": decoding},
        title=f"What comes next in a text of {material.characters:,} characters",
        chosen=[f"gpt, preset {size.preset or 'tiny'}, which reads {unit}", f"{steps:,} steps"],
    )  # fmt: skip


def masked_language_modeling(material: Material, size: Size) -> Plan:
    """Return the plan of a BERT that learns by filling in: as NSMC's and SST-2's reviews were learnt."""
    earlier, tokens = size.earlier, float(material.tokens.sum())
    large = tokens > 2e6
    batch_tokens = batch_for(tokens, 4096 if large else 2048)
    steps = rounded(tokens * (3 if earlier else 10) / batch_tokens, least=300, most=2000 if earlier else 4000)
    longest = 128
    plain = not isinstance(material.files["train"], dict)
    more = [
        *([Entry("documents", material.documents, "what is read as one text: file, paragraph or line")] if plain else []),
        *share_held_out(material),
        Entry("whole_words", True, "all tokens of a word are masked together"),
        *lowercase(earlier),
    ]  # fmt: skip
    tokenizer = [
        Entry("kind", "bpe"),
        Entry("vocabulary", vocabulary_for(material.characters, 4000 if tokens < 1e6 else 8000)),
    ]
    preset = size.preset or ("small" if large else "tiny")
    model = [
        Entry("name", size.model),
        Entry("preset", preset),
        Entry("norm_position", "pre"),
        Entry("max_positions", longest, "the longest text, in tokens"),
        Entry("dropout", 0.0 if large else 0.1),
    ]
    training = training_entries(
        steps,
        f"about {max(round(steps * batch_tokens / tokens), 1)} times through the text",
        *([starts_from(earlier)] if earlier else []),
        Entry("batch_tokens", batch_tokens),
        Entry("learning_rate", fine_tuning_rate(earlier, 5e-4, 5e-5) if earlier else 1.5e-3 if large else 2e-3),
        Entry("label_smoothing", 0.0),
    )
    return make_plan(
        material, size, {"data": data_entries(material, *more), "tokenizer": tokenizer, "model": model, "training": training},
        title=f"Masked tokens of a text of {material.characters:,} characters",
        chosen=[f"bert, preset {preset}; jumok new TABLE --from its run makes a classifier of it", f"{steps:,} steps"],
    )  # fmt: skip


def make_plan(
    material: Material, size: Size, sections: dict[str, list[Entry]], *, title: str, chosen: list[str]
) -> Plan:
    """Return the plan; where it starts from an earlier run, model and tokenizer are left to that."""
    if size.earlier is not None:
        sections = {name: entries for name, entries in sections.items() if name not in ("tokenizer", "model")}
        chosen[0] = f"model and tokenizer are those of {size.earlier.folder} ({size.earlier.recipe.model.name})"
    return Plan(material.task, title, sections, chosen)


PLANS: dict[str, Callable[[Material, Size], Plan]] = {
    "translation": translation,
    "text-classification": text_classification,
    "image-classification": image_classification,
    "language-modeling": language_modeling,
    "masked-language-modeling": masked_language_modeling,
}
