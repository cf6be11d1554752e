"""Writing files: whole or not at all, and one sentence where that cannot be done.

content → a new file beside FILE, with the mode that FILE has or the umask gives → (on the disk) → renamed FILE
OSError → its reason in words, and a cure → DataError, RunError, …

A file that is written inside a folder which is itself built beside its place (`whole_folder`, `cache.cached_folder`)
needs none of this: the folder's renaming is what makes it whole.
"""

import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from jumok.errors import ConfigError, DataError, JumokError, RunError

PART = ".part"  # the end of the name of a file that is being written
LONGEST_NAME = 60  # characters of FILE's name in that of the file beside it
STREAM = re.compile(r"/dev/(stdout|stderr|fd/)|/proc/")  # open already, even where it leads to a plain file
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True)
class Refusal:
    """How it is told that something cannot be written: the kind of error, and what to do."""

    kind: type[JumokError]
    cure: str
    when_full: str

    def error(self, name: str, failure: OSError, path: str | Path) -> JumokError:
        """Return the error of a path, which the message calls name."""
        cure = self.when_full if failure.errno in FULL else self.cure
        return self.kind(f"{name} cannot be written: {reason(failure, path)}; {cure}")


ANOTHER_FILE = Refusal(DataError, "choose another file", "free some space, or choose another file")
ANOTHER_PLACE = Refusal(ConfigError, "choose another place", "free some space, or choose another place")
ANOTHER_FOLDER = Refusal(RunError, "choose another folder", "free some space, or choose another folder")
ANOTHER_OUT = Refusal(
    RunError, "mend that, or choose another folder with --out", "free some space, or choose another folder with --out"
)
RESUME = Refusal(RunError, "mend that, then go on with --resume", "free some space, then go on with --resume")


def reason(failure: OSError, path: str | Path = "") -> str:
    """Return in words why a path cannot be written."""
    folder = Path(path).parent
    told = {
        errno.ENOSPC: "its disk is full",
        errno.EDQUOT: "your quota of its disk is used up",
        errno.EROFS: "its file system is read-only",
        errno.EACCES: "permission is denied",
        errno.EPERM: "permission is denied",
        errno.EISDIR: "it is a folder",
        errno.ENOTDIR: f"{folder} is no folder",
        errno.EEXIST: "a file of that name is in the way",
        errno.ENAMETOOLONG: "its name is too long",
        errno.ELOOP: "its links lead in a circle",
    }
    if failure.errno == errno.ENOENT and not folder.is_dir():
        return f"there is no folder {folder}"
    return told.get(failure.errno or 0) or failure.strerror or str(failure)


@contextmanager
def explained(path: str | Path, refusal: Refusal = ANOTHER_FILE, *, name: str = "") -> Iterator[None]:
    """Turn a failure to write in the block into a sentence about path, which it calls name."""
    try:
        yield
    except BrokenPipeError:  # who reads our output has left: no affair of the disk
        raise
    except OSError as failure:
        raise refusal.error(name or str(path), failure, path) from None


class Draft:
    """A new file beside a target, which gets the target's name when it is whole; a pipe or a device is written itself."""

    def __init__(self, target: str | Path, *, durable: bool = False) -> None:
        """Begin the file; durable says that it must outlast a power cut from the moment it has its name."""
        self.target = self.path = Path(target)
        self.durable, self.mode = durable, 0o666
        try:
            there = self.target.stat().st_mode
        except FileNotFoundError:
            there = 0
        if stat.S_ISDIR(there):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if there and (not stat.S_ISREG(there) or STREAM.match(str(target))):
            return
        self.target = Path(os.path.realpath(target))  # through links, as open() goes
        beside = f".{self.target.name[:LONGEST_NAME]}.{os.urandom(4).hex()}{PART}"
        self.path = self.target.with_name(beside)
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, there & 0o777 if there else 0o666)
        try:
            self.mode = there & 0o777 if there else stat.S_IMODE(os.fstat(handle).st_mode)
        finally:
            os.close(handle)

    def keep(self) -> None:
        """Give the file its name."""
        if self.path == self.target:
            return
        if stat.S_IMODE(self.path.stat().st_mode) != self.mode:  # by the umask, or by a library that put its own here
            self.path.chmod(self.mode)
        if self.durable:
            put_on_disk(self.path)
        self.path.replace(self.target)
        if self.durable:
            put_on_disk(self.target.parent)

    def drop(self) -> None:
        """Leave no trace of the file, where it was not kept; nothing here hides the error that came first."""
        if self.path != self.target:
            with suppress(OSError):
                self.path.unlink()


@contextmanager
def whole_file(path: str | Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield the path of a new file, which replaces `path` when the block has ended well; failures stay OSErrors."""
    draft = Draft(path, durable=durable)
    try:
        yield draft.path
        draft.keep()
    finally:
        draft.drop()


def write_bytes(
    path: str | Path, content: bytes, refusal: Refusal = ANOTHER_FILE, *, name: str = "", durable: bool = False
) -> None:
    """Write a file, whole or not at all; a message calls it name."""
    with explained(path, refusal, name=name), whole_file(path, durable=durable) as part:
        part.write_bytes(content)


def write_text(
    path: str | Path, text: str, refusal: Refusal = ANOTHER_FILE, *, name: str = "", durable: bool = False
) -> None:
    """Write a file of UTF-8, whole or not at all; a message calls it name."""
    write_bytes(path, text.encode("utf-8"), refusal, name=name, durable=durable)


def check_can_write(path: Path, option: str) -> None:
    """Find out before the work whether the file of an option can be written after it."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigError(f"{option} {path}: must be a file in a folder that exists")
    with explained(path, name=f"{option} {path}"):
        Draft(path).drop()


@contextmanager
def whole_folder(path: Path, refusal: Refusal = ANOTHER_FOLDER) -> Iterator[Path]:
    """Yield the path of a folder to be made, which gets the name `path` when the block has ended well."""
    whole = path.absolute()
    fresh = whole.with_name(f".{whole.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        with explained(path, refusal):
            yield fresh
            put_on_disk(*(one for one in fresh.rglob("*") if not one.is_symlink()), fresh)
            fresh.rename(whole)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def put_on_disk(*paths: Path) -> None:
    """Wait until files or folders would outlast a power cut; some file systems cannot tell, which is no failure."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as failure:
            if failure.errno != errno.EINVAL:
                raise
        finally:
            os.close(handle)


def remove_parts(folder: Path) -> None:
    """Remove what a kill left half-written in a folder of ours, in which nobody writes now."""
    for path in folder.glob(f".*{PART}"):
        path.unlink(missing_ok=True)
