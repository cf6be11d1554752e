"""Translation: the loss over real target tokens, scores during training, coverage, and the length a model can take."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tasks.conftest import make
from torch.testing import assert_close

from jumok import api
from jumok.config import DecodingConfig
from jumok.data.text.tokenizer import START
from jumok.errors import ConfigError
from jumok.inspection.observe import observe
from jumok.inspection.record import mean_over_heads
from jumok.runs.job import build_model
from jumok.tasks import translation
from jumok.tasks.pairs import collate
from jumok.tasks.writing import Answer

RECIPE = """
[data]
set = "copy"
size = 120
[tokenizer]
kind = "character"
vocabulary = 60
[model]
layers = 2
width = 12
heads = 3
feedforward = 17
dropout = 0.0
[training]
batch_tokens = 300
label_smoothing = 0.2
"""


@pytest.fixture(scope="module")
def task_and_model(recipe):
    task, model = make(recipe)
    torch.manual_seed(4)
    with torch.no_grad():  # an untrained model says the same everywhere: make it pick and look sharply
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3.0)
    return task, model.eval()


@pytest.fixture
def task(task_and_model):
    return task_and_model[0]


@pytest.fixture
def model(task_and_model):
    return task_and_model[1]


def pairs_of(task, indices):
    store = task.corpora.train
    return [(store.source[i], store.target[i]) for i in indices]


# --- loss


@pytest.mark.parametrize("training", [True, False])
def test_the_loss_is_the_sum_over_real_target_tokens_smoothed_in_training_only(training, task, model):
    pairs = pairs_of(task, range(9))
    model.train(training)
    try:
        loss = task.loss(model, collate(pairs), 1)
        total = sum(
            F.cross_entropy(
                model(collate([pair]))[0], collate([pair]).targets[0], label_smoothing=0.2 * training, reduction="sum"
            )
            for pair in pairs
        )
    finally:
        model.eval()
    assert loss.count == sum(len(target) + 1 for _, target in pairs)
    assert_close(loss.total, total, rtol=1e-4, atol=1e-4)
    assert loss.parts["nll"] <= loss.total.item() + 1e-3 or training


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_micro_batches_give_the_gradient_of_the_big_batch(parts, recipe):
    """Padded differently, summed, divided once."""
    task, model = make(recipe)
    model.train()
    indices = np.arange(24)

    def gradients(groups):
        model.zero_grad()
        losses = [task.loss(model, collate(pairs_of(task, group)), 1) for group in groups]
        sum(loss.total for loss in losses).backward()
        count = sum(loss.count for loss in losses)
        return {name: parameter.grad / count for name, parameter in model.named_parameters()}

    whole, divided = gradients([indices]), gradients(np.array_split(indices, parts))
    for name, gradient in whole.items():
        assert_close(divided[name], gradient, rtol=1e-4, atol=1e-6)


def test_the_mean_loss_is_over_all_tokens_however_they_are_batched(task, model):
    store = task.corpora.evaluation("val")["copy"]
    with torch.inference_mode():
        losses = [task.loss(model, collate([(store.source[i], store.target[i])]), 0) for i in range(len(store))]
    wanted = sum(float(loss.total) for loss in losses) / sum(loss.count for loss in losses)
    for budget in (20, 300, 10**6):
        assert task.mean_loss(model, store, batch_tokens=budget) == pytest.approx(wanted, rel=1e-4)


# --- scores during training


@pytest.mark.parametrize(
    ("sentences", "answered"), [(1, 1), (2, 2), (7, 7), (9, 9), (150, 150), (199, 199), (200, 200), (1000, 200)]
)
def test_at_most_so_many_sentences_are_answered_spread_over_the_corpus(sentences, answered, task, model, monkeypatch):
    seen = []
    score = translation.mean_scores
    monkeypatch.setattr(
        translation, "mean_scores", lambda written, wanted, to: seen.append(wanted) or score(written, wanted, to)
    )
    stores = task.corpora.evaluation("val")
    scores = task.metrics(model, stores, sentences=sentences)
    assert len(seen[0]) == answered <= sentences
    texts = [stores["copy"].text(i)[1] for i in range(200)]
    assert texts.index(seen[0][-1]) >= 200 - 2 * -(-200 // sentences), "the end of the corpus should have its share"
    assert len(scores["samples"]) == min(2, answered)
    for sample in scores["samples"]:
        assert list(sample) == ["source", "reference", "jumok"]
        assert sample["source"] == sample["reference"] in texts
    assert scores.keys() == {"loss", "perplexity", "bleu", "chrf", "exact_match", "samples"}
    assert scores["perplexity"] == pytest.approx(np.exp(scores["loss"]))


def test_several_corpora_are_scored_together(task, model):
    store = task.corpora.evaluation("val")["copy"]
    alone = task.metrics(model, {"a": store}, sentences=10)
    twice = task.metrics(model, {"a": store, "b": store}, sentences=20)
    assert twice["loss"] == pytest.approx(alone["loss"])
    assert twice["exact_match"] == pytest.approx(alone["exact_match"])


def test_a_model_that_copies_scores_full_marks(task, model, monkeypatch):
    def perfect(model, sources, *, options):
        assert options.beam == 1
        return [[Answer(task.source_tokenizer.decode(ids.tolist()), 0.0, [], [], 0.0, True)] for ids in sources]

    monkeypatch.setattr(task, "answer", perfect)
    scores = task.metrics(model, task.corpora.evaluation("val"), sentences=50)
    assert scores["exact_match"] == 100.0
    assert scores["chrf"] == pytest.approx(100.0)


# --- coverage


def answers(task, model, sources, **options):
    return task.answer(model, sources, options=DecodingConfig(beam=5, n_best=5, max_length=9, **options))


def uncovered(task, model, source, answer):
    """Return Σ log min(coverage, 1), from one teacher-forced pass over the answer."""
    fed = [START, *answer.ids] if answer.finished else [START, *answer.ids[:-1]]
    batch = collate([(source, np.asarray(fed[1:], dtype=np.int64))])
    with torch.inference_mode(), observe(model) as record:
        model.features(batch)
    covered = mean_over_heads(record.of_kind("cross"))[0, : len(fed)].sum(dim=0)
    return float(covered.clamp(min=1e-6, max=1.0).log().sum())


def test_the_coverage_penalty_is_gnmts_and_changes_the_ranking(task, model):
    sources = [task.corpora.train.source[i].astype(np.int64) for i in range(12)]
    plain, covered = answers(task, model, sources), answers(task, model, sources, coverage_penalty=0.7)
    changed = 0
    for source, before, after in zip(sources, plain, covered, strict=True):
        assert {tuple(answer.ids) for answer in before} == {tuple(answer.ids) for answer in after}, (
            "the search is the same"
        )
        scores = {tuple(answer.ids): answer.score for answer in before}
        for answer in after:
            penalty = 0.7 * uncovered(task, model, source, answer)
            assert penalty <= 0
            assert answer.score == pytest.approx(scores[tuple(answer.ids)] + penalty, rel=1e-3, abs=1e-3)
        assert [answer.score for answer in after] == sorted((answer.score for answer in after), reverse=True)
        changed += [answer.ids for answer in before] != [answer.ids for answer in after]
    assert changed, "no ranking changed: the penalty does nothing"


@pytest.mark.parametrize("batch_size", [1, 2, 5])
def test_coverage_is_the_same_when_waiting_sentences_take_free_room(batch_size, task, model):
    sources = [task.corpora.train.source[i].astype(np.int64) for i in range(14)]
    together = answers(task, model, sources, coverage_penalty=0.7)
    refilled = answers(task, model, sources, coverage_penalty=0.7, batch_size=batch_size)
    for ours, theirs in zip(refilled, together, strict=True):
        assert [answer.ids for answer in ours] == [answer.ids for answer in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.score == pytest.approx(other.score, rel=1e-4, abs=1e-4)


def test_coverage_counts_a_forced_prefix(task, model):
    sources = [task.corpora.train.source[i].astype(np.int64) for i in range(4)]
    options = DecodingConfig(beam=3, n_best=3, max_length=9, coverage_penalty=0.7)
    free = DecodingConfig(beam=3, n_best=3, max_length=9)
    prefixes = ["a b", "c d", "d e", "f"]  # some of it goes in at once, the rest token by token
    for source, after, before in zip(
        sources, task.answer(model, sources, options=options, prefixes=prefixes),
        task.answer(model, sources, options=free, prefixes=prefixes), strict=True,
    ):  # fmt: skip
        scores = {tuple(answer.ids): answer.score for answer in before}
        for answer in after:
            wanted = scores[tuple(answer.ids)] + 0.7 * uncovered(task, model, source, answer)
            assert answer.score == pytest.approx(wanted, rel=1e-3, abs=1e-3)


# --- lengths


def test_sentences_longer_than_a_learned_table_are_refused_before_training_with_both_cures(recipe, tmp_path):
    learned = ["model.positions=learned", "model.max_positions=10", "training.steps=2"]
    longest = int(make(recipe)[0].corpora.train.lengths.max())
    with pytest.raises(ConfigError) as error:
        api.prepare_job(recipe, out=tmp_path / "run", overrides=learned)
    assert str(error.value) == (
        f"the longest sentence may have {longest} tokens, but positions = 'learned' has a table of 10; "
        f"set model.max_positions = {longest}, or data.max_length = 10 to leave longer pairs out"
    )
    assert not (tmp_path / "run").exists()
    api.prepare_job(recipe, out=tmp_path / "run", overrides=[*learned, f"model.max_positions={longest}"])
    api.prepare_job(recipe, out=tmp_path / "run", overrides=[*learned, "data.max_length=10"])


def test_subword_dropout_counts_with_the_longest_it_may_make(recipe):
    subwords = ["tokenizer.kind=bpe", "tokenizer.vocabulary=300", "model.positions=learned", "data.max_length=40"]
    task, model = make(recipe, *subwords, "model.max_positions=30")
    task.check_fits(model)
    for side in ("dropout", "target_dropout"):
        task, model = make(recipe, *subwords, "model.max_positions=30", f"tokenizer.{side}=0.1")
        with pytest.raises(ConfigError, match="may have 40 tokens, but positions = 'learned' has a table of 30"):
            task.check_fits(model)


@pytest.mark.parametrize(("key", "side"), [("dropout", 0), ("target_dropout", 1)])
def test_each_side_has_its_own_subword_dropout(recipe, key, side):
    subwords = ["tokenizer.kind=bpe", "tokenizer.vocabulary=300"]
    plain, dropped = (make(recipe, *subwords, *more)[0].batches().lengths(0) for more in ([], [f"tokenizer.{key}=0.5"]))
    assert dropped[:, side].sum() > plain[:, side].sum()
    assert np.array_equal(dropped[:, 1 - side], plain[:, 1 - side])


def test_longer_sources_are_cut_to_a_learned_table_and_nothing_crashes(recipe):
    task, model = make(recipe, "model.positions=learned", "model.max_positions=10", "data.max_length=10")
    model.eval()
    task.check_fits(model)
    stores = task.corpora.evaluation("val")
    assert stores["copy"].lengths.max() > 10  # nothing of val is dropped
    assert np.isfinite(task.metrics(model, stores, sentences=200)["loss"])
    long = task.read(["a b c " * 50])[0]
    for beam in (1, 3):
        cut, whole = task.answer(model, [long[:9], long], options=DecodingConfig(beam=beam))
        assert [answer.ids for answer in cut] == [answer.ids for answer in whole]
        assert all(len(answer.ids) <= 10 for answer in whole)


def test_models_without_a_table_take_any_length(recipe, task, model):
    task.check_fits(model)
    assert task.answer(model.eval(), task.read(["a b c " * 100]), options=DecodingConfig(beam=1, max_length=5))


def test_vocabulary_sizes_come_from_the_tokenizers(recipe):
    task, model = make(recipe, "tokenizer.shared=false")
    full = task.complete(task.recipe)
    assert (full.model.source_vocabulary, full.model.target_vocabulary) == (
        len(task.source_tokenizer),
        len(task.target_tokenizer),
    )
    assert model.project.out_features == len(task.target_tokenizer)


def test_the_same_seed_builds_the_same_model(recipe):
    task, model = make(recipe)
    torch.rand(7)
    for ours, theirs in zip(model.parameters(), build_model(task.complete(task.recipe)).parameters(), strict=True):
        assert ours.equal(theirs)
    other = make(recipe, "training.seed=2")[1]
    assert not all(ours.equal(theirs) for ours, theirs in zip(model.parameters(), other.parameters(), strict=True))
