"""The series of a recipe: tables read into stores, divided by time into train, val and test.

files of [data] → SeriesStore of each split (cached), val's with the last steps of train before it → Windows of the split
Without val files, one store has all rows, and val begins where data.val_from says, test where data.test_from does.

A window belongs to the split that its targets lie in; its look-back may reach before the split.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jumok.cache import cached_folder
from jumok.config import SeriesData, SeriesFile, Split
from jumok.data.builtin import waves
from jumok.data.corpora import Corpora, ProgressCallback
from jumok.data.files import content_hash
from jumok.data.series.borders import Border, border_of, rows_before
from jumok.data.series.build import build_store, names_columns, used_columns, with_targets
from jumok.data.series.reading import MadeTable, Table, open_table
from jumok.data.series.scaling import measure
from jumok.data.series.series_store import SeriesStore
from jumok.data.series.static_features import measure_static, static_features
from jumok.data.series.steps import looked_at, season_of, usual_interval
from jumok.data.series.values import constant_notes, parts, refuse_no_logarithm, refuse_too_large
from jumok.data.series.windows import Windows
from jumok.errors import ConfigError, DataError, counted, did_you_mean

SETS = ("waves",)
VAL_FROM, TEST_FROM = 0.8, 0.9  # of a table's rows; test only of a built-in set

Numbers = NDArray[np.int64]


class SeriesCorpora(Corpora[SeriesData, Windows]):
    """The windows of a recipe's tables."""

    FORMAT = 2
    FILE_IN_RECIPE = '"table.csv"'

    def __init__(
        self, data: SeriesData, folders: Sequence[Path], progress: ProgressCallback = lambda what, done: None
    ) -> None:
        """Take the series of a set or of tables; nothing is read before it is needed."""
        if data.set and data.set not in SETS:
            raise ConfigError(f"data.set = '{data.set}' is no set of series; {did_you_mean(data.set, SETS)}")
        if bool(data.set) == bool(data.train):
            raise ConfigError('[data] needs either set = "waves" (built in) or train = "table.csv"')
        super().__init__(_of_set(data) if data.set else data, folders, progress)

    # --- what is there

    @cached_property
    def resolved(self) -> SeriesData:
        """[data] with its targets: where it names none, all columns of the first training table without another use."""
        return self.data if self.data.targets else with_targets(self.data, self._tables("train")[0])

    @cached_property
    def filled_in(self) -> SeriesData:
        """[data] with what is taken from the training rows: targets, mean, deviation, categories, season."""
        data = self.resolved
        if data.mean and data.season:  # of a run, which needs its training tables no more
            return data
        store, begin, end = self._rows("train")
        if not data.mean:
            refuse_no_logarithm(store, begin, end, data)
            mean, deviation = measure(store, begin, end, data)
            facts = measure_static([text for text, rows in zip(store.static_texts, end, strict=True) if rows], data)
            data = data.model_copy(
                update={
                    "mean": mean,
                    "deviation": deviation,
                    "static_mean": facts.mean,
                    "static_deviation": facts.deviation,
                    "categories": facts.categories,
                }
            )
        if not data.season:
            interval = usual_interval(looked_at(store.dates, store.offsets), store.date_kind)
            data = data.model_copy(update={"season": season_of(interval)})
        return data

    def _tables(self, split: Split) -> list[Table]:
        if self.data.set:
            return [MadeTable.of(Path(self.data.set), waves.columns())]
        by_name = names_columns(self.data if split == "train" else self.resolved)
        return [open_table(self.find(file.file), by_name=by_name) for file in self.data.files(split)]

    # --- stores

    def evaluation(self, split: Split) -> dict[str, Windows]:
        """Return the windows of a split by its title; train is one."""
        if split == "train":
            return {"train": self.train}
        if split == "test" and self.data.test_from and not self.data.set:
            return {"test": self._windows("test")}
        return super().evaluation(split)

    def own_store(self, file: SeriesFile) -> Windows:
        """Return all windows of a table of its own, which is its own history."""
        tables = [open_table(self.find(file.file), by_name=names_columns(self.resolved))]
        store = self._store(tables)
        return self._of(store, np.zeros(len(store), dtype=np.int64), store.lengths, file.title)

    def _train_store(self) -> Windows:
        return self._windows("train")

    def _file_stores(self, split: Split) -> dict[str, Windows]:
        files = self.data.files(split)
        return {files[0].title if len(files) == 1 else split: self._windows(split)}

    def _held_out_stores(self) -> dict[str, Windows]:
        return {"held out": self._windows("val")}

    def _built_in_stores(self, split: Split) -> dict[str, Windows]:
        return {split: self._windows(split)}

    def _windows(self, split: Split) -> Windows:
        store, begin, end = self._rows(split)
        return self._of(store, begin, end, split)

    def _of(self, store: SeriesStore, begin: Numbers, end: Numbers, label: str) -> Windows:
        """Return the windows of some rows of a store, whose static columns become features."""
        data = self.filled_in
        features, unknown = static_features(store.static_texts, data)
        refuse_no_logarithm(store, begin, end, data)
        notes = [*store.notes, *unknown]
        if label == "train":
            notes += constant_notes(store, data)
        else:  # train's own values have been measured
            for k, row, last in parts(store, np.maximum(begin - data.look_back, 0), end):
                refuse_too_large(store, k, row, last, data)
        windows = Windows(replace(store, static=features, notes=notes), data, begin, end)
        if not len(windows):
            raise self._too_short(windows, label)
        short = int(((windows.counts == 0) & (end > begin)).sum())
        if short:
            notes.append(
                f"{label}: {short:,} of {counted(int((end > begin).sum()), 'series', 'series')} too short for a window of "
                f"{data.look_back} + {data.horizon} steps"
            )
        return windows

    def _too_short(self, windows: Windows, label: str) -> DataError:
        data = windows.data
        history, steps = int(windows.end.max(initial=0)), int((windows.end - windows.begin).max(initial=0))
        if steps < data.horizon:
            return DataError(
                f"{label} has {counted(steps, 'step')} at most in a series, and a window's targets are {data.horizon}; lower "
                "data.horizon, or give more rows."
            )
        return DataError(
            f"no series of {label} has a window: its longest history is {counted(history, 'step')}, and look_back + horizon "
            f"are {data.look_back} + {data.horizon}. Lower data.look_back or data.horizon, or give more rows."
        )

    # --- rows of a split

    def _rows(self, split: Split) -> tuple[SeriesStore, Numbers, Numbers]:
        """Return the store of a split, and from which row to which of each series its targets may lie."""
        if split != "train" and not self.data.set and self.data.files(split):
            store = self._later_store(split)
            last = self._ends(self._store_before(split))
            own = [
                int(np.searchsorted(store.dates[first:after], last.get(name, np.iinfo(np.int64).min), side="right"))
                for name, first, after in zip(store.names, store.offsets[:-1], store.offsets[1:], strict=True)
            ]
            return store, np.array(own, dtype=np.int64), store.lengths
        store = self.train_rows
        borders = self._borders
        begin = rows_before(store, borders[split]) if split in borders else np.zeros(len(store), dtype=np.int64)
        following = {"train": "val", "val": "test", "test": ""}[split]
        end = rows_before(store, borders[following]) if following in borders else store.lengths
        if split in borders and self.data.own_history:
            begin = begin + self.data.look_back
        return store, begin, np.maximum(begin, end)

    @cached_property
    def _borders(self) -> dict[str, Border]:
        """Where val and test begin in train's tables."""
        data, store = self.data, self.train_rows
        if not (data.holds_out or data.set):
            return {}
        found = {"val": border_of(store, data.val_from or VAL_FROM, "val_from")}
        if data.test_from or data.set:
            found["test"] = border_of(store, data.test_from or TEST_FROM, "test_from")
            if (rows_before(store, found["test"]) < rows_before(store, found["val"])).any():
                raise ConfigError(
                    f"data.test_from = {data.test_from} is before data.val_from = {data.val_from or VAL_FROM}"
                )
        return found

    @cached_property
    def train_rows(self) -> SeriesStore:
        """All rows of train's tables, those of val and test included where they are taken from them."""
        return self._store(self._tables("train"))

    def _later_store(self, split: Split) -> SeriesStore:
        if split not in self._later:
            history = self._store_before(split)
            self._later[split] = self._store(self._tables(split), history, self._content_before(split))
        return self._later[split]

    @cached_property
    def _later(self) -> dict[Split, SeriesStore]:
        return {}

    def _store_before(self, split: Split) -> SeriesStore:
        """Return the rows that come before a split: val's before test, train's before val."""
        return self._later_store("val") if split == "test" and self.data.val else self.train_rows

    def _content_before(self, split: Split) -> object:
        if split == "test" and self.data.val:
            return [self._train_content, content_hash([self.find(file.file) for file in self.data.val])]
        return self._train_content

    @staticmethod
    def _ends(store: SeriesStore) -> dict[str, int]:
        """Return the last date of each series."""
        return {name: int(store.dates[end - 1]) for name, end in zip(store.names, store.offsets[1:], strict=True)}

    def _store(
        self, tables: Sequence[Table], history: SeriesStore | None = None, content_before: object = None
    ) -> SeriesStore:
        data = self.resolved
        look_back = data.look_back if history is not None and not data.own_history else 0

        def build(folder: Path) -> None:
            build_store(
                folder,
                tables,
                data,
                history=history,
                look_back=look_back,
                progress=lambda rows: self.progress("reading", rows),
            )

        content = waves.VERSION if data.set else content_hash([table.path for table in tables])
        key = self._key("series", [look_back, content_before], [content, [table.path.suffixes for table in tables]])
        return SeriesStore.open(cached_folder(key, build))

    # --- keys of the cache

    @property
    def fingerprint(self) -> str:
        """What the training rows are made of: a resumed run must find the same."""
        data = self.data
        borders = [data.val_from or VAL_FROM, data.test_from] if data.holds_out else []
        return self._key("data", [data.transform, data.look_back, data.horizon, borders])

    @property
    def _settings(self) -> list[object]:
        data = self.resolved
        return [
            data.set,
            [[str(column), use] for column, use in used_columns(data)],
            data.calendar,
            data.interval,
            data.missing,
        ]

    def _content_of_train(self) -> object:
        if self.data.set:
            return waves.VERSION
        return content_hash([self.find(file.file) for file in self.data.train])


def _of_set(data: SeriesData) -> SeriesData:
    """Return the [data] of a built-in set with the uses of its columns, where the recipe does not name them."""
    own = {"date": waves.DATE, "id": [waves.ID], "targets": [waves.TARGET], "known": [waves.KNOWN]}
    return data.model_copy(update={key: value for key, value in own.items() if getattr(data, key) in ("", [])})
