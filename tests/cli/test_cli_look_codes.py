"""`jumok look` and `jumok evaluate` at image codes: what is shown where, and what is refused in a sentence."""

import json
import shutil

import pytest
from cli.conftest import jumok, refusal
from PIL import Image

from jumok.api import load, sample_images


@pytest.fixture
def images(tmp_path):
    sample_images("shapes", tmp_path / "images", number=2, captions=True)
    return sorted((tmp_path / "images").glob("*.png"))


def test_piped_it_prints_the_numbers_of_codes(codes_run, images):
    lines = jumok("look", codes_run, images[0]).out.splitlines()
    assert lines[0].startswith(f"{images[0]}: PSNR ")
    assert " different codes of 60" in lines[0]
    codes = load(codes_run).recode(images[0]).codes
    assert [list(map(int, line.split())) for line in lines[1:]] == codes.tolist()


def test_as_json_each_image_is_a_line(codes_run, images):
    told = [json.loads(line) for line in jumok("look", codes_run, *images, "--json").out.splitlines()]
    assert [one["image"] for one in told] == list(map(str, images))
    assert told[0]["levels"] == [5, 4, 3]
    assert len(told[1]["codes"]) == 4
    folder = jumok("look", codes_run, images[0].parent, "--json").out.splitlines()
    assert [json.loads(line) for line in folder] == told


def test_a_page_and_a_png_of_several_images_and_runs(codes_run, images, tmp_path):
    other = shutil.copytree(codes_run, tmp_path / "other", symlinks=True)
    found = jumok("look", codes_run, other, images[0], "--html", tmp_path / "p.html", "--png", tmp_path / "p.png").out
    assert f"[{codes_run.name}] {images[0]}" in found
    assert "[other]" in found
    with Image.open(tmp_path / "p.png") as drawn:
        assert drawn.width > 1000
    assert "code-images" in (tmp_path / "p.html").read_text()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--layer", "1"], "image codes come from convolutions, which look at nothing"),
        (["--importance"], "leave the other options out"),
        (["--beam", "2"], "leave the other options out"),
        (["--target", "x"], "leave the other options out"),
    ],
)
def test_options_of_attention_are_refused(codes_run, images, given, sentence):
    assert sentence in refusal(jumok("look", codes_run, images[0], *given))


def test_what_is_missing_is_said(codes_run, drawer_run, tmp_path):
    assert "there is no image" in refusal(jumok("look", codes_run, tmp_path / "no.png"))
    assert "needs an image, too" in refusal(jumok("look", codes_run, codes_run))
    (tmp_path / "broken.png").write_bytes(b"no image")
    assert "broken.png" in refusal(jumok("look", codes_run, tmp_path / "broken.png"))
    (tmp_path / "empty").mkdir()
    assert "holds no images" in refusal(jumok("look", codes_run, tmp_path / "empty"))


def test_scores_stand_beside_floors(codes_run, images):
    found = jumok("evaluate", codes_run, "--source", images[0].parent).out
    assert "images (files), 2 images of 32 × 32 pixels, 4 × 4 codes each" in found
    assert "as many pixels as codes" in found
    assert "the mean colour" in found
