"""Folders of runs, one for each kind of model, and what is kept of them: damaged, then loaded and asked something.

A run here has learnt for two steps: what it answers does not matter, that it answers or refuses does.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import jumok
from campaign.commands import command
from campaign.target import Given, Target
from jumok import api

BRIEF = {"steps": 2, "warmup": 1, "evaluate_every": 2, "save_every": 2, "workers": 1, "probes": 1}
TEXTS = BRIEF | {"batch_tokens": 200, "evaluate_sentences": 2}
IMAGES = BRIEF | {"batch_size": 7}
CAPTIONS = {"file": "captions.json", "images": "photos.npz"}
WORDS = {"kind": "word", "min_frequency": 1}
SMALL = {"layers": 1, "width": 8, "heads": 2, "feedforward": 11}

TRANSLATOR = {
    "task": "translation",
    "data": {"set": "copy", "size": 60, "max_length": 20},
    "tokenizer": WORDS,
    "model": {"name": "transformer", **SMALL},
    "training": TEXTS,
    "decoding": {"beam": 2, "max_length": 6},
}
SEQ2SEQ = TRANSLATOR | {"tokenizer": {"kind": "bpe", "vocabulary": 280}, "model": {"name": "seq2seq", "width": 8}}
WRITER = {
    "task": "language-modeling",
    "data": {"train": "text.txt", "documents": "line", "hold_out": 0.3},
    "tokenizer": {"kind": "character", "vocabulary": 90},
    "model": {"name": "gpt", **SMALL, "window": 16},
    "training": TEXTS,
    "decoding": {"max_length": 6},
}
FILLER = {key: value for key, value in WRITER.items() if key != "decoding"} | {
    "task": "masked-language-modeling",
    "tokenizer": {"kind": "wordpiece", "vocabulary": 90},
    "model": {"name": "bert", **SMALL, "max_positions": 40},
}
CLASSIFIER = {
    "task": "text-classification",
    "data": {"train": {"file": "labels.tsv", "text": "text", "label": "label"}, "max_length": 16},
    "tokenizer": WORDS,
    "model": {"name": "bert", **SMALL, "max_positions": 16},
    "training": TEXTS,
}
VIT = {
    "task": "image-classification",
    "data": {"train": "photos.npz", "hold_out": 5, "size": 16, "loaders": 0},
    "model": {"name": "vit", **SMALL, "patch_size": 8},
    "training": IMAGES,
}
CNN = VIT | {"model": {"name": "cnn", "width": 8, "stages": 1, "blocks": 1}}
CAPTIONER = {
    "task": "image-captioning",
    "data": {"train": CAPTIONS, "hold_out": 5, "size": 16, "max_length": 80, "loaders": 0},
    "tokenizer": WORDS,
    "model": {"name": "captioner", "encoder": {"name": "cnn", "width": 8, "stages": 1, "blocks": 1}, "width": 8, "embedding_width": 4},
    "training": IMAGES | {"evaluate_sentences": 2},
    "decoding": {"beam": 1, "max_length": 5},
}  # fmt: skip
CODES = {
    "task": "image-codes",
    "data": {"train": "photos.npz", "hold_out": 5, "size": 16, "loaders": 0},
    "model": {"name": "image-codes", "halvings": 3, "width": 8, "most_width": 8, "levels": [5, 4, 3]},
    "training": IMAGES | {"probes": 0},
}
DRAWER = {
    "task": "text-to-image",
    "data": {"train": CAPTIONS, "hold_out": 5, "max_length": 60, "loaders": 0},
    "tokenizer": WORDS,
    "model": {"name": "dalle", **SMALL},
    "training": IMAGES | {"evaluate_sentences": 2, "probes": 0},
}
FORECASTER = {
    "task": "forecasting",
    "data": {"train": "table.csv", "date": "day", "targets": ["load"], "look_back": 8, "horizon": 4},
    "model": {"name": "forecaster", **SMALL, "patch": 4, "stride": 4},
    "training": IMAGES,
}

RUN = {
    "run/run.json": "json",
    "run/recipe.toml": "toml",
    "run/[st]*.json": "json",  # tokenizers: source, target, text
    "run/step-2/model.safetensors": "safetensors",
}
WITHOUT_TEXT = {glob: kind for glob, kind in RUN.items() if "[st]" not in glob}


def write_image(folder: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "image.png")


def write_data(folder: Path) -> None:
    """Write what the recipes above are trained on: lines of text, texts with classes, a series."""
    lines = [f"the {thing} was {word} on day {day}" for day, (thing, word) in enumerate(PHRASES * 3)]
    (folder / "text.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rows = [f"{line}\t{'good' if 'fine' in line else 'bad'}" for line in lines]
    (folder / "labels.tsv").write_text("\n".join(["text\tlabel", *rows, ""]), encoding="utf-8")
    days = np.datetime64("2024-01-01") + np.arange(60)
    rows = [f"{day},{5 + np.sin(number):.3f},{number % 7}" for number, day in enumerate(days)]
    (folder / "table.csv").write_text("\n".join(["day,load,weekday", *rows, ""]), encoding="utf-8")
    write_image(folder)
    photos = np.random.default_rng(2).integers(0, 256, (24, 16, 16, 3), dtype=np.uint8)
    np.savez(folder / "photos.npz", x=photos, y=np.arange(24) % 3)
    (folder / "captions.json").write_text(json.dumps(lines[:24]), encoding="utf-8")


PHRASES = [(thing, word) for thing in ("film", "play", "song") for word in ("fine", "poor", "so so")]


def trained(recipe: dict[str, Any], name: str = "run", **changes: Any) -> Callable[[Path], None]:
    """Return what writes the run of a recipe into a folder, beside the data."""

    def make(folder: Path) -> None:
        write_data(folder)
        jumok.train(recipe, data=folder, out=folder / name, overrides=changes, quiet=True)

    return make


def make_drawer(folder: Path) -> None:
    """Write the run of image codes, and of a drawer in these codes that names them from its own folder on."""
    trained(CODES, "codes")(folder)
    jumok.train(DRAWER, data=folder, out=folder / "run", overrides={"model.codes": "codes"}, quiet=True)


def translate(given: Given) -> None:
    jumok.load(given.folder / "run", jumok.Translator).translate("a b c")


def write_on(given: Given) -> None:
    jumok.load(given.folder / "run", jumok.Writer).generate("the film")


def fill(given: Given) -> None:
    jumok.load(given.folder / "run", jumok.Filler).fill("the [MASK] was fine")


def classify(given: Given) -> None:
    jumok.load(given.folder / "run", jumok.TextClassifier).classify("the film was fine")


def classify_image(given: Given) -> None:
    jumok.load(given.folder / "run", jumok.ImageClassifier).classify(given.folder / "image.png")


def describe(given: Given) -> None:
    jumok.load(given.folder / "run", jumok.CaptionWriter).caption(given.folder / "image.png")


def draw(given: Given) -> None:
    jumok.load(given.folder / "run", jumok.Drawer).draw("the film was fine")


def recode(given: Given) -> None:
    jumok.load(given.folder / "run", jumok.CodePredictor).recode(given.folder / "image.png")


def forecast(given: Given) -> None:
    jumok.load(given.folder / "run", jumok.SeriesForecaster).forecast(given.folder / "table.csv")


def go_on(given: Given) -> None:
    """Train another step."""
    jumok.train(TRANSLATOR, out=given.folder / "run", overrides={"training.steps": 3}, resume=True, quiet=True)


def make_stopped(folder: Path) -> None:
    """Write a run of two checkpoints."""
    trained(TRANSLATOR, **{"training.save_every": 1})(folder)


def show_film(given: Given) -> None:
    """Show the film in the terminal and as a page."""
    command("look", given.folder / "run", "--film")
    api.make_film_page(api.open_film(given.folder / "run"), name="film")


RESUMED = {
    "run/step-2/training.json": "json",
    "run/step-2/training.safetensors": "safetensors",
    "run/step-2/model.safetensors": "safetensors",
    "run/metrics.jsonl": "jsonl",
    "run/run.json": "json",
    "run/recipe.toml": "toml",
    "run/source.json": "json",
    "run/film/*": "safetensors",
}
FILM = {"run/film/*.safetensors": "safetensors", "run/metrics.jsonl": "jsonl"}
# What may stand for the file: the run's folder, a part of its recipe, and weights that no file need be blamed for.
IN_RECIPE = ("[data]", "[model]", "data.", "model.", "training.", "decoding.")
OF_WEIGHTS = ("its weights are damaged", "the gradient's norm", "that are no attention weights")
IN_RUN = ("/run", *IN_RECIPE, *OF_WEIGHTS)

TARGETS = [
    Target("run-transformer", trained(TRANSLATOR), translate, RUN, 1300, IN_RUN),
    Target("run-seq2seq", trained(SEQ2SEQ), translate, RUN, 500, IN_RUN),
    Target("run-gpt", trained(WRITER), write_on, RUN, 400, IN_RUN),
    Target("run-bert", trained(FILLER), fill, RUN, 400, IN_RUN),
    Target("run-text-classifier", trained(CLASSIFIER), classify, RUN, 400, IN_RUN),
    Target("run-vit", trained(VIT), classify_image, WITHOUT_TEXT, 300, IN_RUN),
    Target("run-cnn", trained(CNN), classify_image, WITHOUT_TEXT, 300, IN_RUN),
    Target("run-captioner", trained(CAPTIONER), describe, RUN, 300, IN_RUN),
    Target("run-codes", trained(CODES), recode, WITHOUT_TEXT, 300, IN_RUN),
    Target("run-drawer", make_drawer, draw, RUN | {"codes/run.json": "json", "codes/recipe.toml": "toml", "codes/best/model.safetensors": "safetensors"}, 300, (*IN_RUN, "codes")),
    Target("run-forecaster", trained(FORECASTER), forecast, WITHOUT_TEXT, 400, IN_RUN),
    Target("resume", make_stopped, go_on, RESUMED, 1200, IN_RUN),
    Target("film", trained(TRANSLATOR, **{"training.evaluate_every": 1}), show_film, FILM, 800, IN_RUN),
    Target("film-captioner", trained(CAPTIONER), show_film, FILM, 300, IN_RUN),
]  # fmt: skip
