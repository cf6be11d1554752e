"""`jumok look` beyond one alignment: pages, several runs, words, what heads are worth. (The alignment itself: test_cli_other.)"""

import json
import re
import webbrowser
from pathlib import Path

import pytest
from cli.conftest import COPY_RECIPE, jumok, refusal, train_once, write_recipe

SEQ2SEQ_RECIPE = re.sub(
    r"(?s)\[model\].*?(?=\[training\])", '[model]\nname = "seq2seq"\nwidth = 16\nattention = "none"\n', COPY_RECIPE
).replace("steps = 300", "steps = 3")


@pytest.fixture(scope="session")
def fixed_run(tmp_path_factory):
    """A Seq2Seq with one fixed context vector, hardly trained."""
    return train_once(tmp_path_factory, "fixed-context", write_recipe(SEQ2SEQ_RECIPE))


def told(page: Path) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[1])


def test_look_writes_a_page(copy_run, tmp_path):
    page = tmp_path / "look.html"
    done = jumok("look", copy_run, "k c a z", "--html", page)
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(rf"k c a z  →  k c a z\npage: {page} \(\d+ kB\)\n", done.out)
    (run,) = told(page)["runs"]
    assert (run["name"], run["source"], run["answer"]) == (copy_run.name, "k c a z", "k c a z")
    assert all(found["details"] for found in run["maps"]), "a page can go step by step"
    assert len(run["answers"]) == 2, "as many as the beam is wide"
    assert told(page)["words"] is True
    assert jumok("look", copy_run, "k c", "--target", "x y", "--html", page, "--subwords").code == 0
    assert told(page)["runs"][0]["answer"] == "x y"
    assert told(page)["words"] is False


def test_a_page_has_matrices_on_request(copy_run, tmp_path):
    page = tmp_path / "look.html"
    assert jumok("look", copy_run, "k c a z", "--html", page, "--matrices").code == 0
    sublayers = [one for layer in told(page)["runs"][0]["layers"] for one in layer["sublayers"]]
    assert all(one["matrices"] for one in sublayers)
    needs_page = "--matrices is for the page of a text or an image: add --html FILE or --open"
    assert refusal(jumok("look", copy_run, "k c", "--matrices")) == needs_page
    assert refusal(jumok("look", copy_run, "--film", "--html", page, "--matrices")) == needs_page


def test_look_opens_a_page(copy_run, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert jumok("look", copy_run, "k c", "--open").code == 0
    (page,) = tmp_path.iterdir()
    assert opened == [page.as_uri()]
    assert told(page)["runs"][0]["answer"] == "k c"
    assert page.stat().st_mode & 0o777 == 0o600, "what somebody wrote is nobody else's affair"
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    done = jumok("look", copy_run, "k c", "--open", "--html", tmp_path / "kept.html")
    assert done.out.endswith("there is no browser here to open it in; open the file in yours\n")


def test_look_at_several_runs(copy_run, fixed_run, tmp_path):
    done = jumok("look", copy_run, fixed_run, "k c a", "--html", tmp_path / "both.html")
    assert done.code == 0
    transformer, fixed = told(tmp_path / "both.html")["runs"]
    assert (transformer["note"], fixed["maps"]) == ("", [])
    assert fixed["note"].startswith("This model has no attention to show")
    assert len(fixed["choices"]) > 0
    shown = jumok("look", copy_run, fixed_run, "k c a").out
    assert shown.index(f"[{copy_run.name}]") < shown.index("cross attention") < shown.index(f"[{fixed_run.name}]")
    lines = jumok("look", copy_run, fixed_run, "k c a", "--json").out.splitlines()
    assert [json.loads(line)["run"] for line in lines] == [copy_run.name, fixed_run.name]


def test_look_at_a_fixed_context_says_so_and_how_sure_it_was(fixed_run):
    done = jumok("look", fixed_run, "k c a", "--target", "k c")
    lines = done.out.splitlines()
    assert lines[0] == "k c a  →  k c"
    assert lines[1] == "This model has no attention to show: all that its decoder knows of the source is one vector."
    assert lines[2].split() == ["token", "probability", "rivals"]
    assert re.match(r"▁k +\d+\.\d% +\S+ \d+\.\d%, ", lines[3])
    assert lines[-1].startswith("[END]")


def test_look_tells_what_heads_are_worth(copy_run):
    done = jumok("look", copy_run, "k c a z", "--importance")
    assert "What the answer's log-probability loses without each head, dearest first:" in done.out
    table = done.out.splitlines()[-7:]
    assert re.split(r"  +", table[0].strip()) == [
        "attention",
        "layer",
        "head",
        "lost without it",
        "strongest weight",
        "spread",
    ]
    lost = [float(line.split()[3]) for line in table[1:]]
    assert len(lost) == 6
    assert lost == sorted(lost, reverse=True)
    heads = json.loads(jumok("look", copy_run, "k c a z", "--importance", "--json").out)["heads"]
    assert [head["lost"] for head in heads] == pytest.approx(lost, abs=6e-4)


def test_look_in_words(babble_run):
    words = json.loads(jumok("look", babble_run, "hello 12 three", "--target", "nine kick", "--json", "--words").out)
    assert words["keys"] == ["hello", "12", "three", "[END]"]
    assert words["queries"] == ["nine", "kick", "[END]"]
    assert [sum(row) for row in words["weights"]] == pytest.approx([1.0] * 3, abs=1e-5)


def test_look_at_nothing_and_at_other_scripts_makes_a_page(copy_run, babble_run, tmp_path):
    for text in ("", "2026년 11월", "</script><b>", "🦊 الأحد"):
        for run in (copy_run, babble_run):
            assert jumok("look", run, text, "--html", tmp_path / "page.html").code == 0, text
            assert told(tmp_path / "page.html")["runs"][0]["maps"]


def test_look_refuses_in_a_sentence(copy_run, fixed_run, tmp_path):
    assert refusal(jumok("look", copy_run)) == f"look needs a run and a text; only '{copy_run}' is given: jumok look RUN TEXT"  # fmt: skip
    missing = tmp_path / "no" / "page.html"
    assert refusal(jumok("look", copy_run, "k", "--html", missing)) == f"--html {missing}: must be a file in a folder that exists"  # fmt: skip
    both = jumok("look", copy_run, fixed_run, "k", "--png", tmp_path / "a.png")
    assert refusal(both) == "--png draws one run, 2 are given; --html shows them side by side"
    assert "is named twice" in refusal(jumok("look", copy_run, copy_run, "k"))


def test_look_at_a_film(copy_run, tmp_path):
    done = jumok("look", copy_run, "--film")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert re.split(r"  +", lines[3].strip()) == ["step", "bleu", "spread", "on the end token", "translation"]
    assert [line.split()[0] for line in lines[4:7]] == ["0", "150", "300"]
    assert re.match(r" +0 +– +\d\.\d\d +\d+\.\d%  ", lines[4])
    assert lines[6].rstrip().endswith(lines[0]), "it has learnt to copy"
    assert "step 300, cross attention, its one layer, mean of 2 heads" in done.out
    assert done.out.endswith("This is the first of 2 sentences; --open or --html FILE shows all.\n")
    assert "its one layer, head 2" in jumok("look", copy_run, "--film", "--head", "2").out
    done = jumok("look", copy_run, "--film", "--html", tmp_path / "film.html")
    assert re.fullmatch(rf"page: {tmp_path / 'film.html'} \(\d+ kB\)\n", done.out)
    assert [frame["step"] for frame in told(tmp_path / "film.html")["frames"]] == [0, 150, 300]


def test_a_film_of_several_directions_has_them_in_turn(directions_run):
    from jumok.api import open_film

    english, korean = open_film(directions_run).frames[-1].shots
    assert english.source == korean.source, "the same digits"
    assert (english.reference.isascii(), korean.reference.isascii()) == (True, False)
    assert len(english.maps[0].keys) == len(english.source.split()) + 2, "the tag, the digits, the end"


def test_look_says_why_there_is_no_film(copy_run, fixed_run, rnn_run, tmp_path):
    assert "its decoder has no attention to be filmed" in refusal(jumok("look", fixed_run, "--film"))
    assert refusal(jumok("look", rnn_run, "--film")) == f"{rnn_run} has no film: a recurrent classifier has no attention to be filmed"  # fmt: skip
    assert refusal(jumok("look", copy_run, "k c", "--film")) == "--film is of one run and needs no text, 'k c' is given: jumok look RUN --film"  # fmt: skip
    assert refusal(jumok("look", copy_run, "--film", "--beam", "2")).startswith("--film goes with --html, --open,")
