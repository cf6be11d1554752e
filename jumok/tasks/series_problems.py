"""What is wrong with series: uneven steps, columns that never change or are mostly missing, leaks, too little history.

windows of train and val → the rows of one long series and of all → problems, each with its cure

A leak is a column that tells what is to be forecast: one whose changes are those of a target some steps later; for a column
that is known ahead, at the same step or up to a horizon before, too.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from jumok.data.series.missing_steps import uneven_steps
from jumok.data.series.scaling import Values
from jumok.data.series.values import parts
from jumok.data.series.windows import Windows
from jumok.errors import counted
from jumok.tasks.survey import Problem

# K series · C columns · V targets

MISSING = 0.2  # share of a column's values
SHORT = 0.1  # share of the series that may be too short for a window
FEW_WINDOWS = 200
LOOKED_AT = 5000  # rows of the longest series, the last of training, in which leaks are looked for
LATER = 48  # steps, at most, that a leak is looked for ahead
ALIKE = 0.999  # correlation of changes
COPIED = 0.5  # share of val's rows that may stand in train
DIFFERENT = 0.5  # share of train's rows that are unlike each other, where a copy can be told


def series_problems(train: Windows, held_out: Mapping[str, Windows]) -> list[Problem]:
    """Return what is wrong with training data and held-out data."""
    problems = _steps(train) + _columns(train) + _history(train) + _leaks(train)
    for label, windows in held_out.items():
        problems += _copied(label, windows, train)
    return problems


def _steps(train: Windows) -> list[Problem]:
    store, data = train.store, train.data
    if data.interval:
        return []
    uneven = uneven_steps(store.dates, store.offsets, store.names, store.date_kind)
    if uneven is None:
        return []
    cure = f"set data.interval = '{uneven.usual}', and data.missing = 'fill' or 'split'; as it is, each row is the next step"
    return [(str(uneven), cure)]


def _columns(train: Windows) -> list[Problem]:
    """Return problems of columns that never change, or of which much is missing."""
    store, data = train.store, train.data
    width = len(store.columns)
    missing, rows = np.zeros(width), 0
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    for _, row, last in parts(store, train.begin, train.end):
        values = store.values[row:last]
        absent = np.isnan(values)
        missing += absent.sum(axis=0)
        low = np.minimum(low, np.where(absent, np.inf, values).min(axis=0))
        high = np.maximum(high, np.where(absent, -np.inf, values).max(axis=0))
        rows += last - row
    problems = []
    for column, name in enumerate(store.columns):
        use = (
            "targets"
            if column < len(data.targets)
            else "past"
            if column < len(data.targets) + len(data.past)
            else "known"
        )
        if low[column] >= high[column]:
            problems.append((f"column '{name}' is constant in the training rows", f"leave it out of data.{use}"))
        elif missing[column] > MISSING * rows:
            share = missing[column] / rows
            cure = "is it the right column? Steps without values teach nothing; data.missing = 'fill' adds some"
            problems.append((f"{share:.0%} of column '{name}' are missing in the training rows", cure))
    return problems


def _history(train: Windows) -> list[Problem]:
    data, problems = train.data, []
    if len(train) < FEW_WINDOWS:
        what = f"there are only {counted(len(train), 'training window')} of {data.look_back} + {data.horizon} steps"
        problems.append((what, "lower data.look_back or data.horizon, or give more rows"))
    if data.look_back < data.season:
        what = f"data.look_back ({data.look_back}) is shorter than a season ({data.season} steps)"
        problems.append((what, f"set data.look_back = {data.season} or more, or data.season"))
    there = train.end > train.begin
    short = there & (train.counts == 0)
    if short.sum() > SHORT * there.sum():
        what = f"{short.sum():,} of {there.sum():,} series are too short for a window of {data.look_back} + {data.horizon} steps"
        problems.append((what, "lower data.look_back or data.horizon; nothing is learnt from them"))
    return problems


# --- leaks


def _leaks(train: Windows) -> list[Problem]:
    """Return a problem for each column that tells a target ahead of its time."""
    store, data = train.store, train.data
    k = int(np.argmax(train.end - train.begin))
    first, last = store.offsets[k] + train.begin[k], store.offsets[k] + train.end[k]
    values = np.array(store.values[max(first, last - LOOKED_AT) : last])
    changes = np.diff(values, axis=0)
    targets, past = len(data.targets), len(data.past)
    calendar = 2 * len(data.calendar)
    problems = []
    for column in range(targets, len(store.columns) - calendar):
        known = column >= targets + past
        # A past column may go with a target at its own time; a known one is seen for all steps of the horizon.
        earliest = 1 - data.horizon if known else 1
        for target in range(targets):
            shift = _leads(changes[:, column], changes[:, target], earliest, max(LATER, 1))
            if shift is None:
                continue
            name, wanted = store.columns[column], store.columns[target]
            when = f"{counted(abs(shift), 'step')} {'ahead' if shift > 0 else 'later'}" if shift else "at the same step"
            what = f"column '{name}' moves as the target '{wanted}' does, {when}: it tells what is to be forecast"
            cure = "leave it out" if not known or shift > 0 else "it cannot be known ahead: name it in data.past"
            problems.append((what, cure))
            break
    return problems


def _leads(column: Values, target: Values, earliest: int, latest: int) -> int | None:
    """Return by how many steps, earliest to latest, a column's changes come before the same changes of a target."""
    best, found = ALIKE, None
    for shift in range(max(earliest, -LATER), latest + 1):
        if len(target) <= abs(shift) + 10:
            continue
        one = column[: len(column) - shift] if shift >= 0 else column[-shift:]
        other = target[shift:] if shift >= 0 else target[:shift]
        there = np.isfinite(one) & np.isfinite(other)
        if there.sum() < 10 or not one[there].std() or not other[there].std():
            continue
        alike = abs(float(np.corrcoef(one[there], other[there])[0, 1]))
        if alike > best:
            best, found = alike, shift
    return found


def _copied(label: str, windows: Windows, train: Windows) -> list[Problem]:
    """Return a problem where rows of val stand in train: tables without dates, or the same rows under other dates."""
    learnt, rows = _rows(train), _rows(windows)
    different = set(learnt)
    again = sum(row in different for row in rows)
    # Where few values there are come again and again, that says nothing.
    if len(different) < DIFFERENT * len(learnt) or again <= COPIED * len(rows):
        return []
    what = f"{again:,} of {counted(len(rows), 'step')} of {label} stand in train with the same values"
    return [(what, "what was learnt is scored; divide the table by time, or name no val: the last fifth is held out")]


def _rows(windows: Windows) -> list[bytes]:
    """Return the targets of some rows of a split."""
    store, targets = windows.store, len(windows.data.targets)
    found: list[bytes] = []
    for _, row, last in parts(store, windows.begin, windows.end):
        values: NDArray[np.float64] = np.array(store.values[row:last, :targets])
        found += [row.tobytes() for row in values[np.isfinite(values).all(axis=1)]]
        if len(found) >= 20 * LOOKED_AT:
            break
    return found
