"""METEOR: its own program where it is there, else a sentence."""

import pytest

from jumok.errors import JumokError, MissingExtraError
from jumok.evaluation import meteor as module
from jumok.evaluation.meteor import meteor


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"METEOR needs pycocoevalcap, .* pip install 'jumok\[captions\]'"):
        meteor(["a"], [["a"]])
    (tmp_path / "meteor").mkdir()
    (tmp_path / "meteor" / "meteor-1.5.jar").touch()
    monkeypatch.setattr(module, "find_spec", lambda name: type("Spec", (), {"submodule_search_locations": [tmp_path]}))
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    with pytest.raises(JumokError, match="METEOR needs Java, and there is no command `java`"):
        meteor(["a"], [["a"]])


@pytest.mark.parametrize(
    "program", ["exit 1", "read line; exit 1", "while read line; do echo none; done", "kill -9 $$"]
)
def test_a_program_that_dies_or_says_something_else_is_told(program, monkeypatch, tmp_path):
    """A pipe that breaks here is not that of our own output."""
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\n{program}\n")
    java.chmod(0o755)
    monkeypatch.setattr(module, "find_meteor", lambda: (str(java), tmp_path / "meteor-1.5.jar"))
    with pytest.raises(JumokError, match=r"METEOR's program ended without a score \(.*\); run .*java -jar"):
        meteor(["a dog runs"] * 5000, [["a dog is running"]] * 5000)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # pycocoevalcap leaves its pipes open
def test_it_knows_stems_and_is_pycocoevalcaps():
    theirs = pytest.importorskip("pycocoevalcap.meteor.meteor")
    try:
        found = meteor(["a dog runs", "two men ate."], [["a dog is running"], ["Two men eat", "two people eat"]])
    except JumokError as error:
        pytest.skip(str(error))
    wanted = {0: ["a dog is running"], 1: ["two men eat", "two people eat"]}
    score, _ = theirs.Meteor().compute_score(wanted, {0: ["a dog runs"], 1: ["two men ate"]})
    assert found == pytest.approx(100 * score)
    assert found > 30.0
