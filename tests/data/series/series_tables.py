"""Tables for the tests of series."""

import numpy as np

from jumok.config import SeriesData
from jumok.data.series.series_corpora import SeriesCorpora


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path.name


def rows(values, *, first=0, name=None, begin="2020-01-01", unit="h"):
    """Return lines of a date, a series where there is a name, and values (n, columns)."""
    dates = np.datetime64(begin) + (first + np.arange(len(values))) * np.timedelta64(1, unit)
    lines = []
    for date, row in zip(dates, values, strict=True):
        cells = [
            str(date).replace("T", " "),
            *([name] if name else []),
            *("" if cell != cell else repr(float(cell)) for cell in row),
        ]
        lines.append(",".join(cells) + "\n")
    return lines


def open_corpora(folder, **data):
    return SeriesCorpora(SeriesData.parse({"look_back": 5, "horizon": 3, **data}, "data"), [folder])
