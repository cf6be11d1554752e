"""docs/start.md: each way is typed in an empty folder, as it stands there, on small data of that kind."""

import re
import shlex
from pathlib import Path

import pytest
import torch
from cli.conftest import jumok
from cli.data_of_ones_own import everything

DOCS = Path(__file__).parents[2] / "docs"
FEW_STEPS = [part for key in ("steps=2", "evaluate_sentences=2", "workers=1") for part in ("--set", f"training.{key}")]


def blocks(page: str, language: str) -> dict[str, str]:
    """Return the code of each section by its number."""
    _, *sections = re.split(r"^## .*$", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {number: re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE) for number, text in enumerate(sections)}  # fmt: skip
    return {str(number): match[1] for number, match in found.items() if match}


@pytest.mark.parametrize("section", blocks("start.md", "sh"))
def test_each_way_is_typed_as_it_stands(section, tmp_path, monkeypatch):
    lines = blocks("start.md", "sh")[section].splitlines()
    assert len(lines) == 5
    monkeypatch.chdir(tmp_path)
    if not lines[0].startswith("jumok sample"):
        everything(tmp_path)
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "jumok"
        done = jumok(*arguments, *(FEW_STEPS if arguments[0] == "train" else []))
        assert done.code == 0, f"{line}\n{done.err}"
        assert done.out.strip()


def test_a_model_of_ones_own(tmp_path, monkeypatch):
    (code,) = blocks("start.md", "python").values()
    monkeypatch.chdir(tmp_path)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(7, 12)
            self.project = torch.nn.Linear(12, 36)

        def forward(self, tokens):
            query, key, value = self.project(self.embed(tokens)).chunk(3, dim=-1)
            return torch.nn.functional.scaled_dot_product_attention(query, key, value)

    names = {"model": Model(), "torch": torch}
    exec(code, names)
    (found,) = names["record"].maps
    assert found.weights.shape[-2:] == (3, 3)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(word in page for word in ("the", "fox", "slept"))


def test_the_korean_page_has_the_same_commands():
    for language in ("sh", "python"):
        assert blocks("start.ko.md", language) == blocks("start.md", language)
