"""Explanations of masks, continuations and classes: the same answers as without, and what if something were left out."""

import copy
import pickle

import numpy as np
import pytest
import torch
from cli.conftest import bert_run, classifier_run, gpt_run, rnn_run  # noqa: F401 - fixtures
from torch.testing import assert_close

import jumok
from jumok.config import DecodingConfig
from jumok.errors import ConfigError
from jumok.nn.batch import TextBatch

LAYER = "encoder.layers.0.attention"
MASKED, REVIEW = "the [MASK] was [MASK]", "the play was superb"
LEFT_OUT = ("play was superb", "the was superb", "the play superb", "the play was")  # REVIEW, a word less each
GREEDY = DecodingConfig(sample=True, top_k=1, max_length=7)


@pytest.fixture(scope="module")
def filler(bert_run):  # noqa: F811
    return jumok.load(bert_run)


@pytest.fixture(scope="module")
def classifier(classifier_run):  # noqa: F811
    return jumok.load(classifier_run)


@pytest.fixture(scope="module")
def recurrent(rnn_run):  # noqa: F811
    return jumok.load(rnn_run)


@pytest.fixture(scope="module")
def writer(gpt_run):  # noqa: F811
    return jumok.load(gpt_run)


@pytest.fixture(scope="module")
def mean_pooled(classifier):
    """The same classifier, but a text's class is read from the mean of its tokens."""
    other = copy.deepcopy(classifier)
    other.model.config = other.model.config.model_copy(update={"pooling": "mean"})
    return other


def log_p(explanation):
    """Return the log-probability of what was answered."""
    if explanation.classes:
        return float(np.log(explanation.answer.probability))
    return float(sum(np.log(choice.probability) for choice in explanation.choices if choice is not None))


def check_maps(explanation):
    """Every row sums to 1 and has a label, and so it is in words."""
    for shown in (explanation, explanation.in_words()):
        for found in shown.record.maps:
            queries, keys = shown.sides()[found.kind]
            assert (found.queries, found.keys) == (queries.labels, keys.labels)
            assert found.weights.shape[1:] == (len(found.queries), len(found.keys))
            assert_close(found.weights.sum(dim=-1), torch.ones(found.weights.shape[:2]))
        assert len(shown.choices) in (0, len(shown.output.labels))
        assert len(shown.source) == len(shown.source_words)


def test_an_explained_filling_is_the_filling(filler):
    found, filled = filler.explain(MASKED), filler.fill(MASKED, top=6)
    assert found.answer.text == filled.text
    for ours, theirs in zip(found.answer.masks, filled.masks, strict=True):
        assert [token for token, _ in ours] == [token for token, _ in theirs]
        assert [share for _, share in ours] == pytest.approx([share for _, share in theirs], abs=1e-6)
    assert found.output.labels == ("[START]", "▁the", "[MASK]", "▁was", "[MASK]", "[END]")
    assert found.source == ["▁the", "[MASK]", "▁was", "[MASK]"]
    decided = [choice for choice in found.choices if choice is not None]
    assert [place for place, choice in enumerate(found.choices) if choice is not None] == [2, 4]
    for choice, tokens in zip(decided, filled.masks, strict=True):
        assert [choice.probability, *(share for _, share in choice.rivals)] == pytest.approx([s for _, s in tokens])
        assert [name.strip("▁") for name in (choice.token, *(n for n, _ in choice.rivals))] == [n for n, _ in tokens]
    check_maps(found)
    view = found.view()
    assert (view.written, view.characters, view.answers) == (False, False, ())
    assert (view.source, view.answer) == (MASKED, found.answer.headline)


def test_an_explained_verdict_is_the_verdict(classifier, recurrent):
    for model in (classifier, recurrent):
        found, verdict = model.explain(REVIEW), model.classify(REVIEW)
        assert found.answer.label == verdict.label
        assert dict(found.classes) == pytest.approx(verdict.probabilities, abs=1e-6)
        assert list(dict(found.classes)) == list(verdict.probabilities)
        assert found.choices == ()
        check_maps(found)
        asked = model.explain(REVIEW, label="dull")
        assert (asked.answer.label, asked.answer.probability) == ("dull", pytest.approx(verdict.probabilities["dull"]))
        assert asked.view().answer == f"dull {verdict.probabilities['dull']:.1%}"
    assert recurrent.explain(REVIEW).note.startswith("This model has no attention to show: it reads the text once")
    assert classifier.explain(REVIEW).note == ""


def test_what_was_written_is_explained_token_by_token(writer):
    found = writer.explain("the ", options=GREEDY)
    assert found.answer.text == writer.generate("the ", options=GREEDY)
    assert found.output.labels[:4] == ("t", "h", "e", "▁")
    assert found.choices[:4] == (None,) * 4
    [first, *_] = found.record.maps
    assert (first.keys[0], first.keys[1:]) == ("[END]", first.queries[:-1]), "each is chosen after all before it"
    ids = torch.tensor([[3, *writer.read("the "), *found.answer.ids]])
    with torch.inference_mode():
        shares = writer.model(TextBatch(ids[:, :-1], ids[:, 1:]))[0].log_softmax(dim=-1)
    expected = [float(shares[place + 4, token]) for place, token in enumerate(found.answer.ids)]
    told = [float(np.log(choice.probability)) for choice in found.choices[4 : 4 + len(expected)]]
    assert told == pytest.approx(expected, abs=1e-4)
    check_maps(found)
    assert found.view().written
    assert found.view().characters
    given = writer.explain("the ", target=found.answer.text)
    assert given.answer.ids == found.answer.ids
    assert given.answer.log_probability == pytest.approx(sum(expected), abs=1e-3)
    for one, other in zip(found.record.maps, given.record.maps, strict=True):
        size = other.weights.shape[1]
        assert_close(one.weights[:, :size, :size], other.weights)


def test_nothing_left_out_changes_nothing(filler, classifier, recurrent, writer):
    none = {"without_heads": [], "without_tokens": [], "without_positions": False}
    for model, text in ((filler, MASKED), (classifier, REVIEW), (recurrent, REVIEW), (writer, "the ")):
        options = {"options": GREEDY} if model is writer else {}
        one, other = model.explain(text, **options), model.explain(text, **none, **options)
        assert (one.answer, one.choices, one.classes) == (other.answer, other.choices, other.classes)


def test_a_hidden_token_is_nowhere_to_be_seen(filler, classifier, recurrent, mean_pooled, writer):
    """What it says does not matter: another token in its place gives the same answer, to the last digit but one."""
    for model, text, other, place in (
        (filler, "the play was [MASK]", "the play play [MASK]", 2),
        (classifier, "the play was superb", "the play was awful", 3),
        (mean_pooled, "the play was superb", "the play was awful", 3),
        (recurrent, "the play was superb", "the play was awful", 3),
    ):
        one, changed = (model.explain(given, without_tokens=[place]) for given in (text, other))
        assert log_p(one) == pytest.approx(log_p(changed), abs=1e-5)
        for found in one.record.maps:
            assert not found.weights[..., place + 1].any()
            assert_close(found.weights.sum(dim=-1), torch.ones(found.weights.shape[:2]))
        assert log_p(model.explain(text)) != pytest.approx(log_p(model.explain(other)), abs=1e-4)
    one, changed = (writer.explain(given, target="xy", without_tokens=[1]) for given in ("abc", "axc"))
    assert not one.record.maps[0].weights[:, :, 2].any()
    assert log_p(one) == pytest.approx(log_p(changed), abs=1e-4)
    drawn = [writer.explain(given, options=GREEDY, without_tokens=[1]).answer.ids for given in ("abc", "axc")]
    assert drawn[0] == drawn[1], "it is hidden while the model writes, too"


def test_without_positions_order_is_lost(classifier, writer):
    one, other = (classifier.explain(t, without_positions=True) for t in ("the play was bad", "bad the was play"))
    assert dict(one.classes) == pytest.approx(dict(other.classes), abs=1e-5)
    one, other = (writer.explain(t, target="s", without_positions=True) for t in ("abc", "bac"))
    assert log_p(one) == pytest.approx(log_p(other), abs=1e-4)


def test_importance_is_the_difference_of_two_likelihoods(classifier, recurrent, writer):
    for model, text, options, rests in (
        (classifier, REVIEW, {}, LEFT_OUT),
        (classifier, REVIEW, {"label": "dull"}, LEFT_OUT),
        (recurrent, REVIEW, {}, LEFT_OUT),
        (writer, "the ", {"target": "end"}, ("he ", "te ", "th ", "the")),
    ):
        explanation, heads = model.importance(text, **options)
        whole = log_p(explanation)
        assert list(explanation.worth) == heads
        assert [head.lost for head in heads] == sorted((head.lost for head in heads), reverse=True)
        assert len(heads) == sum(len(found.weights) for found in explanation.record.maps)
        same = {"label": explanation.answer.label} if explanation.classes else options
        for head in heads:
            without = model.explain(text, without_heads=[(head.path, head.head)], **same)
            assert head.lost == pytest.approx(whole - log_p(without), abs=1e-4)
        lost = [whole - log_p(model.explain(rest, **same)) for rest in rests]
        assert [token.lost for token in explanation.token_worth] == pytest.approx(lost, abs=1e-4)
        assert [token.token for token in explanation.token_worth] == explanation.source


@torch.inference_mode()
def test_importance_of_masks_is_that_of_the_tokens_chosen(filler):
    explanation, heads = filler.importance("the [MASK] was superb")
    [chosen] = filler.task.tokenizer.encode([explanation.answer.masks[0][0][0]])[0]

    def likelihood(text):
        row = filler._row(filler.read(text))
        return float(filler._logits(filler._batch(row.padded())).log_softmax(dim=1)[0, chosen])

    whole = likelihood("the [MASK] was superb")
    assert whole == pytest.approx(log_p(explanation), abs=1e-4)
    lost = [whole - likelihood(rest) for rest in ("[MASK] was superb", "the [MASK] superb", "the [MASK] was")]
    assert [token.lost for token in explanation.token_worth] == pytest.approx(lost, abs=1e-4)
    assert [token.place for token in explanation.token_worth] == [0, 2, 3], "a mask cannot be left out"
    other = copy.deepcopy(filler)
    attention = other.model.get_submodule(LAYER)
    attention.output.weight[:, : attention.value_width] = 0.0
    row = other._row(other.read("the [MASK] was superb"))
    without = float(other._logits(other._batch(row.padded())).log_softmax(dim=1)[0, chosen])
    assert next(head.lost for head in heads if head.head == 0) == pytest.approx(whole - without, abs=1e-4)


def test_the_last_word_makes_the_class(classifier):
    explanation, _ = classifier.importance("the play was superb")
    assert max(explanation.token_worth, key=lambda token: token.lost).token == "▁superb"


def test_two_texts_are_one_row(classifier, monkeypatch):
    with pytest.raises(ConfigError, match=r"a tuple is a pair of texts, and .* takes one text"):
        classifier.explain(("the film was bad", "the play"))
    monkeypatch.setattr(type(classifier), "takes_two", True)
    found, _ = classifier.importance(("the film was bad", "the play"))
    assert found.output.labels[:1] + found.output.labels[4:] == ("[START]", "▁bad", "[END]", "▁the", "▁play", "[END]")
    assert found.text == "the film was bad · the play"
    assert [token.place for token in found.token_worth] == [0, 1, 2, 3, 5, 6], "the end between them stays"
    pair = classifier.classify(("the film was bad", "the play"))
    assert dict(found.classes) == pytest.approx(pair.probabilities, abs=1e-6)


def test_line_breaks_end_words_and_have_a_sign(writer):
    found = writer.explain("a\nb c", target="\n")
    assert found.output.labels == ("a", "⏎", "b", "▁", "c", "⏎")
    assert found.in_words().output.labels == ("a", "⏎", "b", "c", "⏎")


def test_a_beginning_longer_than_the_window_is_cut(writer):
    notices = []
    window = writer.task.window
    found = writer.explain("x" * (window + 9), options=GREEDY, warn=notices.append)
    assert [str(one) for one in notices] == [
        f"the beginning has {window + 9} tokens, the model's window is {window}: only its newest {window // 2} are read"
    ]
    assert len(found.choices) <= window
    nearly = writer.explain("x" * (window - 1), options=GREEDY)
    assert len(nearly.answer.ids) <= 1, "the window has room for one token"


def test_explanations_can_be_kept(filler, classifier, recurrent, writer):
    for model, text in ((filler, MASKED), (classifier, REVIEW), (recurrent, REVIEW), (writer, "the ")):
        found = model.explain(text, details=True)
        again = pickle.loads(pickle.dumps(found))
        assert again.answer == found.answer
        assert again.page().html == found.page().html
        assert "<iframe" in found._repr_html_()


def test_what_cannot_be_done_is_said(filler, classifier, recurrent, writer):
    for model, call, message in (
        (filler, {"text": "the play"}, "has no mask to fill in; write \\[MASK\\] where"),
        (filler, {"text": "[MASK] " * 30}, "the text has 32 tokens, the model takes 16; shorten it"),
        (filler, {"text": MASKED, "without_tokens": [4]}, "the text has 4 tokens, counted from 0; there is no token 4"),
        (filler, {"text": MASKED, "without_heads": [("cross", 0)]}, f"there is no attention layer 'cross'; there are {LAYER}"),
        (classifier, {"text": REVIEW, "label": "god"}, "there is no class 'god'; did you mean 'good'?"),
        (recurrent, {"text": REVIEW, "without_positions": True}, "this model has no positions that could be left out"),
        (recurrent, {"text": REVIEW, "without_heads": [(LAYER, 0)]}, f"there is no attention layer '{LAYER}'; there are none"),
        (writer, {"beginning": "a", "target": ""}, "the target is empty"),
        (writer, {"beginning": "a", "target": "b" * 40}, "have 41 tokens, the model's window is 24; shorten them"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=message):
            model.explain(**call)
