"""Rows of bits: drawn by a seed, or a file with one row per line."""

import numpy as np
from pydantic import Field, field_validator

from jumok.config import DataConfig, DataFile, Split
from jumok.config.data import as_files
from jumok.data.corpora import Corpora, by_title
from jumok.data.files import read_lines


class BitsData(DataConfig[DataFile]):
    """Rows of bits, drawn where no files are given."""

    bits: int = Field(6, ge=1, description="of a row")
    rows: int = Field(300, ge=1, description="that are drawn")

    @field_validator("train", "val", "test", mode="before")
    @classmethod
    def one_is_a_list(cls, value):
        return as_files(value)

    @property
    def built_in(self) -> str:
        return "" if self.train else "drawn"


class BitsStore:
    """Bits (N, n)."""

    def __init__(self, bits):
        self.bits = bits

    def __len__(self):
        return len(self.bits)


class BitsCorpora(Corpora[BitsData, BitsStore]):
    """The rows of a recipe."""

    FILE_IN_RECIPE = '"FILE"'

    def _drawn(self, split: Split) -> BitsStore:
        seed = ("train", "val", "test").index(split)
        return BitsStore(np.random.default_rng(seed).integers(0, 2, (self.data.rows, self.data.bits)))

    def own_store(self, file: DataFile) -> BitsStore:
        rows = [[int(bit) for bit in line.strip()] for line in read_lines(self.find(file.file))]
        return BitsStore(np.array(rows))

    def _train_store(self):
        return self._drawn("train") if self.data.built_in else self.own_store(self.data.train[0])

    def _built_in_stores(self, split):
        return {"drawn": self._drawn(split)}

    def _file_stores(self, split):
        return by_title(self.data.files(split), self.own_store)

    def _held_out_stores(self):
        return {"train": self.train}

    @property
    def _settings(self):
        return [self.data.bits, self.data.rows]

    def _content_of_train(self):
        return self.train.bits.tolist()
