"""The doctor: right counts, every problem found where it is and only there, each with a cure."""

import multiprocessing
import sys

import pytest
import torch
from cli.conftest import digit_pairs, write_lines, write_small

import jumok
import jumok.training.workers
from jumok.errors import ConfigError

HEALTHY = ["training.steps=100", "training.warmup=10", "training.batch_tokens=30", "training.evaluate_every=20"]


@pytest.fixture
def recipe(tmp_path):
    return write_small(tmp_path)


def problems(recipe, *overrides) -> dict[str, str]:
    return dict(jumok.check(recipe, overrides=[*HEALTHY, *overrides]).problems)


def test_a_healthy_recipe_has_no_problems(recipe):
    report = jumok.check(recipe, overrides=HEALTHY)
    assert report.problems == []
    assert report.counts["train"]["read"] == report.counts["train"]["kept"] == 60
    assert report.counts["val.digits"]["kept"] == 6
    assert report.lengths["source"].longest == report.lengths["target"].longest == 6
    assert 1 < report.lengths["source"].mean <= report.lengths["source"].nearly_all <= 6
    assert report.vocabularies == {"source": 24, "target": 24}  # ten digits, ten words, four specials
    rows, source, target = report.largest
    assert rows * max(source, target) <= 30
    assert 0.0 <= report.padding < 0.5
    assert report.unknown == {"source": 0.0, "target": 0.0}
    assert [len(source) == len(target) for source, target in report.samples] == [True] * 3
    assert report.memory >= 0
    assert report.steps_per_epoch >= 10
    assert report.seconds_in_all == pytest.approx(report.seconds_per_epoch * 100 / report.steps_per_epoch)


def test_parameters_are_counted_as_the_run_will_have_them(recipe, tmp_path):
    report = jumok.check(recipe, overrides=HEALTHY)
    run = jumok.train(recipe, out=tmp_path / "run", overrides=["training.steps=1"])
    assert report.parameters == jumok.load(run).to_dict()["parameters"]


def test_accumulated_batches_make_fewer_steps(recipe):
    one, three = (jumok.check(recipe, overrides=[*HEALTHY, f"training.accumulate={count}"]) for count in (1, 3))
    assert three.steps_per_epoch == one.steps_per_epoch // 3


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak is that of the process' whole life")
def test_memory_is_that_of_the_batch_and_not_of_what_came_before(recipe):
    block = b"x" * 400_000_000
    del block
    assert jumok.check(recipe, overrides=HEALTHY).memory < 200_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="workers are for Linux")
@pytest.mark.parametrize("workers", [1, 3])
def test_steps_are_timed_as_the_run_will_take_them(recipe, monkeypatch, workers):
    """Rows of a batch are shared out; batches too small for all workers too."""
    started = []
    monkeypatch.setattr(
        jumok.training.workers.Workers,
        "__enter__",
        lambda self, enter=jumok.training.workers.Workers.__enter__: started.append(self.count) or enter(self),
    )
    report = jumok.check(recipe, overrides=[*HEALTHY, f"training.workers={workers}"])
    assert started == ([3] * len(report.precisions) if workers == 3 else [])
    assert report.tokens_per_second > 0
    assert multiprocessing.active_children() == []


@pytest.mark.skipif(sys.platform != "linux", reason="workers are for Linux")
def test_the_faster_setting_is_promised(recipe):
    torch.set_num_threads(2)
    try:
        report = jumok.check(recipe, overrides=HEALTHY)
    finally:
        torch.set_num_threads(1)
    speeds = report.settings
    assert set(speeds) == {"2 processes", "1 process"}
    assert report.workers == (2 if speeds["2 processes"] > speeds["1 process"] else 1)
    batches = max(speeds.values()) * report.seconds_per_epoch
    assert round(batches) == report.steps_per_epoch
    assert report.tokens_per_second * report.seconds_per_epoch == pytest.approx(
        report.counts["train"]["kept"] * report.lengths["target"].mean
    )


@pytest.mark.parametrize("has_bf16", [True, False])
def test_both_precisions_are_timed_where_the_processor_has_both(recipe, monkeypatch, has_bf16):
    monkeypatch.setattr("jumok.workflows.check.multiplies_narrow", lambda device: has_bf16)
    report = jumok.check(recipe, overrides=[*HEALTHY, "training.workers=1", "training.precision=fp32"])
    assert list(report.precisions) == (["fp32", "bf16"] if has_bf16 else ["fp32"])
    assert all(speed > 0 for speed in report.precisions.values())


def test_a_set_of_one_batch_still_has_a_speed(recipe):
    report = jumok.check(recipe, overrides=["training.batch_tokens=2000"])
    assert report.steps_per_epoch == 1
    assert report.tokens_per_second > 0
    assert report.seconds_in_all > 0


@pytest.mark.parametrize(
    ("overrides", "problem", "cure"),
    [
        (
            ["training.warmup=100"],
            "training.warmup (100) is not below training.steps (100)",
            "set training.warmup = 10",
        ),
        (
            ["training.evaluate_every=101"],
            "training.evaluate_every (101) is above training.steps",
            "set training.evaluate_every = 10",
        ),
        (["training.batch_tokens=900"], "an epoch has only 1 step", "lower training.batch_tokens (now 900)"),
        (
            ["tokenizer.kind=bpe", "training.batch_tokens=40"],
            "of the 8,000 vocabulary entries asked for",
            "set tokenizer.vocabulary = ",
        ),
        (["data.max_length=5"], "training pairs are dropped", "look at data.max_length"),
        (["tokenizer.min_frequency=50"], "of the val target tokens are unknown", "use tokenizer.kind = 'bpe'"),
    ],
)
def test_each_problem_is_found_with_its_cure(recipe, overrides, problem, cure):
    found = [(what, how) for what, how in problems(recipe, *overrides).items() if problem in what]
    assert len(found) == 1
    assert found[0][1].startswith(cure)


def test_following_a_cure_cures(recipe):
    assert problems(recipe, "training.warmup=100")
    assert not problems(recipe, "training.warmup=10")
    found = problems(recipe, "tokenizer.kind=bpe", "training.batch_tokens=40")
    (cure,) = found.values()
    assert not problems(
        recipe, "tokenizer.kind=bpe", "training.batch_tokens=40", "tokenizer.vocabulary=" + cure.split()[3]
    )


def test_equal_sides_are_told_as_a_share_of_the_pairs(recipe, tmp_path):
    pairs = digit_pairs(60)
    write_lines(
        tmp_path / "train.words", [source if number < 30 else target for number, (source, target) in enumerate(pairs)]
    )
    assert (
        problems(recipe)["about 50% of the training pairs have equal sides"]
        == "is the target file really the translation?"
    )


@pytest.mark.parametrize("name", ["copy", "reverse"])
def test_the_sides_of_a_built_in_set_may_be_equal(recipe, name):
    recipe.write_text(
        f'[data]\nset = "{name}"\nsize = 300\n[tokenizer]\nkind = "word"\n[model]\npreset = "tiny"\nlayers = 1\n'
    )
    assert problems(recipe) == {}


def test_val_that_stands_in_the_training_data_is_found(recipe, tmp_path):
    pairs = digit_pairs(60)
    write_lines(tmp_path / "val.digits", [source for source, _ in pairs[:3]] + ["1 1", "2 2", "3 3"])
    write_lines(tmp_path / "val.words", [target for _, target in pairs[:3]] + ["one", "two", "three"])
    [(what, cure)] = problems(recipe).items()
    assert what.startswith(
        "3 of 6 sources of val.digits also stand in the training data: its scores will flatter (3 equal"
    )
    assert cure.startswith("take them out of the training data")


def test_what_a_run_would_refuse_the_doctor_refuses(recipe):
    with pytest.raises(ConfigError, match=r"set model\.max_positions = 6, or data\.max_length = 4"):
        jumok.check(recipe, overrides=["model.positions=learned", "model.max_positions=4"])


def test_the_report_is_plain_data(recipe):
    import json

    report = jumok.check(recipe, overrides=HEALTHY)
    assert json.loads(json.dumps(report.to_dict()))["parameters"] == report.parameters
