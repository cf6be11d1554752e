"""`jumok evaluate` and `jumok compare` of runs that draw: who reads, what is printed, what is refused."""

import json
import re
import shutil

import pytest
from cli.conftest import jumok
from drawing_runs import DRAWER_RECIPE, TRAINING
from PIL import Image

import jumok as library
from jumok.data.builtin import shapes

SETS = ["drawings", "real images", "reconstructions", "drawings of other prompts"]


def scores_of(*arguments) -> dict:
    done = jumok("evaluate", *arguments, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_the_table_and_the_json_agree(drawer_run):
    scores = scores_of(drawer_run, "--drawings", 11)["val"]
    done = jumok("evaluate", drawer_run, "--drawings", 11)
    assert done.code == 0, done.err
    assert scores == scores_of(drawer_run, "--drawings", 11)["val"], "the same seed draws the same"
    assert done.out.startswith("val (val), 1,000 images, 1,000 captions\n")
    assert f"  loss {scores['loss']:.4f}   bits per code {scores['bits']:.3f}   text loss" in done.out
    assert "11 drawings (guidance 2, temperature 1, seed 1), read by shapes-captioner; right, per cent:" in done.out
    assert list(scores["read"]) == SETS
    shown = ("form", "colour", "size", "place", "count", "pair", "order", "all_right")
    for name in ("real images", "drawings of other prompts"):
        figures = [f"{scores['read'][name][share]:.1f}" for share in shown]
        assert re.search(rf"^ *{name}\s+" + r"\s+".join(map(re.escape, figures)) + r"\s*$", done.out, re.MULTILINE)
    assert f"nearest of 200 training images, RMSE of pixels (median): drawings {_median(scores):.1f}," in done.out
    assert "Fréchet distance on features of shapes-captioner (64 wide), 11 images from 989 other real ones:" in done.out
    assert "FID" not in done.out


def _median(scores):
    return scores["copied"]["median"]["drawings"]


def test_decoding_options_count(drawer_run):
    one, other, bold = (
        scores_of(drawer_run, "--drawings", 11, *options)["val"]
        for options in ([], ["--seed", 5], ["--guidance", 1, "--temperature", 0.5])
    )
    assert _median(one) != _median(other)
    assert (bold["decoding"]["guidance"], bold["decoding"]["temperature"]) == (1.0, 0.5)
    assert one["loss"] == bold["loss"], "what codes cost does not depend on how they are drawn"
    assert one["read"]["real images"] == other["read"]["real images"]


def test_captions_of_other_data_need_a_reader_that_knows_them(drawer_run, tmp_path):
    (tmp_path / "captions.csv").write_text("image,caption\n" + "".join(f"{n}.png,a dog\n" for n in range(3)))
    for number in range(3):
        Image.new("RGB", (32, 32), (number, 0, 0)).save(tmp_path / f"{number}.png")
    done = jumok("evaluate", drawer_run, "--source", tmp_path / "captions.csv", "--target", tmp_path)
    assert done.code == 2
    assert "shapes-captioner is a captioner, which reads drawings of the built-in scenes" in done.err
    refused = jumok("evaluate", drawer_run, "--read", drawer_run, "--drawings", 3)
    assert refused.code == 2
    assert "drawings are read by a captioner or an image classifier: --read one" in refused.err


def test_reading_is_for_runs_that_draw(copy_run):
    for options, named in ((["--read", "shapes"], "--read"), (["--drawings", 5], "--drawings 5")):
        for command in (["evaluate", copy_run], ["compare", copy_run, "another"]):
            done = jumok(*command, *options)
            assert done.code == 2
            assert f"{named} is for runs that draw, and jumok translate uses {copy_run}; leave it out" in done.err


@pytest.fixture(scope="module")
def two_runs(drawer_run, tmp_path_factory):
    """The same drawer twice, the second with a stronger guidance."""
    other = tmp_path_factory.mktemp("drawers") / "guided"
    shutil.copytree(drawer_run, other, symlinks=True)
    recipe = other / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("guidance = 2.0", "guidance = 4.0"))
    return drawer_run, other


def test_drawers_side_by_side_draw_the_same_prompts(two_runs):
    done = jumok("compare", *two_runs, "--drawings", 13)
    assert done.code == 0, done.err
    assert done.out.startswith("val (val), 13 drawings\n")
    assert "guidance is drawer-run 2.0, guided 4.0" in done.out
    assert "read in the drawings by shapes-captioner" in done.out
    found = json.loads(jumok("compare", *two_runs, "--drawings", 13, "--json").out)["val"]
    first, second = found["runs"]
    assert (first["right_significance"]["p"], found["drawings"], found["reader"]) == (None, 13, "shapes-captioner")
    assert 0 < second["right_significance"]["p"] <= 1
    assert first["decoding"]["guidance"] == 2.0
    refused = jumok("compare", *two_runs, "--beam", 3)
    assert refused.code == 2
    assert "--beam 3 is not for runs that draw; leave it out" in refused.err


def test_a_drawer_compared_with_its_twin_differs_by_nothing(drawer_run, tmp_path):
    shutil.copytree(drawer_run, tmp_path / "twin", symlinks=True)
    done = jumok("compare", drawer_run, tmp_path / "twin", "--drawings", 7, "--json")
    first, second = json.loads(done.out)["val"]["runs"]
    assert first["right"] == second["right"]
    assert second["right_significance"]["p"] == 1.0


def test_a_classifier_reads_what_is_drawn_of_classes(codes_run, tmp_path):
    """Class folders are the prompts of a drawer and the classes of a reader, neither of which has learnt much."""
    for number in range(60):
        scene = shapes.scene("train", number)
        (tmp_path / "images" / scene.label).mkdir(parents=True, exist_ok=True)
        shapes.draw(scene, 32).save(tmp_path / "images" / scene.label / f"{number}.png")
    files = {"train": str(tmp_path / "images"), "hold_out": 24}
    few = TRAINING | {"steps": 2}
    library.train(
        DRAWER_RECIPE | {"data": files, "training": few},
        out=tmp_path / "drawer",
        overrides={"model.codes": str(codes_run)},
        quiet=True,
    )
    vit = {"name": "vit", "layers": 1, "width": 8, "heads": 2, "feedforward": 8}
    recipe = {"task": "image-classification", "data": files, "model": vit, "training": few}
    library.train(recipe, out=tmp_path / "reader", quiet=True)

    unread = jumok("evaluate", tmp_path / "drawer", "--drawings", 5)
    assert unread.code == 0, unread.err
    assert "nobody reads the drawings: --read RUN names a captioner or an image classifier" in unread.out
    scores = scores_of(tmp_path / "drawer", "--read", tmp_path / "reader", "--drawings", 12)["held out"]
    done = jumok("evaluate", tmp_path / "drawer", "--read", tmp_path / "reader", "--drawings", 12)
    assert "12 drawings (guidance 2, temperature 1, seed 1), read by reader; right, per cent:" in done.out
    right = scores["read"]["real images"]["right"]
    assert re.search(rf"^ *real images +{right:.1f}\s*$", done.out, re.MULTILINE)
    assert "right by class" in done.out
    assert "Fréchet distance on features of reader (8 wide), 12 images from 12 other real ones" in done.out
    assert set(scores["read"]["drawings"]["by_class"]) <= set(shapes.FORMS)
    groups = scores["groups"]
    assert groups["groups"] == len(shapes.FORMS), "the classes are groups"
    assert list(groups["right"]) == SETS
    assert (
        f"by their nearest training image ({groups['groups']} groups): drawings {groups['right']['drawings']:.1f} %"
        in done.out
    )
    assert f"the commonest group '{groups['commonest']}' for every prompt {groups['commonest_right']:.1f} %" in done.out
