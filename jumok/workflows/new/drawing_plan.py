"""Sizes, steps and rates of image codes and of a drawer, from what the recipes of shapes, MNIST and CIFAR-10 have shown.

Material (images, captions), Size → Plan
"""

import math

from jumok.workflows.new.caption_plan import tokenizer_entries
from jumok.workflows.new.entries import batch_for, data_entries, held_out, length_for, rounded, training_entries
from jumok.workflows.new.material import Material
from jumok.workflows.new.plan import Entry, Plan
from jumok.workflows.new.plans import Size, make_plan

LARGEST, SMALLEST = 64, 16  # pixels a side
CELLS = 8  # rows and columns of codes


def image_codes(material: Material, size: Size) -> Plan:
    """Return the plan of image codes: about 8 × 8 of an image, whose pixels are a multiple of 8."""
    images = material.count
    side = min(max(-(-material.side // CELLS) * CELLS, SMALLEST), LARGEST)
    halvings = round(math.log2(side / CELLS))
    rows = side // 2**halvings
    batch_size = batch_for(images, 32)
    steps = rounded(images * 10 / batch_size, least=600, most=4000)
    data = data_entries(
        material,
        *held_out(material, "images"),
        Entry("size", side, "pixels a side: images are squeezed square"),
        Entry("channels", material.channels),
    )
    model = [
        Entry("name", size.model),
        Entry("preset", size.preset) if size.preset
        else Entry("halvings", halvings, f"{rows} × {rows} codes: fewer are easier to draw, more tell finer details"),
        Entry("levels", [8, 6, 5], "240 codes"),
    ]  # fmt: skip
    training = training_entries(
        steps,
        f"about {max(round(steps * batch_size / images), 1)} times through the images",
        Entry("batch_size", batch_size, "images"),
        *_muon(),
        monitor="psnr",
        decay=False,
    )
    return make_plan(
        material,
        size,
        {"data": data, "model": model, "training": training},
        title=f"Image codes, {images:,} images",
        chosen=[f"{size.model}, {rows} × {rows} codes of {side} × {side} pixels", f"{steps:,} steps"],
    )


def text_to_image(material: Material, size: Size) -> Plan:
    """Return the plan of a drawer in the codes of another recipe's run."""
    captions = material.captions
    preset = size.preset or ("tiny" if captions < 50_000 else "small")
    batch_size = batch_for(captions, 64)
    steps = rounded(captions * 15 / batch_size, least=1000, most=8000)
    data = data_entries(
        material,
        *held_out(material, "images"),
        Entry("lowercase", True, "so that Dog and dog are one word"),
        Entry("max_length", length_for(material.tokens, share=0.999, least=16, most=128), "longer captions (in tokens) are left out"),
    )  # fmt: skip
    model = [
        Entry("name", size.model),
        Entry("preset", preset),
        Entry("codes", size.codes, "the run of image codes that it draws in: train it first"),
    ]
    training = training_entries(
        steps,
        f"about {max(round(steps * batch_size / captions), 1)} times through the captions",
        Entry("batch_size", batch_size, "captions"),
        *_muon(),
        Entry("weight_decay", 0.05),
        monitor="loss",
        decay=False,
    )
    decoding = [
        Entry("sample", True),
        Entry("guidance", 2.0, "how much the text counts; 1 = as learnt"),
        Entry("temperature", 0.7, "lower is safer, higher is bolder"),
    ]
    return make_plan(
        material,
        size,
        {"data": data, "tokenizer": tokenizer_entries(material), "model": model, "training": training, "decoding": decoding},
        title=f"Drawing, {material.count:,} images, {captions:,} captions",
        chosen=[f"{size.model}, preset {preset}, in codes of a recipe of their own", f"{steps:,} steps"],
    )  # fmt: skip


def _muon() -> list[Entry]:
    return [
        Entry("optimizer", "muon", "orthogonal steps for the layers' matrices: learns in fewer"),
        Entry("learning_rate", 4e-3),
    ]
