"""The alignment in the terminal: darkest where it looked, columns that stay in line in every script."""

import io

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from jumok.lens.heat import draw_heat
from jumok.lens.terminal import CELL, SHADES, draw_alignment

LETTERS = st.text(st.sampled_from("ab는좋日🦊"), min_size=1, max_size=9)


def lines_of(weights, queries, keys, **options) -> list[str]:
    return draw_alignment(torch.tensor(weights), queries, keys, **options).plain.rstrip("\n").split("\n")


def test_each_row_is_darkest_where_it_looked():
    lines = lines_of([[0.8, 0.2, 0.0], [0.1, 0.2, 0.7]], ["x", "yy"], ["a", "b", "c"])
    assert lines == [
        "    a b c",
        " x  ██░░    a 80%",
        "yy    ░░██  c 70%",
    ]


def test_shades_grow_with_the_weight():
    row = [0.0, 0.1, 0.25, 0.35, 0.5]
    drawn = lines_of([row], ["q"], list("abcde"))[-1][3 : 3 + CELL * 5]
    levels = [SHADES.index(drawn[CELL * place : CELL * (place + 1)]) for place in range(5)]
    assert levels == sorted(levels)
    assert levels[0] == 0
    assert levels[-1] == len(SHADES) - CELL


def test_labels_are_written_downwards_and_end_on_one_line():
    lines = lines_of([[0.5, 0.5]], ["q"], ["ab", "xyz"])
    assert [line[3:] for line in lines[:3]] == ["  x", "a y", "b z"]


@pytest.mark.parametrize(
    ("queries", "keys"),
    [
        (["나는", "너를", "좋아해"], ["I", "like", "you"]),
        (["I", "like", "you"], ["나", "너를", "좋아해"]),
        (["🦊", "a"], ["[END]", "日", "x"]),
    ],
)
def test_columns_are_as_wide_for_wide_letters(queries, keys):
    width = max(cell_len(label) for label in queries) + 2
    weights = torch.eye(3)[: len(queries)].tolist()
    lines = lines_of(weights, queries, keys)
    for place, line in enumerate(lines[-len(queries) :]):
        before = line[: line.index("█")]
        assert cell_len(before) == width + CELL * place, "the dark cell is not under its key"
    for line in lines[: -len(queries)]:
        assert cell_len(line) <= width + CELL * len(keys)


def test_a_row_of_zeros_is_drawn_empty():
    assert lines_of([[0.0, 0.0]], ["q"], ["a", "b"])[-1] == "q        a 0%"


def test_colour_changes_the_look_and_not_the_text():
    weights = torch.tensor([[0.3, 0.7]])
    coloured = draw_alignment(weights, ["q"], ["a", "b"]).fitted(None)
    plain = draw_alignment(weights, ["q"], ["a", "b"], colour=False).fitted(None)
    assert coloured.plain == plain.plain
    assert any("rgb" in str(span.style) for span in coloured.spans)
    assert not any("rgb" in str(span.style) for span in plain.spans)


@given(st.lists(LETTERS, min_size=1, max_size=4), st.lists(LETTERS, min_size=1, max_size=40), st.integers(24, 120))
def test_no_line_is_wider_than_the_terminal_and_no_column_is_lost(queries, keys, width):
    weights = torch.rand(len(queries), len(keys))
    drawn = draw_alignment(weights, queries, keys).fitted(width).plain.rstrip("\n").split("\n")
    assert max(map(cell_len, drawn)) <= width
    cells = sum(line.count(shade) for line in drawn for shade in "░▒▓█")
    whole = draw_alignment(weights, queries, keys).plain
    assert cells == sum(whole.count(shade) for shade in "░▒▓█")
    blocks = [line for line in drawn if line.startswith("columns ")]
    assert not blocks or blocks[-1].endswith(f" {len(keys)} of {len(keys)}")


def printed(drawing, *, terminal, width=40):
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)
    console.print(drawing, soft_wrap=True)
    return console.file.getvalue().rstrip("\n").split("\n")


def test_a_terminal_gets_what_fits_and_a_file_everything():
    weights, keys = torch.eye(3, 50), [f"k{n}" for n in range(50)]
    drawing = draw_alignment(weights, ["x", "y", "z"], keys)
    assert max(map(len, printed(drawing, terminal=True))) <= 40
    assert printed(drawing, terminal=True)[0] == "columns 1 to 18 of 50"
    assert max(map(len, printed(drawing, terminal=False))) > 100
    assert "\n".join(printed(drawing, terminal=False)) == drawing.plain.rstrip("\n")


def test_a_heat_map_that_is_too_wide_gets_fewer_blocks():
    heat = torch.rand(56, 56)
    lines = printed(draw_heat(heat), terminal=True, width=80)
    assert lines[-1] == "each block: 2 × 2 patches"
    assert len(lines) == 29
    assert {len(line) for line in printed(draw_heat(heat + 1), terminal=False)} == {112}


def test_bytes_of_a_character_are_drawn_as_it():
    lines = lines_of([[0.1, 0.7, 0.1, 0.1]], ["q"], ["a", "<EB>", "<84>", "<8C>"])
    assert lines == ["   a 넌· ·", "q    ██      넌 70%"]
