"""Texts, alone or in pairs, as rows for a reader: [START] text [END], or [START] text [END] second [END].

ids → cut to fit → special tokens, segments → padded batch
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jumok.data.text.tokenizer import END, PAD, START
from jumok.nn.masks import padding_mask

Ids = np.ndarray[Any, Any]
MARKS = 3  # special tokens of a row with two texts


def make_row(first: Ids, second: Ids, longest: int) -> tuple[Ids, int]:
    """Return a row of at most longest ids, and where the second text's segment begins; the longer text is cut first."""
    room = longest - (MARKS if len(second) else MARKS - 1)
    if len(first) + len(second) > room:
        half = room // 2
        of_second = min(len(second), max(half, room - len(first)))
        first, second = first[: room - of_second], second[:of_second]
    row = np.empty(len(first) + 2 + (len(second) + 1 if len(second) else 0), dtype=np.int64)
    begin = len(first) + 2
    row[0], row[1 : begin - 1], row[begin - 1] = START, first, END
    if len(second):
        row[begin:-1], row[-1] = second, END
    return row, begin


def row_length(first: Ids, second: Ids, longest: int) -> Ids:
    """Return the lengths of rows of texts with these lengths (N,)."""
    whole = first + 2 + np.where(second > 0, second + 1, 0)
    lengths: Ids = np.minimum(whole, longest)
    return lengths


def pad_rows(rows: Sequence[tuple[Ids, int]]) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return ids (B, S), the mask of real places, and segments (B, S) where any row has two texts."""
    lengths = np.array([len(row) for row, _ in rows])
    ids = np.full((len(rows), int(lengths.max())), PAD, dtype=np.int64)
    for number, (row, _) in enumerate(rows):
        ids[number, : len(row)] = row
    begins = np.array([begin for _, begin in rows])
    segments = None
    if (begins < lengths).any():
        segments = torch.from_numpy((np.arange(ids.shape[1]) >= begins[:, None]).astype(np.int64))
    return torch.from_numpy(ids), padding_mask(torch.from_numpy(lengths), ids.shape[1]), segments
