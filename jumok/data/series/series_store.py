"""Series in memory-mapped files: the rows of all series end to end, each series in the order of time.

table → values (N, C) of targets, past-only and known columns; dates (N,); where each series begins; static features
A value that is missing is NaN here. Where steps are missing, a series may be split in two stretches, which are two
series of one name.
"""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jumok.data.store import check_offsets, map_array, read_facts, refuse_damage, write_facts
from jumok.reading import json_of

# N rows · C columns · K series · F static features

FILES = ("values", "dates", "offsets", "static", "names.json", "static.json")
DateKind = str  # "date": microseconds since 1970; "number": step numbers; "row": rows, counted from 0


@dataclass(frozen=True)
class SeriesStore:
    """The series of one or more tables."""

    values: NDArray[np.float64]  # (N, C): targets, then past-only columns, then known ones; NaN where missing
    dates: NDArray[np.int64]  # (N,) as date_kind says
    offsets: NDArray[np.int64]  # (K + 1,): series k is rows offsets[k] to offsets[k + 1]
    static: NDArray[np.float64]  # (K, F): numbers, and 1 at the name of each column of names
    names: list[str]  # (K,) of the series; '' where there is one without a name
    columns: list[str]  # (C,) their names
    date_kind: DateKind
    notes: list[str]  # what a user should know of the tables, one line each
    zoned: bool = False  # whether dates had a time zone; then they are in UTC
    static_texts: list[list[str]] = field(default_factory=list)  # (K, static columns) as the tables have them

    @classmethod
    def open(cls, folder: Path) -> "SeriesStore":
        """Open the store in folder; a missing or cut-off file is a DataError."""
        with refuse_damage(folder, "the store of series"):
            facts = read_facts(folder)
            names = json_of((folder / "names.json").read_text(encoding="utf-8"))
            dates, offsets = map_array(folder / "dates", "<i8"), map_array(folder / "offsets", "<i8")
            check_offsets(offsets, len(dates))
            if len(names) != len(offsets) - 1:
                raise ValueError(f"it names {len(names):,} series and has {len(offsets) - 1:,}")
            return cls(
                values=map_array(folder / "values", "<f8").reshape(len(dates), len(facts["columns"])),
                dates=dates,
                offsets=offsets,
                static=map_array(folder / "static", "<f8").reshape(len(names), -1),
                names=names,
                columns=facts["columns"],
                date_kind=facts["date_kind"],
                notes=facts["notes"],
                zoned=facts["zoned"],
                static_texts=json_of((folder / "static.json").read_text(encoding="utf-8")),
            )

    def save(self, folder: Path) -> None:
        """Write a store that is in memory into folder."""
        arrays = {"values": "<f8", "dates": "<i8", "offsets": "<i8", "static": "<f8"}
        for name, kind in arrays.items():
            (folder / name).write_bytes(np.ascontiguousarray(getattr(self, name), dtype=kind).tobytes())
        self.save_facts(folder)

    def save_facts(self, folder: Path) -> None:
        """Write what stands beside the arrays of numbers into their folder."""
        (folder / "names.json").write_text(json.dumps(self.names), encoding="utf-8")
        (folder / "static.json").write_text(json.dumps(self.static_texts), encoding="utf-8")
        write_facts(folder, FILES, columns=self.columns, date_kind=self.date_kind, notes=self.notes, zoned=self.zoned)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def rows(self) -> int:
        """How many steps all series have."""
        return len(self.dates)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """(K,): how many steps each series has."""
        return np.diff(self.offsets)
