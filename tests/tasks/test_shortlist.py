"""The vocabulary shortlist: learnt partners, searches among them, and answers that do not leave them."""

import numpy as np
import pytest
import torch
from tasks.conftest import make
from tasks.test_translation_task import RECIPE  # noqa: F401 - the fixture `recipe` writes it

from jumok.config import DecodingConfig
from jumok.data.text.tokenizer import END, UNKNOWN
from jumok.errors import ConfigError
from jumok.tasks import shortlist
from jumok.tasks.shortlist import Shortlist, learn


class Store:
    """Pairs as a store hands them out."""

    def __init__(self, pairs):
        self.source = [np.asarray(source) for source, _ in pairs]
        self.target = [np.asarray(target) for _, target in pairs]

    def __len__(self):
        return len(self.source)


def words_for_words(count, seed=1):
    """Return pairs in which source token 10 + i is always said as target token 40 − i, among ten words."""
    draw = np.random.default_rng(seed)
    sources = [draw.integers(0, 10, size=draw.integers(1, 6)) for _ in range(count)]
    return Store([(10 + source, 40 - source) for source in sources])


@pytest.mark.parametrize("chunk", [7, 5_000])
def test_a_token_s_best_partner_is_its_translation(monkeypatch, chunk):
    monkeypatch.setattr(shortlist, "CHUNK", chunk)
    monkeypatch.setattr(shortlist, "COMMON", 0)
    told = []
    found = learn(words_for_words(300), source_size=25, target_size=45, each=3, progress=told.append)
    assert sum(told) == 300
    assert found.partners.shape == (25, 3)
    assert found.partners[10:20, 0].tolist() == list(range(40, 30, -1))
    assert (found.partners[:10] == -1).all(), "a token nobody has seen has no partners"
    assert found.common.tolist() == [UNKNOWN, END]
    alone = learn(words_for_words(300), source_size=25, target_size=45, each=1, progress=told.append)
    assert alone.tokens(np.array([12, 12, 15])).tolist() == [UNKNOWN, END, 35, 38]


def test_the_commonest_tokens_are_always_tried(monkeypatch):
    monkeypatch.setattr(shortlist, "COMMON", 2)
    store = Store([([5], [9, 30]), ([6], [9, 31]), ([7], [9, 30]), ([8], [32])])
    found = learn(store, source_size=10, target_size=40, each=1, progress=lambda done: None)
    assert found.tokens(np.array([8])).tolist() == [UNKNOWN, END, 9, 30]


def test_large_corpora_are_sampled_evenly(monkeypatch):
    monkeypatch.setattr(shortlist, "MOST", 10)
    told = []
    learn(words_for_words(300), source_size=25, target_size=45, each=1, progress=told.append)
    assert sum(told) == 10


def test_saved_and_loaded(tmp_path):
    found = learn(words_for_words(50), source_size=25, target_size=45, each=2, progress=lambda done: None)
    found.save(tmp_path)
    again = Shortlist.load(tmp_path)
    assert np.array_equal(again.partners, found.partners)
    assert np.array_equal(again.common, found.common)


@pytest.fixture(scope="module")
def task_and_model(recipe):
    task, model = make(recipe)
    torch.manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0) if parameter.dim() > 1 else parameter.add_(0.3 * torch.randn(parameter.shape))
    return task, model.eval()


def search(task_and_model, monkeypatch, tokens, **options):
    """Return answers where tokens(ids) are the shortlist of a source, and all of them with shortlist = 0."""
    task, model = task_and_model
    monkeypatch.setattr(task, "shortlists", lambda sources, each: [torch.tensor(tokens(ids)) for ids in sources])
    sources = [task.corpora.train.source[number].astype(np.int64) for number in range(12)]
    given = {"beam": 3, "n_best": 3, "max_length": 9} | options
    return task.answer(model, sources, options=DecodingConfig(**given))


@pytest.mark.parametrize("options", [{}, {"beam": 1, "n_best": 1}, {"batch_size": 5}, {"min_length": 4}])
@pytest.mark.parametrize("native", [True, False])
def test_a_shortlist_of_everything_changes_nothing(task_and_model, monkeypatch, options, native):
    if not native:
        monkeypatch.setattr("jumok.decoding.native_weights.kernels", lambda: None)
        monkeypatch.setattr("jumok.native.kernels.kernels", lambda: None)
    everything = list(range(len(task_and_model[0].target_tokenizer)))
    plain = search(task_and_model, monkeypatch, lambda ids: everything, **options)
    short = search(task_and_model, monkeypatch, lambda ids: everything, shortlist=1, **options)
    for one, other in zip(plain, short, strict=True):
        assert [answer.ids for answer in one] == [answer.ids for answer in other]
        assert [answer.score for answer in one] == pytest.approx([answer.score for answer in other], abs=1e-5)


@pytest.mark.parametrize("batch_size", [64, 3])
def test_nothing_else_is_written(task_and_model, monkeypatch, batch_size):
    def own(ids):
        return [UNKNOWN, END, *sorted({int(token) for token in ids} - {UNKNOWN, END})][:9]

    found = search(task_and_model, monkeypatch, own, shortlist=1, batch_size=batch_size)
    allowed = {token for number in range(12) for token in own(task_and_model[0].corpora.train.source[number])}
    written = {token for answers in found for answer in answers for token in answer.ids}
    assert written <= allowed
    assert written


def test_a_prefix_may_hold_what_the_shortlist_does_not(task_and_model):
    task, model = task_and_model
    texts = [task.corpora.train.text(number)[1] for number in (0, 1)]
    prefixes = [texts[0][:3], texts[1][:1]]
    sources = [task.corpora.train.source[number].astype(np.int64) for number in (0, 1)]
    task.shortlists = lambda sources, each: [torch.tensor([END])] * len(sources)
    try:
        found = task.answer(
            model, sources, options=DecodingConfig(beam=2, shortlist=1, min_length=1), prefixes=prefixes
        )
    finally:
        del task.shortlists
    for answers, prefix in zip(found, prefixes, strict=True):
        assert answers[0].text.startswith(prefix)


def test_learnt_from_the_training_data_at_the_first_use(task_and_model, monkeypatch):
    task, _ = task_and_model
    learnt = []
    monkeypatch.setattr(
        "jumok.tasks.translation.learn", lambda *given, **options: learnt.append(1) or learn(*given, **options)
    )
    sources = [task.corpora.train.source[number].astype(np.int64) for number in range(3)]
    first, second = (task.shortlists(sources, 2) for _ in range(2))
    assert [tokens.tolist() for tokens in first] == [tokens.tolist() for tokens in second]
    assert learnt == [1]
    for tokens, ids in zip(first, sources, strict=True):
        assert set(ids.tolist()) - {UNKNOWN} <= set(tokens.tolist()), "copying: every token is its own partner"


@pytest.mark.parametrize("option", [{"sample": True}, {"no_repeat_ngram": 2}, {"repetition_penalty": 1.5}])
def test_refused_beside_options_that_need_the_whole_vocabulary(option):
    with pytest.raises(ConfigError, match="shortlist is for greedy and beam search"):
        DecodingConfig(shortlist=5, **option)


def test_refused_for_a_model_without(task_and_model, monkeypatch):
    task, model = task_and_model
    monkeypatch.setattr(type(model), "restrictable", False)
    with pytest.raises(ConfigError, match="always tries its whole vocabulary"):
        task.answer(model, [], options=DecodingConfig(shortlist=5))
