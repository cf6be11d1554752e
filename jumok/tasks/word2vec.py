"""Embedding tables that start from a word2vec text file.

file ('count width', then a word and its numbers on each line) → rows whose words the vocabulary knows; the others stay random
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from jumok.errors import ConfigError, DataError


@torch.no_grad()
def load_word2vec(path: Path, vocabulary: Mapping[str, int], table: nn.Embedding) -> int:
    """Copy the file's vectors into the rows of words that vocabulary knows; return how many there were.

    Vectors are scaled to the table's own spread, so that a file of any origin starts training at the usual size.
    """
    found: dict[int, list[float]] = {}
    try:
        with path.open(encoding="utf-8") as file:
            head = file.readline().split()
            if len(head) != 2 or not all(part.isdecimal() and len(part) < 10 for part in head):
                raise DataError(
                    f"{path}: the first line must be 'words width', as word2vec writes it, not {' '.join(head)[:60]!r}"
                )
            width = int(head[1])
            if width != table.embedding_dim:
                raise ConfigError(
                    f"{path} has vectors of width {width}, the model's embeddings have {table.embedding_dim}; set model.width = {width}"
                )
            for number, line in enumerate(file, start=2):
                parts = line.rstrip().rsplit(" ", width)
                if len(parts) != width + 1:
                    raise DataError(f"{path}, line {number}: a word and {width} numbers are needed")
                for spelling in (parts[0], f"▁{parts[0]}"):  # inside a sentence, and after a space
                    if spelling in vocabulary:
                        try:
                            found[vocabulary[spelling]] = [float(part) for part in parts[1:]]
                        except ValueError:
                            raise DataError(f"{path}, line {number}: a word and {width} numbers are needed") from None
    except UnicodeDecodeError:
        raise DataError(
            f"{path} is not UTF-8 text; word2vec's binary format must be converted to its text format first"
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    if found:
        rows = torch.tensor(list(found.values()))
        if not rows.isfinite().all():
            raise DataError(f"{path} has vectors of NaN, or of numbers beyond all bounds; make it again")
        rows *= table.weight.std() / rows.std().clamp(min=1e-8)
        table.weight[torch.tensor(list(found))] = rows
    return len(found)
