"""Room for a model's weights: what does not fit is refused while it is made, before anything is written into it.

weights, counted as modules register them → more than is free: ConfigError with the size that is asked for in all
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from jumok.catalogue import model_class
from jumok.config import ModelConfig
from jumok.errors import ConfigError
from jumok.memory import free_memory, in_words, shortage

MOST = 10_000  # weights of a model, each a tensor: making so many takes seconds, and no model has half of them
CURE = "make [model] smaller: its width, its layers, or the vocabulary"


class TooLargeError(Exception):
    """The weights that were made so far are too many, or take too much memory."""


@contextmanager
def room_for(config: ModelConfig, *, copies: int = 1) -> Iterator[None]:
    """Refuse a model of config that is made inside the block where so many copies of its weights do not fit."""
    free = free_memory()

    def check(count: int, size: int) -> None:
        if count > MOST or copies * size > free:
            raise TooLargeError

    try:
        with _counting(check):
            yield
    except (TooLargeError, MemoryError, RuntimeError) as error:
        if not isinstance(error, TooLargeError) and not shortage(error):
            raise
        size = _size(config)
        training = f" and training at least {copies} times that" if copies > 1 else ""
        raise ConfigError(
            f"the weights of this '{config.name}' take {size}{training}, and {in_words(free)} of memory are free; {CURE}"
            if size
            else f"this '{config.name}' would have more than {MOST:,} tensors of weights; {CURE}"
        ) from None


@contextmanager
def _counting(check: Callable[[int, int], None]) -> Iterator[None]:
    """Call check with the number and the bytes of all weights whenever one is made inside the block."""
    seen: set[int] = set()  # tied weights count once
    size = 0

    def count(module: nn.Module, name: str, parameter: Tensor | None) -> None:
        nonlocal size
        if parameter is not None and id(parameter) not in seen:
            seen.add(id(parameter))
            size += parameter.nbytes
            check(len(seen), size)

    hook = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()


def _size(config: ModelConfig) -> str:
    """Return how much memory the weights of a model take, in words; "" where they are too many to be counted."""
    size = 0

    def check(count: int, so_far: int) -> None:
        nonlocal size
        size = so_far
        if count > MOST:
            raise TooLargeError

    try:
        with _counting(check), torch.device("meta"):  # makes them without any memory
            model_class(config.name)(config)
    except TooLargeError:
        return ""
    except RuntimeError:  # a number of bytes beyond 64 bits
        return "more bytes than can be counted"
    return in_words(size)
