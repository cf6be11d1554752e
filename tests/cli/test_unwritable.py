"""Disks that are full or read-only, and folders of others: one sentence, and what was there stays as it was."""

import errno
import os
from pathlib import Path

import pytest
from cli.conftest import jumok, listing
from cli.test_bad_input import disk  # noqa: F401 - a fixture

MORE = ("--resume", "--set", "training.steps=5")


def fail(monkeypatch, owner, name, number, *, on):
    """Let a call fail for the paths that `on` picks."""
    real = getattr(owner, name)

    def failing(path, *arguments, **options):
        if on(Path(path), *arguments):
            raise OSError(number, os.strerror(number))
        return real(path, *arguments, **options)

    monkeypatch.setattr(owner, name, failing)


@pytest.fixture
def trained(small):
    run = small.parent / "run"
    assert jumok("train", small, "--out", run).code == 0
    return run


@pytest.mark.parametrize(("number", "told"), [
    (errno.EROFS, "its file system is read-only; mend that, or choose another folder with --out"),
    (errno.EACCES, "permission is denied; mend that, or choose another folder with --out"),
    (errno.ENOSPC, "its disk is full; free some space, or choose another folder with --out"),
])  # fmt: skip
def test_a_run_that_nobody_can_write_does_not_go_on(small, trained, monkeypatch, number, told):
    before = listing(trained)
    with monkeypatch.context() as patch:
        fail(patch, os, "open", number, on=lambda path, flags, *_: trained in path.parents and flags & os.O_CREAT)
        done = jumok("train", small, "--out", trained, *MORE)
    assert done.code == 2
    assert done.err.endswith(f"jumok: the run folder {trained} cannot be written: {told}\n")
    assert listing(trained) == before
    done = jumok("train", small, "--out", trained, *MORE)
    assert done.code == 0, done.err


@pytest.mark.parametrize("name", ["metrics.jsonl", "recipe.toml"])
def test_a_disk_that_is_full_when_a_run_goes_on(small, trained, monkeypatch, name):
    before = listing(trained)
    with monkeypatch.context() as patch:
        fail(patch, Path, "replace", errno.ENOSPC, on=lambda path, target: target == trained / name)
        done = jumok("train", small, "--out", trained, *MORE)
    told = f"jumok: the run folder {trained} cannot be written: its disk is full; free some space, then go on with --resume\n"
    assert done.code == 2
    assert done.err.endswith(told)
    assert listing(trained).keys() == before.keys()
    done = jumok("train", small, "--out", trained, *MORE)
    assert done.code == 0, done.err


def test_a_run_on_a_read_only_disk(small, disk):  # noqa: F811
    run = disk("2m") / "run"
    assert jumok("train", small, "--out", run).code == 0
    disk("2m", "remount", "ro")
    before = listing(run)
    done = jumok("train", small, "--out", run, *MORE)
    assert done.err.endswith(f"jumok: the run folder {run} cannot be written: its file system is read-only; mend that, or "
                             "choose another folder with --out\n")  # fmt: skip
    assert jumok("translate", run, "1 2").code == 0
    assert listing(run) == before


def test_a_page_and_an_image_on_a_read_only_disk(copy_run, disk):  # noqa: F811
    place = disk("1m")
    disk("1m", "remount", "ro")
    for option, name in (("--html", "look.html"), ("--png", "look.png")):
        done = jumok("look", copy_run, "k c a", option, place / name)
        told = f"jumok: {option} {place / name} cannot be written: its file system is read-only; choose another file\n"
        assert (done.code, done.err) == (2, told)


def test_a_page_that_finds_no_room(copy_run, disk):  # noqa: F811
    place = disk("8k")
    (place / "look.html").write_text("mine")
    done = jumok("look", copy_run, "k c a", "--html", place / "look.html")
    told = (
        f"jumok: {place / 'look.html'} cannot be written: its disk is full; free some space, or choose another file\n"
    )
    assert (done.code, done.err) == (2, told)
    assert {path.name: path.read_text() for path in place.iterdir()} == {"look.html": "mine"}


def test_no_folder_of_temporary_files(copy_run, monkeypatch):
    def none():
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._get_default_tempdir", none)
    done = jumok("look", copy_run, "k c a", "--open")
    assert done.code == 2
    assert done.err == (
        "jumok: the folder of temporary files cannot be written: No usable temporary directory found in ['/tmp']; "
        "set TMPDIR to another folder, or give --html FILE\n"
    )


def test_devices_stay_devices(copy_run):
    """As root, a page would once have replaced /dev/null."""
    assert jumok("look", copy_run, "k c a", "--html", "/dev/null").code == 0
    assert jumok("translate", copy_run, "k c a", "--out", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()
