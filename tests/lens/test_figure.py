"""An alignment as an image: every weight in its place, every label readable, nothing half-written."""

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from jumok.errors import DataError
from jumok.lens.figure import save_alignment

QUERIES, KEYS = list("abc"), list("vwxyz")


def dark(path):
    """Return rows and columns of the dark blue dots of an image; letters are black, not blue."""
    red, _, blue = np.moveaxis(imread(path)[..., :3], -1, 0)
    return np.nonzero((red < 0.1) & (blue > 0.3))


def test_a_weight_is_a_dark_square_in_its_line_and_column(tmp_path):
    middles = {}
    for query in range(3):
        for key in range(5):
            weights = torch.zeros(3, 5)
            weights[query, key] = 1.0
            save_alignment(weights, QUERIES, KEYS, tmp_path / "look.png")
            rows, columns = dark(tmp_path / "look.png")
            assert len(rows) > 100
            middles[query, key] = rows.mean(), columns.mean()
    down, across = middles[1, 0][0] - middles[0, 0][0], middles[0, 1][1] - middles[0, 0][1]
    assert min(down, across) > 20
    for (query, key), (row, column) in middles.items():
        assert row == pytest.approx(middles[0, 0][0] + query * down, abs=1.5)
        assert column == pytest.approx(middles[0, 0][1] + key * across, abs=1.5)


def test_shades_are_those_of_the_weights_not_of_the_strongest(tmp_path):
    """A flat row must not look like a sharp one."""
    nearly_flat = torch.tensor([[0.3, 0.1, 0.2, 0.2, 0.2]]).expand(3, -1)
    save_alignment(nearly_flat, QUERIES, KEYS, tmp_path / "look.png")
    assert not len(dark(tmp_path / "look.png")[0])


@pytest.mark.filterwarnings("error")
def test_dollars_and_brackets_are_only_text(tmp_path):
    save_alignment(torch.eye(2), ["$x_1$", "[END]"], ["^{", "\\frac"], tmp_path / "look.png", title="50 $ and 60 $")
    assert len(dark(tmp_path / "look.png")[0])


def test_an_image_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "look.png").mkdir()
    (tmp_path / "look.png" / "full").touch()
    with pytest.raises(DataError, match="cannot be written"):
        save_alignment(torch.eye(2), ["a", "b"], ["c", "d"], tmp_path / "look.png")
    assert [path.name for path in tmp_path.iterdir()] == ["look.png"]
