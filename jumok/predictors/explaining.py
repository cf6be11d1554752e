"""How a translator's answer is explained: searched for at full speed, then looked at in one pass over its final ids.

source ids → search → answer → one teacher-forced pass under observe → Explanation; without each head in turn → HeadWorth
"""

import math
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from jumok.config import DecodingConfig
from jumok.data.text.tokenizer import END
from jumok.errors import ConfigError
from jumok.inspection.ablation import Ablation
from jumok.inspection.observe import observe
from jumok.nn.attention import MultiHeadAttention
from jumok.nn.batch import PairBatch
from jumok.nn.scores import StateAttention
from jumok.predictors.engines import PairDecoder, TranslationEngine
from jumok.predictors.explanation import Explanation, HeadWorth, choices_of
from jumok.tasks.pairs import Ids, collate
from jumok.tasks.translation import Translation
from jumok.tasks.writing import Answer


@torch.inference_mode()
def explain(
    engine: TranslationEngine,
    task: Translation,
    ids: Ids,
    *,
    given: Answer | None,
    options: DecodingConfig,
    ablation: Ablation,
    details: bool = False,
) -> Explanation:
    """Return the answer to a source, or the given one, explained; ablation leaves something out of search and pass."""
    model = engine.model
    check_ablation(model, ablation)
    if given is not None:
        answers = [given]
    elif ablation == Ablation():
        answers = engine.search([ids], options=options)[0]
    else:
        with observe(model, ablation=ablation, keep=False):
            answers = engine.search([ids], options=options)[0]
    answer = answers[0]
    batch, written = _forced(model, ids, answer)
    with observe(model, ablation=ablation, details=details) as record:
        logits = model(batch)[0]
    chosen = [*written, END]
    source, outputs = task.source_tokenizer.labels([*ids, END]), task.target_tokenizer.labels(chosen)
    begun = ["[START]", *outputs[:-1]]
    labels = {"encoder": (source, source), "decoder": (outputs, begun)}
    record.maps = [found.cut(*labels.get(found.kind, (outputs, source))) for found in record.maps]
    sides = (source, begun)  # a model reads the source first
    record.positions = [found.cut(side) for found, side in zip(record.positions, sides, strict=False)]
    choices = choices_of(logits, chosen, task.target_tokenizer.labels)
    if given is not None:
        total = sum(math.log(max(choice.probability, 1e-38)) for choice in choices)
        answer = replace(answer, log_probability=total, score=total / len(choices) ** options.length_penalty)
    return Explanation(
        source[:-1],
        answer,
        record,
        choices=choices,
        others=tuple(answers[1:]),
        source_words=tuple(task.source_tokenizer.words(list(ids))),
        answer_words=tuple(task.target_tokenizer.words(written)),
        text=task.source_tokenizer.decode(list(ids)),
    )


@torch.inference_mode()
def worth_of_heads(model: PairDecoder, ids: Ids, explanation: Explanation) -> list[HeadWorth]:
    """Return what an explained answer loses without each head, the dearest first."""
    batch, written = _forced(model, ids, explanation.answer)
    chosen = torch.tensor([*written, END], device=batch.inputs.device)[:, None]

    def likelihood(ablation: Ablation) -> float:
        with observe(model, ablation=ablation, keep=False):
            logits = model(batch)[0].float()
        return float(logits.log_softmax(dim=-1).gather(1, chosen).sum())

    whole, worth = likelihood(Ablation()), []
    for found in explanation.record.maps:
        strongest = found.weights.amax(dim=-1).mean(dim=-1).tolist()
        for one in found.summaries():
            lost = whole - likelihood(Ablation(frozenset({(one.path, one.head)})))
            worth.append(
                HeadWorth(one.path, one.kind, one.layer, one.head, lost, strongest[one.head], entropy=one.entropy)
            )
    return sorted(worth, key=lambda head: -head.lost)


def check_ablation(model: nn.Module, ablation: Ablation) -> None:
    """Refuse to switch off what is not there."""
    layers = {
        path: module.heads if isinstance(module, MultiHeadAttention) else 1
        for path, module in model.named_modules()
        if isinstance(module, MultiHeadAttention | StateAttention)
    }
    for path, head in ablation.heads:
        if path not in layers:
            raise ConfigError(f"there is no attention layer '{path}'; there are {', '.join(layers) or 'none'}")
        if not 0 <= head < layers[path]:
            raise ConfigError(f"{path} has {layers[path]} heads, counted from 0; there is no head {head}")


def _forced(model: PairDecoder, ids: Ids, answer: Answer) -> tuple[PairBatch, list[int]]:
    """Return the batch of a source and its answer, and as much of the answer as the model takes."""
    limit = model.limit or len(answer.ids) + 1
    written = answer.ids[: limit - 1]
    batch = collate([(ids, np.asarray(written, dtype=np.int64))])
    return batch.to(model.device), written
