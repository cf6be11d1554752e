"""Tensors with a row for each hypothesis, kept in place: a row is copied only where it replaces another.

select rows 0 3 2 of 0 1 2 3 → row 3 is copied over row 1; rows 0 and 2 stay where they are

A search drops, repeats and adds hypotheses at every step, and copying all that a decoder remembers would take longer than
the decoder itself.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from jumok.native import kernels as native

# R rows · C capacity: places of a row

GROWTH = 16  # least number of places that are added when a row is full


class RowBuffers:
    """Tensors (rows, …, places, width) with room for more rows and places than are in use."""

    def __init__(self, tensors: list[Tensor], rows: int) -> None:
        self.tensors = tensors  # each (room for rows, …, room for places, width); rows beyond `rows` mean nothing
        self.rows = rows

    def used(self, number: int, places: int) -> Tensor:
        """Return the rows and places in use of a tensor."""
        return self.tensors[number][: self.rows, ..., :places, :]

    def select(self, rows: Tensor, places: int) -> None:
        """Keep rows (R',), reordered, repeated or left out; places is how many of each are in use."""
        count = len(rows)
        if not self.tensors or count > len(self.tensors[0]):
            self.tensors = [_chosen(tensor, rows, places) for tensor in self.tensors]
        else:
            target = torch.arange(count)
            moved = (rows != target).nonzero()[:, 0]
            if len(moved):
                self._move(moved, rows[moved], places)
        self.rows = count

    def _move(self, targets: Tensor, sources: Tensor, places: int) -> None:
        """Let rows targets become what rows sources were."""
        first = self.tensors[0]
        if native.serves(first) and all(
            tensor.dim() == 4 and tensor.is_contiguous() and tensor.shape == first.shape for tensor in self.tensors
        ):
            native.move_rows(self.tensors, targets, sources, places)
            return
        for tensor in self.tensors:
            part = tensor[..., :places, :]
            part.index_copy_(0, targets.to(part.device), part.index_select(0, sources.to(part.device)))

    def join(self, other: "RowBuffers", places: int) -> None:
        """Take over other's rows behind our own; places is how many of theirs are in use."""
        total = self.rows + other.rows
        for number, theirs in enumerate(other.tensors):
            tensor = self.tensors[number]
            if len(tensor) < total or tensor.shape[-2] < places:
                tensor = self._grown(tensor, rows=total, places=places)
                self.tensors[number] = tensor
            tensor[self.rows : total, ..., :places, :] = theirs[: other.rows, ..., :places, :]
        self.rows = total

    def make_room(self, number: int, places: int) -> Tensor:
        """Return a tensor with room for so many places."""
        if self.tensors[number].shape[-2] < places:
            self.tensors[number] = self._grown(self.tensors[number], rows=0, places=places)
        return self.tensors[number]

    def _grown(self, tensor: Tensor, *, rows: int, places: int) -> Tensor:
        room = max(len(tensor), rows)
        capacity = tensor.shape[-2]
        if places > capacity:
            capacity = max(places, 2 * capacity, capacity + GROWTH)
        fresh = blank((room, *tensor.shape[1:-2], capacity, tensor.shape[-1]), like=tensor)
        fresh[: self.rows, ..., : tensor.shape[-2], :] = tensor[: self.rows]
        return fresh


def blank(shape: Sequence[int], *, like: Tensor) -> Tensor:
    """Return zeros of this shape; on a CPU, untouched pages cost no memory and no time."""
    if like.device.type == "cpu" and like.dtype == torch.float32:
        return torch.from_numpy(np.zeros(shape, dtype=np.float32))  # calloc, where torch would write every zero
    return like.new_zeros(*shape)


def _chosen(tensor: Tensor, rows: Tensor, places: int) -> Tensor:
    """Return rows (R',) of a tensor, of which so many places are in use."""
    fresh = blank((len(rows), *tensor.shape[1:]), like=tensor)
    fresh[..., :places, :] = tensor[..., :places, :].index_select(0, rows.to(tensor.device))
    return fresh
