"""Image codes in use: what codes tell of images, images of codes, scores beside floors, what is refused."""

import numpy as np
import pytest
import torch
from PIL import Image

import jumok
from jumok.errors import ConfigError, DataError, RunError
from jumok.evaluation.image_likeness import psnr


@pytest.fixture(scope="module")
def coder(codes_run):
    return jumok.load(codes_run, jumok.CodePredictor)


@pytest.fixture
def file(tmp_path):
    jumok.sample_images("shapes", tmp_path / "a.png", captions=True)
    return tmp_path / "a.png"


def test_an_image_as_its_codes_tell_it(coder, file):
    found = coder.recode(file)
    assert (found.pixels.shape, found.seen.shape, found.codes.shape) == ((32, 32, 3), (32, 32, 3), (4, 4))
    assert np.array_equal(found.codes, coder.encode([file])[0])
    assert np.abs(np.asarray(coder.decode(found.codes[None])[0]).astype(int) - found.seen).max() <= 1
    assert found.psnr == pytest.approx(psnr(found.pixels[None], found.seen[None])[0])
    assert np.array_equal(np.asarray(found.reconstruction), found.seen)
    assert (found.source, found.count, found.levels) == ("a.png", 60, (5, 4, 3))
    assert np.array_equal((found.digits * [1, 5, 20]).sum(axis=2), found.codes)
    assert found.to_dict()["codes"] == found.codes.tolist()
    assert repr(found).startswith("RecodedImage('a.png', 4 × 4 codes, PSNR ")
    assert coder.recode(Image.open(file)).source == ""


def test_several_images_go_on_without_one_that_cannot_be_read(coder, file):
    broken = file.with_name("broken.png")
    broken.write_bytes(b"no image")
    told, done = [], []
    first, second, third = coder.recode([file, broken, file], warn=told.append, progress=done.append)
    assert second is None
    assert np.array_equal(first.codes, third.codes)
    assert ("broken.png" in str(told[0]), sum(done)) == (True, 3)
    with pytest.raises(DataError, match=r"broken\.png"):
        coder.recode(broken)
    assert coder.recode([]) == []
    assert coder.encode([]).shape == (0, 4, 4)


def test_pixels_that_are_no_numbers_are_told(codes_run, file):
    broken = jumok.load(codes_run)
    with torch.no_grad():
        next(iter(broken.model.parameters())).fill_(torch.nan)
        list(broken.model.parameters())[-1].fill_(torch.nan)
    with pytest.raises(RunError, match="the model's pixels are no numbers"):
        broken.recode(file)


def test_what_is_no_code_is_refused(coder):
    with pytest.raises(DataError, match=r"shape \(4, 4\) and the type int64; integers of \(images, 4, 4\) are needed"):
        coder.decode(np.zeros((4, 4), int))
    with pytest.raises(DataError, match=r"the type float64; integers"):
        coder.decode(np.zeros((1, 4, 4)))
    with pytest.raises(DataError, match="codes go from 0 to 60; the codes of this run are 0 to 59"):
        coder.decode(np.full((1, 4, 4), 60) * np.eye(4, dtype=int))
    assert coder.decode(np.zeros((0, 4, 4), int)) == []


def test_scores_stand_beside_floors(codes_run, file):
    scores = jumok.evaluate(codes_run)["val"]
    assert {"psnr", "ssim", "used", "bits", "loss", "floors"} <= scores.keys()
    assert (scores["size"], scores["codes"], scores["grid"]) == (32, 60, [4, 4])
    assert scores["floors"]["shrunk"]["psnr"] > scores["floors"]["one_colour"]["psnr"]
    own = jumok.evaluate(codes_run, source=file.parent)
    assert own[file.parent.name]["images"] == 1
    with pytest.raises(ConfigError, match="the --source of image codes is a folder of images"):
        jumok.evaluate(codes_run, source=file.parent, target=file.parent)


def test_a_page_and_a_drawing_of_one_image(coder, file):
    found = coder.recode(file)
    assert "<html" in found.page().html
    assert "<iframe" in found._repr_html_()
    assert "4 × 4 codes" in found.draw().plain
