"""What a search is asked: a request for each sentence, and the token ids that mean something to it.

Request (input, length, prefix, shortlist) + Marks (start, end, pad) + DecodingConfig → search.py → Hypothesis
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor

from jumok.config import DecodingConfig
from jumok.errors import ConfigError

# K tokens of a shortlist

InputT = TypeVar("InputT")


@dataclass(frozen=True)
class Marks:
    """The token ids that are no part of a text."""

    start: int
    end: int
    pad: int
    writes_start: bool = False  # whether the start token is an ordinary token of the text, which may be written
    unknown: int | None = None  # the token of unknown words, where it may be read but never written

    @property
    def never(self) -> list[int]:
        """Tokens that no hypothesis may write; the end stays allowed, also for models that start with it."""
        hidden = {self.pad} if self.unknown is None else {self.pad, self.unknown}
        return sorted((hidden if self.writes_start else hidden | {self.start}) - {self.end})


@dataclass(frozen=True)
class Request(Generic[InputT]):
    """One sentence to answer."""

    input: InputT  # what collate makes batches of
    length: int  # of the source, in tokens: bounds the answer where options.max_length = 0
    prefix: Sequence[int] = ()  # token ids that the answer must begin with
    shortlist: Tensor | None = None  # (K,) token ids that the answer may be made of; None: the whole vocabulary

    def longest(self, options: DecodingConfig, *, limit: int) -> int:
        """Return the most tokens of an answer, the end included; limit is the decoder's (0: none)."""
        longest = options.max_length or 2 * self.length + 10
        return min(longest, limit) if limit else longest

    def check(self, options: DecodingConfig, marks: Marks, *, limit: int) -> None:
        """Refuse a prefix that no answer can begin with."""
        longest = self.longest(options, limit=limit)
        if marks.end in self.prefix:
            raise ConfigError(f"a prefix must not hold the end token ({marks.end}); cut it before: {list(self.prefix)}")
        if len(self.prefix) >= longest:
            raise ConfigError(
                f"a prefix of {len(self.prefix)} tokens leaves no room in an answer of at most {longest}; "
                "shorten it or raise max_length"
            )
