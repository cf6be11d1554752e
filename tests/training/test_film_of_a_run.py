"""A film changes nothing of the run that is filmed, and its frames are what `explain` shows of the same weights."""

import signal

import pytest
import torch

import jumok
from jumok.errors import RunError
from jumok.lens.film import load_film
from jumok.tasks.pair_film import LONGEST
from jumok.workflows.film import open_film

STEPS = [0, 6, 12, 18, 23]  # of the recipe's evaluations, and the beginning


def without_transformer(recipe, tmp_path):
    """Return the recipe with a Seq2Seq instead."""
    head, _, rest = recipe.read_text().partition("[model]")
    path = tmp_path / "seq2seq.toml"
    path.write_text(f'{head}[model]\nname = "seq2seq"\nwidth = 16\n[training]{rest.partition("[training]")[2]}')
    return path


def frames(run):
    return {path.name: path.read_bytes() for path in sorted((run / "film").iterdir())}


@pytest.mark.parametrize("variant", [[], ["training.average=ema"], ["model.norm=batch"], ["training.workers=2"]])
def test_a_filmed_run_is_the_run_that_was_not(variant, run_recipe, assert_same_run, tmp_path):
    run_recipe(tmp_path / "filmed", overrides=variant)
    run_recipe(tmp_path / "unseen", overrides=[*variant, "training.probes=0"])
    assert_same_run(tmp_path / "filmed", tmp_path / "unseen")
    assert sorted(frames(tmp_path / "filmed")) == sorted(f"step-{step}.safetensors" for step in STEPS)
    assert not (tmp_path / "unseen/film").exists()


def test_a_frame_is_what_explain_shows(run_recipe, tmp_path):
    run_recipe(tmp_path / "run", overrides=["training.average=ema", "tokenizer.kind=bpe"])
    film, translator = open_film(tmp_path / "run"), jumok.load(tmp_path / "run", checkpoint="last")
    assert [frame.step for frame in film.frames] == STEPS
    store = next(iter(translator.task.open_split("val").values()))
    for number, shot in enumerate(film.frames[-1].shots):
        assert (shot.source, shot.reference) == store.text(number)
        found = translator.explain(shot.source, target=shot.reference)
        for ours, theirs in zip(shot.maps, found.record.of_kind("cross"), strict=True):
            torch.testing.assert_close(ours.weights, theirs.weights, rtol=1e-3, atol=1e-4)  # kept in 16 bits
            assert (ours.path, ours.queries, ours.keys) == (theirs.path, theirs.queries, theirs.keys)
        output, source = found.sides()["cross"]
        assert (shot.reference_words, shot.source_words) == (output.words, source.words)
        assert shot.translation == translator.translate(shot.source, beam=1)
        heads = [head for one in found.record.of_kind("cross") for head in one.summaries()]
        assert shot.entropy == pytest.approx(sum(head.entropy for head in heads) / len(heads), abs=1e-3)
        assert shot.on_end == pytest.approx(sum(head.on_end for head in heads) / len(heads), abs=1e-3)
    assert len(film.frames[-1].shots) == 2


def test_a_film_goes_on_as_if_never_stopped(run_recipe, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run_recipe(whole)
    run_recipe(broken, at={14: lambda: signal.raise_signal(signal.SIGINT)})
    # What a kill between the evaluation of step 18 and its save would leave behind:
    (broken / "film/step-18.safetensors").write_bytes(b"newer than the checkpoint")
    (broken / "film/.step-18.safetensors.part").write_bytes(b"half")
    run_recipe(broken, resume=True, at={15: lambda: signal.raise_signal(signal.SIGINT)})
    assert frames(broken).keys() == {f"step-{step}.safetensors" for step in (0, 6, 12)}
    run_recipe(broken, resume=True)
    assert frames(broken) == frames(whole)


def test_a_film_may_begin_late(run_recipe, tmp_path):
    stop = {7: lambda: signal.raise_signal(signal.SIGINT)}
    run_recipe(tmp_path / "run", overrides=["training.probes=0"], at=stop)
    with pytest.raises(RunError, match=r"has no film \(training\.probes = 0\): train with training\.probes = 2 in"):
        open_film(tmp_path / "run")
    run_recipe(tmp_path / "run", overrides=["training.probes=3"], resume=True)
    film = open_film(tmp_path / "run")
    assert [frame.step for frame in film.frames] == [12, 18, 23]
    assert [len(frame.shots) for frame in film.frames] == [3, 3, 3]
    assert set(film.scores) == {6, 12, 18, 23}


def test_recurrent_attention_is_filmed_and_one_vector_is_not(recipe, tmp_path):
    path = without_transformer(recipe, tmp_path)
    jumok.train(path, out=tmp_path / "looks", overrides=["model.attention=mlp", "training.steps=6"])
    (shot, _) = open_film(tmp_path / "looks").frames[-1].shots
    assert [found.kind for found in shot.maps] == ["recurrent"]
    torch.testing.assert_close(shot.maps[0].weights.sum(dim=-1), torch.ones(1, len(shot.maps[0].queries)), rtol=0, atol=5e-3)  # fmt: skip
    jumok.train(path, out=tmp_path / "vector", overrides=["model.attention=none", "training.steps=6"])
    assert load_film(tmp_path / "vector") is None
    with pytest.raises(RunError, match="has no film: its decoder has no attention to be filmed"):
        open_film(tmp_path / "vector")


def test_long_sentences_are_no_probes(run_recipe, tmp_path):
    rows = ["a " * (LONGEST + number) + "\tb\n" for number in (0, -2, 5, -1)]
    (tmp_path / "val.tsv").write_text("".join(rows))
    (tmp_path / "train.tsv").write_text("a b\tb a\n" * 40)
    overrides = [
        "data.set=''",
        f'data.train={{file="{tmp_path / "train.tsv"}"}}',
        f'data.val={{file="{tmp_path / "val.tsv"}"}}',
        "training.steps=2",
        "tokenizer.kind=word",
        "tokenizer.min_frequency=1",
    ]
    job = run_recipe(tmp_path / "run", overrides=overrides)
    (frame, _) = open_film(tmp_path / "run").frames
    assert [len(shot.maps[0].keys) for shot in frame.shots] == [LONGEST - 1, LONGEST]
    assert job.task.camera(job.model, count=0) is None
