"""Train eole for some steps, timed: .peers/bin/python train_eole.py JOB.json

Its own training function runs as it is; only the iterator of batches is handed to it through a stopwatch. On a CPU eole
computes attention step by step: torch's fused kernel is for its GPUs only.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import eole.train_single as single
from eole.config.run import TrainConfig
from eole.constants import CorpusTask
from stopwatch import EnoughError, Stopwatch, TimedLoader, read_job, write_result

CPU = -1


def options(job: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of the job."""
    sizes, folder, own = job["sizes"], Path(job["folder"]), Path(job["own"])
    source, target, vocabulary = (str(folder / name) for name in ("train.source", "train.target", "vocabulary"))
    return {
        "data": {"corpus": {"path_src": source, "path_tgt": target}},
        "src_vocab": vocabulary,
        "tgt_vocab": vocabulary,
        "share_vocab": True,
        "src_vocab_size": sizes["vocabulary"],
        "tgt_vocab_size": sizes["vocabulary"],
        "seed": 1,
        "model": transformer(sizes),
        "training": {
            "model_path": str(own / "eole"),
            "param_init_method": "xavier_uniform",
            "dropout": [sizes["dropout"]],
            "attention_dropout": [0.0],
            "optim": "adam",
            "learning_rate": sizes["learning_rate"],
            "label_smoothing": sizes["label_smoothing"],
            "max_grad_norm": sizes["clip"],
            "batch_type": "tokens",
            "batch_size": sizes["batch_tokens"],
            "normalization": "tokens",
            "num_workers": 0,  # no other processes on the cores that compute
            "train_steps": 1_000_000,
            "valid_steps": 1_000_000,
            "save_checkpoint_steps": 1_000_000,
            "log_attention_entropy": False,  # a figure for the log that no other toolkit computes
            "compute_dtype": job["precision"] or "fp32",  # bf16: in torch's autocast, as it does unasked
        },
    }


def transformer(sizes: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of a Transformer with a bias wherever jumok's has one."""
    return {
        "architecture": "transformer",
        "layers": sizes["layers"],
        "hidden_size": sizes["width"],
        "heads": sizes["heads"],
        "transformer_ff": sizes["feedforward"],
        "add_qkvbias": True,
        "add_final_linear_bias": True,  # of attention; without it the encoder would have none
        "add_ffnbias": True,
        "embeddings": {"word_vec_size": sizes["width"], "position_encoding_type": "SinusoidalInterleaved"},
        "share_embeddings": True,
        "share_decoder_embeddings": True,
    }


def main() -> None:
    """Do the job."""
    job = read_job()
    padding: list[int] = []
    models: list[Any] = []

    def measure(item: tuple[dict[str, Any], int]) -> tuple[int, int, int]:
        targets = item[0]["tgt"][:, 1:]  # what is predicted: all but the start token
        return len(targets), int(targets.ne(padding[0]).sum()), targets.numel()

    stopwatch = Stopwatch(job, measure)
    build_iterator, build_trainer = single.build_dynamic_dataset_iter, single.build_trainer

    def timed_iterator(config: Any, transforms: Any, vocabularies: Any, **rest: Any) -> Any:
        iterator = build_iterator(config, transforms, vocabularies, **rest)
        if rest["task"] != CorpusTask.TRAIN:
            return iterator
        padding.append(vocabularies["tgt"][config.pad_token])
        return TimedLoader(iterator, stopwatch)

    def trainer_of_remembered_model(config: Any, device: int, model: Any, *rest: Any, **named: Any) -> Any:
        models.append(model)
        return build_trainer(config, device, model, *rest, **named)

    single.build_dynamic_dataset_iter, single.build_trainer = timed_iterator, trainer_of_remembered_model
    try:
        single.main(TrainConfig(**options(job)), CPU)
    except EnoughError:
        write_result(job, stopwatch, model=models[0], version=version("eole"))


if __name__ == "__main__":
    main()
