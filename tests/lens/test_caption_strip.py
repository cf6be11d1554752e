"""A caption word by word: smooth maps that keep their places, a PNG with every word, small maps in the terminal."""

import numpy as np
import pytest
import torch
from lens.caption_examples import caption, noisy_image
from PIL import Image
from torch.testing import assert_close

from jumok.lens.caption_strip import draw_word_maps, overlay, save_strip, smoothed


def test_a_smooth_map_peaks_where_the_cells_do_and_is_whole():
    heat = torch.zeros(2, 3, 5)
    heat[0, 1, 3] = heat[1, 0, 0] = 1.0
    fine = smoothed(heat, 30, 50)
    assert fine.amax(dim=(1, 2)).tolist() == [1.0, 1.0]
    assert np.unravel_index(int(fine[0].argmax()), (30, 50)) in [(14, 34), (14, 35), (15, 34), (15, 35)]
    assert int(fine[1].argmax()) == 0, "at the edge, too"
    assert_close(smoothed(torch.full((1, 3, 5), 0.2), 30, 50), torch.ones(1, 30, 50))


def test_the_veil_is_lifted_where_it_looks_and_a_dark_image_glows():
    pixels, share = noisy_image(), torch.zeros(12, 20)
    share[:, 10:] = 1.0
    seen = overlay(pixels, share)
    assert (seen[:, 10:] == pixels[:, 10:]).all()
    assert seen[:, :10].mean() < 0.5 * pixels.mean()
    dark = noisy_image(20)
    seen = overlay(dark, share)
    assert (seen[:, :10] == dark[:, :10]).all(), "where it does not look"
    assert seen[:, 10:].mean() > 4 * dark.mean()
    grey = overlay(pixels[..., :1], share)
    assert grey.shape == (12, 20, 3)


@pytest.mark.parametrize("words", [1, 6, 7, 23])
def test_every_word_has_a_panel(tmp_path, words):
    heat = torch.rand(words, 3, 5)
    save_strip(
        noisy_image(), heat, [f"단어{n}" for n in range(words)], tmp_path / "a.png", heading="$단어$ a", title="mean"
    )
    with Image.open(tmp_path / "a.png") as image:
        seen = np.asarray(image.convert("RGB")).astype(int)
    panels = -(-(words + 1) // 7)
    assert seen.shape[0] > panels * 0.6 * 1.5 * 200
    rest = seen[60:, :, :]
    assert (rest.sum(axis=2) < 200).any(), "labels are dark"
    assert len(list(tmp_path.iterdir())) == 1, "no part is left behind"


def test_small_maps_stand_side_by_side_and_wrap():
    heat = caption().word_heat().heat
    words = ["a", "red", "tri", "angle", "빨간"]
    lines = draw_word_maps(heat, words, colour=False).fitted(36).plain.splitlines()
    assert all(len(line) <= 36 for line in lines)
    assert lines[0].split() == ["a", "red", "tri"], "three maps of ten columns and their gaps"
    assert lines[5].split() == ["angle", "빨간"]
    blocks = [[line[12 * word : 12 * word + 10] for line in lines[1:4]] for word in range(3)]
    for word, block in enumerate(blocks):
        strongest = divmod(int(heat[word].argmax()), 5)
        found = [(row, line.index("██") // 2) for row, line in enumerate(block) if "██" in line]
        assert strongest in found
        assert len(found) <= 3
    plain, coloured = (draw_word_maps(heat, words, colour=colour).fitted(80) for colour in (False, True))
    assert plain.plain == coloured.plain
    assert any("rgb" in str(span.style) for span in coloured.spans)


def test_a_fine_grid_is_pooled_and_a_long_word_cut():
    drawing = draw_word_maps(torch.rand(2, 17, 9), ["elephantine hippopotamus", "b"], colour=False)
    lines = drawing.plain.splitlines()
    assert lines[0].split("…")[0] == "elephan"[:5]
    assert lines[-1] == "each block: 3 × 3 cells of the image"
