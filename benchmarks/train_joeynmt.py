"""Train JoeyNMT for some steps, timed: .peers/bin/python train_joeynmt.py JOB.json

Its own train function runs as it is; only its loader of batches is handed to it through a stopwatch.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Any

from joeynmt import training
from joeynmt.batch import Batch
from joeynmt.datasets import BaseDataset
from stopwatch import EnoughError, Stopwatch, TimedLoader, read_job, write_result


def options(job: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of the job."""
    sizes, folder, own = job["sizes"], Path(job["folder"]), Path(job["own"])
    embeddings = {"embedding_dim": sizes["width"], "scale": True, "dropout": sizes["dropout"]}
    side = {"max_length": -1, "level": "word", "voc_file": str(folder / "vocabulary")}
    return {
        "name": "benchmark",
        "joeynmt_version": "2.3.0",
        "model_dir": str(own / "joeynmt"),
        "use_cuda": False,
        "random_seed": 1,
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "val"),
            "dataset_type": "plain",
            "src": {"lang": "source", **side},
            "trg": {"lang": "target", **side},
        },
        "testing": {},
        "training": {
            "optimizer": "adam",
            "normalization": "tokens",
            "learning_rate": sizes["learning_rate"],
            "scheduling": "warmupinversesquareroot",  # one is required; "plateau" does not start with torch 2.13
            "learning_rate_warmup": sizes["warmup"],
            "clip_grad_norm": sizes["clip"],
            "label_smoothing": sizes["label_smoothing"],
            "batch_size": sizes["batch_tokens"],
            "batch_type": "token",
            "epochs": 1_000_000,
            "validation_freq": 1_000_000,
            "logging_freq": 10,
            "shuffle": True,
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            **(transformer(sizes, embeddings) if "heads" in sizes else recurrent(sizes, embeddings, job["attention"])),
        },
    }


def recurrent(sizes: dict[str, Any], embeddings: dict[str, Any], attention: str) -> dict[str, Any]:
    """Return encoder and decoder of a recurrent model."""
    shared = {"type": "recurrent", "rnn_type": "lstm", "num_layers": sizes["layers"], "embeddings": embeddings}
    return {
        "encoder": {
            **shared,
            "hidden_size": sizes["width"] // 2,  # of each direction
            "bidirectional": True,
            "dropout": sizes["dropout"],
        },
        "decoder": {
            **shared,
            "hidden_size": sizes["width"],
            "attention": attention,
            "input_feeding": False,
            "init_hidden": "last",
            "dropout": sizes["dropout"],
            "hidden_dropout": sizes["dropout"],
        },
    }


def transformer(sizes: dict[str, Any], embeddings: dict[str, Any]) -> dict[str, Any]:
    """Return encoder and decoder of a Transformer."""
    side = {
        "type": "transformer",
        "num_layers": sizes["layers"],
        "num_heads": sizes["heads"],
        "embeddings": embeddings,
        "hidden_size": sizes["width"],
        "ff_size": sizes["feedforward"],
        "dropout": sizes["dropout"],
        "layer_norm": "pre",
    }
    return {"encoder": side, "decoder": side}


def measure(batch: Batch) -> tuple[int, int, int]:
    """Return a batch's pairs, target tokens and target cells."""
    return batch.nseqs, int(batch.ntokens), batch.trg.numel()


def main() -> None:
    """Do the job."""
    job = read_job()
    stopwatch = Stopwatch(job, measure)
    models: list[Any] = []
    make_iterator, prepare = BaseDataset.make_iter, training.prepare

    def timed_iterator(dataset: BaseDataset, *given: Any, **named: Any) -> Any:
        iterator = make_iterator(dataset, *given, **named)
        return TimedLoader(iterator, stopwatch) if dataset.split == "train" else iterator

    def remembered_model(*given: Any, **named: Any) -> Any:
        prepared = prepare(*given, **named)
        models.append(prepared[0])
        return prepared

    BaseDataset.make_iter, training.prepare = timed_iterator, remembered_model
    config = options(job)
    Path(config["model_dir"]).mkdir(parents=True, exist_ok=True)
    try:
        training.train(0, 1, config, skip_test=True)
    except EnoughError:
        write_result(job, stopwatch, model=models[0], version=version("joeynmt"))


if __name__ == "__main__":
    main()
