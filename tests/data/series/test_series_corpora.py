"""Series of a recipe: which rows are whose, what comes before what, and what is told or refused."""

import numpy as np
import pytest
from series_tables import open_corpora, rows, write

from jumok.config import SeriesFile
from jumok.errors import ConfigError, DataError

HEAD, PANEL = "date,a,b\n", "date,id,a,b\n"


def numbers(count, columns=2, first=0):
    """Return values that say which row they are of."""
    return np.arange(first, first + count)[:, None] + np.arange(columns) / 8


def panel(lengths, *, first=0):
    return {name: rows(numbers(length, first=first), first=first, name=name) for name, length in lengths.items()}


# --- windows and splits


@pytest.mark.parametrize(("horizon", "windows"), [(96, 2785), (192, 2689), (336, 2545), (720, 2161)])
def test_val_of_etts_lengths_has_the_benchmarks_windows(tmp_path, horizon, windows):
    for name, first, count in (("train", 0, 8640), ("val", 8640, 2880)):
        write(tmp_path / f"{name}.csv", "date,a\n" + "".join(rows(numbers(count, 1), first=first)))
    corpora = open_corpora(tmp_path, train="train.csv", val="val.csv", date="date", look_back=336, horizon=horizon)
    assert len(corpora.train) == 8640 - 336 - horizon + 1
    (val,) = corpora.evaluation("val").values()
    assert len(val) == windows == 2880 - horizon + 1
    assert corpora.filled_in.season == 24


def test_a_look_back_reaches_before_its_split_and_targets_never_do(tmp_path):
    write(tmp_path / "train.csv", HEAD + "".join(rows(numbers(20))))
    write(tmp_path / "val.csv", HEAD + "".join(rows(numbers(9, first=20), first=20)))
    write(tmp_path / "test.csv", HEAD + "".join(rows(numbers(6, first=29), first=29)))
    corpora = open_corpora(tmp_path, train="train.csv", val="val.csv", test="test.csv", date="date")
    for split, first, count in (("train", 5, 20), ("val", 20, 9), ("test", 29, 6)):
        (windows,) = corpora.evaluation(split).values()
        everything = windows.values(np.arange(len(windows)))[..., 0]  # (windows, 5 + 3)
        last = 20 if split == "train" else first + count
        assert everything[0].tolist() == list(range(first - 5, first + 3))
        assert everything[-1].tolist() == list(range(last - 8, last))
        assert len(windows) == last - first - 3 + 1


@pytest.mark.parametrize("given", [{"date": "date"}, {}], ids=["dates", "rows"])
@pytest.mark.parametrize("own_history", [False, True])
def test_a_table_that_is_divided_gives_the_windows_of_its_parts(tmp_path, given, own_history):
    lines = rows(numbers(40)) if given else [",".join(map(repr, row)) + "\n" for row in numbers(40).tolist()]
    head = HEAD if given else "a,b\n"
    for name, part in (("all", lines), ("train", lines[:24]), ("val", lines[24:32]), ("test", lines[32:])):
        write(tmp_path / f"{name}.csv", head + "".join(part))
    parts = open_corpora(
        tmp_path, train="train.csv", val="val.csv", test="test.csv", own_history=own_history, horizon=2, **given
    )
    borders = [(0.6, 0.8), (24, 32)]
    if given:
        borders.append(("2020-01-02 00:00", "2020-01-02 08:00"))
    for val_from, test_from in borders:
        one = open_corpora(
            tmp_path,
            train="all.csv",
            val_from=val_from,
            test_from=test_from,
            own_history=own_history,
            horizon=2,
            **given,
        )
        assert one.filled_in.mean == pytest.approx(parts.filled_in.mean)
        for split in ("train", "val", "test"):
            (mine,), (theirs,) = one.evaluation(split).values(), parts.evaluation(split).values()
            np.testing.assert_array_equal(mine.values(np.arange(len(mine))), theirs.values(np.arange(len(theirs))))
            np.testing.assert_array_equal(mine.dates(np.arange(len(mine))), theirs.dates(np.arange(len(theirs))))


def test_without_val_a_fifth_is_held_out(tmp_path):
    write(tmp_path / "x.csv", HEAD + "".join(rows(numbers(50))))
    corpora = open_corpora(tmp_path, train="x.csv", date="date")
    (held_out,) = corpora.evaluation("val").values()
    assert held_out.begin.tolist() == [40]
    assert corpora.train.end.tolist() == [40]
    assert corpora.filled_in.mean[0] == pytest.approx(19.5)
    with pytest.raises(DataError, match=r"the recipe has no test data"):
        corpora.evaluation("test")


def test_a_share_of_a_panel_is_one_date_for_all(tmp_path):
    """What one series did in val's time may tell of another: no series may learn from it."""
    lines = panel({"long": 60, "short": 20})
    later = rows(numbers(40), first=50, name="late")
    write(tmp_path / "x.csv", PANEL + "".join(lines["long"] + lines["short"] + later))
    corpora = open_corpora(tmp_path, train="x.csv", date="date", id="id")
    train, (val,) = corpora.train, corpora.evaluation("val").values()
    last = max(
        train.store.dates[first + end - 1] for first, end in zip(train.store.offsets, train.end, strict=False) if end
    )
    first = min(val.store.dates[val.store.offsets[k] + row] for k, row in enumerate(val.begin) if row < val.end[k])
    assert last < first


@pytest.mark.parametrize("order", ["by series", "by date", "shuffled"])
def test_rows_of_a_panel_may_stand_in_any_order(tmp_path, order):
    lengths = {"x": 31, "y": 17, "z": 8}
    lines = panel(lengths)
    every = [line for part in lines.values() for line in part]
    if order == "by date":
        every.sort(key=lambda line: line.split(",")[0])
    elif order == "shuffled":
        np.random.default_rng(1).shuffle(every)
    write(tmp_path / "x.csv", PANEL + "".join(every))
    store = open_corpora(tmp_path, train="x.csv", date="date", id="id").train_rows
    assert dict(zip(store.names, store.lengths.tolist(), strict=True)) == lengths
    for k, name in enumerate(store.names):
        own = store.values[store.offsets[k] : store.offsets[k + 1]]
        np.testing.assert_array_equal(own, numbers(lengths[name]))
        assert (np.diff(store.dates[store.offsets[k] : store.offsets[k + 1]]) > 0).all()
    assert any("not in the order of time" in note for note in store.notes) == (order == "shuffled")


def test_windows_of_unequal_series_never_cross_from_one_to_the_next(tmp_path):
    lines = panel({"x": 31, "y": 7, "z": 11})
    write(tmp_path / "x.csv", PANEL + "".join(line for part in lines.values() for line in part))
    windows = open_corpora(tmp_path, train="x.csv", val_from=1000, date="date", id="id").train
    assert windows.counts.tolist() == [24, 0, 4]
    assert (np.diff(windows.values(np.arange(len(windows)))[..., 0], axis=1) == 1).all()
    assert "train: 1 of 3 series too short for a window of 5 + 3 steps" in windows.store.notes


def test_a_series_that_train_lacks_has_its_own_rows_for_history(tmp_path):
    write(tmp_path / "train.csv", PANEL + "".join(panel({"x": 20})["x"]))
    later = panel({"x": 6, "new": 12}, first=20)
    write(tmp_path / "val.csv", PANEL + "".join(later["x"] + later["new"]))
    corpora = open_corpora(tmp_path, train="train.csv", val="val.csv", date="date", id="id")
    (val,) = corpora.evaluation("val").values()
    assert dict(zip(val.store.names, val.counts.tolist(), strict=True)) == {"x": 4, "new": 5}
    assert any("1 series that the training tables lack" in note for note in val.store.notes)


def test_two_columns_may_name_a_series(tmp_path):
    text = "scene,ped,frame,x,y\n" + "".join(
        f"{scene},{ped},{10 * step},{step},0\n" for step in range(9) for scene in "ab" for ped in (1, 2)
    )
    write(tmp_path / "x.csv", text)
    store = open_corpora(tmp_path, train="x.csv", id=["scene", "ped"], date="frame", paths=True).train_rows
    assert store.names == ["a / 1", "a / 2", "b / 1", "b / 2"]
    assert store.date_kind == "number"


# --- missing steps


def with_missing_steps():
    kept = [step for step in range(40) if step not in (12, 13, 30)]
    lines = rows(numbers(40))
    return kept, HEAD + "".join(lines[step] for step in kept)


def test_missing_steps_split_a_series_or_are_filled_in(tmp_path):
    kept, text = with_missing_steps()
    write(tmp_path / "x.csv", text)
    split = open_corpora(tmp_path, train="x.csv", date="date", interval="1h", val_from=1000).train
    assert split.store.lengths.tolist() == [12, 16, 9]
    assert (np.diff(split.values(np.arange(len(split)))[..., 0], axis=1) == 1).all()
    assert any("2 steps of more or less than 1h: series are split there, into 3" in note for note in split.store.notes)
    filled = open_corpora(
        tmp_path, train="x.csv", date="date", interval="1h", missing="fill", calendar=["hour"]
    ).train.store
    assert len(filled.values) == 40
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(filled.values[:, 0])), kept)
    assert (np.diff(filled.dates) == 3600 * 10**6).all()
    assert np.isfinite(filled.values[:, 2:]).all()  # the calendar knows
    assert any("3 missing steps of 1h filled in" in note for note in filled.notes)


def test_without_an_interval_each_row_is_the_next_step_and_missing_steps_are_told(tmp_path):
    _, text = with_missing_steps()
    write(tmp_path / "x.csv", text)
    store = open_corpora(tmp_path, train="x.csv", date="date").train.store
    assert store.lengths.tolist() == [37]
    (note,) = (note for note in store.notes if "not the usual 1h" in note)
    assert note.startswith("2 of 36 steps")
    assert "after 2020-01-01 11:00" in note


def test_trading_days_need_no_weekends(tmp_path):
    days = np.busday_offset("2020-01-01", np.arange(60))
    write(tmp_path / "x.csv", "date,a\n" + "".join(f"{day},{number}\n" for number, day in enumerate(days)))
    corpora = open_corpora(tmp_path, train="x.csv", date="date")
    assert corpora.train.store.notes == []
    assert corpora.filled_in.season == 5


def test_steps_may_be_missing_between_train_and_val(tmp_path):
    write(tmp_path / "train.csv", HEAD + "".join(rows(numbers(20))))
    write(tmp_path / "val.csv", HEAD + "".join(rows(numbers(12, first=22), first=22)))
    given = {"train": "train.csv", "val": "val.csv", "date": "date", "interval": "1h"}
    (split,) = open_corpora(tmp_path, **given).evaluation("val").values()
    assert len(split) == 12 - 8 + 1
    (filled,) = open_corpora(tmp_path, **given, missing="fill").evaluation("val").values()
    assert filled.begin.tolist() == [5]
    assert len(filled) == 14 - 3 + 1


def test_uneven_dates_cannot_be_filled(tmp_path):
    write(tmp_path / "x.csv", "date,a\n2020-01-01 00:00,1\n2020-01-01 01:00,1\n2020-01-01 01:20,1\n")
    with pytest.raises(DataError, match=r"from 2020-01-01 01:00 to 2020-01-01 01:20 is no whole number of steps of 1h"):
        _ = open_corpora(tmp_path, train="x.csv", date="date", interval="1h", missing="fill").train_rows
    write(tmp_path / "y.csv", "date,a\n2020-01-01,1\n2024-01-02,1\n")
    with pytest.raises(DataError, match=r"would make more than 10 times as many rows"):
        _ = open_corpora(tmp_path, train="y.csv", date="date", interval="1d", missing="fill").train_rows


# --- static columns and the calendar


def test_static_columns_become_features(tmp_path):
    kinds = {"x": ("10", "red"), "y": ("20", "blue"), "z": ("30", "red")}
    lines = ["id,size,colour,a\n"]
    lines += [f"{name},{size},{colour},{step}\n" for name, (size, colour) in kinds.items() for step in range(20)]
    write(tmp_path / "train.csv", "".join(lines))
    write(
        tmp_path / "val.csv", "id,size,colour,a\n" + "".join(f"x,10,red,{step}\nnew,,green,1\n" for step in range(12))
    )
    corpora = open_corpora(tmp_path, train="train.csv", val="val.csv", id="id", static=["size", "colour"])
    data = corpora.filled_in
    assert data.categories == {"colour": ["blue", "red"]}
    assert data.static_mean[0] == pytest.approx(20)
    static = corpora.train.store.static
    np.testing.assert_allclose(static, [[-(1.5**0.5), 0, 1], [0, 1, 0], [1.5**0.5, 0, 1]])
    (val,) = corpora.evaluation("val").values()
    by_name = dict(zip(val.store.names, val.store.static.tolist(), strict=True))
    assert by_name["new"] == [0, 0, 0]
    assert any("1 name that the training data lacks, such as 'green'" in note for note in val.store.notes)
    assert val.arrays(np.array([0])).static.shape == (1, 3)


def test_a_static_column_that_changes_is_refused(tmp_path):
    write(tmp_path / "x.csv", "id,size,a\nx,1,2\nx,2,2\n")
    with pytest.raises(
        DataError, match=r"the static column 'size' changes within series x \('1', '2'\); name it in data.past"
    ):
        _ = open_corpora(tmp_path, train="x.csv", id="id", static="size").train


def test_calendar_features_are_further_known_columns(tmp_path):
    write(tmp_path / "x.csv", HEAD + "".join(rows(numbers(50))))
    corpora = open_corpora(tmp_path, train="x.csv", date="date", known="b", calendar=["hour", "weekday"])
    assert corpora.train.store.columns == ["a", "b", "hour sine", "hour cosine", "weekday sine", "weekday cosine"]
    assert corpora.train.arrays(np.array([0])).known.shape == (1, 3, 5)
    write(tmp_path / "y.csv", "step,a\n" + "".join(f"{step},1\n" for step in range(30)))
    with pytest.raises(
        DataError, match=r"column 'step' has step numbers, so there is no calendar; leave data.calendar out"
    ):
        _ = open_corpora(tmp_path, train="y.csv", date="step", calendar=["hour"]).train


# --- what is told and refused


def test_val_that_overlaps_train_is_refused(tmp_path):
    write(tmp_path / "train.csv", PANEL + "".join(panel({"x": 20})["x"]))
    write(tmp_path / "val.csv", PANEL + "".join(panel({"x": 12}, first=18)["x"]))
    corpora = open_corpora(tmp_path, train="train.csv", val="val.csv", date="date", id="id")
    with pytest.raises(DataError) as error:
        corpora.evaluation("val")
    assert (
        "overlaps what comes before it in 1 series: its rows of series x begin at 2020-01-01 18:00, and the earlier ones end at 2020-01-01 19:00"
        in str(error.value)
    )


def test_rows_that_stand_there_twice_are_left_out_and_told(tmp_path):
    lines = rows(numbers(20))
    write(tmp_path / "x.csv", HEAD + "".join([*lines, lines[3], lines[3], lines[7]]))
    store = open_corpora(tmp_path, train="x.csv", date="date").train_rows
    np.testing.assert_array_equal(store.values, numbers(20))
    assert "left out, as they stand there twice: 3 rows" in store.notes


def test_a_row_without_a_series_is_refused(tmp_path):
    write(tmp_path / "x.csv", "id,a\nx,1\n,2\n")
    with pytest.raises(DataError, match=r"x.csv line 3 does not say which series it belongs to; fill in id"):
        _ = open_corpora(tmp_path, train="x.csv", id="id").train


@pytest.mark.parametrize("transform", ["log", "log-return"])
def test_what_has_no_logarithm_is_refused(tmp_path, transform):
    values = 1 + numbers(40)
    values[7, 1] = 0
    write(tmp_path / "x.csv", HEAD + "".join(rows(values)))
    with pytest.raises(DataError) as error:
        _ = open_corpora(tmp_path, train="x.csv", date="date", transform=transform).train
    assert (
        "1 value to forecast is zero or negative, which has no logarithm ('b', 2020-01-01 07:00); set data.transform"
        in str(error.value)
    )


def test_constant_columns_are_told_and_zero_to_a_model(tmp_path):
    values = numbers(40)
    values[:, 1] = 7
    write(tmp_path / "x.csv", HEAD + "".join(rows(values)))
    train = open_corpora(tmp_path, train="x.csv", date="date").train
    assert "columns that are constant in the training rows: b" in train.store.notes
    assert (train.arrays(np.arange(4)).past[..., 1] == 0).all()


def test_too_little_history_is_refused(tmp_path):
    write(tmp_path / "x.csv", HEAD + "".join(rows(numbers(20))))
    with pytest.raises(
        DataError,
        match=r"no series of train has a window: its longest history is 16 steps, and look_back \+ horizon are 30 \+ 3",
    ):
        _ = open_corpora(tmp_path, train="x.csv", date="date", look_back=30).train
    with pytest.raises(
        DataError, match=r"val has 4 steps at most in a series, and a window's targets are 6; lower data.horizon"
    ):
        open_corpora(tmp_path, train="x.csv", date="date", horizon=6).evaluation("val")


def test_zones_are_told(tmp_path):
    write(tmp_path / "x.csv", "date,a\n" + "".join(f"2020-01-{day:02}T09:00+09:00,1\n" for day in range(1, 29)))
    store = open_corpora(tmp_path, train="x.csv", date="date").train_rows
    assert store.notes == ["dates have time zones (+0900); they are kept in UTC"]


@pytest.mark.parametrize(
    ("zone", "told"),
    [("Asia/Seoul", "dates have time zones (Asia/Seoul); they are kept in UTC"), ("UTC", ""), (None, "")],
)
def test_zones_of_parquet_are_told(tmp_path, zone, told):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    times = np.datetime64("2020-01-01T00:00", "us") + np.arange(28) * np.timedelta64(1, "D")
    dates = pyarrow.array(times, pyarrow.timestamp("us", tz=zone))
    parquet.write_table(pyarrow.table({"date": dates, "a": np.arange(28.0)}), tmp_path / "x.parquet")
    corpora = open_corpora(tmp_path, train="x.parquet", date="date")
    assert corpora.train_rows.notes == [told] * bool(told)
    np.testing.assert_array_equal(corpora.train_rows.dates, times.astype(np.int64))
    assert corpora.train_rows.zoned == bool(zone)


@pytest.mark.parametrize("zoned", ["train", "val"])
def test_train_and_val_have_zones_or_none(tmp_path, zoned):
    for name, month in (("train", 1), ("val", 2)):
        zone = "Z" if name == zoned else ""
        lines = (f"2020-{month:02}-{day:02}T09:00{zone},{day}\n" for day in range(1, 29))
        write(tmp_path / f"{name}.csv", "date,a\n" + "".join(lines))
    with pytest.raises(
        DataError, match=r"val\.csv: its dates have (a|no) time zone and those of earlier tables have (none|one); write"
    ):
        open_corpora(tmp_path, train="train.csv", val="val.csv", date="date").evaluation("val")


def test_thousands_are_told(tmp_path):
    write(tmp_path / "x.csv", "date,a\n" + "".join(f'2020-01-{day:02},"1,{day:03}"\n' for day in range(1, 29)))
    store = open_corpora(tmp_path, train="x.csv", date="date").train_rows
    assert store.values[:3, 0].tolist() == [1001, 1002, 1003]
    assert store.notes == ["x.csv: commas stand between thousands, as in 1,001"]


def test_a_run_needs_its_training_tables_no_more(tmp_path):
    write(tmp_path / "train.csv", HEAD + "".join(rows(numbers(50))))
    filled = open_corpora(tmp_path, train="train.csv", date="date").filled_in
    (tmp_path / "train.csv").unlink()
    write(tmp_path / "own.csv", HEAD + "".join(rows(numbers(20), first=10)))
    run = open_corpora(tmp_path, **filled.model_dump(exclude={"test", "val"}, exclude_defaults=True))
    assert len(run.own_store(SeriesFile(file="own.csv"))) == 20 - 8 + 1


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"val_from": "tomorrow", "date": "date"}, "data.val_from = 'tomorrow' is no date that jumok can read"),
        ({"val_from": 1.5, "date": "date"}, "a share must be above 0 and below 1"),
        ({"val_from": -3, "date": "date"}, "data.val_from = -3: must be a row of each series"),
        ({"val_from": 0.8, "test_from": 0.5, "date": "date"}, "data.test_from = 0.5 is before data.val_from = 0.8"),
        ({"val_from": 0.8, "val": "x.csv", "date": "date"}, "data.val_from and data.test_from divide train's tables"),
        ({"interval": "10", "date": "date"}, "data.interval = '10' does not fit dates; write a time"),
        ({"calendar": ["hour"]}, "data.calendar needs data.date"),
        ({"set": "waves"}, "needs either set"),
        ({"train": [], "set": "wave"}, "data.set = 'wave' is no set of series; did you mean 'waves'?"),
        ({"date": "date", "targets": ["a"], "known": ["a"]}, "the column a has two uses"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(tmp_path, data, told):
    write(tmp_path / "x.csv", HEAD + "".join(rows(numbers(60))))
    with pytest.raises(ConfigError) as error:
        open_corpora(tmp_path, **{"train": "x.csv", **data}).evaluation("val")
    assert told in str(error.value)


# --- the cache and runs


def test_a_store_is_read_once(tmp_path, monkeypatch):
    from jumok.data.series import series_corpora

    write(tmp_path / "x.csv", HEAD + "".join(rows(numbers(50), begin="1999-01-01")))
    one = open_corpora(tmp_path, train="x.csv", date="date")
    filled, fingerprint = one.filled_in, one.fingerprint
    monkeypatch.setattr(series_corpora, "build_store", None)  # whoever calls it fails
    again = series_corpora.SeriesCorpora(filled, [tmp_path])
    assert again.filled_in == filled
    assert again.fingerprint == fingerprint
    np.testing.assert_array_equal(again.train.values(np.arange(3)), one.train.values(np.arange(3)))


def test_other_rows_are_another_fingerprint(tmp_path):
    write(tmp_path / "x.csv", HEAD + "".join(rows(numbers(50))))
    write(tmp_path / "y.csv", HEAD + "".join(rows(numbers(51))))
    found = {
        open_corpora(tmp_path, train="x.csv", date="date").fingerprint,
        open_corpora(tmp_path, train="y.csv", date="date").fingerprint,
        open_corpora(tmp_path, train="x.csv", date="date", targets="a").fingerprint,
        open_corpora(tmp_path, train="x.csv", date="date", val_from=30).fingerprint,
    }
    assert len(found) == 4


def test_a_table_of_ones_own_is_its_own_history(tmp_path):
    write(tmp_path / "train.csv", HEAD + "".join(rows(numbers(50))))
    write(tmp_path / "own.csv", HEAD + "".join(rows(numbers(20), first=10)))
    windows = open_corpora(tmp_path, train="train.csv", date="date").own_store(SeriesFile(file="own.csv"))
    assert len(windows) == 20 - 8 + 1


def test_waves_need_no_file(tmp_path):
    corpora = open_corpora(tmp_path, set="waves", look_back=48, horizon=24)
    data = corpora.filled_in
    assert (data.date, data.id, data.targets, data.known, data.season) == (
        "date",
        ["series"],
        ["value"],
        ["holiday"],
        24,
    )
    counts = {split: len(next(iter(corpora.evaluation(split).values()))) for split in ("train", "val", "test")}
    assert counts["train"] > 5 * counts["val"] > 0
    assert counts["test"] == counts["val"]
