"""The set `stdlib`: Python's own prose, the same each time, in splits that do not overlap."""

import hashlib
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from jumok.data.builtin import stdlib
from jumok.data.builtin.stdlib import SHORTEST, all_documents

SPLITS = ("train", "val", "test")
PROGRAM = """
import hashlib
from jumok.data.builtin.stdlib import all_documents
print(hashlib.sha256("\\0".join(all_documents()).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def read():
    """Return the files that were read to make the set."""
    files, original = [], Path.read_text

    def note(path, *arguments, **options):
        files.append(path)
        return original(path, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_text", note)
        all_documents.cache_clear()
        assert all_documents()
    return files


def test_it_is_prose_enough_for_a_first_try(read):
    documents = all_documents()
    assert len(documents) > 1000
    assert sum(map(len, documents)) > 300_000
    assert len(set(documents)) == len(documents)
    for text in documents:
        assert len(text) >= SHORTEST
        assert text == text.strip() + "\n"
        assert " \n" not in text
    assert any(text.startswith("The Zen of Python") and "Beautiful is better than ugly." in text for text in documents)


def test_every_document_is_in_exactly_one_split(read):
    parts = {split: stdlib.documents(split) for split in SPLITS}
    assert sorted(text for part in parts.values() for text in part) == sorted(all_documents())
    shares = {split: len(part) / len(all_documents()) for split, part in parts.items()}
    assert shares["val"] == pytest.approx(0.04, abs=0.015)
    assert shares["test"] == pytest.approx(0.04, abs=0.015)


def test_nothing_is_read_that_is_not_pythons_own(read):
    home = Path(sysconfig.get_path("stdlib"))
    assert len(read) > 300
    for path in read:
        assert path.is_relative_to(home) or path == Path(sys.base_prefix) / "LICENSE.txt"
        assert not {"site-packages", "dist-packages"} & set(path.parts)


def test_another_process_in_another_folder_finds_the_same(read, tmp_path):
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, cwd=tmp_path, check=True
    )
    assert found.stdout.strip() == hashlib.sha256("\0".join(all_documents()).encode()).hexdigest()
    assert found.stderr == ""  # importing the Zen would print it


def test_docstrings_of_every_depth_are_found_and_other_folders_left_alone(tmp_path, monkeypatch):
    def doc(name):
        return f"{name}: {'words ' * 20}".strip()

    files = {
        "this.py": f's = """{doc("mra")}"""',
        "a.py": f'"""{doc("module")}"""\nclass A:\n  """{doc("class")}"""\n  def f(self):\n    """{doc("method")}"""\n',
        "pack/b.py": f'async def g():\n    """{doc("waiting")}   \n    {doc("second")}"""\n',
        "pack/_hidden.py": f'"""{doc("hidden")}"""',
        "site-packages/c.py": f'"""{doc("foreign")}"""',
        "dist-packages/d.py": f'"""{doc("foreign")}"""',
        "test/e.py": f'"""{doc("test")}"""',
        "broken.py": "def (:",
        "short.py": '"""Too short."""',
        "zdouble.py": f'"""{doc("module")}"""',
        "LICENSE.txt": doc("licence"),
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "latin.py").write_bytes(f'"""{doc("schön")}"""'.encode("latin-1"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    found = all_documents.__wrapped__()
    assert [text.split(":")[0] for text in found] == ["zen", "licence", "module", "class", "method", "waiting"]
    assert found[-1] == f"{doc('waiting')}\n{doc('second')}\n"
