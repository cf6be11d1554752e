"""`jumok fill`: one gap, several, none; words with their probabilities; the other commands on a BERT."""

import json
import math
import re

import pytest
from cli.conftest import BERT_RECIPE, THINGS, VERDICTS, jumok, refusal, write_lines, write_reviews

ADJECTIVES = [word for words in VERDICTS.values() for word in words]


def filled(run, *arguments) -> dict:
    done = jumok("fill", run, *arguments, "--json")
    assert (done.code, done.err) == (0, ""), done.err
    return json.loads(done.out)


def test_a_gap_is_filled_with_words_that_fit(bert_run):
    done = jumok("fill", bert_run, "the [MASK] was lovely")
    found = filled(bert_run, "the [MASK] was lovely")
    (gap,) = found["masks"]
    assert {word for word, _ in gap} == set(THINGS), "five answers, and the five things that reviews are about"
    assert found["text"] == f"the {gap[0][0]} was lovely"
    assert (done.code, done.err) == (0, "")
    text, header, *rows = done.out.splitlines()
    assert text == found["text"]
    assert header.split() == ["mask", "1"]
    assert [row.split() for row in rows] == [[f"{share:.1%}", word] for word, share in gap]


def test_several_gaps_are_all_filled(bert_run):
    found = filled(bert_run, "[MASK] [MASK] was [MASK]", "--top", 3)
    assert [len(gap) for gap in found["masks"]] == [3, 3, 3]
    best = [gap[0][0] for gap in found["masks"]]
    assert found["text"] == f"{best[0]} {best[1]} was {best[2]}"
    assert best[0] == "the"
    assert best[1] in THINGS
    assert best[2] in ADJECTIVES


@pytest.mark.parametrize("text", ["the [MASK] was [MASK]", "the[MASK]was[MASK]", " the  [MASK]  was [MASK] "])
def test_spaces_around_a_gap_change_nothing(bert_run, text):
    assert filled(bert_run, text) == filled(bert_run, "the [MASK] was [MASK]")


def test_probabilities_are_ranked_and_those_of_all_words_sum_to_one(bert_run):
    (gap,) = filled(bert_run, "the film was [MASK]", "--top", 100_000)["masks"]
    shares = [share for _, share in gap]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0, abs=1e-4)
    assert "[MASK]" not in [word for word, _ in gap], "a mask is no answer"
    for top in (1, 4):
        assert filled(bert_run, "the film was [MASK]", "--top", top)["masks"] == [gap[:top]]
        assert len(jumok("fill", bert_run, "the film was [MASK]", "--top", top).out.splitlines()) == top + 2


def test_many_gaps_are_shown_whole_however_narrow_the_terminal(bert_run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = "[MASK] " * 13
    found = filled(bert_run, text, "--top", 2)
    _, header, *rows = jumok("fill", bert_run, text, "--top", 2).out.splitlines()
    assert re.findall(r"mask (\d+)", header) == [str(number) for number in range(1, 14)]
    for number, row in enumerate(rows):
        assert row.split() == [
            part for gap in found["masks"] for part in (f"{gap[number][1]:.1%}", gap[number][0])
        ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "the film was lovely", "the [mask] was", "the MASK was", "[MASK"])
def test_a_text_without_a_gap_is_refused(bert_run, text):
    assert refusal(jumok("fill", bert_run, text)) == (
        f"{text!r} has no mask to fill in; write [MASK] where a word is missing"
    )


def test_unknown_words_are_counted(bert_run):
    done = jumok("fill", bert_run, "the zebra was [MASK] indeed")
    assert done.err == "warning: 2 of 5 tokens of the text are unknown to the model\n"
    assert done.code == 0


def test_a_text_may_be_as_long_as_the_model_takes_and_no_longer(bert_run):
    assert len(filled(bert_run, "film " * 13 + "[MASK]")["masks"]) == 1  # 14 and the two at its ends are 16
    assert refusal(jumok("fill", bert_run, "film " * 14 + "[MASK]")) == (
        "the text has 17 tokens, the model takes 16; shorten it"
    )
    assert len(filled(bert_run, "[MASK]")["masks"]) == 1, "a gap and nothing else"


@pytest.mark.parametrize(
    "text", ["넌 [MASK]", "🦊 [MASK] ☃", "\udcff [MASK]", "[END] [MASK]", "[bold] [/] [MASK]", "\x00[MASK]"]
)
def test_any_text_with_a_gap_has_an_answer(bert_run, text):
    done = jumok("fill", bert_run, text, "--json")
    assert done.code == 0
    assert done.err == "" or re.fullmatch(r"warning: \d of \d tokens of the text are unknown to the model\n", done.err)
    assert len(json.loads(done.out)["masks"]) == 1


def test_what_makes_no_sense_is_refused(bert_run):
    for arguments in (["[MASK]", "--top", 0], [], ["a", "b"]):
        done = jumok("fill", bert_run, *arguments)
        assert (done.code, done.out) == (2, "")
        assert "Traceback" not in done.err
    assert refusal(jumok("fill", bert_run, "[MASK]", "--checkpoint", "step-7")) == (
        f"{bert_run} has no checkpoint 'step-7'; there are step-80, best, last"
    )


def test_runs_of_other_kinds_are_sent_to_their_own_command(bert_run, classifier_run, copy_run):
    for run, task, command in (
        (classifier_run, "text-classification", "classify"),
        (copy_run, "translation", "translate"),
    ):
        wanted = f"{run} is a run of {task}: use jumok {command}, not jumok fill"
        assert refusal(jumok("fill", run, "[MASK]")) == wanted
    for command in ("translate", "generate", "classify"):
        wanted = f"{bert_run} is a run of masked-language-modeling: use jumok fill, not jumok {command}"
        assert refusal(jumok(command, bert_run, "a")) == wanted
    wanted = f"{bert_run} is a run of masked-language-modeling; compare is for translation, for captions, for forecasts, or for drawings"
    assert refusal(jumok("compare", bert_run, copy_run)) == wanted


# --- the other commands on a BERT


def test_evaluate_shows_what_its_json_says(bert_run):
    found = json.loads(jumok("evaluate", bert_run, "--json").out)
    scores = found["val.tsv"]
    assert scores["documents"] == 60
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert scores["accuracy"] > 25, "it has learnt nothing"
    assert jumok("evaluate", bert_run) == (0, (
        f"val.tsv (val), 60 documents, {scores['tokens']:,} tokens\n"
        f"  masked tokens found {scores['accuracy']:.2f} %   loss {scores['loss']:.4f}   perplexity {scores['perplexity']:.3f}\n"
    ), "")  # fmt: skip
    assert json.loads(jumok("evaluate", bert_run, "--json").out) == found, "the same gaps each time"


def test_evaluate_scores_a_text_of_ones_own(bert_run, tmp_path):
    own = write_lines(tmp_path / "own.txt", ["the film was lovely", "the book was so"])
    assert jumok("evaluate", bert_run, "--source", own).out.startswith("own.txt (files), 1 document, 11 tokens\n")
    assert refusal(jumok("evaluate", bert_run, "--source", own, "--target", own)) == (
        "--target is for translation; here the text of --source is scored alone"
    )
    assert refusal(jumok("evaluate", bert_run, "--split", "test")) == (
        'the recipe has no test data; add test = "FILE" to [data], or give --source'
    )


def test_check_looks_at_text_with_gaps(tmp_path):
    done = jumok("check", write_reviews(tmp_path, BERT_RECIPE))
    assert done.code == 0, done.err
    assert re.search(r"train +300 ", done.out)
    assert "masked tokens/s" in done.out


def test_pre_training_asks_for_the_next_sentence_too(tmp_path):
    recipe = write_reviews(tmp_path, BERT_RECIPE)
    options = ["data.next_sentence=true", "data.whole_words=true", "training.steps=2", "training.log_every=1"]
    done = jumok("train", recipe, "--out", tmp_path / "run", *(part for each in options for part in ("--set", each)))
    assert done.code == 0, done.err
    assert done.out.startswith(f'Use it:    jumok fill {tmp_path / "run"} "…"\n')
    assert re.search(
        r"masked tokens found \S+ %   loss .* next text right \S+ %\n", jumok("evaluate", tmp_path / "run").out
    )
