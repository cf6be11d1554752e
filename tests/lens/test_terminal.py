"""The alignment in the terminal: darkest where it looked, columns that stay in line in every script."""

import pytest
import torch
from rich.cells import cell_len

from jumok.lens.terminal import CELL, SHADES, draw_alignment


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
    coloured = draw_alignment(weights, ["q"], ["a", "b"])
    plain = draw_alignment(weights, ["q"], ["a", "b"], colour=False)
    assert coloured.plain == plain.plain
    assert any("rgb" in str(span.style) for span in coloured.spans)
    assert not any("rgb" in str(span.style) for span in plain.spans)
