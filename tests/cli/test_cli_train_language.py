"""`jumok train` of language models and classifiers: every option of their recipes trains, scores and answers."""

import json
import math
import tomllib

import pytest
import torch
from cli.conftest import BERT_RECIPE, CLASSIFIER_RECIPE, GPT_RECIPE, jumok, refusal, write_lines, write_reviews
from safetensors.torch import load_file

from jumok.api import recipe_schema

SHORT = [
    "training.steps=3",
    "training.evaluate_every=3",
    "training.save_every=3",
    "training.log_every=1",
    "training.warmup=1",
]

# Each group is one run of three steps. Together they reach every key of [data] and [model].
GPT_OPTIONS = {
    "sizes": ["model.layers=2", "model.width=24", "model.heads=3", "model.feedforward=0", "model.window=16", "model.name=gpt"],
    "norms": ["model.norm=batch", "model.norm_position=post", "model.norm_epsilon=1e-4", "model.activation=gelu-tanh"],
    "output": ["model.tied=false", "model.output_bias=true", "model.dropout=0.3", "model.attention_dropout=0.2"],
    "positions": ["model.positions=sinusoidal", "model.activation=relu"],
    "index": ["model.positions=index", "model.activation=silu"],
    "preset": ["model.preset=tiny", "model.width=16", "model.heads=2"],
    "bytes": ["tokenizer.kind=byte", "data.lowercase=true", "data.separate=true"],
    "files": ["data.set=", 'data.train=["own.txt"]', 'data.documents="paragraph"', "data.hold_out=0.2", "tokenizer.kind=bpe",
              "tokenizer.vocabulary=280", "data.separate=true"],
    "more files": ["data.set=", "data.folder=.", 'data.train=["own.txt"]', 'data.val=["own.txt"]', 'data.test=["own.txt"]',
                   'data.documents="line"', 'tokenizer.kind="unigram"', "tokenizer.vocabulary=60"],
}  # fmt: skip
BERT_OPTIONS = {
    "sizes": ["model.layers=2", "model.width=24", "model.heads=3", "model.feedforward=0", "model.max_positions=12", "model.name=bert"],
    "norms": ["model.norm_position=post", "model.norm_epsilon=1e-5", "model.activation=relu", "model.positions=sinusoidal"],
    "dropout": ["model.dropout=0.3", "model.attention_dropout=0.2"],
    "preset": ["model.preset=tiny", "model.width=16", "model.heads=2", "model.feedforward=16"],
    "masked": ["data.masked=0.3", "data.whole_words=true", "data.lowercase=true", "tokenizer.kind=bpe", "tokenizer.vocabulary=280"],
    "next sentence": ["data.next_sentence=true", "model.pooling=mean", "tokenizer.kind=wordpiece", "tokenizer.vocabulary=60"],
    "own text": ['data.train=["own.txt"]', "data.val=[]", "data.hold_out=0.3", 'data.documents="line"', "data.folder=."],
    "test too": ['data.test=[{file="val.tsv", column="text"}]'],
    "built-in": ["data.train=[]", "data.val=[]", 'data.set="stdlib"', "tokenizer.min_frequency=3"],
}  # fmt: skip
TRAIN, VAL = (f'{{file="{split}.tsv", text="text", label="verdict"}}' for split in ("train", "val"))
CLASSIFIER_OPTIONS = {
    "few": ["data.limit=40", 'data.labels=["dull", "good", "bad"]', "data.max_length=8", "data.lowercase=true"],
    "held out": ["data.val=[]", "data.hold_out=30", "data.folder=.", f"data.test=[{VAL}]", f"data.train=[{TRAIN}]"],
    "all of val": [f"data.val=[{VAL}, {VAL}]".replace("}, {", ', name="again"}, {')],
    "monitored": ["training.monitor=accuracy", "training.patience=1", "training.average=ema", "training.label_smoothing=0.1"],
    "f1": ["model.pooling=mean", "tokenizer.kind=bpe", "tokenizer.vocabulary=280", "tokenizer.dropout=0.2", "training.monitor=macro_f1", "training.accumulate=2", "training.precision=bf16"],
}  # fmt: skip
RECURRENT_OPTIONS = {
    "lstm": ["model.name=recurrent-classifier", "model.cell=lstm", "model.layers=2", "model.width=18", "model.dropout=0.1"],
    "one way": ["model.name=recurrent-classifier", "model.cell=rnn", "model.bidirectional=false", "model.preset=tiny"],
}  # fmt: skip
RECURRENT_RECIPE = CLASSIFIER_RECIPE[: CLASSIFIER_RECIPE.index("[model]")] + '[model]\nname = "recurrent-classifier"\n' + (
    CLASSIFIER_RECIPE[CLASSIFIER_RECIPE.index("[training]") :]
)  # fmt: skip
OWN = [
    "The quick brown fox\njumps over the dog.",
    "",
    "Ein zweiter Absatz, kürzer.",
    "",
    "셋째 문단은 한국어로 씁니다.",
    "",
]
KINDS = {
    "gpt": (GPT_RECIPE, GPT_OPTIONS, ["generate"], ["The", "--max-length", "5"]),
    "bert": (BERT_RECIPE, BERT_OPTIONS, ["fill"], ["the [MASK] was"]),
    "classifier": (CLASSIFIER_RECIPE, CLASSIFIER_OPTIONS, ["classify"], ["the film was lovely", "the"]),
    "recurrent": (RECURRENT_RECIPE, RECURRENT_OPTIONS, ["classify"], ["the film was lovely", "the"]),
}
CASES = [(kind, group) for kind, (_, groups, _, _) in KINDS.items() for group in groups]


@pytest.mark.parametrize(("kind", "group"), CASES)
def test_every_option_trains_scores_and_answers(tmp_path, kind, group):
    text, groups, verb, given = KINDS[kind]
    recipe, run = write_reviews(tmp_path, text), tmp_path / "run"
    write_lines(tmp_path / "own.txt", [f"{number} {line}" if line else "" for number in range(12) for line in OWN])
    overrides = [*SHORT, *groups[group]]
    done = jumok("train", recipe, "--out", run, *(part for override in overrides for part in ("--set", override)))
    assert done.code == 0, done.err
    saved = tomllib.loads((run / "recipe.toml").read_text(encoding="utf-8"))
    for override in groups[group]:
        key, _, value = override.partition("=")
        section, name = key.split(".")
        if section == "data" and name in ("train", "val", "test"):
            assert len(saved[section][name]) == value.count("file=") + value.count('"own.txt"'), name
            continue
        try:
            wanted = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            wanted = value
        assert saved[section][name] == wanted, name
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    assert losses
    assert all(math.isfinite(loss) for loss in losses)
    answer = jumok(*verb, run, *given)
    assert answer.code == 0, answer.err
    assert answer.out.strip()
    scored = jumok("evaluate", run, "--json")
    assert scored.code == 0, scored.err
    if saved["data"]["test"]:
        assert jumok("evaluate", run, "--split", "test", "--json").code == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path, kind):
    recipe = write_reviews(tmp_path, KINDS[kind][0])
    options = [part for override in [*SHORT, "training.save_every=2"] for part in ("--set", override)]
    assert jumok("train", recipe, "--out", tmp_path / "whole", *options, "--set", "training.steps=5").code == 0
    assert jumok("train", recipe, "--out", tmp_path / "parts", *options, "--set", "training.steps=2").code == 0
    done = jumok("train", recipe, "--out", tmp_path / "parts", *options, "--set", "training.steps=5", "--resume")
    assert done.code == 0, done.err
    whole, parts = (load_file(tmp_path / name / "last" / "model.safetensors") for name in ("whole", "parts"))
    assert all(torch.equal(parts[name], value) for name, value in whole.items())


def test_the_groups_leave_no_option_out():
    definitions = recipe_schema()["$defs"]
    filled_in = {"model.vocabulary", "model.classes"}
    for sections, kinds in {
        ("GPTConfig", "TextData"): ["gpt"], ("BertConfig", "MaskedTextData"): ["bert"], ("LabelledData",): ["classifier"],
        ("RecurrentClassifierConfig",): ["recurrent"],
    }.items():  # fmt: skip
        reached = {o.partition("=")[0] for kind in kinds for group in KINDS[kind][1].values() for o in group}
        for name in sections:
            part = "model" if name.endswith("Config") else "data"
            known = {f"{part}.{key}" for key in definitions[name]["properties"]}
            inherited = {"data.separate"} if name == "MaskedTextData" else set()  # refused there, below
            assert known - reached - filled_in - inherited == set(), name


def test_what_would_change_nothing_is_refused(tmp_path):
    recipe = write_reviews(tmp_path, BERT_RECIPE)
    assert "data.separate is for language-modeling" in refusal(jumok("train", recipe, "--set", "data.separate=true"))
