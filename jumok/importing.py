"""What "package.module:Name" names, jumok's own or a user's: imported when it is first used.

"package.module:Name" → import, with given folders behind sys.path for that moment → the class, the function, the entry

Importing a module runs it. Folders are therefore searched only for a name that a recipe or a run gives.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from jumok.errors import ConfigError, JumokError

HOME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*")


def import_named(home: str, folders: Sequence[Path] = ()) -> Any:
    """Import what "package.module:Name" names; folders are searched behind the installed packages."""
    if not HOME.fullmatch(home):
        raise ConfigError(f"'{home}' must look like package.module:Class")
    module, _, name = home.partition(":")
    with _searched(folders, home):
        try:
            found = import_module(module)
        except JumokError:
            raise
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise ConfigError(f"'{home}' cannot be imported: {error}") from error
            places = ", ".join(map(str, dict.fromkeys(map(Path.absolute, folders)))) or "the folders of sys.path"
            raise ConfigError(
                f"'{home}': there is no module '{error.name}' among the installed packages or in {places}; "
                "install it, or set PYTHONPATH to the folder that holds it"
            ) from None
        except Exception as error:  # a user's own code may raise anything
            raise ConfigError(f"'{home}' cannot be imported: {type(error).__name__}: {error}") from error
    if not hasattr(found, name):
        raise ConfigError(f"'{home}': {getattr(found, '__file__', None) or module} has no '{name}'")
    return getattr(found, name)


def folders_of(homes: Iterable[str]) -> list[str]:
    """Return the folders that imported modules of one's own came from; installed packages are found without."""
    found = []
    for home in homes:
        spec = sys.modules[home.partition(":")[0].partition(".")[0]].__spec__
        if spec is None:  # __main__ of a script or a notebook
            continue
        package = list(spec.submodule_search_locations or [])
        folder = Path(package[0] if package else str(spec.origin)).parent
        if not folder.is_relative_to(sys.prefix):
            found.append(str(folder))
    return list(dict.fromkeys(found))


@contextmanager
def _searched(folders: Sequence[Path], home: str) -> Iterator[None]:
    """Let modules be found in folders, behind all others, for the time of the block."""
    added = [place for place in dict.fromkeys(str(folder.absolute()) for folder in folders) if place not in sys.path]
    sys.path += added
    try:
        if folders:
            invalidate_caches()  # a file may have been written a moment ago
            _refuse_namesake(home.partition(":")[0].partition(".")[0], home)
        yield
    finally:
        for place in added:
            sys.path.remove(place)


def _refuse_namesake(package: str, home: str) -> None:
    """Refuse a name whose module was imported from another place before: Python would give that one again."""
    loaded = sys.modules[package].__spec__ if package in sys.modules else None
    wanted = PathFinder.find_spec(package) if loaded is not None else None
    if loaded is not None and wanted is not None and wanted.origin != loaded.origin:
        raise ConfigError(
            f"'{home}': a module '{package}' was imported from {loaded.origin} before, but {wanted.origin} is meant; "
            "start a new process, or rename one of the two"
        )
