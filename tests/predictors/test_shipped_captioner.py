"""The captioner inside the package: it says what is there, and each word looks at the object it names."""

import re

import pytest
import torch
from cli.conftest import jumok

import jumok as library
from jumok.catalogue import SHIPPED
from jumok.data.builtin import relations
from jumok.evaluation.scenes import score_scenes
from jumok.inspection.pointing import mass_inside
from jumok.runs.shipped import SHELF

FOLDER = SHELF / "shapes-captioner"
SCENES = 100

pytestmark = pytest.mark.skipif(
    not (FOLDER / "CARD.md").is_file(), reason="jumok/shipped/shapes-captioner is not packed yet"
)


@pytest.fixture(scope="module")
def captioner():
    return library.load(FOLDER)


@pytest.fixture(scope="module")
def scenes():
    return [relations.scene("val", number) for number in range(SCENES)]


def pointing_at(captioner, scene) -> dict[str, list[float]]:
    """Return, of form and colour words, how many times more attention falls into the object's box than chance would.

    The words are the scene's own: whatever the model would have said, each has the box of the object that it names.
    """
    explanation = captioner.explain(relations.draw(scene, captioner.task.data.size), target=scene.caption).in_words()
    heat, words = explanation.word_heat(), explanation.word_heat().words
    found: dict[str, list[float]] = {"form": [], "colour": []}
    for trait, ratios in found.items():
        said = [getattr(thing, trait) for thing in scene.things]
        names = {getattr(thing, trait) for thing in scene.things}
        places = [place for place, word in enumerate(words) if word.strip(",") in names]
        assert [words[place].strip(",") for place in places] == said
        ratios += mass_inside(heat.heat[places], [thing.box for thing in scene.things]).ratio.tolist()
    return found


def test_words_point_at_what_they_name(captioner, scenes):
    """Issue 21, claim 2: at form and colour words at least three times the mass that the box's area has."""
    found = [pointing_at(captioner, scene) for scene in scenes]
    for trait in ("form", "colour"):
        ratios = torch.tensor([ratio for scene in found for ratio in scene[trait]])
        assert float(ratios.mean()) >= 3.0, f"{trait} words: {float(ratios.mean()):.2f} × on average"
        assert float(ratios.median()) >= 3.0, f"{trait} words: {float(ratios.median()):.2f} × in the middle"


def test_objects_are_named_right(captioner, scenes):
    written = captioner.caption([relations.draw(scene) for scene in scenes])
    scores = score_scenes([relations.parse(text) for text in written], [scene.described for scene in scenes]).overall
    assert scores.form >= 97
    assert scores.colour >= 99
    assert scores.place >= 95
    assert scores.all_right >= 75


def test_the_card_shows_what_the_model_really_writes(captioner):
    card = (FOLDER / "CARD.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| relations val (\d+) \| (.*) \| (.*) \|$", card, re.MULTILINE)
    assert len(found) == 10
    drawn = [relations.scene("val", int(number)) for number, *_ in found]
    assert [scene.caption for scene in drawn] == [reference for _, reference, _ in found]
    written = captioner.caption([relations.draw(scene) for scene in drawn])
    equal = sum(ours == card for ours, (*_, card) in zip(written, found, strict=True))
    assert equal >= 9, "another processor may round another way once"
    for row in ("one constant caption", "captions of the nearest images"):
        assert row in card


def test_it_is_small_and_needs_nothing_else(captioner):
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 2_000_000
    assert captioner.task.components == {}
    assert [name for name, entry in SHIPPED.items() if entry.folder == FOLDER.name] == ["shapes-captioner", "shapes"]


@pytest.mark.parametrize("name", ["shapes", "shapes-captioner"])
def test_both_names_work_at_once(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = jumok("sample", "shapes", "image.png", "--captions").out.strip().partition(": ")[2]
    written = jumok("caption", name, "image.png").out.strip()
    assert written == told
    done = jumok("look", name, "image.png", "--html", "page.html", "--png", "strip.png")
    assert done.code == 0, done
    assert written in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (tmp_path / "strip.png").stat().st_size > 1000
