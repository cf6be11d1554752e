"""`jumok` with images: every option trains, a resumed run is exact, classify and look at files, and bad input is told."""

import json
import math
import re
import tomllib
import webbrowser

import numpy as np
import pytest
import torch
from cli.conftest import jumok, refusal
from PIL import Image
from safetensors.torch import load_file

from jumok.api import recipe_schema
from jumok.data.builtin import shapes

RECIPE = """
task = "image-classification"
[data]
train = "train"
val = "val"
[model]
name = "vit"
patch_size = 4
layers = 1
width = 16
heads = 2
feedforward = 16
[training]
steps = 3
batch_size = 8
warmup = 1
evaluate_every = 3
save_every = 3
log_every = 1
monitor = "accuracy"
"""
SWIN = [
    "model.name=swin",
    "model.patch_size=2",
    "model.width=8",
    "model.layers=[1, 2]",
    "model.heads=[1, 2]",
    "model.window=3",
]
MIXER = ["model.name=mixer", "model.place_feedforward=5", "model.dropout=0.1", "model.stochastic_depth=0.2"]
NOT_VIT = ("layers", "width", "heads", "feedforward", "patch_size")
OPTIONS = {
    "vit": {
        "sizes": ["model.layers=2", "model.width=18", "model.heads=3", "model.feedforward=0", "model.patch_size=8", "model.name=vit"],
        "reading": ["model.patches=convolution", "model.pool=mean", "model.positions=sinusoidal", "model.activation=relu"],
        "norms": ["model.norm_position=post", "model.norm_epsilon=1e-5", "model.dropout=0.2", "model.attention_dropout=0.1"],
        "depth": ["model.stochastic_depth=0.3", "model.preset=digits", "training.accumulate=2"],
        "as they are": ["data.size=12", "data.channels=1", "data.fit=squeeze", "data.mean=[0.4]", "data.deviation=[0.3]"],
        "divided": ["data.val=[]", "data.hold_out=7", "data.limit=20", "data.folder=.", 'data.test=["val"]', "data.loaders=0"],
        "named": ['data.labels=["star", "circle", "square"]', 'data.train=["train"]', "data.loaders=2", 'data.val=["val"]'],
        "built in": ["data.train=[]", "data.val=[]", "data.set=shapes", "data.set_size=24", "data.size=16"],
        "varied": ["data.augment.crop=2", "data.augment.zoom=0.4", "data.augment.flip=true", "data.augment.jitter=0.3",
                   "training.workers=2"],
        "mixed": ["data.augment.policy=2", "data.augment.policy_strength=0.5", "data.augment.erase=0.5",
                  "data.augment.mixup=0.3", "data.augment.cutmix=1.0", "training.label_smoothing=0.1"],
    },
    "swin": {
        "sizes": [*SWIN, "model.feedforward_ratio=1.5", "model.patches=convolution"],
        "dropout": [*SWIN, "model.dropout=0.1", "model.attention_dropout=0.1", "model.stochastic_depth=0.3", "model.norm_epsilon=1e-6"],
        "preset": ["model.name=swin", "model.preset=digits", "model.width=8"],
    },
    "mixer": {
        "sizes": [*MIXER, "model.patch_size=8", "model.layers=1", "model.width=10", "model.feedforward=7"],
        "other": ["model.name=mixer", "model.patches=convolution", "model.preset=digits", "model.norm_epsilon=1e-5"],
    },
    "cnn": {
        "sizes": [
            "model.name=cnn", "model.width=8", "model.stages=2", "model.blocks=1", "model.stem_pool=true",
            "model.dropout=0.1", "model.norm=group",
        ],
        "preset": ["model.name=cnn", "model.preset=digits", "training.workers=1"],
    },
}  # fmt: skip
CASES = [(kind, group) for kind, groups in OPTIONS.items() for group in groups]
FORMS = ("circle", "square", "star")


def write_images(folder):
    """Write two folders of class folders, and the recipe beside them."""
    for split, count in (("train", 30), ("val", 9)):
        made, number = dict.fromkeys(FORMS, 0), 0
        while min(made.values()) < count // 3:
            found = shapes.scene(split, number)
            number += 1
            if made.get(found.label, count) < count // 3:
                (folder / split / found.label).mkdir(parents=True, exist_ok=True)
                shapes.draw(found, 16).save(folder / split / found.label / f"{number}.png")
                made[found.label] += 1
    recipe = folder / "images.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    return recipe


def settings(overrides):
    """Return --set for each; keys that belong to another model are taken out of the recipe's own."""
    return [part for override in overrides for part in ("--set", override)]


def recipe_for(folder, kind):
    recipe = write_images(folder)
    if kind != "vit":
        text = recipe.read_text(encoding="utf-8")
        head, _, rest = text.partition("[model]")
        recipe.write_text(
            f'{head}[model]\nname = "{kind}"\n[training]{rest.partition("[training]")[2]}', encoding="utf-8"
        )
    return recipe


@pytest.mark.parametrize(("kind", "group"), CASES)
def test_every_option_trains_scores_and_answers(tmp_path, kind, group):
    recipe, run = recipe_for(tmp_path, kind), tmp_path / "run"
    done = jumok("train", recipe, "--out", run, *settings(OPTIONS[kind][group]))
    assert done.code == 0, done.err
    saved = tomllib.loads((run / "recipe.toml").read_text(encoding="utf-8"))
    for override in OPTIONS[kind][group]:
        key, _, value = override.partition("=")
        if key in ("data.train", "data.val", "data.test"):
            continue
        place = saved
        for part in key.split("."):
            place = place[part]
        try:
            assert place == tomllib.loads(f"value = {value}")["value"], key
        except tomllib.TOMLDecodeError:
            assert place == value, key
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    assert len(losses) == 3
    assert all(math.isfinite(loss) for loss in losses)
    image = next((tmp_path / "val").rglob("*.png"))
    answer = jumok("classify", run, image)
    assert answer.code == 0, answer.err
    assert answer.out.endswith(f"\t{image}\n")
    assert jumok("evaluate", run, "--json").code == 0
    if saved["data"]["test"]:
        assert jumok("evaluate", run, "--split", "test").code == 0


def test_the_groups_leave_no_option_out():
    definitions = recipe_schema()["$defs"]
    filled_in = {"model.image_size", "model.channels", "model.classes"}
    for name, kind in {"ViTConfig": "vit", "SwinConfig": "swin", "MixerConfig": "mixer", "CNNConfig": "cnn"}.items():
        reached = {o.partition("=")[0] for group in OPTIONS[kind].values() for o in group}
        known = {f"model.{key}" for key in definitions[name]["properties"]}
        assert known - reached - filled_in == set(), name
    reached = {o.partition("=")[0] for group in OPTIONS["vit"].values() for o in group}
    known = {f"data.{key}" for key in definitions["ImageData"]["properties"]} - {"data.augment"}
    known |= {f"data.augment.{key}" for key in definitions["Augment"]["properties"]}
    assert known - reached == set()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    recipe = write_images(folder)
    run = folder / "run"
    steps = [
        "training.steps=60",
        "training.evaluate_every=30",
        "training.learning_rate=3e-3",
        "training.schedule=constant",
    ]
    done = jumok("train", recipe, "--out", run, *settings(steps))
    assert done.code == 0, done.err
    return run


@pytest.mark.parametrize("workers", [1, 2])
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path, workers):
    recipe = write_images(tmp_path)
    varied = [
        *OPTIONS["vit"]["varied"],
        *OPTIONS["vit"]["mixed"],
        f"training.workers={workers}",
        "training.save_every=2",
    ]
    for name, steps, more in (
        ("whole", 5, []),
        ("parts", 2, []),
        ("parts", 5, ["--resume", "--set", "data.loaders=0"]),
    ):
        done = jumok("train", recipe, "--out", tmp_path / name, *settings([*varied, f"training.steps={steps}"]), *more)
        assert done.code == 0, done.err
    whole, parts = (load_file(tmp_path / name / "last" / "model.safetensors") for name in ("whole", "parts"))
    assert all(torch.equal(parts[name], value) for name, value in whole.items())


def test_it_learns_and_names_files_and_folders(trained, tmp_path):
    folder = trained.parent / "val"
    lines = jumok("classify", trained, folder, folder / "star").out.splitlines()
    assert len(lines) == 12
    right = sum(line.split("\t")[0] == line.split("/")[-2] for line in lines)
    assert right >= 8
    rows = [json.loads(line) for line in jumok("classify", trained, folder, "--json").out.splitlines()]
    assert [row["image"] for row in rows] == sorted(row["image"] for row in rows)
    assert all(sum(row["probabilities"].values()) == pytest.approx(1.0, abs=1e-4) for row in rows)
    top = jumok("classify", trained, folder / "star", "--top", "2").out.splitlines()[0].split("\t")
    assert len(top) == 5
    assert float(top[1]) >= float(top[3])


def test_a_broken_file_among_good_ones_is_told_and_left_open(trained, tmp_path):
    good = next((trained.parent / "val").rglob("*.png"))
    (tmp_path / "a.png").write_text("no image")
    (tmp_path / "b.png").write_bytes(good.read_bytes())
    (tmp_path / "c.jpg").write_bytes(b"\xff\xd8\xff\xe0 and nothing more")
    done = jumok("classify", trained, tmp_path)
    assert done.code == 1
    assert [line.split("\t")[0] == "-" for line in done.out.splitlines()] == [True, False, True]
    assert f"{tmp_path}/a.png: no image that can be read." in done.err
    assert "c.jpg" in done.err
    one = jumok("classify", trained, tmp_path / "a.png", "--json")
    assert json.loads(one.out) == {"image": f"{tmp_path}/a.png", "label": None}


def test_a_sentence_is_no_image(trained):
    assert "there is no image a lovely film; this run is for images" in refusal(
        jumok("classify", trained, "a lovely film")
    )


@pytest.mark.parametrize("image", ["grey 16 bits", "cmyk", "one pixel", "wide"])
def test_unusual_images_are_named(trained, tmp_path, image):
    made = {
        "grey 16 bits": lambda: Image.fromarray(np.arange(400, dtype=np.uint16).reshape(20, 20) * 160),
        "cmyk": lambda: Image.new("CMYK", (20, 20), (0, 200, 200, 0)),
        "one pixel": lambda: Image.new("RGB", (1, 1), "red"),
        "wide": lambda: Image.new("RGB", (300, 2), "blue"),
    }[image]()
    file = tmp_path / ("a.jpg" if image == "cmyk" else "a.png")
    made.save(file)
    done = jumok("classify", trained, file)
    assert done.code == 0, done.err
    assert done.out.split("\t")[0] in FORMS


def test_scores_are_shown(trained):
    shown = jumok("evaluate", trained).out
    assert "val (val), 9 images" in shown
    assert "beside it: accuracy of majority 33.33 %" in shown
    scores = json.loads(jumok("evaluate", trained, "--json").out)["val"]
    assert np.array(scores["confusion"]).sum() == 9
    own = json.loads(jumok("evaluate", trained, "--source", trained.parent / "train", "--json").out)["train"]
    assert own["examples"] == 30
    assert "--target is for translation" in refusal(jumok("evaluate", trained, "--source", "a", "--target", "b"))


def test_looking_at_a_image(trained, tmp_path):
    image = next((trained.parent / "val" / "star").glob("*.png"))
    shown = jumok("look", trained, image).out
    assert "rollout over all layers" in shown
    assert len([line for line in shown.splitlines() if set(line) & set("░▒▓█")]) >= 2
    found = json.loads(jumok("look", trained, image, "--json").out)
    assert np.array(found["heat"]).shape == (4, 4)
    assert np.array(found["heat"]).sum() == pytest.approx(1.0, abs=1e-4)
    layer = json.loads(jumok("look", trained, image, "--json", "--layer", "1", "--head", "2").out)
    assert layer["what"] == "layer 1, head 2"
    drawn = jumok("look", trained, image, "--png", tmp_path / "heat.png")
    assert drawn.code == 0, drawn.err
    with Image.open(tmp_path / "heat.png") as heat:
        assert heat.width > 400
    for wrong, why in [
        (["--kind", "cross"], "--kind cross: this model has encoder"),
        (["--layer", "2"], "--layer 2: there are 1"),
        (["--layer", "1", "--head", "3"], "--head 3: there are 2"),
        (["--head", "1"], "--head needs --layer"),
        (["--beam", "2"], "--to, --target, --importance, --words and the options of decoding are for text"),
    ]:
        assert why in refusal(jumok("look", trained, image, *wrong))


def told(page):
    """Return what a page is told."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[1])


def test_looking_at_a_image_on_a_page(trained, tmp_path, monkeypatch):
    image, page = next((trained.parent / "val" / "star").glob("*.png")), tmp_path / "look.html"
    done = jumok("look", trained, image, "--html", page)
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(rf"{image}: (\w+ \d+\.\d%(, )?){{3}}\npage: {page} \(\d+ kB\)\n", done.out)
    (run,) = told(page)["runs"]
    assert (run["name"], run["source"]) == ("run", image.name)
    assert run["grids"] == {"encoder": {"rows": 4, "columns": 4, "block": 1}}
    found = json.loads(jumok("classify", trained, image, "--json").out)
    shares = {one["label"]: one["probability"] for one in run["classes"]}
    assert shares == pytest.approx(found["probabilities"], abs=1e-4)
    both = jumok("look", trained, image, "--html", page, "--png", tmp_path / "heat.png")
    assert both.code == 0
    assert (tmp_path / "heat.png").exists()
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    assert jumok("look", trained, image, "--open").code == 0
    assert len(opened) == 1


def test_several_models_look_at_one_image(trained, tmp_path):
    recipe, page = recipe_for(tmp_path, "cnn"), tmp_path / "both.html"
    assert jumok("train", recipe, "--out", tmp_path / "cnn", *settings(OPTIONS["cnn"]["sizes"])).code == 0
    image = next((tmp_path / "val").rglob("*.png"))
    done = jumok("look", trained, tmp_path / "cnn", image, "--html", page)
    assert done.code == 0, done.err
    assert [(run["name"], bool(run["maps"])) for run in told(page)["runs"]] == [("run", True), ("cnn", False)]
    alone = jumok("look", tmp_path / "cnn", image, "--html", tmp_path / "none.html")
    assert alone.code == 0
    assert "This model has no attention to show: its convolutions" in alone.out
    assert not (tmp_path / "none.html").exists()
    why = "2 runs are given; --html FILE or --open shows them on one image"
    assert why in refusal(jumok("look", trained, tmp_path / "cnn", image))


def test_images_and_sentences_are_not_looked_at_together(trained, copy_run):
    why = "the runs are of different kinds (text, images, series); look at one kind at a time"
    assert refusal(jumok("look", trained, copy_run, "k c")) == why


@pytest.mark.parametrize("kind", ["mixer", "cnn", "swin"])
def test_looking_with_other_models(tmp_path, kind):
    recipe, run = recipe_for(tmp_path, kind), tmp_path / "run"
    assert jumok("train", recipe, "--out", run, *settings(OPTIONS[kind]["sizes"])).code == 0
    image = next((tmp_path / "val").rglob("*.png"))
    done = jumok("look", run, image, "--png", tmp_path / "look.png")
    assert done.code == 0, done.err
    assert ("This model has no attention to show" in done.out) == (kind != "swin")
    assert (tmp_path / "look.png").exists() == (kind != "cnn")
    if kind == "swin":
        heat = np.array(json.loads(jumok("look", run, image, "--json").out)["heat"])
        assert heat.shape == (8, 8)
        assert heat.sum() == pytest.approx(1.0, abs=1e-4)


# --- bad input


def refused(tmp_path, *arguments):
    done = jumok("train", tmp_path / "images.toml", "--out", tmp_path / "run", *arguments)
    progress, mark, message = ("\n" + done.err).partition("\njumok: ")
    assert (done.code, mark) == (2, "\njumok: "), done
    assert all(line.endswith(" …") for line in progress.split("\n") if line), progress
    return message


def test_broken_images_are_counted_named_and_left_out(tmp_path):
    recipe = write_images(tmp_path)
    good = next((tmp_path / "train" / "star").glob("*.png"))
    (tmp_path / "train" / "star" / "cut.jpg").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF and nothing more")
    (tmp_path / "train" / "star" / "text.png").write_text("no image")
    (tmp_path / "train" / "star" / "whole.png").write_bytes(good.read_bytes())
    done = jumok("train", recipe, "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert "31 images of 16 × 16 pixels, colour, 3 classes" in done.err
    assert "2 images cannot be used and are left out: star/cut.jpg: " in done.err
    assert "star/text.png: no image that can be read" in done.err


def test_one_class_and_an_empty_one(tmp_path):
    recipe = write_images(tmp_path)
    (tmp_path / "train" / "cross").mkdir()
    done = jumok("train", recipe, "--out", tmp_path / "run")
    assert "the folder cross of" in done.err
    assert done.code == 0
    for form in ("circle", "square"):
        for file in (tmp_path / "train" / form).iterdir():
            file.unlink()
    message = refusal(jumok("train", recipe, "--out", tmp_path / "other"))
    assert "the training data has only the class 'star'; two classes or more are needed" in message


@pytest.mark.parametrize(("overrides", "why"), [
    (["data.size=18"], "data.size (18) must be a multiple of model.patch_size (4); the nearest below is 16"),
    (["data.train=[]"], "[data] needs either set ="),
    (["data.set=shapes"], "[data] needs either set ="),
    (["data.set=shape", "data.train=[]"], "data.set = 'shape' is no set of images; did you mean 'shapes'?"),
    (["data.labels=['star', 'circle']"], "the class 'square' of square/"),
    (["data.limit=1000"], "data.limit = 1,000, but there are only 30 training images"),
    (["data.val=[]", "data.hold_out=30"], "data.hold_out = 30 leaves nothing of 30 images to train on"),
    (["training.monitor=bleu"], "training.monitor = 'bleu' is not among the scores: loss, accuracy, macro_f1, top5"),
    (["training.batch_tokens=100"], "training.batch_tokens is for text; set training.batch_size"),
    (["tokenizer.vocabulary=100"], "[tokenizer] is not for image-classification: take it out"),
    (["data.mean=[0.5]", "data.deviation=[0.5]"], "data.mean has 1 numbers for 3 channels"),
    (["data.augment.rotate=3"], "has no key 'rotate'"),
    (["data.train='nowhere'"], "nowhere was not found"),
    (["model.name=gpt"], "model 'gpt' is for language"),
    (["model.name=cnn", "model.width=12"], "multiple of 8"),
])  # fmt: skip
def test_what_cannot_work_is_told_before_anything_is_written(tmp_path, overrides, why):
    write_images(tmp_path)
    for kind in ("cnn", "gpt"):
        if f"model.name={kind}" in overrides:
            recipe_for(tmp_path, kind)
    assert why in refused(tmp_path, *settings(overrides))
    assert not (tmp_path / "run").exists()
