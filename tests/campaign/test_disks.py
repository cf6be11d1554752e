"""A share of the bad disks; the shim does what it says; and what goes wrong is noticed."""

import shutil
import subprocess
import sys
from errno import ENOSPC, EROFS

import pytest

from campaign import disks
from campaign.disks import SHIM, Call, unsynced

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not shutil.which("cc"), reason="needs Linux and a C compiler"
)

WRITER = """
import os, sys
from pathlib import Path

folder, log = Path(sys.argv[1]), []
def attempt(number, act):
    os.environ["SHIM_AT"] = str(number)
    try:
        act()
        log.append("-")
    except OSError as error:
        log.append(str(error.errno))
(folder / "old").write_text("x")
os.environ |= {"SHIM_UNDER": f"{folder}/", "SHIM_ERRNO": sys.argv[2]}
if sys.argv[3]:
    os.environ["SHIM_ONCE"] = "1"
attempt(3, lambda: (folder / "a").write_text("x"))  # 1: open, 2: write
attempt(3, lambda: (folder / "b").mkdir())  # 3
attempt(3, lambda: (folder / "c").symlink_to("a"))  # 4
attempt(3, lambda: (folder / "old").rename(folder / "new"))
attempt(3, lambda: (folder / "new").unlink())
attempt(3, lambda: (folder.parent / "beside").write_text("x"))
print(" ".join(log))
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, SHIM, "-ldl"], check=True)
    return library


@pytest.mark.parametrize(
    ("error", "once", "wanted"),
    [
        (ENOSPC, "", f"- {ENOSPC} {ENOSPC} - - -"),  # a full disk lets rename and remove
        (ENOSPC, "1", f"- {ENOSPC} - - - -"),
        (EROFS, "", f"- {EROFS} {EROFS} {EROFS} {EROFS} -"),
    ],
)
def test_the_shim_is_a_bad_disk(shim, tmp_path, error, once, wanted):
    (tmp_path / "disk").mkdir()
    done = subprocess.run(
        [sys.executable, "-S", "-c", WRITER, tmp_path / "disk", str(error), once],
        env={"LD_PRELOAD": str(shim)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == wanted


def test_a_share():
    rows = disks.campaign(share=0.02, seed=3)
    assert sum(row.cases for row in rows) >= 3
    assert [row for row in rows if row.failures] == []


def test_without_a_compiler_they_are_left_out(monkeypatch):
    monkeypatch.setattr(disks.shutil, "which", lambda name: None)
    [row] = disks.campaign(share=1.0, seed=1)
    assert (row.cases, row.note) == (0, "skipped: they need Linux and a C compiler")


class FakeCommand:
    """A command that has ended."""

    def __init__(self, code, err):
        self.code, self.err = code, err

    def wait(self, longest):
        return self.code


@pytest.mark.parametrize(
    ("code", "err", "wrong"),
    [
        (0, "", ""),
        (2, "jumok: the disk is full", ""),
        (2, "", "exit code 2"),
        (1, "Traceback (most recent call last)", "a traceback"),
        (141, "", "exit code 141"),
    ],
)
def test_ends_that_are_none_are_noticed(code, err, wrong):
    case = disks.Case(disks.WORKS[0], None, "1")
    case._look_at(FakeCommand(code, err), "full")
    assert [wrong in told for told in case.wrong] == [True] * bool(wrong)


def test_what_gets_its_name_before_it_is_synced_is_noticed():
    """As safetensors writes: to another name first, in a folder that has not got its own yet."""
    calls = [
        Call("open", 1, ".new/.x"), Call("write", 1, ".new/.x"), Call("write", 2, ".new/b"), Call("fsync", 2, ".new/b"),
        Call("fsync", 1, ".new/a"), Call("rename", 3, ".new"), Call("to", 0, "new"), Call("write", 4, "log"),
    ]  # fmt: skip
    assert unsynced(calls) == (1, 0, "")
    for file, name in ((1, ".new/.x"), (2, ".new/b")):
        assert unsynced([call for call in calls if call[:2] != ("fsync", file)]) == (1, 1, name)
    assert unsynced([Call("write", 1, ".x"), Call("rename", 1, ".x"), Call("to", 0, "x")]) == (1, 1, ".x")
