"""How a caption is explained: searched for at full speed, then looked at in one pass over its final ids.

image → search → captions → one teacher-forced pass over all of them under observe → CaptionExplanation
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.data.images.decode import Pixels
from jumok.data.text.tokenizer import END, SPACE, Tokenizer
from jumok.inspection.labels import cell_labels
from jumok.inspection.observe import observe
from jumok.inspection.record import AttentionRecord
from jumok.lens.caption_page import IMAGE
from jumok.lens.view import Side
from jumok.nn.batch import CaptionBatch
from jumok.nn.model import CaptionDecoder
from jumok.predictors.caption_explanation import CaptionExplanation
from jumok.predictors.explaining import LogProbabilities
from jumok.predictors.explanation import choices_of, next_word
from jumok.tasks.image_captioning import ImageCaptioning, Seen
from jumok.tasks.pairs import shifted
from jumok.tasks.writing import Answer

# N variants, or captions of one image · T tokens of a caption, its end included

OVER_IMAGE = ("cross", "recurrent")  # kinds of attention whose keys are cells of the image
KINDS = (*OVER_IMAGE, "decoder")  # what is shown: not how an encoder looks at its own patches


@torch.inference_mode()
def explain(
    model: CaptionDecoder[Any],
    task: ImageCaptioning,
    pixels: Pixels,
    shown: Pixels,
    *,
    name: str,
    given: Answer | None,
    options: DecodingConfig,
    every: bool = False,
) -> CaptionExplanation:
    """Return the caption of an image (S, S, C), or the given one, explained; every: the search's further captions, too.

    shown (h, w, C) is the image as people see it.
    """
    (seen,) = task.look_at(pixels[None])
    answers = [given] if given is not None else task.answer(model, [seen], options=options)[0]
    looked_at = answers if every else answers[:1]
    batch = forced(model, task, seen, looked_at)
    grid = model.encode(batch).grid
    assert grid is not None, "a captioner's memory has the grid of its cells"
    with observe(model) as record:
        logits = model(batch)  # (N, T, V)
    cells = Side(IMAGE, cell_labels(grid, 0), tuple(range(grid[0] * grid[1])))
    found = [
        _explained(model, task, answer, logits[row], record, row=row, cells=cells, grid=grid, name=name, pixels=shown)
        for row, answer in enumerate(looked_at)
    ]
    best = found[0]
    if given is not None:
        total = sum(math.log(max(choice.probability, 1e-38)) for choice in best.choices if choice is not None)
        score = total / len(best.choices) ** options.length_penalty
        best = replace(best, answer=replace(best.answer, log_probability=total, score=score))
    return replace(best, others=tuple(answers[1:]), alternatives=tuple(found[1:]))


def _explained(
    model: CaptionDecoder[Any],
    task: ImageCaptioning,
    answer: Answer,
    logits: Tensor,
    record: AttentionRecord,
    *,
    row: int,
    cells: Side,
    grid: tuple[int, int],
    name: str,
    pixels: Pixels,
) -> CaptionExplanation:
    """Return the explanation of one row, given its logits (T, V) and the record of all rows."""
    tokenizer = task.target_tokenizer
    written = written_ids(model, answer)
    chosen = [*written, END]
    labels, words = tokenizer.labels(chosen), tokenizer.words(written)
    output = Side("caption", tuple(labels), (*words, next_word(words)))
    # The start comes first where the decoder looks back.
    begun = Side("caption so far", ("[START]", *labels[:-1]), (0, *(word + 1 for word in words)))
    ordered = sorted(record.maps, key=lambda found: found.kind not in OVER_IMAGE)  # the image first
    maps = [
        replace(found.cut(output.labels, (cells if found.kind in OVER_IMAGE else begun).labels, row),
                grid=grid if found.kind in OVER_IMAGE else None)
        for found in ordered
        if found.kind in KINDS
    ]  # fmt: skip
    return CaptionExplanation(
        name,
        answer,
        AttentionRecord(maps),
        source=list(cells.labels),
        source_words=cells.words,
        output=output,
        looking={"decoder": (output, begun), "": (output, cells)},
        choices=choices_of(logits[: len(chosen)], chosen, partial(names_of, tokenizer)),
        characters=tokenizer.kind == "character",
        no_attention=model.why_no_attention,
        pixels=pixels,
    )


def names_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """Return the name of each id among its rivals: words are read without the mark of the space before them."""
    labels = tokenizer.labels(ids)
    return [label.strip(SPACE) or label for label in labels] if tokenizer.kind == "word" else labels


def written_ids(model: CaptionDecoder[Any], answer: Answer) -> list[int]:
    """Return as much of an answer as the model takes."""
    return answer.ids[: model.limit - 1] if model.limit else answer.ids


def forced(model: CaptionDecoder[Any], task: ImageCaptioning, seen: Seen, answers: Sequence[Answer]) -> CaptionBatch:
    """Return the batch of one image with several captions."""
    rows = [np.asarray(written_ids(model, answer), dtype=np.int64) for answer in answers]
    return CaptionBatch(*shifted(rows), **task.inputs([seen] * len(rows))).to(model.device)


def log_probabilities_of(
    model: CaptionDecoder[Any], task: ImageCaptioning, pixels: Pixels, answer: Answer
) -> LogProbabilities:
    """Return what gives the log-probability of a caption; no part of the image can be left out of it."""
    (seen,) = task.look_at(pixels[None])
    batch = forced(model, task, seen, [answer])

    def log_probabilities(left_out: Sequence[int | None]) -> Tensor:
        assert all(place is None for place in left_out), "cells of an image stay"
        found: Tensor = model(batch).float().log_softmax(dim=-1)  # (1, T, V)
        return found.gather(2, batch.targets[..., None]).sum(dim=(1, 2)).expand(len(left_out))

    return log_probabilities
