"""What makes codes of vectors: finite scalar quantisation, or a codebook (vector quantisation).

vectors (B, h, w, E) → quantise → the nearest that can be said (B, h, w, E), its code (B, h, w), a loss where one is needed
codes (…) → vectors (…, E)

A code stands for one vector, exactly: vectors(quantise(x).codes) = quantise(x).vectors. Gradients go straight through:
what is learnt of the rounded vectors is learnt of those before.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

# N vectors · E features of a vector · K codes

UNUSED = 0.05  # uses per batch, decayed, below which a vector of a codebook starts anew
ROUNDS = 10  # of k-means
INSIDE = 1e-3  # so far are a level's borders kept from being reached, so that rounding never leaves the levels


class Quantised(NamedTuple):
    """Vectors as they can be said by codes."""

    vectors: Tensor  # (…, E), with the gradient of what came in
    codes: Tensor  # (…) int64
    loss: Tensor  # summed over vectors; 0 where a quantiser needs none


class Quantiser(nn.Module, ABC):
    """From vectors to codes and back."""

    width: int  # features E of a vector
    count: int  # codes K

    @abstractmethod
    def quantise(self, x: Tensor) -> Quantised:
        """Return the nearest vectors to x (…, E) that have a code."""

    @abstractmethod
    def vectors(self, codes: Tensor) -> Tensor:
        """Return the vectors (…, E) of codes (…)."""

    def begin(self, x: Tensor) -> None:
        """Look at vectors (N, E) of a first batch before training: a codebook starts from them."""


class FiniteScalarQuantiser(Quantiser):
    """Round each feature to one of a few levels (Mentzer et al. 2023): no codebook, no loss, no code that is lost."""

    levels: Tensor
    places: Tensor

    def __init__(self, levels: Sequence[int]) -> None:
        super().__init__()
        self.width, self.count = len(levels), math.prod(levels)
        self.register_buffer("levels", torch.tensor(levels), persistent=False)
        # A code is a number whose digits are levels, the first feature the lowest.
        places = [math.prod(levels[:feature]) for feature in range(len(levels))]
        self.register_buffer("places", torch.tensor(places), persistent=False)

    def quantise(self, x: Tensor) -> Quantised:
        """Return x (…, E) rounded to levels; features lie between −1 and 1."""
        half = (self.levels - 1) * (1 - INSIDE) / 2
        offset = torch.where(self.levels % 2 == 0, 0.5, 0.0)  # an even number of levels has none in the middle
        shift = torch.atanh(
            torch.where(self.levels > 2, offset / half, 0.0)
        )  # so that 0 is a level; two have none there
        bounded = torch.tanh(x + shift) * half - offset
        rounded = bounded + (bounded.round() - bounded).detach()
        digits = (rounded.detach() + self.levels // 2).long()
        return Quantised(rounded / (self.levels // 2), (digits * self.places).sum(dim=-1), x.new_zeros(()))

    def vectors(self, codes: Tensor) -> Tensor:
        """Return the vectors (…, E) of codes (…)."""
        middle = self.levels // 2
        digits = codes[..., None] // self.places % self.levels
        return (digits - middle) / middle

    def extra_repr(self) -> str:
        return f"levels={self.levels.tolist()}"


class VectorQuantiser(Quantiser):
    """Take the nearest vector of a codebook (van den Oord et al. 2017).

    Its vectors are moving averages of what came near them. They start from a k-means of the first batch; those that
    nothing comes near start anew from a vector of the batch.
    """

    book: Tensor
    sums: Tensor
    uses: Tensor

    def __init__(self, count: int, width: int, *, commitment: float = 0.25, decay: float = 0.99) -> None:
        super().__init__()
        self.width, self.count, self.commitment, self.decay = width, count, commitment, decay
        book = torch.randn(count, width)
        self.register_buffer("book", book)  # (K, E)
        self.register_buffer("sums", book.clone())  # (K, E) of what came near each, decayed
        self.register_buffer("uses", torch.ones(count))  # (K,) how often, decayed

    def quantise(self, x: Tensor) -> Quantised:
        """Return the nearest vectors of the codebook to x (…, E), and the loss that keeps x near them."""
        flat = x.detach().reshape(-1, self.width)
        codes = self._nearest(flat)
        chosen = self.book[codes].view_as(x)
        if self.training and torch.is_grad_enabled():
            self._follow(flat, codes)
        loss = self.commitment * ((x - chosen) ** 2).mean(dim=-1).sum()
        return Quantised(x + (chosen - x).detach(), codes.view(x.shape[:-1]), loss)

    def vectors(self, codes: Tensor) -> Tensor:
        """Return the vectors (…, E) of codes (…)."""
        return self.book[codes]

    def _nearest(self, x: Tensor) -> Tensor:
        """Return the codes (N,) of the vectors nearest to x (N, E)."""
        return (self.book.square().sum(dim=1) - 2 * x @ self.book.T).argmin(dim=1)

    @torch.no_grad()
    def _follow(self, x: Tensor, codes: Tensor) -> None:
        """Move the codebook towards what came near it; what is not used any more starts anew."""
        uses = torch.bincount(codes, minlength=self.count).to(x.dtype)
        self.uses.lerp_(uses, 1 - self.decay)
        self.sums.lerp_(torch.zeros_like(self.book).index_add_(0, codes, x), 1 - self.decay)
        self.book.copy_(self.sums / self.uses.clamp(min=1e-5)[:, None])
        lost = (self.uses < UNUSED).nonzero()[:, 0]
        if len(lost):
            drawn = x[torch.randint(len(x), (len(lost),), device=x.device)]
            self.book[lost], self.sums[lost], self.uses[lost] = drawn, drawn, 1.0

    @torch.no_grad()
    def begin(self, x: Tensor) -> None:
        """Start the codebook from a k-means of vectors (N, E)."""
        chosen = x[torch.linspace(0, len(x) - 1, self.count).long()]
        self.book.copy_(chosen + 1e-3 * torch.randn_like(chosen) * x.std())
        for _ in range(ROUNDS):
            codes = self._nearest(x)
            uses = torch.bincount(codes, minlength=self.count).to(x.dtype)
            sums = torch.zeros_like(self.book).index_add_(0, codes, x)
            self.book.copy_(torch.where(uses[:, None] > 0, sums / uses.clamp(min=1)[:, None], self.book))
        self.sums.copy_(self.book)
        self.uses.fill_(1.0)
