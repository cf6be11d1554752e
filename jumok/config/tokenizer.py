"""The [tokenizer] of a recipe."""

from typing import Literal, Self

from pydantic import Field, model_validator

from jumok.config.section import Section
from jumok.errors import ConfigError


class TokenizerConfig(Section):
    """How text becomes tokens. Trained in place on the training split."""

    kind: Literal["bpe", "unigram", "wordpiece", "word", "character", "byte"] = Field(
        "bpe", description="byte-level BPE, unigram, BERT's word pieces, words, characters, bytes"
    )
    vocabulary: int = Field(8000, ge=8, description="the most entries each vocabulary may have")
    shared: bool = Field(True, description="one vocabulary for both languages, or one each")
    dropout: float = Field(
        0.0, ge=0.0, lt=1.0, description="subword dropout, in training, of the text a model reads (bpe, unigram)"
    )
    target_dropout: float = Field(
        0.0, ge=0.0, lt=1.0, description="the same of the text it writes; a beam then prefers small pieces"
    )
    split_digits: bool = Field(False, description="each digit is a token of its own (bpe, unigram, word)")
    min_frequency: int = Field(2, ge=1, description="rarer merges or words are left out")

    @model_validator(mode="after")
    def dropout_needs_subwords(self) -> Self:
        for key in ("dropout", "target_dropout"):
            if getattr(self, key) and self.kind not in ("bpe", "unigram"):
                raise ConfigError(f"tokenizer.{key} needs subwords: kind 'bpe' or 'unigram', not '{self.kind}'")
        return self
