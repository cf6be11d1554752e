"""Self-critical training: what is rewarded becomes likelier, and only that; draws are those that the pass rescores."""

import json
from dataclasses import replace

import pytest
import torch
from tasks.conftest import make
from torch.testing import assert_close

from jumok import api
from jumok.data.text.tokenizer import END, PAD, START, UNKNOWN
from jumok.decoding.hypotheses import Hypothesis
from jumok.decoding.requests import Marks
from jumok.errors import ConfigError
from jumok.evaluation.captions import CiderD
from jumok.tasks.pairs import collate
from jumok.tasks.self_critical import SelfCritic, take_rows, with_targets

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
dropout = 0.3
[training]
steps = 3
warmup = 1
batch_tokens = 200
self_critical = "greedy"
log_every = 1
save_every = 1
evaluate_every = 3
evaluate_sentences = 3
"""

MARKS = Marks(START, END, PAD)
TRANSFORMER = ["model.name=transformer", "model.heads=3", "model.feedforward=17", "model.layers=1"]
MODELS = {
    "seq2seq": ["model.name=seq2seq"],
    "seq2seq, mean": ["training.self_critical=mean"],
    "transformer": TRANSFORMER,
    "transformer, mean": [*TRANSFORMER, "training.self_critical=mean"],
}


def answer(*tokens, finished=True):
    return Hypothesis(list(tokens), finished, 0.0, 0.0, [])


def batch_of(task, rows=7):
    store = task.corpora.train
    return collate([(store.source[number], store.target[number]) for number in range(rows)])


@pytest.fixture(params=MODELS)
def task_and_model(request, recipe):
    torch.manual_seed(5)
    task, model = make(recipe, *MODELS[request.param])
    return task, model.train()


def first_token(model, batch):
    """Return the probabilities (B, V) of the first token."""
    model.eval()
    with torch.no_grad():
        found = model(batch)[:, 0].softmax(dim=1)
    model.train()
    return found


def test_a_reward_is_cider_d_with_the_end():
    corpus = [[[5, 6, 7, 8], [5, 6, 9]], [[8, 9]], [[7]]]
    critic = SelfCritic(corpus, MARKS)
    ended = [[[*ids, END] for ids in of_example] for of_example in corpus]
    cider = CiderD(ended)
    wanted = cider.score([5, 6, 7, 8, END], cider.prepare(ended[0]))
    assert critic.rewards([answer(5, 6, 7, 8)], corpus[:1]) == [wanted]
    cut, early = critic.rewards([answer(5, 6, 7, 8, finished=False), answer(5, 6, 7)], [corpus[0]] * 2)
    assert max(cut, early) < wanted


def test_what_is_rewarded_becomes_likelier(task_and_model, monkeypatch):
    """One token alone is worth something: after some steps it is written more often."""
    task, model = task_and_model
    batch, token = batch_of(task), 9

    def rewards(answers, references):
        return [10 * found.tokens.count(token) / (len(found.tokens) + 1) for found in answers]

    monkeypatch.setattr(task.critic, "rewards", rewards)
    torch.manual_seed(1)
    before, optimizer = first_token(model, batch)[:, token], torch.optim.Adam(model.parameters(), 0.03)
    for step in range(20):
        loss = task.loss(model, batch, step)
        (loss.total / loss.count).backward()
        optimizer.step()
        optimizer.zero_grad()
    assert (first_token(model, batch)[:, token] > 2 * before).all()


def test_draws_no_better_than_greedy_teach_nothing(task_and_model):
    """A model that is sure of all its tokens draws what greedy search writes."""
    task, model = task_and_model
    with torch.no_grad():
        model.project.bias.copy_(torch.arange(len(model.project.bias)) * 1e4)
    loss = task.loss(model, batch_of(task), 1)
    loss.total.backward()
    assert float(loss.total.detach()) == 0.0
    assert all(not parameter.grad.any() for parameter in model.parameters() if parameter.grad is not None)
    if task.recipe.training.self_critical == "greedy":
        assert float(loss.parts["reward"]) == float(loss.parts["greedy_reward"])


def among_writable(task, model, batch, drawn):
    """Return −log p of draws: among the tokens that can be drawn."""
    marks, each = task.critic.marks, []
    model.eval()
    for number, found in enumerate(drawn):
        tokens = task.critic.tokens(found)
        own = with_targets(take_rows(batch, [number * len(batch.inputs) // len(drawn)]), [tokens], marks)
        with torch.no_grad():
            logits = model(own)[0]
        logits[:, marks.never] = float("-inf")
        each.append(-float(logits.log_softmax(dim=1).gather(1, own.targets[0][:, None]).sum()))
    model.train()
    return each


def test_what_is_never_drawn_learns_nothing(task_and_model):
    """Else draws are made less likely by making it likelier: nobody ever draws it, and so nobody punishes it."""
    task, model = task_and_model
    task.critic.marks = replace(task.critic.marks, unknown=UNKNOWN)
    loss = task.loss(model, batch_of(task), 1)
    loss.total.backward()
    never = task.critic.marks.never
    assert len(never) == 3
    assert not model.project.bias.grad[never].any()
    assert model.project.bias.grad.any()


def test_the_pass_rescores_what_was_drawn(task_and_model, monkeypatch):
    """Also after an update: no search may keep weights of before. Dropout is off, and back on afterwards."""
    task, model = task_and_model
    batch, drawn, plain = batch_of(task), [], SelfCritic.answer
    monkeypatch.setattr(SelfCritic, "answer", lambda *given: drawn.append(plain(*given)) or drawn[-1])
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(3):
        drawn.clear()
        loss = task.loss(model, batch, step)
        sampled = drawn[0]
        assert_close(float(loss.parts["nll"]), sum(among_writable(task, model, batch, sampled)), rtol=1e-4, atol=1e-3)
        assert loss.count == sum(len(found.tokens) + found.finished for found in sampled)
        assert model.training
        loss.total.backward()
        optimizer.step()


@pytest.mark.parametrize("baseline", ["greedy", "mean"])
def test_the_loss_is_minus_advantage_times_log_probability(recipe, baseline, monkeypatch):
    task, model = make(recipe, f"training.self_critical={baseline}")
    drawn, plain = [], SelfCritic.answer
    monkeypatch.setattr(SelfCritic, "answer", lambda *given: drawn.append(plain(*given)) or drawn[-1])
    rewards = torch.linspace(-1, 2, 7 if baseline == "greedy" else 35)
    given = iter([rewards.tolist(), [0.5, 0.7] * 3 + [0.9]])
    monkeypatch.setattr(task.critic, "rewards", lambda answers, references: next(given))
    batch = batch_of(task)
    loss = task.loss(model.train(), batch, 1)
    if baseline == "greedy":
        advantage = rewards - torch.tensor([0.5, 0.7] * 3 + [0.9])
        advantage = advantage - advantage.mean()
    else:
        groups = rewards.view(7, 5)
        advantage = torch.stack(
            [groups[:, i] - groups[:, [j for j in range(5) if j != i]].mean(dim=1) for i in range(5)], 1
        )
    likely = among_writable(task, model, batch, drawn[0])
    wanted = sum(value * nll for value, nll in zip(advantage.flatten().tolist(), likely, strict=True))
    assert_close(float(loss.total.detach()), wanted, rtol=1e-3, atol=1e-3)
    assert float(loss.parts["reward"]) / loss.count == pytest.approx(0.5)


def test_draws_follow_torchs_generator(task_and_model):
    task, model = task_and_model
    batch = batch_of(task)
    torch.manual_seed(11)
    state = torch.get_rng_state()
    first, second = (float(task.loss(model, batch, 1).parts["nll"]) for _ in range(2))
    assert first != second
    torch.set_rng_state(state)
    assert float(task.loss(model, batch, 1).parts["nll"]) == first


def test_evaluations_see_the_true_tokens(task_and_model, monkeypatch):
    task, model = task_and_model
    monkeypatch.setattr(SelfCritic, "loss", None)  # calling it would fail
    assert task.loss(model.eval(), batch_of(task), 1).parts["nll"] > 0


def test_references_are_the_targets(recipe):
    task, _ = make(recipe)
    store = task.corpora.train
    assert task.references(batch_of(task, 3)) == [[store.target[number].tolist()] for number in range(3)]
    assert next(iter(task.training_references())) == [store.target[0].tolist()]


def test_rows_and_other_targets(recipe):
    task, _ = make(recipe)
    batch = batch_of(task, 5)
    chosen = take_rows(batch, [3, 1])
    assert torch.equal(chosen.source, batch.source[[3, 1]])
    changed = with_targets(chosen, [[7, 8, END], [END]], MARKS)
    assert changed.inputs.tolist() == [[START, 7, 8], [START, END, PAD]]
    assert changed.targets.tolist() == [[7, 8, END], [END, PAD, PAD]]
    assert changed.target_mask.tolist() == [[True] * 3, [True, False, False]]
    assert torch.equal(changed.source, chosen.source)


def test_the_log_has_the_reward(recipe, tmp_path):
    api.train(recipe, out=tmp_path / "run", overrides=["training.workers=1"])
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    learnt = [row for row in rows if "loss" in row]
    assert len(learnt) == 3
    assert all(0.0 <= row["reward"] <= 10.0 and "greedy_reward" in row for row in learnt)


def test_what_does_not_go_together_is_refused(recipe, tmp_path):
    with pytest.raises(ConfigError, match=r"self_critical learns from whole answers .* set teacher_forcing = 1"):
        api.prepare_job(recipe, out=tmp_path / "run", overrides=["training.teacher_forcing=0.5"])
    with pytest.raises(ConfigError, match="self_critical rewards written answers, and image-classification has none"):
        api.prepare_job("shapes-vit", out=tmp_path / "run", overrides=["training.self_critical=greedy"])


CAPTIONS = """
task = "image-captioning"
[data]
set = "shapes"
captions = "relations"
size = 16
set_size = 40
loaders = 0
[tokenizer]
kind = "word"
[model]
name = "captioner"
width = 12
doubly_stochastic = 0.5
[training]
steps = 2
batch_size = 7
self_critical = "greedy"
log_every = 1
evaluate_sentences = 3
"""


def test_captions_are_rewarded_by_all_captions_of_their_image(tmp_path):
    (tmp_path / "captions.toml").write_text(CAPTIONS)
    api.train(tmp_path / "captions.toml", out=tmp_path / "run", overrides=["training.workers=1"])
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "reward" in row] == [1, 2]
