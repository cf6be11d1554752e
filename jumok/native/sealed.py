"""A library in the cache that nobody else can have written, and that is still whole: what is loaded runs as us.

compiled library → seal: for us alone, its hash beside it → opened: owner, permissions, hash → a path to load it by

Whoever may write to a folder of the cache could put a library there. So ours stands in a folder that belongs to us and
that nobody else may write to. What was checked stays open, and is what is loaded, whatever its name stands for by then.
"""

import errno
import hashlib
import os
import stat
from pathlib import Path

LIBRARY, HASH = "kernels.so", "kernels.sha256"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
CURE = "set JUMOK_CACHE to a folder of yours"


class PlaceError(Exception):
    """A library of ours cannot stand in a folder: the message says why, and what to do."""


class DamageError(Exception):
    """The library is not what was compiled; it is to be compiled again."""


def check_place(folder: Path) -> None:
    """Refuse a folder in which a library would not be ours alone, or could not be loaded."""
    status = folder.lstat()
    _refuse_others(folder, status)
    if status.st_mode & OTHERS_WRITE:
        raise PlaceError(f"other users may write to {folder}; {CURE}")
    if os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
        raise PlaceError(f"the disk of {folder} allows no programs (noexec); {CURE} on another disk")


def seal(folder: Path) -> None:
    """Let nobody else write to the library in a folder, and note its hash."""
    library = folder / LIBRARY
    library.chmod(0o600)
    (folder / HASH).write_text(hashlib.sha256(library.read_bytes()).hexdigest(), encoding="ascii")


def opened(folder: Path) -> Path:
    """Return a path to load the sealed library of a folder by. It stays open for as long as the process lives."""
    try:
        _refuse_others(folder, folder.lstat())
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            _refuse_others(folder, os.fstat(place))
            library = _verified(place)
        finally:
            os.close(place)
    except OSError as error:
        raise DamageError(str(error)) from None
    try:
        return Path(
            "/proc", os.readlink("/proc/self"), "fd", str(library)
        )  # by number: debuggers follow it from outside
    except OSError:  # not Linux: the name has to do, where nobody can let it stand for something else
        os.close(library)
        check_place(folder.parent)
        return folder / LIBRARY


def _verified(place: int) -> int:
    """Return the library in our own open folder, open, or an error where it is not whole or may be another's."""
    with os.fdopen(os.open(HASH, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=place), "rb") as file:
        expected = file.read(100)
    library = os.open(LIBRARY, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=place)
    with os.fdopen(library, "rb", closefd=False) as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    parts = (os.fstat(place), os.fstat(library))
    ours = all(part.st_uid == os.geteuid() and not part.st_mode & OTHERS_WRITE for part in parts)
    if not ours or found.encode() != expected:
        os.close(library)
        raise OSError(errno.EBADMSG, LIBRARY)
    return library


def _refuse_others(folder: Path, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise PlaceError(f"{folder} is a link, and may come to lead to what others wrote; {CURE}")
    if status.st_uid != os.geteuid():
        raise PlaceError(f"{folder} belongs to another user; {CURE}")
