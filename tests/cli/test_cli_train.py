"""`jumok train`: every option of a recipe, every kind of file and tokenizer, going on, and what is left in the folder."""

import csv
import gzip
import io
import json
import math
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cli.conftest import SMALL_RECIPE, digit_pairs, jumok, write_lines
from rich.console import Console

from jumok.api import recipe_schema

TRAINED = ["best", "film", "last", "metrics.jsonl", "recipe.toml", "run.json", "source.json", "step-3", "target.json"]

# Each group is one run of three steps. Together they reach every key of [tokenizer], [model], [training] and [decoding].
OPTIONS = {
    "norms": ["model.norm=batch", "model.norm_position=pre", "model.residual=true", "model.activation=gelu"],
    "no residual": ["model.residual=false", "model.feedforward=0", "model.scaled=false", "model.activation=silu"],
    "widths": ["model.head_width=5", "model.value_width=3", "model.middle_feedforward=true", "model.width=18", "model.heads=4"],
    "depths": ["model.encoder_layers=2", "model.decoder_layers=1", "model.layers=3", "model.cross_attention=last"],
    "same depth": ["model.layers=2", "model.cross_attention=same_depth", "model.dropout=0.5", "model.attention_dropout=0.2"],
    "no positions": ["model.positions=none", "model.tied=false"],
    "index": ["model.positions=index", "model.position_join=concatenate", "model.tied=false"],
    "halves": ["model.positions=sinusoidal-halves", "model.position_join=add"],
    "concatenated": ["model.positions=sinusoidal", "model.position_join=concatenate", "model.position_width=6", "model.tied=false"],
    "learned": ["model.positions=learned", "model.max_positions=40"],
    "learned, concatenated": ["model.positions=learned", "model.position_join=concatenate", "model.tied=false"],
    "own tables": ["model.shared_embeddings=false", "model.tied=true"],
    "preset": ["model.preset=tiny", "model.layers=1", "model.width=16", "model.feedforward=16", "model.name=transformer"],
    "adamw": ["training.optimizer=adamw", "training.weight_decay=0.1", "training.betas=[0.8, 0.95]", "training.epsilon=1e-8",
              "training.schedule=inverse_sqrt"],
    "cosine": ["training.schedule=cosine", "training.final_learning_rate=1e-5", "training.learning_rate=2e-3", "training.warmup=1"],
    "linear": ["training.schedule=linear", "training.clip=0", "training.label_smoothing=0.2", "training.optimizer=adam"],
    "constant": ["training.schedule=constant", "training.accumulate=2", "training.batch_tokens=64", "training.seed=7"],
    "last average": ["training.average=last", "training.average_last=2", "training.save_every=1", "training.log_every=2"],
    "moving average": ["training.average=ema", "training.average_decay=0.5", "training.monitor=bleu"],
    "half precision": ["training.precision=bf16", "training.device=cpu", "training.threads=1", "training.workers=3"],
    "patience": ["training.patience=1", "training.evaluate_every=1", "training.monitor=exact_match", "training.steps=3",
                 "training.evaluate_sentences=2", "training.probes=3"],
    "beam": ["decoding.beam=3", "decoding.n_best=2", "decoding.length_penalty=0.5", "decoding.coverage_penalty=0.1",
             "decoding.no_repeat_ngram=2", "decoding.min_length=1", "decoding.max_length=6", "decoding.batch_size=2"],
    "shortlist": ["decoding.shortlist=3", "decoding.workers=2"],
    "sampling": ["decoding.sample=true", "decoding.temperature=0.8", "decoding.top_k=5", "decoding.top_p=0.9", "decoding.seed=3",
                 "decoding.min_p=0.01", "decoding.repetition_penalty=1.2"],
    "characters": ["tokenizer.kind=character", "tokenizer.shared=false", "tokenizer.vocabulary=40"],
    "subwords": ["tokenizer.kind=bpe", "tokenizer.vocabulary=290", "tokenizer.dropout=0.3", "tokenizer.split_digits=true"],
    "pieces": ["tokenizer.kind=unigram", "tokenizer.vocabulary=40", "tokenizer.dropout=0.1", "tokenizer.target_dropout=0.2",
               "tokenizer.shared=false"],
    "words": ["tokenizer.kind=word", "tokenizer.min_frequency=2", "tokenizer.shared=false", "data.lowercase=true",
              "data.deduplicate=true", "data.max_ratio=9.0", "data.max_length=40"],
}  # fmt: skip
SEQ2SEQ_OPTIONS = {
    "fixed context": ["model.attention=none", "model.context=every", "model.cell=lstm", "model.bidirectional=false"],
    "reversed": ["model.attention=none", "model.context=first", "model.reverse_source=true", "model.cell=rnn", "model.layers=2"],
    "dot, after": ["model.attention=dot", "model.attend=after", "model.input_feeding=true", "model.dropout=0.5"],
    "bilinear, before": ["model.attention=bilinear", "model.attend=before", "model.encoder_width=20", "model.tied=false"],
    "mlp": ["model.attention=mlp", "model.shared_embeddings=false", "model.name=seq2seq"],
    "preset": ["model.preset=tiny", "model.width=18"],
    "rewarded": ["training.self_critical=mean"],
    "own inputs": ["training.teacher_forcing=0.5", "training.teacher_forcing_decay=0.2"],
}  # fmt: skip
SEQ2SEQ_RECIPE = re.sub(r"(?s)\[model\].*(?=\[training\])", '[model]\nname = "seq2seq"\nwidth = 16\n', SMALL_RECIPE)


def overridden(overrides: list[str]) -> list[str]:
    return [part for override in overrides for part in ("--set", override)]


def metrics(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("group", OPTIONS)
def test_every_option_trains_scores_and_translates(small, group):
    check_that_it_trains_scores_and_translates(small, OPTIONS[group])


@pytest.mark.parametrize("group", SEQ2SEQ_OPTIONS)
def test_every_option_of_seq2seq_trains_scores_and_translates(small, group):
    small.write_text(SEQ2SEQ_RECIPE, encoding="utf-8")
    check_that_it_trains_scores_and_translates(small, SEQ2SEQ_OPTIONS[group])


def check_that_it_trains_scores_and_translates(recipe: Path, overrides: list[str]) -> None:
    run = recipe.parent / "run"
    done = jumok("train", recipe, "--out", run, *overridden(overrides))
    assert done.code == 0, done.err
    assert done.out == f'Use it:    jumok translate {run} "…"\nScore it:  jumok evaluate {run}\n'
    saved = tomllib.loads((run / "recipe.toml").read_text(encoding="utf-8"))
    for override in overrides:
        key, _, text = override.partition("=")
        section, name = key.split(".")
        try:
            wanted = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            wanted = text
        assert saved[section][name] == wanted
    losses = [row["loss"] for row in metrics(run) if "loss" in row]
    assert losses
    assert all(math.isfinite(loss) for loss in losses)
    assert metrics(run)[-1]["step"] <= 3
    answer = jumok("translate", run, "1 2 3", "4")
    assert answer.code == 0, answer.err
    assert answer.out.count("\n") == 2 * saved["decoding"]["n_best"]
    assert jumok("evaluate", run, "--json").code == 0


def test_the_groups_leave_no_option_out():
    plain, recurrent = (
        {override.partition("=")[0] for overrides in groups.values() for override in overrides}
        for groups in (OPTIONS, SEQ2SEQ_OPTIONS)
    )
    elsewhere = {"model.source_embeddings", "model.target_embeddings"}  # tests of their own, below
    plain |= {"training.init", "decoding.stop"}  # tests/predictors
    plain |= {"training.batch_size"}  # of images; refused here: test_bad_input.py
    plain |= {"decoding.guidance"}  # of drawings; refused here: tests/predictors/test_drawer.py
    plain |= {"training.compile"}  # tests/training/test_compiling.py
    filled_in = {"model.source_vocabulary", "model.target_vocabulary"}
    definitions = recipe_schema()["$defs"]
    for section, name, reached in [
        ("model", "TransformerConfig", plain | elsewhere), ("model", "Seq2SeqConfig", recurrent | elsewhere),
        ("training", "TrainingConfig", plain | recurrent), ("decoding", "DecodingConfig", plain),
        ("tokenizer", "TokenizerConfig", plain),
    ]:  # fmt: skip
        known = {f"{section}.{key}" for key in definitions[name]["properties"]}
        assert known - reached - filled_in == set()


def test_separate_vocabularies_have_separate_tables(small):
    """Ten digits and ten words: vocabularies of one size, but not one vocabulary."""
    from jumok import load

    done = jumok("train", small, "--out", small.parent / "run", "--set", "tokenizer.shared=false")
    assert done.code == 0, done.err
    model = load(small.parent / "run").model
    assert model.config.source_vocabulary == model.config.target_vocabulary
    assert model.embed_source.table is not model.embed_target.table


@pytest.mark.parametrize(
    ("side", "model"), [(side, model) for side in ("source", "target") for model in ("transformer", "seq2seq")]
)
def test_embeddings_start_from_a_word2vec_file(small, side, model):
    words = [str(digit) for digit in range(10)] if side == "source" else ["one", "two", "nobody"]
    vectors = [
        f"{word} " + " ".join(str(0.1 * (place - number)) for place in range(16)) for number, word in enumerate(words)
    ]
    write_lines(small.parent / "vectors.txt", [f"{len(words)} 16", *vectors])
    wanted = ["tokenizer.shared=false", "model.shared_embeddings=false", f"model.{side}_embeddings=vectors.txt"]
    if model == "seq2seq":
        small.write_text(SEQ2SEQ_RECIPE, encoding="utf-8")
    done = jumok("train", small, "--out", small.parent / "run", *overridden(wanted))
    assert done.code == 0, done.err
    assert f"{side} embeddings: {10 if side == 'source' else 2} of 14 entries start from vectors.txt" in done.err
    done = jumok("train", small, "--out", small.parent / "other", *overridden([*wanted, "model.width=18"]))
    assert done == (2, "", done.err)
    assert "vectors.txt has vectors of width 16, the model's embeddings have 18; set model.width = 16" in done.err
    assert not (small.parent / "other").exists()


def test_a_run_is_whole_and_its_log_is_plain(small):
    done = jumok("train", small, "--out", small.parent / "run")
    assert sorted(path.name for path in (small.parent / "run").iterdir()) == TRAINED
    assert not [letter for letter in done.err if ord(letter) < 32 and letter != "\n"], (
        "control characters in a log file"
    )
    assert "step 1/3 · epoch 1 · loss" in done.err
    assert "← best" in done.err
    assert "reference" in done.err
    rows = metrics(small.parent / "run")
    assert [row["step"] for row in rows] == [1, 2, 3, 3]
    for row in rows[:3]:
        assert {"step", "seconds", "target_tokens", "loss", "learning_rate"} <= row.keys()
    assert {"loss", "bleu", "chrf", "exact_match", "perplexity"} <= rows[-1]["evaluation"].keys()
    saved = tomllib.loads((small.parent / "run" / "recipe.toml").read_text(encoding="utf-8"))
    assert saved["task"] == "translation"
    assert saved["training"]["label_smoothing"] == 0.1  # a default, filled in


def test_on_a_terminal_there_is_a_live_bar(small, monkeypatch):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=110, emoji=False)
    for name in ("train", "evaluate"):
        monkeypatch.setattr(f"jumok.cli.{name}.error_console", lambda: terminal)
    for side, text in (("digits", "1 :dog: [red]"), ("words", "one :dog: [red]")):
        write_lines(small.parent / f"val.{side}", [text] * 6)
    done = jumok("train", small, "--out", small.parent / "run")
    assert done.code == 0
    assert done.err == ""
    shown = terminal.file.getvalue()
    assert "\x1b[" in shown
    assert "3/3" in shown
    assert "tokens/s" in shown
    assert "one :dog: [red]" in shown  # users' text is shown as it is
    assert jumok("evaluate", small.parent / "run").out.startswith("val.digits (val), 6 sentences")


def test_the_run_has_a_place_of_its_own_by_default(small, monkeypatch):
    monkeypatch.chdir(small.parent)
    assert jumok("train", "small.toml").out.startswith("Use it:    jumok translate runs/small ")
    assert (small.parent / "runs" / "small" / "last").exists()


def test_going_on_equals_never_stopping(small):
    whole, parts = small.parent / "whole", small.parent / "parts"
    longer = overridden(["training.steps=6", "training.schedule=constant", "model.dropout=0.2"])
    same = overridden(["training.steps=3", "training.schedule=constant", "model.dropout=0.2"])
    assert jumok("train", small, "--out", whole, *longer).code == 0
    assert jumok("train", small, "--out", parts, *same, "--resume").code == 0  # nothing there yet: from the beginning
    done = jumok("train", small, "--out", parts, *longer, "--resume")
    assert done.code == 0, done.err
    assert "going on from step 3" in done.err
    assert (parts / "last/model.safetensors").read_bytes() == (whole / "last/model.safetensors").read_bytes()
    without_times = [
        [{key: value for key, value in row.items() if "seconds" not in key} for row in metrics(run)]
        for run in (whole, parts)
    ]
    assert without_times[0] == without_times[1]


def test_a_finished_run_can_be_resumed_without_harm(small):
    run = small.parent / "run"
    assert jumok("train", small, "--out", run).code == 0
    weights = (run / "last/model.safetensors").read_bytes()
    done = jumok("train", small, "--out", run, "--resume")
    assert done.code == 0, done.err
    assert (run / "last/model.safetensors").read_bytes() == weights
    assert len(metrics(run)) == 4


def test_ctrl_c_saves_and_prints_the_command_that_goes_on(small):
    run = small.parent / "run"
    code = "import sys; sys.argv[0] = 'jumok'; from jumok.cli.main import main; main()"
    endless = [
        "--set",
        "training.steps=100000",
        "--set",
        "training.save_every=100000",
        "--set",
        "training.evaluate_every=100000",
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "train", str(small), "--out", str(run), *endless],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        said = ""
        while "step 2/" not in said and process.poll() is None:
            said += process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert "Traceback" not in err
    step = int(re.search(r"step ([\d,]+) is saved\. Go on with:\n", err)[1].replace(",", ""))
    command = shlex.split(err.split("Go on with:\n")[1].splitlines()[0])
    assert "Use it" not in out
    # The same command with a nearer end than an endless run's would be refused: fewer steps than the run was begun with.
    assert command[:2] == ["jumok", "train"]
    assert "--resume" in command
    done = jumok(*command[1:], "--set", f"training.steps={step}")
    assert done.code == 2
    assert "training.steps: 100000 in the run" in done.err
    assert jumok("translate", run, "1 2", "--checkpoint", f"step-{step}").code == 0


def table(kind: str, pairs: list[tuple[str, str]]) -> bytes:
    """Return a table with a header and a column that nobody asked for."""
    text = io.StringIO(newline="")
    if kind == "csv":
        csv.writer(text).writerows(
            [("id", "words", "digits"), *((i, words, digits) for i, (digits, words) in enumerate(pairs))]
        )
    elif kind == "tsv":
        text.writelines(
            f"{row}\n"
            for row in ["id\twords\tdigits", *(f"{i}\t{words}\t{digits}" for i, (digits, words) in enumerate(pairs))]
        )
    else:
        text.writelines(
            json.dumps({"digits": digits, "id": i, "words": words}) + "\n" for i, (digits, words) in enumerate(pairs)
        )
    return text.getvalue().encode()


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl", "a.tsv.gz", "a.csv.gz", "a.jsonl.gz", "a.parquet"])
def test_a_table_trains_the_same_model_as_two_files(small, name):
    pairs, folder = digit_pairs(60), small.parent
    if name.endswith(".parquet"):
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        columns = {"digits": [digits for digits, _ in pairs], "words": [words for _, words in pairs]}
        parquet.write_table(pyarrow.table(columns), folder / name)
    else:
        content = table(name.split(".")[1], pairs)
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    by_name = f'train = {{ file = "{name}", source_column = "digits", target_column = "words" }}'
    recipe = folder / "table.toml"
    recipe.write_text(
        SMALL_RECIPE.replace('train = { source = "train.digits", target = "train.words" }', by_name), encoding="utf-8"
    )
    for path in (small, recipe):
        done = jumok("train", path, "--out", folder / path.stem)
        assert done.code == 0, done.err
    assert (folder / "table/last/model.safetensors").read_bytes() == (
        folder / "small/last/model.safetensors"
    ).read_bytes()


def test_columns_by_number_and_gz_lines(small):
    folder, pairs = small.parent, digit_pairs(60)
    write_lines(folder / "a.tsv", [f"{words}\t{digits}" for digits, words in pairs])
    for name in ("train.digits", "train.words"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    recipe = SMALL_RECIPE.replace(
        'train = { source = "train.digits", target = "train.words" }',
        'train = [{ file = "a.tsv", source_column = 1, target_column = 0 }, { source = "train.digits.gz", target = "train.words.gz" }]',
    )
    (folder / "two.toml").write_text(recipe, encoding="utf-8")
    done = jumok("train", folder / "two.toml", "--out", folder / "run")
    assert done.code == 0, done.err
    assert "120 pairs" in done.err


def test_pairs_are_held_out_where_val_has_no_files(small):
    folder = small.parent
    recipe = SMALL_RECIPE.replace('val = { source = "val.digits", target = "val.words" }', "hold_out = 12")
    (folder / "held.toml").write_text(recipe, encoding="utf-8")
    done = jumok("train", folder / "held.toml", "--out", folder / "run")
    assert done.code == 0, done.err
    scores = json.loads(jumok("evaluate", folder / "run", "--json").out)
    trained = int(done.err.split(" parameters, ")[1].split(" pairs")[0])
    assert trained + scores["held out"]["sentences"] == 60
    assert 3 < scores["held out"]["sentences"] < 25


def test_files_are_looked_for_in_data_then_jumok_data_then_beside_the_recipe(small, monkeypatch, tmp_path):
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for path in small.parent.glob("*.digits"):
        path.rename(moved / path.name)
    assert "train.digits was not found" in jumok("train", small, "--out", tmp_path / "run").err
    assert not (tmp_path / "run").exists()
    assert jumok("train", small, "--out", tmp_path / "run", "--data", moved).code == 0
    monkeypatch.setenv("JUMOK_DATA", str(moved))
    assert jumok("train", small, "--out", tmp_path / "other").code == 0


def test_python_comes_through_the_same_door(small, tmp_path):
    import jumok as package

    run = package.train(small, out=tmp_path / "run", overrides=["training.steps=2"])
    assert run == tmp_path / "run"
    assert len(package.load(run).translate(["1 2", "3"], beam=2)) == 2
    assert package.evaluate(run, beam=1)["val.digits"]["sentences"] == 6
    jumok("train", small, "--out", tmp_path / "other", "--set", "training.steps=2")
    assert (run / "last/model.safetensors").read_bytes() == (tmp_path / "other/last/model.safetensors").read_bytes()
