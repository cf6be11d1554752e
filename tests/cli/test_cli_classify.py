"""`jumok classify`: arguments, filter, files, one text or two; fine-tuning that it begins with; scores beside baselines."""

import gzip
import json
import re

import pytest
from cli.conftest import CLASSIFIER_RECIPE, THINGS, VERDICTS, jumok, listing, refusal, write_lines, write_reviews

from jumok.cli import lines as module

TEXTS = ["the film was lovely", "the book was awful", "the song was so"]
LINES = ["the film was lovely", "", "the book was awful", "   ", "☃ unheard-of", "the song was so"]

NO_TEXT = "has no text; the class it gets is only what the model says of nothing at all"


def without_text(*numbers) -> str:
    """Return what is said of lines without text."""
    return "".join(f"warning: line {number} {NO_TEXT}\n" for number in numbers)


PAIRS_RECIPE = CLASSIFIER_RECIPE.replace('text = "text"', 'text = "first", second = "second"')


def verdicts(run, *arguments, **others) -> list[dict]:
    done = jumok("classify", run, *arguments, "--json", **others)
    assert done.code == 0, done.err
    assert all(NO_TEXT in line for line in done.err.splitlines()), done.err
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture(scope="module")
def pair_run(tmp_path_factory):
    """A classifier of two texts, whose class is that of the second."""
    folder = tmp_path_factory.mktemp("pairs")
    words = [(word, label) for label, found in VERDICTS.items() for word in found]
    for split, thing in (("train", "film"), ("val", "book")):
        rows = [f"the {thing} was {other}\tit was {word}\t{label}" for other, _ in words for word, label in words]
        write_lines(folder / f"{split}.tsv", ["first\tsecond\tverdict", *rows])
    (folder / "pairs.toml").write_text(PAIRS_RECIPE, encoding="utf-8")
    done = jumok("train", folder / "pairs.toml", "--out", folder / "run", "--set", "training.steps=200")
    assert done.code == 0, done.err
    return folder / "run"


# --- texts in, verdicts out


def test_each_text_has_its_class_probability_and_itself_on_a_line(classifier_run):
    done = jumok("classify", classifier_run, *TEXTS)
    assert (done.code, done.err) == (0, "")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [label for label, _, _ in rows] == ["good", "bad", "dull"]
    assert [text for _, _, text in rows] == TEXTS
    for row, verdict in zip(rows, verdicts(classifier_run, *TEXTS), strict=True):
        assert row[1] == f"{verdict['probability']:.3f}"


def test_an_empty_text_keeps_its_line_and_is_told(classifier_run):
    done = jumok("classify", classifier_run, stdin="the film was awful\n\n  \nthe film was lovely\n")
    assert done.code == 0
    assert [line.split("\t")[-1] for line in done.out.splitlines()] == [
        "the film was awful",
        "",
        "  ",
        "the film was lovely",
    ]
    assert done.err == without_text(2, 3)


def test_probabilities_are_ranked_and_sum_to_one(classifier_run):
    for text, verdict in zip(LINES, verdicts(classifier_run, *LINES), strict=True):
        shares = verdict["probabilities"]
        assert verdict["text"] == text
        assert set(shares) == set(VERDICTS)
        assert sum(shares.values()) == pytest.approx(1.0, abs=2e-6)
        assert list(shares.values()) == sorted(shares.values(), reverse=True)
        assert (verdict["label"], verdict["probability"]) == next(iter(shares.items()))


def test_top_shows_more_classes_and_never_more_than_there_are(classifier_run):
    (verdict,) = verdicts(classifier_run, TEXTS[0])
    parts = [part for label, share in verdict["probabilities"].items() for part in (label, f"{share:.3f}")]
    for top in (1, 2, 3, 99):
        shown = jumok("classify", classifier_run, TEXTS[0], "--top", top).out
        assert shown == "\t".join([*parts[: 2 * top], TEXTS[0]]) + "\n"


def test_as_a_filter_a_line_in_is_a_line_out(classifier_run):
    given = jumok("classify", classifier_run, *LINES).out
    assert given.count("\n") == len(LINES)
    assert jumok("classify", classifier_run, stdin="\n".join(LINES) + "\n") == (0, given, without_text(2, 4))
    assert jumok("classify", classifier_run, stdin="\r\n".join(LINES)) == (0, given, without_text(2, 4))
    assert jumok("classify", classifier_run, stdin="") == (0, "", "")
    assert jumok("classify", classifier_run, stdin="\n").out == jumok("classify", classifier_run, "").out


def test_only_a_line_end_ends_a_line(classifier_run):
    """A text given as an argument may hold line ends; a table of verdicts still has a line each."""
    assert jumok("classify", classifier_run, "a\nb\r\nc", "d").out.count("\n") == 2
    assert jumok("classify", classifier_run, stdin="a\rb\x0bc\u2028d\x85e\nz\n").out.count("\n") == 2
    assert verdicts(classifier_run, "a\nb")[0]["text"] == "a\nb"


def test_more_lines_than_a_chunk_stay_in_order_and_neighbours_change_nothing(classifier_run, monkeypatch):
    texts = [f"the {thing} was {word}" for thing in THINGS for words in VERDICTS.values() for word in words]
    together = verdicts(classifier_run, stdin="\n".join(texts))
    monkeypatch.setattr(module, "CHUNK", 2)
    apart = verdicts(classifier_run, stdin="\n".join(texts))
    for text, one, other in zip(texts, together, apart, strict=True):
        assert one["text"] == other["text"] == text
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-5)


def test_a_text_longer_than_the_model_takes_is_cut_and_said_to_be(classifier_run, monkeypatch):
    monkeypatch.setattr("jumok.cli.lines.CHUNK", 2)  # lines are counted over chunks
    longest = "the film was lovely " * 4  # 16 tokens with both marks, less two words
    fits, over = " ".join(longest.split()[:14]), " ".join([*longest.split()[:14], "awful", "awful"])
    done = jumok("classify", classifier_run, stdin=f"{fits}\n\n{over}\n")
    assert (
        done.err
        == without_text(2) + "warning: line 3 has 2 tokens more than the model takes (16); its end was left out\n"
    )
    first, _, third = verdicts(classifier_run, fits, "", fits)
    assert (
        [line.split("\t")[1] for line in done.out.splitlines()][::2]
        == [f"{first['probability']:.3f}"] * 2
        == [f"{third['probability']:.3f}"] * 2
    )


def test_files_in_and_out_plain_and_gz(classifier_run, tmp_path):
    plain, packed, out = write_lines(tmp_path / "in.txt", LINES), tmp_path / "in.txt.gz", tmp_path / "out.txt"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    expected = jumok("classify", classifier_run, *LINES).out
    for source in (plain, packed):
        assert jumok("classify", classifier_run, "--in", source, "--out", out) == (0, "", without_text(2, 4))
        assert out.read_text(encoding="utf-8") == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "in.txt.gz", "out.txt"]


@pytest.mark.parametrize(
    "text", ["넌 누구니?", "🦊", "[END]", "[MASK]", "\udcff", "\x00", "x" * 5000, "word " * 500, "a\tb"]
)
def test_any_text_has_a_verdict(classifier_run, text):
    done = jumok("classify", classifier_run, text, "the film was lovely")
    assert done.code == 0
    assert done.err in ("", without_text(1)) or ("its end was left out" in done.err and done.err.count("\n") == 1)
    assert done.out.count("\n") == 2
    assert done.out.splitlines()[1].startswith("good\t")


# --- two texts


def test_two_texts_stand_with_a_tab_between_and_both_are_read(pair_run):
    texts = ["the film was awful\tit was lovely", "the film was lovely\tit was awful", "the film was lovely\tit was so"]
    found = verdicts(pair_run, *texts)
    assert [verdict["label"] for verdict in found] == ["good", "bad", "dull"]
    assert [verdict["text"] for verdict in found] == texts
    assert jumok("classify", pair_run, stdin="\n".join(texts)).out == jumok("classify", pair_run, *texts).out
    alone, empty = verdicts(pair_run, "the film was awful", "the film was awful\t")
    assert alone["probabilities"] == empty["probabilities"] != found[0]["probabilities"]


def test_a_model_of_one_text_reads_a_tab_as_a_space(classifier_run):
    tabbed, spaced = verdicts(classifier_run, "the film\twas lovely", "the film was lovely")
    assert tabbed["probabilities"] == pytest.approx(spaced["probabilities"], abs=1e-6)


# --- what is refused


def test_what_cannot_be_read_is_refused_in_a_sentence(classifier_run, tmp_path):
    def refused(*arguments, **others):
        return refusal(jumok("classify", classifier_run, *arguments, **others))

    out = tmp_path / "out.txt"
    assert refused("a", "--in", tmp_path) == "give texts or --in FILE, not both"
    assert refused("--in", tmp_path / "none") == f"--in {tmp_path / 'none'}: there is no such file"
    assert refused("--in", tmp_path, "--out", out) == f"{tmp_path} is a folder; a file is needed."
    assert refused(stdin="café".encode("latin-1")) == (
        "line 1 of standard input is not UTF-8; convert it first: iconv -f LATIN1 -t UTF-8"
    )
    assert refused("a", "--out", tmp_path / "none" / "out") == (
        f"--out {tmp_path / 'none' / 'out'} cannot be written: there is no folder {tmp_path / 'none'}; choose another file"
    )
    assert refused("a", "--checkpoint", "step-7") == (
        f"{classifier_run} has no checkpoint 'step-7'; there are step-40, best, last"
    )
    assert not out.exists()


def test_runs_of_other_kinds_are_sent_to_their_own_command(classifier_run, bert_run, copy_run):
    for run, task, command in ((bert_run, "masked-language-modeling", "fill"), (copy_run, "translation", "translate")):
        wanted = f"{run} is a run of {task}: use jumok {command}, not jumok classify"
        assert refusal(jumok("classify", run, "a")) == wanted
        assert refusal(jumok("classify", run, stdin="a\n")) == wanted
    for command in ("translate", "generate", "fill"):
        wanted = f"{classifier_run} is a run of text-classification: use jumok classify, not jumok {command}"
        assert refusal(jumok(command, classifier_run, "a [MASK]")) == wanted
    wanted = f"{classifier_run} is a run of text-classification; compare is for translation, for captions, for forecasts, or for drawings"
    assert refusal(jumok("compare", classifier_run, bert_run)) == wanted


# --- fine-tuning


@pytest.fixture
def refused(tmp_path):
    """Train the classifier with changes, expect a refusal before the run is begun, and return the message."""
    recipe = write_reviews(tmp_path, CLASSIFIER_RECIPE)

    def train(*changes: str, command: str = "train") -> str:
        before = listing(tmp_path)
        options = [part for change in changes for part in ("--set", change)]
        out = ["--out", tmp_path / "run"] if command == "train" else []
        done = jumok(command, recipe, *out, *options)
        assert listing(tmp_path) == before, "something was written"
        progress, mark, message = ("\n" + done.err).partition("\njumok: ")
        assert (done.code, done.out, mark) == (2, "", "\njumok: "), done
        assert all(line.endswith(" …") for line in progress.split("\n") if line), progress
        return message.removesuffix("\n")

    return train


def test_fine_tuning_says_what_was_taken_and_what_is_new(bert_run, tmp_path):
    recipe = write_reviews(tmp_path, CLASSIFIER_RECIPE)
    done = jumok(
        "train", recipe, "--out", tmp_path / "run", "--set", f"training.init={bert_run}", "--set", "training.steps=1"
    )
    assert done.code == 0, done.err
    taken, of = map(int, re.search(rf"(\d+) of (\d+) tensors start from {bert_run}\n", done.err).groups())
    assert taken == of - 2
    assert "\nnew: project.weight, project.bias\n" in done.err
    assert re.search(r"\nnot used: .*\btransform\.weight\b", done.err)
    assert done.out.startswith(f'Use it:    jumok classify {tmp_path / "run"} "…"\n')


@pytest.mark.parametrize("command", ["train", "check"])
def test_weights_of_another_tokenizer_are_refused(refused, bert_run, gpt_run, copy_run, command):
    def start(run, *changes):
        return refused(f"training.init={run}", *changes, command=command)

    cure = "\n       Weights belong to a tokenizer: leave out [tokenizer], and that run's own is taken."
    assert start(bert_run, "tokenizer.vocabulary=50") == (
        f"training.init = '{bert_run}': its text was cut into other tokens:\n"
        f"         tokenizer.vocabulary: 8000 there, 50 here{cure}"
    )
    found = start(gpt_run)
    assert "tokenizer.kind: 'character' there, 'word' here\n" in found
    assert found.endswith(cure)
    assert "a run of translation has other sides than text-classification" in start(copy_run)


@pytest.mark.parametrize("command", ["train", "check"])
def test_weights_that_do_not_fit_are_refused(refused, bert_run, tmp_path, command):
    assert re.fullmatch(
        rf"training.init = '{bert_run}': none of its \d+ tensors fits this model; "
        r"are model.name, layers and width the same\?",
        refused(f"training.init={bert_run}", "model.width=8", "model.feedforward=12", command=command),
    )
    missing = refused(f"training.init={tmp_path / 'none'}", command=command)
    assert missing.startswith(f"there is no run folder {tmp_path / 'none'}; ")


@pytest.mark.parametrize("command", ["train", "check"])
@pytest.mark.parametrize(
    ("label", "hint"), [("god", "did you mean 'good'?"), ("☃", "known: bad, dull, good")], ids=["near", "far"]
)
def test_a_class_of_val_that_train_never_showed_is_refused(refused, tmp_path, command, label, hint):
    write_lines(tmp_path / "val.tsv", ["text\tverdict", "the film was great\tgood", f"the play was great\t{label}"])
    assert refused(command=command) == (
        f"the class {label!r} of 'the play was great' is not among the training data's 3: {hint}; "
        "name all classes in data.labels, or mend the row."
    )


def test_tables_that_cannot_be_learnt_from_are_refused(refused, tmp_path):
    table = tmp_path / "train.tsv"
    write_lines(table, ["text\tverdict", "a\tgood", "b\tgood"])
    assert refused() == (
        "the training data has only the class 'good'; two classes or more are needed. Is the label column right?"
    )
    write_lines(table, ["text\tmark", "a\tgood", "b\tbad"])
    assert refused().startswith(f"{table} has no column 'verdict'; it has 0 (text), 1 (mark).")
    write_lines(table, ["text\tverdict", "a\tgood", "b"])
    assert refused().startswith(f"{table} line 3 has 1 column (b); ")
    table.write_bytes(b"")
    assert refused() == f"{table} is empty; a file with one sentence or row per line is needed."


# --- evaluate and check


def test_evaluate_shows_what_its_json_says_beside_two_baselines(classifier_run):
    scores = json.loads(jumok("evaluate", classifier_run, "--json").out)["val.tsv"]
    assert scores["examples"] == sum(map(sum, scores["confusion"])) == 60
    assert scores["labels"] == ["bad", "dull", "good"]
    right = sum(scores["confusion"][number][number] for number in range(3))
    assert scores["accuracy"] == pytest.approx(100 * right / 60)
    assert scores["accuracy"] > 90 > scores["baselines"]["majority"]
    done = jumok("evaluate", classifier_run)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(
        f"val.tsv (val), 60 texts\n  accuracy {scores['accuracy']:.2f} %   macro-F1 {scores['macro_f1']:.2f} %   loss {scores['loss']:.4f}\n"
        f"  beside it: accuracy of majority {scores['baselines']['majority']:.2f} %, n-grams {scores['baselines']['n-grams']:.2f} %\n"
    )
    for label, row in zip(scores["labels"], scores["confusion"], strict=True):
        assert re.search(rf"\n  {label} +" + " +".join(map(str, row)), done.out)


def test_a_table_of_ones_own_is_scored(classifier_run, tmp_path):
    own = write_lines(tmp_path / "own.tsv", ["verdict\ttext", "good\tthe film was lovely", "bad\tthe film was lovely"])
    done = jumok("evaluate", classifier_run, "--source", own)
    assert done.out.startswith("own.tsv (files), 2 texts\n  accuracy 50.00 %")
    write_lines(own, ["text\tverdict", "the film was lovely\tgodo"])
    assert refusal(jumok("evaluate", classifier_run, "--source", own)).startswith("the class 'godo' of ")
    assert refusal(jumok("evaluate", classifier_run, "--source", own, "--target", own)) == (
        "--target is for translation; a classifier's --source is a table with texts and classes"
    )
    assert refusal(jumok("evaluate", classifier_run, "--split", "test")) == (
        "the recipe has no test data; add test = { file = … } to [data], or give --source"
    )


def test_classes_of_any_name_are_shown_whole(tmp_path):
    """Neither brackets, which style text elsewhere, nor the width of a terminal may take anything away."""
    names = ["[/]", "[bold]", ":dog:", *(f"class number {number} with a long name" for number in range(6))]
    recipe = write_reviews(tmp_path, CLASSIFIER_RECIPE)
    rows = [f"the {name} was {word}\t{name}" for name in names for word in ("so", "bad")]
    for split in ("train", "val"):
        write_lines(tmp_path / f"{split}.tsv", ["text\tverdict", *rows])
    checked = jumok("check", recipe)
    assert checked.code == 0, checked.err
    assert jumok("train", recipe, "--out", tmp_path / "run", "--set", "training.steps=1").code == 0
    scored = jumok("evaluate", tmp_path / "run")
    assert scored.code == 0, scored.err
    header = next(line for line in scored.out.splitlines() if "was named" in line)
    for name in names:
        assert f"class {name} " in checked.out
        assert f" {name} " in header
        assert f"\n  {name} " in scored.out


def test_check_counts_the_classes(tmp_path):
    done = jumok("check", write_reviews(tmp_path, CLASSIFIER_RECIPE))
    assert done.code == 0, done.err
    kept, *counts = map(int, re.search(r"train +(\d+) +(\d+) +(\d+) +(\d+)", done.out).groups())
    assert kept == sum(counts) == 300
    for words in ("class bad", "class dull", "class good", "3 texts as the model sees them", "texts/s"):
        assert words in done.out
