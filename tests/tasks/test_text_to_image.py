"""The task of drawing: the loss of text and image, drawings that are scored as they were searched, guidance, resume."""

import shutil
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch
from drawing_runs import DRAWER_RECIPE, TRAINING
from torch.testing import assert_close

import jumok
from jumok.api import prepare_job
from jumok.config import DecodingConfig
from jumok.errors import ConfigError, RunError
from jumok.nn.batch import DrawingBatch
from jumok.runs.run import Run
from jumok.runs.weights import load_weights
from jumok.tasks.drawing_batches import NOTHING, texts_of
from jumok.tensor_file import read_tensors, write_tensors

FEW = TRAINING | {"steps": 4, "warmup": 1, "save_every": 2, "evaluate_every": 2, "workers": 1, "label_smoothing": 0.0}
TEXTS = ["a large red circle", "a small blue star left of a green square"]
SEARCHED = DecodingConfig(beam=1)
SAMPLED = DecodingConfig(sample=True, seed=3, n_best=2)


@pytest.fixture(scope="module")
def drawer(drawer_run):
    return jumok.load(drawer_run)


@pytest.fixture(scope="module")
def batch(drawer):
    """Some training examples, one of them without its text."""
    stream = drawer.task.batches()
    return stream.drawing(np.array([3, 5, 8, 13, 21]), dropped=np.array([False, False, True, False, False]))


def recipe(codes, **changes):
    model = DRAWER_RECIPE["model"] | {"codes": str(codes)}
    return DRAWER_RECIPE | {"training": FEW, "model": model | changes}


# --- loss


@torch.no_grad()
def test_the_loss_weighs_text_and_image(drawer, batch, monkeypatch):
    task, model = drawer.task, drawer.model
    of_text, of_image = model.text_and_image(batch)
    image = -model.project(of_image).log_softmax(dim=2).gather(2, batch.codes[..., None]).sum()
    told = model.project_text(of_text).log_softmax(dim=2).gather(2, batch.text[:, 1:, None])[..., 0]
    text = torch.zeros(())
    for row, (length, dropped) in enumerate(
        zip(batch.text_mask.sum(dim=1).tolist(), batch.without_text.tolist(), strict=True)
    ):
        if not dropped:  # its mean, as weighty as the image's codes together
            text -= told[row, : length - 1].mean() * batch.codes.shape[1]
    for share in (0.125, 0.0, 1.0):
        model_config = task.recipe.model.model_copy(update={"text_share": share})
        monkeypatch.setattr(task, "recipe", replace(task.recipe, model=model_config))
        loss = task.loss(model, batch, 0)
        assert loss.count == batch.codes.numel()
        assert_close(loss.total, (1 - share) * image + share * text, rtol=1e-4, atol=1e-4)
    assert_close(loss.parts["image"], image, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_the_loss_of_parts_adds_up(drawer, batch):
    whole = drawer.task.loss(drawer.model, batch, 0)
    parts = [drawer.task.loss(drawer.model, batch.part(number, 3), 0) for number in range(3)]
    assert_close(sum(part.total for part in parts), whole.total, rtol=1e-5, atol=1e-4)
    assert sum(part.count for part in parts) == whole.count


@torch.no_grad()
def test_a_batch_whose_texts_were_all_dropped_has_a_loss(drawer):
    batch = drawer.task.batches().drawing(np.array([1, 2]), dropped=np.array([True, True]))
    loss = drawer.task.loss(drawer.model, batch, 0)
    assert bool(loss.total > 0)
    assert float(loss.parts["text"]) == 0


def test_scores_are_means_over_codes_and_tokens(drawer):
    task, store = drawer.task, drawer.task.open_split("val")["val"]
    scores = task.metrics(drawer.model, store)
    assert scores["bits"] == pytest.approx(scores["loss"] / np.log(2))
    image = text = codes = tokens = 0
    with torch.inference_mode():
        for number in range(len(store.captions)):
            ids, mask = texts_of([store.captions[number]])
            row = torch.from_numpy(task.tokens_of(store)[store.image_of[[number]]].astype(np.int64))
            found = task.loss(drawer.model, DrawingBatch(ids, mask, row), 0)
            image, text = image + float(found.parts["image"]), text + float(found.parts["text"])
            codes, tokens = codes + row.numel(), tokens + int(mask.sum()) - 1
    assert scores["loss"] == pytest.approx(image / codes, rel=1e-4)
    assert scores["text_loss"] == pytest.approx(text / tokens, rel=1e-4)


def test_captions_that_are_too_long_are_left_out_of_scores_and_counted(drawer, monkeypatch):
    task, store = drawer.task, drawer.task.open_split("val")["val"]
    lengths = store.captions.lengths
    assert task.too_long(store) == 0
    longest = int(np.median(lengths))
    monkeypatch.setattr(
        task, "recipe", replace(task.recipe, model=task.model_config.model_copy(update={"longest_text": longest}))
    )
    assert 0 < task.too_long(store) == sum(length > longest for length in lengths.tolist()) < len(lengths)
    seen = [int(mask.sum()) - 2 for batch in task._in_order([store]) for mask in batch.text_mask]
    assert sorted(seen) == sorted(length for length in lengths.tolist() if length <= longest)
    scores = drawer.score(store, drawer.options, lambda done: None)
    assert (scores["too_long"], scores["captions"]) == (task.too_long(store), len(lengths))


# --- drawing


@torch.no_grad()
def logits_of(drawer, ids, codes, guidance=1.0):
    """Return the logits (G, K) of each code of a drawing, by the full forward."""
    rows = torch.from_numpy(codes.reshape(1, -1))
    given, without = (drawer.model(DrawingBatch(*texts_of([text]), rows))[0] for text in (ids, NOTHING))
    return without + guidance * (given - without)


@pytest.mark.parametrize("guidance", [1.0, 2.5])
@pytest.mark.parametrize("options", [SEARCHED, SAMPLED, DecodingConfig(beam=3)], ids=["greedy", "sampled", "beam"])
@torch.inference_mode()
def test_the_score_of_a_drawing_is_that_of_its_codes(drawer, options, guidance):
    task = drawer.task
    ids = task.ids(TEXTS)
    found = task.draw(drawer.model, ids, options=options.changed({"guidance": guidance}))
    assert [len(drawings) for drawings in found] == [options.n_best] * 2
    for text, drawings in zip(ids, found, strict=True):
        for drawing in drawings:
            assert drawing.codes.shape == drawer.model.grid
            logits = logits_of(drawer, text, drawing.codes, guidance)
            told = logits.log_softmax(dim=1)[range(logits.shape[0]), drawing.codes.ravel()]
            assert drawing.log_probability == pytest.approx(float(told.sum()), abs=1e-3)
            if options.beam == 1:
                assert drawing.codes.ravel().tolist() == logits.argmax(dim=1).tolist()


@torch.inference_mode()
def test_guidance_of_1_is_none(drawer):
    ids = drawer.task.ids(TEXTS)
    plain = drawer.task.draw(drawer.model, ids, options=SAMPLED)
    almost = drawer.task.draw(drawer.model, ids, options=SAMPLED.changed({"guidance": 1.0 + 1e-7}))
    for one, other in zip(chain(*plain), chain(*almost), strict=True):
        assert np.array_equal(one.codes, other.codes)
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-3)


@torch.inference_mode()
def test_given_codes_stay_and_the_rest_is_drawn_behind_them(drawer):
    task = drawer.task
    ids, (whole,) = task.ids(TEXTS[:1]), task.draw(drawer.model, task.ids(TEXTS[:1]), options=SEARCHED)
    given = whole[0].codes.ravel()[:8].tolist()
    (again,) = task.draw(drawer.model, ids, options=SEARCHED, given=[given])
    assert np.array_equal(again[0].codes, whole[0].codes), "what it would have drawn itself"
    other = [(code + 1) % 60 for code in given]
    (changed,) = task.draw(drawer.model, ids, options=SEARCHED, given=[other])
    assert changed[0].codes.ravel()[:8].tolist() == other
    logits = logits_of(drawer, ids[0], changed[0].codes)
    told = logits.log_softmax(dim=1)[range(8, 16), changed[0].codes.ravel()[8:]]
    assert changed[0].log_probability == pytest.approx(float(told.sum()), abs=1e-3), "given rows left out"


@torch.inference_mode()
def test_the_same_seed_draws_the_same_whoever_is_drawn_beside(drawer):
    task = drawer.task
    (alone,) = task.draw(drawer.model, task.ids(TEXTS[1:]), options=SAMPLED, seeds=[5])
    beside = task.draw(drawer.model, task.ids(TEXTS), options=SAMPLED)[1]  # seeds 3 and 4, then 5 and 6
    assert all(np.array_equal(one.codes, other.codes) for one, other in zip(alone, beside, strict=True))
    (later,) = task.draw(drawer.model, task.ids(TEXTS[1:]), options=SAMPLED.changed({"seed": 7}))
    assert not all(np.array_equal(one.codes, other.codes) for one, other in zip(alone, later, strict=True))
    assert not np.array_equal(alone[0].codes, alone[1].codes)


@torch.inference_mode()
def test_drawings_become_images(drawer):
    (drawings,) = drawer.task.draw(drawer.model, drawer.task.ids(TEXTS[:1]), options=SAMPLED)
    pixels = drawer.task.pixels(drawings)
    assert (pixels.shape, pixels.dtype) == ((2, 32, 32, 3), np.uint8)


# --- runs


def tensors_of(run):
    return load_weights(Run.open(run), "last")


def test_a_drawer_is_refused_when_its_codes_change(codes_run, tmp_path):
    codes = tmp_path / "codes"
    shutil.copytree(codes_run, codes, symlinks=True)
    run = jumok.train(recipe(codes), out=tmp_path / "run", quiet=True)
    whole = tensors_of(run)
    jumok.train(recipe(codes), out=tmp_path / "again", quiet=True, on_step=lambda report: report.step < 2)
    again = tensors_of(jumok.train(recipe(codes), out=tmp_path / "again", resume=True, quiet=True))
    assert again.keys() == whole.keys()
    assert all(torch.equal(value, whole[name]) for name, value in again.items()), "a run with a stop in it"

    file = next((codes / "best").resolve().glob("model.safetensors"))
    weights, said = read_tensors(file)
    next(iter(weights.values())).add_(1)
    write_tensors(weights, file, said)
    with pytest.raises(RunError, match=r"model\.codes = '.*codes' is not the one that the model was trained with"):
        jumok.load(run)
    with pytest.raises(RunError, match="is not the one that the model was trained with"):
        prepare_job(recipe(codes), out=run, resume=True, overrides={"training.steps": 6})
    codes.rename(tmp_path / "elsewhere")
    with pytest.raises(
        RunError, match=r"model\.codes\.run = '.*codes': there is no such run; looked at .* Train it first"
    ):
        jumok.load(run)


def test_codes_of_another_task_or_size_are_refused(codes_run, drawer_run, tmp_path):
    with pytest.raises(ConfigError, match="is a run of text-to-image; it must be one of image-codes"):
        prepare_job(recipe(drawer_run), out=tmp_path / "run")
    with pytest.raises(ConfigError, match=r"images of 16 × 16 pixels and 3 channels: the image codes are of 32 × 32"):
        prepare_job(recipe(codes_run) | {"data": DRAWER_RECIPE["data"] | {"size": 16}}, out=tmp_path / "run")
