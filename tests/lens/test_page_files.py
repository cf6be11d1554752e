"""The files of the pages: short lines, a first line that says what each is for, JavaScript that parses, names that agree."""

import re
import shutil
import subprocess
from dataclasses import fields

import pytest
from lens.test_html import random_explanation, read

from jumok.inspection.details import AttentionDetails, PositionTable
from jumok.inspection.layers import LayerDetails, Matrix, NormDetails, Sublayer
from jumok.inspection.record import AttentionMap
from jumok.lens.html import PAGE_FILES, make_page
from jumok.lens.view import Side, View

CLASSES = (AttentionMap, AttentionDetails, PositionTable, LayerDetails, Sublayer, NormDetails, Matrix, Side, View)
FILES = sorted(PAGE_FILES.iterdir())
PARSE = """
const [fs, vm] = [require("fs"), require("vm")];
let parsed = 0;
for (const path of process.argv.slice(1)) {
    try {
        new vm.SourceTextModule(fs.readFileSync(path, "utf8"));
        parsed += 1;
    } catch (error) {
        console.log(path, error.message);
    }
}
console.log(parsed, "parsed");
"""
COMMENTS = {".js": r"// .+\.", ".css": r"/\* .+\. \*/", ".html": r"<!-- .+\. -->"}


def text_of(*suffixes):
    return "\n".join(path.read_text(encoding="utf-8") for path in FILES if path.suffix in suffixes)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_lines_are_short_and_the_first_says_what_the_file_is_for(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(COMMENTS[path.suffix], lines[0]), "the first line is a comment of one sentence"
    too_long = [number for number, line in enumerate(lines, 1) if len(line) >= 120]
    assert not too_long, f"lines of 120 characters or more: {too_long}"
    assert len(lines) < 300


@pytest.mark.skipif(
    shutil.which("node") is None, reason="there is no node here to check JavaScript: apt-get install nodejs"
)
def test_every_module_parses():
    modules = [path for path in FILES if path.suffix == ".js"]
    done = subprocess.run(
        ["node", "--no-warnings", "--experimental-vm-modules", "-e", PARSE, *modules], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(len(modules)), "parsed"], done.stdout


def test_every_style_and_every_id_is_of_something_on_a_page():
    made = text_of(".js", ".html")
    for name in set(re.findall(r"[.#]([a-z][a-z-]+)(?=[^;]*\{)", text_of(".css"))):
        assert re.search(rf'["`\s]{name}["`\s]', made), f"nothing on a page is called {name}"
    for name in set(re.findall(r'find\("([\w-]+)"\)', text_of(".js"))):
        made_by_buttons = name.endswith("-buttons")  # saving.js makes them from a prefix
        assert made_by_buttons or f'id="{name}"' in made, f"no element has the id {name}"


def test_the_names_in_the_page_are_those_of_the_dataclasses():
    """What Python calls a field is what the JSON and JavaScript call it."""
    (run,) = read(make_page([random_explanation(3, 3, layers=1, heads=1, width=8)]))[0]["runs"]
    names = {cls: {field.name for field in fields(cls)} for cls in CLASSES}  # fmt: skip
    assert set(run["maps"][0]) == names[AttentionMap] - {"grid"}
    assert set(run["maps"][0]["details"]) == names[AttentionDetails]
    assert set(run["positions"][0]) == names[PositionTable]
    assert set(run["sides"][0]) == names[Side]
    assert set(run["layers"][0]) == names[LayerDetails] - {"after"}, "what a layer hands on is computed again"
    assert set(run["layers"][0]["sublayers"][0]) == names[Sublayer]
    assert set(run["layers"][0]["sublayers"][0]["norm"]) == names[NormDetails]
    assert set(run["layers"][0]["sublayers"][0]["matrices"]["query"]) == names[Matrix]
    assert set(run) == (names[View] - {"record"}) | {"maps", "positions", "layers"}
