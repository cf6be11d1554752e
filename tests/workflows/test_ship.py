"""Models by name: packed small, found by name, answering as the run did, and nothing of the machine left in them."""

import json
import re

import pytest
import torch
from cli.conftest import captioner_run, copy_run, directions_run, gpt_run, jumok, refusal  # noqa: F401 - fixtures
from safetensors.torch import load_file

import jumok as library
from jumok import catalogue
from jumok.data.builtin import relations, shapes
from jumok.errors import ConfigError, RunError
from jumok.runs import shipped as shelf
from jumok.tasks.image_captioning import ImageCaptioning
from jumok.training.checkpoint import Checkpoints
from jumok.workflows import ship as shipping
from jumok.workflows import shipments, small_runs

DIGITS = ["4 0 7", "1 2 3 4", "9 9"]


@pytest.fixture(scope="module")
def packed(directions_run, tmp_path_factory):  # noqa: F811
    """Return the shelf that a run of several directions was packed into, and the report."""
    place = tmp_path_factory.mktemp("shelf")
    return place, shipping.pack(directions_run, "numbers", shelf=place, notes="Numbers are free.")


@pytest.fixture
def shipped(packed, monkeypatch, tmp_path):
    """Ship the packed model under two names, in a working directory that is empty."""
    monkeypatch.setattr(shelf, "SHELF", packed[0])
    for name in list(catalogue.SHIPPED):
        monkeypatch.delitem(catalogue.SHIPPED, name)
    for to in ("en", "ko"):
        entry = catalogue.Shipped(f"digits said in {to}", "numbers", to)
        monkeypatch.setitem(catalogue.SHIPPED, f"digits-{to}", entry)
    monkeypatch.chdir(tmp_path)
    return packed[0] / "numbers"


def test_every_shipped_name_has_a_folder_and_all_fit_the_budget():
    assert all((shelf.SHELF / entry.folder / "CARD.md").is_file() for entry in catalogue.SHIPPED.values())
    assert sum(path.stat().st_size for path in shelf.SHELF.rglob("*") if path.is_file()) <= shipping.BUDGET


# --- packing


def test_a_packed_model_answers_as_its_run_does(packed, directions_run):  # noqa: F811
    report = packed[1].compared
    assert report.parity.equal >= 0.95 * report.parity.sentences
    assert report.scores[1] == pytest.approx(report.scores[0], abs=1.0)
    before, after = library.load(directions_run), library.load(packed[0] / "numbers")
    assert after.model.project.weight.dtype == torch.float32
    assert after.translate(DIGITS, to="ko") == before.translate(DIGITS, to="ko")


def test_weights_are_those_of_the_run_to_half_precision(packed, directions_run):  # noqa: F811
    small = load_file(packed[0] / "numbers/best/model.safetensors")
    whole = Checkpoints(directions_run).load_weights("best")
    assert small.keys() == whole.keys()
    for name, value in small.items():
        assert value.dtype == torch.float16
        torch.testing.assert_close(value.float(), whole[name], rtol=1e-3, atol=1e-4)


def test_nothing_of_the_machine_and_of_training_is_left(packed, directions_run):  # noqa: F811
    folder = packed[0] / "numbers"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {"CARD.md", "best/model.safetensors", "recipe.toml", "run.json", "sentences.tsv", "source.json"}
    for name in files - {"best/model.safetensors"}:
        text = (folder / name).read_text(encoding="utf-8")
        assert str(directions_run.parent) not in text
        assert not re.search(r'"/(home|work|tmp|root)/', text)
    assert json.loads((folder / "run.json").read_text())["data_folders"] == []
    assert not any(path.is_symlink() for path in folder.rglob("*"))


def test_absolute_names_and_the_run_it_started_from_are_forgotten(directions_run):  # noqa: F811
    from dataclasses import replace

    recipe = library.load(directions_run, to="ko").run.recipe
    data = recipe.data.model_copy(
        update={"train": [recipe.data.train[0].model_copy(update={"file": "/home/me/secret/train.tsv"})]}
    )
    training = recipe.training.model_copy(update={"init": "/home/me/runs/first"})
    plain = small_runs.without_places(replace(recipe, data=data, training=training))
    assert plain.data.train[0].file == "train.tsv"
    assert plain.training.init == ""


def test_the_card_tells_data_scores_and_examples(packed):
    card = (packed[0] / "numbers/CARD.md").read_text(encoding="utf-8")
    assert "told by a tag to write digits, en, ko" in card
    assert "- train.tsv → ko, weight 1.5" in card
    assert "Numbers are free." in card
    assert re.search(r"\| digits to Korean \| 20 \| [\d.]+ \| [\d.]+ \| .*tok:char", card)
    assert "10 held-out sentences, evenly spread and unedited" in card
    assert "Trained by jumok from scratch for" in card
    assert "jumok train jumok/shipped/numbers/recipe.toml --data FOLDER --out runs/numbers" in card


def test_what_cannot_be_shipped_is_refused(directions_run, packed, tmp_path, monkeypatch):  # noqa: F811
    with pytest.raises(RunError, match=r"numbers is there already; remove it"):
        shipping.pack(directions_run, "numbers", shelf=packed[0])
    monkeypatch.setattr(shipping, "BUDGET", 50_000)
    with pytest.raises(RunError, match=r"large takes 0\.\d MB, which with 0\.0 MB of other models is more than 0 MB"):
        shipping.pack(directions_run, "large", shelf=tmp_path, scored=False)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RunError, match=r"float16 cannot hold"):
        small_runs.halved("weight", torch.tensor([1e6]))
    assert small_runs.halved("count", torch.tensor([3])).dtype == torch.int64


def test_the_maintainers_command(copy_run, tmp_path, capsys):  # noqa: F811
    assert shipping.main([str(copy_run), "copier", "--shelf", str(tmp_path), "--no-scores"]) == 0
    assert "BLEU on these sentences" in capsys.readouterr().out
    assert library.load(tmp_path / "copier").translate("a b c") == "a b c"
    assert shipping.main([str(tmp_path / "none"), "copier", "--shelf", str(tmp_path)]) == 2
    assert "there is no run folder" in capsys.readouterr().err


# --- a captioner


@pytest.fixture(scope="module")
def packed_captioner(captioner_run, tmp_path_factory):  # noqa: F811
    """Return the shelf that a captioner was packed into, and the report."""
    place = tmp_path_factory.mktemp("captioners")
    return place, shipping.pack(captioner_run, "scenes", shelf=place, recipe="shapes-attend")


def test_a_packed_captioner_describes_as_its_run_does(packed_captioner, captioner_run):  # noqa: F811
    place, report = packed_captioner
    assert report.compared.parity.sentences == 200
    assert report.compared.parity.equal >= 190
    assert "held-out images are answered alike" in str(report)
    assert report.size < 2_000_000
    image = relations.draw(relations.scene("test", 1))
    assert library.load(place / "scenes").caption(image) == library.load(captioner_run).caption(image)
    files = {str(path.relative_to(place / "scenes")) for path in (place / "scenes").rglob("*") if path.is_file()}
    assert files == {"CARD.md", "best/model.safetensors", "recipe.toml", "run.json", "text.json"}


def test_the_card_of_a_captioner_has_floors_objects_and_examples(packed_captioner):
    card = (packed_captioner[0] / "scenes/CARD.md").read_text(encoding="utf-8")
    assert "- built-in shapes: 200 images drawn by jumok itself, captions = relations" in card
    for row in ("this model", "one constant caption", "captions of the nearest images"):
        assert re.search(rf"^\| {row} \| [\d.]+ \| [\d.]+ \| [\d.]+ \| [\d,]+ \|$", card, re.MULTILINE), row
    assert re.search(r"^\| any \| 1,000 \| [\d.]+ \|", card, re.MULTILINE)
    assert len(re.findall(r"^\| relations val \d+ \| a .* \| .* \|$", card, re.MULTILINE)) == 10
    assert "jumok train shapes-attend --out runs/scenes\n" in card


def test_a_packed_captioner_needs_no_data(packed_captioner, tmp_path, monkeypatch):
    """Neither drawn images nor the cache, nor what an extra brings."""
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(relations, "draw", None)
    monkeypatch.setattr("jumok.runs.components._load", None)
    image = tmp_path / "image.png"
    shapes.draw(shapes.scene("test", 1)).save(image)
    captioner = library.load(packed_captioner[0] / "scenes")
    assert captioner.explain(image).answer.text == captioner.caption(image)
    assert {path.name.partition("-")[0] for path in (tmp_path / "cache").glob("*")} <= {"native"}, "no data was read"


def test_which_captioners_are_not_shipped(captioner_run, gpt_run, tmp_path, monkeypatch):  # noqa: F811
    with pytest.raises(
        ConfigError, match="is no run of a translator, a captioner or a drawer; those are what jumok ships"
    ):
        shipping.pack(gpt_run, "writer", shelf=tmp_path)
    monkeypatch.setattr(ImageCaptioning, "frozen", object())
    with pytest.raises(ConfigError, match="sees through a frozen encoder, which is not among its weights"):
        shipping.pack(captioner_run, "frozen", shelf=tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(shipments.CaptionerShipment, "most_bytes", 10_000)
    with pytest.raises(RunError, match=r"large takes 0\.\d MB, and a model of its kind may take 0 MB"):
        shipping.pack(captioner_run, "large", shelf=tmp_path, scored=False)
    assert list(tmp_path.iterdir()) == []


# --- going on


def test_a_run_may_start_from_a_packed_one(packed, directions_run, tmp_path):  # noqa: F811
    recipe = directions_run.parent / "directions" / "directions.toml"
    steps = ["training.steps=1", "training.warmup=1", "training.learning_rate=1e-9"]
    run = library.train(recipe, out=tmp_path / "on", overrides=[f"training.init={packed[0] / 'numbers'}", *steps])
    assert library.load(run, to="ko").translate(DIGITS) == library.load(directions_run, to="ko").translate(DIGITS)
    again = ["--shelf", str(tmp_path), "--no-scores", "--recipe", "numbers-from-the-start"]
    assert shipping.main([str(run), "on-2", *again]) == 0
    card = (tmp_path / "on-2/CARD.md").read_text(encoding="utf-8")
    assert "Trained by jumok from the weights of an earlier run for 1 steps" in card
    assert "jumok train numbers-from-the-start --data FOLDER --out runs/on-2" in card


# --- names


def test_a_name_stands_for_a_model_and_its_direction(shipped):
    for to in ("en", "ko"):
        named, by_folder = library.load(f"digits-{to}"), library.load(shipped)
        assert named.translate(DIGITS) == by_folder.translate(DIGITS, to=to)
        assert named.explain(DIGITS[0]).source[0] == f"[→{to}]"
    with pytest.raises(ConfigError, match=r"digits-ko translates to ko; leave out --to en, or choose another model"):
        library.load("digits-ko", to="en")


def test_a_folder_of_that_name_wins(shipped, copy_run, tmp_path):  # noqa: F811
    (tmp_path / "digits-ko").symlink_to(copy_run)
    assert library.load("digits-ko").translate("a b") == "a b"


def test_a_folder_that_is_no_run_hides_no_model(shipped, tmp_path):
    (tmp_path / "digits-ko").mkdir()
    (tmp_path / "digits-ko" / "image.png").touch()
    assert library.load("digits-ko").run.folder == shipped
    (tmp_path / "other").mkdir()
    with pytest.raises(RunError, match=r"other is not a run: it has no run\.json"):
        library.load("other")


def test_an_unknown_name_suggests_runs_and_shipped_models(shipped, copy_run, tmp_path):  # noqa: F811
    with pytest.raises(
        RunError, match=r"no run folder digit-ko and no shipped model of that name; did you mean 'digits-ko'"
    ):
        library.load("digit-ko")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "my-copier").symlink_to(copy_run)
    with pytest.raises(RunError, match=r"did you mean 'runs/my-copier'\?"):
        library.load("my-copyer")
    with pytest.raises(
        RunError, match=r"jumok train RECIPE --out xyz makes one, and the shipped models are digits-en, digits-ko"
    ):
        library.load("xyz")


def test_commands_take_names(shipped, directions_run):  # noqa: F811
    done = jumok("translate", "digits-ko", *DIGITS)
    assert done.out.splitlines() == library.load(directions_run).translate(DIGITS, to="ko")
    assert "사" in jumok("look", "digits-ko", "4 0 7").out
    assert "leave out --to en" in refusal(jumok("translate", "digits-ko", "4", "--to", "en"))
    data = directions_run.parent / "directions"
    done = jumok("evaluate", "digits-ko", "--data", data)
    assert "digits to Korean (val), 20 sentences" in done.out, done.err
    assert "--data FOLDER" in refusal(jumok("evaluate", "digits-ko"))
    done = jumok("export", "digits-ko", "fast", "--to", "ctranslate2")
    assert "held-out sentences are answered alike" in done.out, done.err
    assert "use jumok translate, not jumok generate" in refusal(jumok("generate", "digits-ko", "a"))


def test_a_name_beside_its_run(shipped, directions_run):  # noqa: F811
    data = directions_run.parent / "directions"
    compared = library.compare([directions_run, "digits-ko"], data=data, to="ko")
    assert list(compared) == ["digits to Korean"]
    assert "tok:char" in compared["digits to Korean"].bleu_signature
    first, second = compared["digits to Korean"].runs
    assert second.bleu == pytest.approx(first.bleu, abs=1.0)


def test_another_engine_writes_to_the_cache_not_to_the_package(shipped):
    before = sorted(shipped.rglob("*"))
    fast = library.load("digits-ko", engine="ctranslate2")
    assert fast.translate(DIGITS) == library.load("digits-ko").translate(DIGITS)
    assert sorted(shipped.rglob("*")) == before


def test_the_list_shows_shipped_models_where_there_are_some(shipped, monkeypatch):
    assert re.search(r"shipped models\s+digits-en\s+digits said in en", jumok("list").out)
    assert list(json.loads(jumok("list", "--json").out)["shipped models"]) == ["digits-en", "digits-ko"]
    for name in list(catalogue.SHIPPED):
        monkeypatch.delitem(catalogue.SHIPPED, name)
    assert "shipped models" not in jumok("list").out
