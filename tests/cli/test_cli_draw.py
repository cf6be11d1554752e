"""`jumok draw`: texts in, images out: on the terminal, in files, in a pipe that leads back to words."""

import io
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from cli.conftest import captioner_run, copy_run, gpt_run, jumok, refusal  # noqa: F401 - fixtures
from drawing_runs import COLUMNS, ROWS, SIZE
from PIL import Image
from rich.console import Console

import jumok as library
from jumok.cli import draw as command
from jumok.errors import ConfigError

TEXT, OTHER = "a large red circle at the top left", "a small blue star at the bottom right"


@pytest.fixture(scope="module")
def image(tmp_path_factory, drawer_run) -> Path:
    """A drawing in a file."""
    return next(iter(library.load(drawer_run).draw(TEXT, seed=9).save(tmp_path_factory.mktemp("image"))))


def terminal(monkeypatch, width: int = 80, height: int = 50, **settings) -> io.StringIO:
    """Let the command believe that it writes to a terminal; return what it writes."""
    shown = io.StringIO()
    settings = {"color_system": "truecolor", "no_color": False, "force_terminal": True} | settings
    console = Console(file=shown, width=width, height=height, highlight=False, **settings)
    monkeypatch.setattr(command, "standard_console", lambda: console)
    monkeypatch.setattr(command, "error_console", lambda: console)
    return shown


# --- where drawings go


def test_a_pipe_gets_paths_and_a_captioner_reads_them(drawer_run, captioner_run, tmp_path):  # noqa: F811
    done = jumok("draw", drawer_run, TEXT, OTHER, "--samples", 2, "--out", tmp_path / "F", "--png", tmp_path / "g.png")
    paths = done.out.splitlines()
    assert (done.code, done.err.split()) == (0, ["image:", str(tmp_path / "g.png")]), "words of ours are no paths"
    assert len(paths) == len(set(paths)) == 4
    assert [Path(path).name for path in paths][:2] == [f"{TEXT.replace(' ', '-')}-{number}.png" for number in (1, 2)]
    found = jumok("caption", captioner_run, stdin=done.out)
    assert found.code == 0, found.err
    assert [line.split("\t")[1] for line in found.out.splitlines()] == paths
    more = jumok("draw", drawer_run, TEXT, "--out", tmp_path / "F").out.split()
    assert [Path(path).name for path in more] == [f"{TEXT.replace(' ', '-')}-3.png"], "one is enough in a pipe"


def test_texts_come_from_standard_input(drawer_run):
    done = jumok("draw", drawer_run, "--json", stdin=f"{TEXT}\n{OTHER}\n")
    assert [json.loads(line)["text"] for line in done.out.splitlines()] == [TEXT, OTHER]
    assert "text 2: an empty text" in refusal(jumok("draw", drawer_run, "--json", stdin=f"{TEXT}\n\n"))
    assert jumok("draw", drawer_run, "--json", stdin="") == (0, "", "")


def test_json_has_all_that_is_known(drawer_run, captioner_run, image, tmp_path):  # noqa: F811
    done = jumok("draw", drawer_run, TEXT, "--json", "--samples", 2, "--seed", 5, "--top-k", 9)
    told = [json.loads(line) for line in done.out.splitlines()]
    assert [set(one) for one in told] == [
        {"text", "seed", "log_probability", "codes", "guidance", "temperature", "top_k"}
    ] * 2
    assert [(one["seed"], one["guidance"], one["top_k"]) for one in told] == [(5, 2.0, 9), (6, 2.0, 9)]
    assert np.array(told[0]["codes"]).shape == (ROWS, COLUMNS)
    assert told[0]["log_probability"] < 0
    more = json.loads(
        jumok(
            "draw", drawer_run, TEXT, "--json", "--from", image, "--read", captioner_run, "--out", tmp_path / "F",
        ).out
    )  # fmt: skip
    assert more["given_rows"] == ROWS // 2, "half of it, where nobody says how much"
    drawn = library.load(drawer_run).draw(TEXT, complete=(image, ROWS // 2))
    assert more["codes"] == drawn[0].codes.tolist()
    assert more["seen"] == library.load(captioner_run).caption(more["image"])


def test_given_rows_stay(drawer_run, image):
    of = {
        rows: json.loads(jumok("draw", drawer_run, OTHER, "--json", "--from", image, "--rows", rows).out)["codes"]
        for rows in (1, 3)
    }
    given = library.load(drawer_run).first_codes(image, 3)
    assert np.ravel(of[3][:3]).tolist() == given
    assert of[1][0] == given[:COLUMNS]
    assert of[1] != of[3]


def test_a_sheet_and_a_page_show_sixteen_of_one_text(drawer_run, captioner_run, tmp_path):  # noqa: F811
    done = jumok(
        "draw", drawer_run, TEXT, "--png", tmp_path / "a.png", "--html", tmp_path / "a.html", "--read", captioner_run
    )
    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines()] == ["image:", "page:"]
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert [one["seed"] for one in data["drawings"]] == list(range(1, 17))
    assert {one["text"] for one in data["drawings"]} == {TEXT}
    assert all(one["seen"] for one in data["drawings"])
    assert data["options"] == {"guidance": 2.0, "temperature": 1.0}
    assert not re.search(r'(src|href)="https?:', page), "it needs nothing else"
    drawings = library.load(drawer_run).draw(TEXT, samples=16)
    with Image.open(tmp_path / "a.png") as sheet:
        assert np.array_equal(np.asarray(sheet), np.asarray(drawings.sheet()))
    jumok("draw", drawer_run, TEXT, OTHER, "--png", tmp_path / "b.png")
    with Image.open(tmp_path / "a.png") as of_one, Image.open(tmp_path / "b.png") as of_two:
        assert of_two.height < of_one.height, "several texts are drawn once each"


# --- the terminal


def blocks(shown: str) -> list[str]:
    """Return the lines that hold coloured blocks, without their colours."""
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    return [line for line in plain.split("\n") if "▀" in line]


def test_a_terminal_shows_blocks_of_the_images_colours(drawer_run, monkeypatch):
    shown = terminal(monkeypatch)
    assert jumok("draw", drawer_run, TEXT, "--samples", 2).code == 0
    last = shown.getvalue()[shown.getvalue().rindex(TEXT) :]  # behind the drawings that grew
    lines = blocks(last)
    assert lines == [("▀" * SIZE + "  " + "▀" * SIZE).rstrip()] * (SIZE // 2)
    first = library.load(drawer_run).draw(TEXT)[0].pixels
    colours = re.search(r"\x1b\[38;2;(\d+);(\d+);(\d+);48;2;(\d+);(\d+);(\d+)m▀", last)
    assert [*map(int, colours.groups())] == [*first[0, 0].tolist(), *first[1, 0].tolist()]
    assert "seed 1" in last
    assert "guidance 2, temperature 1" in last
    assert blocks(shown.getvalue()[: shown.getvalue().rindex(TEXT)]), "they were seen while they grew"


def test_sixteen_are_shown_in_rows_of_four(drawer_run, captioner_run, monkeypatch):  # noqa: F811
    shown = terminal(monkeypatch, width=70)
    assert jumok("draw", drawer_run, TEXT, "--read", captioner_run).code == 0
    last = shown.getvalue()[shown.getvalue().rindex(TEXT) :]
    assert len(blocks(last)) == 4 * 8
    assert all(len(line) <= 70 for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", last).splitlines())
    assert last.count("seed ") == 16
    caption = library.load(captioner_run).caption(library.load(drawer_run).draw(TEXT)[0].image)
    assert caption.split()[0] in last


def test_an_image_is_no_higher_than_the_terminal(drawer_run, monkeypatch):
    shown = terminal(monkeypatch, height=14)
    jumok("draw", drawer_run, TEXT, "--samples", 1)
    assert len(blocks(shown.getvalue()[shown.getvalue().rindex(TEXT) :])) == 10


@pytest.mark.parametrize("settings", [{"force_terminal": False}, {"no_color": True}, {"color_system": None}])
def test_no_colours_no_blocks(drawer_run, monkeypatch, settings):
    terminal(monkeypatch, **settings)
    assert "--out FOLDER, --png grid.png, --html page.html or --json" in refusal(jumok("draw", drawer_run, TEXT))


# --- what is refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a crimson circle"], r"has never read 'crimson'; it knows \d+ words: .*red"),
        (["a " * 70], r"the text has 70 tokens, and .* draws texts of 60 at most; shorten it"),
        ([" "], "an empty text says nothing to draw"),
        ([TEXT, "--rows", 2], r"--rows 2 says how much of an image stays; name the image"),
        ([TEXT, "--from", "IMAGE", "--rows", 4], "rows = 4: an image is 4 rows of codes; give 1 to 3 of them"),
        ([TEXT, "--from", "IMAGE", "--rows", 0], "rows = 0"),
        ([TEXT, "--from", "none.png"], r"none\.png"),
        ([TEXT, "--from", "WIDE"], r"has 64 × 32 pixels, and .* draws 32 × 32; make it as large first"),
        ([TEXT, "--read", "ko-en"], "is a run of translation; drawings are read by a captioner or an image classifier"),
        ([TEXT, "--read", "nobody"], "there is no run folder nobody"),
        ([TEXT, "--out", "IMAGE"], "must be a folder, and this is a file"),
        ([TEXT, "--png", "none/here.png"], r"--png none/here\.png: must be a file in a folder that exists"),
        ([TEXT, "--html", "none/here.html"], r"--html none/here\.html: must be a file in a folder that exists"),
        ([TEXT, "--guidance", -1], r"decoding\.guidance"),
    ],
)
def test_a_sentence_for_each_mistake(drawer_run, image, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (64, 32)).save("wide.png")
    given = [{"IMAGE": image, "WIDE": "wide.png"}.get(one, one) for one in arguments]
    said = refusal(jumok("draw", drawer_run, *given, "--json"))
    assert re.search(words, said), said
    assert "\n" not in said
    assert {path.name for path in tmp_path.iterdir()} == {"wide.png"}


def test_a_run_of_another_kind_and_none(drawer_run, copy_run, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    assert "use jumok translate, not jumok draw" in refusal(jumok("draw", copy_run, TEXT, "--json"))
    assert "use jumok draw, not jumok caption" in refusal(jumok("caption", drawer_run, "a.png"))
    assert "there is no run folder nowhere" in refusal(jumok("draw", "nowhere", TEXT, "--json"))


def test_codes_that_are_gone_or_others_are_refused(drawer_run, codes_run, tmp_path):
    copy = shutil.copytree(drawer_run, tmp_path / "drawer", symlinks=True)
    recipe = (copy / "recipe.toml").read_text(encoding="utf-8")
    (copy / "recipe.toml").write_text(recipe.replace(str(codes_run), str(tmp_path / "gone")), encoding="utf-8")
    said = refusal(jumok("draw", copy, TEXT, "--json"))
    assert "there is no such run" in said
    assert "put it back" in said
    changed = re.sub(r'(?m)^hash = ".{8}', 'hash = "00000000', recipe, count=1)
    (copy / "recipe.toml").write_text(changed, encoding="utf-8")
    assert "is not the one that the model was trained with" in refusal(jumok("draw", copy, TEXT, "--json"))


def test_guidance_is_no_option_of_what_writes(gpt_run, copy_run):  # noqa: F811
    assert jumok("translate", copy_run, "a", "--guidance", 3).code == 2
    writer = library.load(gpt_run)
    with pytest.raises(ConfigError, match=r"decoding\.guidance = 3 is for drawing"):
        writer.generate("a", options=writer.options.changed({"guidance": 3.0}))
