"""A recipe: everything a run depends on, read from TOML or a dict, overridden by single keys, saved with all defaults.

file, shipped name or dict → raw dict → overrides → sections checked by their classes → Recipe → RUN/recipe.toml
"""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

import tomli_w

from jumok.config import DataConfig, DataFile, DecodingConfig, ModelConfig, Section, TokenizerConfig, TrainingConfig
from jumok.errors import ConfigError, did_you_mean
from jumok.reading import DEEPEST, read_toml, toml_of
from jumok.writing import whole_file

LONGEST_SHOWN = 80  # characters of what was given in a message
ALWAYS = ("data", "model", "training")  # sections of every recipe
OPTIONAL = ("tokenizer", "decoding")  # sections of tasks that use them
SECTIONS = ("data", "tokenizer", "model", "training", "decoding")  # in the order of a saved recipe
MAY_CHANGE = (  # when a run is resumed
    "data.loaders",
    "training.save_every",
    "training.evaluate_every",
    "training.log_every",
    "training.probes",
)

RecipeSource = str | Path | Mapping[str, Any]  # a file, the name of a shipped recipe, or the recipe itself
Overrides = Sequence[str] | Mapping[str, Any]  # 'model.width=256'; {"model.width": 256}; {"model": {"width": 256}}
LAST_LINE = "# the end of the recipe"  # half of a file may be good TOML too


class RecipeShape(Protocol):
    """What a task says of its recipes."""

    @property
    def Data(self) -> type[DataConfig[DataFile]]:  # noqa: N802 - the name of a class
        """The class of its [data]."""

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections it uses beside data, model and training."""


@dataclass(frozen=True)
class Recipe:
    """The checked contents of a recipe. A task has [tokenizer] and [decoding] only where it uses them."""

    task: str
    data: DataConfig[DataFile]
    model: ModelConfig
    training: TrainingConfig
    optional: Mapping[str, Section]

    @property
    def tokenizer(self) -> TokenizerConfig:
        """The [tokenizer] of a task that has one."""
        section = self.optional["tokenizer"]
        assert isinstance(section, TokenizerConfig)
        return section

    @property
    def decoding(self) -> DecodingConfig:
        """The [decoding] of a task that has one; the defaults elsewhere."""
        section = self.optional.get("decoding", DecodingConfig())
        assert isinstance(section, DecodingConfig)
        return section

    def to_dict(self) -> dict[str, Any]:
        """Return every key with its value, defaults included."""
        sections = {"data": self.data, "model": self.model, "training": self.training, **self.optional}
        return {"task": self.task} | {name: sections[name].model_dump() for name in SECTIONS if name in sections}

    def save(self, path: Path) -> None:
        """Write the recipe with every default filled in."""
        with whole_file(path, durable=True) as part:  # a kill in the middle must not cost the run
            part.write_text(f"{tomli_w.dumps(self.to_dict())}\n{LAST_LINE}\n", encoding="utf-8")

    def with_sizes(self, **sizes: int) -> "Recipe":
        """Return the recipe with what the model takes from the data filled in and checked: vocabularies, classes."""
        missing = [key for key in sizes if key not in self.model.FILLED_IN or key not in type(self.model).model_fields]
        if missing:
            raise ConfigError(
                f"model '{self.model.name}' has no place for {', '.join(missing)}, which {self.task} fills in: give its Config "
                f"each as a field (int = 0) and name it in FILLED_IN (docs/extend.md)"
            )
        return replace(self, model=type(self.model).parse(self.model.model_dump() | sizes, "model"))


def shipped_recipes() -> dict[str, Path]:
    """Return the recipes inside the package by name."""
    folder = Path(str(resources.files("jumok") / "recipes"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_raw(recipe: RecipeSource, overrides: Overrides = ()) -> dict[str, Any]:
    """Return a recipe that is not checked yet, overrides applied."""
    raw: dict[str, Any] = _plain(recipe) if isinstance(recipe, Mapping) else parse_toml(find_recipe(recipe))
    for key, value in parse_overrides(overrides).items():
        _set(raw, key, value)
    return raw


def parse_overrides(overrides: Overrides) -> dict[str, Any]:
    """Return the value of each dotted key; of a text like 'model.width=256' it is TOML, or text where it is none."""
    if isinstance(overrides, str):
        raise ConfigError(f"overrides = {overrides!r}: give a list of such texts, or a dict")
    found: dict[str, Any] = {}
    if isinstance(overrides, Mapping):
        for key, value in _plain(overrides).items():
            found |= (
                {f"{key}.{inner}": one for inner, one in value.items()} if isinstance(value, dict) else {key: value}
            )
        return found
    for override in overrides:
        key, equals, text = override.partition("=")
        parts = key.strip().split(".")
        if not equals or not all(parts) or len(parts) > DEEPEST:
            given = override if len(override) <= LONGEST_SHOWN else f"{override[:LONGEST_SHOWN]}…"
            raise ConfigError(f"--set {given}: must look like section.key=value, for example model.width=256")
        try:
            found[key.strip()] = toml_of(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[key.strip()] = text.strip()
        except ValueError as error:
            raise ConfigError(f"--set {key} is given what no recipe can hold ({error}); give another value") from None
    return found


def as_options(overrides: Overrides) -> list[str]:
    """Return overrides as `--set` takes them: 'model.width=256'."""
    if not isinstance(overrides, Mapping):
        return list(overrides)
    return [f"{key}={_inline(value)}" for key, value in parse_overrides(overrides).items()]


def _set(raw: dict[str, Any], key: str, value: Any) -> None:
    """Set one dotted key of a raw recipe."""
    *tables, last = key.split(".")
    table = raw
    for part in tables:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise ConfigError(f"{key} cannot be set: {part} is a value, not a table")
    table[last] = value


def parse_toml(path: Path) -> dict[str, Any]:
    """Return the contents of a recipe's file, not yet checked."""
    return read_toml(path, _not_toml)


def _not_toml(place: str, why: str) -> ConfigError:
    return ConfigError(f"{place} is not valid TOML: {why}; mend that place, or copy the file again")


def find_recipe(recipe: str | Path) -> Path:
    """Return the path of a recipe file or of a shipped recipe."""
    path, shipped = Path(recipe), shipped_recipes()
    if path.is_file():
        return path
    if str(recipe) in shipped:
        return shipped[str(recipe)]
    if path.with_name(f"{path.name}.toml").is_file():
        raise ConfigError(f"'{recipe}' is neither a file nor a shipped recipe; did you mean {path}.toml?")
    if path.suffix == ".toml" and (path.parent != Path(".") or path.stem not in shipped):
        raise ConfigError(f"there is no recipe file {path}; jumok list shows the shipped ones")
    raise ConfigError(f"'{recipe}' is neither a file nor a shipped recipe; {did_you_mean(path.stem, shipped)}")


def build_recipe(
    raw: Mapping[str, Any],
    *,
    shape_of: Callable[[str], RecipeShape],
    config_of: Callable[[str], type[ModelConfig]],
) -> Recipe:
    """Return the checked recipe of a raw dict."""
    for key in raw:
        if key not in ("task", *SECTIONS):
            raise ConfigError(f"a recipe has no part '{key}'; {did_you_mean(key, ('task', *SECTIONS))}")
    for name in SECTIONS:
        if not isinstance(raw.get(name, {}), dict):
            raise ConfigError(f"{name} must be a table: write [{name}] on a line of its own, its keys below")
    task = raw.get("task", "translation")
    if not isinstance(task, str):
        raise ConfigError(f"task = {task!r}: must be text in quotes")
    model = raw.get("model", {})
    if not isinstance(model.get("name", ""), str):
        raise ConfigError(f"model.name = {model['name']!r}: must be text in quotes")
    shape = shape_of(task)
    for name in OPTIONAL:
        if name in raw and name not in shape.sections:
            used = ", ".join(f"[{own}]" for own in SECTIONS if own in (*ALWAYS, *shape.sections))
            raise ConfigError(f"[{name}] is not for {task}: take it out; its recipes have {used}")
    classes: dict[str, type[Section]] = {"tokenizer": TokenizerConfig, "decoding": DecodingConfig}
    optional: dict[str, Section] = {
        name: classes[name].parse(raw.get(name, {}), name) for name in OPTIONAL if name in shape.sections
    }
    config = config_of(model.get("name", "transformer")).parse(model, "model")
    tokenizer = optional.get("tokenizer")
    if isinstance(tokenizer, TokenizerConfig):
        config = config.with_tokenizer(tokenizer)
    return Recipe(
        task=task,
        data=shape.Data.parse(raw.get("data", {}), "data"),
        model=config,
        training=TrainingConfig.parse(raw.get("training", {}), "training"),
        optional=optional,
    )


def differences(saved: Recipe, given: Recipe) -> list[str]:
    """Return a line for each key that keeps a run from going on with the given recipe."""
    before, after = _flatten(saved.to_dict()), _flatten(given.to_dict())
    sections = {"data": given.data, "model": given.model}
    sections |= {f"model.{name}": component for name, component in given.model.components.items()}
    filled_in = tuple(
        f"{place}.{key}"
        for place, section in sections.items()
        for key in section.FILLED_IN
        if not getattr(section, key)
    )
    tables = tuple(f"{key}." for key in filled_in)  # the [model] of a component
    lines = []
    for key in dict.fromkeys([*before, *after]):
        if key in MAY_CHANGE or key in filled_in or key.startswith(tables) or before.get(key) == after.get(key):
            continue
        if key == "training.steps" and after[key] > before[key]:
            continue
        lines.append(f"{key}: {before.get(key)!r} in the run, {after.get(key)!r} now")
    return lines


def _plain(value: Any) -> Any:
    """Return a value as TOML would have it: paths are text, tuples lists, a class "module:Class", dicts new ones."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    return str(value) if isinstance(value, Path) else value


def _inline(value: Any) -> str:
    """Return a value as TOML on one line; JSON writes all but tables alike."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key}.")
        elif isinstance(value, list) and value and all(isinstance(inner, dict) for inner in value):
            # [[data.train]]: each table by itself, or nobody finds the change.
            for number, inner in enumerate(value, start=1):
                flat |= _flatten(inner, f"{prefix}{key}[{number}].")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
