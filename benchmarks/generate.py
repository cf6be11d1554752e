"""Let a GPT of random weights write, timed: python generate.py JOB.json

how = cached        jumok's decoding engine, as `jumok generate` uses it
      full          jumok's model, all tokens read again for each new one
      transformers  GPT2LMHeadModel.generate with its cache
"""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from stopwatch import read_job, write_result

BEGIN = 2


def jumok_model(sizes: dict[str, int]) -> Any:
    """Return a GPT of jumok, with GPT-2's activation."""
    from jumok.models.gpt import GPT, GPTConfig

    return GPT(GPTConfig(name="gpt", activation="gelu-tanh", **sizes)).eval()


def cached(sizes: dict[str, int]) -> tuple[Any, Callable[[int], int]]:
    """Return a model and what writes so many tokens with it, through the decoding engine."""
    from jumok.config import DecodingConfig
    from jumok.decoding.engine import stream
    from jumok.decoding.lean import lay_out
    from jumok.decoding.requests import Marks, Request

    model = jumok_model(sizes)
    lay_out(model)  # as jumok generate does

    def write(length: int) -> int:
        tokens = stream(
            model, Request(torch.zeros(1, dtype=torch.int64), 0), collate=lambda rows: torch.stack(list(rows)),
            options=DecodingConfig(sample=True, beam=1, max_length=length),
            marks=Marks(start=BEGIN, end=-1, pad=0, writes_start=True),
        )  # fmt: skip
        return sum(1 for _ in tokens)

    return model, write


def full(sizes: dict[str, int]) -> tuple[Any, Callable[[int], int]]:
    """Return a model and what writes with it, reading everything again for each token."""
    from jumok.nn.batch import TextBatch

    model = jumok_model(sizes)

    @torch.inference_mode()
    def write(length: int) -> int:
        line = torch.tensor([[BEGIN]])
        for _ in range(length):
            features = model.features(TextBatch(line, line))[:, -1]
            line = torch.cat([line, model.project(features).softmax(dim=1).multinomial(1)], dim=1)
        return length

    return model, write


def transformers(sizes: dict[str, int]) -> tuple[Any, Callable[[int], int]]:
    """Return a GPT-2 of transformers and what writes with it."""
    import transformers as library

    config = library.GPT2Config(
        vocab_size=sizes["vocabulary"], n_positions=sizes["window"], n_embd=sizes["width"], n_layer=sizes["layers"],
        n_head=sizes["heads"], n_inner=sizes["feedforward"], bos_token_id=BEGIN, eos_token_id=None,
    )  # fmt: skip
    model = library.GPT2LMHeadModel(config).eval()

    def write(length: int) -> int:
        line = torch.tensor([[BEGIN]])
        found = model.generate(
            line, attention_mask=torch.ones_like(line), do_sample=True, top_k=0, max_length=length, min_length=length,
            pad_token_id=0,
        )  # fmt: skip
        return found.shape[1] - 1

    return model, write


def main() -> None:
    """Do the job."""
    job = read_job()
    torch.manual_seed(1)
    model, write = globals()[job["how"]](job["model"])
    write(8)
    length = min(job["length"], job["model"]["window"] - 1)
    repeats, tokens, started = 0, 0, time.perf_counter()
    while not repeats or time.perf_counter() - started < 3.0:  # short texts several times
        tokens += write(length)
        repeats += 1
    seconds = time.perf_counter() - started
    watch = SimpleNamespace(
        steps=repeats,
        pairs=repeats,
        tokens=tokens,
        cells=tokens,
        computing=seconds,
        began=started,
        ended=started + seconds,
    )
    import importlib.metadata

    name = "transformers" if job["how"] == "transformers" else "jumok"
    write_result(job, watch, model=model, version=importlib.metadata.version(name))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
