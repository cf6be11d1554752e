"""Compile the kernels in C by the machine's own compiler, once, and load them.

*.c, compiler, flags, processor → cache/native-HASH/kernels.so → ctypes

A second or so, the first time. Where there is no compiler, or JUMOK_NATIVE is 0, there are no kernels and torch does
everything, more slowly.
"""

import ctypes
import os
import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from jumok.cache import cache_key, cached_folder
from jumok.errors import JumokError

HERE = Path(__file__).parent
SOURCES = tuple(sorted(HERE.glob("*.c")))
# -ffast-math would do more than we want: it also flushes the smallest numbers to zero, in all of the process.
FLAGS = ("-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-fPIC")
PATIENCE = 120  # seconds that a compiler may take


@cache
def kernels() -> ctypes.CDLL | None:
    """Return the compiled kernels, or None where they cannot be had."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if os.environ.get("JUMOK_NATIVE") == "0" or compiler is None:
        return None
    try:
        library = ctypes.CDLL(str(_compiled(compiler)))
        library.work_space.restype = library.attention_space.restype = ctypes.c_int64
        return library
    except (subprocess.SubprocessError, OSError, JumokError):
        return None


def _compiled(compiler: str) -> Path:
    """Return the library's file, compiling it first where the cache has none for this source and processor."""

    def build(folder: Path) -> None:
        def run(*arguments: str) -> None:
            subprocess.run(
                [compiler, *FLAGS, *arguments], check=True, capture_output=True, timeout=PATIENCE, cwd=folder
            )

        with ThreadPoolExecutor() as pool:  # a compiler takes one core
            list(pool.map(lambda source: run("-c", str(source)), SOURCES))
        objects = [f"{source.stem}.o" for source in SOURCES]
        run("-shared", "-o", "kernels.so", *objects, "-lm")
        for name in objects:
            (folder / name).unlink()

    texts = [source.read_text(encoding="utf-8") for source in (*SOURCES, *sorted(HERE.glob("*.h")))]
    key = cache_key("native", *texts, compiler, *FLAGS, platform.machine(), _processor())
    return cached_folder(key, build) / "kernels.so"


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
