"""Public data sets brought from their public homes: `jumok fetch NAME [FOLDER]`.

DOWNLOADS[name] → each file: FOLDER/file.part (grows, goes on where it stopped) → size and SHA-256 → FOLDER/file

A file stands under its own name only when it is whole and right. To offer another set, add an entry to DOWNLOADS.
"""

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from jumok.errors import DataError, did_you_mean
from jumok.writing import FULL, put_on_disk, reason

DownloadProgress = Callable[[str, int, int], None]  # file, bytes so far, bytes in all

CHUNK = 64 * 1024


@dataclass(frozen=True)
class RemoteFile:
    """A file on the network, and how to know that it arrived unchanged."""

    url: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Download:
    """A public data set: its files by the path they get in the folder."""

    name: str
    description: str
    licence: str
    files: dict[str, RemoteFile]


@dataclass(frozen=True)
class Patience:
    """How long a silent or failing server is borne with."""

    retries: int = 4  # in a row without a single new byte
    wait: float = 1.0  # seconds before the first retry; doubled for each one after
    timeout: float = 30.0  # seconds without an answer


PATIENCE = Patience()


MULTI30K_HOME = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
MULTI30K_FILES = {
    "train.cs.gz": ("a65adb8b32e3bc664f21ecba7a6e7f6950fd1f405e135f7c312faabdb6255077", 593_827),
    "train.de.gz": ("726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6", 637_044),
    "train.en.gz": ("d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f", 568_929),
    "train.fr.gz": ("622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c", 604_242),
    "val.cs.gz": ("b63226e05c4bd5dd6a42897d74b86a1b9d2c31498252c572b1ea7f7996927fcc", 22_096),
    "val.de.gz": ("f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a", 24_681),
    "val.en.gz": ("14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28", 21_650),
    "val.fr.gz": ("ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9", 23_001),
}

DOWNLOADS: dict[str, Download] = {
    "multi30k": Download(
        name="multi30k",
        description="captions of images in English, German, French and Czech: 29,000 to train, 1,014 to validate",
        licence="no licence file; its home allows non-commercial research and teaching (github.com/multi30k/dataset)",
        files={path: RemoteFile(MULTI30K_HOME + path, *known) for path, known in MULTI30K_FILES.items()},
    ),
}


class _Interrupted(Exception):  # noqa: N818 - a reason to try again, not a user's error
    """The network failed in a way that a second try may cure."""


def data_home() -> Path:
    """Return the folder that fetched sets are kept in: JUMOK_DATA_HOME, else the user's data folder."""
    try:
        if chosen := os.environ.get("JUMOK_DATA_HOME"):
            return Path(chosen).expanduser()
        shared = Path(os.environ.get("XDG_DATA_HOME", ""))
        # the XDG rules: a relative path is to be ignored
        return (shared if shared.is_absolute() else Path.home() / ".local" / "share") / "jumok"
    except RuntimeError as error:
        raise DataError("this user has no home folder to keep data in; set JUMOK_DATA_HOME to a folder") from error


def fetch(
    name: str,
    folder: Path | None = None,
    *,
    base_url: str | None = None,
    progress: DownloadProgress | None = None,
    patience: Patience = PATIENCE,
) -> Path:
    """Bring the files of a public set into folder, skip those already there, and return the folder.

    base_url stands in for the set's public home (a mirror). A file of another content under one of the set's names
    is replaced once the right one has arrived.
    """
    if name not in DOWNLOADS:
        raise DataError(f"there is no set '{name}' to fetch; {did_you_mean(name, DOWNLOADS)}")
    folder = data_home() / name if folder is None else Path(folder)
    with _disk_errors_explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with _sole_writer(folder):
            for path, remote in DOWNLOADS[name].files.items():
                if base_url is not None:
                    remote = RemoteFile(f"{base_url.rstrip('/')}/{path}", remote.sha256, remote.bytes)
                _bring(remote, folder / path, report=_reporter(progress, path, remote.bytes), patience=patience)
    return folder


def _reporter(progress: DownloadProgress | None, path: str, total: int) -> Callable[[int], None]:
    return lambda done: progress(path, done, total) if progress else None


def _bring(remote: RemoteFile, target: Path, *, report: Callable[[int], None], patience: Patience) -> None:
    if target.is_file() and target.stat().st_size == remote.bytes and _sha256(target) == remote.sha256:
        report(remote.bytes)
        return
    _host(remote.url)  # a wrong address is known before anything is tried
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    resumed = _size(part) > 0
    _download(remote, part, report=report, patience=patience)
    found = _sha256(part)
    if found != remote.sha256 and resumed:
        # the beginning came from an earlier run, perhaps of another file: one more try from the first byte
        part.unlink()
        _download(remote, part, report=report, patience=patience)
        found = _sha256(part)
    if found != remote.sha256:
        part.unlink()
        raise DataError(
            f"{remote.url} is not the file it should be: its SHA-256 is {found}, expected {remote.sha256}.\n"
            f"{part} was removed; run the same command again, and if this repeats, the file has changed at its home "
            "or something on the way alters it"
        )
    put_on_disk(part)  # before it gets its name, or a power cut could leave an empty file under it
    os.replace(part, target)


def _download(remote: RemoteFile, part: Path, *, report: Callable[[int], None], patience: Patience) -> None:
    failures, before = 0, _size(part)
    while True:
        try:
            return _stream(remote, part, report=report, timeout=patience.timeout)
        except _Interrupted as interruption:
            failures = 1 if _size(part) > before else failures + 1
            before = _size(part)
            if failures > patience.retries:
                raise DataError(
                    f"cannot get {remote.url} from {_host(remote.url)}: {interruption} (tries: {failures}). {before:,} of "
                    f"{remote.bytes:,} bytes are kept; check the connection, then run the same command to go on there"
                ) from interruption.__cause__
            time.sleep(patience.wait * 2 ** (failures - 1))


def _stream(remote: RemoteFile, part: Path, *, report: Callable[[int], None], timeout: float) -> None:
    """Append to part what it lacks; return when it is as long as the file should be."""
    start = _size(part)
    if start > remote.bytes:
        part.unlink()
        start = 0
    report(start)
    if start == remote.bytes:
        return
    with _open(remote.url, part, start=start, timeout=timeout) as response:
        if start and response.status != 206:
            start = 0  # the server knows no ranges and sends the whole file
        length = response.headers.get("Content-Length", "")
        if length.isdigit() and start + int(length) != remote.bytes:
            raise DataError(
                f"{remote.url} has {start + int(length):,} bytes, expected {remote.bytes:,}: the file has changed at "
                "its home, or the answer is another page (a login, a proxy); open the address in a browser to see"
            )
        done = start
        with part.open("ab" if start else "wb") as file:
            while done < remote.bytes and (chunk := _read(response, remote.bytes - done)):
                file.write(chunk)
                done += len(chunk)
                report(done)
    if done < remote.bytes:
        raise _Interrupted(f"the connection closed after {done:,} bytes")


def _open(url: str, part: Path, *, start: int, timeout: float) -> HTTPResponse:
    headers = {"User-Agent": "jumok", "Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        response: HTTPResponse = _opener().open(request.Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        error.close()
        reason = f"{error.code} {error.reason}"
        if error.code == 416:
            part.unlink(missing_ok=True)  # the server has no such range: from the first byte, then
            raise _Interrupted(reason) from error
        if error.code in (408, 425, 429) or error.code >= 500:
            raise _Interrupted(reason) from error
        raise DataError(f"{_host(url)} answered {reason} for {url}; look whether the file has moved") from error
    except (URLError, HTTPException, OSError) as error:
        raise _Interrupted(str(getattr(error, "reason", "") or error or type(error).__name__)) from error
    sent = response.headers.get("Content-Range", "")
    if response.status == 206 and not sent.startswith(f"bytes {start}-"):
        response.close()
        part.unlink(missing_ok=True)
        raise _Interrupted(f"asked for bytes from {start:,}, the server sent '{sent}'")
    return response


def _read(response: HTTPResponse, most: int) -> bytes:
    try:
        # read1 hands over what has come: a cut connection loses nothing that arrived before
        return response.read1(min(CHUNK, most))
    except (HTTPException, OSError) as error:
        raise _Interrupted(str(error) or type(error).__name__) from error


def _opener() -> request.OpenerDirector:
    # Built by hand: the usual opener would follow a redirect to ftp, and opens file: and data: addresses
    opener = request.OpenerDirector()
    for kind in ("Proxy", "HTTP", "HTTPS", "HTTPRedirect", "HTTPDefaultError", "Unknown"):
        opener.add_handler(getattr(request, f"{kind}Handler")())
    opener.add_handler(request.HTTPErrorProcessor())
    return opener


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            return parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
    except ValueError:  # a port that is no number, a bracket left open
        pass
    raise DataError(f"'{url}' is no address to fetch from; it must begin with http:// or https:// and name a host")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@contextmanager
def _sole_writer(folder: Path) -> Iterator[None]:
    """Refuse a second fetch into the same folder: two writers would mix their bytes in one .part."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise DataError(f"another fetch is writing to {folder}; wait until it ends, or give another folder") from None
    except OSError:
        pass  # a network file system without locks
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def _disk_errors_explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # those of the network have become _Interrupted by here
        place = error.filename or folder
        if error.errno in FULL:
            raise DataError(
                f"the disk of {folder} is full; free some space, or give a folder on another disk, and run the command "
                "again: what has arrived is kept"
            ) from error
        raise DataError(
            f"cannot write to {place}: {reason(error, place)}; give a folder that can be written to"
        ) from error
