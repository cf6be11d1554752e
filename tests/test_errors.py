"""Messages stay short enough to be read, whatever a damaged file holds."""

from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import LONGEST, DataError, shortened


def test_a_message_of_ordinary_length_stays_as_it_is():
    path = "/".join(["a-folder"] * 40)
    told = f"{path}/table.tsv has no column 'ko'; it has 0 (en). Set source and target."
    assert len(told) < LONGEST
    assert str(DataError(told)) == told


def test_a_long_value_is_cut_and_what_to_do_stays():
    told = str(DataError(f"table.jsonl has no column 'ko'; it has 0 ({'a' * 2000}), 1 ('{'b c ' * 500}'). Set source."))
    assert told.startswith("table.jsonl has no column 'ko'; it has 0 (aaa")
    assert told.endswith("…'). Set source.")
    assert len(told) < 250


def test_a_path_is_shown_whole():
    path = "/".join(["a" * 100] * 4)
    told = str(DataError(f"{path} is damaged ({'x' * 1000}); restore it."))
    assert told.startswith(f"{path} is damaged (xxx")
    assert told.endswith("; restore it.")


def test_lines_are_cut_one_by_one():
    told = str(DataError("\n".join(f"recipe.toml: no part '{letter * 900}'" for letter in "ab")))
    first, second = told.split("\n")
    assert first.startswith("recipe.toml: no part 'aaa")
    assert second.startswith("recipe.toml: no part 'bbb")


@given(st.text(alphabet=st.sampled_from("a /'x\u00e9"), max_size=3000))
def test_no_line_is_longer_than_the_bound_and_a_cut_one_is_not_cut_again(line):
    short = shortened(line)
    assert len(short) <= LONGEST
    assert shortened(short) == short
