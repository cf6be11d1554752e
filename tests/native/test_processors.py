"""Kernels by every compiler and for every processor: they are built, they say what for, and they agree with torch."""

import shutil
from pathlib import Path

import pytest
from parity import agree_with_torch

from jumok.native import build

# What a processor of each level has, by its names in /proc/cpuinfo, and what the kernels then say.
LEVELS = {
    "-march=x86-64": ("sse2", "SSE"),
    "-march=x86-64-v2": ("sse4_2", "SSE"),
    "-march=x86-64-v3": ("avx2", "AVX2"),
    "-march=x86-64-v4": ("avx512vl", "AVX-512"),
    "-DJUMOK_GENERIC": ("", "any processor"),
    "-march=x86-64 -DJUMOK_GENERIC": ("sse2", "any processor"),
    "": ("", ""),
}


def kernels_for(compiler, flags, monkeypatch):
    """Compile kernels and let this process use them."""
    feature, told = LEVELS[flags.removesuffix(" -O1")]
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    cpuinfo = Path("/proc/cpuinfo")
    if feature and (not cpuinfo.exists() or feature not in cpuinfo.read_text(encoding="utf-8").split()):
        pytest.skip("this processor cannot run it")
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setenv("JUMOK_NATIVE_FLAGS", flags)
    build.state.cache_clear()
    assert build.state().told.startswith(f"compiled by {shutil.which(compiler)} for {told}")


@pytest.fixture(autouse=True)
def afterwards():
    """Go back to this machine's own kernels."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch
    build.state.cache_clear()


# -O1, because compiling takes longer than all else
@pytest.mark.parametrize(
    ("compiler", "flags"), [("clang", ""), ("gcc", "-march=x86-64 -O1"), ("gcc", "-DJUMOK_GENERIC -O1")]
)
def test_a_few(compiler, flags, afterwards, monkeypatch):
    kernels_for(compiler, flags, afterwards)
    agree_with_torch(monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", LEVELS)
def test_all(compiler, flags, afterwards, monkeypatch):
    kernels_for(compiler, flags, afterwards)
    agree_with_torch(monkeypatch)
