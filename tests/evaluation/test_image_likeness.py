"""How like images are: PSNR and SSIM by their definitions, the use of codes, floors and the report beside them."""

import math

import numpy as np
import pytest

from jumok.evaluation.codes_report import codes_report
from jumok.evaluation.image_floors import floors, shrunk
from jumok.evaluation.image_likeness import AT_ONCE, BEST, code_use, psnr, ssim


def noisy(count=3, side=17, channels=3, spread=25.0, seed=5):
    random = np.random.default_rng(seed)
    images = random.integers(0, 256, (count, side, side, channels)).astype(np.uint8)
    others = np.clip(images + random.normal(0, spread, images.shape), 0, 255).astype(np.uint8)
    return images, others


def test_psnr_by_hand():
    images = np.zeros((2, 2, 2, 1), np.uint8)
    others = images.copy()
    others[0, 0, 0, 0] = 20  # a mean square error of 400 / 4
    assert psnr(images, others).tolist() == pytest.approx([10 * math.log10(255**2 / 100), BEST])


def direct_ssim(x, y):
    """Return SSIM as Wang et al. write it: a weighted window of 11 × 11 at each place of each channel."""
    weights = np.exp(-((np.arange(11) - 5) ** 2) / (2 * 1.5**2))
    window = np.outer(weights, weights) / weights.sum() ** 2
    light, structure = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    found = []
    for channel in range(x.shape[2]):
        for row in range(x.shape[0] - 10):
            for column in range(x.shape[1] - 10):
                a, b = (p[row : row + 11, column : column + 11, channel].astype(float) for p in (x, y))
                mean_a, mean_b = (window * a).sum(), (window * b).sum()
                var_a, var_b = (window * (a - mean_a) ** 2).sum(), (window * (b - mean_b) ** 2).sum()
                both = (window * (a - mean_a) * (b - mean_b)).sum()
                above = (2 * mean_a * mean_b + light) * (2 * both + structure)
                found.append(above / ((mean_a**2 + mean_b**2 + light) * (var_a + var_b + structure)))
    return np.mean(found)


@pytest.mark.parametrize("channels", [1, 3])
def test_ssim_is_that_of_the_paper(channels):
    images, others = noisy(channels=channels)
    images[2], others[2] = 200, 203  # flat: where 32 bits would show first
    wanted = [direct_ssim(x, y) for x, y in zip(images, others, strict=True)]
    assert ssim(images, others) == pytest.approx(wanted, abs=3e-5)


def test_ssim_of_many_small_or_equal_images():
    images, others = noisy(count=AT_ONCE + 3, side=7)  # the window is no larger than the image
    found = ssim(images, others)
    assert found[-1] == pytest.approx(ssim(images[-1:], others[-1:])[0])
    assert found.max() < 1
    assert ssim(images, images) == pytest.approx(np.ones(len(images)))
    assert ssim(others, images) == pytest.approx(found, abs=1e-5)


def test_use_of_codes():
    assert code_use(np.array([[0, 0], [3, 3]]), 8) == (0.25, 1.0)
    assert code_use(np.arange(8), 8) == (1.0, 3.0)
    assert code_use(np.zeros(5, int), 8) == (1 / 8, 0.0)


def test_floors_are_scored_as_reconstructions_are():
    images, _ = noisy(side=16)
    found = floors(images, mean=[0.2, 0.4, 0.6], grid=(4, 4))
    colour = np.broadcast_to(np.array([51, 102, 153], np.uint8), images.shape)
    assert found["one_colour"] == pytest.approx(
        {"psnr": psnr(images, colour).mean(), "ssim": ssim(images, colour).mean()}
    )
    assert found["shrunk"]["psnr"] == pytest.approx(psnr(images, shrunk(images, (4, 4))).mean())
    steps = np.kron(np.arange(4).reshape(2, 2) * 60, np.ones((8, 8))).astype(np.uint8)[None, :, :, None]
    assert psnr(steps, shrunk(steps, (16, 16)))[0] == BEST, "as many pixels as it has"
    assert psnr(steps, shrunk(steps, (4, 4)))[0] > psnr(steps, shrunk(steps, (1, 1)))[0]


SCORES = {
    "loss": 0.1, "psnr": 27.0, "ssim": 0.9, "used": 0.95, "bits": 6.5, "images": 1000, "size": 64, "codes": 240,
    "grid": [8, 8], "broken": 0, "floors": {"shrunk": {"psnr": 21.0, "ssim": 0.7}, "one_colour": {"psnr": 15.0, "ssim": 0.6}},
}  # fmt: skip


def test_the_report_sets_floors_beside_the_scores():
    report = codes_report("val", "val", SCORES)
    assert report.lines == (
        "val (val), 1,000 images of 64 × 64 pixels, 8 × 8 codes each",
        "  PSNR 27.00 dB   SSIM 0.900   loss 0.1000",
        "  codes used 95.0% of 240   bits per code 6.50 of 7.91",
    )
    assert [row[:2] for row in report.table.rows] == [
        ("this model", "27.00"), ("as many pixels as codes", "21.00"), ("the mean colour", "15.00"),
    ]  # fmt: skip
    assert (
        "8 × 8 pixels of each image would tell as much" in codes_report("val", "val", SCORES | {"psnr": 20.0}).lines[3]
    )
    assert "most codes are never used" in codes_report("val", "val", SCORES | {"used": 0.2}).lines[3]
    assert codes_report("val", "val", SCORES | {"broken": 2}).lines[3] == "  2 images cannot be used and are left out"
