"""Compiling the kernels: once for each source and processor, and never in the way of those who cannot."""

import shutil

import pytest

from jumok.native import build

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler")


@pytest.fixture
def compiling(monkeypatch, tmp_path):
    """Return a list of the compiler's runs, with an empty cache."""
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path))
    monkeypatch.delenv("JUMOK_NATIVE", raising=False)
    runs = []
    real = build.subprocess.run

    def run(command, **options):
        runs.append(command)
        return real(command, **options)

    monkeypatch.setattr(build.subprocess, "run", run)
    return runs


load = build.kernels.__wrapped__  # without the memory of this process


@needs_compiler
def test_compiled_once_for_each_source_and_processor(compiling, monkeypatch, tmp_path):
    small = (
        tmp_path / "small.c"
    )  # all that is read from the kernels at once; the real ones are compiled for every session
    small.write_text("int work_space(void) { return 1; } int attention_space(void) { return 1; }", encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", (small,))
    assert load() is not None
    assert load() is not None
    each = len(build.SOURCES) + 1  # and the linker
    assert len(compiling) == each
    monkeypatch.setattr(build, "_processor", lambda: "another")
    load()
    assert len(compiling) == 2 * each
    changed = tmp_path / "changed.c"
    changed.write_text("int more(void) { return 1; }", encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", (*build.SOURCES, changed))
    load()
    assert len(compiling) == 3 * each + 1


def test_there_are_none_without_a_compiler_or_where_nobody_wants_them(compiling, monkeypatch):
    monkeypatch.setenv("JUMOK_NATIVE", "0")
    assert load() is None
    monkeypatch.delenv("JUMOK_NATIVE")
    monkeypatch.setenv("PATH", "")
    assert load() is None
    assert not compiling


@needs_compiler
def test_a_compiler_that_fails_is_no_failure(compiling, monkeypatch, tmp_path):
    broken = tmp_path / "broken.c"
    broken.write_text("this is no C", encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", (broken,))
    assert load() is None
    assert len(compiling) == 1


@needs_compiler
def test_a_cache_that_cannot_be_written_is_no_failure(compiling, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "file"))
    assert load() is None
