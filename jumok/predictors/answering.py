"""How a predictor's model answers: in fp32, or with products in bf16.

with predictor.answering():   layers multiply in its precision; what was made of the weights is kept for the next answer
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

from jumok.nn.precision import Precision, Rounded, answering

Item = TypeVar("Item")


class Answering:
    """A precision, and the weights that were rounded to it."""

    def __init__(self, precision: Precision = "fp32") -> None:
        self.precision = precision
        self._kept: Rounded = {}

    def __call__(self) -> AbstractContextManager[None]:
        """Let the model answer in this precision inside the block."""
        return answering(self.precision, self._kept)

    def each(self, items: Iterator[Item]) -> Iterator[Item]:
        """Yield items, each of which is made in this precision; between two of them the caller's own holds."""
        while True:
            with self():
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item
