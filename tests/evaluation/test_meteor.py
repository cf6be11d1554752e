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
