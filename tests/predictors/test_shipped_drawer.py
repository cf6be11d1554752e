"""The drawer inside the package: what it draws is what was said, as the captioner inside the package reads it."""

import re

import numpy as np
import pytest
from cli.conftest import jumok
from PIL import Image

import jumok as library
from jumok.catalogue import SHIPPED
from jumok.data.builtin import relations
from jumok.evaluation.round_trip import score_round_trip
from jumok.evaluation.scenes import score_scenes
from jumok.predictors.drawer import Drawer
from jumok.runs.shipped import SHELF

FOLDER = SHELF / "shapes-drawer"
PROMPT = "a large red circle at the top left, left of a small blue star at the middle right"
SCENES = 64


@pytest.fixture(scope="module")
def drawer():
    return library.load("shapes-drawer")


def size_of(path) -> tuple[int, int]:
    with Image.open(path) as image:
        return image.size


def test_drawings_show_what_was_said(drawer):
    """Issue 23, with room for chance: of 64 drawings, where evaluate's 200 have colour 97, form 98, place 98, count 96."""
    scenes = [relations.scene("val", number) for number in range(SCENES)]
    drawn = drawer.draw([scene.caption for scene in scenes])
    read = library.load("shapes-captioner").caption([one.image for one in drawn])
    scores = score_scenes([relations.parse(text) for text in read], [scene.described for scene in scenes]).overall
    assert scores.colour >= 94
    assert scores.form >= 90
    assert scores.place >= 90
    assert scores.all_right >= 75


def test_a_sentence_may_leave_things_out(drawer):
    """Issue 23's own example names no place; of a hundred such prompts 55 are drawn with all that they ask for."""
    [wanted] = [relations.parse_brief("a large red circle left of a small blue star")]
    drawn = drawer.draw(["a large red circle left of a small blue star"], samples=8, guidance=3.0, seed=1)
    read = [relations.parse(text) for text in library.load("shapes-captioner").caption([one.image for one in drawn])]
    found = score_round_trip(read, [wanted] * len(read))
    assert sum(found.all_right_each) >= 5
    assert found.colour >= 70


def test_the_circle_closes(tmp_path, monkeypatch):
    """Issue 23: jumok draw shapes "…" --out F | jumok caption shapes."""
    monkeypatch.chdir(tmp_path)
    paths = jumok("draw", "shapes", PROMPT, "--samples", 3, "--seed", 1, "--out", "F").out
    assert [size_of(path) for path in paths.splitlines()] == [(64, 64)] * 3
    read = jumok("caption", "shapes", stdin=paths).out
    assert [line.split("\t") for line in read.splitlines()] == [[PROMPT, path] for path in paths.splitlines()]


def test_it_is_small_and_brings_its_codes(drawer):
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 6_000_000
    assert [name for name, entry in SHIPPED.items() if FOLDER.name in (entry.folder, *entry.others)] == [
        "shapes-drawer",
        "shapes",
    ]
    assert library.load("shapes", kind=Drawer).run.folder == FOLDER


def test_given_rows_stay_and_the_rest_is_drawn(drawer):
    """The image codes that ship can read an image, too."""
    image = relations.draw(relations.scene("val", 3), 64)
    (whole,) = drawer.draw(relations.scene("val", 3).caption, complete=(image, 4))
    assert whole.given_rows == 4
    near = np.abs(np.asarray(whole.image)[:24].astype(int) - np.asarray(image)[:24].astype(int)).mean()
    assert near < 12, "the upper part is the image's own"


def test_the_card_shows_what_the_model_really_draws():
    card = (FOLDER / "CARD.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| (an? .*) \| (an? .*) \|$", card, re.MULTILINE)
    assert len(found) == 10
    assert sum(said == read for said, read in found) >= 6, "of evaluate's 200 drawings 84 % are all right"
    for row in ("their reconstructions", "drawings of other prompts"):
        assert row in card
