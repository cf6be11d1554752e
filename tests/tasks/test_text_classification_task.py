"""Classified texts as training batches: every example once an epoch, other subwords where they are asked for."""

import numpy as np
import pytest

from jumok.errors import ConfigError
from jumok.runs.run import load_recipe
from jumok.tasks.text_classification import TextClassification

RECIPE = """
task = "text-classification"
[data]
train = { file = "train.tsv", text = "text", second = "other", label = "class" }
val = { file = "train.tsv", text = "text", second = "other", label = "class" }
max_length = 120
[tokenizer]
vocabulary = 400
[model]
name = "bert"
[training]
batch_tokens = 200
"""
WORDS = ["lovely", "wonderful", "dreadful", "remarkable", "ordinary", "image", "performance", "storyline"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("labelled"), np.random.default_rng(3)
    rows = ["text\tother\tclass"]
    for number in range(60):
        first, second = (" ".join(rng.choice(WORDS, rng.integers(low, 7))) for low in (1, 0))
        rows.append(f"{first}\t{second}\t{'abc'[number % 3]}")
    (folder / "train.tsv").write_text("\n".join(rows) + "\n")
    (folder / "recipe.toml").write_text(RECIPE)
    return folder


def task_of(folder, *overrides):
    return TextClassification.open(load_recipe(folder / "recipe.toml", overrides), [folder])


def stream(folder, *overrides):
    return task_of(folder, *overrides).batches()


def epoch_of(batches, number):
    """Return (text, class) of every example of an epoch, and how many tokens it took."""
    found, tokens = [], 0
    batches.seek(number, 0)
    while True:
        batch = batches.take()
        if batches.position[0] != number:
            return sorted(found), tokens
        tokens += int(batch.source_mask.sum())
        for row, mask, label in zip(batch.source, batch.source_mask, batch.labels, strict=True):
            found.append((batches.tokenizer.decode(row[mask].tolist()), batches.labels[int(label)]))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_subword_dropout_cuts_the_same_texts_into_more_pieces(folder, kind):
    plain = epoch_of(stream(folder, f"tokenizer.kind={kind}"), 0)
    dropped = stream(folder, f"tokenizer.kind={kind}", "tokenizer.dropout=0.3")
    first, second = epoch_of(dropped, 0), epoch_of(dropped, 1)
    assert len(plain[0]) == 60
    assert first[0] == second[0] == plain[0]
    assert len({plain[1], first[1], second[1]}) == 3
    assert min(first[1], second[1]) > plain[1]


def test_subword_dropout_depends_on_the_seed_and_the_epoch_alone(folder):
    other = stream(folder, "tokenizer.dropout=0.3")
    other.seek(2, 1)
    wanted = stream(folder, "tokenizer.dropout=0.3")
    wanted.seek(2, 0)
    wanted.take()
    assert other.take().source.tolist() == wanted.take().source.tolist()
    assert epoch_of(stream(folder, "tokenizer.dropout=0.3", "training.seed=9"), 0)[1] != epoch_of(other, 0)[1]


def test_rows_stay_within_the_longest_allowed(folder):
    batches = stream(folder, "tokenizer.dropout=0.9", "data.max_length=12", "training.batch_tokens=12")
    assert batches.lengths(0).max() == 12
    assert max(batches.take().source.shape[1] for _ in range(60)) == 12


def test_held_out_texts_are_never_cut_otherwise(folder):
    plain, dropped = (task_of(folder, *more) for more in ([], ["tokenizer.dropout=0.5"]))
    for task in (plain, dropped):
        assert (
            task.batch(task.corpora.train, range(9)).source.tolist()
            == plain.batch(plain.corpora.train, range(9)).source.tolist()
        )


def test_what_only_translation_has_is_refused(folder):
    for override in ("tokenizer.shared=false", "tokenizer.target_dropout=0.1"):
        with pytest.raises(ConfigError, match="target_dropout are for translation; take them out"):
            stream(folder, override)
