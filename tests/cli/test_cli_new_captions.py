"""`jumok new` on images and captions: every format becomes a recipe, splits are found, what is unclear is asked."""

import csv
import json
import tomllib

import numpy as np
import pytest
from cli.conftest import jumok
from cli.data_of_ones_own import captioned, write_csv

from jumok.runs.run import load_recipe
from jumok.workflows.new import caption_plan


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with album/ and captions.csv, where one stands."""
    monkeypatch.chdir(tmp_path)
    captioned(tmp_path)
    return tmp_path


def rows(folder):
    with (folder / "captions.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def new(*arguments):
    """Return what the written recipe says; it can be read."""
    done = jumok("new", *arguments, "--out", "out.toml")
    assert done.code == 0, done.err
    load_recipe("out.toml")
    with open("out.toml", "rb") as file:
        return tomllib.load(file)


def refused(*arguments):
    done = jumok("new", *arguments)
    assert (done.code, done.out) == (2, ""), done
    return done.err.partition("jumok: ")[2].removesuffix("\n")


def by_name(folder):
    said = {}
    for name, text in rows(folder):
        said.setdefault(name, []).append(text)
    return said


def test_the_order_does_not_matter(here):
    assert new("captions.csv", "album")["data"]["train"]["images"] == "album"


def test_a_recipe_is_named_by_both(here):
    assert jumok("new", "album/", "captions.csv").code == 0
    assert (here / "album-captions.toml").exists()


def test_flickr_text_and_a_list_by_names(here):
    (here / "token.txt").write_text("".join(f"{name}#0\t{text}\n" for name, text in rows(here)), encoding="utf-8")
    (here / "names.json").write_text(json.dumps(by_name(here)), encoding="utf-8")
    assert new("album", "token.txt")["data"]["train"] == {"file": "token.txt", "images": "album"}
    (here / "out.toml").unlink()
    assert new("album", "names.json")["data"]["train"] == {"file": "names.json", "images": "album"}


def test_splits_of_karpathys_file(here):
    splits = ["train"] * 50 + ["restval"] * 2 + ["val"] * 5 + ["test"] * 3
    images = [
        {"filename": name, "split": split, "sentences": [{"raw": text} for text in texts]}
        for (name, texts), split in zip(by_name(here).items(), splits, strict=True)
    ]
    (here / "dataset.json").write_text(json.dumps({"images": images}), encoding="utf-8")
    data = new("album", "dataset.json")["data"]
    assert {split: data[split]["split"] for split in ("train", "val", "test")} == {
        s: s for s in ("train", "val", "test")
    }
    assert "hold_out" not in data


def test_splits_of_a_column(here):
    said = [
        ("file", "set", "comment"),
        *((n, "dev" if i % 6 == 0 else "train", t) for i, (n, t) in enumerate(rows(here))),
    ]
    write_csv(here / "said.csv", said)
    data = new("album", "said.csv")["data"]
    wanted = {"file": "said.csv", "images": "album", "image": "file", "caption": "comment", "split_column": "set"}
    assert data["train"] == wanted | {"split": "train"}
    assert data["val"] == wanted | {"split": "dev"}


def test_images_in_an_npz_and_captions_by_key(here):
    np.savez(here / "train.npz", x=np.random.default_rng(1).integers(0, 255, (60, 24, 24, 3)).astype(np.uint8))
    said = [{"id": number, "en": f"image number {number}", "ko": f"{number}번 그림"} for number in range(60)]
    (here / "train.json").write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
    asked = refused("train.npz", "train.json")
    assert "which key holds the captions? Name it: --text KEY; it has id, en, ko" in asked
    found = new("train.npz", "train.json", "--text", "ko")
    assert found["data"]["train"] == {"file": "train.json", "images": "train.npz", "caption": "ko"}
    assert found["tokenizer"]["kind"] == "bpe", "Korean is cut into subwords"


def test_captions_of_val_alone_are_of_the_same_folder(here):
    said = rows(here)
    write_csv(here / "train.csv", [("image", "caption"), *said[:110]])
    write_csv(here / "val.csv", [("image", "caption"), *said[110:]])
    data = new("album", "train.csv", "--val", "val.csv")["data"]
    assert data["val"] == {"file": "val.csv", "images": "album", "image": "image", "caption": "caption"}
    (here / "out.toml").unlink()
    assert new("album", "train.csv", "--val", "val.csv", "--val", "album")["data"] == data
    assert "--val needs captions" in refused("album", "train.csv", "--val", "album")


def test_a_table_beside_its_images_needs_no_folder(here):
    write_csv(here / "beside.csv", [("image", "caption"), *((f"album/{name}", text) for name, text in rows(here))])
    found = new("beside.csv")
    assert found["task"] == "image-captioning"
    assert found["data"]["train"] == {"file": "beside.csv", "image": "image", "caption": "caption"}


@pytest.mark.parametrize("installed", [True, False])
def test_the_encoder_is_what_is_installed(here, monkeypatch, installed):
    monkeypatch.setattr(caption_plan.importlib.util, "find_spec", lambda name: object() if installed else None)
    found = new("album", "captions.csv")
    assert found["model"]["encoder"] == ("efficientnet-lite0" if installed else "cnn")
    assert (found["data"]["size"], "augment" in found["data"]) == ((32, False) if installed else (64, True))


def test_presets_and_what_they_are(here):
    assert new("album", "captions.csv", "--preset", "transformer")["model"]["preset"] == "transformer"
    assert "no such preset; did you mean 'attend'?" in refused("album", "captions.csv", "--preset", "atend")


def test_what_is_unclear_or_too_little(here):
    assert (
        "images and captions can be learnt from for image-captioning or text-to-image or image-codes, not for translation"
        in refused("album", "captions.csv", "--task", "translation")
    )
    write_csv(here / "few.csv", [("image", "caption"), *rows(here)[:20]])
    assert "has captions of 10 images; a captioner needs thousands" in refused("album", "few.csv")
    write_csv(here / "two.csv", [("image", "first words", "second words"), *((n, t, t + ".") for n, t in rows(here))])
    assert "2 columns may be the captions" in refused("album", "two.csv")
    write_csv(here / "lost.csv", [("image", "caption"), *((f"x{name}", text) for name, text in rows(here))])
    assert "names 60 images, and none is in" in refused("album", "lost.csv")
    (here / "novel.txt").write_text("Once upon a time.\n" * 9)
    assert "is no caption as Flickr8k writes it" in refused("album", "novel.txt")
    assert "is a folder; give the images and their captions" in refused("album", "--task", "image-captioning")


# --- image codes and drawers


def both(*arguments):
    """Return the recipes of a drawer and of its codes."""
    drawer = new(*arguments, "--task", "text-to-image")
    load_recipe("out-codes.toml")
    with open("out-codes.toml", "rb") as file:
        return drawer, tomllib.load(file)


def test_a_drawer_comes_with_a_recipe_of_its_codes(here):
    drawer, codes = both("album", "captions.csv")
    assert (drawer["task"], codes["task"]) == ("text-to-image", "image-codes")
    assert drawer["data"]["train"] == codes["data"]["train"]
    assert drawer["data"]["hold_out"] == codes["data"]["hold_out"], (
        "what the drawer is scored on, its codes have not seen"
    )
    assert drawer["model"]["codes"] == "runs/out-codes"
    assert drawer["decoding"]["sample"]
    assert codes["data"]["size"] % 2 ** codes["model"]["halvings"] == 0
    (here / "out.toml").unlink()
    assert "out-codes.toml exists already" in refused(
        "album", "captions.csv", "--task", "text-to-image", "--out", "out.toml"
    )


def test_what_to_type_next_trains_the_codes_first(here):
    lines = jumok("new", "album", "captions.csv", "--task", "text-to-image", "--out", "out.toml").out.splitlines()
    told = [line.split()[:3] for line in lines if line.startswith("  jumok")]
    assert told[:4] == [["jumok", do, file] for file in ("out-codes.toml", "out.toml") for do in ("check", "train")]
    assert told[4] == ["jumok", "draw", "runs/out"]


def test_images_of_classes_are_drawn_by_the_names_of_these(here):
    pixels = np.random.default_rng(1).integers(0, 256, (70, 28, 28), dtype=np.uint8)
    np.savez(here / "digits.npz", x=pixels, y=np.arange(70) % 10)
    drawer, codes = both("digits.npz")
    assert drawer["data"]["train"] == codes["data"]["train"] == "digits.npz"
    assert (codes["data"]["size"], codes["data"]["channels"], codes["model"]["halvings"]) == (32, 1, 2)


def test_images_alone_are_enough_for_codes(here):
    codes = new("album", "--task", "image-codes")
    assert (codes["task"], codes["data"]["train"], codes["model"]["name"]) == ("image-codes", "album", "image-codes")
    assert "Or name a file of captions" in refused("album", "--task", "text-to-image")
    (here / "few").mkdir()
    for file in sorted((here / "album").iterdir())[:3]:
        (here / "few" / file.name).write_bytes(file.read_bytes())
    assert "few has 3 images; codes need thousands" in refused("few", "--task", "image-codes")
