"""The masked-language task: gaps in the paper's shares, new each epoch, fixed in val; losses and scores by hand."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from jumok.data.text.tokenizer import END, SPECIALS, START
from jumok.errors import ConfigError
from jumok.runs.job import build_model
from jumok.runs.run import load_recipe
from jumok.tasks.masked_language_modeling import MaskedLanguageModeling

RECIPE = """
task = "masked-language-modeling"
[data]
train = "train.txt"
val = ["val.txt", "more.txt"]
documents = "line"
[tokenizer]
vocabulary = 280
[model]
name = "bert"
layers = 1
width = 24
heads = 3
feedforward = 17
max_positions = 43
[training]
batch_tokens = 430
label_smoothing = 0.1
"""
WORDS = ["red", "green", "blueberry", "yellowish", "violet", "다홍", "청록색"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("colours")
    generator = np.random.default_rng(1)
    for name, count in (("train.txt", 120), ("val.txt", 30), ("more.txt", 9)):
        lines = [" ".join(generator.choice(WORDS, size=generator.integers(2, 16))) for _ in range(count)]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "colours.toml").write_text(RECIPE, encoding="utf-8")
    return folder


def make(folder, *overrides):
    """Return the task and a model whose weights say something."""
    recipe = load_recipe(folder / "colours.toml", overrides)
    task = MaskedLanguageModeling.open(recipe, [folder])
    model = build_model(task.complete(recipe))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return task, model.eval()


def epochs(task, count):
    """Return every batch of some epochs."""
    batches, taken = task.batches(), []
    while True:
        batch = batches.take()
        if batches.position[0] == count:
            return taken
        taken.append(batch)


def filled(batch):
    """Return the rows as they were before words were hidden."""
    source = batch.source.clone()
    source[batch.masked] = batch.answers
    return source


def whole_texts(batch):
    """Return each row's own tokens, without marks and padding, and which of them are to be found."""
    own = batch.source_mask & (filled(batch) != END) & (filled(batch) != START)
    return [(row[mine], gaps[mine]) for row, gaps, mine in zip(filled(batch), batch.masked, own, strict=True)]


# --- gaps


@pytest.mark.parametrize("options", [[], ["data.whole_words=true"], ["data.next_sentence=true"]], ids=str)
def test_fifteen_in_a_hundred_are_to_be_found_in_the_papers_ways(folder, options):
    task, _ = make(folder, *options)
    batches = epochs(task, 6)
    tokens = sum(len(ids) for batch in batches for ids, _ in whole_texts(batch))
    shown = torch.cat([batch.source[batch.masked] for batch in batches])
    answers = torch.cat([batch.answers for batch in batches])
    count = len(answers)
    assert count > 2000, "too few to count"
    whole = "data.whole_words=true" in options  # short texts: one word at least, however long
    assert count / tokens == pytest.approx(0.15, abs=0.04 if whole else 0.01)
    ways = {0.8: shown == task.mark, 0.1: (shown != task.mark) & (shown != answers), 0.100001: shown == answers}
    for share, which in ways.items():
        bound = 4 * math.sqrt(share * (1 - share) / count) + 0.1 / len(task.tokenizer)
        assert float(which.float().mean()) == pytest.approx(share, abs=bound), share
    assert (shown >= len(SPECIALS)).all()
    assert ((answers >= len(SPECIALS)) & (answers < task.mark)).all()
    for batch in batches:
        assert not (batch.source[~batch.masked] == task.mark).any()


def test_the_share_is_the_recipes(folder):
    task, _ = make(folder, "data.masked=0.4")
    pairs = [pair for batch in epochs(task, 1) for pair in whole_texts(batch)]
    assert all(int(gaps.sum()) == max(1, round(0.4 * len(ids))) for ids, gaps in pairs)


def test_over_the_epochs_every_token_is_hidden_and_none_more_than_others(folder):
    task, _ = make(folder)
    stream = task.batches()
    longest = int(stream.sizes.argmax())
    hidden = (
        torch.stack([stream.batch(np.array([longest]), epoch).masked[0] for epoch in range(300)]).float().mean(dim=0)
    )
    inner = hidden[1:-1]
    assert hidden[0] == hidden[-1] == 0
    assert len(inner) > 20
    assert float(inner.mean()) == pytest.approx(0.15, abs=0.02)
    assert inner.min() > 0.15 - 4.5 * math.sqrt(0.15 * 0.85 / 300)
    assert inner.max() < 0.15 + 4.5 * math.sqrt(0.15 * 0.85 / 300)


def test_a_seed_draws_the_same_gaps_and_another_seed_others(folder):
    one, same, other = (
        epochs(make(folder, f"training.seed={seed}")[0], 2) for seed in (5, 5, 6)
    )  # fmt: skip
    assert len(one) == len(same)
    for batch, again in zip(one, same, strict=True):
        assert torch.equal(batch.source, again.source)
        assert torch.equal(batch.masked, again.masked)
    assert {tuple(row) for batch in one for row in batch.source.tolist()} != {
        tuple(row) for batch in other for row in batch.source.tolist()
    }
    everything = [
        sorted(tuple(ids.tolist()) for batch in taken for ids, _ in whole_texts(batch)) for taken in (one, other)
    ]
    assert everything[0] == everything[1], "only the masked tokens differ, never the text"


@pytest.mark.parametrize("whole_words", [True, False])
def test_pieces_of_a_word_are_hidden_together_only_where_asked(folder, whole_words):
    task, _ = make(folder, f"data.whole_words={str(whole_words).lower()}")
    broken = several = 0
    for batch in epochs(task, 1):
        for ids, gaps in whole_texts(batch):
            begins = [label.startswith("▁") for label in task.tokenizer.labels(ids.tolist())]
            word = np.cumsum(begins)
            wanted, longest = max(1, round(0.15 * len(ids))), int(np.bincount(word).max())
            assert abs(int(gaps.sum()) - wanted) < (longest if whole_words else 1)
            for number in np.unique(word)[1:]:  # a chunk may begin inside a word
                hidden = gaps.numpy()[word == number]
                several += len(hidden) > 1 and hidden.all()
                broken += hidden.any() and not hidden.all()
    if whole_words:
        assert broken == 0
        assert several > 20
    else:
        assert broken > 20


# --- whether the second half follows


def test_a_second_half_that_does_not_follow_is_another_texts_end(folder):
    task, _ = make(folder, "data.next_sentence=true", "model.max_positions=100")
    stream = task.batches()
    texts = [stream.chunk(index)[0].tolist() for index in range(len(stream.starts))]
    seen = {0: 0, 1: 0}
    for epoch in range(3):
        for indices in stream.plan(0):
            batch = stream.batch(indices, epoch)
            rows = zip(filled(batch), batch.source_mask, batch.segments, batch.follows.tolist(), indices, strict=True)
            for row, mask, segments, follow, index in rows:
                first = row[mask & (segments == 0)].tolist()[1:-1]
                second = row[mask & (segments == 1)].tolist()[:-1]
                seen[follow] += 1
                assert first == texts[index][: len(first)]
                if follow:
                    assert first + second == texts[index]
                else:
                    others = texts[:index] + texts[index + 1 :]
                    assert any(other[-len(second) :] == second for other in others)
    assert min(seen.values()) > 0.4 * sum(seen.values())


def test_the_only_text_there_is_follows_itself(folder):
    (folder / "one.txt").write_text("red green blueberry yellowish\n", encoding="utf-8")
    task, _ = make(folder, "data.next_sentence=true", "data.train=one.txt", "data.val=one.txt")
    follows = {int(task.batches().batch(np.array([0]), epoch).follows[0]) for epoch in range(9)}
    assert follows == {1}, "its own end must not be called another's"


# --- the loss


def loss_by_hand(model, batch, *, smoothing=0.0):
    """Return the summed loss of the masked tokens from logits of every place."""
    return F.cross_entropy(model(batch)[batch.masked], batch.answers, reduction="sum", label_smoothing=smoothing)


def test_the_loss_is_minus_log_p_of_what_stood_in_the_gaps(folder):
    task, model = make(folder, "model.dropout=0")
    batch = task.batches().take()
    loss = task.loss(model, batch, 0)
    assert loss.count == len(batch.answers) == int(batch.masked.sum())
    assert_close(loss.total, loss_by_hand(model, batch), rtol=1e-5, atol=1e-4)
    assert loss.parts["nll"] == pytest.approx(float(loss.total.detach()), rel=1e-5)
    smoothed = task.loss(model.train(), batch, 0)
    assert_close(smoothed.total, loss_by_hand(model, batch, smoothing=0.1), rtol=1e-5, atol=1e-4)
    assert smoothed.parts["nll"] == pytest.approx(float(loss.total.detach()), rel=1e-5)


def test_which_text_follows_is_added_as_a_mean_to_the_mean(folder):
    task, model = make(folder, "data.next_sentence=true")
    batch = task.batches().take()
    loss = task.loss(model, batch, 0)
    follows = F.cross_entropy(model.next_sentence(model.pooled(model.states(batch), batch.source_mask)), batch.follows)
    assert_close(loss.total / loss.count, loss_by_hand(model, batch) / loss.count + follows, rtol=1e-5, atol=1e-5)
    assert loss.parts["nll"] == pytest.approx(float(loss_by_hand(model, batch).detach()), rel=1e-5)


@pytest.mark.parametrize("next_sentence", ["true", "false"])
def test_every_parameter_that_is_asked_learns(folder, next_sentence):
    task, model = make(folder, f"data.next_sentence={next_sentence}")
    task.loss(model.train(), task.batches().take(), 0).total.backward()
    for name, parameter in model.named_parameters():
        asked = next_sentence == "true" or not name.startswith(("first.", "next_sentence."))
        assert (parameter.grad is not None and bool(parameter.grad.abs().sum() > 0)) == asked, name


# --- scores


def watch(model, patch):
    """Return the list of batches that the model will be shown."""
    shown, states = [], model.states
    patch.setattr(model, "states", lambda batch: (shown.append(batch), states(batch))[1])
    return shown


@pytest.mark.parametrize("next_sentence", [True, False])
@torch.no_grad()
def test_scores_are_those_of_every_gap_by_hand(folder, next_sentence, monkeypatch):
    task, model = make(folder, f"data.next_sentence={str(next_sentence).lower()}")
    shown = watch(model, monkeypatch)
    scores = task.evaluate(model)
    monkeypatch.undo()
    documents = sum(store.documents for store in task.open_split("val").values())
    assert sum(len(batch.source) for batch in shown) >= documents == 39
    gaps = sum(len(batch.answers) for batch in shown)
    total = sum(float(loss_by_hand(model, batch)) for batch in shown)
    right = sum(int((model(batch)[batch.masked].argmax(dim=1) == batch.answers).sum()) for batch in shown)
    assert scores["loss"] == pytest.approx(total / gaps, rel=1e-4)
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert scores["accuracy"] == pytest.approx(100 * right / gaps)
    assert ("next_sentence" in scores) == next_sentence
    if next_sentence:
        said = [
            model.next_sentence(model.pooled(model.states(batch), batch.source_mask)).argmax(dim=1) == batch.follows
            for batch in shown
        ]
        assert scores["next_sentence"] == pytest.approx(100 * float(torch.cat(said).float().mean()))


def test_val_gaps_are_the_same_whatever_was_drawn_before(folder, monkeypatch):
    sources, scores = [], []
    for seed in (3, 8):
        task, _ = make(folder, f"training.seed={seed}")
        _, model = make(folder)
        stream = task.batches()
        for _ in range(seed):
            stream.take()
        torch.manual_seed(seed)
        np.random.seed(seed)
        shown = watch(model, monkeypatch)
        scores += [task.evaluate(model), task.evaluate(model)]
        half = len(shown) // 2
        sources += [[batch.source for batch in part] for part in (shown[:half], shown[half:])]
    for other in sources[1:]:
        assert all(torch.equal(one, two) for one, two in zip(sources[0], other, strict=True))
    assert all(other == scores[0] for other in scores)


def test_a_model_that_knows_nothing_pays_the_log_of_the_vocabulary_and_the_mark(folder):
    task, model = make(folder)
    with torch.no_grad():
        model.project.weight.zero_()
        model.project.bias.zero_()
    scores = task.evaluate(model)
    assert model.project.out_features == task.mark + 1 == len(task.tokenizer) + 1
    assert scores["loss"] == pytest.approx(math.log(task.mark + 1), rel=1e-5)
    assert scores["accuracy"] == 0.0


# --- what a user is told


def test_what_is_for_other_tasks_is_refused(folder):
    with pytest.raises(ConfigError, match=r"data\.separate is for language-modeling"):
        make(folder, "data.separate=true")
    with pytest.raises(ConfigError, match=r"for translation.*; take it out of \[tokenizer\]"):
        make(folder, "tokenizer.dropout=0.1")


def test_a_score_must_be_taken_and_a_text_must_fit(folder):
    task, model = make(folder, "training.monitor=next_sentence")
    with pytest.raises(ConfigError, match=r"'next_sentence' is not among the scores: loss, perplexity, accuracy$"):
        task.check_fits(model)
    task, model = make(folder, "training.monitor=next_sentence", "data.next_sentence=true")
    task.check_fits(model)
    task, model = make(folder, "training.batch_tokens=40")
    with pytest.raises(
        ConfigError,
        match=r"batch_tokens = 40 has no room for one text of model\.max_positions = 43 tokens; set it to 43",
    ):
        task.check_fits(model)


def test_the_survey_counts_what_there_is(folder):
    task, _ = make(folder)
    survey, batches = task.survey(), epochs(task, 1)
    assert survey.counts["train"]["documents"] == 120
    assert survey.counts["val.txt"]["documents"] == 30
    assert survey.batches_per_epoch == len(batches)
    assert survey.tokens_per_epoch == pytest.approx(sum(len(batch.answers) for batch in batches), rel=0.1)
    assert survey.largest_batch.cells == max(batch.cells for batch in batches)
    assert survey.lengths["text"].longest == max(batch.source.shape[1] for batch in batches) <= 43
