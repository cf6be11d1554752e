"""The cache: folders whose names say what is in them, built once and shared by every run.

everything that goes in → cache_key → root/key. A folder is built beside its place, written through to the disk and
renamed when whole: so no half-built entry is ever seen, after a power cut either, and two processes may build the same
one. Each entry carries a marker file; nothing without it is ever deleted.

A root that we make is ours alone (0700), as the XDG specification wants it. One that is there already may be shared.
"""

import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jumok.errors import DataError

MARKER = ".made-by-jumok"
_BUILDING = ".building-"


class CacheEntry(NamedTuple):
    """A finished folder of the cache and its size in bytes."""

    name: str
    size: int


def cache_root() -> Path:
    """Return the folder of the cache: JUMOK_CACHE, else jumok in XDG_CACHE_HOME, else ~/.cache/jumok."""
    try:
        if chosen := os.environ.get("JUMOK_CACHE"):
            return Path(chosen).expanduser()
        if shared := os.environ.get("XDG_CACHE_HOME"):
            return Path(shared).expanduser() / "jumok"
        return Path.home() / ".cache" / "jumok"
    except RuntimeError:  # no HOME, and nobody of this number among the system's users, as in a container
        return _homeless_root()


def _homeless_root() -> Path:
    """Return a folder of ours among the temporary files, which nobody else can read or put something into."""
    from tempfile import gettempdir  # 3 ms of every start

    try:
        root = Path(gettempdir()) / f"jumok-{os.getuid()}"
        root.mkdir(mode=0o700, exist_ok=True)
        found = root.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return root
        why = f"{root} belongs to another user, or is open to others"
    except OSError as error:
        why = f"among temporary files there is no room for it ({error.strerror})"
    raise DataError(f"this user has no home folder for the cache, and {why}; set JUMOK_CACHE to a folder of yours")


def cache_key(kind: str, *parts: object, format: int = 1) -> str:
    """Return the name of an entry: its kind, and a hash of everything that its contents depend on.

    Raise format when the contents are to be written in another way.
    """
    text = json.dumps([format, kind, *parts], sort_keys=True, default=str)
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def cached_folder(key: str, build: Callable[[Path], None], *, mode: int = 0o777) -> Path:
    """Return the cache's folder for key, calling build(empty folder) first if it is not there yet; umask takes from mode."""
    assert Path(key).name == key, key
    root = cache_root()
    final = root / key
    if final.exists():
        return final
    building = _beside(final)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        building.mkdir(mode=mode)
        (building / MARKER).write_text(key + "\n", encoding="utf-8")
        build(building)
        write_through(building)
        _rename(building, final)
        _synced(root)
    except OSError as error:
        raise _explained(root, error) or error from None
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return final


def discard(folder: Path) -> None:
    """Take an entry out of the cache, all of it at once, so that it is built anew."""
    leaving = _beside(folder)
    with suppress(OSError):  # where another process was quicker
        os.rename(folder, leaving)
    shutil.rmtree(leaving, ignore_errors=True)


def write_through(folder: Path) -> None:
    """Wait until what a folder holds is on the disk: some 4 ms for each file, beside the writing (an SSD of a server)."""
    for place, _, names in os.walk(folder, topdown=False):
        for path in (*(Path(place, name) for name in names), Path(place)):
            if not path.is_symlink():
                _synced(path)


def _synced(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _beside(folder: Path) -> Path:
    """Return where an entry is while it is built or deleted."""
    return folder.parent / f"{_BUILDING}{folder.name}-{os.getpid()}-{os.urandom(4).hex()}"


def damaged_entry(place: str, why: str) -> DataError:
    """Return the error of a file of the cache that is damaged."""
    return DataError(f"{place} is damaged ({why}); run jumok cache --clear, and it is made again.")


def _rename(building: Path, final: Path) -> None:
    try:
        os.rename(building, final)
    except OSError:
        if not final.exists():  # else another process was quicker; its folder has the same content
            raise


def _explained(root: Path, error: OSError) -> DataError | None:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DataError(
            f"the disk of the cache folder {root} is full; "
            "free it with jumok cache --clear, or set JUMOK_CACHE to a folder with more room."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return DataError(
            f"cannot write to the cache folder {root} ({error.strerror}); set JUMOK_CACHE to a folder of yours."
        )
    return None


def cache_entries() -> list[CacheEntry]:
    """Return the finished entries, sorted by name."""
    return [CacheEntry(folder.name, _size(folder)) for folder in _ours() if not folder.name.startswith(_BUILDING)]


def cache_size() -> int:
    """Return the bytes all entries take, unfinished ones included."""
    return sum(_size(folder) for folder in _ours())


def clear_cache() -> int:
    """Delete every entry and return the bytes freed; what another process builds at this moment stays."""
    freed = 0
    for folder in _ours():
        if _being_built(folder):
            continue
        size = _size(folder)
        shutil.rmtree(folder, ignore_errors=True)
        freed += size - (_size(folder) if folder.exists() else 0)
    return freed


def _ours() -> list[Path]:
    root = cache_root()
    if not root.is_dir():
        return []
    return sorted(folder for folder in root.iterdir() if (folder / MARKER).is_file() and not folder.is_symlink())


def _size(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())


def _being_built(folder: Path) -> bool:
    if not folder.name.startswith(_BUILDING):
        return False
    process = int(folder.name.rsplit("-", 2)[1])
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
