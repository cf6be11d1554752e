"""Windows: the future never shows in the past, and what was scaled comes back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import SeriesData
from jumok.data.series.scaling import measure
from jumok.data.series.series_store import SeriesStore
from jumok.data.series.windows import Windows

TRANSFORMS = ["none", "log", "difference", "log-return"]
LENGTHS = [29, 7, 13]  # of three series; the second is too short for a window
TARGETS, PAST, KNOWN = 2, 1, 2
LOOK_BACK, HORIZON = 7, 3


def make_store(seed, missing=0.0):
    draw = np.random.default_rng(seed)
    values = np.exp(draw.normal(size=(sum(LENGTHS), TARGETS + PAST + KNOWN)))
    values[draw.random(values.shape) < missing] = np.nan
    offsets = np.cumsum([0, *LENGTHS])
    names = [f"column {number}" for number in range(values.shape[1])]
    return SeriesStore(values, np.arange(len(values)), offsets, np.zeros((3, 0)), ["x", "y", "z"], names, "row", [])


def make_windows(store, transform, scale="column"):
    data = SeriesData(
        targets=[0, 1], past=[2], known=[3, 4], look_back=LOOK_BACK, horizon=HORIZON, transform=transform, scale=scale
    )
    begin, end = np.zeros(3, dtype=np.int64), np.array(LENGTHS)
    mean, deviation = measure(store, begin, end, data)
    return Windows(store, data.model_copy(update={"mean": mean, "deviation": deviation}), begin, end)


@pytest.mark.parametrize("transform", TRANSFORMS)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_nothing_after_the_first_target_changes_the_past(transform, seed, missing):
    store = make_store(seed, missing)
    windows = make_windows(store, transform)
    before = windows.arrays(np.arange(len(windows)))
    number = seed % len(windows)
    ((series,), (row,)) = windows.locate(np.array([number]))
    place = store.offsets[series] + row
    store.values[place:, : TARGETS + PAST] = np.exp(
        np.random.default_rng(seed + 1).normal(size=(store.rows - place, TARGETS + PAST))
    )
    store.values[place + HORIZON :] = np.nan
    after = windows.arrays(np.arange(len(windows)))
    for name in ("past", "observed", "known", "static", "level"):
        np.testing.assert_array_equal(getattr(before, name)[number], getattr(after, name)[number])


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("scale", ["column", "none"])
def test_scaling_is_undone_exactly(transform, scale):
    windows = make_windows(make_store(3, 0.2), transform, scale)
    numbers = np.arange(len(windows))
    values = windows.values(numbers)
    _, future, level = windows.scaling.apply(values, LOOK_BACK)
    found = windows.scaling.undo(future[..., :TARGETS], level)
    wanted = values[:, LOOK_BACK:, :TARGETS]
    there = ~np.isnan(found)
    np.testing.assert_array_equal(there, ~np.isnan(wanted) & ~np.isnan(level)[:, None])
    np.testing.assert_allclose(found[there], wanted[there], rtol=1e-13)
    logarithm = np.log if transform.startswith("log") else np.asarray
    np.testing.assert_allclose(
        windows.scaling.transformed(future[..., :TARGETS], level)[there], logarithm(wanted)[there], atol=1e-13
    )


@pytest.mark.parametrize("transform", ["difference", "log-return"])
def test_a_relative_past_is_steps_and_its_future_the_way_from_the_last_value(transform):
    store = make_store(3)
    windows = make_windows(store, transform)
    numbers = np.arange(len(windows))
    arrays, values = windows.arrays(numbers), windows.values(numbers)[..., :TARGETS]
    values = np.log(values) if transform == "log-return" else values
    unit = windows.scaling.units
    assert not arrays.observed[:, 0, :TARGETS].any(), "the step into the first row is not known"
    np.testing.assert_allclose(
        arrays.past[:, 1:, :TARGETS] * unit, np.diff(values[:, :LOOK_BACK], axis=1), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_array_equal(arrays.level, values[:, LOOK_BACK - 1])
    np.testing.assert_allclose(
        arrays.future * unit, values[:, LOOK_BACK:] - values[:, LOOK_BACK - 1 : LOOK_BACK], rtol=1e-4, atol=1e-6
    )


def test_what_a_window_sees_of_the_training_rows_has_mean_0_and_deviation_1():
    store = make_store(5)
    windows = make_windows(store, "none")
    scaled = (store.values - windows.scaling.mean) / windows.scaling.deviation
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_measuring_in_parts_gives_the_same(transform, monkeypatch):
    from jumok.data.series import values

    store = make_store(7, 0.1)
    whole = make_windows(store, transform).data
    monkeypatch.setattr(values, "ROWS", 4)
    parts = make_windows(store, transform).data
    np.testing.assert_allclose(parts.mean, whole.mean, atol=1e-13)
    np.testing.assert_allclose(parts.deviation, whole.deviation)


def test_large_numbers_keep_their_deviation():
    """The difference of two large squares would be noise."""
    store = make_store(9)
    near = make_windows(store, "none").data
    store.values[:] += 1e9
    far = make_windows(store, "none").data
    np.testing.assert_allclose(far.deviation, near.deviation, rtol=1e-5)


def test_every_window_is_located_once():
    windows = make_windows(make_store(1), "none")
    assert windows.counts.tolist() == [20, 0, 4]
    series, rows = windows.locate(np.arange(len(windows)))
    assert len({*zip(series.tolist(), rows.tolist(), strict=True)}) == len(windows) == 24
    assert (rows >= LOOK_BACK).all()
    assert (rows + HORIZON <= np.array(LENGTHS)[series]).all()
    assert np.concatenate(list(windows.in_order(5))).tolist() == list(range(24))


def test_what_is_missing_is_told_and_never_a_value():
    store = make_store(2, 0.4)
    windows = make_windows(store, "none")
    arrays, values = windows.arrays(np.arange(24)), windows.values(np.arange(24))
    np.testing.assert_array_equal(arrays.observed, ~np.isnan(values[:, :LOOK_BACK]))
    np.testing.assert_array_equal(arrays.future_observed, ~np.isnan(values[:, LOOK_BACK:, :TARGETS]))
    assert (arrays.past[~arrays.observed] == 0).all()
    assert np.isfinite(arrays.known).all()
