"""Cells of a table as numbers: NaN where one is missing; text and infinity are refused with their line."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.errors import DataError

MISSING = frozenset(("", "-", "na", "n/a", "nan", "null", "none", "nat", "<na>", "#n/a"))  # in any case of letters
WORDS = {"true": 1.0, "false": 0.0}
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?(e[+-]?\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*),\d*(e[+-]?\d+)?")


def is_number(text: str, *, decimal_comma: bool = False) -> bool:
    """Return whether a cell holds a number that is there."""
    try:
        return bool(np.isfinite(to_number(text, decimal_comma=decimal_comma)))
    except ValueError:
        return False


def is_missing(text: str) -> bool:
    """Return whether a cell says that there is no value."""
    return text.strip().lower() in MISSING


class NumberReader:
    """Reads the numbers of one table."""

    def __init__(self, path: Path, *, decimal_comma: bool = False) -> None:
        self.path, self.decimal_comma = path, decimal_comma
        self.thousands = ""  # an example of a number whose thousands have a comma, to be told

    def read(self, cells: list[Any] | NDArray[Any], lines: Sequence[int], column: str) -> NDArray[np.float64]:
        """Return the cells of a column as numbers; lines and column are for messages."""
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
            found = cells.astype(np.float64)
        else:
            try:
                found = np.fromiter(map(float, cells), np.float64, len(cells))
            except (ValueError, TypeError, OverflowError):
                found = self._one_by_one(list(cells), lines, column)
        infinite = np.isinf(found)
        if infinite.any():
            line = lines[int(np.argmax(infinite))]
            raise DataError(
                f"{self.path} line {line:,}: column {column!r} is infinite; leave the cell empty where no value is known."
            )
        return found

    def _one_by_one(self, cells: list[Any], lines: Sequence[int], column: str) -> NDArray[np.float64]:
        found = np.empty(len(cells))
        for place, cell in enumerate(cells):
            text = cell.decode("utf-8") if isinstance(cell, bytes) else "" if cell is None else str(cell)
            try:
                found[place] = to_number(text, decimal_comma=self.decimal_comma)
            except ValueError:
                raise _refused(text, self.path, lines[place], column) from None
            if not self.thousands and "," in text and not self.decimal_comma:
                self.thousands = text.strip()
        return found


def to_number(text: str, *, decimal_comma: bool = False) -> float:
    """Return the number in a cell, NaN where it says that there is none; ValueError where it holds text."""
    text = text.strip().lower()
    if text in MISSING:
        return float("nan")
    if text in WORDS:
        return WORDS[text]
    if decimal_comma and DECIMAL_COMMA.fullmatch(text):
        return float(text.replace(".", "").replace(",", "."))
    if not decimal_comma and THOUSANDS.fullmatch(text):
        return float(text.replace(",", ""))
    return float(text)


def _refused(text: str, path: Path, line: int, column: str) -> DataError:
    shown = text if len(text) <= 40 else text[:37] + "…"
    if re.fullmatch(r"[+-]?\d+,\d+", text.strip()):
        cure = "write a point before decimals, or separate columns by semicolons"
    else:
        cure = (
            "mend the cell, leave it empty where no value is known, or leave the column out: data.targets names the "
            "columns to forecast, data.date and data.id those of dates and of names"
        )
    return DataError(f"{path} line {line:,}: {shown!r} in column {column!r} is no number; {cure}.")
