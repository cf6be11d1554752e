"""The language task: its loss is −log p, its scores agree with each other and with the text, whatever cuts it."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from jumok.data.text.tokenizer import END
from jumok.errors import ConfigError
from jumok.nn.batch import TextBatch
from jumok.runs.job import build_model
from jumok.runs.run import load_recipe
from jumok.tasks.blocks import blocks_in_order
from jumok.tasks.language_modeling import LanguageModeling

RECIPE = """
task = "language-modeling"
[data]
train = "train.txt"
val = ["val.txt", "more.txt"]
documents = "line"
[tokenizer]
kind = "character"
vocabulary = 270
min_frequency = 1
[model]
name = "gpt"
layers = 2
width = 24
heads = 3
feedforward = 17
window = 13
output_bias = true
[training]
batch_tokens = 64
label_smoothing = 0.1
"""
FILES = {
    "train.txt": ["one two three four", "넌 누구니? 나는 너를 좋아해.", "naïve façade, 30 €", "five"] * 3,
    "val.txt": ["two naïve 나는 four", "좋아해? one.", "30"],
    "more.txt": ["three façade 너를"],
}
KINDS = ["byte", "character", "bpe"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    for name, lines in FILES.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "lines.toml").write_text(RECIPE, encoding="utf-8")
    return folder


def make(folder, *overrides):
    """Return the task and a model whose weights say something."""
    recipe = load_recipe(folder / "lines.toml", overrides)
    task = LanguageModeling.open(recipe, [folder])
    model = build_model(task.complete(recipe))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return task, model.eval()


def block(task, store, *, separate=None):
    """Return all of a store as one block."""
    separate = task.data.separate if separate is None else separate
    (batch,) = blocks_in_order(store, store.tokens, batch_tokens=store.tokens, separate=separate)
    return batch


# --- the loss


def test_the_loss_of_a_block_is_minus_log_p_of_each_next_token(folder):
    task, model = make(folder)
    batch = task.batches().take()
    loss = task.loss(model, batch, 0)
    logits = model(batch).detach()
    by_hand = -sum(
        math.log(float(row[place].softmax(dim=0)[target]))
        for row, targets in zip(logits, batch.targets.tolist(), strict=True)
        for place, target in enumerate(targets)
    )
    assert loss.count == batch.targets.numel() == 4 * 13
    assert float(loss.total.detach()) == pytest.approx(by_hand, rel=1e-5)
    assert_close(loss.total.detach(), F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), reduction="sum"))
    assert loss.parts["nll"] == pytest.approx(by_hand, rel=1e-5)


def test_labels_are_smoothed_in_training_alone(folder):
    task, model = make(folder, "training.label_smoothing=0.6")
    batch = task.batches().take()
    plain = task.loss(model, batch, 0)
    loss = task.loss(model.train(), batch, 0)
    logits, targets = model(batch).flatten(0, 1), batch.targets.flatten()
    assert_close(loss.total, F.cross_entropy(logits, targets, reduction="sum", label_smoothing=0.6))
    assert_close(plain.total, F.cross_entropy(logits, targets, reduction="sum"))
    assert_close(loss.parts["nll"], plain.parts["nll"], rtol=1e-5, atol=1e-5)
    assert not torch.allclose(loss.total, plain.total, rtol=1e-3)


def test_every_parameter_learns_from_a_block(folder):
    task, model = make(folder, "data.separate=true")
    task.loss(model.train(), task.batches().take(), 0).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


# --- scores


@pytest.mark.parametrize("separate", ["true", "false"])
@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_scores_are_those_of_every_block_by_hand(folder, kind, separate):
    task, model = make(folder, f"tokenizer.kind={kind}", f"data.separate={separate}")
    total, count = 0.0, 0
    for store in task.open_split("val").values():
        ids = torch.from_numpy(store.ids.astype("int64"))
        for first in range(0, len(ids) - 1, 13):
            piece = ids[first : first + 14]
            documents = (piece[None, :-1] == END).cumsum(dim=1) if separate == "true" else None
            logits = model(TextBatch(piece[None, :-1], piece[None, 1:], documents))[0]
            total += float(F.cross_entropy(logits, piece[1:], reduction="sum"))
            count += len(piece) - 1
    text = "".join(FILES["val.txt"] + FILES["more.txt"])
    scores = task.evaluate(model)
    assert scores["loss"] == pytest.approx(total / count, rel=1e-5)
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert scores["bits_per_character"] == pytest.approx(total / math.log(2) / len(text), rel=1e-5)
    assert scores["bits_per_byte"] == pytest.approx(total / math.log(2) / len(text.encode()), rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_knows_nothing_pays_the_log_of_the_vocabulary(folder, kind):
    """The scores of a text are then known from its length in tokens, characters and bytes alone."""
    task, model = make(folder, f"tokenizer.kind={kind}")
    with torch.no_grad():
        model.project.weight.zero_()
        model.project.bias.zero_()
    lines = FILES["val.txt"]
    tokens = {
        "byte": sum(len(line.encode()) + 2 for line in lines),  # a space before, an end behind
        "character": sum(len(line) + 1 for line in lines),
        "bpe": sum(len(ids) + 1 for ids in task.tokenizer.encode(lines)),
    }[kind]
    scores = task.metrics(model, task.open_split("val")["val.txt"])
    assert scores["loss"] == pytest.approx(math.log(len(task.tokenizer)), rel=1e-5)
    assert scores["perplexity"] == pytest.approx(len(task.tokenizer), rel=1e-4)
    bits = math.log2(len(task.tokenizer)) * tokens
    assert scores["bits_per_character"] == pytest.approx(bits / sum(map(len, lines)), rel=1e-5)
    assert scores["bits_per_byte"] == pytest.approx(bits / sum(len(line.encode()) for line in lines), rel=1e-5)
    assert scores["bits_per_character"] > 1.2 * scores["bits_per_byte"]


def test_scores_of_several_files_are_those_of_all_their_tokens(folder):
    task, model = make(folder)
    stores = task.open_split("val")
    apart, together = [task.metrics(model, store) for store in stores.values()], task.evaluate(model)
    for score, sizes in (
        ("loss", [store.tokens for store in stores.values()]),
        ("bits_per_byte", [store.bytes for store in stores.values()]),
        ("bits_per_character", [store.characters for store in stores.values()]),
    ):
        weighted = sum(scores[score] * size for scores, size in zip(apart, sizes, strict=True)) / sum(sizes)
        assert together[score] == pytest.approx(weighted, rel=1e-5)


# --- documents apart


def test_documents_that_share_a_block_cost_what_they_cost_alone(folder):
    """Without positions nothing but the neighbours could tell a document where it stands."""
    lines = FILES["val.txt"]
    for number, line in enumerate(lines):
        (folder / f"alone{number}.txt").write_text(line + "\n", encoding="utf-8")
    names = [f"alone{number}.txt" for number in range(len(lines))]
    totals = {}
    for separate in ("true", "false"):
        task, model = make(folder, f"data.separate={separate}", "model.positions=none", "model.window=200")
        files = task.data.model_validate({"val": ["val.txt", *names], "train": "train.txt"}).val
        packed, *alone = (task.corpora.own_store(file) for file in files)
        together, apart = task.metrics(model, packed), [task.metrics(model, store) for store in alone]
        totals[separate] = together["loss"] * packed.tokens
        assert (
            totals[separate] == pytest.approx(
                sum(scores["loss"] * store.tokens for scores, store in zip(apart, alone, strict=True)), rel=1e-4
            )
        ) == (separate == "true")  # fmt: skip
    assert totals["true"] != pytest.approx(totals["false"], rel=1e-4)


@pytest.mark.parametrize("separate", [True, False])
def test_another_document_changes_this_ones_loss_only_where_they_are_not_apart(folder, separate):
    task, model = make(folder, "model.window=60")
    ours, theirs, other = "my own words are here", "four one two", "너를 나는 하해 ïçé"
    assert len(other) == len(theirs)
    found = []
    for number, neighbour in enumerate((theirs, other)):
        name = f"neighbour{number}.txt"
        (folder / name).write_text(f"{neighbour}\n{ours}\n", encoding="utf-8")
        (file,) = task.data.model_validate({"train": name}).train
        batch = block(task, task.corpora.own_store(file), separate=separate)
        found.append(F.cross_entropy(model(batch)[0], batch.targets[0], reduction="none"))
    begin = len(theirs) + 1  # the first document's tokens and its end are said before
    before, after = found
    assert len(before) == begin + len(ours) + 1
    assert not torch.allclose(before[: begin - 1], after[: begin - 1])
    assert torch.allclose(before[begin:], after[begin:], atol=1e-5) == separate


# --- what a user is told


def test_short_text_is_noted_and_the_size_told(folder):
    assert make(folder)[0].notes() == []
    task, _ = make(folder, "model.window=1000")
    tokens = sum(len(line) + 1 for line in FILES["train.txt"])
    assert task.notes() == [f"the text has {tokens} tokens, less than model.window = 1,000"]
    assert task.size == f"{tokens} tokens"


def test_what_is_for_other_tasks_is_refused(folder):
    for override in ("tokenizer.shared=false", "tokenizer.dropout=0.1", "tokenizer.target_dropout=0.1"):
        with pytest.raises(ConfigError, match=r"for translation.*; take (them|it) out of \[tokenizer\]"):
            make(folder, "tokenizer.kind=bpe", override)
    task, model = make(folder, "training.monitor=bleu")
    with pytest.raises(
        ConfigError, match=r"training\.monitor = 'bleu' is not among the scores: loss, perplexity, bits"
    ):
        task.check_fits(model)
    for score in make(folder)[0].evaluate(model):
        task, _ = make(folder, f"training.monitor={score}")
        task.check_fits(model)


def test_the_survey_counts_what_there_is(folder):
    task, _ = make(folder)
    survey = task.survey()
    characters = sum(map(len, FILES["val.txt"]))
    assert survey.counts["val.txt"] == {"documents": 3, "tokens": characters + 3, "characters": characters}
    assert survey.counts["train"]["documents"] == 12
    assert survey.unknown == {"text": 0.0}
    assert survey.lengths["text"].longest == max(len(line) for line in FILES["train.txt"]) + 1
    assert survey.tokens_per_epoch == task.corpora.train.tokens
    assert "".join(survey.samples[0][0]).startswith("one▁two▁three▁four")
