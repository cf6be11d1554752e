"""How a translation is explained: searched for at full speed, then looked at in one pass over its final ids.

source ids → search → answer → one teacher-forced pass under observe → TranslationExplanation
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.data.text.tokenizer import END
from jumok.inspection.ablation import Ablation
from jumok.inspection.observe import observe
from jumok.lens.view import Side
from jumok.nn.batch import PairBatch
from jumok.predictors.engines import PairDecoder, TranslationEngine
from jumok.predictors.explaining import LogProbabilities, label_maps
from jumok.predictors.explanation import TranslationExplanation, choices_of, next_word
from jumok.tasks.pairs import Ids, collate
from jumok.tasks.translation import Translation
from jumok.tasks.writing import Answer

# N variants of a text · T tokens of an answer, its end included


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
) -> TranslationExplanation:
    """Return the answer to a source, or the given one, explained; ablation leaves something out of search and pass."""
    model = engine.model
    if given is not None:
        answers = [given]
    elif ablation == Ablation():
        answers = engine.search([ids], options=options)[0]
    else:
        with observe(model, ablation=ablation, keep=False):
            answers = engine.search([ids], options=options)[0]
    answer = answers[0]
    batch, written = _forced(model, [ids], answer)
    with observe(model, ablation=ablation, details=details) as record:
        logits = model(batch)[0]
    chosen = [*written, END]
    read, outputs = task.source_tokenizer.labels([*ids, END]), task.target_tokenizer.labels(chosen)
    words, output_words = task.source_tokenizer.words(list(ids)), task.target_tokenizer.words(written)
    source = Side("source", tuple(read), (*words, next_word(words)))
    output = Side("output", tuple(outputs), (*output_words, next_word(output_words)))
    # The start comes first where the decoder looks back.
    begun = Side("output so far", ("[START]", *outputs[:-1]), (0, *(word + 1 for word in output_words)))
    looking = {"encoder": (source, source), "decoder": (output, begun), "": (output, source)}
    label_maps(record, looking)
    sides = (source.labels, begun.labels)  # a model reads the source first
    record.positions = [found.cut(side) for found, side in zip(record.positions, sides, strict=False)]
    choices = choices_of(logits, chosen, task.target_tokenizer.labels)
    if given is not None:
        total = sum(math.log(max(choice.probability, 1e-38)) for choice in choices)
        answer = replace(answer, log_probability=total, score=total / len(choices) ** options.length_penalty)
    return TranslationExplanation(
        task.source_tokenizer.decode(list(ids)),
        answer,
        record,
        source=read[:-1],
        source_words=tuple(words),
        output=output,
        looking=looking,
        choices=choices,
        characters=task.source_tokenizer.kind == "character",
        others=tuple(answers[1:]),
    )


def log_probabilities_of(model: PairDecoder, ids: Ids, answer: Answer) -> LogProbabilities:
    """Return what gives the log-probability of an answer to a source with tokens left out."""

    def log_probabilities(left_out: Sequence[int | None]) -> Tensor:
        sources = [ids if place is None else np.delete(ids, place) for place in left_out]
        batch, _ = _forced(model, sources, answer)
        found: Tensor = model(batch).float().log_softmax(dim=-1)  # (N, T, V)
        return found.gather(2, batch.targets[..., None]).sum(dim=(1, 2))

    return log_probabilities


def _forced(model: PairDecoder, sources: Sequence[Ids], answer: Answer) -> tuple[PairBatch, list[int]]:
    """Return the batch of sources that have one answer, and as much of the answer as the model takes."""
    limit = model.limit or len(answer.ids) + 1
    written = answer.ids[: limit - 1]
    batch = collate([(ids, np.asarray(written, dtype=np.int64)) for ids in sources])
    return batch.to(model.device), written
