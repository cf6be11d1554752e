"""A recipe for a user's own two files: sizes chosen from the data, every choice explained in a comment.

source and target file → pairs and lengths → preset, vocabulary, steps → commented TOML
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jumok.config import Corpus
from jumok.data.files import find_file
from jumok.data.text.sources import read_pairs, tidy
from jumok.errors import DataError

TOKENS_PER_CHARACTER = 0.3  # of a subword vocabulary, roughly; Korean and Chinese have more, which the margin covers


@dataclass(frozen=True)
class Sizes:
    """What suits a corpus of some size, from experience with Multi30k (29,000 pairs) and the paper (4.5 million)."""

    preset: str
    dropout: float
    vocabulary: int
    epochs: int
    learning_rate: float
    batch_tokens: int


def suit(pairs: int) -> Sizes:
    """Return sizes for a number of pairs."""
    if pairs < 100_000:
        return Sizes("tiny", 0.2 if pairs < 50_000 else 0.1, 4000 if pairs < 20_000 else 6000, 40, 2.5e-3, 2048)
    if pairs < 1_000_000:
        return Sizes("small", 0.1, 16_000, 20, 1e-3, 4096)
    return Sizes("base", 0.1, 32_000, 10, 7e-4, 8192)


def quoted(path: Path) -> str:
    """Return a path as a TOML string; JSON writes the same, as long as letters outside ASCII stay themselves."""
    return json.dumps(str(path), ensure_ascii=False)


def new_recipe(source: Path, target: Path, *, val_source: Path | None = None, val_target: Path | None = None) -> str:
    """Return the text of a recipe for two files, line by line translations of each other."""
    lengths = np.array(
        [
            [len(tidy(one)), len(tidy(other))]
            for one, other in read_pairs(
                Corpus(source=str(source), target=str(target)), lambda name: find_file(name, [Path.cwd()])
            )
        ]
    )
    pairs = len(lengths)
    if pairs < 100:
        raise DataError(f"{source} and {target} have {pairs} pairs; a translator needs thousands")
    sizes = suit(pairs)
    tokens = lengths.max(axis=1) * TOKENS_PER_CHARACTER
    max_length = int(min(max(64, np.ceil(np.quantile(tokens, 0.999) * 1.5 / 32) * 32), 1024))
    tokens_per_epoch = float(tokens.sum())
    steps = int(max(tokens_per_epoch * sizes.epochs / sizes.batch_tokens // 500 * 500, 1000))
    held_out = min(pairs // 20, 1000)
    val = (
        f"val = {{ source = {quoted(val_source)}, target = {quoted(val_target)} }}"
        if val_source and val_target
        else f"hold_out = {held_out}                # pairs taken from train for val; or name files: val = {{ source = …, target = … }}"
    )
    return f"""\
# Translate {source.name} → {target.name}: {pairs:,} pairs. Written by `jumok new`; every number may be changed.
#   jumok check {{name}}     before you start: what is in the data, how long it will take
#   jumok train {{name}}     train; Ctrl-C saves, --resume goes on exactly

task = "translation"

[data]
train = {{ source = {quoted(source)}, target = {quoted(target)} }}
{val}
max_length = {max_length}              # longer pairs (in tokens) are left out
max_ratio = 6.0               # as are pairs whose lengths differ by more than this factor: often not translations

[tokenizer]
kind = "bpe"                  # byte-level: knows every character of every language
vocabulary = {sizes.vocabulary}
shared = true                 # one vocabulary for both languages
dropout = 0.0                 # split the source's words differently now and then; with it, train longer

[model]
name = "transformer"
preset = "{sizes.preset}"               # tiny, small, base or big: by the number of pairs
dropout = {sizes.dropout}                 # more for little data, less for much
norm_position = "pre"         # norm before each part: safer at high learning rates than the paper's "post"

[training]
steps = {steps}                 # about {sizes.epochs} rounds through the data
batch_tokens = {sizes.batch_tokens}
learning_rate = {sizes.learning_rate}
schedule = "cosine"           # down to zero at the last step: choose steps first
warmup = {min(max(steps // 10, 100), 4000)}
average = "ema"               # score and save a running average of the weights: better and steadier
evaluate_every = {max(steps // 20, 100)}
save_every = {max(steps // 20, 100)}
monitor = "bleu"              # the best weights are those with the best BLEU on val
seed = 1

[decoding]
beam = 5
length_penalty = 1.0
"""
