"""Texts, alone or in pairs, as rows for a reader: [START] text [END], or [START] text [END] second [END].

ids → cut to fit → special tokens, segments → padded batch
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jumok.data.tokenizer import END, PAD, START
from jumok.nn.masks import padding_mask

Ids = np.ndarray[Any, Any]
MARKS = 3  # special tokens of a row with two texts


def make_row(first: Ids, second: Ids, longest: int) -> tuple[list[int], int]:
    """Return a row of at most longest ids, and where the second text's segment begins; the longer text is cut first."""
    room = longest - (MARKS if len(second) else MARKS - 1)
    while len(first) + len(second) > room:
        over = len(first) + len(second) - room
        if len(first) >= len(second):
            first = first[: len(first) - max(1, min(over, len(first) - len(second)))]
        else:
            second = second[: len(second) - max(1, min(over, len(second) - len(first)))]
    row = [START, *first.tolist(), END]
    begin = len(row)
    return ([*row, *second.tolist(), END] if len(second) else row), begin


def row_length(first: Ids, second: Ids, longest: int) -> Ids:
    """Return the lengths of rows of texts with these lengths (N,)."""
    whole = first + 2 + np.where(second > 0, second + 1, 0)
    lengths: Ids = np.minimum(whole, longest)
    return lengths


def pad_rows(rows: Sequence[tuple[list[int], int]]) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return ids (B, S), the mask of real places, and segments (B, S) where any row has two texts."""
    lengths = torch.tensor([len(row) for row, _ in rows])
    ids = torch.full((len(rows), int(lengths.max())), PAD)
    for number, (row, _) in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
    begins = torch.tensor([begin for _, begin in rows])
    segments = None
    if bool((begins < lengths).any()):
        segments = (torch.arange(ids.shape[1]) >= begins[:, None]).long()
    return ids, padding_mask(lengths, ids.shape[1]), segments
