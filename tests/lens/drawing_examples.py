"""Drawings explained without a model: random weights that sum to 1 over what a cell may look at, subwords, two languages."""

import numpy as np
import torch

from jumok.inspection.cells import BEGIN
from jumok.inspection.labels import cell_labels
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.predictors.drawing_explanation import DrawingExplanation

GRID = (3, 5)
TOKENS = ("[START]", "▁a", "▁red", "▁tri", "angle", "▁빨간", "[END]")
NUMBERS = (0, 1, 2, 3, 3, 4, 5)
WORDS = ["[START]", "a", "red", "triangle", "빨간", "[END]", BEGIN]
TEXT = "a red triangle 빨간"


def drawing(
    *, layers=2, heads=3, grid=GRID, tokens=TOKENS, words=NUMBERS, guidance=1.0, given=False, level=160, seed=1
):
    """Return a drawing of 4 pixels to a cell; level is the mean of its bytes."""
    generator, cells = torch.Generator().manual_seed(seed), grid[0] * grid[1]
    labels, texts = cell_labels(grid, 0), len(tokens)
    allowed = torch.arange(texts + cells) <= torch.arange(texts, texts + cells)[:, None]  # (G, K)
    maps = []
    for layer in range(layers):
        scores = 2 * torch.randn(heads, cells, texts + cells, generator=generator)
        weights = scores.masked_fill(~allowed, -torch.inf).softmax(dim=-1)
        keys = (*tokens, BEGIN, *labels[:-1])
        maps.append(AttentionMap(f"stack.layers.{layer}.attention", "decoder", layer, weights, labels, keys))
    drawn = np.random.default_rng(seed)
    pixels = drawn.integers(level - 20, level + 20, (4 * grid[0], 4 * grid[1], 3)).astype(np.uint8)
    codes = drawn.integers(0, 60, grid)
    shares = torch.linspace(0.9, 0.2, cells).view(grid)
    rivals = tuple(((61, 0.05), (62, 0.04), (63, 0.03)) for _ in range(cells))
    return DrawingExplanation(
        TEXT, tokens, words, codes, shares, rivals, pixels, AttentionRecord(maps), guidance=guidance, given=given
    )
