"""Draw with random weights and guidance, timed: python draw.py JOB.json

how = jumok     jumok's DALL-E through the decoding engine, as `jumok draw` uses it
      generate  GPT2LMHeadModel.generate(guidance_scale=…, negative_prompt_ids=…), its cache on: what its users would write
      loop      the same GPT-2 in a loop by hand: texts with and without in one batch, past_key_values, no wasted logits

Codes alone are drawn and counted: turning them into pixels is not the Transformer's work.
"""

import importlib.metadata
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from stopwatch import read_job, write_result
from torch import Tensor

# R drawings · S text with its start and end, and the token that begins an image · V text and image tokens

START, END, PAD = 2, 3, 0
Draw = Callable[[], int]


def jumok(job: dict[str, Any]) -> tuple[Any, Draw]:
    """Return a drawer and what makes all drawings with it."""
    import numpy as np

    from jumok.config import DecodingConfig
    from jumok.models.dalle import Dalle, DalleConfig
    from jumok.nn.threads import one_thread_for
    from jumok.tasks.text_to_image import TextToImage

    model = Dalle(DalleConfig(**job["sizes"])).eval()
    texts = [np.array(text) for text in job["texts"]]
    options = DecodingConfig(
        sample=True, beam=1, n_best=job["samples"], guidance=job["guidance"], batch_size=job["batch_size"]
    )

    def draw() -> int:
        with one_thread_for(2 * len(texts) * job["samples"], model):
            drawn = TextToImage.draw(_Drawing(), model, texts, options=options)  # type: ignore[arg-type]
        return sum(len(each) for each in drawn)

    class _Drawing:
        """As much of the task as drawing needs: no data, no image codes."""

        search = TextToImage.search

    return model, draw


def gpt2(job: dict[str, Any]) -> Any:
    """Return a GPT-2 of the same sizes: text and image tokens in one vocabulary."""
    import transformers

    transformers.logging.set_verbosity_error()
    sizes = job["sizes"]
    cells = sizes["rows"] * sizes["columns"]
    config = transformers.GPT2Config(
        vocab_size=sizes["vocabulary"] + sizes["code_count"] + 1, n_positions=sizes["longest_text"] + 3 + cells,
        n_embd=sizes["width"], n_layer=sizes["layers"], n_head=sizes["heads"], n_inner=sizes["feedforward"],
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config).eval()


def prompts(job: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Return prompts (R, S), padded at the left as generation needs it, their mask, and the empty prompt (1, 3)."""
    begin = job["sizes"]["vocabulary"] + job["sizes"]["code_count"]
    rows = [torch.tensor([START, *text, END, begin]) for text in job["texts"] for _ in range(job["samples"])]
    longest = max(map(len, rows))
    ids = torch.stack([F.pad(row, (longest - len(row), 0), value=PAD) for row in rows])
    mask = torch.stack([F.pad(torch.ones_like(row), (longest - len(row), 0)) for row in rows])
    return ids, mask, torch.tensor([[START, END, begin]])


def generate(job: dict[str, Any]) -> tuple[Any, Draw]:
    """Return a GPT-2 and what lets it generate."""
    model = gpt2(job)
    cells = job["sizes"]["rows"] * job["sizes"]["columns"]

    def draw() -> int:
        ids, mask, nothing = prompts(job)
        without = nothing.repeat(len(ids), 1)
        found = model.generate(
            ids, attention_mask=mask, negative_prompt_ids=without, negative_prompt_attention_mask=torch.ones_like(without),
            guidance_scale=job["guidance"], do_sample=True, top_k=0, max_new_tokens=cells, min_new_tokens=cells,
            pad_token_id=PAD,
        )  # fmt: skip
        assert found.shape[1] == ids.shape[1] + cells
        return len(found)

    return model, draw


def loop(job: dict[str, Any]) -> tuple[Any, Draw]:
    """Return a GPT-2 and a loop that writes with it."""
    from transformers import DynamicCache

    model = gpt2(job)
    cells, scale = job["sizes"]["rows"] * job["sizes"]["columns"], job["guidance"]

    @torch.inference_mode()
    def draw() -> int:
        given, given_mask, nothing = prompts(job)
        count, short = len(given), given.shape[1] - nothing.shape[1]
        ids = torch.cat([given, F.pad(nothing, (short, 0), value=PAD).repeat(count, 1)])
        mask = torch.cat([given_mask, F.pad(torch.ones_like(nothing), (short, 0)).repeat(count, 1)])
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)
        cache, drawn = DynamicCache(), []
        while True:
            logits = model(
                ids, attention_mask=mask, position_ids=places, past_key_values=cache, use_cache=True, logits_to_keep=1
            ).logits[:, -1]
            said, unsaid = logits.chunk(2)
            code = (unsaid + scale * (said - unsaid)).softmax(dim=1).multinomial(1)
            drawn.append(code)
            if len(drawn) == cells:
                return count
            ids, places = code.repeat(2, 1), places[:, -1:] + 1
            mask = F.pad(mask, (0, 1), value=1)

    return model, draw


def main() -> None:
    """Do the job."""
    job = read_job()
    torch.manual_seed(1)
    model, draw = globals()[job["how"]](job)
    draw()
    repeats, drawings, started = 0, 0, time.perf_counter()
    processor = time.process_time()
    while not repeats or time.perf_counter() - started < job["seconds"]:  # a few drawings several times
        drawings += draw()
        repeats += 1
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    watch = SimpleNamespace(
        steps=repeats, pairs=repeats, tokens=drawings, cells=drawings, computing=seconds, began=started,
        ended=started + seconds,
    )  # fmt: skip
    name = "jumok" if job["how"] == "jumok" else "transformers"
    version = importlib.metadata.version(name)
    write_result(job, watch, model=model, version=version, processor_seconds=processor)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
