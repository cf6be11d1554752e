"""Compiling the kernels: once for each source and processor, never in the way of those who cannot, and never in silence."""

import os
import shutil
import stat
import threading
from types import SimpleNamespace

import pytest

from jumok.cache import clear_cache
from jumok.native import build

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

# All that is read from the kernels at once; the real ones are compiled for every session.
SMALL = """
int work_space(void) { return 1; }
int attention_space(void) { return 1; }
int narrow_attention_space(void) { return 1; }
int source_space(void) { return 1; }
int packed_size(void) { return 1; }
const char *instructions(void) { return "a test"; }
"""


@pytest.fixture
def source(monkeypatch, tmp_path):
    """Return the only source there is, a small one, with an empty cache."""
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    for name in ("JUMOK_NATIVE", "JUMOK_NATIVE_FLAGS", "CC"):
        monkeypatch.delenv(name, raising=False)
    small = tmp_path / "small.c"
    small.write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", (small,))
    return small


@pytest.fixture
def runs(monkeypatch, source):
    """Return a list of the compilers' runs."""
    found = []
    real = build.subprocess.run

    def run(command, **options):
        found.append(os.path.basename(command[0]))
        return real(command, **options)

    monkeypatch.setattr(build.subprocess, "run", run)
    return found


@pytest.fixture
def compilers(monkeypatch, tmp_path):
    """Return what makes a script a compiler on PATH, where there is no other."""
    folder = tmp_path / "bin"
    folder.mkdir()
    only_there = SimpleNamespace(which=lambda name: shutil.which(name, path=str(folder)))
    monkeypatch.setattr(build, "shutil", only_there)

    def make(name, script):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    return make


WORKS = f'exec {COMPILER} "$@"'
FAILS = "echo 'In file small.c' >&2; echo 'small.c:7:1: error: \033[31mno such thing' >&2; echo more >&2; exit 1"
load = build.state.__wrapped__  # without the memory of this process


@needs_compiler
@pytest.mark.skipif(os.environ.get("JUMOK_NATIVE") == "0", reason="nobody wants them")
def test_where_there_is_a_compiler_there_are_kernels():
    """Or else their tests would be left out, and nobody would know."""
    assert build.state().library is not None, build.state().told


@needs_compiler
def test_compiled_once_for_each_source_processor_and_flags(runs, source, monkeypatch, tmp_path):
    assert load().told == f"compiled by {COMPILER} for a test"
    assert load().library is not None
    assert len(runs) == 2, "the compiler and the linker"
    monkeypatch.setattr(build, "_processor", lambda: "another")
    load()
    assert len(runs) == 4
    changed = tmp_path / "changed.c"
    changed.write_text("int more(void) { return MORE; }", encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", (source, changed))
    for more in (7, 8):
        monkeypatch.setenv("JUMOK_NATIVE_FLAGS", f"-DMORE={more}")
        assert load().library.more() == more
    assert len(runs) == 4 + 2 * 3


def test_there_are_none_without_a_compiler_or_where_nobody_wants_them(runs, monkeypatch):
    monkeypatch.setenv("JUMOK_NATIVE", "0")
    assert load() == (None, "JUMOK_NATIVE is 0; unset it to use them")
    monkeypatch.delenv("JUMOK_NATIVE")
    monkeypatch.setenv("PATH", "")
    assert load() == (None, "there is no C compiler on PATH (cc, gcc or clang); install one")
    assert not runs


@needs_compiler
def test_where_a_compiler_fails_the_next_is_tried_and_the_first_not_again(runs, compilers):
    compilers("cc", FAILS)
    compilers("clang", WORKS)
    assert load().told.endswith("clang for a test")
    assert runs == ["cc", "clang", "clang"]
    assert load().library is not None
    assert runs == ["cc", "clang", "clang"]


@needs_compiler
def test_a_compiler_that_fails_is_named_with_its_first_error_and_tried_again_once_something_changes(
    runs, compilers, source
):
    compilers("cc", FAILS)
    failed = load()
    assert failed.library is None
    assert failed.told.endswith(
        "/cc failed (small.c:7:1: error: [31mno such thing); install another C compiler (gcc or clang), or let it try "
        "again with jumok cache --clear"
    )
    assert len(runs) == 2, "for this processor, and for any"
    assert load() == failed
    assert len(runs) == 2
    source.write_text(SMALL + "\n", encoding="utf-8")
    load()
    assert len(runs) == 4
    clear_cache()
    load()
    assert len(runs) == 6
    compilers("cc", WORKS + " # mended")
    assert load().library is not None


def test_a_compiler_that_cannot_use_this_processor_compiles_for_any(runs, compilers):
    own = build.THIS_PROCESSOR.get(build.platform.machine())
    if COMPILER is None or own is None:
        pytest.skip("nothing to leave out")
    compilers("cc", f'case "$*" in *{own}*) echo "error: unknown \'{own}\'" >&2; exit 1;; esac\n{WORKS}')
    assert load().library is not None
    assert len(runs) == 3


@needs_compiler
def test_the_compiler_of_cc_is_tried_first(runs, compilers, monkeypatch):
    compilers("cc", WORKS)
    compilers("mine", f"shift; {WORKS}")
    monkeypatch.setenv("CC", "mine --its-own")
    assert load().told.endswith("/mine for a test")
    assert runs == ["mine", "mine"]
    monkeypatch.setenv("CC", '"nobody knows')
    assert load().told.endswith("/cc for a test")


def test_a_full_disk_is_not_held_against_a_compiler(runs, compilers, tmp_path):
    compilers("cc", "echo 'fatal error: error writing to x.s: No space left on device' >&2; exit 1")
    for count in (1, 2):
        assert load().told.startswith(f"the disk of the cache folder {tmp_path / 'cache'} is full")
        assert len(runs) == count


def test_a_compiler_that_takes_for_ever_is_given_up_once(runs, compilers, monkeypatch):
    monkeypatch.setattr(build, "PATIENCE", 0.1)
    compilers("cc", "exec sleep 9")
    for _ in range(2):
        assert "failed (it took longer than 0.1 seconds)" in load().told
        assert len(runs) == 2


@needs_compiler
def test_a_library_that_cannot_be_loaded_is_named(source, compilers):
    compilers(
        "cc", 'for word; do last=$word; done\ncase "$last" in -lm) echo no ELF > kernels.so;; *) : > small.o;; esac'
    )
    assert "failed (its library cannot be loaded: " in load().told
    assert "/proc" not in load().told


@needs_compiler
def test_a_cache_that_cannot_be_written_is_no_failure(source, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "file"))
    assert load().library is None
    assert load().told.startswith("cannot write to the cache folder")


@pytest.fixture
def entry(source, tmp_path):
    """Return the folder of the compiled library."""
    assert load().library is not None
    (folder,) = (tmp_path / "cache").glob("native-*")
    return folder


@needs_compiler
def test_the_library_is_ours_alone_whatever_the_umask(source, tmp_path):
    before = os.umask(0)
    try:
        load()
    finally:
        os.umask(before)
    (folder,) = (tmp_path / "cache").glob("native-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "kernels.so").stat().st_mode) == 0o600


def overwrite(path, content):
    """Write a file anew: what is loaded of the old one must not change under us."""
    path.unlink()
    path.write_bytes(content)


def swap_for_a_link(path):
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


DAMAGE = {
    "empty": lambda folder, library: overwrite(folder / "kernels.so", b""),
    "cut off": lambda folder, library: overwrite(folder / "kernels.so", library[:5000]),
    "one bit": lambda folder, library: overwrite(
        folder / "kernels.so", library[:4000] + bytes([library[4000] ^ 4]) + library[4001:]
    ),
    "gone": lambda folder, library: (folder / "kernels.so").unlink(),
    "no hash": lambda folder, library: (folder / "kernels.sha256").unlink(),
    "another hash": lambda folder, library: (folder / "kernels.sha256").write_text("0" * 64),
    "others may write it": lambda folder, library: (folder / "kernels.so").chmod(0o620),
    "others may write there": lambda folder, library: folder.chmod(0o722),
    "a link": lambda folder, library: swap_for_a_link(folder / "kernels.so"),
    "a folder": lambda folder, library: ((folder / "kernels.so").unlink(), (folder / "kernels.so").mkdir()),
}


@needs_compiler
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_library_is_compiled_again(entry, runs, damage):
    damage(entry, (entry / "kernels.so").read_bytes())
    for _ in range(2):
        assert load().library is not None
        assert len(runs) == 2
    assert stat.S_IMODE(entry.stat().st_mode) == 0o700


@needs_compiler
def test_two_processes_may_meet_a_damaged_library(entry, runs):
    overwrite(entry / "kernels.so", b"")
    found = []
    threads = [threading.Thread(target=lambda: found.append(load())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each.library is not None for each in found)
    assert load().library is not None
    assert len(list(entry.parent.iterdir())) == 1, "nothing is left over"


@needs_compiler
def test_another_user_has_a_library_of_their_own(entry, monkeypatch):
    real = os.geteuid()
    monkeypatch.setattr(
        os, "geteuid", lambda: real + 1
    )  # what we make is not ours, as where a disk turns root into nobody
    told = load().told
    assert told.endswith(" belongs to another user; set JUMOK_CACHE to a folder of yours")
    monkeypatch.setattr("jumok.native.build.check_place", lambda folder: None)
    for _ in range(2):  # as if somebody had put a library where ours would be
        assert load().told.endswith(" belongs to another user; set JUMOK_CACHE to a folder of yours")
    folders = list(entry.parent.iterdir())
    assert len(folders) == 2
    assert entry in folders


@needs_compiler
def test_a_link_in_place_of_the_folder_is_not_followed(entry, runs):
    entry.rename(entry.parent.parent / "moved")
    entry.symlink_to(entry.parent.parent / "moved")
    assert "is a link, and may come to lead to what others wrote; set JUMOK_CACHE" in load().told
    assert not runs


def test_a_disk_without_permissions_or_programs_compiles_nothing(runs, compilers, monkeypatch, tmp_path):
    compilers("cc", WORKS)
    real = os.mkdir
    monkeypatch.setattr(
        os, "mkdir", lambda path, mode=0o777, **more: (real(path, mode, **more), os.chmod(path, 0o777))[0]
    )
    assert "other users may write to " in load().told
    monkeypatch.setattr(os, "mkdir", real)
    noexec = SimpleNamespace(f_flag=8)
    monkeypatch.setattr(os, "ST_NOEXEC", 8, raising=False)
    monkeypatch.setattr(os, "statvfs", lambda path: noexec)
    assert "allows no programs (noexec); set JUMOK_CACHE to a folder of yours on another disk" in load().told
    assert not runs
    assert not list((tmp_path / "cache").iterdir())
