"""`jumok look` at masks, continuations and classes: terminal, PNG, JSON, pages, several runs, films."""

import json
import re

import pytest
from cli.conftest import jumok, refusal
from cli.test_cli_look import told

from jumok.lens.film_page import FOOTERS

MASKED, REVIEW = "the [MASK] was lovely", "the play was superb"


def test_look_at_masks(bert_run):
    done = jumok("look", bert_run, MASKED)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == MASKED, "the table below has the answer"
    assert lines[1].split() == ["token", "probability", "rivals"]
    assert re.match(r"▁\w+ +\d+\.\d% +(▁?\S+ \d+\.\d%(, )?){5}", lines[2])
    assert lines[3] == "encoder attention, its one layer, mean of 2 heads"
    assert "[MASK]  " in done.out
    found = json.loads(jumok("look", bert_run, MASKED, "--json", "--words").out)
    assert found["masks"][0][0][0] in found["text"].split()
    assert found["queries"] == found["keys"] == ["[START]", "the", "[MASK]", "was", "lovely", "[END]"]
    assert [choice is None for choice in found["choices"]] == [True, True, False, True, True, True]
    assert [sum(row) for row in found["weights"]] == pytest.approx([1.0] * 6, abs=1e-5)


def test_look_at_a_class(classifier_run, tmp_path):
    done = jumok("look", classifier_run, REVIEW, "--importance")
    assert (done.code, done.err) == (0, "")
    assert re.match(rf"{REVIEW}  →  good \d+\.\d%\nrivals: \w+ \d+\.\d%, \w+ \d+\.\d%\nencoder attention", done.out)
    tokens, heads = done.out.split("when a token is left out of the text, dearest first:\n")[1].split(
        "What the answer's"
    )
    assert tokens.splitlines()[1].split()[:2] == ["▁superb", "4"]
    assert "without each head" in heads
    found = json.loads(jumok("look", classifier_run, REVIEW, "--importance", "--json").out)
    verdict = json.loads(jumok("classify", classifier_run, REVIEW, "--json").out)
    assert found["probabilities"] == pytest.approx(verdict["probabilities"], abs=2e-6)
    assert [token["token"] for token in found["tokens"]] == ["▁the", "▁play", "▁was", "▁superb"]
    other = json.loads(jumok("look", classifier_run, REVIEW, "--target", "bad", "--json").out)
    assert (other["label"], other["probability"]) == ("bad", pytest.approx(verdict["probabilities"]["bad"], abs=2e-6))
    drawn = jumok("look", classifier_run, REVIEW, "--layer", 1, "--head", 2, "--png", tmp_path / "look.png")
    assert drawn.out.endswith(f"encoder attention, layer 1, head 2: {tmp_path / 'look.png'}\n")
    assert (tmp_path / "look.png").exists()


def test_look_at_a_recurrent_class(rnn_run):
    lines = jumok("look", rnn_run, REVIEW, "--importance").out.splitlines()
    assert re.fullmatch(rf"{REVIEW}  →  \w+ \d+\.\d%", lines[0])
    assert lines[1].startswith("This model has no attention to show: it reads the text once")
    assert lines[2].startswith("rivals: ")
    assert lines[3].startswith("What the answer's log-probability loses when a token is left out")
    assert sorted(line.split()[0] for line in lines[5:]) == ["▁play", "▁superb", "▁the", "▁was"]
    found = json.loads(jumok("look", rnn_run, REVIEW, "--json").out)
    assert found["weights"] is None
    assert set(found["probabilities"]) == {"good", "bad", "dull"}


def test_look_at_a_continuation(gpt_run):
    done = jumok("look", gpt_run, "the ", "--max-length", 6, "--top-k", 1)
    assert (done.code, done.err) == (0, "")
    text = jumok("generate", gpt_run, "the ", "--max-length", 6, "--greedy").out
    assert done.out.splitlines()[0] == f"the   →  {text.removeprefix('the ').removesuffix(chr(10))}"
    assert "decoder attention, its one layer, mean of 2 heads" in done.out
    found = json.loads(jumok("look", gpt_run, "the ", "--target", "s\nx", "--json").out)
    assert found["text"] == "s\nx"
    assert found["queries"] == ["t", "h", "e", "▁", "s", "⏎", "x"]
    assert found["keys"] == ["[END]", *found["queries"][:-1]]
    assert [choice and choice["token"] for choice in found["choices"]] == [None] * 4 + ["s", "⏎", "x"]
    same = [jumok("look", gpt_run, "a", "--seed", seed, "--json").out for seed in (3, 3, 4)]
    assert same[0] == same[1] != same[2]


def test_pages_of_texts(bert_run, gpt_run, classifier_run, rnn_run, tmp_path):
    page = tmp_path / "look.html"
    for run, text, written, characters in (
        (bert_run, MASKED, False, False),
        (gpt_run, "the ", True, True),
        (classifier_run, REVIEW, False, False),
        (rnn_run, REVIEW, False, False),
    ):
        done = jumok("look", run, text, "--html", page)
        assert (done.code, done.err) == (0, ""), done
        assert done.out.endswith(f"page: {page} ({page.stat().st_size / 1000:,.0f} kB)\n")
        (found,) = told(page)["runs"]
        assert (found["written"], found["characters"]) == (written, characters)
        assert told(page)["words"] is not characters
        assert (found["source"].strip(), found["answers"]) == (text.strip(), [])
        assert text not in found["answer"], "nothing is said twice"
    assert jumok("look", gpt_run, "the ", "--words", "--html", page).code == 0
    assert told(page)["words"] is True


def test_several_classifiers_side_by_side(classifier_run, rnn_run, tmp_path):
    done = jumok("look", classifier_run, rnn_run, REVIEW, "--html", tmp_path / "both.html")
    assert done.code == 0, done.err
    bert, recurrent = told(tmp_path / "both.html")["runs"]
    assert (bert["note"], bool(bert["maps"]), recurrent["maps"]) == ("", True, [])
    assert recurrent["note"].startswith("This model has no attention to show")
    lines = jumok("look", classifier_run, rnn_run, REVIEW, "--json").out.splitlines()
    assert [json.loads(line)["run"] for line in lines] == [classifier_run.name, rnn_run.name]


def test_look_refuses_what_makes_no_sense(bert_run, gpt_run, classifier_run, rnn_run, copy_run, tmp_path):
    for arguments, why in (
        ((bert_run, "the play"), "'the play' has no mask to fill in; write [MASK] where a word is missing"),
        ((bert_run, ""), "'' has no mask to fill in; write [MASK] where a word is missing"),
        ((bert_run, "[MASK] " * 30), "the text has 32 tokens, the model takes 16; shorten it"),
        ((bert_run, MASKED, "--target", "x"), f"--target is for translations, continuations, classes and captions; {bert_run} fills in masks"),
        ((bert_run, MASKED, "--seed", 3), f"--seed is for language models; {bert_run} fills in masks"),
        ((classifier_run, REVIEW, "--to", "ko"), f"--to is for translation; {classifier_run} names classes"),
        ((classifier_run, REVIEW, "--target", "god"), "there is no class 'god'; did you mean 'good'?"),
        ((rnn_run, REVIEW, "--beam", 3), f"--beam is for translation and captions; {rnn_run} names classes"),
        ((gpt_run, "the ", "--beam", 3), f"--beam is for translation and captions; {gpt_run} writes on"),
        ((gpt_run, "the ", "--target", ""), "the target is empty; give the text whose probability is asked for, or none"),
        ((gpt_run, "한"), "the model knows none of the characters of '한'; begin with text like its training data"),
        ((copy_run, "a b", "--temperature", 2), f"--temperature is for language models; {copy_run} translates"),
        ((gpt_run, bert_run, "a"), "the runs are for different commands (generate, fill); look at one kind at a time"),
        ((classifier_run, REVIEW, "--layer", 4), "--layer 4: there are 1"),
    ):  # fmt: skip
        assert refusal(jumok("look", *arguments)) == why
    done = jumok("look", classifier_run, "")
    assert "has no text; the class it gets is only what the model says of nothing at all" in done.err
    done = jumok("look", classifier_run, "play " * 40)
    assert "tokens more than the model takes (16); its end was left out" in done.err
    assert done.code == 0


@pytest.mark.parametrize(
    ("run", "score", "answer"),
    [("bert_run", "accuracy", "filling"), ("gpt_run", "loss", "continuation"), ("classifier_run", "accuracy", "class")],
)
def test_look_at_films_of_texts(run, score, answer, request, tmp_path):
    folder = request.getfixturevalue(run)
    done = jumok("look", folder, "--film")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[1].startswith("reference: ")
    assert re.split(r"  +", lines[3].strip()) == ["step", score, "spread", "on the end token", answer]
    assert done.out.endswith("This is the first of 2 sentences; --open or --html FILE shows all.\n")
    page = tmp_path / "film.html"
    assert jumok("look", folder, "--film", "--html", page).code == 0
    assert FOOTERS[answer] in page.read_text(encoding="utf-8")
    data = told(page)
    assert data["frames"][0]["step"] == 0
    assert data["words"] is (run != "gpt_run")
    assert {chart["name"] for chart in data["charts"]} == {
        "val loss",
        *(["val accuracy, %"] if score == "accuracy" else []),
    }
