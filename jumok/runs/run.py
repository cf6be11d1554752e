"""A run's folder: recipe, tokenizers, weights and log together; jumok.load needs nothing else.

RUN/run.json (format, data folders) · recipe.toml · one .json per tokenizer · metrics.jsonl · last, best → step-N/
"""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jumok import __version__
from jumok.catalogue import check_model_fits, code_folders, config_class, task_class
from jumok.config.recipe import (
    LAST_LINE,
    Overrides,
    Recipe,
    RecipeSource,
    build_recipe,
    find_recipe,
    parse_toml,
    read_raw,
)
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError, RunError
from jumok.json_text import json_text
from jumok.processes import kept_from_workers
from jumok.reading import check_entries, read_object, read_text
from jumok.runs.formats import FORMAT, READABLE, upgrade_recipe
from jumok.writing import ANOTHER_OUT, Draft, explained, put_on_disk, whole_file

FACTS = {  # what run.json says, and the kind of each entry
    "format": int,
    "tokenizers": list[str],
    "recipe_ends": bool,
    "data_folders": list[str],
    "code_folders": list[str],
    "workers": int,
    "threads": int,
    "engine": str,
    "exported": str,
    "limit": int,
    "parameters": int,
}
MOST_PROCESSES = 4096  # that a run may have been shared among


@dataclass(frozen=True)
class Run:
    """An opened run folder."""

    folder: Path
    recipe: Recipe
    facts: dict[str, Any]

    @classmethod
    def create(
        cls, folder: Path, recipe: Recipe, *, tokenizers: Mapping[str, Tokenizer], facts: dict[str, Any]
    ) -> "Run":
        """Write the folder of a new run; where that fails, an OSError, nothing of it is left."""
        facts = {"format": FORMAT, "jumok": __version__, "tokenizers": list(tokenizers), "recipe_ends": True, **facts}
        if own := code_folders(recipe.task, recipe.model.name):
            facts["code_folders"] = own  # of a task or model of the user's own
        files = [*(f"{name}.json" for name in tokenizers), "recipe.toml", "metrics.jsonl", "run.json"]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, tokenizer in tokenizers.items():
                tokenizer.save(folder / f"{name}.json")
            recipe.save(folder / "recipe.toml")
            (folder / "metrics.jsonl").touch()
            put_on_disk(*(folder / name for name in files[:-1]))
            with whole_file(folder / "run.json", durable=True) as part:  # last: a folder that has it is whole
                part.write_text(json_text(facts, indent=1), encoding="utf-8")
        except OSError:
            for name in files:
                with suppress(OSError):
                    (folder / name).unlink()  # half of a run would stand in the way of the next
            raise
        return cls(folder, recipe, facts)

    @classmethod
    def open(cls, folder: str | Path) -> "Run":
        """Open the folder of a run that exists."""
        folder = Path(folder)
        if not folder.is_dir():
            raise RunError(f"there is no run folder {folder}; jumok train RECIPE --out {folder} makes one")
        if not (folder / "run.json").exists():
            raise RunError(f"{folder} is not a run: it has no run.json; jumok train writes it")
        facts = read_object(folder / "run.json", _damaged, {"format": int | str}, needed=["format"])
        version = facts["format"]
        if version not in READABLE:
            raise RunError(
                f"{folder} has run format {version}, this jumok ({__version__}) reads formats "
                f"{' and '.join(map(str, READABLE))}; use a matching version of jumok"
            )
        try:
            _check_facts(facts)
        except ValueError as error:
            raise _damaged(str(folder / "run.json"), str(error)) from None
        if not (folder / "recipe.toml").is_file():
            raise RunError(f"{folder / 'recipe.toml'} is missing; copy the run again, or train it anew")
        if facts.get("recipe_ends") and LAST_LINE not in read_text(folder / "recipe.toml", _damaged):
            raise RunError(f"{folder / 'recipe.toml'} was cut off: its last line is missing; copy the run again")
        raw = parse_toml(folder / "recipe.toml")
        code = [*map(Path, facts.get("code_folders", [])), Path.cwd()]
        return cls(folder, check_recipe(raw if version == FORMAT else upgrade_recipe(raw), "recipe.toml", code), facts)

    @property
    def format(self) -> int:
        """The format that the folder is written in."""
        return int(self.facts["format"])

    @staticmethod
    def exists(folder: Path) -> bool:
        """Return whether a run has begun in the folder."""
        return (folder / "run.json").exists()

    @property
    def tokenizers(self) -> dict[str, Tokenizer]:
        """The run's tokenizers by name."""
        names = self.facts.get("tokenizers", ["source", "target"])  # runs of the first days were all translators
        return _Tokenizers(self.folder, {name: Tokenizer.load(self.folder / f"{name}.json") for name in names})

    @property
    def data_folders(self) -> list[Path]:
        """Where the run's data files were looked for; then where JUMOK_DATA says they are now."""
        folders = [Path(folder) for folder in self.facts["data_folders"]]
        if moved := os.environ.get("JUMOK_DATA"):
            folders += [Path(moved) / self.recipe.data.folder, Path(moved)]
        return folders


def _check_facts(facts: Mapping[str, Any]) -> None:
    """Raise a ValueError where entries of run.json are missing or of another kind."""
    with_engine = ["exported", "limit", "parameters"] if facts.get("engine") else []
    with_workers = ["threads"] if "workers" in facts else []
    check_entries(facts, FACTS, needed=["data_folders", *with_engine, *with_workers])
    for name in ("workers", "threads"):
        if not 1 <= facts.get(name, 1) <= MOST_PROCESSES:
            raise ValueError(f"'{name}' is {facts[name]}; a number from 1 to {MOST_PROCESSES} is needed")


class _Tokenizers(dict[str, Tokenizer]):
    """Tokenizers by name; one that a task asks for and run.json does not name is told."""

    def __init__(self, folder: Path, found: Mapping[str, Tokenizer]) -> None:
        super().__init__(found)
        self.folder = folder

    def __missing__(self, name: str) -> Tokenizer:
        raise _damaged(str(self.folder / "run.json"), f"it names no tokenizer '{name}'")


def _damaged(place: str, why: str) -> RunError:
    return RunError(f"{place} is damaged ({why}); copy the run again, or train it anew")


def load_recipe(recipe: RecipeSource, overrides: Overrides = ()) -> Recipe:
    """Return a recipe as it stands, checked by the classes of its task and model."""
    return check_recipe(read_raw(recipe, overrides), *whence(recipe))


def whence(recipe: RecipeSource) -> tuple[str, list[Path]]:
    """Return what messages call a recipe, and where a task or model of the user's own may be."""
    if isinstance(recipe, Mapping):
        return "", [Path.cwd()]
    path = find_recipe(recipe)
    return path.name, [path.parent, Path.cwd()]


def check_recipe(raw: Mapping[str, Any], name: str = "", code: Sequence[Path] = ()) -> Recipe:
    """Return the recipe of a raw dict, checked by the classes of its task and model; name stands before a message."""
    try:
        built = build_recipe(
            raw, shape_of=partial(task_class, folders=code), config_of=partial(config_class, folders=code)
        )
        check_model_fits(built.task, built.model.name)
    except ConfigError as error:
        lines = str(error).splitlines()
        raise ConfigError("\n".join(f"{name}: {line}" for line in lines) if name else str(error)) from error.__cause__
    return built


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second training process out of a run's folder."""
    with explained(folder, ANOTHER_OUT, name=f"the run folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        Draft(folder / "run.json").drop()  # a folder that cannot be written is told before anything is computed
        handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(f"another process is training in {folder}; wait for it, or choose another --out") from None
        try:
            with kept_from_workers(handle):  # a killed trainer's worker would hold the lock to the end of its step
                yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)  # for other forked processes too, which hold the same handle
    finally:
        os.close(handle)
