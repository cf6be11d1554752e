"""`jumok new`: whatever is there becomes a recipe that checks and trains; what cannot be learnt from gets a sentence."""

import gzip
import shutil
import tomllib

import pytest
from cli.conftest import digit_pairs, jumok, write_lines
from cli.data_of_ones_own import KINDS, labelled_texts, photos, photos_csv, reviews_csv, two_files, write_csv

from jumok.runs.run import load_recipe

QUICK = [
    part
    for override in ("steps=2", "warmup=1", "evaluate_every=2", "save_every=2", "evaluate_sentences=2", "workers=1")
    for part in ("--set", f"training.{override}")
]
MASKED = ["--task", "masked-language-modeling"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, where one stands."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(recipe):
    return tomllib.loads(recipe.read_text(encoding="utf-8"))


def refused(*arguments):
    """Return the sentence of a refusal; nothing may have been written."""
    done = jumok("new", *arguments)
    assert (done.code, done.out) == (2, ""), done
    return done.err.partition("jumok: ")[2].removesuffix("\n")


# --- every kind


CASES = {  # data, arguments of `new`, task, model, files in the recipe, what the trained model is asked
    "two_files": (["talks.en", "talks.ko"], "translation", "transformer",
                  {"source": "talks.en", "target": "talks.ko"}, ["translate", "1 2"]),
    "pairs_csv": (["pairs.csv"], "translation", "transformer",
                  {"file": "pairs.csv", "source_column": "en", "target_column": "ko"}, ["translate", "1 2"]),
    "reviews_csv": (["reviews.csv"], "text-classification", "recurrent-classifier",
                    {"file": "reviews.csv", "text": "review", "label": "sentiment"}, ["classify", "it was great"]),
    "reviews_jsonl": (["reviews.jsonl", "--model", "bert"], "text-classification", "bert",
                      {"file": "reviews.jsonl", "text": "text", "label": "label"}, ["classify", "it was great"]),
    "photos": (["photos"], "image-classification", "vit", "photos", ["classify", "photos/circle"]),
    "photos_csv": (["photos.csv", "--model", "cnn", "--preset", "digits"], "image-classification", "cnn",
                   {"file": "photos.csv", "image": "file", "label": "form"}, ["classify", "photos/circle"]),
    "captioned": (["album", "captions.csv"], "image-captioning", "captioner",
                  {"file": "captions.csv", "images": "album", "image": "image", "caption": "caption"},
                  ["caption", "album/0.png"]),
    "digits_npz": (["digits.npz"], "image-classification", "vit", "digits.npz", []),
    "novel_txt": (["novel.txt"], "language-modeling", "gpt", "novel.txt", ["generate", "The ", "--max-length", 5]),
    "texts": (["texts"], "language-modeling", "gpt", "texts", ["generate", "The ", "--max-length", 5]),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_whatever_is_there_becomes_a_recipe_that_checks_trains_and_answers(here, monkeypatch, kind):
    arguments, task, model, files, question = CASES[kind]
    KINDS[kind](here)
    done = jumok("new", *arguments)
    assert done.code == 0, done.err
    (recipe,) = here.glob("*.toml")
    found = written(recipe)
    assert (found["task"], found["model"]["name"], found["data"]["train"]) == (task, model, files)
    *said, check, train, ask = done.out.splitlines()
    assert said[-1] == f"{recipe.name} is written. Next:"
    assert (check, train) == (f"  jumok check {recipe.name}", f"  jumok train {recipe.name}")
    assert ask.startswith("  jumok ")
    assert any(line.startswith("saw:    ") for line in said)
    assert f"chose:  task {task}" in said
    checked = jumok("check", recipe.name)
    assert checked.code == 0, checked.err
    assert "no problems found" in checked.out
    # Paths count from the recipe's folder on, wherever one stands.
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    run = here / "runs" / "mine"
    trained = jumok("train", recipe, "--out", run, *QUICK)
    assert trained.code == 0, trained.err
    monkeypatch.chdir(here)
    if question:
        verb, *rest = question
        answer = jumok(verb, run, *rest)
        assert answer.code == 0, answer.err
        assert answer.out.strip()
    assert jumok("evaluate", run).code == 0


def test_a_text_for_a_bert_is_cut_into_paragraphs_and_filled_in(here):
    KINDS["novel_txt"](here)
    assert jumok("new", "novel.txt", *MASKED).code == 0
    found = written(here / "novel.toml")
    assert (found["task"], found["model"]["name"]) == ("masked-language-modeling", "bert")
    assert found["data"]["documents"] == "paragraph"
    assert jumok("train", "novel.toml", *QUICK).code == 0
    assert jumok("fill", "runs/novel", "The fox [MASK]").code == 0


def test_the_command_that_is_told_last_can_be_typed(here):
    """The example is of the data itself."""
    reviews_csv(here)
    done = jumok("new", "reviews.csv")
    assert done.out.splitlines()[-1] == f"  jumok classify runs/reviews '{labelled_texts(300)[0][0]}'"


# --- what is seen


def test_a_header_is_found_or_not(here):
    rows = labelled_texts(60)
    write_csv(here / "with.csv", [("문장", "분류"), *rows])
    write_csv(here / "without.csv", rows)
    write_csv(here / "odd.csv", [("zweites", "wort"), *rows])
    for name, text, label in [("with", "문장", "분류"), ("without", 0, 1), ("odd", "zweites", "wort")]:
        assert jumok("new", f"{name}.csv").code == 0
        train = written(here / f"{name}.toml")["data"]["train"]
        assert (train["text"], train["label"]) == (text, label)


def test_columns_that_are_named_win(here):
    rows = [(text, label, label.upper(), text[::-1]) for text, label in labelled_texts(80)]
    write_csv(here / "t.csv", [("body", "mood", "kind", "reversed"), *rows])
    sentence = refused("t.csv")
    assert (
        "t.csv has several columns of text: 'body' (text), 'mood' (classes), 'kind' (classes), 'reversed' (text)"
        in sentence
    )
    assert (
        "--task translation with --source and --target, or --task text-classification with --text and --label"
        in sentence
    )
    asked = refused("t.csv", "--task", "text-classification")
    assert "2 columns may be the classes" in asked
    assert asked.endswith("Name it: --label COLUMN")
    assert jumok("new", "t.csv", "--label", "kind", "--text", "body", "--out", "a.toml").code == 0
    assert written(here / "a.toml")["data"]["train"] == {"file": "t.csv", "text": "body", "label": "kind"}
    assert jumok("new", "t.csv", "--label", "1", "--text", "0", "--second", "reversed", "--out", "b.toml").code == 0
    assert written(here / "b.toml")["data"]["train"] == {
        "file": "t.csv", "text": "body", "second": "reversed", "label": "mood"
    }  # fmt: skip
    rows += rows
    write_csv(here / "t.csv", [("body", "mood", "kind", "reversed"), *rows])
    assert jumok("new", "t.csv", "--source", "reversed", "--target", "body", "--out", "c.toml").code == 0
    assert written(here / "c.toml")["data"]["train"]["source_column"] == "reversed"
    assert refused("t.csv", "--label", "mod") == "--label mod: t.csv has no such column; did you mean 'mood'?"


def test_a_folder_with_train_and_val_is_taken_apart(here):
    photos(here)
    for split in ("train", "val"):
        shutil.copytree(here / "photos", here / "set" / split)
    assert jumok("new", "set").code == 0
    data = written(here / "set.toml")["data"]
    assert (data["train"], data["val"]) == ("set/train", "set/val")
    assert "hold_out" not in data


def test_val_files_gz_and_odd_names_and_a_recipe_elsewhere(here):
    folder = here / '한국어 "🦊"'
    folder.mkdir()
    for name, side in [("a.gz", 0), ("b.gz", 1)]:
        text = "".join(f"{pair[side]}\n" for pair in digit_pairs(120))
        (folder / name).write_bytes(gzip.compress(text.encode()))
    val = [
        write_lines(folder / name, [pair[side] for pair in digit_pairs(5, first=900)])
        for side, name in enumerate(["v.a", "v.b"])
    ]
    (here / "recipes").mkdir()
    out = here / "recipes" / "mine.toml"
    done = jumok("new", folder / "a.gz", folder / "b.gz", "--out", out, "--val", val[0], "--val", val[1])
    assert done.code == 0, done.err
    data = written(out)["data"]
    assert data["train"]["source"] == f"../{folder.name}/a.gz"
    assert data["val"] == {"source": f"../{folder.name}/v.a", "target": f"../{folder.name}/v.b"}
    assert jumok("check", out, "--set", "model.layers=1").code == 0


def test_a_preset_that_is_asked_for(here):
    two_files(here)
    assert jumok("new", "talks.en", "talks.ko", "--preset", "base").code == 0
    assert load_recipe(here / "talks.en-talks.ko.toml").model.width == 512
    (here / "talks.en-talks.ko.toml").unlink()
    sentence = refused("talks.en", "talks.ko", "--preset", "bsae")
    assert sentence == "--preset bsae: transformer has no such preset; did you mean 'base'?"
    assert refused("talks.en", "talks.ko", "--model", "gpt").startswith("--model gpt is not for translation; known: ")


# --- an earlier run


def test_an_earlier_run_brings_its_model_and_tokenizer(here, bert_run):
    reviews_csv(here)
    done = jumok("new", "reviews.csv", "--from", bert_run)
    assert done.code == 0, done.err
    recipe = written(here / "reviews.toml")
    assert recipe["task"] == "text-classification"
    assert {"tokenizer", "model"} & set(recipe) == set()
    assert (here / recipe["training"]["init"]).resolve() == bert_run.resolve()
    assert recipe["data"]["max_length"] <= 16  # the run's positions
    KINDS["novel_txt"](here)
    assert jumok("new", "novel.txt", "--from", bert_run).code == 0
    assert written(here / "novel.toml")["task"] == "masked-language-modeling"


def test_an_earlier_run_is_found_from_anywhere(here, monkeypatch, bert_run):
    """training.init counts from the recipe's folder on, as files do; model and tokenizer are that run's."""
    reviews_csv(here)
    for folder in ("recipes", "elsewhere"):
        (here / folder).mkdir()
    assert jumok("new", "reviews.csv", "--from", bert_run, "--out", "recipes/mine.toml").code == 0
    monkeypatch.chdir(here / "elsewhere")
    done = jumok("train", here / "recipes" / "mine.toml", "--out", here / "run", *QUICK)
    assert done.code == 0, done.err
    assert "tensors start from" in done.err
    assert jumok("classify", here / "run", "it was great").code == 0


def test_an_earlier_run_that_does_not_fit(here, bert_run, gpt_run):
    reviews_csv(here)
    two_files(here)
    sentence = refused("talks.en", "talks.ko", "--from", bert_run)
    assert sentence == (
        f"--from {bert_run} is a run of masked-language-modeling, which can go on as text-classification or "
        "masked-language-modeling; the data is for translation (--task chooses another)"
    )
    assert refused("talks.en", "talks.ko", "--from", gpt_run) == (
        "two files of lines can be learnt from for translation, not for language-modeling"
    )
    assert refused("reviews.csv", "--from", bert_run, "--preset", "tiny") == (
        "--from takes the model of the earlier run; leave out --model and --preset"
    )
    assert "a run of several languages" in refused("talks.en", "talks.ko", "--from", "ko-en")
    assert refused(bert_run) == (
        f"{bert_run} is a run; give what it is to learn from, and the run to start from: jumok new DATA --from {bert_run}"
    )


# --- what cannot be learnt from


def test_what_is_not_there_or_empty_or_binary(here):
    assert refused("none.csv") == "there is no none.csv; give files or a folder of your own data"
    (here / "empty.csv").touch()
    assert refused("empty.csv").startswith("empty.csv is empty; ")
    (here / "empty.txt").touch()
    assert "is empty" in refused("empty.txt")
    (here / "header.csv").write_text("text,label\n", encoding="utf-8")
    assert refused("header.csv") == "header.csv holds a header and no rows; a row for each example is needed"
    (here / "binary.txt").write_bytes(b"\x00\x01\x02" * 999)
    assert "is a binary file (line 1 holds NUL bytes); plain UTF-8 text is needed." in refused("binary.txt")
    (here / "binary.csv").write_bytes(b"\x00\x01\x02" * 999)
    assert "is a binary file" in refused("binary.csv")
    (here / "book.pdf").write_bytes(b"%PDF-1.4")
    assert refused("book.pdf") == "book.pdf cannot be learnt from as it is; save its text as a plain text file (.txt)"
    (here / "folder").mkdir()
    assert "folder holds no text; files ending in .txt" in refused("folder")
    for name in ("b.csv", "a.tsv"):
        write_csv(here / "folder" / name, [("text", "label"), *labelled_texts(30)])
    assert refused("folder") == "folder holds tables: a.tsv, b.csv; give one of them, and --val for another"


def test_too_little_of_anything(here):
    few = write_lines(here / "few", ["a b"] * 99)
    assert refused(few, few) == "few and few have 99 pairs; a translator needs thousands"
    write_csv(here / "few.csv", [("text", "label"), *labelled_texts(12)])
    assert refused("few.csv") == "few.csv, 'label' (classes), has 12 examples; a classifier needs dozens of each class"
    write_lines(here / "few.txt", ["short"])
    assert refused("few.txt") == "few.txt has 6 characters; a language model needs far more: a book has a million"


def test_one_class_and_one_column(here):
    photos(here)
    for folder in (here / "photos").iterdir():
        if folder.name != "star":
            shutil.rmtree(folder)
    assert refused("photos") == "photos has only the class 'star'; a classifier needs two or more"
    rows = [(text, "good") for text, _ in labelled_texts(40)]
    write_csv(here / "one.csv", [("text", "label"), *rows])
    assert "no column looks like classes" in refused("one.csv", "--task", "text-classification")
    assert refused("one.csv", "--label", "label") == (
        "one.csv, 'label' (the same everywhere), has only the class 'good'; a classifier needs two or more"
    )
    write_csv(here / "column.csv", [("text",), *((text,) for text, _ in labelled_texts(40))])
    assert refused("column.csv").startswith(
        "column.csv has one column: 'text' (text). A classifier needs a second one "
    )
    assert jumok("new", "column.csv", *MASKED).code == 0
    assert written(here / "column.toml")["data"]["train"] == {"file": "column.csv", "column": "text"}


def test_images_that_cannot_be_opened(here):
    photos_csv(here)
    files = sorted((here / "photos").rglob("*.png"))
    files[0].write_bytes(b"no image")
    done = jumok("new", "photos")
    assert done.code == 0
    assert (
        f"1 of 40 images tried cannot be opened and will be left out, as {files[0].relative_to(here / 'photos')}"
        in done.out
    )
    (here / "tables").mkdir()
    shutil.copy(here / "photos.csv", here / "tables" / "photos.csv")
    sentence = refused("tables/photos.csv", "--out", "other.toml")
    assert "none of 40 images can be opened" in sentence
    assert f"from its folder on, {here / 'tables'}" in sentence
    assert "is one image; give a folder with a folder of images for each class" in refused(files[1], "--out", "x.toml")
    for file in files:
        file.write_bytes(b"no image")
    assert "none of 40 images can be opened, as circle/" in refused("photos", "--out", "x.toml")


def test_two_files_of_unequal_length_and_rows_of_unequal_width(here):
    two_files(here)
    write_lines(here / "talks.ko", ["하나"] * 299)
    assert refused("talks.en", "talks.ko").startswith(
        "talks.en has 300 lines and talks.ko 299; a parallel corpus needs the same number.\n"
    )
    (here / "wide.csv").write_text("text,label\nwell, yes,good\nno,bad\n", encoding="utf-8")
    assert refused("wide.csv").startswith("wide.csv row 2 has 3 columns, those before 2; mend the row, ")


def test_a_table_in_disguise_and_a_recipe(here):
    write_lines(here / "pairs.txt", [f"{source}\t{target}" for source, target in digit_pairs(200)])
    assert refused("pairs.txt").startswith(
        "pairs.txt has a tab in nearly every line, as tables have; name it pairs.tsv"
    )
    (here / "x.toml").touch()
    assert refused("x.toml", "--out", "y.toml").endswith("it is a recipe: jumok train trains it")


def test_an_existing_recipe_is_kept_and_a_place_that_cannot_be_written(here):
    reviews_csv(here)
    (here / "reviews.toml").write_text("mine", encoding="utf-8")
    assert refused("reviews.csv") == "reviews.toml exists already; choose another name with --out, or remove it"
    assert (here / "reviews.toml").read_text(encoding="utf-8") == "mine"
    assert refused("reviews.csv", "--out", "no/where.toml") == (
        "no/where.toml cannot be written: there is no folder no; choose another place with --out"
    )


def test_options_that_do_not_fit(here):
    reviews_csv(here)
    two_files(here)
    assert refused("reviews.csv", "--task", "translatoin") == (
        "--task translatoin: jumok new has no recipe for such a task; did you mean 'translation'?"
    )
    assert refused("talks.en", "talks.ko", "--val", "talks.en").startswith(
        "--val is given 1 time, and the data is 2 files; "
    )
    assert refused("talks.en", "talks.ko", "talks.en").startswith("3 files are given; ")
    assert refused("reviews.csv", "talks.ko").startswith("reviews.csv and talks.ko: two are given where both are text")
    assert refused("talks.en", "--task", "translation") == (
        "running text can be learnt from for language-modeling or masked-language-modeling, not for translation"
    )
