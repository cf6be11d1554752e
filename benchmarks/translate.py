"""Translate a file with one engine, timed: python translate.py JOB.json

how = jumok          the run itself, as `jumok translate` uses it
      jumok-fp32     the same with --precision fp32, whatever the processor has
      jumok-int8     the same with --int8
      ctranslate2    its export, at CTranslate2's best setting: a worker per thread, 32 sentences at a time
      transformers   its export, through Hugging Face's generate, 32 sentences of like length at a time
      opennmt        its weights in OpenNMT-py's Transformer and search (translate_opennmt.py), 32 at a time as well

Sentences come cut into tokens by jumok, so that every engine answers the same ids; the answers are left beside the
result. `single` asks for one sentence after another, as a person waits for it.
"""

import json
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from stopwatch import read_job, write_result

Ids = list[int]
Translate = Callable[[list[Ids]], list[Ids]]
END, PAD = 3, 0
SENTENCES = 32


def jumok(job: dict[str, Any]) -> tuple[Any, Translate]:
    """Return the run's model, and what translates with it."""
    import numpy as np

    import jumok
    from jumok.config import DecodingConfig
    from jumok.predictors.translator import Translator

    precision = "fp32" if job["how"] == "jumok-fp32" else "auto"
    translator = jumok.load(job["run"], int8=job["how"] == "jumok-int8", precision=precision)
    assert isinstance(translator, Translator)
    options = DecodingConfig(beam=job["beam"], workers=1 if job["single"] else job["threads"])

    def translate(sources: list[Ids]) -> list[Ids]:
        found = translator.engine.search([np.array(ids) for ids in sources], options=options)
        return [answers[0].ids for answers in found]

    return translator.model if translator.engine.has_model else torch.nn.Module(), translate


def ctranslate2(job: dict[str, Any]) -> tuple[Any, Translate]:
    """Return nothing to count, and what translates with CTranslate2."""
    import ctranslate2

    special = {"<blank>": 0, "<unk>": 1, "<s>": 2, "</s>": 3}
    workers = {"inter_threads": 1, "intra_threads": job["threads"]}
    if not job["single"]:
        workers = {"inter_threads": job["threads"], "intra_threads": 1}
    engine = ctranslate2.Translator(job["ctranslate2"], device="cpu", compute_type="float32", **workers)

    def translate(sources: list[Ids]) -> list[Ids]:
        texts = [[str(token) for token in ids] for ids in sources]
        longest = 2 * (max(map(len, sources)) + 1) + 10
        found = engine.translate_batch(
            texts, beam_size=job["beam"], max_batch_size=SENTENCES, max_decoding_length=longest, min_decoding_length=0
        )
        return [[special[t] if t in special else int(t) for t in result.hypotheses[0]] for result in found]

    return torch.nn.Module(), translate


def transformers(job: dict[str, Any]) -> tuple[Any, Translate]:
    """Return the exported model, and what translates with it."""
    from transformers import AutoModelForSeq2SeqLM

    model = AutoModelForSeq2SeqLM.from_pretrained(job["huggingface"]).eval()

    @torch.inference_mode()
    def translate(batch: torch.Tensor) -> list[Ids]:
        written = model.generate(
            input_ids=batch, attention_mask=batch.ne(PAD).long(), num_beams=job["beam"], early_stopping=job["beam"] > 1,
            length_penalty=1.0, max_new_tokens=2 * batch.shape[1] + 10, max_length=None,
        )  # fmt: skip
        answers = written[:, 1:].tolist()
        return [ids[: ids.index(END)] if END in ids else [token for token in ids if token != PAD] for ids in answers]

    return model, in_batches(translate)


def opennmt(job: dict[str, Any]) -> tuple[Any, Translate]:
    """Return OpenNMT-py's model with the run's weights, and what translates with it."""
    from translate_opennmt import load

    model, translate = load(job)
    return model, in_batches(translate)


def in_batches(translate: Callable[[torch.Tensor], list[Ids]]) -> Translate:
    """Return what hands sentences of like length together to translate, which takes a padded batch."""

    def translate_all(sources: list[Ids]) -> list[Ids]:
        order = sorted(range(len(sources)), key=lambda place: -len(sources[place]))
        found: dict[int, Ids] = {}
        for first in range(0, len(order), SENTENCES):
            places = order[first : first + SENTENCES]
            rows = [torch.tensor([*sources[place], END]) for place in places]
            batch = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
            found |= zip(places, translate(batch), strict=True)
        return [found[place] for place in range(len(sources))]

    return translate_all


ENGINES = {  # how → its distribution's name, and what prepares it
    "jumok": ("jumok", jumok),
    "jumok-fp32": ("jumok", jumok),
    "jumok-int8": ("jumok", jumok),
    "ctranslate2": ("ctranslate2", ctranslate2),
    "transformers": ("transformers", transformers),
    "opennmt": ("OpenNMT-py", opennmt),
}


def main() -> None:
    """Do the job."""
    job = read_job()
    sources = json.loads(Path(job["sources"]).read_text(encoding="utf-8"))[: job["sentences"]]
    name, prepare = ENGINES[job["how"]]
    model, translate = prepare(job)
    for ids in sources[:3]:
        translate([ids])
    started = time.perf_counter()
    answers = [translate([ids])[0] for ids in sources] if job["single"] else translate(sources)
    seconds = time.perf_counter() - started
    Path(job["own"], "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    count = len(sources)
    watch = SimpleNamespace(
        steps=count, pairs=count, tokens=count, cells=count, computing=seconds, began=started, ended=started + seconds
    )
    write_result(job, watch, model=model, version=version(name))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
