"""The three ways of a stranger, typed from an empty folder: in Korean, with data of one's own, from a notebook.

Here with few steps, and torch is read once for all commands (warm.py); the slow ones train as the recipes say, and each
command starts by itself: pytest -m slow tests/ways -s shows their tables.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

WAYS = Path(__file__).parent
FEW_STEPS = "--set training.steps=4 --set training.evaluate_every=4 --set training.evaluate_sentences=4 --set training.workers=1"


def environment(**variables):
    """Return the variables of a way; it finds jumok here."""
    path = os.pathsep.join(filter(None, [str(WAYS.parents[1]), os.environ.get("PYTHONPATH", "")]))
    given = {"JUMOK": f"{sys.executable} -m jumok", "PYTHON": sys.executable, "PYTHONPATH": path}
    return os.environ | given | variables


def walk(command, folder, **variables):
    """Run a way in a folder; return what it printed."""
    done = subprocess.run(
        command, cwd=folder, env=environment(**variables), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    return done.stdout


@pytest.fixture(scope="module")
def warm():
    """The command `jumok`, forked from a process that has read torch."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # the path of a socket must be short
        command = [sys.executable, WAYS / "warm.py", f"{folder}/jumok"]
        with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE) as server:
            assert server.stdout.readline() == b"ready\n"
            yield " ".join(map(str, command))
            server.terminate()


def test_in_korean(warm, tmp_path):
    table = walk(["bash", WAYS / "korean.sh"], tmp_path, JUMOK=warm, QUICK=FEW_STEPS)
    assert len(re.findall(r"^\S.* +\d+ +\d+\.\d$", table, re.MULTILINE)) == 4


def test_with_data_of_ones_own(warm, tmp_path):
    """Three kinds; tests/cli/test_cli_new.py has all, in one process."""
    way = ["bash", WAYS / "own_data.sh", "reviews_csv", "photos", "novel_txt"]
    table = walk(way, tmp_path, JUMOK=warm, QUICK=FEW_STEPS)
    assert re.findall(r"^(\w+) +4 +\d+\.\d$", table, re.MULTILINE) == ["reviews_csv", "photos", "novel_txt"]


def test_from_a_notebook(tmp_path):
    walk([sys.executable, WAYS / "notebook.py", tmp_path], tmp_path, STEPS="4")


@pytest.mark.parametrize("broken", ["jumok translate ko-en", "says nonsense", "has nothing.html"])
def test_a_way_fails_where_a_step_does(broken, tmp_path):
    script = f'. "{WAYS / "way.sh"}"\nSAID=well\n{broken} < /dev/null\necho went on\n'
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "FAILED: " in done.stderr
    assert "went on" not in done.stdout


@pytest.mark.slow
def test_in_korean_to_the_end(tmp_path):
    walk(["bash", WAYS / "korean.sh"], tmp_path)


@pytest.mark.slow
def test_with_data_of_ones_own_to_the_end(tmp_path):
    assert len(walk(["bash", WAYS / "own_data.sh"], tmp_path).splitlines()) == 10


@pytest.mark.slow
def test_from_a_notebook_to_the_end(tmp_path):
    walk([sys.executable, WAYS / "notebook.py", tmp_path], tmp_path)
