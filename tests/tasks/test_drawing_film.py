"""What is filmed of a drawer: where each probe's words are looked at from, as in a pass of its own, and its drawing."""

import pytest
import torch
from PIL import Image
from torch.testing import assert_close

import jumok
from jumok.inspection.data_url import from_data_url
from jumok.inspection.film import Frame
from jumok.lens.film import film_folder, load_film, save_frame


@pytest.fixture(scope="module")
def drawer(drawer_run):
    return jumok.load(drawer_run)


@pytest.fixture(scope="module")
def shots(drawer):
    return drawer.task.camera(drawer.model, count=8)(drawer.model)


def test_each_shot_is_what_its_own_pass_would_show(drawer, shots):
    """Texts of other lengths beside it change nothing."""
    store = drawer.task.open_split("val")["val"]
    assert len(shots) == 8
    assert len({len(shot.maps[0].queries) for shot in shots}) > 1
    for shot in shots:
        number = list(store.images.names).index(shot.source)
        pixels = store.images.pixels[number]
        alone = drawer.explain(shot.reference, image=Image.fromarray(pixels))
        assert shot.reference == store.texts(number)[0]
        assert (from_data_url(shot.image) == pixels).all()
        assert tuple(label.strip("▁") for label in shot.maps[0].queries) == alone.word_labels
        for found, own in zip(shot.maps, alone.record.maps, strict=True):
            words = own.weights[:, :, 1 : len(alone.tokens) - 1].transpose(1, 2)
            assert_close(found.weights, words, atol=1e-5, rtol=1e-4)
            assert found.grid == (4, 4)


def test_the_drawing_is_what_draw_would_draw(drawer, shots):
    for shot in shots[:2]:
        [drawn] = drawer.draw(shot.reference)
        assert (shot.drawn == drawn.pixels).all()
    camera = drawer.task.camera(drawer.model, count=8)
    assert [shot.drawing for shot in camera(drawer.model)] == [shot.drawing for shot in shots], (
        "the same seed each time"
    )


def test_measures_are_of_maps_that_sum_to_one(shots):
    shot = shots[0]
    rows = torch.cat([found.weights / found.weights.sum(dim=-1, keepdim=True) for found in shot.maps])
    entropy = -torch.special.xlogy(rows, rows).sum(dim=-1).mean()
    assert shot.entropy == pytest.approx(float(entropy), abs=1e-4)
    assert 0 <= shot.apart < 1


def test_a_frame_keeps_the_drawing(shots, tmp_path):
    save_frame(Frame(7, shots), tmp_path)
    assert film_folder(tmp_path).is_dir()
    (frame,) = load_film(tmp_path).frames
    for kept, shot in zip(frame.shots, shots, strict=True):
        assert (kept.drawing, kept.image, kept.answer_is) == (shot.drawing, shot.image, "drawing")
        assert_close(kept.maps[0].weights, shot.maps[0].weights, atol=1e-3, rtol=1e-3)
