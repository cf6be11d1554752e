"""A toy that trains in milliseconds, a tiny real recipe, and what it means that two runs are the same run."""

import io
import json
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch
from rich.console import Console
from torch import nn

from jumok import api
from jumok.config import TrainingConfig
from jumok.data.stream import Stream
from jumok.nn.batch import Batch
from jumok.tasks.losses import Loss
from jumok.training.progress import Reporter
from jumok.training.trainer import Trainer

TIMES = ("seconds", "evaluation_seconds")


@dataclass(frozen=True)
class ToyBatch(Batch):
    inputs: torch.Tensor
    wanted: torch.Tensor

    def to(self, device):
        return ToyBatch(self.inputs.to(device), self.wanted.to(device))


class ToyBatches(Stream):
    """Five batches per epoch, of different sizes, each a function of its place."""

    def __init__(self, sizes=(3, 5, 2, 7, 4)):
        super().__init__()
        self.sizes = sizes

    def plan(self, epoch):
        return [range(size) for size in self.sizes]

    def batch_at(self, place):
        epoch, index = place
        generator = torch.Generator().manual_seed(1000 * epoch + index)
        inputs = torch.randn(self.sizes[index], 5, generator=generator)
        return ToyBatch(inputs, inputs.cumsum(dim=1)[:, :3])

    def describe(self, place):
        batch = self.batch_at(place)
        return f"{len(batch.inputs)} toys beginning with {batch.inputs[0, 0]:.4f}"


class ToyModel(nn.Module):
    """Two layers with dropout between, and a buffer that counts training calls."""

    def __init__(self, dropout=0.2):
        super().__init__()
        torch.manual_seed(7)
        self.first, self.second = nn.Linear(5, 11), nn.Linear(11, 3)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, inputs):
        if self.training:
            self.calls += 1
        return self.second(self.dropout(self.first(inputs).tanh()))


def toy_loss(model, batch, step):
    squares = (model(batch.inputs) - batch.wanted).square().sum(dim=1)
    return Loss(squares.sum(), len(squares), {"nll": squares.detach().sum() / 2})


def toy_evaluate(model):
    assert not model.training
    torch.rand(13)  # evaluations may draw numbers: training must not notice
    with torch.no_grad():
        loss = toy_loss(model, ToyBatches((17,)).take(), 0)
    return {"loss": float(loss.total) / loss.count, "bleu": 50.0 - float(loss.total) / loss.count, "samples": []}


def make_trainer(folder, *, model=None, batches=None, loss=toy_loss, evaluate=toy_evaluate, console=None, **options):
    """Return a trainer of the toy; options are keys of [training]."""
    defaults = {"steps": 12, "warmup": 3, "log_every": 4, "save_every": 3, "evaluate_every": 5, "workers": 1}
    folder.mkdir(parents=True, exist_ok=True)
    smaller = ("loss", "perplexity", "bits_per_byte", "bits_per_character", "error")
    scores = dict.fromkeys(smaller, "smaller") | {"bleu": "larger", "exact_match": "larger"}
    task = SimpleNamespace(loss=loss, evaluate=evaluate, scores=scores)
    return Trainer(
        task, model or ToyModel(), batches=batches or ToyBatches(),
        config=TrainingConfig(**(defaults | options)), run=folder,
        reporter=Reporter(console or Console(quiet=True)), device=torch.device("cpu"),
    )  # fmt: skip


@pytest.fixture
def toy():
    return SimpleNamespace(
        Batch=ToyBatch, Batches=ToyBatches, Model=ToyModel, loss=toy_loss, evaluate=toy_evaluate, trainer=make_trainer
    )


RECIPE = """
[data]
set = "copy"
size = 300
[tokenizer]
vocabulary = 300
[model]
layers = 1
width = 16
heads = 2
feedforward = 13
dropout = 0.1
[training]
steps = 23
batch_tokens = 250
learning_rate = 0.01
warmup = 5
log_every = 3
evaluate_every = 6
save_every = 7
evaluate_sentences = 5
"""


@pytest.fixture(scope="session")
def recipe(tmp_path_factory):
    """Return a recipe file that trains in a second."""
    path = tmp_path_factory.mktemp("recipe") / "tiny.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture
def run_recipe(recipe):
    """Return a function that trains the recipe; at[step] is called in the middle of a step."""

    def run(folder, *, overrides=(), resume=False, at=None, width=200):
        job = api.prepare_job(recipe, out=folder, overrides=list(overrides), resume=resume)
        loss = job.task.loss

        def interrupted(model, batch, step):
            if model.training and step in (at or {}):
                at.pop(step)()
            return loss(model, batch, step)

        job.task.loss = interrupted
        console = Console(file=io.StringIO(), width=width)
        try:
            job.finished = job.train(console)
        finally:
            job.shown = console.file.getvalue()
        return job

    return run


def rows_of(folder):
    """Return the rows of metrics.jsonl without times."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]


@pytest.fixture
def assert_same_run():
    """Return a check that two folders hold the same run, bit for bit and apart from times."""

    def check(ours, theirs, *, rows=True):
        for name in ("last/model.safetensors", "last/training.safetensors", "best/model.safetensors"):
            assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
        assert [(folder / name).resolve().name for folder in (ours,) for name in ("last", "best")] == [
            (folder / name).resolve().name for folder in (theirs,) for name in ("last", "best")
        ]
        if rows:
            assert rows_of(ours) == rows_of(theirs)
            facts = [json.loads((folder / "last/training.json").read_text()) for folder in (ours, theirs)]
            for fact in facts:
                fact.pop("seconds"), fact.pop("outside"), fact.pop("crc32")  # which is that of the times, too
            assert facts[0] == facts[1]
            films = [folder / "film" for folder in (ours, theirs) if (folder / "film").exists()]
            frames = [{path.name: path.read_bytes() for path in film.iterdir()} for film in films]
            assert all(one == frames[0] for one in frames)  # only one of two runs may have been filmed

    return check


@pytest.fixture
def rows():
    return rows_of
