"""Models that ship with jumok: a name instead of a run's folder.

RUN (a folder, or a name in catalogue.SHIPPED) → find_run → folder, and the language it is to translate to, if any
"""

from collections.abc import Callable
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from jumok.catalogue import SHIPPED
from jumok.errors import ConfigError, RunError

SHELF = Path(str(resources.files("jumok") / "shipped"))  # a folder a model, made by jumok.workflows.ship


class Found(NamedTuple):
    """Where a run is, and the target language that its name stands for."""

    folder: Path
    to: str = ""


def find_run(run: str | Path, to: str = "", fits: Callable[[Path], bool] = lambda folder: True) -> Found:
    """Return the folder of a run or of a shipped model; a run that is there comes before a name.

    A folder of something else does not: images in a folder `shapes` hide no model. Where a name stands for models of
    several kinds, the first that fits is meant.
    """
    folder, name = Path(run), str(run)
    if folder.is_dir() and (name not in SHIPPED or (folder / "run.json").exists()):
        return Found(folder, to)
    if name not in SHIPPED:
        raise _a_recipe(folder) or _unknown(run)
    shipped = SHIPPED[name]
    if to and shipped.to and to != shipped.to:
        raise ConfigError(
            f"{name} translates to {shipped.to}; leave out --to {to}, or choose another model (jumok list)"
        )
    folders = [SHELF / name for name in (shipped.folder, *shipped.others)]
    meant = next(filter(fits, folders), folders[0]) if shipped.others else folders[0]
    return Found(meant, to or shipped.to)


def known_runs() -> dict[str, str]:
    """Return what may be given for a run, by its last part: the runs near the working directory, the shipped models."""
    near = [path.parent for path in [*Path().glob("*/run.json"), *Path().glob("runs/*/run.json")]]
    return {name: name for name in SHIPPED} | {folder.name: str(folder) for folder in near}


def _a_recipe(path: Path) -> RunError | None:
    """Return the refusal of a recipe that is given for a run."""
    from jumok.config.recipe import shipped_recipes  # here, because completing names must cost nothing

    if not (path.is_file() and path.suffix == ".toml") and str(path) not in shipped_recipes():
        return None
    run = Path("runs") / path.stem
    if (run / "run.json").exists():
        return RunError(f"{path} is a recipe, not a run; the run that was trained by it is {run}")
    return RunError(f"{path} is a recipe, not a run; train it first: jumok train {path}, which makes {run}")


def _unknown(run: str | Path) -> RunError:
    known = known_runs()
    close = get_close_matches(Path(run).name, known, n=1, cutoff=0.55)
    if close:
        return RunError(
            f"there is no run folder {run} and no shipped model of that name; did you mean '{known[close[0]]}'?"
        )
    shipped = f", and the shipped models are {', '.join(SHIPPED)}" if SHIPPED else ""
    return RunError(f"there is no run folder {run}; jumok train RECIPE --out {run} makes one{shipped}")
