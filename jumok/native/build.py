"""Compile the kernels in C by the machine's own compiler, once, and load them.

*.c, compiler, flags, processor → cache/native-HASH/kernels.so → ctypes
                                 └ failure.txt, where the compiler fails: the next one is tried, this one not again

A second or so, the first time. Where there is no compiler, or JUMOK_NATIVE is 0, there are no kernels and torch does
everything, more slowly; `state` says why. CC names a compiler to try first, JUMOK_NATIVE_FLAGS adds flags: a processor
(-march=x86-64-v3), a sanitizer (tools/sanitize.py).
"""

import ctypes
import errno
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jumok.cache import cache_key, cached_folder, discard
from jumok.errors import JumokError
from jumok.native.sealed import LIBRARY, DamageError, PlaceError, check_place, opened, seal

HERE = Path(__file__).parent
SOURCES = tuple(sorted(HERE.glob("*.c")))
# -ffast-math would do more than we want: it also flushes the smallest numbers to zero, in all of the process.
FLAGS = ("-O3", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-fPIC")
# How compilers are told to use all that the processor has.
THIS_PROCESSOR = {
    "x86_64": "-march=native",
    "i686": "-march=native",
    "aarch64": "-mcpu=native",
    "arm64": "-mcpu=native",
}
PATIENCE = 120  # seconds that a compiler may take
FAILURE = "failure.txt"
PASSING = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)  # what a compiler may complain of that is not the source's fault


class Kernels(NamedTuple):
    """The compiled kernels, or why there are none."""

    library: ctypes.CDLL | None
    told: str  # by what and for what they were compiled; else why there are none, and what to do


class BuildError(Exception):
    """A compiler made no library: its first error."""


def kernels() -> ctypes.CDLL | None:
    """Return the compiled kernels, or None where they cannot be had."""
    return state().library


@cache
def state() -> Kernels:
    """Return the compiled kernels, or why there are none."""
    if os.environ.get("JUMOK_NATIVE") == "0":
        return Kernels(None, "JUMOK_NATIVE is 0; unset it to use them")
    failures: dict[str, str] = {}
    for compiler, flags in _attempts():
        try:
            library = _loaded(_compiled(compiler, flags))
        except (PlaceError, JumokError) as error:  # of the cache: another compiler would meet the same
            return Kernels(None, str(error).rstrip("."))
        except (BuildError, OSError) as error:
            failures.setdefault(compiler[0], f"the compiler {compiler[0]} failed ({error})")
            continue
        return Kernels(library, f"compiled by {compiler[0]} for {library.instructions().decode()}")
    if not failures:
        return Kernels(None, "there is no C compiler on PATH (cc, gcc or clang); install one")
    cure = "install another C compiler (gcc or clang), or let it try again with jumok cache --clear"
    return Kernels(None, f"they could not be compiled: {'; '.join(failures.values())}; {cure}")


def _loaded(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise BuildError(f"its library cannot be loaded: {_plain(str(error)).removeprefix(f'{path}: ')}") from None
    for name in ("work_space", "source_space", "packed_size", "attention_space", "narrow_attention_space"):
        getattr(library, name).restype = ctypes.c_int64
    library.instructions.restype = ctypes.c_char_p
    return library


def _attempts() -> Iterator[tuple[list[str], tuple[str, ...]]]:
    """Yield compilers with flags: each for this very processor, then each for any of its kind."""
    found: dict[str, list[str]] = {}
    for command in (os.environ.get("CC", "").split(), ["cc"], ["gcc"], ["clang"]):
        if command and (path := shutil.which(command[0])):
            found.setdefault(os.path.realpath(path), [path, *command[1:]])
    own = THIS_PROCESSOR.get(platform.machine())
    for flag in ((own,), ()) if own else ((),):
        for compiler in found.values():
            yield compiler, (*FLAGS, *flag, *os.environ.get("JUMOK_NATIVE_FLAGS", "").split())


def _compiled(compiler: Sequence[str], flags: tuple[str, ...]) -> Path:
    """Return a path to load the library by, compiling it first where the cache has none for this source and processor."""

    def build(folder: Path) -> None:
        check_place(folder)
        try:
            _compile(compiler, flags, folder)
            seal(folder)
        except BuildError as error:
            (folder / FAILURE).write_text(str(error), encoding="utf-8")

    texts = [source.read_text(encoding="utf-8") for source in (*SOURCES, *sorted(HERE.glob("*.h")))]
    status = os.stat(compiler[0])  # another one after an update
    made_by = (*compiler, os.path.realpath(compiler[0]), status.st_size, status.st_mtime_ns)
    key = cache_key("native", *texts, made_by, flags, platform.machine(), _processor(), os.geteuid(), format=2)
    for _ in range(3):  # another process may take a damaged one away while we look at it
        folder = cached_folder(key, build, mode=0o700)
        if (failure := folder / FAILURE).is_file():
            raise BuildError(_plain(failure.read_text(encoding="utf-8", errors="replace")))
        try:
            return opened(folder)
        except DamageError:
            discard(folder)
    raise BuildError(f"{folder} is damaged again and again")


def _compile(compiler: Sequence[str], flags: tuple[str, ...], folder: Path) -> None:
    """Compile each source in the folder and link them to the library."""

    def run(*arguments: str) -> None:
        try:
            subprocess.run(
                [*compiler, *flags, *arguments],
                check=True,
                capture_output=True,
                timeout=PATIENCE,
                cwd=folder,
                env={**os.environ, "LC_ALL": "C", "TMPDIR": str(folder), "LD_PRELOAD": ""},
            )
        except subprocess.TimeoutExpired:
            raise BuildError(f"it took longer than {PATIENCE} seconds") from None
        except subprocess.CalledProcessError as error:
            lines = error.stderr.decode(errors="replace").splitlines()
            for code in PASSING:
                if any(os.strerror(code) in line for line in lines):
                    raise OSError(code, os.strerror(code)) from None
            raise BuildError(_first_error(lines) or f"exit code {error.returncode}") from None

    with ThreadPoolExecutor() as pool:  # a compiler takes one core
        list(pool.map(lambda source: run("-c", str(source)), SOURCES))
    objects = [f"{source.stem}.o" for source in SOURCES]
    run("-shared", "-o", LIBRARY, *objects, "-lm")
    for name in objects:
        (folder / name).unlink()


def _first_error(lines: Sequence[str]) -> str:
    """Return the first error among what a compiler said, without the folder of the source."""
    found = next((line for line in lines if "error" in line), lines[0] if lines else "")
    return _plain(found.replace(f"{HERE}{os.sep}", ""))


def _plain(text: str) -> str:
    """Return a text fit for a line of a terminal."""
    return "".join(letter for letter in text if letter.isprintable())[:300]


def _processor() -> str:
    """Return what tells processors apart: a home folder, and the cache in it, may serve several machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())


@cache
def matrix_product() -> int:
    """Return the address of the sgemm that torch brings along, or 0 where it has none to show."""
    import torch

    folder = Path(torch.__file__).parent / "lib"
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        if (folder / name).exists():
            library = ctypes.CDLL(str(folder / name))
            if hasattr(library, "sgemm_"):
                return ctypes.cast(library.sgemm_, ctypes.c_void_p).value or 0
    return 0
