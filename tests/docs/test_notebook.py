"""The notebook of docs/look.md: its cells run in order, offline, and show an alignment that is right."""

import ast
import contextlib
import html
import io
import json
import re
import time
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

NOTEBOOK = Path(__file__).parents[2] / "docs" / "look.ipynb"
WORDS = {"I": "나는", "buy": "산다", "books": "책을", "today": "오늘"}


def read():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def source(cell):
    return "".join(cell["source"])


def run(text, names):
    """Run a cell as a notebook does; return its last value and what it printed."""
    tree, printed, value = ast.parse(text), io.StringIO(), None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return value, printed.getvalue()


@pytest.fixture(scope="module")
def done():
    """Return what each cell gave and printed, by its name; and all names at the end."""
    names, found, started = {}, {}, time.perf_counter()
    for cell in read()["cells"]:
        if cell["cell_type"] == "code":
            found[cell["id"]] = run(source(cell), names)
    print(f"\nthe notebook ran in {time.perf_counter() - started:.1f} s")
    return found, names


def test_it_is_stored_without_outputs_and_in_the_form_of_notebooks():
    notebook = read()
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        assert re.fullmatch(r"[\w-]{1,64}", cell["id"])
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None), "outputs grow stale: clear them"
        else:
            assert cell["cell_type"] == "markdown"
            assert set(cell) == {"cell_type", "id", "metadata", "source"}


def test_from_text_to_alignment_takes_ten_lines():
    (cell,) = [cell for cell in read()["cells"] if cell["id"] == "alignment"]
    lines = [line for line in source(cell).splitlines() if line.strip()]
    assert len(lines) + 1 <= 10, "the import of jumok counts, too"
    assert lines[0].startswith("run = "), "another translator is one other line"


def test_the_alignment_is_right(done):
    found, names = done
    assert names["explanation"].answer.text == "I buy books today"
    alignment = names["alignment"]
    assert alignment.keys == (*names["text"].split(), "[END]")
    assert_close(alignment.weights.sum(dim=-1), torch.ones(2, 5))
    shown = dict(re.findall(r"(\S+) ← (\S+) \d+%", found["alignment"][1]))
    assert {word: shown[word] for word in WORDS} == WORDS


def test_pages_show_themselves(done):
    found, names = done
    for cell, sides in (
        ("shipped", ["Who are you?", "누구"]),
        ("page", ["나는", "책을"]),
        ("own-page", ["encoder", "cross", "decoder"]),
    ):
        shown = found[cell][0]._repr_html_()
        assert shown.startswith('<iframe srcdoc="')
        inside = json.loads(re.search(r'id="data">(.*?)</script>', html.unescape(shown), re.DOTALL)[1])
        for one in sides:
            assert one in json.dumps(inside, ensure_ascii=False)
    with torch.inference_mode():
        assert_close(names["observed"], names["model"](names["source"], names["target"]))
    assert found["own"][0][0] == ["encoder", "decoder", "cross"]


def test_numbers_by_hand_heads_and_what_if(done):
    found, names = done
    assert found["by-hand"][0] < 1e-5
    worth = names["worth"]
    assert [one.lost for one in worth] == sorted((one.lost for one in worth), reverse=True)
    assert len(found["heads"][1].splitlines()) == 5
    answers = names["answers"]
    assert answers["as it is"].text == names["explanation"].answer.text
    hidden = names["translator"].explain(names["text"], without_tokens=[1]).answer.text
    assert answers["a token hidden"].text == hidden
    assert "today" not in hidden, "nobody could look at 오늘"
