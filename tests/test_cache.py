"""The cache: an entry is built once, whole or not at all; keys tell apart what differs; nothing of others is deleted."""

import errno
import os
import pwd
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from jumok.cache import (
    MARKER,
    _synced,
    cache_entries,
    cache_key,
    cache_root,
    cache_size,
    cached_folder,
    clear_cache,
    discard,
)
from jumok.data.corpora import data_folders
from jumok.data.fetch import data_home
from jumok.errors import DataError


def test_a_key_is_a_kind_and_a_hash_of_everything():
    key = cache_key("pairs", ["a", 1], {"x": 1, "y": Path("z")})
    assert key.startswith("pairs-")
    assert len(key) == len("pairs-") + 32
    assert key == cache_key("pairs", ["a", 1], {"y": Path("z"), "x": 1}, format=1), "the order of names is nothing"
    others = [
        cache_key("text", ["a", 1], {"x": 1, "y": Path("z")}),
        cache_key("pairs", ["a", 1], {"x": 1, "y": Path("z")}, format=2),
        cache_key("pairs", ["a"], [1], {"x": 1, "y": Path("z")}),
        cache_key("pairs", ["a", "1"], {"x": 1, "y": Path("z")}),
    ]
    assert len({key, *others}) == 5


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_root_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("JUMOK_CACHE", "/x/y")
    assert str(cache_root()) == "/x/y"
    monkeypatch.delenv("JUMOK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/z")
    assert str(cache_root()) == "/z/jumok"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_root() == tmp_path / ".cache" / "jumok"


@pytest.fixture
def homeless(monkeypatch, tmp_path):
    """Be a user without a home: no HOME, and no entry among the system's users."""

    def nobody(number):
        raise KeyError(f"getpwuid(): uid not found: {number}")

    for name in ("HOME", "JUMOK_CACHE", "XDG_CACHE_HOME", "JUMOK_DATA_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"jumok-{os.getuid()}"


def test_without_a_home_it_is_a_folder_of_ours_among_temporary_files(homeless):
    for _ in range(2):
        assert cache_root() == homeless
    assert stat.S_IMODE(homeless.stat().st_mode) == 0o700
    assert homeless.stat().st_uid == os.getuid()
    assert data_folders(None, "multi30k"), "where nothing was fetched other places are looked into"
    with pytest.raises(DataError, match="set JUMOK_DATA_HOME"):
        data_home()


@pytest.mark.parametrize("trap", ["open to others", "a link", "a file", "another's"])
def test_but_none_that_others_made_or_may_write(trap, homeless, tmp_path, monkeypatch):
    if trap == "open to others":
        homeless.mkdir()
        homeless.chmod(0o755)
    elif trap == "a link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        homeless.symlink_to(tmp_path / "theirs")
    elif trap == "a file":
        homeless.touch(mode=0o600)
    else:
        homeless.mkdir(mode=0o700)
        monkeypatch.setattr(os, "getuid", lambda: 54_321)
        homeless.rename(tmp_path / f"jumok-{os.getuid()}")
    with pytest.raises(
        DataError, match=r"this user has no home folder for the cache, and .*; set JUMOK_CACHE to a folder"
    ):
        cache_root()


def test_an_entry_is_built_once(root):
    calls = []

    def make(folder):
        calls.append(folder)
        (folder / "x").write_bytes(b"12345")

    assert cached_folder("key", make) == cached_folder("key", make) == root / "key"
    assert len(calls) == 1
    assert (root / "key" / "x").read_bytes() == b"12345"
    assert [entry.name for entry in cache_entries()] == ["key"]
    assert cache_entries()[0].size == cache_size() >= 5


def test_a_failed_build_leaves_nothing(root):
    def fail(folder):
        (folder / "half").write_text("half")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        cached_folder("key", fail)
    assert list(root.iterdir()) == []


def test_an_entry_is_on_the_disk_before_it_has_its_name(root, monkeypatch):
    done = []
    rename = os.rename
    monkeypatch.setattr("jumok.cache._synced", lambda path: (done.append(path.name), _synced(path)))
    monkeypatch.setattr(os, "rename", lambda old, new: (done.append("renamed"), rename(old, new)))

    def make(folder):
        (folder / "deep").mkdir()
        (folder / "deep" / "x").write_text("whole")
        (folder / "away").symlink_to("nowhere")

    cached_folder("key", make)
    assert {MARKER, "deep", "x"} < set(done[: done.index("renamed")])
    assert done.index("x") < done.index("deep")
    assert done[-3].startswith(".building-key")
    assert done[-2:] == ["renamed", "cache"]


def test_a_root_that_we_make_is_ours_alone_and_one_that_is_there_stays_as_it_is(root):
    before = os.umask(0o002)
    try:
        for mode, expected in ((0o777, 0o775), (0o700, 0o700)):
            folder = cached_folder(f"key-{mode:o}", lambda folder: None, mode=mode)
            assert folder.stat().st_mode & 0o777 == expected
        assert root.stat().st_mode & 0o777 == 0o700
        root.chmod(0o775)
        cached_folder("other", lambda folder: None)
        assert root.stat().st_mode & 0o777 == 0o775
    finally:
        os.umask(before)


def test_a_discarded_entry_is_built_anew(root):
    for content in ("one", "two"):
        folder = cached_folder("key", lambda folder, content=content: (folder / "x").write_text(content) and None)
        assert (folder / "x").read_text() == content
        discard(folder)
        discard(folder)  # by another process
        assert list(root.iterdir()) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_says_which_and_what_to_do(root, code):
    def fill(folder):
        (folder / "half").write_text("half")
        raise OSError(code, os.strerror(code))

    with pytest.raises(DataError) as error:
        cached_folder("key", fill)
    for part in (str(root), "is full", "jumok cache --clear", "JUMOK_CACHE"):
        assert part in str(error.value)
    assert list(root.iterdir()) == []


def test_other_errors_are_not_called_a_full_disk(root):
    def fail(folder):
        raise OSError(errno.EIO, "broken")

    with pytest.raises(OSError, match="broken"):
        cached_folder("key", fail)
    root.rmdir()
    root.write_text("a file")
    with pytest.raises(DataError, match="cannot write to the cache folder"):
        cached_folder("key", fail)


def test_two_builders_at_once_end_with_one_whole_entry(root):
    meeting = threading.Barrier(2, timeout=10)
    results = []

    def make(folder):
        meeting.wait()  # both are building now
        (folder / "x").write_text("whole")

    threads = [threading.Thread(target=lambda: results.append(cached_folder("key", make))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [root / "key"] * 2
    assert (root / "key" / "x").read_text() == "whole"
    assert [path.name for path in root.iterdir()] == ["key"]


def test_clearing_deletes_what_is_ours_and_nothing_else(root, tmp_path):
    cached_folder("key", lambda folder: (folder / "x").write_bytes(b"12345") and None)
    (root / "mine").mkdir()
    (root / "mine" / "precious").write_text("keep")
    (root / "note.txt").write_text("keep")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / MARKER).write_text("")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for process in (ended.pid, os.getpid()):  # left by a killed process, and one at work now
        left = root / f".building-key-{process}-00"
        left.mkdir()
        (left / MARKER).write_text("")
    assert clear_cache() >= 5
    assert sorted(path.name for path in root.iterdir()) == sorted(
        [f".building-key-{os.getpid()}-00", "link", "mine", "note.txt"]
    )
    assert (tmp_path / "elsewhere" / MARKER).exists()
    assert cache_entries() == []


def test_a_cache_that_was_never_used_is_empty(root):
    assert (cache_entries(), cache_size(), clear_cache()) == ([], 0, 0)
