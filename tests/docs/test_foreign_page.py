"""docs/foreign.md: its examples run as they stand, but for the longest training, and its table is that of the tool."""

import re
import warnings
from pathlib import Path

import pytest
import torch
from inspection.test_architectures import architectures
from lens.test_html import read

import jumok

PAGE = Path(__file__).parents[2] / "docs" / "foreign.md"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Run the examples in order, in a folder of their own; return the folder and the names at the end."""
    folder, names = tmp_path_factory.mktemp("foreign"), {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names |= {"model": architectures.make_model("BERT"), "inputs": architectures.make_inputs("BERT")}
    names |= {"tokenizer": Letters()}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.chdir(folder)
        warnings.simplefilter("ignore")  # T5's biases
        for block in blocks:
            exec(compile(block.replace("range(400)", "range(2)"), "docs/foreign.md", "exec"), names)
    return folder, names


class Letters:
    """A tokenizer with the names of transformers."""

    all_special_ids = ()

    def convert_ids_to_tokens(self, ids):
        return [f"▁{index}" for index in ids]

    def decode(self, ids, *, skip_special_tokens):
        return " ".join(map(str, ids))


def test_every_page_is_written(done):
    folder, _ = done
    assert {path.name for path in folder.iterdir()} == {"page.html", "t5.html", "reverser.html"}


def test_the_t5s_page_follows_what_it_writes(done):
    folder, names = done
    (run,) = read(jumok.lens.html.Page((folder / "t5.html").read_text(encoding="utf-8")))[0]["runs"]
    assert [one["kind"] for one in run["maps"]] == ["encoder", "decoder", "cross"]
    assert run["sides"][run["maps"][0]["keys"]]["labels"] == [*"abcdef", "</s>"]
    assert run["written"]
    assert len(run["sides"][run["output"]]["labels"]) == names["written"].shape[1] - 1


def test_the_reverser_looks_where_it_must(done):
    _, names = done
    assert "".join(chr(letter + ord("a")) for letter in names["answer"]) == "koobeton"


def test_the_marked_weights_are_recorded(done):
    _, names = done
    (found,) = names["record"].maps
    assert (found.kind, tuple(found.weights.shape)) == ("self", (2, 1, 5, 5))
    assert torch.allclose(found.weights.sum(dim=-1), torch.ones(()))


def test_the_table_names_every_architecture():
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| 0 \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, _ in rows] == list(architectures.ARCHITECTURES)
