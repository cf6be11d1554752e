"""Captions explained without a model: words that look sharply at cells of a small image, or all at the same place."""

from dataclasses import replace

import numpy as np
import torch

from jumok.inspection.labels import cell_labels
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.lens.view import Side
from jumok.predictors.caption_explanation import CaptionExplanation
from jumok.predictors.explanation import TokenChoice
from jumok.tasks.writing import Answer

LABELS = ("▁a", "▁red", "▁tri", "angle", "▁빨간", "[END]")
WORDS = (0, 1, 2, 2, 3, 4)
GRID = (3, 5)
RIVALS = (("▁blue", 0.2), ("▁green", 0.1))


def noisy_image(brightness=200, size=(12, 20)):
    """Return an image in which every pixel differs from its neighbours."""
    noise = np.random.default_rng(7).integers(0, 40, (*size, 3))
    return (brightness + noise - 20).clip(0, 255).astype(np.uint8)


def weights_of(heads, *, grid=GRID, sharpness=3.0, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return (sharpness * torch.randn(heads, len(LABELS), grid[0] * grid[1], generator=generator)).softmax(dim=-1)


def caption(
    kind="recurrent", *, layers=1, heads=1, grid=GRID, pixels=None, constant=False, alternatives=0, maps=True, seed=1
):
    """Return an explanation of five tokens, of which two are one word; the Transformer's also looks back."""
    count = grid[0] * grid[1]
    output = Side("caption", LABELS, WORDS)
    cells = Side("image", cell_labels(grid, 0), tuple(range(count)))
    begun = Side("caption so far", ("[START]", *LABELS[:-1]), (0, 1, 2, 3, 3, 4))
    found = []
    for layer in range(layers if maps else 0):
        weights = weights_of(heads, grid=grid, seed=10 * seed + layer)
        if constant:
            weights = weights[:, :1].expand(-1, len(LABELS), -1)
        found.append(AttentionMap(f"layers.{layer}.cross", kind, layer, weights, LABELS, cells.labels, grid))
        if kind == "cross":
            back = torch.ones(heads, len(LABELS), len(LABELS)).tril()
            back = back / back.sum(dim=-1, keepdim=True)
            found.append(AttentionMap(f"layers.{layer}.self", "decoder", layer, back, LABELS, begun.labels))
    texts = ["a red triangle 빨간", "a blue triangle", "a cross"][: alternatives + 1]
    best, *others = [Answer(text, -0.1 * number, text.split(), [7], -1.0, True) for number, text in enumerate(texts, 1)]
    made = CaptionExplanation(
        "shapes.png",
        best,
        AttentionRecord(found),
        source=list(cells.labels),
        source_words=cells.words,
        output=output,
        looking={"decoder": (output, begun), "": (output, cells)},
        choices=tuple(TokenChoice(label, 0.5 + 0.07 * place, RIVALS) for place, label in enumerate(LABELS)),
        no_attention="This model has no attention to show.",
        pixels=noisy_image() if pixels is None else pixels,
        others=tuple(others),
    )
    further = [caption(kind, layers=layers, heads=heads, grid=grid, seed=2 + number) for number in range(alternatives)]
    alternatives = tuple(replace(one, answer=other) for one, other in zip(further, others, strict=True))
    return replace(made, alternatives=alternatives)
