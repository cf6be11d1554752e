"""How a drawing is explained: drawn at full speed, then looked at in one pass over its final codes.

text → search, guided → codes → one teacher-forced pass with the text under observe → DrawingExplanation
"""

from typing import Any

import numpy as np
import torch

from jumok.config import DecodingConfig
from jumok.data.images.decode import Pixels
from jumok.inspection.cells import END, START, cells_looking
from jumok.inspection.observe import observe
from jumok.nn.batch import DrawingBatch
from jumok.nn.model import DrawingDecoder
from jumok.predictors.drawing_explanation import DrawingExplanation
from jumok.predictors.explanation import RIVALS, next_word
from jumok.tasks.drawing_batches import texts_of
from jumok.tasks.image_tokens import encode
from jumok.tasks.text_to_image import Drawing, Ids, TextToImage

# G cells of the grid · K codes


@torch.inference_mode()
def explain(
    model: DrawingDecoder[Any],
    task: TextToImage,
    text: str,
    ids: Ids,
    *,
    options: DecodingConfig,
    image: Pixels | None = None,
) -> DrawingExplanation:
    """Return what the cells of a drawing of a text, given its ids, looked at; or those of an image (S, S, C).

    Guidance changes what is drawn. What is told is of the pass with the text, which the pass without has no part in.
    """
    grid = model.grid
    if image is None:
        [[drawing, *_]] = task.draw(model, [ids], options=options)
    else:
        drawing = Drawing(encode(task.codes, image[None]).astype(np.int64).reshape(grid), 0.0)
    codes = torch.from_numpy(drawing.codes).view(1, -1)  # (1, G)
    batch = DrawingBatch(*texts_of([ids]), codes).to(model.device)
    with observe(model) as record:
        logits = model.project(model.features(batch))[0].float()  # (G, K)
    shares = logits.softmax(dim=-1)
    words = task.tokenizer.words(ids.tolist())
    tokens = (START, *task.tokenizer.labels(ids.tolist()), END)
    best, codes_of_best = (found.tolist() for found in shares.topk(min(RIVALS + 1, shares.shape[1]), dim=-1))
    rivals = tuple(
        tuple((other, share) for other, share in zip(others, found, strict=True) if other != code)[:RIVALS]
        for code, others, found in zip(codes[0].tolist(), codes_of_best, best, strict=True)
    )
    return DrawingExplanation(
        text,
        tokens,
        (0, *(word + 1 for word in words), next_word(words) + 1),
        drawing.codes,
        shares.cpu().gather(1, codes.T).view(grid),
        rivals,
        task.pixels([drawing])[0],
        cells_looking(record, tokens, grid),
        guidance=1.0 if image is not None else options.guidance,
        given=image is not None,
        characters=task.tokenizer.kind == "character",
    )
