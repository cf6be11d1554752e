"""Classified texts from table to verdict: rows, scores, baselines, weights that go on from pre-training."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, f1_score

import jumok
from jumok.api import load_for, prepare_job
from jumok.config import LabelledData, LabelledFile, TokenizerConfig
from jumok.data.text.labelled import LabelledCorpora
from jumok.data.text.tokenizer import END, START
from jumok.errors import ConfigError, DataError
from jumok.evaluation.labels import score_labels
from jumok.predictors.filler import Filler
from jumok.predictors.text_classifier import TextClassifier
from jumok.tasks.examples import make_row, pad_rows

GOOD, BAD, DULL = ["lovely", "great", "superb"], ["awful", "poor", "bad"], ["plain", "so", "middling"]
THINGS = ["film", "play", "book", "song", "dance"]
CLASSIFIER = """
task = "text-classification"
[data]
train = { file = "train.tsv", text = "text", label = "verdict" }
val = { file = "val.tsv", text = "text", label = "verdict" }
max_length = 16
[tokenizer]
vocabulary = 320
[model]
name = "MODEL"
width = 32
layers = 1
[training]
steps = 60
batch_tokens = 400
learning_rate = 5e-3
warmup = 10
label_smoothing = 0.0
monitor = "accuracy"
evaluate_every = 60
save_every = 60
"""
PRETRAINED = """
task = "masked-language-modeling"
[data]
train = { file = "train.tsv", column = "text" }
val = { file = "val.tsv", column = "text" }
[tokenizer]
vocabulary = 320
[model]
name = "bert"
width = 32
layers = 1
heads = 2
feedforward = 64
max_positions = 16
[training]
steps = 150
batch_tokens = 600
learning_rate = 5e-3
warmup = 10
label_smoothing = 0.0
evaluate_every = 150
save_every = 150
"""


def table(count, seed):
    generator = np.random.default_rng(seed)
    rows = ["text\tverdict"]
    for _ in range(count):
        label, words = [("good", GOOD), ("bad", BAD), ("dull", DULL)][generator.integers(3)]
        rows.append(f"the {generator.choice(THINGS)} was {generator.choice(words)}\t{label}")
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviews")
    (folder / "train.tsv").write_text(table(300, 1), encoding="utf-8")
    (folder / "val.tsv").write_text(table(60, 2), encoding="utf-8")
    (folder / "rnn.toml").write_text(CLASSIFIER.replace("MODEL", "recurrent-classifier"), encoding="utf-8")
    bert = CLASSIFIER.replace('"MODEL"', '"bert"\nheads = 2\nfeedforward = 64\nmax_positions = 16')
    (folder / "bert.toml").write_text(bert, encoding="utf-8")
    (folder / "pretrain.toml").write_text(PRETRAINED, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def classifier(folder):
    return load_for(TextClassifier, jumok.train(folder / "rnn.toml", out=folder / "rnn"))


@pytest.fixture(scope="module")
def pretrained(folder):
    return jumok.train(folder / "pretrain.toml", out=folder / "pretrained")


# --- rows


@given(st.integers(0, 40), st.integers(0, 40), st.integers(4, 50))
def test_a_row_fits_and_keeps_as_much_of_both_as_it_can(first, second, longest):
    one, two = np.full(first, 7), np.full(second, 8)
    ids, begin = make_row(one, two, longest)
    row = ids.tolist()
    assert len(row) <= longest
    assert row[0] == START
    assert row[-1] == END
    assert row[begin - 1] == END
    assert set(row[1 : begin - 1]) <= {7}
    assert set(row[begin:-1]) <= {8}
    whole = first + second + (3 if second else 2)
    if whole <= longest:
        assert len(row) == whole
    else:
        assert len(row) >= min(longest, whole) - 1


def test_segments_are_there_only_where_a_second_text_is():
    alone, both = make_row(np.array([5, 6]), np.array([], dtype=int), 9), make_row(np.array([5]), np.array([6]), 9)
    assert pad_rows([alone, alone])[2] is None
    ids, mask, segments = pad_rows([alone, both])
    assert ids.tolist() == [[START, 5, 6, END, 0], [START, 5, END, 6, END]]
    assert mask.tolist() == [[True] * 4 + [False], [True] * 5]
    assert segments[1].tolist() == [0, 0, 0, 1, 1]
    assert segments[0][:4].tolist() == [0] * 4


# --- scores


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=50))
def test_scores_agree_with_scikit_learn(pairs):
    named, wanted = zip(*pairs, strict=True)
    scores = score_labels(named, wanted, 4)
    present = sorted(set(named) | set(wanted))
    assert scores.confusion == confusion_matrix(wanted, named, labels=range(4)).tolist()
    assert scores.accuracy == pytest.approx(100 * np.mean(np.array(named) == wanted))
    assert scores.macro_f1 == pytest.approx(100 * f1_score(wanted, named, average="macro", labels=present))


def test_a_trained_classifier_knows_good_from_bad_and_beats_the_commonest_class(classifier):
    verdicts = classifier.classify(["the film was lovely", "the book was awful", "the song was so"])
    assert [verdict.label for verdict in verdicts] == ["good", "bad", "dull"]
    for verdict in verdicts:
        assert sum(verdict.probabilities.values()) == pytest.approx(1.0)
        assert list(verdict.probabilities.values()) == sorted(verdict.probabilities.values(), reverse=True)
        assert verdict.probability == max(verdict.probabilities.values())
    alone = classifier.classify("the film was lovely")
    assert alone.probabilities == pytest.approx(verdicts[0].probabilities, abs=1e-5)
    (scores,) = classifier.evaluate("val").values()
    assert scores["accuracy"] > 95 > scores["baselines"]["majority"]
    assert scores["baselines"]["n-grams"] > 95
    assert np.sum(scores["confusion"]) == scores["examples"] == 60
    assert scores["labels"] == ["bad", "dull", "good"]
    assert json.dumps(scores)


def test_a_table_of_ones_own_is_scored_and_what_it_must_not_hold_is_refused(classifier, folder):
    own = folder / "own.tsv"
    own.write_text("text\tverdict\nthe film was great\tgood\n", encoding="utf-8")
    assert classifier.evaluate("val", source=own)["own.tsv"]["accuracy"] == 100.0
    own.write_text("text\tverdict\nthe film was great\tgod\n", encoding="utf-8")
    with pytest.raises(
        DataError,
        match=r"the class 'god' of 'the film was great' is not among the training data's 3: did you mean 'good'",
    ):
        classifier.evaluate("val", source=own)
    with pytest.raises(ConfigError, match="--target is for translation"):
        classifier.evaluate("val", source=own, target=own)


def test_empty_text_gets_a_verdict_too(classifier):
    assert len(classifier.classify(["", "  "])) == 2


# --- data


def corpora(folder, **changes):
    file = LabelledFile(file="train.tsv", text="text", label="verdict")
    return LabelledCorpora(LabelledData(train=[file], **changes), TokenizerConfig(vocabulary=300), [folder])


def test_a_limit_draws_a_fixed_sample_and_asks_for_no_more_than_there_is(folder):
    some = corpora(folder, limit=50).train
    assert len(some) == 50
    assert [some.text(i) for i in range(50)] == [corpora(folder, limit=50).train.text(i) for i in range(50)]
    with pytest.raises(ConfigError, match=r"data.limit = 999, but there are only 285 training examples"):
        assert corpora(folder, limit=999).train


def test_held_out_texts_do_not_stand_in_train(folder):
    divided = corpora(folder, hold_out=30)
    train, held = divided.train, divided.evaluation("val")["held out"]
    assert not {train.text(i) for i in range(len(train))} & {held.text(i) for i in range(len(held))}
    assert len(train) + len(held) == 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text\tverdict\na\tgood\nb\tgood\n", "the training data has only the class 'good'; two classes or more"),
        ("text\tverdict\n", "no examples"),
        (
            "text\tverdict\n" + "".join(f"x\t{n}\n" for n in range(1100)),
            "has 1,100 classes, such as '0'; is the label column",
        ),
    ],
)
def test_labels_that_cannot_be_right_are_refused(tmp_path, text, message):
    (tmp_path / "train.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        assert corpora(tmp_path).labels


def test_two_texts_an_example(tmp_path):
    (tmp_path / "train.tsv").write_text("a\tb\tverdict\none two\tthree\tyes\nfour\t\tno\n" * 9, encoding="utf-8")
    file = LabelledFile(file="train.tsv", text="a", second="b", label="verdict")
    data = LabelledData(train=[file], val=[file])
    both = LabelledCorpora(data, TokenizerConfig(vocabulary=270), [tmp_path]).train
    assert both.text(0) == ("one two", "three")
    assert both.text(1) == ("four", "")
    assert len(both.second[0]) > 0 == len(both.second[1])


# --- weights from an earlier run


def test_fine_tuning_takes_the_encoder_and_says_what_is_new(folder, pretrained):
    job = prepare_job(folder / "bert.toml", out=folder / "tuned", overrides=[f"training.init={pretrained}"])
    earlier = jumok.load(pretrained).model.state_dict()
    own = job.model.state_dict()
    for name in ("table.weight", "first.weight", "encoder.layers.0.attention.output.weight"):
        assert torch.equal(own[name], earlier[name]), name
    assert own["project.weight"].shape == (3, 32)
    assert job.notes[0].endswith(f"tensors start from {pretrained}")
    assert job.notes[1] == "new: project.weight, project.bias"
    assert "transform.weight" in job.notes[2]


def test_another_tokenizer_or_nothing_in_common_is_refused(folder, pretrained):
    start = f"training.init={pretrained}"
    with pytest.raises(ConfigError, match=r"tokenizer.vocabulary: 320 there, 300 here\nWeights belong to a tokenizer"):
        prepare_job(folder / "bert.toml", out=folder / "x", overrides=[start, "tokenizer.vocabulary=300"])
    with pytest.raises(ConfigError, match=r"none of its \d+ tensors fits this model"):
        prepare_job(folder / "rnn.toml", out=folder / "x", overrides=[start])


def test_gaps_are_filled_with_words_that_fit(folder, pretrained):
    filler = load_for(Filler, pretrained)
    found = filler.fill("the [MASK] was lovely", top=4)
    assert len(found.masks) == 1
    assert found.masks[0][0][0] in THINGS
    assert found.text == f"the {found.masks[0][0][0]} was lovely"
    assert [share for _, share in found.masks[0]] == sorted((share for _, share in found.masks[0]), reverse=True)
    assert len(filler.fill("the [MASK] was [MASK]").masks) == 2
    with pytest.raises(ConfigError, match=r"'the film' has no mask to fill in; write \[MASK\] where a word is missing"):
        filler.fill("the film")
    with pytest.raises(ConfigError, match="the model takes 16; shorten it"):
        filler.fill("film " * 40 + "[MASK]")
    (scores,) = filler.evaluate("val").values()
    assert scores["accuracy"] > 20
