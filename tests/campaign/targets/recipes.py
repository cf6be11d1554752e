"""Recipes and what is set beside them; records of attention; entries of the cache; runs for another engine."""

import os
from pathlib import Path

import torch
from export.conftest import make

import jumok
from campaign.target import Given, Target
from campaign.targets import runs
from jumok import api
from jumok.inspection.details import AttentionDetails, PositionTable
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.runs.job import prepare
from jumok.runs.run import load_recipe

RECIPES = ("dates-transformer", "mnist-vit", "flickr8k-attend", "etth1-forecaster", "nsmc-bert", "emoji-dalle")
SETTINGS = """model.width=256
training.learning_rate=1e-3
data.train={ file = "pairs.tsv", source_column = "en" }
decoding.beam=4
tokenizer.kind="bpe"
data.max_length=100
training.betas=[0.9, 0.98]
"""


def write_recipes(folder: Path) -> None:
    """Write shipped recipes of several tasks."""
    from jumok.config.recipe import shipped_recipes

    for name in RECIPES:
        (folder / f"{name}.toml").write_bytes(shipped_recipes()[name].read_bytes())


def read_recipe(given: Given) -> None:
    """Read a recipe, and check it."""
    load_recipe(given.file)


def write_settings(folder: Path) -> None:
    for number, line in enumerate(SETTINGS.splitlines()):
        (folder / str(number)).write_text(line, encoding="utf-8")


def set_keys(given: Given) -> None:
    """Set what a file says, as --set does; bytes that are no UTF-8 come as the shell hands them over."""
    load_recipe("multi30k-de-en", [os.fsdecode(given.file.read_bytes())])


def write_record(folder: Path) -> None:
    """Write a record with labels, details and positions."""
    torch.manual_seed(1)
    details = AttentionDetails(torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4), torch.randn(3, 8), 0.5)
    weights = torch.rand(2, 3, 5).softmax(dim=-1)
    maps = [AttentionMap("decoder.layers.0.cross", "cross", 0, weights, tuple("abc"), tuple("vwxyz"), None, details)]
    maps.append(
        AttentionMap(
            "encoder.layers.0",
            "encoder",
            0,
            torch.rand(2, 5, 5).softmax(dim=-1),
            tuple("vwxyz"),
            tuple("vwxyz"),
            (1, 5),
        )
    )
    table = PositionTable("places", "learned", "add", torch.randn(3, 2), tuple("abc"))
    jumok.save_record(AttentionRecord(maps, positions=[table]), folder / "record.safetensors")


def read_record(given: Given) -> None:
    """Read a record, and show it."""
    record = jumok.load_record(given.file)
    jumok.show(record)


def write_exported(folder: Path) -> None:
    """Write a run for CTranslate2."""
    make(folder)
    api.export_model(folder / "run", folder / "exported", to="ctranslate2")


def translate_exported(given: Given) -> None:
    """Translate with another engine."""
    jumok.load(given.folder / "exported", jumok.Translator).translate("a b c", beam=1)


def _prepared(folder: Path, cache: Path) -> None:
    """Prepare two recipes with a cache of their own, and take a batch of each."""
    before, os.environ["JUMOK_CACHE"] = os.environ["JUMOK_CACHE"], str(cache)
    try:
        for recipe in (runs.CLASSIFIER, runs.FORECASTER, runs.VIT):
            batches = prepare(load_recipe(recipe), path=None, data=folder).task.batches()
            batches.take()
    finally:
        os.environ["JUMOK_CACHE"] = before


def write_cache(folder: Path) -> None:
    runs.write_data(folder)
    _prepared(folder, folder / "cache")


def use_cache(given: Given) -> None:
    """Use what an earlier run has kept."""
    _prepared(given.folder, given.folder / "cache")


EXPORTED = {
    "exported/run.json": "json",
    "exported/model.bin": "bytes",
    "exported/config.json": "json",
    "exported/*_vocabulary*": "json",
}

TARGETS = [
    Target("recipe", write_recipes, read_recipe, {"*.toml": "toml"}, 800),
    Target("settings", write_settings, set_keys, {"*": "text"}, 800, ("",)),  # a message names the key, or what it is
    Target("record", write_record, read_record, {"record.safetensors": "safetensors"}, 900),
    Target("exported-run", write_exported, translate_exported, EXPORTED, 300, ("/exported",)),
    Target("cache", write_cache, use_cache, {"cache/*/*": "bytes", "cache/*/*.json": "json"}, 600, ("/cache",)),
]  # fmt: skip
