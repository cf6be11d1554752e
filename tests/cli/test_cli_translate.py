"""`jumok translate`: arguments, filter, files, every way to search, and lines that no model likes."""

import gzip
import json
import os
import pty
import subprocess
import sys

import pytest
from cli.conftest import jumok

from jumok.cli import lines as module

LINES = ["a b c", "", "k l m n", "   ", "z", "q w e r t y"]


def test_sentences_are_translated_in_order(copy_run):
    done = jumok("translate", copy_run, "a b c", "z y", "")
    assert done == (0, "a b c\nz y\n\n", "")


def test_as_a_filter_order_and_empty_lines_are_kept(copy_run):
    done = jumok("translate", copy_run, stdin="\n".join(LINES) + "\n")
    assert done.out.split("\n") == ["a b c", "", "k l m n", "", "z", "q w e r t y", ""]
    assert done.err == ""


def test_a_bar_on_the_terminal_leaves_standard_output_alone(copy_run):
    """The usual way: the error stream is a terminal, standard output a file."""
    terminal, end = pty.openpty()
    code = "import sys; sys.argv[0] = 'jumok'; from jumok.cli.main import main; main()"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, "translate", str(copy_run), "--beam", "1"], input="a b c\n\nk l\n", stdout=subprocess.PIPE,
            stderr=end, text=True, check=True, env={**os.environ, "TERM": "xterm", "COLUMNS": "60"},
        )  # fmt: skip
        assert done.stdout == "a b c\n\nk l\n"
        shown = os.read(terminal, 100_000)
    finally:
        os.close(end)
        os.close(terminal)
    assert b"translating" in shown
    assert b"a b c" not in shown


def test_a_last_line_without_an_end_and_windows_ends_are_lines_too(copy_run):
    assert jumok("translate", copy_run, stdin="a b\r\nc d").out == "a b\nc d\n"
    assert jumok("translate", copy_run, stdin="").out == ""


def test_only_a_line_end_ends_a_line(copy_run):
    """Carriage returns and Unicode's own separators inside a line must not shift the lines after it."""
    done = jumok("translate", copy_run, stdin="a\rb\x0bc\u2028d\x85e\nz\n")
    assert done.out == "a b c d e\nz\n"


def test_more_lines_than_a_chunk_stay_in_order(copy_run, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 3)
    letters = [" ".join(f"{number:02d}".translate(str.maketrans("0123456789", "abcdefghij"))) for number in range(11)]
    done = jumok("translate", copy_run, "--beam", 1, stdin="\n".join(letters))
    assert done.out.split() == " ".join(letters).split()
    numbered = jumok("translate", copy_run, "--n-best", 2, stdin="\n".join(letters)).out.splitlines()
    assert [int(line.split("\t")[0]) for line in numbered] == [number for number in range(1, 12) for _ in range(2)]


def test_files_in_and_out_plain_and_gz(copy_run, tmp_path):
    plain, packed, out = tmp_path / "in.txt", tmp_path / "in.txt.gz", tmp_path / "out.txt"
    text = "\n".join(LINES) + "\n"
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    expected = jumok("translate", copy_run, stdin=text).out
    for source in (plain, packed):
        done = jumok("translate", copy_run, "--in", source, "--out", out)
        assert done == (0, "", "")
        assert out.read_text(encoding="utf-8") == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "in.txt.gz", "out.txt"]


def test_a_failing_translation_leaves_the_old_file_alone(copy_run, tmp_path):
    out = tmp_path / "out.txt"
    out.write_text("old", encoding="utf-8")
    done = jumok("translate", copy_run, "--in", tmp_path / "none.txt", "--out", out)
    assert (done.code, out.read_text(encoding="utf-8")) == (2, "old")
    assert done.err == f"jumok: --in {tmp_path / 'none.txt'}: there is no such file\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_a_device_is_written_to_and_not_replaced(copy_run, tmp_path):
    link = tmp_path / "nothing"
    link.symlink_to("/dev/null")
    assert jumok("translate", copy_run, "a b", "--out", link) == (0, "", "")
    assert link.is_char_device()


def test_json_has_text_score_and_tokens(copy_run):
    done = jumok("translate", copy_run, "a b c", "", "--json")
    first, second = map(json.loads, done.out.splitlines())
    assert first["source"] == first["text"] == "a b c"
    assert first["tokens"] == ["▁a", "▁b", "▁c"]
    assert -1.0 < first["score"] < 0.0
    assert second == {"source": "", "text": "", "score": 0.0, "tokens": []}


def test_n_best_are_different_and_ranked(copy_run):
    done = jumok("translate", copy_run, "a b c", "k l", "--beam", 4, "--n-best", 3)
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [number for number, _, _ in rows] == ["1"] * 3 + ["2"] * 3
    for sentence, best in (("1", "a b c"), ("2", "k l")):
        texts = [text for number, _, text in rows if number == sentence]
        scores = [float(score) for number, score, _ in rows if number == sentence]
        assert texts[0] == best
        assert len(set(texts)) == 3
        assert scores == sorted(scores, reverse=True)
    answers = json.loads(jumok("translate", copy_run, "a b c", "--beam", 4, "--n-best", 3, "--json").out)["answers"]
    assert [answer["text"] for answer in answers] == [text for number, _, text in rows if number == "1"]


def test_n_best_wider_than_the_beam_is_refused(copy_run):
    done = jumok("translate", copy_run, "a", "--n-best", 3)
    assert done == (2, "", "jumok: n_best (3) needs a beam at least as wide, not 2; set beam = 3\n")


def test_a_wider_beam_never_scores_worse_here_and_the_length_penalty_counts(copy_run):
    def score(*options):
        return json.loads(jumok("translate", copy_run, "a b c d", "--json", *options).out)["score"]

    assert score("--beam", 8) >= score("--beam", 1) - 1e-6
    # The same answer of 4 letters and the end: its score is the log-probability ÷ 5 ** penalty.
    assert score("--length-penalty", 0.0) == pytest.approx(5 * score("--length-penalty", 1.0), rel=1e-3)


def test_sampling_is_reproducible_by_its_seed(copy_run):
    def sample(*options):
        return jumok("translate", copy_run, *["a b c d e f g h"] * 4, "--sample", "--temperature", 3, *options).out

    assert sample("--seed", 1) == sample("--seed", 1)
    assert sample("--seed", 1) != sample("--seed", 2)
    assert len(set(sample("--seed", 1).splitlines())) > 1


def test_sampling_from_the_likeliest_alone_is_greedy(copy_run):
    greedy = jumok("translate", copy_run, *LINES, "--beam", 1).out
    hot = ["--sample", "--temperature", 5]
    assert jumok("translate", copy_run, *LINES, *hot, "--top-k", 1).out == greedy
    assert jumok("translate", copy_run, *LINES, *hot, "--top-p", 1e-6).out == greedy
    assert jumok("translate", copy_run, *LINES, "--sample", "--temperature", 0.01).out == greedy
    assert jumok("translate", copy_run, *LINES, *hot).out != greedy


def test_a_prefix_is_kept_and_gone_on_from(copy_run):
    done = jumok("translate", copy_run, "a b c d", "", "--prefix", "x y")
    first, second = done.out.splitlines()
    assert first.startswith("x y")
    assert second == ""
    assert first != jumok("translate", copy_run, "a b c d").out.strip()


def test_lengths_are_kept_to(copy_run):
    assert jumok("translate", copy_run, "a b c d", "--max-length", 2).out == "a b\n"
    tokens = json.loads(jumok("translate", copy_run, "a b", "--min-length", 5, "--json").out)["tokens"]
    assert len(tokens) >= 5


def test_no_ngram_stands_twice(copy_run):
    plain = jumok("translate", copy_run, "a b a b").out.split()
    assert plain == ["a", "b", "a", "b"]
    words = jumok("translate", copy_run, "a b a b", "--no-repeat-ngram", 1).out.split()
    assert len(words) == len(set(words))


def test_coverage_penalty_and_batch_size_keep_the_answer(copy_run):
    expected = jumok("translate", copy_run, *LINES).out
    assert jumok("translate", copy_run, *LINES, "--batch-size", 1).out == expected
    assert jumok("translate", copy_run, *LINES, "--coverage-penalty", 0.2).out == expected


@pytest.mark.parametrize("options", [[], ["--prefix", "x y"], ["--sample", "--seed", 4, "--temperature", 3]])
def test_streaming_writes_what_comes_at_once_otherwise(copy_run, options):
    texts = ["a b c", "", "k l m n o p"]
    streamed = [jumok("translate", copy_run, text, "--stream", *options).out for text in texts]
    at_once = [jumok("translate", copy_run, text, "--beam", 1, *options).out for text in texts]
    assert streamed == at_once


def test_streaming_bytes_that_are_half_a_character_equals_greedy(babble_run):
    texts = ["1 2 3", "4 5", "9 9 9 9"]
    for seed in range(3):
        hot = ["--sample", "--temperature", 9, "--seed", seed]
        for text in texts:
            assert (
                jumok("translate", babble_run, text, "--stream", *hot).out
                == jumok("translate", babble_run, text, *hot).out
            )


def test_streaming_is_one_answer(copy_run):
    done = jumok("translate", copy_run, "a", "--stream", "--json")
    assert done == (2, "", "jumok: --stream shows one translation while it is written; leave out --json and --n-best\n")


def test_an_answer_is_one_line_whatever_the_model_writes(babble_run):
    """A byte-level model may write line ends; line N of the output still belongs to line N of the input."""
    lines = [f"{number} {number + 1}" for number in range(40)]
    done = jumok("translate", babble_run, "--sample", "--temperature", 9, "--max-length", 40, stdin="\n".join(lines))
    assert done.out.count("\n") == 40
    assert "\r" not in done.out
    whole = jumok("translate", babble_run, "--sample", "--temperature", 9, "--json", stdin="\n".join(lines)).out
    assert any("\n" in json.loads(line)["text"] for line in whole.splitlines()), "the trial has shown nothing"


@pytest.mark.parametrize("run", ["copy_run", "babble_run"])
@pytest.mark.parametrize(
    "text",
    [
        "넌 누구니?",
        "🦊🏳️‍🌈",
        "\x00\x01\x07\x1b[31m a",
        "[END]",
        "[START] [PAD] [UNK]",
        "e\u0301",
        "\ufeff",
        "\udcff",
        "ا\u200f ب",
        "\t",
        "x" * 10,
    ],
)
def test_any_text_has_an_answer(request, run, text):
    run = request.getfixturevalue(run)
    done = jumok("translate", run, text, "a b")
    assert done.code == 0
    assert done.err == ""
    assert done.out.count("\n") == 2
    assert jumok("translate", run, text, "--json").code == 0


def test_the_word_end_in_brackets_does_not_end_an_answer(copy_run):
    assert jumok("translate", copy_run, "a b [END] c", "--json").code == 0
    first = json.loads(jumok("translate", copy_run, "[END]", "--json").out)
    assert first["tokens"] != []  # read as unknown words, not as the end


def test_a_line_that_is_too_long_is_cut_at_a_word_with_a_warning(copy_run):
    long = " ".join("abcdefghij" * 5)  # 50 words and the end; the recipe's longest is 40
    done = jumok("translate", copy_run, stdin=f"a b\n{long}\nc d\n")
    first, middle, last, rest = done.out.split("\n")
    assert (done.code, first, last, rest) == (0, "a b", "c d", "")
    assert middle
    shown = long[: 39 * 2 - 1][-40:]
    assert done.err == (
        f"warning: line 2 has 51 tokens, the model takes 40: cut after {shown!r} (77 of 99 characters); give it sentence by sentence\n"
    )


def test_the_warning_counts_lines_over_chunks_and_in_a_stream(copy_run, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 2)
    text = "a\nb\nc\n" + "d " * 50 + "\n"
    for options in ([], ["--stream"]):
        done = jumok("translate", copy_run, "--max-length", 3, *options, stdin=text)
        assert done.err.startswith("warning: line 4 has 51 tokens, the model takes 40: cut after")
        assert done.out.count("\n") == 4


def test_a_line_is_cut_at_a_sentence_where_there_is_one(copy_run):
    long = "a b c d e f g h i j k l m n o p q r s t u v w x y. " + "z " * 30
    done = jumok("translate", copy_run, long)
    assert "cut after 'f g h i j k l m n o p q r s t u v w x y.'" in done.err


def test_one_endless_word_is_cut_anywhere(babble_run):
    done = jumok("translate", babble_run, "가" * 500, "x" * 100_000)
    assert done.code == 0
    assert done.out.count("\n") == 2
    warnings = done.err.splitlines()
    assert [warning.split(" has ")[0] for warning in warnings] == ["warning: line 1", "warning: line 2"]
    assert "the model takes 64" in warnings[0]


def test_another_checkpoint_can_be_named(copy_run):
    texts = ["a b c d e f g h i j"] * 1
    last, named = (
        jumok("translate", copy_run, *texts, "--json", "--checkpoint", name).out for name in ("last", "step-300")
    )
    first = jumok("translate", copy_run, *texts, "--json", "--checkpoint", "step-150").out
    assert last == named != first
    done = jumok("translate", copy_run, "a", "--checkpoint", "step-7")
    assert done == (2, "", f"jumok: {copy_run} has no checkpoint 'step-7'; there are step-150, step-300, best, last\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--temperature", 0, "--sample"], "decoding.temperature = 0.0: must be above 0.0"),
        (["--top-p", 1.5], "decoding.top_p = 1.5: must be at most 1.0"),
        (["--min-length", 9, "--max-length", 3], "min_length (9) is above max_length (3)"),
        (["--prefix", "a b c d", "--max-length", 3],
         "a prefix of 4 tokens leaves no room in an answer of at most 3; shorten it or raise max_length"),
        (["--in", "some.txt"], "give sentences or --in FILE, not both"),
    ],
)  # fmt: skip
def test_impossible_wishes_are_refused_in_a_sentence(copy_run, options, message):
    assert jumok("translate", copy_run, "a b", *options) == (2, "", f"jumok: {message}\n")


def test_input_that_is_not_utf8_is_refused_with_its_line(copy_run, tmp_path):
    latin = "a\ncafé\n".encode("latin-1")
    done = jumok("translate", copy_run, stdin=latin)
    assert (done.code, done.err) == (
        2, "jumok: line 2 of standard input is not UTF-8; convert it first: iconv -f LATIN1 -t UTF-8\n"
    )  # fmt: skip
    (tmp_path / "in.txt").write_bytes(latin)
    done = jumok("translate", copy_run, "--in", tmp_path / "in.txt", "--out", tmp_path / "out.txt")
    assert done.code == 2
    assert f"{tmp_path / 'in.txt'} is not UTF-8 (line 2; it looks like Latin-1); convert it with" in done.err
    assert not (tmp_path / "out.txt").exists()
