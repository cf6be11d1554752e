"""What was checked is what is loaded, whatever stands there a moment later."""

import os
import sys

import pytest

from jumok.native import sealed


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a sealed library, in a cache that is ours."""
    place = tmp_path / "cache" / "native-x"
    place.mkdir(mode=0o700, parents=True)
    place.parent.chmod(0o700)
    (place / sealed.LIBRARY).write_bytes(b"what we compiled")
    sealed.seal(place)
    return place


@pytest.mark.skipif(sys.platform != "linux", reason="only there a file can be loaded without its name")
def test_what_was_checked_stays_open(folder):
    path = sealed.opened(folder)
    folder.rename(folder.parent / "away")
    folder.mkdir()
    (folder / sealed.LIBRARY).write_bytes(b"what others put there")
    assert path.read_bytes() == b"what we compiled"


def test_no_two_libraries_have_the_same_name(folder):
    paths = {sealed.opened(folder) for _ in range(3)}
    assert len(paths) == (3 if sys.platform == "linux" else 1)


def test_without_proc_the_name_serves_where_nobody_can_change_what_it_stands_for(folder, monkeypatch):
    def none(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "readlink", none)
    assert sealed.opened(folder) == folder / sealed.LIBRARY
    folder.parent.chmod(0o770)
    with pytest.raises(
        sealed.PlaceError, match=r"other users may write to .*cache; set JUMOK_CACHE to a folder of yours"
    ):
        sealed.opened(folder)


def test_nothing_stays_open_where_it_is_refused(folder):
    (folder / sealed.LIBRARY).write_bytes(b"changed")
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(sealed.DamageError):
        sealed.opened(folder)
    assert len(os.listdir("/dev/fd")) == before
