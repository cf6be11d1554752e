"""The [decoding] of a recipe. The command line makes its options from these fields: name, type, bound, description."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from jumok.config.section import Section
from jumok.errors import ConfigError


class DecodingConfig(Section):
    """How an answer is searched for. Every value can be changed for a single call."""

    beam: int = Field(5, ge=1, description="hypotheses kept per sentence; 1 = greedy")
    n_best: int = Field(1, ge=1, description="answers per sentence, at most beam")
    length_penalty: float = Field(1.0, description="log-probability is divided by length to this power")
    coverage_penalty: float = Field(
        0.0, ge=0.0, description="punish source tokens that got little attention (GNMT's beta)"
    )
    no_repeat_ngram: int = Field(0, ge=0, description="no n-gram of this size twice; 0 = off")
    min_length: int = Field(0, ge=0, description="tokens before the end is allowed")
    max_length: int = Field(
        0, ge=0, description="most tokens of an answer; 0 = twice the source plus 10, or 200 of running text"
    )
    sample: bool = Field(False, description="draw at random instead of searching")
    temperature: float = Field(
        1.0, gt=0.0, allow_inf_nan=False, description="when drawing: below 1 safer, above 1 bolder"
    )
    top_k: int = Field(0, ge=0, description="when drawing: from the k likeliest tokens; 0 = all")
    top_p: float = Field(
        1.0, gt=0.0, le=1.0, description="when drawing: from the likeliest tokens that make up this share"
    )
    min_p: float = Field(
        0.0, ge=0.0, lt=1.0, description="when drawing: from tokens at least this share as likely as the likeliest"
    )
    repetition_penalty: float = Field(
        1.0, ge=1.0, allow_inf_nan=False, description="make tokens already written less likely (CTRL's); 1 = off"
    )
    guidance: float = Field(
        1.0, ge=0.0, allow_inf_nan=False, description="drawing: how much the text counts; 1 = as learnt, 3 = strongly"
    )
    stop: list[Annotated[str, Field(min_length=1)]] = Field(
        [], description="end before any of these texts (language models)"
    )
    shortlist: int = Field(
        0,
        ge=0,
        description="target tokens tried for each source token, learnt from the training data: faster; 0 = all",
    )
    seed: int = Field(1, ge=0, description="when drawing: the same seed draws the same")
    batch_size: int = Field(64, ge=1, description="sentences decoded side by side")
    workers: int = Field(0, ge=0, description="processes that share many sentences on a CPU; 0 = what is fastest")

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return these options with some changed, checked as in a recipe; a change to None changes nothing."""
        given = {name: value for name, value in changes.items() if value is not None}
        return type(self).parse(self.model_dump() | given, "decoding") if given else self

    @model_validator(mode="after")
    def n_best_fits_the_beam(self) -> Self:
        if self.n_best > self.beam and not self.sample:
            raise ConfigError(
                f"n_best ({self.n_best}) needs a beam at least as wide, not {self.beam}; set beam = {self.n_best}"
            )
        if 0 < self.max_length < self.min_length:
            raise ConfigError(f"min_length ({self.min_length}) is above max_length ({self.max_length})")
        if self.shortlist and (self.sample or self.no_repeat_ngram or self.repetition_penalty > 1.0):
            raise ConfigError(
                "shortlist is for greedy and beam search without no_repeat_ngram or repetition_penalty; set shortlist = 0"
            )
        return self
