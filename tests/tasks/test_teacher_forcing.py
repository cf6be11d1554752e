"""Scheduled sampling: its schedule, what is fed at which ratio, its loss, its gradient and its randomness."""

import json

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from tasks.conftest import make
from torch.testing import assert_close

from jumok import api
from jumok.config import DecodingConfig, TrainingConfig
from jumok.data.text.tokenizer import END, PAD, START
from jumok.errors import ConfigError
from jumok.tasks import writing
from jumok.tasks.losses import vocabulary_loss
from jumok.tasks.pairs import collate
from jumok.tasks.scheduled import sampled_logits, teacher_forcing_ratio

CLOSE = {"atol": 1e-5, "rtol": 1e-5}

RECIPE = """
[data]
set = "copy"
size = 80
[tokenizer]
kind = "character"
vocabulary = 60
[model]
name = "seq2seq"
width = 12
dropout = 0.0
[training]
steps = 3
warmup = 1
batch_tokens = 200
label_smoothing = 0.2
log_every = 1
save_every = 1
evaluate_every = 3
evaluate_sentences = 3
"""

VARIANTS = {
    "mlp": [],
    "before, lstm": ["model.attend=before", "model.cell=lstm", "model.layers=2"],
    "input feeding": ["model.input_feeding=true", "model.attention=dot"],
    "fixed context": ["model.attention=none", "model.context=every", "model.cell=rnn"],
}


def make_decided(recipe, *overrides):
    task, model = make(recipe, *overrides)
    torch.manual_seed(4)
    with torch.no_grad():  # an untrained model says the same everywhere: make it decided
        for parameter in model.parameters():
            parameter.mul_(3.0 if parameter.dim() > 1 else 1.0)
    return task, model


def batch_of(task, rows=9):
    store = task.corpora.train
    return collate([(store.source[i], store.target[i]) for i in range(rows)])


@pytest.fixture(params=VARIANTS)
def task_and_model(request, recipe):
    return make_decided(recipe, *VARIANTS[request.param])


def fed_inputs(model, batch, ratio, monkeypatch):
    """Return the tokens (B, T) that a pass really fed, and its logits."""
    fed, extend = [], model.extend
    with monkeypatch.context() as patch:
        patch.setattr(model, "extend", lambda tokens, state: fed.append(tokens) or extend(tokens, state))
        logits = sampled_logits(model, batch, ratio)
    return torch.cat(fed, dim=1), logits


# --- the schedule


def test_the_ratio_falls_on_a_straight_line_from_the_first_step_to_the_last():
    config = TrainingConfig(steps=101, teacher_forcing=0.9, teacher_forcing_decay=0.5)
    assert [teacher_forcing_ratio(step, config) for step in (1, 51, 101)] == pytest.approx([0.9, 0.65, 0.4])
    assert teacher_forcing_ratio(500, config) == pytest.approx(0.4)
    deep = TrainingConfig(steps=101, teacher_forcing=0.5, teacher_forcing_decay=1.0)
    assert [teacher_forcing_ratio(step, deep) for step in (1, 26, 51, 76, 101)] == pytest.approx([0.5, 0.25, 0, 0, 0])


@given(st.integers(0, 2000), st.integers(1, 1000), st.floats(0, 1), st.floats(0, 1))
def test_the_ratio_stays_between_zero_and_its_start_and_never_rises(step, steps, start, decay):
    config = TrainingConfig(steps=steps, teacher_forcing=start, teacher_forcing_decay=decay)
    ratio = teacher_forcing_ratio(step, config)
    assert 0.0 <= ratio <= start
    assert ratio >= teacher_forcing_ratio(step + 1, config)
    if step >= steps > 1:
        assert ratio == pytest.approx(max(start - decay, 0.0))


@given(st.integers(0, 10**6))
def test_by_default_every_token_is_the_true_one(step):
    assert teacher_forcing_ratio(step, TrainingConfig()) == 1.0


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("teacher_forcing", 1.5, "training.teacher_forcing = 1.5: must be at most 1.0"),
        ("teacher_forcing", -0.1, "training.teacher_forcing = -0.1: must be at least 0.0"),
        ("teacher_forcing_decay", 2, "training.teacher_forcing_decay = 2: must be at most 1.0"),
        ("teacher_forcing_decay", -1.0, "training.teacher_forcing_decay = -1.0: must be at least 0.0"),
        ("teacher_forcng", 1.0, "[training] has no key 'teacher_forcng'; did you mean 'teacher_forcing'?"),
    ],
)
def test_wrong_values_are_refused(key, value, message):
    with pytest.raises(ConfigError) as error:
        TrainingConfig.parse({key: value}, "training")
    assert str(error.value) == message


# --- what is fed


def test_with_ratio_one_the_logits_are_those_of_the_fast_path(task_and_model):
    task, model = task_and_model
    batch = batch_of(task)
    assert_close(sampled_logits(model.eval(), batch, 1.0), model(batch), **CLOSE)


def test_with_ratio_zero_each_input_is_what_was_likeliest_before(task_and_model, monkeypatch):
    task, model = task_and_model
    model.eval()
    batch = batch_of(task)
    fed, logits = fed_inputs(model, batch, 0.0, monkeypatch)
    assert (fed[:, 0] == START).all()
    assert torch.equal(fed[:, 1:], logits[:, :-1].argmax(dim=2))
    assert not torch.equal(fed, batch.inputs)


def test_with_ratio_zero_the_inputs_are_those_of_greedy_decoding(task_and_model, monkeypatch):
    task, model = task_and_model
    model.eval()
    with torch.no_grad():  # what a search never writes; and no end, so that answers are as long as the targets
        model.project.bias[[PAD, START, END]] = -1e4
    batch = batch_of(task)
    fed, _ = fed_inputs(model, batch, 0.0, monkeypatch)
    longest = batch.inputs.shape[1]
    sources = [task.corpora.train.source[i] for i in range(9)]
    found = task.answer(model, sources, options=DecodingConfig(beam=1, max_length=longest))
    assert [[START, *answer.ids[:-1]] for [answer] in found] == fed.tolist()
    assert len({tuple(answer.ids) for [answer] in found}) > 1


def test_a_ratio_between_feeds_that_share_of_true_tokens_drawn_for_each_row_and_step(recipe, monkeypatch):
    task, model = make_decided(recipe)
    model.eval()
    with torch.no_grad():
        model.project.bias[PAD] = 1e4  # its own token is never a true one at a real position
    batch = batch_of(task, rows=60)
    for ratio in (0.25, 0.7):
        torch.manual_seed(1)
        fed, _ = fed_inputs(model, batch, ratio, monkeypatch)
        real = batch.target_mask[:, 1:]
        true = (fed == batch.inputs)[:, 1:]
        assert ((fed == PAD) | (fed == batch.inputs)).all()
        assert float(true[real].float().mean()) == pytest.approx(ratio, abs=0.06)
        enough = real.sum(dim=1) >= 5
        by_row = [float(row[kept].float().mean()) for row, kept in zip(true[enough], real[enough], strict=True)]
        by_step = [float(true[:, place][real[:, place]].float().mean()) for place in range(5)]
        assert len(set(by_row)) > 3
        assert all(0 < share < 1 for share in by_step), "rows draw apart from each other"


def test_draws_come_from_torchs_global_generator(recipe):
    task, model = make_decided(recipe)
    model.eval()
    batch = batch_of(task)
    torch.manual_seed(11)
    state = torch.get_rng_state()
    first, second = (sampled_logits(model, batch, 0.5) for _ in range(2))
    assert not torch.equal(first, second)
    torch.set_rng_state(state)
    assert torch.equal(sampled_logits(model, batch, 0.5), first)
    assert torch.equal(sampled_logits(model, batch, 0.5), second)


def test_every_parameter_gets_a_gradient_through_the_steps(task_and_model):
    task, model = task_and_model
    batch = batch_of(task)
    model.train()
    torch.manual_seed(3)
    logits = sampled_logits(model, batch, 0.5)[batch.target_mask]
    F.cross_entropy(logits, batch.targets[batch.target_mask]).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_the_last_loss_reaches_the_first_input(recipe):
    """The gradient flows through all steps of the state, not through the last alone."""
    task, model = make_decided(recipe, "model.tied=false", "model.shared_embeddings=false", "model.attention=none")
    batch = batch_of(task, rows=1)
    sampled_logits(model.train(), batch, 1.0)[:, -1].square().sum().backward()
    assert model.embed_target.weight.grad[START].abs().sum() > 0


# --- the task's loss


def plain_loss(model, batch, smoothing):
    features = model.features(batch)[batch.target_mask]
    return vocabulary_loss(features, model.project, batch.targets[batch.target_mask], smoothing=smoothing)


def test_the_loss_is_smoothed_cross_entropy_over_real_positions(recipe):
    task, model = make_decided(recipe, "training.teacher_forcing=0.5")
    batch = batch_of(task)
    model.train()
    torch.manual_seed(6)
    loss = task.loss(model, batch, 1)
    torch.manual_seed(6)
    each = sampled_logits(model, batch, 0.5).log_softmax(dim=2)
    total = plain = 0.0
    for row, place in batch.target_mask.nonzero().tolist():
        right = each[row, place, batch.targets[row, place]]
        plain = plain - right
        total = total - 0.8 * right - 0.2 * each[row, place].mean()
    assert_close(loss.total, total, rtol=1e-4, atol=1e-3)
    assert loss.parts["nll"] == pytest.approx(float(plain.detach()), rel=1e-4)
    assert loss.count == int(batch.target_mask.sum())
    loss.total.backward()


def test_sampled_and_plain_losses_agree_where_they_must(task_and_model, monkeypatch):
    """A ratio a hair below 1 goes step by step and, with these draws, feeds true tokens only."""
    task, model = task_and_model
    batch = batch_of(task)
    model.train()
    wanted, nll = plain_loss(model, batch, 0.2)
    wanted.backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    monkeypatch.setattr(writing, "teacher_forcing_ratio", lambda step, config: 1 - 1e-9)
    torch.manual_seed(0)
    loss = task.loss(model, batch, 1)
    loss.total.backward()
    assert_close(loss.total, wanted, rtol=1e-5, atol=1e-3)
    assert loss.parts["nll"] == pytest.approx(float(nll), rel=1e-5)
    for name, parameter in model.named_parameters():
        assert_close(
            parameter.grad, gradients[name], rtol=1e-3, atol=2e-4, msg=lambda text, name=name: f"{name}: {text}"
        )


def test_ratio_one_keeps_the_fast_path_to_the_bit_and_draws_nothing(recipe, monkeypatch):
    monkeypatch.setattr(writing, "sampled_logits", None)  # calling it would fail
    task, model = make_decided(recipe)
    batch = batch_of(task)
    model.train()
    before = torch.get_rng_state()
    loss = task.loss(model, batch, 2)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(loss.total, plain_loss(model, batch, 0.2)[0])


def test_evaluations_always_see_the_true_tokens(recipe, monkeypatch):
    task, model = make_decided(recipe, "training.teacher_forcing=0.0")
    batch = batch_of(task)
    model.eval()
    monkeypatch.setattr(writing, "sampled_logits", None)
    assert torch.equal(task.loss(model, batch, 2).total, plain_loss(model, batch, 0.0)[0])


def test_the_decay_counts_the_trainers_steps(recipe, monkeypatch):
    task, model = make_decided(recipe, "training.steps=5", "training.teacher_forcing_decay=0.8")
    model.train()
    asked = []
    monkeypatch.setattr(writing, "sampled_logits", lambda model, batch, ratio: asked.append(ratio) or model(batch))
    for step in range(1, 6):
        task.loss(model, batch_of(task), step)
    assert asked == pytest.approx([0.8, 0.6, 0.4, 0.2])  # the first step has a ratio of 1: the fast path


# --- from the outside


@pytest.mark.parametrize("change", ["training.teacher_forcing=0.75", "training.teacher_forcing_decay=0.25"])
def test_a_model_that_cannot_be_trained_through_its_steps_is_refused_before_training(change, recipe, tmp_path):
    transformer = ["model.name=transformer", "model.heads=3", "model.feedforward=17", "model.layers=1"]
    with pytest.raises(ConfigError) as error:
        api.prepare_job(recipe, out=tmp_path / "run", overrides=[*transformer, change])
    ratio, decay = ("0.75", "0") if change.endswith("0.75") else ("1", "0.25")
    assert str(error.value) == (
        f"training.teacher_forcing = {ratio} with a decay of {decay} feeds a model its own tokens, step by step, and "
        "'transformer' cannot be trained through its steps; set teacher_forcing = 1 and teacher_forcing_decay = 0, or "
        "model.name = 'seq2seq'"
    )
    assert not (tmp_path / "run").exists()
    api.prepare_job(recipe, out=tmp_path / "run", overrides=transformer)
    api.prepare_job(recipe, out=tmp_path / "run", overrides=[change])


def train(recipe, folder, *overrides):
    from typer.testing import CliRunner

    from jumok.cli.main import app

    changes = [part for override in overrides for part in ("--set", override)]
    done = CliRunner().invoke(app, ["train", str(recipe), "--out", str(folder), *changes])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_jumok_train_with_scheduled_sampling(recipe, tmp_path):
    """Three steps, twice the same to the bit, and different from plain teacher forcing from the second step on."""
    sampling = ("training.teacher_forcing_decay=1.0", "model.dropout=0.3")
    first, again = (train(recipe, tmp_path / name, *sampling) for name in ("first", "again"))
    plain = train(recipe, tmp_path / "plain", sampling[1])
    ours, theirs, fast = ([row["loss"] for row in rows if "loss" in row] for rows in (first, again, plain))
    assert len(ours) == 3
    assert ours == theirs
    assert ours[0] == fast[0]
    assert ours[1:] != fast[1:]
    assert all(row["nll"] > 0 for row in first if "nll" in row)
    predictor = api.load(tmp_path / "first")
    assert isinstance(predictor.translate("a b c"), str)
