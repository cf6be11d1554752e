"""A user's new table: columns matched by name, the future told from the past."""

import numpy as np
import pytest
from series_tables import open_corpora, write

from jumok.data.series.new_table import read_new_table
from jumok.errors import DataError


def lines(count, *, first=1, name="x", price="1.5", extra=""):
    return "".join(f"2020-01-{day:02},{name},{price},{day % 7 // 6}{extra}\n" for day in range(first, first + count))


@pytest.fixture
def data(tmp_path):
    write(tmp_path / "train.csv", "date,id,price,holiday\n" + lines(31, price="2") + lines(31, name="y", price="3"))
    return open_corpora(
        tmp_path, train="train.csv", date="date", id="id", targets="price", known="holiday", val_from=31
    ).filled_in


def test_the_same_columns_in_any_order(tmp_path, data):
    write(tmp_path / "one.csv", "date,id,price,holiday\n" + lines(9))
    write(
        tmp_path / "two.csv",
        "holiday;price;note;id;date\n" + "".join(f"{day % 7 // 6};1,5;?;x;{day:02}.01.2020\n" for day in range(1, 10)),
    )
    one, two = (read_new_table(tmp_path / name, data) for name in ("one.csv", "two.csv"))
    np.testing.assert_array_equal(one.store.values, two.store.values)
    np.testing.assert_array_equal(one.store.dates, two.store.dates)
    assert one.notes == []
    assert two.notes == ["columns that the run does not use: note"]
    assert one.future_rows.tolist() == [0]


def test_rows_after_the_last_target_are_the_future(tmp_path, data):
    write(
        tmp_path / "new.csv",
        "date,id,price,holiday\n"
        + lines(9)
        + lines(3, first=10, price="")
        + lines(5, name="other")
        + "2020-01-02,y,,1\n",
    )
    found = read_new_table(tmp_path / "new.csv", data)
    assert dict(zip(found.store.names, found.future_rows.tolist(), strict=True)) == {"x": 3, "other": 0, "y": 1}
    assert found.store.lengths.tolist() == [12, 5, 1]
    assert np.isfinite(found.store.values[9:12, 1]).all()  # the holidays that are known ahead


def test_a_hole_in_the_past_is_no_future(tmp_path, data):
    write(
        tmp_path / "new.csv", "date,id,price,holiday\n" + lines(5) + lines(1, first=6, price="NaN") + lines(2, first=7)
    )
    assert read_new_table(tmp_path / "new.csv", data).future_rows.tolist() == [0]


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("date,id,prize,holiday", "has no column 'price', which data.targets names; did you mean 'prize'?"),
        ("when,id,price,holiday", "which data.date names; known: holiday, id, price, when. Name the columns"),
        ("date,id,price,x", "has no column 'holiday', which data.known names"),
    ],
)
def test_a_column_that_is_missing_is_refused(tmp_path, data, head, told):
    write(tmp_path / "new.csv", head + "\n" + lines(9))
    with pytest.raises(DataError) as error:
        read_new_table(tmp_path / "new.csv", data)
    assert told in str(error.value)


def test_the_last_stretch_of_a_series_with_missing_steps_is_the_latest(tmp_path, data):
    given = data.model_copy(update={"interval": "1d"})
    write(tmp_path / "new.csv", "date,id,price,holiday\n" + lines(5) + lines(4, first=9) + lines(6, name="y"))
    found = read_new_table(tmp_path / "new.csv", given)
    assert found.store.names == ["x", "x", "y"]
    assert found.latest == [1, 2]
    assert found.store.lengths[found.latest].tolist() == [4, 6]


def test_columns_without_names_are_matched_by_their_numbers(tmp_path):
    text = "".join(f"{step},{step / 2}\n" for step in range(30))
    write(tmp_path / "train.csv", text)
    data = open_corpora(tmp_path, train="train.csv").filled_in
    write(tmp_path / "new.csv", text)
    write(tmp_path / "named.csv", "a,b\n" + text)
    plain, named = (read_new_table(tmp_path / name, data).store.values for name in ("new.csv", "named.csv"))
    np.testing.assert_array_equal(plain, named)
    write(tmp_path / "narrow.csv", "1\n2\n")
    with pytest.raises(DataError, match=r"narrow\.csv has no column 1, which data.targets names: it has 1 column"):
        read_new_table(tmp_path / "narrow.csv", data)


def test_prices_without_a_logarithm_are_refused(tmp_path, data):
    given = data.model_copy(update={"transform": "log"})
    write(tmp_path / "new.csv", "date,id,price,holiday\n" + lines(5) + lines(1, first=6, price="-1"))
    with pytest.raises(DataError, match=r"no logarithm \('price' of series x, 2020-01-06\)"):
        read_new_table(tmp_path / "new.csv", given)
