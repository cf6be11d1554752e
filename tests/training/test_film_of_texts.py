"""Films of masked, running and classified text: the run stays what it was, and frames are what `explain` shows."""

import pytest
import torch
from cli.conftest import BERT_RECIPE, CLASSIFIER_RECIPE, GPT_RECIPE, RNN_RECIPE, write_recipe, write_reviews

import jumok
from jumok.models.gpt import GPT, GPTConfig
from jumok.models.recurrent_classifier import RecurrentClassifier, RecurrentClassifierConfig
from jumok.tasks.text_film import LONGEST, WEIGHTS, longest_probe, short_examples
from jumok.workflows.film import open_film

SHORT = ["training.steps=9", "training.evaluate_every=4", "training.save_every=9"]


@pytest.fixture
def train(tmp_path):
    """Return what trains one of the recipes for a few steps, into a folder of a name."""

    def go(recipe, name, *overrides):
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        path = write_recipe(recipe)(folder) if "stdlib" in recipe else write_reviews(folder, recipe)
        return jumok.train(path, out=tmp_path / name, overrides=[*SHORT, *overrides])

    return go


@pytest.mark.parametrize("recipe", [BERT_RECIPE, GPT_RECIPE, CLASSIFIER_RECIPE], ids=["bert", "gpt", "classifier"])
@pytest.mark.parametrize("variant", [[], ["model.dropout=0.1", "training.average=ema"]], ids=["plain", "dropout, ema"])
def test_a_filmed_run_is_the_run_that_was_not(recipe, variant, train, assert_same_run):
    filmed, unseen = train(recipe, "filmed", *variant), train(recipe, "unseen", *variant, "training.probes=0")
    assert_same_run(filmed, unseen)
    assert [frame.step for frame in open_film(filmed).frames] == [0, 4, 8, 9]
    assert not (unseen / "film").exists()


def close(shot, explanation):
    """A shot's maps are the explanation's, kept in 16 bits."""
    for ours, theirs in zip(shot.maps, explanation.record.maps, strict=True):
        assert (ours.path, ours.queries, ours.keys) == (theirs.path, theirs.queries, theirs.keys)
        torch.testing.assert_close(ours.weights, theirs.weights, rtol=1e-3, atol=1e-3)
    queries, keys = explanation.sides()[shot.maps[0].kind]
    assert (shot.reference_words, shot.source_words) == (queries.words, keys.words)
    assert shot.sides == (queries.name, keys.name)


def test_a_frame_of_masks_is_what_explain_shows(train):
    run = train(BERT_RECIPE, "run")
    filler, shots = jumok.load(run, checkpoint="last"), open_film(run).frames[-1].shots
    assert len(shots) == 2
    for shot in shots:
        found = filler.explain(shot.source)
        close(shot, found)
        told = [f"{one.token} {one.probability:.1%}" for one in found.choices if one is not None]
        assert shot.translation == ", ".join(told)
        assert len(shot.reference.split(", ")) == shot.source.count("[MASK]") == len(told)


def test_a_frame_of_classes_is_what_explain_shows(train):
    run = train(CLASSIFIER_RECIPE, "run")
    classifier, shots = jumok.load(run, checkpoint="last"), open_film(run).frames[-1].shots
    for shot in shots:
        found = classifier.explain(shot.source)
        close(shot, found)
        assert shot.translation == found.answer.headline
        assert shot.reference in ("good", "bad", "dull")
    assert len({shot.reference for shot in shots}) == 2, "of each class in turn"


def test_a_frame_of_running_text_is_what_explain_shows(train):
    run = train(GPT_RECIPE, "run")
    writer, shots = jumok.load(run, checkpoint="last"), open_film(run).frames[-1].shots
    for shot in shots:
        close(shot, writer.explain(shot.source, target=shot.reference))
        greedy = writer.options.changed({"top_k": 1, "max_length": len(writer.read(shot.reference))})
        assert shot.translation == writer.generate(shot.source, options=greedy)
        assert len(shot.maps[0].queries) <= writer.task.window


def test_what_does_not_attend_is_not_filmed(train):
    run = train(RNN_RECIPE, "run")
    assert not (run / "film").exists()


def test_probes_are_short_where_heads_are_many():
    few, many = (
        GPT(GPTConfig(vocabulary=11, layers=layers, width=24, heads=12, feedforward=0, window=7)) for layers in (2, 12)
    )
    assert (longest_probe(few), longest_probe(many)) == (LONGEST, 18)
    assert 144 * longest_probe(many) ** 2 <= WEIGHTS
    assert longest_probe(RecurrentClassifier(RecurrentClassifierConfig(vocabulary=11, width=6, classes=2))) == 0
    classes, lengths = torch.tensor([0, 0, 0, 1, 2]).numpy(), torch.tensor([5, 99, 6, 7, 8]).numpy()
    assert short_examples(classes, lengths, count=4, longest=40) == [0, 3, 4, 2]
