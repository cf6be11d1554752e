"""Held-out data beside training data: swapped, in another language, copied; and silent where nothing is wrong."""

import random

import pytest

import jumok

# Two made-up languages of one alphabet, as near to each other as English and French.
SYLLABLES = {
    "one": ["the", "ing", "and", "her", "ere", "ent", "tha", "nth", "was", "eth", "for", "dth", "hat", "she", "ion"],
    "two": ["ent", "les", "ion", "que", "our", "ait", "des", "ant", "est", "eur", "tou", "par", "ais", "ous", "dan"],
}
RECIPE = """
[data]
train = { source = "train.one", target = "train.two" }
val = { source = "val.one", target = "val.two" }
[tokenizer]
kind = "word"
min_frequency = 1
[model]
width = 16
heads = 2
layers = 1
feedforward = 24
[training]
steps = 100
warmup = 10
batch_tokens = 60
evaluate_every = 50
workers = 1
"""


def sentences(language, count, *, seed):
    """Return sentences of eight words, some of them common, as words are in a language."""
    words = random.Random(language)
    known = ["".join(words.choices(SYLLABLES[language], k=words.choice((1, 1, 2, 3)))) for _ in range(300)]
    draw = random.Random(f"{language}{seed}")
    weights = [1 / (place + 1) for place in range(len(known))]
    return [" ".join(draw.choices(known, weights, k=8)) for _ in range(count)]


@pytest.fixture
def pairs(tmp_path):
    """Return a function that writes the files of a recipe and returns the problems of its data."""

    def problems(**changed):
        files = {
            f"{split}.{language}": sentences(language, count, seed=split)
            for split, count in (("train", 300), ("val", 60))
            for language in SYLLABLES
        }
        for name, lines in (files | {key.replace("_", "."): lines for key, lines in changed.items()}).items():
            (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (tmp_path / "recipe.toml").write_text(RECIPE)
        found = jumok.check(tmp_path / "recipe.toml").problems
        return [(what, cure) for what, cure in found if "unknown" not in what]

    return problems


def test_right_files_are_met_with_silence(pairs):
    assert pairs() == []


def test_swapped_sides_are_told_with_their_cure(pairs):
    one, two = sentences("one", 60, seed="val"), sentences("two", 60, seed="val")
    [(what, cure)] = pairs(val_one=two, val_two=one)
    assert what.startswith("source and target of val.one look swapped: its source reads like the training target, ")
    assert cure == "swap the two files or columns in [data] val, or set swap = true there"


def test_four_swapped_lines_are_enough(pairs):
    one, two = sentences("one", 4, seed="val"), sentences("two", 4, seed="val")
    assert pairs(val_one=one, val_two=two) == []
    [(what, _)] = pairs(val_one=two, val_two=one)
    assert "look swapped" in what


def test_one_side_in_the_language_of_the_other_is_told(pairs):
    [(what, cure)] = pairs(val_one=sentences("two", 60, seed="more"))
    assert what.startswith(
        "the sources of val.one are not in the language of the training sources, by their letters; the first is '"
    )
    assert cure == "is it the right file, and the right column?"


@pytest.mark.parametrize("lines", [60, 3])
def test_another_script_is_told_however_short(pairs, lines):
    letters = random.Random(1)
    hangul = [" ".join("".join(letters.choices("가나다라마바사아자차", k=3)) for _ in range(8)) for _ in range(lines)]
    [(what, _)] = pairs(val_two=hangul, val_one=sentences("one", lines, seed="val"))
    assert what.startswith("the targets of val.one are not in the language of the training targets")


def test_copies_are_counted_by_kind_with_an_example(pairs):
    train, val = sentences("one", 300, seed="train"), sentences("one", 60, seed="val")
    val[0] = train[10].upper() + "!"
    val[1] = " ".join([*train[20].split()[:7], train[20].split()[7] + "s"])
    train[30] = f"{train[31]} {val[2]} {train[32]}"
    val[3] = train[40]
    [(what, cure)] = pairs(val_one=val, train_one=train)
    assert what.startswith(
        "4 of 60 sources of val.one also stand in the training data: its scores will flatter (2 equal but for case and "
        f"punctuation, 1 nearly equal, 1 part of a longer source; number 1, '{val[0][:20]}"
    )
    assert f", is training source 11, '{train[10][:20]}" in what
    assert cure.startswith("take them out of the training data")


def test_a_few_copies_are_told_where_they_are_long(pairs):
    """Short sentences are equal by chance; three of eight words among a hundred are not."""
    train, val = sentences("one", 300, seed="train"), sentences("one", 100, seed="val")
    other = sentences("two", 100, seed="val")
    assert pairs(val_one=[*train[5:7], *val[2:]], val_two=other) == []
    [(what, _)] = pairs(val_one=[*train[5:8], *val[3:]], val_two=other)
    assert what.startswith("3 of 100 sources of val.one also stand in the training data")
    short = [" ".join(line.split()[:4]) for line in train[5:8]]
    assert (
        pairs(
            val_one=[*short, *val[3:]],
            train_one=[*train, *short],
            train_two=sentences("two", 303, seed="train"),
            val_two=other,
        )
        == []
    )


def test_sentences_that_differ_in_a_number_are_no_copies(pairs):
    train, val = sentences("one", 300, seed="train"), sentences("one", 60, seed="val")
    numbered = [f"{line} {number}" for number, line in enumerate(train[:60])]
    assert pairs(val_one=numbered, train_one=[f"{line} {number + 7}" for number, line in enumerate(train)]) == []
    assert pairs(val_one=val) == []


# --- other kinds of data

LABELLED = """
task = "text-classification"
[data]
train = { file = "train.tsv" }
val = { file = "val.tsv" }
[tokenizer]
kind = "word"
min_frequency = 1
[model]
name = "recurrent-classifier"
width = 8
[training]
steps = 100
warmup = 10
batch_tokens = 100
evaluate_every = 50
workers = 1
"""
RUNNING = """
task = "language-modeling"
[data]
train = "train.txt"
val = "val.txt"
[tokenizer]
kind = "character"
[model]
name = "gpt"
width = 16
heads = 2
layers = 1
window = 32
[training]
steps = 100
warmup = 10
batch_tokens = 64
evaluate_every = 50
workers = 1
"""


def copies_of(folder, recipe):
    (folder / "recipe.toml").write_text(recipe)
    return [what for what, _ in jumok.check(folder / "recipe.toml").problems if "training data" in what]


def test_copies_among_labelled_texts(tmp_path):
    train, val = sentences("one", 200, seed="train"), sentences("one", 40, seed="val")
    for copied in (0, 8):
        rows = {"train.tsv": train, "val.tsv": train[:copied] + val[copied:]}
        for name, lines in rows.items():
            (tmp_path / name).write_text("".join(f"{line}\t{n % 2}\n" for n, line in enumerate(lines)))
        found = copies_of(tmp_path, LABELLED)
        assert len(found) == bool(copied)
    assert found[0].startswith("8 of 40 texts of val.tsv also stand in the training data")


def test_copied_passages_of_running_text(tmp_path):
    train, val = (" ".join(sentences("one", count, seed=seed)) for seed, count in (("train", 200), ("val", 60)))
    (tmp_path / "train.txt").write_text(train)
    for copied in ("", train[3000:4500]):
        (tmp_path / "val.txt").write_text(copied + val)
        found = copies_of(tmp_path, RUNNING)
        assert len(found) == bool(copied)
    assert "part of a longer passage" in found[0]


def test_copied_images(tmp_path):
    """Pixel by pixel: the store's own numbers are compared."""
    from types import SimpleNamespace

    import numpy as np

    from jumok.tasks.held_out import image_problems

    class Images(SimpleNamespace):
        def __len__(self):
            return len(self.pixels)

    draw = np.random.default_rng(1)
    train, val = (Images(pixels=draw.integers(256, size=(size, 5, 5, 3)).astype(np.uint8)) for size in (30, 10))
    assert image_problems(train, {"val": val}) == []
    val.pixels[7] = train.pixels[11]
    assert image_problems(train, {"val": val}) == [
        (
            "1 of 10 images of val also stand in the training data: its scores will flatter (number 8 is training image 12)",
            "take them out of the training data",
        )
    ]
