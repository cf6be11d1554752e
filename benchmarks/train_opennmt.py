"""Train OpenNMT-py for some steps, timed: .peers/bin/python train_opennmt.py JOB.json

Its own training command runs as it is; only the iterator of batches is handed to it through a stopwatch.
"""

import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from stopwatch import EnoughError, Stopwatch, TimedLoader, read_job, write_result

# Imported by text filters that are switched off here, and hard to install: empty stand-ins will do.
for name in ("fasttext", "spacy"):
    sys.modules.setdefault(name, ModuleType(name))

import onmt.train_single as single  # noqa: E402
from onmt.bin.train import _get_parser, train  # noqa: E402
from onmt.constants import CorpusTask, DefaultTokens  # noqa: E402


def options(job: dict[str, Any]) -> list[str]:
    """Return the command line of the job."""
    sizes, folder, own = job["sizes"], Path(job["folder"]), Path(job["own"])
    config = own / "opennmt.yaml"
    source, target = (folder / f"train.{side}" for side in ("source", "target"))
    config.write_text(
        f"data:\n    corpus:\n        path_src: {source}\n        path_tgt: {target}\n"
        f"src_vocab: {folder / 'vocabulary'}\ntgt_vocab: {folder / 'vocabulary'}\n",
        encoding="utf-8",
    )
    given = {
        **(transformer(sizes) if "heads" in sizes else recurrent(sizes, job["attention"])),
        "config": config,
        "save_model": own / "opennmt",
        "src_vocab_size": sizes["vocabulary"],
        "tgt_vocab_size": sizes["vocabulary"],
        "dropout": sizes["dropout"],
        "optim": "adam",
        "learning_rate": sizes["learning_rate"],
        "label_smoothing": sizes["label_smoothing"],
        "max_grad_norm": sizes["clip"],
        "batch_type": "tokens",
        "batch_size": sizes["batch_tokens"],
        "normalization": "tokens",
        "num_workers": 0,  # no other processes on the cores that compute
        "train_steps": 1_000_000,
        "save_checkpoint_steps": 1_000_000,
    }
    line = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    return [*line, "--share_vocab", "--share_embeddings", "--share_decoder_embeddings"]


def recurrent(sizes: dict[str, Any], attention: str) -> dict[str, Any]:
    """Return the options of a recurrent model."""
    return {
        "encoder_type": "brnn",
        "decoder_type": "rnn",
        "rnn_type": "LSTM",
        "layers": sizes["layers"],
        "hidden_size": sizes["width"],  # of the encoder: both directions together
        "word_vec_size": sizes["width"],
        "global_attention": attention,
        "input_feed": 0,
    }


def transformer(sizes: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a Transformer."""
    return {
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "position_encoding": "true",
        "layers": sizes["layers"],
        "hidden_size": sizes["width"],
        "word_vec_size": sizes["width"],
        "heads": sizes["heads"],
        "transformer_ff": sizes["feedforward"],
        "attention_dropout": 0.0,
        "param_init": 0,
        "param_init_glorot": "true",
    }


def main() -> None:
    """Do the job."""
    job = read_job()
    padding: list[int] = []
    models: list[Any] = []

    def measure(item: tuple[dict[str, Any], int]) -> tuple[int, int, int]:
        targets = item[0]["tgt"][:, 1:, 0]  # what is predicted: all but the start token
        return len(targets), int(targets.ne(padding[0]).sum()), targets.numel()

    stopwatch = Stopwatch(job, measure)
    build_iterator, build_model = single.build_dynamic_dataset_iter, single.build_model

    def timed_iterator(opt: Any, transforms: Any, vocabs: Any, **rest: Any) -> Any:
        iterator = build_iterator(opt, transforms, vocabs, **rest)
        if rest["task"] != CorpusTask.TRAIN:
            return iterator
        padding.append(vocabs["tgt"][DefaultTokens.PAD])
        return TimedLoader(iterator, stopwatch)

    def remembered_model(*given: Any) -> Any:
        models.append(build_model(*given))
        return models[0]

    single.build_dynamic_dataset_iter, single.build_model = timed_iterator, remembered_model
    opt, _ = _get_parser().parse_known_args(options(job))
    try:
        train(opt)
    except EnoughError:
        write_result(job, stopwatch, model=models[0], version=version("OpenNMT-py"))


if __name__ == "__main__":
    main()
