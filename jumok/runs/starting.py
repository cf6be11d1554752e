"""The recipe of a run that starts from another (training.init): what it leaves out is taken from there.

recipe → raw → [tokenizer], and [model] without what the data fills in, of the earlier run, below the keys that are given
"""

from collections.abc import Mapping
from typing import Any

from jumok.catalogue import task_class
from jumok.config.recipe import Overrides, Recipe, RecipeSource, find_recipe, read_raw
from jumok.runs.run import Run, check_recipe, whence


def read_recipe(recipe: RecipeSource, overrides: Overrides = (), *, run: Run | None = None) -> Recipe:
    """Return a recipe ready for training; run is the one that goes on, which has its own answer to what is left out."""
    raw, (name, code) = read_raw(recipe, overrides), whence(recipe)
    training = raw.get("training", {})
    init = training.get("init", "") if isinstance(training, dict) else ""
    if init and isinstance(init, str):
        training["init"] = init = _from_its_folder(init, recipe)
        earlier = (run or Run.open(init)).recipe
        _inherit(raw, earlier, _tokenizer_names(raw.get("task", "translation"), code))
    return check_recipe(raw, name, code)


def _from_its_folder(init: str, recipe: RecipeSource) -> str:
    """Return the folder of an earlier run: from the recipe's folder on, as its data, or from here."""
    if isinstance(recipe, Mapping):
        return init
    beside = find_recipe(recipe).parent / init
    return str(beside) if Run.exists(beside) else init


def _inherit(raw: dict[str, Any], earlier: Recipe, tokenizers: set[str]) -> None:
    """Put what an earlier run says of model and tokenizer below what a raw recipe says itself."""
    model = raw.get("model", {})
    if isinstance(model, dict) and model.get("name", earlier.model.name) == earlier.model.name:
        config = earlier.model
        preset = config.PRESETS.get(model.get("preset", ""), {})
        own = {*config.FILLED_IN, *config.FRESH_ONLY, *preset, "preset"}
        raw["model"] = {key: value for key, value in config.model_dump().items() if key not in own} | model
    tokenizer = raw.get("tokenizer", {})
    if isinstance(tokenizer, dict) and tokenizers and tokenizers == _tokenizer_names(earlier.task):
        raw["tokenizer"] = earlier.tokenizer.model_dump() | tokenizer


def _tokenizer_names(task: Any, code: Any = ()) -> set[str]:
    return set(task_class(task, code).tokenizer_names) if isinstance(task, str) else set()
