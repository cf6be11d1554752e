"""The sides of a corpus as each epoch sees them: cut into other subwords, or as they are stored."""

from collections.abc import Sequence

from jumok.data.store import TokenSide
from jumok.data.text.subwords import SubwordSampler, WordsDone
from jumok.data.text.tokenizer import Tokenizer


class EpochSides:
    """Sides of a corpus, each with its own rate of subword dropout."""

    def __init__(
        self,
        sides: Sequence[TokenSide],
        tokenizers: Sequence[Tokenizer],
        rates: Sequence[float],
        *,
        seed: int,
        longest: int,
        progress: WordsDone | None = None,
    ) -> None:
        """Prepare sampling where a rate is above 0; it makes no text longer than longest tokens."""
        self.stored = tuple(sides)
        self.samplers = [
            SubwordSampler(tokenizer, side, rate, len(self.stored) * seed + number, longest=longest, progress=progress)
            if rate
            else None
            for number, (tokenizer, side, rate) in enumerate(zip(tokenizers, sides, rates, strict=True))
        ]
        self._epoch, self._seen = -1, self.stored

    def epoch(self, epoch: int) -> tuple[TokenSide, ...]:
        """Return the sides as an epoch sees them."""
        if self._epoch != epoch:
            self._epoch = epoch
            self._seen = tuple(
                sampler.epoch(epoch) if sampler else side
                for sampler, side in zip(self.samplers, self.stored, strict=True)
            )
        return self._seen
