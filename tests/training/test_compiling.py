"""Compiled layers: the same numbers and gradients in training, plain in use, and a run from the command line."""

import re

import pytest
import torch
from cli.conftest import jumok, small  # noqa: F401 - a fixture
from torch.testing import assert_close

from jumok.inspection.observe import observe
from jumok.models.transformer import Transformer, TransformerConfig
from jumok.nn.batch import PairBatch
from jumok.training.compiling import compile_layers

SIZES = {
    "width": 16,
    "heads": 2,
    "layers": 1,
    "feedforward": 24,
    "dropout": 0.0,
    "source_vocabulary": 30,
    "target_vocabulary": 30,
}


def made():
    torch.manual_seed(1)
    return Transformer(TransformerConfig(**SIZES)).train()


def batch(rows, length):
    tokens = torch.randint(4, 30, (rows, length))
    real = torch.ones_like(tokens, dtype=torch.bool)
    return PairBatch(tokens, real, tokens.roll(1, dims=1), tokens, real)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch warns itself while it compiles
def test_compiled_layers_compute_the_same():
    plain, compiled = made(), made()
    assert compile_layers(compiled) == 2  # an encoder's and a decoder's
    assert plain.state_dict().keys() == compiled.state_dict().keys()
    for rows, length in ((3, 7), (4, 9)):
        asked = batch(rows, length)
        for model in (plain, compiled):
            model.zero_grad()
            model(asked).square().mean().backward()
        assert_close(compiled(asked), plain(asked), rtol=0, atol=1e-5)
        for own, other in zip(compiled.parameters(), plain.parameters(), strict=True):
            assert_close(own.grad, other.grad, rtol=0, atol=1e-5)
    with observe(compiled) as record:
        compiled(asked)
    assert {found.kind for found in record.maps} == {"encoder", "decoder", "cross"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch warns itself while it compiles
def test_a_run_with_compiled_layers(small):  # noqa: F811
    run = small.parent / "run"
    done = jumok("train", small, "--out", run, "--compile", "--set", "training.workers=1")
    assert done.code == 0, done.err
    assert "compile = true" in (run / "recipe.toml").read_text(encoding="utf-8")
    assert jumok("translate", run, "1 2").code == 0


def test_a_model_without_layers_is_refused(small):  # noqa: F811
    recipe = small.read_text(encoding="utf-8")
    recurrent = re.sub(r"(?s)\[model\].*(?=\[training\])", '[model]\nname = "seq2seq"\nwidth = 16\n', recipe)
    small.write_text(recurrent, encoding="utf-8")
    run = small.parent / "run"
    wanted = "training.compile: 'seq2seq' has no layers to compile; leave it out"
    done = jumok("train", small, "--out", run, "--compile")
    assert (done.code, done.err.splitlines()[-1]) == (2, f"jumok: {wanted}")
    assert not run.exists()
