"""The series of a recipe: tables read into stores, divided by time into train, val and test.

files of [data] → rows of all splits up to the one that is wanted → SeriesStore (cached) → Windows of the split
A split's windows may look back into what came before it; so the store of val also holds train's rows, that of test both.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from jumok.config import SeriesData, SeriesFile, Split
from jumok.data.corpora import Corpora
from jumok.data.series.scaling import measure
from jumok.data.series.series_store import SeriesStore
from jumok.data.series.windows import Windows
from jumok.data.tables import read_whole_rows


class SeriesCorpora(Corpora[SeriesData, Windows]):
    """The windows of a recipe's tables."""

    FILE_IN_RECIPE = '"table.csv"'

    @cached_property
    def filled_in(self) -> SeriesData:
        """[data] with what is taken from the training rows: columns, mean, deviation, season."""
        store, begin, end = self._divided("train")
        data = self.data.model_copy(update={"targets": self.data.targets or list(store.columns)})
        chunks = [
            store.values[store.offsets[k] + begin[k] : store.offsets[k] + end[k]]
            for k in range(len(store))
            if end[k] > begin[k]
        ]
        mean, deviation = measure(chunks, data, len(data.targets))
        return data.model_copy(update={"mean": mean, "deviation": deviation, "season": data.season or 24})

    def _windows(self, split: Split) -> Windows:
        store, begin, end = self._divided(split)
        return Windows(store, self.filled_in, begin, end)

    def _divided(self, split: Split) -> tuple[SeriesStore, np.ndarray, np.ndarray]:
        rows, bounds = [], [0]
        for name in ("train", "val", "test"):
            for file in self.data.files(name):
                part = [row for row in read_whole_rows(self.find(file.file))]
                if self.data.date != "":
                    part = [row[1:] for row in part[1:]]
                rows += part
            bounds.append(len(rows))
            if name == split:
                break
        values = np.array(rows, dtype=np.float64)
        columns = [f"column {number}" for number in range(values.shape[1])]
        store = SeriesStore(
            values, np.arange(len(values)), np.array([0, len(values)]), np.zeros((1, 0)), [""], columns, "row", []
        )
        return store, np.array([bounds[-2]]), np.array([bounds[-1]])

    def _train_store(self) -> Windows:
        return self._windows("train")

    def _file_stores(self, split: Split) -> dict[str, Windows]:
        return {split: self._windows(split)}

    def _held_out_stores(self) -> dict[str, Windows]:
        return {"val": self._windows("val")}

    @property
    def _settings(self) -> list[object]:
        return []

    def _content_of_train(self) -> object:
        return []
