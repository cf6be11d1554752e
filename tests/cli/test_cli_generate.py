"""`jumok generate`: every option, piece by piece as at once, past the window, and beginnings that no model likes."""

import json
import math
import re
import sys

import pytest
import torch
from cli.conftest import GPT_RECIPE, jumok, refusal, write_lines, write_recipe

import jumok as library
from jumok.data.text.tokenizer import END
from jumok.nn.batch import TextBatch
from jumok.predictors.writer import Writer

WINDOW = 24
OUTGROWN = (
    f"\nwarning: the text outgrows the model's window of {WINDOW} tokens: it goes on from the newest {WINDOW // 2} "
    "and has forgotten what came before\n"
)


def written(run, *arguments) -> list[str]:
    """Return what is written after a beginning, a text a sample."""
    done = jumok("generate", run, *arguments, "--json")
    assert done.code == 0, done.err
    return [json.loads(line)["text"] for line in done.out.splitlines()]


@torch.no_grad()
def shares_after(run, beginning: str) -> dict[str, float]:
    """Return each character's probability after a beginning, by a plain forward pass, the likeliest first."""
    writer = library.load(run)
    ids = torch.tensor([[END, *writer.task.tokenizer.encode([beginning])[0]]])
    shares = writer.model(TextBatch(ids, ids))[0, -1].softmax(dim=0).tolist()
    named = {writer.task.tokenizer.decode([number]): share for number, share in enumerate(shares)}
    return dict(sorted(named.items(), key=lambda item: -item[1]))


# --- what is written


def test_the_beginning_and_what_follows_are_shown(gpt_run):
    done = jumok("generate", gpt_run, "def ", "--max-length", 9)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"def {written(gpt_run, 'def ', '--max-length', 9)[0]}\n"


@pytest.mark.parametrize("beginning", ["", "The ", "   "])
def test_length_counts_what_is_written_and_not_the_beginning(gpt_run, beginning):
    for length in (1, 7, 20):
        (text,) = written(gpt_run, beginning, "--greedy", "--max-length", length)
        assert len(text) == length


def test_without_a_length_it_writes_200_tokens(gpt_run):
    assert len(written(gpt_run, "The ", "--greedy")[0]) == 200


def test_no_beginning_is_a_new_document(gpt_run):
    """The same as an empty one; the first character follows the end of a document."""
    done = jumok("generate", gpt_run, "--max-length", 5, "--seed", 3)
    assert done == jumok("generate", gpt_run, "", "--max-length", 5, "--seed", 3)
    assert done.out == written(gpt_run, "--max-length", 5, "--seed", 3)[0] + "\n"
    assert written(gpt_run, "--greedy", "--max-length", 1)[0] == next(iter(shares_after(gpt_run, "")))


@pytest.mark.parametrize("length", [1, 30])
def test_samples_are_numbered_on_from_the_seed(gpt_run, length):
    done = jumok("generate", gpt_run, "The ", "--max-length", length, "--samples", 3, "--seed", 5, "--json")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["seed"] for row in rows] == [5, 6, 7]
    assert {row["beginning"] for row in rows} == {"The "}
    for row in rows:
        assert written(gpt_run, "The ", "--max-length", length, "--seed", row["seed"]) == [row["text"]]
    shown = jumok("generate", gpt_run, "The ", "--max-length", length, "--samples", 3, "--seed", 5).out
    assert shown == "\n---\n".join(f"The {row['text']}\n" for row in rows)


def test_a_seed_repeats_and_another_differs(gpt_run):
    first, again, other = (written(gpt_run, "The ", "--seed", seed, "--max-length", 20) for seed in (1, 1, 2))
    assert first == again != other
    assert written(gpt_run, "The ", "--max-length", 20) == first  # 1 is the recipe's own
    assert len(set(written(gpt_run, "--max-length", 15, "--samples", 6))) == 6


# --- how the next token is chosen


def test_drawing_from_the_likeliest_alone_is_greedy(gpt_run):
    greedy = written(gpt_run, "import ", "--greedy", "--max-length", 15)
    for options in (
        ["--top-k", 1], ["--top-p", 1e-6], ["--min-p", 0.999], ["--temperature", 1e-3], ["--temperature", 1e-42],
    ):  # fmt: skip
        assert written(gpt_run, "import ", "--max-length", 15, *options) == greedy, options
    assert written(gpt_run, "import ", "--greedy", "--max-length", 15, "--samples", 2, "--seed", 8) == greedy * 2
    assert written(gpt_run, "import ", "--max-length", 15, "--temperature", 3) != greedy


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        (["--top-k", 3], lambda shares: list(shares)[:3]),
        (["--min-p", 0.4], lambda shares: [name for name in shares if shares[name] >= 0.4 * max(shares.values())]),
        (
            ["--top-p", 0.3],
            lambda shares: [n for i, n in enumerate(shares) if sum(list(shares.values())[:i]) < 0.3],
        ),
    ],
    ids=["top-k", "min-p", "top-p"],
)
def test_only_tokens_on_the_shortlist_are_drawn_and_all_of_them(gpt_run, options, allowed):
    shares = shares_after(gpt_run, "Return th")
    expected = set(allowed(shares))
    assert 1 < len(expected) < 20, "the trial shows nothing"
    drawn = written(gpt_run, "Return th", "--max-length", 1, "--samples", 150, "--temperature", 1, *options)
    assert set(drawn) == expected
    free = written(gpt_run, "Return th", "--max-length", 1, "--samples", 150)
    assert set(free) > expected


def test_a_higher_temperature_is_bolder(gpt_run):
    def kinds(temperature: float) -> int:
        return len(set(written(gpt_run, "th", "--max-length", 1, "--samples", 100, "--temperature", temperature)))

    assert kinds(0.2) < kinds(1) < kinds(5)


def test_a_repetition_penalty_makes_what_was_written_rarer(gpt_run):
    plain, penalised = (
        written(gpt_run, "the ", "--greedy", "--max-length", 18, "--repetition-penalty", penalty)[0]
        for penalty in (1, 50)
    )
    assert plain == written(gpt_run, "the ", "--greedy", "--max-length", 18)[0]
    assert len(set(penalised)) > len(set(plain))
    assert len(set(penalised)) == len(penalised), "so high a penalty lets nothing stand twice"
    assert not set(penalised) & set("the "), "the beginning counts as written"


def test_it_ends_before_any_stop_text(gpt_run):
    (text,) = written(gpt_run, "The ", "--max-length", 60, "--seed", 4)
    for first in (3, 20, 50):
        stop = text[first : first + 3]
        assert written(gpt_run, "The ", "--max-length", 60, "--seed", 4, "--stop", stop) == [text[: text.index(stop)]]
        both = ["--stop", "☃", "--stop", stop, "--stop", text[first + 1 : first + 8]]
        assert written(gpt_run, "The ", "--max-length", 60, "--seed", 4, *both) == [text[: text.index(stop)]]
    assert written(gpt_run, "The ", "--max-length", 60, "--seed", 4, "--stop", "☃☃") == [text]
    assert written(gpt_run, "The ", "--max-length", 60, "--seed", 4, "--stop", text[-2:] + "☃") == [text]


def test_a_stop_text_in_the_beginning_stops_nothing(gpt_run):
    assert len(written(gpt_run, "zq", "--greedy", "--max-length", 5, "--stop", "zq")[0]) == 5


# --- streaming


@pytest.mark.parametrize(
    "options",
    [[], ["--temperature", 3], ["--top-k", 4], ["--greedy"], ["--stop", "e"], ["--stop", "e ", "--stop", "th"]],
    ids=str,
)
def test_pieces_as_they_come_make_the_text_at_once(gpt_run, options):
    for seed in (1, 2):
        more = ["--max-length", 40, "--seed", seed, *options]
        assert jumok("generate", gpt_run, "The ", *more).out == f"The {written(gpt_run, 'The ', *more)[0]}\n"


def test_each_piece_is_out_before_the_next_is_written(gpt_run, monkeypatch):
    seen = []

    def stream(self, beginning, **others):
        for piece in ("one", " two", " three"):
            seen.append(sys.stdout.buffer.getvalue().decode())
            yield piece

    monkeypatch.setattr(Writer, "stream", stream)
    assert jumok("generate", gpt_run, "zero ").out == "zero one two three\n"
    assert seen == ["zero ", "zero one", "zero one two"]


# --- past the window


def test_past_the_window_it_goes_on_and_says_so_on_the_error_stream(gpt_run):
    fits, outgrows = (jumok("generate", gpt_run, "--greedy", "--max-length", length) for length in (WINDOW, WINDOW + 1))
    assert (fits.err, outgrows.err) == ("", OUTGROWN)
    assert outgrows.out.startswith(fits.out.removesuffix("\n"))
    long = jumok("generate", gpt_run, "--greedy", "--max-length", 5 * WINDOW)
    assert long.err == OUTGROWN, "once a text is enough"
    assert len(long.out) == 5 * WINDOW + 1
    assert jumok("generate", gpt_run, "--max-length", 30, "--samples", 2).err == 2 * OUTGROWN


def test_a_beginning_that_fills_the_window(gpt_run):
    text = "Return a list of the names that are in the module."
    assert jumok("generate", gpt_run, text[: WINDOW - 1], "--max-length", 1).err == ""
    for size in (WINDOW, WINDOW + 1, len(text)):
        done = jumok("generate", gpt_run, text[:size], "--greedy", "--max-length", 3)
        assert (done.code, done.err) == (0, OUTGROWN)
        assert len(done.out) == size + 3 + 1


# --- beginnings that no model likes


@pytest.mark.parametrize("beginning", ["☃☃", "넌 누구니?"[:1], "\udcff\udcfe", "\x01"])
def test_a_beginning_of_nothing_but_unknown_characters_or_bytes_is_refused(gpt_run, beginning):
    for options in ([], ["--json"], ["--samples", 2]):
        assert refusal(jumok("generate", gpt_run, beginning, *options)) == (
            f"the model knows none of the characters of {beginning!r}; begin with text like its training data"
        )


def test_some_unknown_characters_are_told(gpt_run):
    done = jumok("generate", gpt_run, "de☃f", "--max-length", 3)
    assert (done.code, done.err) == (0, "\nwarning: 1 of 4 tokens of the beginning are unknown to the model\n")
    assert done.out.startswith("de☃f")


@pytest.mark.parametrize("beginning", ["a\udcffb", "[END]", "[bold]x", ":dog:", "--", "\t\n"])
def test_any_other_beginning_is_gone_on_from(gpt_run, beginning):
    done = jumok("generate", gpt_run, "--max-length", 3, "--greedy", "--", beginning)
    assert done.code == 0, done.err
    assert done.out.startswith(beginning.replace("\udcff", ""))  # half a character cannot be shown
    assert len(done.out) == len(beginning.replace("\udcff", "")) + 3 + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--temperature", 0], "decoding.temperature = 0.0: must be above 0.0"),
        (["--temperature", "inf"], "decoding.temperature = inf: input should be a finite number"),
        (["--top-p", 0], "decoding.top_p = 0.0: must be above 0.0"),
        (["--top-p", 1.5], "decoding.top_p = 1.5: must be at most 1.0"),
        (["--min-p", 1], "decoding.min_p = 1.0: must be below 1.0"),
        (["--min-p", -0.1], "decoding.min_p = -0.1: must be at least 0.0"),
        (["--repetition-penalty", 0.5], "decoding.repetition_penalty = 0.5: must be at least 1.0"),
        (["--repetition-penalty", "inf"], "decoding.repetition_penalty = inf: input should be a finite number"),
        (["--stop", ""], "decoding.stop.0 = '': string should have at least 1 character"),
        (["--checkpoint", "step-7"], "{run} has no checkpoint 'step-7'; there are step-30, step-60, best, last"),
    ],
)
def test_impossible_wishes_are_refused_in_a_sentence(gpt_run, options, message):
    assert refusal(jumok("generate", gpt_run, "The ", *options)) == message.format(run=gpt_run)


@pytest.mark.parametrize(
    "options",
    [["--max-length", -1], ["--samples", 0], ["--top-k", -1], ["--seed", -1], ["--temperature", "warm"], ["b"]],
)
def test_wishes_that_make_no_sense_are_refused_with_the_usage(gpt_run, options):
    done = jumok("generate", gpt_run, "a", *options)
    assert (done.code, done.out) == (2, "")
    assert "jumok generate [OPTIONS]" in done.err
    assert "Traceback" not in done.err


def test_runs_of_other_kinds_are_sent_to_their_own_command(gpt_run, bert_run, classifier_run, copy_run, tmp_path):
    for run, task, command in (
        (bert_run, "masked-language-modeling", "fill"),
        (classifier_run, "text-classification", "classify"),
        (copy_run, "translation", "translate"),
    ):
        wanted = f"{run} is a run of {task}: use jumok {command}, not jumok generate"
        assert refusal(jumok("generate", run, "a")) == wanted
    for command in ("translate", "classify", "fill"):
        wanted = f"{gpt_run} is a run of language-modeling: use jumok generate, not jumok {command}"
        assert refusal(jumok(command, gpt_run, "a [MASK]")) == wanted
    assert refusal(jumok("compare", gpt_run, copy_run)) == (
        f"{gpt_run} is a run of language-modeling; compare is for translation, for captions, for forecasts, or for drawings"
    )
    assert refusal(jumok("generate", tmp_path / "none")).startswith(f"there is no run folder {tmp_path / 'none'}; ")


def test_another_checkpoint_writes_otherwise(gpt_run):
    early, late, last = (
        written(gpt_run, "The ", "--max-length", 20, "--checkpoint", name) for name in ("step-30", "step-60", "last")
    )
    assert early != late == last


# --- the other commands on a language model


def test_evaluate_shows_what_its_json_says(gpt_run):
    found = json.loads(jumok("evaluate", gpt_run, "--json").out)
    assert list(found) == ["stdlib"]
    scores = found["stdlib"]
    assert scores["loss"] < math.log(90) - 0.5, "it has learnt nothing"
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    bits = scores["loss"] * scores["tokens"] / math.log(2)
    assert scores["bits_per_byte"] == pytest.approx(bits / scores["bytes"])
    assert scores["bits_per_character"] == pytest.approx(bits / scores["characters"])
    assert jumok("evaluate", gpt_run) == (0, (
        f"stdlib (val), {scores['documents']:,} documents, {scores['tokens']:,} tokens, {scores['characters']:,} characters\n"
        f"  loss {scores['loss']:.4f}   perplexity {scores['perplexity']:.3f}   bits per byte {scores['bits_per_byte']:.4f}   "
        f"bits per character {scores['bits_per_character']:.4f}\n"
    ), "")  # fmt: skip
    other = json.loads(jumok("evaluate", gpt_run, "--split", "test", "--json").out)["stdlib"]
    assert other["tokens"] != scores["tokens"]


def test_evaluate_scores_a_text_of_ones_own(gpt_run, tmp_path):
    text = write_lines(tmp_path / "own.txt", ["Return the name of the file.", "", "Zwölf ☃"])
    done = jumok("evaluate", gpt_run, "--source", text)
    assert done.out.startswith("own.txt (files), 1 document, 39 tokens, 38 characters\n")
    (tmp_path / "empty.txt").touch()
    assert refusal(jumok("evaluate", gpt_run, "--source", tmp_path / "empty.txt")) == (
        f"{tmp_path / 'empty.txt'} is empty; a file with one sentence or row per line is needed."
    )
    missing = refusal(jumok("evaluate", gpt_run, "--source", tmp_path / "none.txt"))
    assert missing.startswith(f"{tmp_path / 'none.txt'} was not found; ")
    assert refusal(jumok("evaluate", gpt_run, "--source", text, "--target", text)) == (
        "--target is for translation; a language model scores the text of --source alone"
    )
    assert refusal(jumok("evaluate", gpt_run, "--split", "tset")) == "--split tset: must be train, val or test"


def test_check_looks_at_running_text(tmp_path):
    done = jumok("check", write_recipe(GPT_RECIPE)(tmp_path))
    assert done.code == 0, done.err
    assert re.search(r"train +[\d,]+ +[\d,]+ +[\d,]+", done.out)
    for words in (
        "3 documents as the model sees them",
        "vocabulary     90 text",
        "tokens/s",
        "padding        0.0%",
        "kernels in C   ",
    ):
        assert words in done.out


def test_train_says_how_to_use_what_it_made(tmp_path):
    quick = ["--set", "training.steps=1", "--set", "training.evaluate_every=1", "--set", "training.save_every=1"]
    done = jumok("train", write_recipe(GPT_RECIPE)(tmp_path), "--out", tmp_path / "run", *quick)
    assert done.out.startswith(f'Use it:    jumok generate {tmp_path / "run"} "…"\n')
