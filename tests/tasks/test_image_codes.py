"""The task of image codes: what is compared, what a critic sees, scores, and runs that stop and go on."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from drawing_runs import CODES_RECIPE, TRAINING
from PIL import Image
from torch.testing import assert_close

import jumok
from jumok.api import prepare_job
from jumok.errors import ConfigError, DataError
from jumok.evaluation.image_likeness import code_use, psnr, ssim
from jumok.nn.batch import ImageBatch
from jumok.runs.run import Run
from jumok.runs.weights import load_weights

SMALL = {"model": {**CODES_RECIPE["model"], "width": 8, "most_width": 8}}
FEW = TRAINING | {"steps": 4, "warmup": 1, "save_every": 2, "evaluate_every": 2, "workers": 1}
CRITIC = {
    "task": "image-classification",
    "data": {"set": "shapes", "set_size": 16, "size": 16},
    "model": {"name": "cnn", "width": 8, "stages": 2, "blocks": 1},
    "training": {"steps": 1, "batch_size": 4, "warmup": 1, "workers": 1},
}


@pytest.fixture(scope="module")
def coder(codes_run):
    return jumok.load(codes_run)


def some(coder, count=7):
    return coder.task.open_split("val")["val"].pixels[:count]


def batch_of(coder, pixels):
    images = coder.task.images(pixels)
    return ImageBatch(images, torch.zeros(len(images)))


def changed(recipe, **model):
    return replace(recipe, model=recipe.model.model_copy(update=model))


def test_the_loss_is_the_mean_difference_of_each_image(coder, monkeypatch):
    batch = batch_of(coder, some(coder))
    with torch.no_grad():
        loss = coder.task.loss(coder.model, batch, 0)
        told = coder.model.recode(batch.images).images
        assert_close(loss.total / loss.count, F.mse_loss(told, batch.images))
        monkeypatch.setattr(coder.task, "recipe", changed(coder.task.recipe, loss="l1"))
        assert_close(coder.task.loss(coder.model, batch, 0).total / 7, F.l1_loss(told, batch.images))
        monkeypatch.undo()
        parts = [coder.task.loss(coder.model, batch.part(number, 3), 0) for number in range(3)]
    assert loss.count == sum(part.count for part in parts) == 7
    assert_close(sum(part.total for part in parts), loss.total)


def test_scores_are_those_of_what_the_codes_tell(coder):
    task, store = coder.task, coder.task.open_split("val")["val"]
    seen, codes = task.recoded(coder.model, store.pixels)
    done = []
    scores = task.metrics(coder.model, store, progress=done.append)
    assert sum(done) == len(store)
    assert scores["psnr"] == pytest.approx(psnr(store.pixels, seen).mean())
    assert scores["ssim"] == pytest.approx(ssim(store.pixels, seen).mean())
    assert (scores["used"], scores["bits"]) == pytest.approx(code_use(codes.numpy(), coder.model.codes))
    assert scores == pytest.approx(task.evaluate(coder.model))
    with torch.inference_mode():
        assert scores["loss"] == pytest.approx(float(task.loss(coder.model, batch_of(coder, store.pixels), 0).total) / len(store), rel=1e-5)  # fmt: skip


def tensors_of(run):
    return load_weights(Run.open(run), "last")


@pytest.mark.parametrize("quantiser", ["fsq", "vq"])
def test_a_run_with_a_stop_in_it_is_the_run_that_never_stopped(quantiser, tmp_path):
    """A codebook moves, and starts lost vectors anew at random: that goes on, too."""
    recipe = CODES_RECIPE | {"training": FEW, "data": CODES_RECIPE["data"] | {"augment": {"flip": True}}}
    recipe |= {"model": SMALL["model"] | {"quantiser": quantiser, "codes": 61, "code_width": 4}}
    whole = tensors_of(jumok.train(recipe, out=tmp_path / "whole", quiet=True))
    jumok.train(recipe, out=tmp_path / "again", quiet=True, on_step=lambda report: report.step < 2)
    again = tensors_of(jumok.train(recipe, out=tmp_path / "again", resume=True, quiet=True))
    assert again.keys() == whole.keys()
    assert all(torch.equal(value, whole[name]) for name, value in again.items())


def test_a_codebook_starts_from_training_images(tmp_path):
    recipe = CODES_RECIPE | {"training": FEW, "model": SMALL["model"] | {"quantiser": "vq", "codes": 31}}
    job = prepare_job(recipe, out=tmp_path / "run")
    pixels = job.task.corpora.train.pixels[:64]
    with torch.no_grad():
        assert len(job.model.eval().encode(job.task.images(pixels)).unique()) > 20


# --- a critic


@pytest.fixture(scope="module")
def critic_run(tmp_path_factory):
    return jumok.train(CRITIC, out=tmp_path_factory.mktemp("critic") / "cnn", quiet=True)


def test_a_critic_compares_what_it_sees(critic_run, tmp_path):
    model = SMALL["model"] | {"perceptual": 0.5, "critic": {"name": "run", "run": str(critic_run)}}
    job = prepare_job(CODES_RECIPE | {"model": model, "training": FEW}, out=tmp_path / "run")
    images = job.task.images(job.task.corpora.train.pixels[:5])
    batch = ImageBatch(images, torch.zeros(5))
    loss = job.task.loss(job.model, batch, 0)
    more = loss.total - loss.parts["pixels"]
    assert float(more.detach()) > 0
    assert float(job.task._seen_difference(images, images)) == 0
    parts = [job.task.loss(job.model, batch.part(number, 2), 0).total for number in range(2)]
    assert_close(sum(parts), loss.total)
    more.backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in job.model.parameters())
    assert any(float(parameter.grad.abs().sum()) > 0 for parameter in job.model.parameters())
    critic = job.task.components["critic"].model
    assert all(parameter.grad is None for parameter in critic.parameters())
    # It sees what it was trained on: its own size and normalisation.
    seen = job.task._as_the_critic_sees(images)
    assert seen.shape[2:] == (16, 16)
    white = job.task.images(np.full((1, 32, 32, 3), 255, np.uint8))
    component = job.task.components["critic"]
    wanted = (1 - torch.tensor(component.mean)) / torch.tensor(component.deviation)
    assert_close(job.task._as_the_critic_sees(white)[0, :, 3, 3], wanted, atol=1e-4, rtol=1e-4)


def test_a_run_is_trained_with_a_critic_and_used_without(critic_run, tmp_path):
    model = SMALL["model"] | {"perceptual": 0.1, "critic": {"name": "run", "run": str(critic_run)}}
    run = jumok.train(CODES_RECIPE | {"model": model, "training": FEW}, out=tmp_path / "run", quiet=True)
    assert re.search(r'hash = "[0-9a-f]{64}"', (run / "recipe.toml").read_text())
    assert jumok.evaluate(run)["val"]["loss"] > 0


@pytest.mark.parametrize("given", [{"perceptual": 0.1}, {"critic": {"name": "run", "run": "anywhere"}}])
def test_a_weight_and_a_critic_go_together(given, tmp_path):
    with pytest.raises(ConfigError, match=r"model\.perceptual and model\.critic go together"):
        prepare_job(CODES_RECIPE | {"model": SMALL["model"] | given}, out=tmp_path / "run")


# --- data


def write_images(folder, count, side=16):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        pixels = np.random.default_rng(number).integers(0, 256, (side, side, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


def of_folder(folder):
    model = SMALL["model"] | {"halvings": 2}
    return CODES_RECIPE | {"data": {"train": str(folder), "hold_out": 3}, "model": model, "training": FEW}


def test_a_plain_folder_of_images_is_enough(tmp_path):
    folder = write_images(tmp_path / "images" / "inside", 12).parent
    (folder / "broken.png").write_bytes(b"no image")
    job = prepare_job(of_folder(folder), out=tmp_path / "run")
    (val,) = job.task.open_split("val").values()
    train = job.task.corpora.train
    assert len(val) + len(train) == 12
    assert job.task.size == f"{len(train)} images of 16 × 16 pixels, colour"
    assert not set(val.names) & set(train.names)
    assert any("broken.png" in note for note in job.task.notes())
    run = jumok.train(of_folder(folder), out=tmp_path / "trained", quiet=True)
    assert jumok.load(run).recode(folder / "inside" / "0.png").codes.shape == (4, 4)


def test_a_folder_without_images_is_told(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty holds no images; files ending in"):
        prepare_job(of_folder(tmp_path / "empty"), out=tmp_path / "run")


@pytest.mark.parametrize(
    ("size", "halvings", "cure"),
    [
        (28, 3, r"data\.size \(28\) must be .* \(8\); set data\.size to 24 or 32, or model\.halvings to 2$"),
        (27, 2, r"set data\.size to 24 or 28$"),
        (4, 3, r"set data\.size to 8, or model\.halvings to 2$"),
    ],
)
def test_a_side_that_does_not_divide_is_told_with_what_does(size, halvings, cure, tmp_path):
    recipe = CODES_RECIPE | {"data": CODES_RECIPE["data"] | {"size": size}}
    with pytest.raises(ConfigError, match=cure):
        prepare_job(recipe | {"model": {"name": "image-codes", "halvings": halvings}}, out=tmp_path / "run")
    with pytest.raises(ConfigError, match="each feature needs 2 levels at least"):
        prepare_job(recipe | {"model": {"name": "image-codes", "levels": [8, 1]}}, out=tmp_path / "run")
