"""Lots depend on texts alone: equal texts fall on one side, order and company do not matter, numbers are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.split import LOTS, HoldOut, draw, lot
from jumok.errors import ConfigError, DataError

texts = st.lists(st.text(max_size=5), min_size=2, max_size=60)


@given(st.text())
def test_a_lot_is_a_number_of_the_text_alone(text):
    assert 0 <= lot(text) == lot("".join(list(text))) < LOTS


def test_lots_are_those_of_every_run_before():
    """A run's held-out examples are held out for good."""
    assert lot("") == 0xE4A6A0577479B2B4
    assert lot("넌 누구니?") == 0xBE4585C512597F47


@given(texts, st.integers(1, 59))
def test_equal_texts_fall_on_one_side_and_the_number_is_kept(found, wanted):
    if wanted >= len(found):
        with pytest.raises(ConfigError, match=r"data\.hold_out = \d+ leaves nothing of \d+ texts to train on"):
            HoldOut.count(found, wanted, most=9, unit="texts")
        return
    hold_out = HoldOut.count(found, wanted, most=9, unit="texts")
    held, rest = (list(hold_out.part(found, str, held_out=side)) for side in (True, False))
    assert sorted(held + rest) == sorted(found)
    assert not set(held) & set(rest)
    assert len(held) >= wanted
    assert len(held) == wanted or held.count(max(held, key=lot)) > len(held) - wanted, "only equals come on top"
    assert HoldOut.count(reversed(found), wanted, most=9, unit="texts").largest == hold_out.largest


def numbered(count):
    return [f"text {number}" for number in range(count)]


@pytest.mark.parametrize(("count", "held"), [(2, 1), (39, 1), (100, 5), (1000, 30)])
def test_without_a_number_one_in_twenty_is_held_out_up_to_a_limit(count, held):
    hold_out = HoldOut.count(numbered(count), 0, most=30, unit="texts")
    assert len(list(hold_out.part(numbered(count), str, held_out=True))) == held


def test_too_few_are_refused():
    with pytest.raises(DataError, match="19 texts are too few to hold some out for val; name val files"):
        HoldOut.count(numbered(19), 0, most=30, unit="texts", least=20)


def test_a_share_is_about_that_share():
    found = numbered(5000)
    small, large = ({*HoldOut.share(share).part(found, str, held_out=True)} for share in (0.1, 0.4))
    assert 0.08 < len(small) / 5000 < 0.12
    assert 0.37 < len(large) / 5000 < 0.43
    assert small < large


def test_a_larger_limit_adds_to_a_smaller_one():
    found = numbered(50)
    few, more = (draw(found, count, str, unit="texts") for count in (7, 20))
    assert more[:7] == few
    assert set(draw(found[::-1], 7, str, unit="texts")) == set(few)
    with pytest.raises(ConfigError, match=r"data\.limit = 51, but there are only 50 training texts"):
        draw(found, 51, str, unit="texts")


def test_half_a_surrogate_has_a_lot_too():
    assert lot("\ud800") != lot("\udfff")
