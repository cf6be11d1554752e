"""Captioners side by side: the same images, scores of evaluate, objects by their number."""

import json

import pytest
from typer.testing import CliRunner

import jumok
from jumok.cli.main import app
from jumok.data.builtin import relations
from jumok.errors import ConfigError, DataError
from jumok.evaluation.scenes import score_scenes
from jumok.workflows.compare_captions import objects_right

RECIPE = """
task = "image-captioning"
[data]
size = 16
loaders = 0
train = { file = "captions.csv" }
val = { file = "val.csv" }
[tokenizer]
kind = "word"
[model]
name = "captioner"
width = 13
embedding_width = 11
[training]
steps = 2
workers = 1
batch_size = 7
[decoding]
beam = 1
max_length = 9
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two captioners of 23 images, hardly trained."""
    folder = tmp_path_factory.mktemp("captions")
    for split, count in (("train", 29), ("val", 23)):
        lines = ["image,caption"]
        for number in range(count):
            scene = relations.scene(split, number)
            relations.draw(scene, 16).save(folder / f"{split}-{number}.png")
            lines.append(f'{split}-{number}.png,"{scene.caption}"')
        (folder / {"train": "captions.csv", "val": "val.csv"}[split]).write_text("\n".join(lines))
    (folder / "recipe.toml").write_text(RECIPE)
    return [
        jumok.train(folder / "recipe.toml", out=folder / name, overrides=[f"model.attention={attention}"])
        for name, attention in (("tell", "none"), ("attend", "dot"))
    ]


@pytest.fixture(scope="module")
def compared(runs):
    told = []
    found = jumok.compare(runs, progress=lambda *facts: told.append(facts))
    assert sum(done for name, done, total in told if name == "attend") == 23
    return next(iter(found.values()))


def test_scores_are_those_of_evaluate(compared, runs):
    for run, folder in zip(compared.runs, runs, strict=True):
        (alone,) = jumok.evaluate(folder).values()
        for name in ("cider_d", "bleu4", "rouge_l", "distinct", "vocabulary", "decoding"):
            assert getattr(run, name) == alone[name]
        assert run.objects[0].all_right == alone["objects"]["all_right"]
        assert set(alone["floors"]) == {"one constant caption", "captions of the nearest images"}  # one caption each


def test_objects_by_their_number(compared):
    of_run = compared.runs[1].objects
    assert of_run[0].objects == 0
    assert sum(each.scenes for each in of_run[1:]) == of_run[0].scenes == compared.images == 23
    assert [each.objects for each in of_run[1:]] == sorted({each.objects for each in of_run[1:]})
    assert compared.runs[0].objects[0].significance.p is None


def test_attending_is_significantly_better_where_it_is():
    scenes = [relations.scene("val", number).described for number in range(200)]
    tell = [objects if len(objects) < 3 else None for objects in scenes]
    baseline, attend = objects_right([score_scenes(tell, scenes), score_scenes(scenes, scenes)])
    for few, many in zip(baseline[1:], attend[1:], strict=True):
        assert many.all_right == 100.0
        assert few.all_right == (100.0 if few.objects < 3 else 0.0)
        assert many.significance.p == (1.0 if few.objects < 3 else pytest.approx(1 / 1001))


def test_the_command(runs, tmp_path):
    done = CliRunner().invoke(app, ["compare", *map(str, runs), "--beam", "2", "--png", str(tmp_path / "objects.png")])
    assert done.exit_code == 0, done.output
    assert "val.csv (val), 23 images" in done.output
    assert "CIDEr-D" in done.output
    assert "all objects right, in all (23 images): tell 0.0 %; attend 0.0 % (p 1.000)" in done.output
    assert "refs:1|case:lower" in done.output
    assert (tmp_path / "objects.png").read_bytes().startswith(b"\x89PNG")
    found = CliRunner().invoke(app, ["compare", *map(str, runs), "--json"])
    assert json.loads(found.stdout)["val.csv"]["runs"][1]["name"] == "attend"


def test_other_images_are_refused(runs, tmp_path):
    folder = runs[0].parent
    (tmp_path / "low.toml").write_text(RECIPE)
    fewer = (folder / "val.csv").read_text().splitlines()[:9]
    (folder / "fewer.csv").write_text("\n".join(fewer))
    other = jumok.train(
        tmp_path / "low.toml", data=folder, out=tmp_path / "other", overrides=['data.val={ file = "fewer.csv" }']
    )
    with pytest.raises(DataError, match=r"other does not have the images of tell \(val.csv\); compare needs the same"):
        jumok.compare([runs[0], other])
    with pytest.raises(ConfigError, match=r"--to de is for translation; .* describes images"):
        jumok.compare(runs, to="de")
