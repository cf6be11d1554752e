"""A run's folder: recipe, tokenizers, weights and log together; jumok.load needs nothing else.

RUN/run.json (format, data folders) · recipe.toml · one .json per tokenizer · metrics.jsonl · last, best → step-N/
"""

import errno
import fcntl
import json
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
from jumok.processes import kept_from_workers
from jumok.runs.formats import FORMAT, READABLE, upgrade_recipe


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
        """Write the folder of a new run."""
        facts = {"format": FORMAT, "jumok": __version__, "tokenizers": list(tokenizers), "recipe_ends": True, **facts}
        if own := code_folders(recipe.task, recipe.model.name):
            facts["code_folders"] = own  # of a task or model of the user's own
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, tokenizer in tokenizers.items():
                tokenizer.save(folder / f"{name}.json")
            recipe.save(folder / "recipe.toml")
            (folder / "metrics.jsonl").touch()
            # Last, so that a folder with run.json is whole.
            (folder / ".run.json.new").write_text(json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")
            (folder / ".run.json.new").replace(folder / "run.json")
        except OSError as error:
            files = [
                ".run.json.new",
                "run.json",
                "metrics.jsonl",
                "recipe.toml",
                *(f"{name}.json" for name in tokenizers),
            ]
            for name in files:
                with suppress(OSError):
                    (folder / name).unlink()  # half of a run would stand in the way of the next
            if error.errno == errno.ENOSPC:
                raise RunError(
                    f"the disk of {folder} is full: the run could not be started; free some space or choose another --out"
                ) from None
            raise RunError(
                f"the run folder {folder} cannot be written: {error.strerror}; choose another place"
            ) from None
        return cls(folder, recipe, facts)

    @classmethod
    def open(cls, folder: str | Path) -> "Run":
        """Open the folder of a run that exists."""
        folder = Path(folder)
        if not folder.is_dir():
            raise RunError(f"there is no run folder {folder}; jumok train RECIPE --out {folder} makes one")
        try:
            facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
            version = facts["format"]
        except FileNotFoundError:
            raise RunError(f"{folder} is not a run: it has no run.json; jumok train writes it") from None
        except (OSError, ValueError, KeyError, TypeError):
            raise RunError(f"{folder / 'run.json'} is damaged; copy the run again, or train it anew") from None
        if version not in READABLE:
            raise RunError(
                f"{folder} has run format {version}, this jumok ({__version__}) reads formats "
                f"{' and '.join(map(str, READABLE))}; use a matching version of jumok"
            )
        if not (folder / "recipe.toml").is_file():
            raise RunError(f"{folder / 'recipe.toml'} is missing; copy the run again, or train it anew")
        if facts.get("recipe_ends") and LAST_LINE not in (folder / "recipe.toml").read_text(encoding="utf-8"):
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
        return {name: Tokenizer.load(self.folder / f"{name}.json") for name in names}

    @property
    def data_folders(self) -> list[Path]:
        """Where the run's data files were looked for; then where JUMOK_DATA says they are now."""
        folders = [Path(folder) for folder in self.facts["data_folders"]]
        if moved := os.environ.get("JUMOK_DATA"):
            folders += [Path(moved) / self.recipe.data.folder, Path(moved)]
        return folders


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
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise RunError(f"the run folder {folder} cannot be written: {error.strerror}; choose another --out") from None
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
