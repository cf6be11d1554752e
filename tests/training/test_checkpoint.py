"""Checkpoints: whole or not there, the newest two and the best, and clear words when something is missing."""

import errno
import math
import os
import random
import shutil
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from jumok import api, tensor_file
from jumok.errors import RunError
from jumok.training import checkpoint
from jumok.training.average import load_tensors, model_tensors
from jumok.training.checkpoint import Checkpoints


def save(checkpoints, step, *, best=False, value=None):
    tensors = {"weight": torch.full((2, 3), float(step if value is None else value))}
    checkpoints.save(
        step, weights=tensors, training={"model/weight": tensors["weight"]}, facts={"step": step}, best=best
    )


@pytest.fixture
def checkpoints(tmp_path):
    (tmp_path / "run").mkdir()
    return Checkpoints(tmp_path / "run")


def test_what_is_saved_is_what_is_loaded(checkpoints):
    weights = {"a": torch.randn(3, 5).t(), "b": torch.arange(4), "c": torch.tensor(1.5)}
    training = {"optimizer/0.step": torch.tensor(3.0), "random/cpu": torch.get_rng_state()}
    checkpoints.save(7, weights=weights, training=training, facts={"step": 7, "best": -0.1}, best=True)
    for loaded, saved in [(checkpoints.load_weights(), weights), (checkpoints.load_training()[0], training)]:
        assert loaded.keys() == saved.keys()
        assert all(loaded[name].equal(saved[name]) and loaded[name].dtype == saved[name].dtype for name in saved)
    assert checkpoints.load_training()[1] == {"step": 7, "best": -0.1}


def test_the_newest_two_and_the_best_stay(checkpoints):
    for step in range(1, 9):
        save(checkpoints, step, best=step in (2, 3))
    assert checkpoints.steps() == [3, 7, 8]
    assert checkpoints.find("best").resolve().name == "step-3"
    assert checkpoints.find("last").resolve().name == "step-8"
    assert float(checkpoints.load_weights("step-7")["weight"][0, 0]) == 7.0


def test_links_are_relative_so_that_a_run_can_be_moved(checkpoints, tmp_path):
    save(checkpoints, 1, best=True)
    shutil.move(tmp_path / "run", tmp_path / "moved")
    assert float(Checkpoints(tmp_path / "moved").load_weights("last")["weight"][0, 0]) == 1.0


def test_a_reader_finds_a_whole_last_and_best_at_every_moment(checkpoints, monkeypatch):
    save(checkpoints, 1, best=True)

    def watched(real):
        def call(*arguments, **options):
            for name in ("last", "best"):
                assert checkpoints.load_weights(name)
            return real(*arguments, **options)

        return call

    for owner, name in [
        (Path, "rename"),
        (Path, "replace"),
        (Path, "symlink_to"),
        (Path, "unlink"),
        (tensor_file, "save_file"),
        (checkpoint, "put_on_disk"),
    ]:
        monkeypatch.setattr(owner, name, watched(getattr(owner, name)))
    for step in (2, 3, 4):
        save(checkpoints, step, best=True)


@pytest.mark.parametrize("failure", [
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
    SafetensorError("Error while serializing: IoError(Os { code: 28, kind: StorageFull, message: \"No space left on device\" })"),
])  # fmt: skip
@pytest.mark.parametrize("file", ["model.safetensors", "training.safetensors"])
def test_a_full_disk_is_told_and_leaves_the_old_checkpoint(failure, file, checkpoints, monkeypatch):
    save(checkpoints, 4, best=True)
    before = sorted(checkpoints.run.rglob("*"))
    real = tensor_file.save_file

    def full(tensors, path, **options):
        if path.name.startswith(f".{file}"):
            path.write_bytes(b"half")
            raise failure
        real(tensors, path, **options)

    monkeypatch.setattr(tensor_file, "save_file", full)
    with pytest.raises(
        RunError,
        match=r"the disk of .*run is full: the checkpoint of step 5 could not be written; step-4 is whole\. Free some space",
    ):
        save(checkpoints, 5)
    assert sorted(checkpoints.run.rglob("*")) == before
    assert float(checkpoints.load_weights("last")["weight"][0, 0]) == 4.0
    monkeypatch.undo()
    save(checkpoints, 5)
    assert checkpoints.steps() == [4, 5]


def test_a_folder_that_cannot_be_written_is_told_too(checkpoints, monkeypatch):
    def refuse(tensors, path, **options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(tensor_file, "save_file", refuse)
    with pytest.raises(RunError, match=r"cannot be written \(permission is denied\).*no checkpoint is there yet"):
        save(checkpoints, 5)


def test_leftovers_of_kills_do_no_harm_and_go_away(checkpoints):
    save(checkpoints, 2, best=True)
    for step in (3, 4):
        folder = checkpoints.run / f".step-{step}.new"
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"half")
    (checkpoints.run / ".last.new").symlink_to("step-2")
    save(checkpoints, 5, value=3)  # its folder stood before the links were swapped: the kill came between
    (checkpoints.run / "last").unlink()
    (checkpoints.run / "last").symlink_to("step-2")
    assert checkpoints.load_training()[1] == {"step": 2}
    save(checkpoints, 4)
    save(checkpoints, 5)
    assert checkpoints.load_training()[1] == {"step": 5}
    assert not list(checkpoints.run.glob(".*"))


def test_a_whole_first_checkpoint_without_a_link_is_found(checkpoints):
    save(checkpoints, 2)
    (checkpoints.run / "last").unlink()
    assert checkpoints.load_training()[1] == {"step": 2}


def test_missing_checkpoints_are_told_with_those_that_exist(checkpoints, tmp_path):
    with pytest.raises(RunError, match="holds no checkpoint yet; train it first: jumok train RECIPE --out"):
        checkpoints.load_weights()
    save(checkpoints, 3)
    with pytest.raises(RunError, match="has no checkpoint 'best'; there are step-3, last"):
        checkpoints.load_weights()
    with pytest.raises(RunError, match="there is no run folder"):
        Checkpoints(tmp_path / "nowhere").load_weights()


def test_a_run_goes_on_from_the_newest_whole_checkpoint_and_tells(checkpoints):
    for step in (1, 2, 3):
        save(checkpoints, step, best=step == 1)
    told = []
    path = checkpoints.run / "step-3/training.safetensors"
    path.write_bytes(path.read_bytes()[:50])
    assert checkpoints.load_training(told.append)[1] == {"step": 2}
    assert told == [
        f"{path} is damaged (50 bytes; was it cut off while copying?): going back to step-2, and what came after it is "
        "trained again"
    ]
    (checkpoints.run / "step-2/training.json").unlink()
    assert checkpoints.load_training(told.append)[1] == {"step": 1}
    assert "going back to step-1" in told[1]
    save(checkpoints, 3)  # trained again
    assert checkpoints.load_training(told.append)[1] == {"step": 3}
    assert len(told) == 2


@pytest.mark.parametrize("name", ["model.safetensors", "training.safetensors", "training.json"])
def test_a_flipped_bit_in_any_file_is_noticed(checkpoints, name):
    """Wherever it is: what is loaded is what was saved, or it is refused."""
    save(checkpoints, 1, best=True)
    checkpoints.save(
        2,
        weights={"weight": torch.randn(7)},
        training={"a": torch.randn(5)},
        facts={"step": 2, "best": -0.125},
        best=True,
    )
    path = checkpoints.run / "step-2" / name
    whole = path.read_bytes()
    for bit in random.Random(3).sample(range(8 * len(whole)), 150):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        if name == "model.safetensors":
            with pytest.raises(RunError, match=r"model\.safetensors is damaged \(.*\)\. step-1 is another checkpoint"):
                checkpoints.load_weights()
        else:
            told = []
            facts = checkpoints.load_training(told.append)[1]
            # Trainer refuses the one fact that a flip in the checksum's own name makes.
            assert facts in ({"step": 1}, {"step": 2, "best": -0.125}) or facts.keys() - {"step", "best"}
            assert facts["step"] == 1 or not told
            assert name == "training.json" or told


def test_a_checkpoint_of_an_earlier_version_has_no_checksum(checkpoints):
    save(checkpoints, 1, best=True)
    folder = checkpoints.run / "step-1"
    for name in ("model", "training"):
        save_file(load_file(folder / f"{name}.safetensors"), folder / f"{name}.safetensors")
    (folder / "training.json").write_text('{"step": 1, "best": -Infinity}')
    assert float(checkpoints.load_weights()["weight"][0, 0]) == 1.0
    tensors, facts = checkpoints.load_training()
    assert (list(tensors), facts) == (["model/weight"], {"step": 1, "best": -math.inf})


def test_files_of_a_checkpoint_have_the_mode_of_others(checkpoints, umask):
    umask(0o022)
    save(checkpoints, 1, best=True)
    assert {path.stat().st_mode & 0o777 for path in (checkpoints.run / "step-1").iterdir()} == {0o644}


def test_damaged_files_are_told_with_a_way_out(checkpoints):
    for step in (1, 2):
        save(checkpoints, step, best=True)
    path = checkpoints.run / "step-2/model.safetensors"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(
        RunError, match=r"best/model\.safetensors is damaged \(50 bytes; was it cut off while copying\?\)\. step-1 is another "
        r"checkpoint: use --checkpoint step-1\."
    ):  # fmt: skip
        checkpoints.load_weights()
    assert float(checkpoints.load_weights("step-1")["weight"][0, 0]) == 1.0
    for step in (1, 2):
        (checkpoints.run / f"step-{step}/training.json").write_text('{"step":')
    with pytest.raises(
        RunError, match=r"step-2/training\.json is damaged \(.*\), and .* holds no other whole checkpoint; copy"
    ):
        checkpoints.load_training()
    shutil.rmtree(checkpoints.run / "step-2")
    (checkpoints.run / "step-1/model.safetensors").unlink()
    with pytest.raises(
        RunError, match=r"model\.safetensors is missing, and .* holds no other checkpoint; copy the run again"
    ):
        checkpoints.load_weights("step-1")


# --- whole runs


def test_tied_weights_are_stored_once_and_come_back_tied(run_recipe, tmp_path):
    job = run_recipe(tmp_path / "run", overrides=["training.steps=2"])
    weights = Checkpoints(tmp_path / "run").load_weights("last")
    same = [name for name, tensor in weights.items() if tensor.shape == job.model.project.weight.shape]
    assert len(same) == 1
    model = api.load(tmp_path / "run").model
    assert model.project.weight is model.embed_target.table.weight is model.embed_source.table.weight
    assert all(tensor.equal(model_tensors(job.model)[name]) for name, tensor in model_tensors(model).items())


def test_weights_that_do_not_fit_the_recipe_are_a_clear_error(run_recipe, tmp_path):
    run_recipe(tmp_path / "run", overrides=["training.steps=2"])
    recipe = tmp_path / "run/recipe.toml"
    recipe.write_text(recipe.read_text().replace("feedforward = 13", "feedforward = 17"))
    with pytest.raises(
        RunError, match=r"weights do not fit the model: .*; recipe\.toml and the checkpoint do not belong together"
    ):
        api.load(tmp_path / "run")
    with pytest.raises(RunError, match="do not belong together"):
        run_recipe(tmp_path / "run", overrides=["training.steps=3", "model.feedforward=17"], resume=True)


def test_loading_is_copying(toy, tmp_path):
    toy.trainer(tmp_path / "run", steps=2).train()
    model = toy.Model()
    load_tensors(model, Checkpoints(tmp_path / "run").load_weights("last"))
    before = (tmp_path / "run/last/model.safetensors").read_bytes()
    with torch.no_grad():
        model.first.weight.zero_()
    assert (tmp_path / "run/last/model.safetensors").read_bytes() == before
