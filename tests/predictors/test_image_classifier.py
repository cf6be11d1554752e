"""The image classifier in use: the same verdicts however images come, and attention that falls on the objects."""

import numpy as np
import pytest
import torch
from PIL import Image

import jumok
from jumok.data.builtin import shapes
from jumok.errors import DataError
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.lens.heat import heat_of
from jumok.predictors.base import Notice

SETTINGS = [
    "data.set_size=1500", "model.preset=", "model.layers=2", "model.width=48", "model.heads=4", "model.feedforward=96",
    "training.steps=250", "training.batch_size=32", "training.learning_rate=3e-3", "training.warmup=30", "training.evaluate_every=250",
    "training.save_every=250",
]  # fmt: skip


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """Return a small ViT, trained here on shapes."""
    run = jumok.train("shapes-vit", out=tmp_path_factory.mktemp("shapes") / "run", overrides=SETTINGS)
    return jumok.load(run)


def test_it_has_learnt_the_forms(classifier):
    scores = classifier.evaluate("test")["test"]
    assert scores["accuracy"] > 50
    assert scores["top5"] == 100.0
    assert scores["baselines"]["majority"] < 30


def test_a_image_is_the_same_as_file_object_or_larger(classifier, tmp_path):
    found = shapes.scene("test", 1)
    small, large = shapes.draw(found), shapes.draw(found, 96)
    small.save(tmp_path / "small.png")
    verdicts = classifier.classify([tmp_path / "small.png", str(tmp_path / "small.png"), small, large])
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert verdicts[3].label == verdicts[0].label
    assert list(verdicts[0].probabilities.values()) == sorted(verdicts[0].probabilities.values(), reverse=True)
    assert sum(verdicts[0].probabilities.values()) == pytest.approx(1.0, abs=1e-5)


def test_what_cannot_be_read_is_told_in_its_place(classifier, tmp_path):
    (tmp_path / "a.png").write_text("no image")
    said = []
    verdicts = classifier.classify([tmp_path / "a.png", shapes.draw(shapes.scene("test", 1))], warn=said.append)
    assert verdicts[0] is None
    assert verdicts[1] is not None
    assert said == [Notice(None, f"{tmp_path / 'a.png'}: no image that can be read.")]
    with pytest.raises(DataError, match="no image that can be read"):
        classifier.explain(tmp_path / "a.png")


def test_an_explanation_is_the_verdict_and_its_maps(classifier):
    image = shapes.draw(shapes.scene("test", 2))
    explanation = classifier.explain(image)
    assert explanation.verdict.label == classifier.classify(image).label
    assert len(explanation.record.maps) == 2
    for found in explanation.record.maps:
        assert found.grid == (8, 8)
        assert found.weights.shape == (4, 65, 65)
        assert found.keys[:2] == ("[CLASS]", "1,1")
        assert found.keys[-1] == "8,8"
    assert explanation.heat.shape == (8, 8)
    assert float(explanation.heat.sum()) == pytest.approx(1.0, abs=1e-5)


def test_attention_falls_on_the_objects(classifier):
    """Share of the rollout inside the known boxes, against the share of the area that they have."""
    inside, area = [], []
    for number in range(60):
        found = shapes.scene("test", number)
        heat = classifier.explain(shapes.draw(found)).heat.numpy()
        fine = np.kron(heat, np.full((16, 16), 1 / 256))  # 128 × 128
        boxes = np.zeros((128, 128), dtype=bool)
        for thing in found.things:
            left, upper, right, lower = (round(place * 128) for place in thing.box)
            boxes[upper:lower, left:right] = True
        inside.append(fine[boxes].sum())
        area.append(boxes.mean())
    assert np.mean(inside) > 1.5 * np.mean(area), (np.mean(inside), np.mean(area))


# --- heat of windows, by hand


def window_map(grid, weights, layer=0):
    return AttentionMap("", "window", layer, weights[None], grid=grid)


def test_heat_goes_back_through_the_stages():
    """The last stage's one cell looks at itself; below, everybody looks at one corner."""
    corner = torch.zeros(16, 16)
    corner[:, 5] = 1.0
    record = AttentionRecord(
        [window_map((4, 4), corner), window_map((2, 2), torch.eye(4)), window_map((1, 1), torch.ones(1, 1))]
    )
    heat = heat_of(record)
    assert heat.shape == (4, 4)
    assert float(heat.sum()) == pytest.approx(1.0)
    assert float(heat[1, 1]) == pytest.approx(0.5 + 0.5 / 16)  # half through the residual connection
    assert heat_of(AttentionRecord()) is None


def test_an_odd_grid_comes_back_whole():
    record = AttentionRecord([window_map((3, 5), torch.eye(15)), window_map((2, 3), torch.eye(6))])
    heat = heat_of(record)
    assert heat.shape == (3, 5)
    assert torch.allclose(heat, torch.full((3, 5), 1 / 15))


def test_a_grey_image_is_taken_as_colour(classifier):
    grey = shapes.draw(shapes.scene("test", 4)).convert("L")
    assert classifier.read(grey).shape == (32, 32, 3)
    assert classifier.read(Image.new("1", (5, 9))).max() == 0
