"""A run's folder: all that loading needs, and one clear sentence for whatever is missing, damaged or of another time."""

import json
import shlex
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from jumok import api
from jumok.config import DecodingConfig
from jumok.errors import ConfigError, JumokError, RunError
from jumok.runs.run import FORMAT, Run, load_recipe, locked

RECIPE = """
[data]
set = "copy"
size = 60
[tokenizer]
kind = "character"
vocabulary = 60
[model]
layers = 1
width = 8
heads = 2
feedforward = 8
[training]
steps = 4
batch_tokens = 200
evaluate_every = 2
save_every = 2
evaluate_sentences = 3
"""


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    path = tmp_path_factory.mktemp("recipe") / "tiny.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module")
def trained(recipe, tmp_path_factory):
    return api.train(recipe, out=tmp_path_factory.mktemp("runs") / "trained")


@pytest.fixture
def run(trained, tmp_path):
    """Return a copy of the run, at another place."""
    return Path(shutil.copytree(trained, tmp_path / "copied", symlinks=True))


def test_a_copied_run_answers_like_the_first(trained, run):
    texts = ["a b c", "", "z"]
    options = DecodingConfig(beam=3, max_length=8)
    assert api.load(run).translate(texts, options=options) == api.load(trained).translate(texts, options=options)


def test_data_that_has_moved_is_found_where_jumok_data_says(run, tmp_path, monkeypatch):
    monkeypatch.delenv("JUMOK_DATA", raising=False)
    before = Run.open(run).data_folders
    monkeypatch.setenv("JUMOK_DATA", str(tmp_path))
    assert Run.open(run).data_folders[: len(before)] == before
    assert tmp_path in Run.open(run).data_folders[len(before) :]


def test_the_folder_has_what_the_design_says(run):
    assert {"run.json", "recipe.toml", "source.json", "target.json", "metrics.jsonl", "last", "best"} <= {
        path.name for path in run.iterdir()
    }
    for name in ("last", "best"):
        assert (run / name).is_symlink()
        assert (run / name / "model.safetensors").is_file()
    assert not list(run.glob(".*"))


def test_the_saved_recipe_has_every_default_and_reads_back_the_same(run):
    opened = Run.open(run)
    again = load_recipe(run / "recipe.toml")
    assert again == opened.recipe
    assert again.training.betas == [0.9, 0.98]
    assert again.model.source_vocabulary > 20
    text = (run / "recipe.toml").read_text()
    for key in ("label_smoothing", "length_penalty", "cross_attention", "min_frequency", "max_ratio"):
        assert key in text


def test_another_format_is_refused_in_a_sentence(run):
    facts = json.loads((run / "run.json").read_text())
    for version in (FORMAT + 1, 0, "x"):
        (run / "run.json").write_text(json.dumps(facts | {"format": version}))
        with pytest.raises(
            RunError,
            match=rf"has run format {version}, this jumok \(.*\) reads formats 1 and {FORMAT}; use a matching version",
        ):
            api.load(run)


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", "3", "null", '{"jumok": "0.1"}', "\x00\x01"])
def test_a_damaged_run_json_is_told(content, run):
    (run / "run.json").write_text(content)
    with pytest.raises(RunError, match=r"run\.json is damaged \(.+\); copy the run again, or train it anew"):
        api.load(run)


def test_run_json_of_arbitrary_bytes_is_told(run):
    (run / "run.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunError, match=r"run\.json is damaged"):
        api.load(run)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"data_folders": None}, "it has no 'data_folders'"),
        ({"data_folders": "here"}, "'data_folders' is \"here\"; a list of texts is needed"),
        ({"data_folders": [1]}, "'data_folders' is a list; a list of texts is needed"),
        ({"tokenizers": {"source": 1}}, "'tokenizers' is a JSON object; a list of texts is needed"),
        ({"tokenizers": ["target"]}, "it names no tokenizer 'source'"),
        ({"format": None}, "it has no 'format'"),
        ({"format": [2]}, "'format' is a list; a whole number or a text is needed"),
        ({"workers": "2"}, "'workers' is \"2\"; a whole number is needed"),
        ({"workers": 10**6}, "'workers' is 1000000; a number from 1 to 4096 is needed"),
        ({"threads": None}, "it has no 'threads'"),
        ({"engine": "ctranslate2"}, "it has no 'exported'"),
        ({"code_folders": 3}, "'code_folders' is 3; a list of texts is needed"),
        ({"more": [[], 10**400]}, "a whole number has 401 digits"),
    ],
)
def test_entries_of_run_json_that_are_wrong_or_missing_are_named(changes, why, run):
    facts = json.loads((run / "run.json").read_text()) | changes
    (run / "run.json").write_text(json.dumps({name: value for name, value in facts.items() if value is not None}))
    with pytest.raises(RunError) as told:
        api.load(run)
    assert str(told.value) == f"{run}/run.json is damaged ({why}); copy the run again, or train it anew"


def test_a_recipe_of_a_run_that_is_no_utf_8_is_told(run):
    (run / "recipe.toml").write_bytes(b"# caf\xe9\n" + (run / "recipe.toml").read_bytes())
    with pytest.raises(
        RunError, match=r"recipe\.toml is damaged \(line 1 is not UTF-8: it holds the byte 0xE9\); copy the"
    ):
        api.load(run)


@pytest.mark.parametrize(("name", "message"), [
    ("run.json", r"is not a run: it has no run\.json; jumok train writes it"),
    ("recipe.toml", r"recipe\.toml is missing; copy the run again, or train it anew"),
    ("source.json", r"source\.json is missing; a run's folder needs its tokenizer"),
    ("best", r"has no checkpoint 'best'; there are step-2, step-4, last"),
])  # fmt: skip
def test_a_missing_part_is_named(name, message, run):
    (run / name).unlink()
    with pytest.raises(RunError, match=message):
        api.load(run)


@pytest.mark.parametrize("name", ["recipe.toml", "source.json", "best/model.safetensors"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_cut_off_part_is_named(name, share, run):
    raw = (run / name).read_bytes()
    (run / name).write_bytes(raw[: int(len(raw) * share)])
    with pytest.raises(JumokError, match=name.rpartition("/")[2].replace(".", r"\.")):
        api.load(run)


def test_separate_tokenizers_are_both_needed(recipe, tmp_path):
    api.train(recipe, out=tmp_path / "run", overrides=["tokenizer.shared=false", "training.steps=2"])
    (tmp_path / "run/target.json").unlink()
    with pytest.raises(RunError, match=r"target\.json is missing"):
        api.load(tmp_path / "run")


def test_no_folder_at_all(tmp_path):
    with pytest.raises(
        RunError, match=r"there is no run folder .*nowhere; jumok train RECIPE --out .*nowhere makes one"
    ):
        api.load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match="is not a run"):
        api.load(tmp_path / "empty")


def test_a_run_that_exists_is_refused_and_left_alone(recipe, run):
    before = sorted(run.rglob("*"))
    with pytest.raises(
        RunError,
        match=r"already holds a run \(saved at step 4\)\. Go on with --resume, choose another folder with --out, or remove it\.",
    ):
        api.train(recipe, out=run)
    assert sorted(run.rglob("*")) == before


def test_a_second_process_is_kept_out(recipe, run):
    with locked(run), pytest.raises(RunError, match="another process is training in"):
        api.train(recipe, out=run, overrides=["training.steps=6"], resume=True)
    api.train(recipe, out=run, overrides=["training.steps=6"], resume=True)
    assert (run / "last").resolve().name == "step-6"
    assert Run.open(run).recipe.training.steps == 6


def test_a_folder_that_cannot_be_made_is_told(recipe, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(JumokError, match="file"):
        api.train(recipe, out=tmp_path / "file/run")


def test_the_command_to_go_on_survives_a_shell(recipe, tmp_path):
    folder = tmp_path / "my run"
    overrides = ["training.steps=6", 'data.train=[{source="a b", target="c"}]', 'data.set=""']
    job = api.prepare_job(recipe, out=folder, overrides=overrides[:1])
    assert shlex.split(job.command) == [
        "jumok",
        "train",
        str(recipe),
        "--out",
        str(folder),
        "--resume",
        "--set",
        "training.steps=6",
    ]
    with pytest.raises(JumokError):  # its files do not exist; only the quoting matters here
        api.prepare_job(recipe, out=folder, overrides=overrides)


def test_a_monitor_that_does_not_exist_is_refused_before_training(recipe, tmp_path):
    with pytest.raises(ConfigError, match=r"training\.monitor = 'blue' is not .*bleu"):
        api.prepare_job(recipe, out=tmp_path / "run", overrides=["training.monitor=blue"])
    assert not (tmp_path / "run").exists()


def test_word_vectors_are_loaded_again_where_a_run_begins_again(recipe, tmp_path):
    """Killed before its first checkpoint, a run starts from the beginning: also from the word2vec file."""
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("1 8\na " + " ".join(["0.25"] * 8) + "\n")
    overrides = [
        f"model.source_embeddings={vectors}",
        "model.tied=false",
        "model.shared_embeddings=false",
        "tokenizer.kind=word",
        "tokenizer.min_frequency=1",
    ]

    class Killed(BaseException):
        pass

    def kill(*arguments):
        raise Killed

    job = api.prepare_job(recipe, out=tmp_path / "run", overrides=overrides)
    assert job.notes
    job.task.loss = kill
    with pytest.raises(Killed):
        job.train(Console(quiet=True))
    again = api.prepare_job(recipe, out=tmp_path / "run", overrides=overrides, resume=True)
    assert again.model.embed_source.table.weight.equal(job.model.embed_source.table.weight)
    assert again.notes == job.notes
