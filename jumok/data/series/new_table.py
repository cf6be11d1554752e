"""A user's new table, read with the columns of a run: what is there, and what is known of the future.

table, and the [data] that a run has filled in → columns matched by name → SeriesStore; trailing rows without targets
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import numpy as np
from numpy.typing import NDArray

from jumok.config import SeriesData
from jumok.data.series.build import build_store, names_columns, used_columns
from jumok.data.series.reading import Table, open_table
from jumok.data.series.series_store import SeriesStore
from jumok.data.series.static_features import static_features
from jumok.data.series.values import refuse_no_logarithm
from jumok.errors import DataError
from jumok.writing import reason

# K series


@dataclass(frozen=True)
class NewTable:
    """A table to forecast from.

    A series with missing steps (data.missing = "split") has several stretches in the store, one after another, of one name: what comes
    next is told from the last one.
    """

    store: SeriesStore  # the rows of the future included
    future_rows: NDArray[np.int64]  # (K,): so many last rows of each series have no targets: they are the future
    notes: list[str]  # what a user should know of the table, one line each

    @property
    def latest(self) -> list[int]:
        """The last stretch of each series, in the order of their names' first rows."""
        return list({name: k for k, name in enumerate(self.store.names)}.values())


def read_new_table(path: Path, data: SeriesData) -> NewTable:
    """Read the table at path with the columns that a run's filled-in [data] names."""
    table = open_table(path, by_name=names_columns(data))
    with temporary_folder() as folder:
        build_store(folder, [table], data)
        store = SeriesStore.open(folder)
        store = replace(  # in memory: the folder is removed
            store,
            values=np.array(store.values),
            dates=np.array(store.dates),
            offsets=np.array(store.offsets),
        )
    features, unknown = static_features(store.static_texts, data)
    store = replace(store, static=features)
    refuse_no_logarithm(store, np.zeros(len(store), dtype=np.int64), store.lengths, data)
    notes = [*_extra(table, data), *store.notes, *unknown]
    return NewTable(store, _future_rows(store, len(data.targets)), notes)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder that is removed afterwards; where it cannot be written, as on a full disk, that is told."""
    try:
        with TemporaryDirectory(prefix="jumok-") as folder:
            yield Path(folder)
    except OSError as error:
        raise DataError(
            f"the folder of temporary files, {gettempdir()}, cannot be written ({reason(error)}); free some space "
            "there, or set TMPDIR to another folder."
        ) from None


def _extra(table: Table, data: SeriesData) -> list[str]:
    """Return a note of the columns that the run does not use."""
    used = {table.number(column, use) for column, use in used_columns(data)}
    others = [name for number, name in enumerate(table.names) if number not in used]
    return [f"columns that the run does not use: {', '.join(others)}"] if others else []


def _future_rows(store: SeriesStore, targets: int) -> NDArray[np.int64]:
    """Return how many last rows (K,) of each series have no value of any target."""
    found = []
    for begin, end in zip(store.offsets[:-1], store.offsets[1:], strict=True):
        there = np.asarray(np.isfinite(store.values[begin:end, :targets]).any(axis=1))
        found.append(int(np.argmax(there[::-1])) if there.any() else int(end - begin))
    return np.array(found, dtype=np.int64)
