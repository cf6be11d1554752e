"""The precision of a run: what auto means where, what a run keeps and goes on with, and what is told."""

import signal

import pytest
import torch

from jumok.config import TrainingConfig
from jumok.errors import RunError
from jumok.runs.run import Run
from jumok.training import precision
from jumok.training.precision import choose_precision, multiplies_narrow, processor_flags

CPU = torch.device("cpu")


@pytest.fixture
def family(monkeypatch):
    """Let Transformers be known to learn as well; return what sets the processor's flags."""
    monkeypatch.setattr(precision, "LEARNS_AS_WELL", frozenset({"transformer"}))

    def with_flags(*flags):
        monkeypatch.setattr(precision, "processor_flags", lambda: frozenset(flags))

    return with_flags


def test_auto_takes_bf16_where_processor_and_family_do_well(family):
    family("avx512f", "avx512_bf16")
    assert choose_precision("auto", "transformer", CPU) == "bf16"
    assert choose_precision("auto", "seq2seq", CPU) == "fp32"
    assert choose_precision("bf16", "seq2seq", CPU) == "bf16"
    assert choose_precision("fp32", "transformer", CPU) == "fp32"
    family("avx2", "avx512f")
    assert choose_precision("auto", "transformer", CPU) == "fp32"
    assert choose_precision("bf16", "transformer", CPU) == "bf16", "who asks for it gets it"


@pytest.mark.parametrize(
    ("flags", "has"), [(("amx_bf16",), True), (("bf16", "asimd"), True), (("sse2",), False), ((), False)]
)
def test_other_processors_say_it_in_their_own_words(family, flags, has):
    family(*flags)
    assert multiplies_narrow(CPU) is has
    assert not multiplies_narrow(torch.device("meta"))


def test_the_processor_is_asked_once_and_answers_in_words():
    assert processor_flags() is processor_flags()
    assert all(flag and " " not in flag for flag in processor_flags())


def test_auto_is_the_default():
    assert TrainingConfig().precision == "auto"


def test_a_run_keeps_what_auto_meant_and_goes_on_with_it_elsewhere(family, run_recipe, tmp_path):
    family("avx512_bf16")
    stop = {4: lambda: signal.raise_signal(signal.SIGINT)}
    first = run_recipe(tmp_path / "run", at=stop)
    assert "products in bf16, their sums in fp32 (training.precision)" in first.shown
    assert Run.open(tmp_path / "run").recipe.training.precision == "bf16"
    family("avx2")
    second = run_recipe(tmp_path / "run", resume=True)
    assert second.finished
    assert "this processor does not have: it is slower than fp32" in second.shown
    assert Run.open(tmp_path / "run").recipe.training.precision == "bf16"


def test_a_run_in_fp32_goes_on_so_where_auto_means_bf16_now(family, run_recipe, tmp_path):
    family("avx2")
    assert not run_recipe(tmp_path / "run", at={4: lambda: signal.raise_signal(signal.SIGINT)}).finished
    family("avx512_bf16")
    found = run_recipe(tmp_path / "run", resume=True)
    assert found.finished
    assert "bf16" not in found.shown
    assert Run.open(tmp_path / "run").recipe.training.precision == "fp32"


def test_another_precision_is_another_run(run_recipe, tmp_path):
    assert run_recipe(tmp_path / "run", overrides=["training.precision=fp32"]).finished
    with pytest.raises(RunError, match=r"training\.precision"):
        run_recipe(tmp_path / "run", overrides=["training.precision=bf16"], resume=True)
