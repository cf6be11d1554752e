"""`jumok compare`: the table, the Markdown and the JSON say the same; the figure is an image; errors are sentences."""

import json
import re
import shutil
import struct
from pathlib import Path

import pytest
from cli.conftest import jumok, write_lines

TIMED = 2  # the last columns are measured anew each time


@pytest.fixture(scope="module")
def early_run(copy_run, tmp_path_factory) -> Path:
    """The copying run as if half its training had been its best."""
    folder = tmp_path_factory.mktemp("half") / "half | 반"
    shutil.copytree(copy_run, folder, symlinks=True)
    (folder / "best").unlink()
    (folder / "best").symlink_to("step-150")
    return folder


def test_table_markdown_and_json_agree(copy_run, early_run):
    plain, markdown, found = (
        jumok("compare", copy_run, early_run, *option) for option in ([], ["--markdown"], ["--json"])
    )
    assert {plain.code, markdown.code, found.code} == {0}
    scores = json.loads(found.out)["copy"]
    lines = plain.out.splitlines()
    assert lines[0] == "copy (val), 200 sentences"
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[1:4]]
    table = markdown.out.splitlines()
    cells = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table[:4]]
    assert set(cells.pop(1)) == {"---", "---:"}
    assert cells[0] == rows[0]
    assert [row[:-TIMED] for row in cells] == [row[:-TIMED] for row in rows]
    assert [row[0] for row in rows] == ["run", "copy-run", "half | 반"]
    for row, run in zip(rows[1:], scores["runs"], strict=True):
        shown = dict(
            zip(("name", "parameters", "minutes", "bleu", "p", "fifth", "chrf", "p2", "speed"), row, strict=False)
        )
        assert shown["parameters"] == f"{run['parameters']:,}"
        assert shown["minutes"] == f"{run['training_seconds'] / 60:.1f}"
        assert shown["bleu"] == f"{run['bleu']:.2f} ± {run['bleu_significance']['interval']:.2f}"
        assert shown["chrf"] == f"{run['chrf']:.2f} ± {run['chrf_significance']['interval']:.2f}"
        assert shown["fifth"] == f"{run['bleu_longest_fifth']:.2f}"
        assert shown["speed"] == f"{run['training_tokens_per_second']:,.0f}"
    assert [row[4] for row in rows[1:]] == ["–", f"{scores['runs'][1]['bleu_significance']['p']:.3f}"]
    for text in (plain.out, markdown.out):
        assert "p: paired bootstrap against copy-run" in text
        assert "beam 2" in text
        assert scores["bleu_signature"] in text
        assert scores["chrf_signature"] in text


def test_columns_stand_under_each_other(copy_run, early_run):
    from rich.cells import cell_len

    lines = jumok("compare", copy_run, early_run, "--split", "test", "--beam", 1).out.splitlines()
    assert lines[0] == "copy (test), 200 sentences"
    assert len({cell_len(line) for line in lines[1:4]}) == 1
    assert any("; beam 1; " in line for line in lines)


def test_an_earlier_checkpoint_is_the_run_of_that_moment(copy_run, early_run):
    found = jumok("compare", copy_run, early_run, "--checkpoint", "step-150", "--json")
    one, other = json.loads(found.out)["copy"]["runs"]
    assert (one["bleu"], other["bleu_significance"]["p"]) == (other["bleu"], 1.0)
    late = json.loads(jumok("compare", copy_run, early_run, "--json").out)["copy"]["runs"][0]
    assert one["training_seconds"] < late["training_seconds"]


def test_files_of_ones_own(copy_run, early_run, tmp_path):
    lines = [" ".join("abcdefgh"[: number % 8 + 1]) for number in range(23)]
    source = write_lines(tmp_path / "mine", lines)
    done = jumok("compare", copy_run, early_run, "--source", source, "--target", source)
    assert done.out.startswith("mine (files), 23 sentences\n")
    assert "longest fifth: BLEU of the 4 sources of 7 to 8 words" in done.out


def test_the_figure_is_a_png(copy_run, early_run, tmp_path):
    source = write_lines(tmp_path / "mine", ["a b c d e", "f g h i", "j k l m n o p"])
    renamed = tmp_path / "runs" / "half $1 $2"
    shutil.copytree(early_run, renamed, symlinks=True)
    figure = tmp_path / "lengths"
    done = jumok("compare", copy_run, renamed, "--source", source, "--target", source, "--png", figure)
    assert done.code == 0, done.err
    header = figure.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", header[16:])
    assert width > height > 400
    assert not list(tmp_path.glob(".*"))


def test_what_does_not_fit_is_refused(copy_run, early_run, babble_run):
    done = jumok("compare", copy_run)
    assert done == (2, "", "jumok: 1 run is given, compare needs two or more; jumok evaluate scores one\n")
    done = jumok("compare", copy_run, babble_run)
    assert done == (2, "", (
        "jumok: run does not have the sentences of copy-run (copy): 6 pairs instead of 200; compare needs the same "
        "sentences: choose runs of the same data, or give --source and --target\n"
    ))  # fmt: skip
    done = jumok("compare", copy_run, early_run, "--json", "--markdown")
    assert done == (2, "", "jumok: --markdown and --json are both given; choose one\n")
    done = jumok("compare", copy_run, early_run, "--split", "tset")
    assert done == (2, "", "jumok: --split tset: must be train, val or test\n")
    done = jumok("compare", copy_run, "nowhere")
    assert (done.code, done.out) == (2, "")
    assert "there is no run folder nowhere" in done.err
