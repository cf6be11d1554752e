"""`jumok recipe` and `jumok sample`: shipped recipes to read, presets, and examples of built-in sets as files."""

import csv
import json
import re

import pytest
from cli.conftest import jumok, refusal
from PIL import Image

from jumok.config.recipe import shipped_recipes
from jumok.data.builtin import relations


def test_a_shipped_recipe_is_printed_as_it_is():
    path = shipped_recipes()["nsmc-bert"]
    assert jumok("recipe", "nsmc-bert") == (0, path.read_text(encoding="utf-8"), "")
    assert refusal(jumok("recipe", "nsmc-brt")) == "there is no shipped recipe 'nsmc-brt'; did you mean 'nsmc-bert'?"


def test_a_shipped_recipe_is_written_once(tmp_path):
    out = tmp_path / "mine.toml"
    assert jumok("recipe", "shapes-vit", "--out", out) == (0, f"{out} is written. Next:  jumok check {out}\n", "")
    assert out.read_bytes() == shipped_recipes()["shapes-vit"].read_bytes()
    assert (
        refusal(jumok("recipe", "shapes-vit", "--out", out))
        == f"{out} exists already; choose another name, or remove it"
    )
    missing = tmp_path / "no" / "where.toml"
    assert refusal(jumok("recipe", "shapes-vit", "--out", missing)).startswith(f"{missing} cannot be written: ")


def test_presets_are_shown_with_their_sizes():
    text = jumok("recipe", "--presets").out
    assert re.search(r"gpt +tiny +layers 4, width 128, ", text)
    found = json.loads(jumok("recipe", "--presets", "--json").out)
    assert found["vit"]["digits"]["patch_size"] == 4
    assert refusal(jumok("recipe", "nsmc-bert", "--presets")).startswith("--presets shows the sizes of all models; ")
    assert "jumok recipe --presets" in jumok("list").out


def test_a_sample_image_has_its_class_told(tmp_path):
    from jumok.data.builtin import shapes

    path = tmp_path / "image.png"
    assert jumok("sample", "shapes", path) == (0, f"{path}: {shapes.scene('test', 0).label}\n", "")
    with Image.open(path) as image:
        assert image.size == (64, 64)
    assert refusal(jumok("sample", "shapes", path)) == f"{path} exists already; choose another name, or remove it"
    other = tmp_path / "other.png"
    told = jumok("sample", "shapes", other, "--skip", 1, "--split", "val").out
    assert told == f"{other}: {shapes.scene('val', 1).label}\n"


def test_several_sample_images_are_a_folder_of_class_folders(tmp_path):
    folder = tmp_path / "photos"
    assert jumok("sample", "shapes", folder, "--number", 40).code == 0
    files = sorted(folder.rglob("*.png"))
    assert len(files) == 40
    assert {file.parent.name for file in files} == {"circle", "cross", "square", "star", "triangle"}
    assert "is one file for 3 images" in refusal(jumok("sample", "shapes", tmp_path / "a.png", "--number", 3))
    assert refusal(jumok("sample", "shapes")) == "images go to a file or a folder: jumok sample shapes image.png"


def test_a_sample_image_has_its_caption_told(tmp_path):
    path = tmp_path / "image.png"
    told = jumok("sample", "shapes", path, "--captions", "--skip", 2)
    assert told == (0, f"{path}: {relations.scene('test', 2).caption}\n", "")
    with Image.open(path) as image:
        assert image.size == (64, 64)
    assert "exists already" in refusal(jumok("sample", "shapes", path, "--captions"))
    assert "captions.csv is written beside" in refusal(
        jumok("sample", "shapes", tmp_path / "a.png", "--captions", "--number", 3)
    )
    assert "dates is text" in refusal(jumok("sample", "dates", "--captions"))


def test_several_sample_images_with_captions_become_a_recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = jumok("sample", "shapes", "images", "--captions", "--number", 200, "--split", "val")
    assert done.out == "images: 200 images and captions.csv. Next:  jumok new images images/captions.csv\n"
    with (tmp_path / "images/captions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["image"] for row in rows} == {path.name for path in (tmp_path / "images").glob("*.png")}
    assert rows[3]["caption"] == relations.scene("val", 3).caption
    assert "captions.csv exists already" in refusal(jumok("sample", "shapes", "images", "--captions", "--skip", 200))
    assert "200 captions of 200 images" in jumok("new", "images", "images/captions.csv").out


@pytest.mark.parametrize("name", ["dates", "copy", "reverse", "korean", "phrasebook"])
def test_pairs_have_a_tab_between(name, tmp_path):
    lines = jumok("sample", name, "--number", 5).out.splitlines()
    assert len(lines) == 5
    assert all(line.count("\t") == 1 for line in lines)
    assert jumok("sample", name, "--number", 2, "--skip", 3).out.splitlines() == lines[3:]
    table = tmp_path / "pairs.csv"
    assert jumok("sample", name, table, "--number", 150, "--split", "train").out == f"{table}: 150 examples of {name}\n"
    assert jumok("new", table, "--out", tmp_path / "pairs.toml").code == 0


def test_alignments_are_shown_and_come_as_json():
    shown = jumok("sample", "korean", "--number", 4, "--alignment").out
    pairs = [json.loads(line) for line in jumok("sample", "korean", "--number", 4, "--json").out.splitlines()]
    aligned = [
        json.loads(line) for line in jumok("sample", "korean", "--number", 4, "--alignment", "--json").out.splitlines()
    ]
    assert [" ".join(pair["source"]) for pair in aligned] == [pair["source"] for pair in pairs]
    for block, pair in zip(shown.strip("\n").split("\n\n"), aligned, strict=True):
        source, target, *groups = block.splitlines()
        assert [source, target] == [" ".join(pair["source"]), " ".join(pair["target"])]
        assert len(groups) >= len(pair["source"])
        assert all(
            0 <= one < len(pair["source"]) and 0 <= other < len(pair["target"]) for one, other in pair["alignment"]
        )
        assert not {tuple(link) for link in pair["alignment"]} & {tuple(link) for link in pair["possible"]}
    assert "no word alignments are known of 'dates'" in refusal(jumok("sample", "dates", "--alignment"))
    assert "are for text" in refusal(jumok("sample", "shapes", "--json"))
    assert json.loads(jumok("sample", "stdlib", "--json").out.splitlines()[0]).keys() == {"text"}


def test_documents_and_what_is_refused(tmp_path):
    assert len(jumok("sample", "stdlib").out) > 80
    assert refusal(jumok("sample", "dats")) == "there is no built-in data set 'dats'; did you mean 'dates'?"
    assert refusal(jumok("sample", "dates", "--split", "tets")) == "--split tets: must be train, val or test"
    assert refusal(jumok("sample", "copy", "--number", 9999)).startswith("the test split of copy has 200 examples; ")


def test_a_recipe_is_no_run_and_a_name_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('[data]\nset = "copy"\n', encoding="utf-8")
    assert refusal(jumok("train", "mine")) == "'mine' is neither a file nor a shipped recipe; did you mean mine.toml?"
    for command in (["translate"], ["look"], ["evaluate"], ["generate"]):
        said = refusal(jumok(*command, "mine.toml", *(["a"] if command != ["evaluate"] else [])))
        assert said == "mine.toml is a recipe, not a run; train it first: jumok train mine.toml, which makes runs/mine"
    assert refusal(jumok("translate", "dates-transformer", "a")).startswith(
        "dates-transformer is a recipe, not a run; "
    )
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "run.json").touch()
    assert refusal(jumok("translate", "mine.toml", "a")) == (
        "mine.toml is a recipe, not a run; the run that was trained by it is runs/mine"
    )


def test_a_shipped_model_says_what_it_can_be_scored_on():
    assert refusal(jumok("evaluate", "ko-en")) == (
        "koen/tatoeba.val.tsv.gz does not come with the model; give data of your own with --source and --target, or the "
        "folder that has it with --data FOLDER."
    )
