"""What the tests of exports share: runs with random weights."""

import torch

from jumok.data.text.tokenizer import END, PAD, START
from jumok.runs.job import prepare_job
from jumok.runs.run import Run
from jumok.training.average import model_tensors
from jumok.training.checkpoint import Checkpoints

RECIPE = """
task = "translation"
[data]
set = "copy"
size = 200
[tokenizer]
kind = "character"
vocabulary = 60
[model]
name = "transformer"
layers = 2
width = 24
heads = 3
feedforward = 40
[training]
steps = 1
"""
SHAPES = [
    [],
    ["model.norm_position=pre", "model.activation=gelu"],
    ["model.positions=learned", "model.max_positions=64", "model.activation=silu"],
    ["model.positions=sinusoidal-halves", "model.tied=false", "model.shared_embeddings=false"],
    ["model.positions=none", "model.encoder_layers=1", "model.decoder_layers=3", "model.activation=gelu-tanh"],
]


def make(folder, *overrides):
    """Return the folder of a run with random weights, loud enough that answers differ."""
    (folder / "recipe.toml").write_text(RECIPE)
    job = prepare_job(folder / "recipe.toml", out=folder / "run", overrides=overrides)
    torch.manual_seed(7)
    with torch.no_grad():
        for parameter in job.model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        job.model.project.bias[END] += 3.5  # so that answers come to an end
        job.model.project.bias[[PAD, START]] -= 20.0  # as training would have it: nobody writes them
    Run.create(folder / "run", job.recipe, tokenizers=job.task.tokenizers, facts={"data_folders": []})
    Checkpoints(folder / "run").save(0, weights=model_tensors(job.model), training={}, facts={}, best=True)
    return folder / "run"
