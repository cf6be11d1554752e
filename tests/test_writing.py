"""Writing: a file is whole or as it was, with the mode that it should have, and a failure is one sentence."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from jumok import writing
from jumok.errors import ConfigError, DataError, RunError
from jumok.writing import (
    ANOTHER_PLACE,
    PART,
    RESUME,
    check_can_write,
    explained,
    remove_parts,
    whole_file,
    whole_folder,
    write_bytes,
    write_text,
)

CALLS = [  # every call to the system on the way, in the order of their first use
    (os, "open"),
    (Path, "write_bytes"),
    (Path, "chmod"),
    (os, "fsync"),
    (Path, "replace"),
]
ERRORS = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO]


def refuse(monkeypatch, owner, name, number):
    """Let a call to the system fail."""

    def failing(*arguments, **options):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(owner, name, failing)


def begin(whole, *, fails=None, inside=""):
    """Write into what is to become whole, and perhaps fail there."""
    with whole as path:
        if inside:
            path.mkdir()
        (path / inside).write_text("half")
        if fails:
            raise fails


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("number", ERRORS, ids=errno.errorcode.get)
@pytest.mark.parametrize(("owner", "name"), CALLS, ids=[name for _, name in CALLS])
def test_a_failure_at_any_call_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, umask, owner, name, number):
    umask(0o022)
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o666)  # which the umask would not give: chmod is needed
    refuse(monkeypatch, owner, name, number)
    with pytest.raises(DataError, match=r"/file cannot be written: .*; .*choose another file"):
        write_bytes(file, b"new", durable=True)
    monkeypatch.undo()
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_last_step_alone_may_fail_when_the_file_is_there(tmp_path, monkeypatch):
    """The folder cannot be put on the disk: the file has its name and is whole."""
    synced = []

    def full(path, *others):
        synced.append(path)
        if path == tmp_path:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(writing, "put_on_disk", full)
    with pytest.raises(DataError, match="cannot be written: Input/output error; choose another file"):
        write_bytes(tmp_path / "file", b"new", durable=True)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [path.name[-len(PART) :] for path in synced] == [PART, tmp_path.name[-len(PART) :]]


def test_the_clean_up_does_not_hide_why(tmp_path, monkeypatch):
    """A disk that has become read-only lets nothing be removed either."""
    refuse(monkeypatch, Path, "write_bytes", errno.ENOSPC)
    refuse(monkeypatch, Path, "unlink", errno.EROFS)
    with pytest.raises(
        DataError, match=r"file cannot be written: its disk is full; free some space, or choose another"
    ):
        write_text(tmp_path / "file", "new")


@pytest.mark.parametrize(("number", "told"), [
    (errno.ENOSPC, "its disk is full; free some space, or choose another file"),
    (errno.EDQUOT, "your quota of its disk is used up; free some space, or choose another file"),
    (errno.EROFS, "its file system is read-only; choose another file"),
    (errno.EACCES, "permission is denied; choose another file"),
    (errno.EPERM, "permission is denied; choose another file"),
    (errno.EIO, "Input/output error; choose another file"),
])  # fmt: skip
def test_each_reason_has_its_words(tmp_path, monkeypatch, number, told):
    refuse(monkeypatch, Path, "write_bytes", number)
    with pytest.raises(DataError) as caught:
        write_text(tmp_path / "file", "new", name="--html file")
    assert str(caught.value) == f"--html file cannot be written: {told}"


def test_names_that_no_file_can_have(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to("circle")
    for path, told in (
        (tmp_path, "it is a folder"),
        (tmp_path / "none" / "file", f"there is no folder {tmp_path}/none"),
        (tmp_path / "file" / "file", f"{tmp_path}/file is no folder"),
        (tmp_path / ("x" * 300), "its name is too long"),
        (tmp_path / "circle", "its links lead in a circle"),
    ):
        with pytest.raises(ConfigError) as caught:
            write_text(path, "new", ANOTHER_PLACE)
        assert str(caught.value) == f"{path} cannot be written: {told}; choose another place"


def test_the_longest_name_can_be_written(tmp_path):
    for name in ("x" * 255, "한" * 85):
        write_text(tmp_path / name, "new")
        assert (tmp_path / name).read_text() == "new"


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_new_file_has_the_mode_that_the_umask_gives_and_an_old_one_keeps_its_own(tmp_path, umask, mask):
    umask(mask)
    new, old = tmp_path / "new", tmp_path / "old"
    old.touch()
    for wanted in (0o600, 0o664):
        old.chmod(wanted)
        write_text(old, "text")
        assert mode(old) == wanted
    write_text(new, "text")
    assert mode(new) == 0o666 & ~mask


def test_what_is_private_is_private_from_the_beginning(tmp_path, umask):
    umask(0o022)
    (tmp_path / "file").touch(0o600)
    with whole_file(tmp_path / "file") as part:
        assert mode(part) == 0o600


def test_a_library_may_put_a_file_of_its_own_there(tmp_path, umask):
    umask(0o022)
    with whole_file(tmp_path / "file") as part:
        (tmp_path / "theirs").write_text("new")
        (tmp_path / "theirs").chmod(0o600)
        (tmp_path / "theirs").replace(part)
    assert mode(tmp_path / "file") == 0o644


def test_an_error_of_the_caller_or_ctrl_c_leaves_the_old_file(tmp_path):
    (tmp_path / "file").write_text("old")
    for error in (KeyError, KeyboardInterrupt):
        with pytest.raises(error):
            begin(whole_file(tmp_path / "file"), fails=error)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_links_are_followed_and_stay(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere/file")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "file").read_text() == "new"


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    heard = []
    reader = threading.Thread(target=lambda: heard.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    write_text(tmp_path / "pipe", "new")
    reader.join(timeout=10)
    assert heard == ["new"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_reader_that_left_is_no_failure_of_the_disk(tmp_path):
    with pytest.raises(BrokenPipeError), explained(tmp_path):
        raise BrokenPipeError


def test_before_the_work_it_is_known_whether_a_file_can_be_written(tmp_path, monkeypatch):
    check_can_write(tmp_path / "page.html", "--html")
    assert not list(tmp_path.iterdir())
    for path in (tmp_path, tmp_path / "no" / "page.html"):
        with pytest.raises(ConfigError, match=f"--html {path}: must be a file in a folder that exists"):
            check_can_write(path, "--html")
    refuse(monkeypatch, os, "open", errno.EROFS)
    with pytest.raises(DataError, match=r"^--html .*page.html cannot be written: its file system is read-only; choose"):
        check_can_write(tmp_path / "page.html", "--html")


def test_a_folder_is_whole_or_not_there(tmp_path, monkeypatch):
    target = tmp_path / "export"
    for error in (KeyError, KeyboardInterrupt):
        with pytest.raises(error):
            begin(whole_folder(target), fails=error, inside="a")
    with monkeypatch.context() as patch:
        refuse(patch, os, "fsync", errno.ENOSPC)
        with pytest.raises(RunError, match=r"export cannot be written: its disk is full; free some space, or choose"):
            begin(whole_folder(target), inside="a")
    assert not list(tmp_path.iterdir())
    (tmp_path / ".export.new").mkdir()  # left by a kill
    begin(whole_folder(target), inside="a")
    assert [path.name for path in tmp_path.rglob("*")] == ["export", "a"]


def test_what_a_kill_left_is_removed_and_nothing_else(tmp_path):
    for name in (f".run.json.1a2b3c4d{PART}", ".hidden", "mine.part"):
        (tmp_path / name).touch()
    remove_parts(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".hidden", "mine.part"}
    with pytest.raises(RunError, match="then go on with --resume"), explained(tmp_path, RESUME):
        raise OSError(errno.EROFS, "")


def test_what_is_open_already_is_written_as_it_is(tmp_path):
    """`--out /dev/stdout > file`: the shell's file must not be replaced behind its back."""
    with (tmp_path / "file").open("w+b") as file:
        for name in (f"/dev/fd/{file.fileno()}", f"/proc/self/fd/{file.fileno()}"):
            write_text(name, "new")
            assert (tmp_path / "file").stat().st_ino == os.fstat(file.fileno()).st_ino
            assert (tmp_path / "file").read_text() == "new"
