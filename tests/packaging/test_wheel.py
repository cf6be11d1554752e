"""The wheel by itself: small, complete, and it translates from an empty folder, far from the clone."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import jumok

ROOT = Path(__file__).parents[2]
QUESTION, ANSWER = "넌 누구니?", "Who are you?"
LARGEST = 30_000_000  # bytes of the wheel


def run(*command, folder):
    """Run a command in a folder, as a user would whose shell knows nothing of the clone; return its output."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the folder of the sdist and of the wheel made from it, as `make wheel` builds them."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, cwd=folder, capture_output=True, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    """Return the wheel."""
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return the programs of an environment with the wheel in it; it sees the tests' libraries, and not the clone."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    programs = home / "bin"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        programs / "python",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
    ]
    run(*pip, "--disable-pip-version-check", wheel, folder=home)
    # A path named in a .pth file is searched for packages; .pth files inside it, such as the clone's, are not read.
    libraries = sysconfig.get_paths(vars={"base": home, "platbase": home})["purelib"]
    (Path(libraries) / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return programs


def test_the_wheel_is_small_and_has_its_licences(wheel):
    assert wheel.name == f"jumok-{jumok.__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < LARGEST
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.rpartition("/")[2] for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}
    assert {name.partition("/")[0].removesuffix(f"-{jumok.__version__}.dist-info") for name in names} == {"jumok"}


def test_the_wheel_has_every_file_of_the_package(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("jumok/")}
    files = {path for path in (ROOT / "jumok").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert inside == {path.relative_to(ROOT).as_posix() for path in files}


def test_the_sdist_has_what_its_tests_need(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        inside = {name.partition("/")[2] for name in opened.getnames()}
    needed = ["README.md", "README.ko.md", "CONTRIBUTING.md", "CHANGELOG.md", "NOTICE", "Makefile", "constraints.txt"]
    assert {*needed, "docs/look.ipynb", "docs/architecture.md", "tools/tree.py", "tests/conftest.py"} <= inside
    tests = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")}
    assert tests <= inside


def test_it_translates_from_an_empty_folder(installed, tmp_path):
    where = run(installed / "python", "-c", "import jumok; print(jumok.__file__)", folder=tmp_path)
    assert Path(where).is_relative_to(installed.parent)
    assert run(installed / "python", "-m", "jumok", "translate", "ko-en", QUESTION, folder=tmp_path) == ANSWER
    assert run(installed / "jumok", "translate", "ko-en", QUESTION, folder=tmp_path) == ANSWER
    assert not list(tmp_path.iterdir()), "it leaves nothing behind"


def test_the_module_and_the_script_are_one_command(installed, tmp_path):
    module = run(installed / "python", "-m", "jumok", "--version", folder=tmp_path)
    script = run(installed / "jumok", "--version", folder=tmp_path)
    assert module == script == f"jumok {jumok.__version__}"
    shown = run(installed / "python", "-m", "jumok", "translate", "--help", folder=tmp_path)
    assert "Usage: jumok translate" in shown


@pytest.mark.slow
def test_it_installs_with_its_dependencies_into_an_empty_environment(wheel, tmp_path):
    home, empty = tmp_path / "environment", tmp_path / "empty"
    empty.mkdir()
    venv.create(home, with_pip=True)
    run(home / "bin" / "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel, folder=empty)
    run(home / "bin" / "pip", "check", folder=empty)
    assert run(home / "bin" / "jumok", "translate", "ko-en", QUESTION, folder=empty) == ANSWER
    assert "dates-transformer" in run(home / "bin" / "jumok", "list", folder=empty)
