"""What the tests of the command line share: `jumok …` in this process, a small trained run, small files."""

import fcntl
import io
import os
import random
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

SHIPPED_TOLD = ", and the shipped models are ko-en, en-ko, fr-en, en-fr, shapes-captioner, shapes-drawer, shapes"  # where there is no such run
COPY_RECIPE = """
[data]
set = "copy"
size = 2000
max_length = 40
[tokenizer]
kind = "word"
[model]
width = 32
heads = 2
layers = 1
feedforward = 64
dropout = 0.0
norm_position = "pre"
[training]
steps = 300
batch_tokens = 800
learning_rate = 1e-2
warmup = 30
schedule = "cosine"
label_smoothing = 0.0
evaluate_every = 150
save_every = 150
evaluate_sentences = 50
[decoding]
beam = 2
"""

# Three steps on two small files: for tests that ask whether a thing runs at all.
SMALL_RECIPE = """
[data]
train = { source = "train.digits", target = "train.words" }
val = { source = "val.digits", target = "val.words" }
max_length = 64
[tokenizer]
kind = "word"
min_frequency = 1
[model]
width = 16
heads = 2
layers = 1
feedforward = 24
[training]
steps = 3
warmup = 1
batch_tokens = 200
evaluate_every = 3
save_every = 3
log_every = 1
evaluate_sentences = 3
[decoding]
beam = 1
max_length = 8
"""

# Digits to English, digits to Korean, English back to digits: nothing but the tag tells the first two apart.
DIRECTIONS_RECIPE = """
[data]
train = [
    { file = "train.tsv", source_column = "digits", target_column = "english", to = "en" },
    { file = "train.tsv", source_column = "digits", target_column = "korean", to = "ko", weight = 1.5 },
    { file = "train.tsv", source_column = "digits", target_column = "english", swap = true, to = "digits" },
]
val = [
    { name = "digits to English", file = "val.tsv", source_column = "digits", target_column = "english", to = "en" },
    { name = "digits to Korean", file = "val.tsv", source_column = "digits", target_column = "korean", to = "ko" },
    { name = "English to digits", file = "val.tsv", source_column = "digits", target_column = "english", swap = true, to = "digits" },
]
max_length = 20
[tokenizer]
kind = "word"
min_frequency = 1
[model]
width = 32
heads = 2
layers = 1
feedforward = 64
dropout = 0.0
norm_position = "pre"
[training]
steps = 160
batch_tokens = 600
learning_rate = 1e-2
warmup = 20
schedule = "cosine"
label_smoothing = 0.0
evaluate_every = 160
save_every = 160
evaluate_sentences = 30
[decoding]
beam = 2
"""

# Characters that Python's own texts are made of: enough steps to prefer some, not to write sense.
GPT_RECIPE = """
task = "language-modeling"
[data]
set = "stdlib"
[tokenizer]
kind = "character"
vocabulary = 90
[model]
name = "gpt"
layers = 1
width = 32
heads = 2
feedforward = 64
window = 24
[training]
steps = 60
batch_tokens = 960
learning_rate = 1e-2
warmup = 5
label_smoothing = 0.0
evaluate_every = 30
save_every = 30
"""

BERT_RECIPE = """
task = "masked-language-modeling"
[data]
train = { file = "train.tsv", column = "text" }
val = { file = "val.tsv", column = "text" }
[tokenizer]
kind = "word"
min_frequency = 1
[model]
name = "bert"
width = 32
layers = 1
heads = 2
feedforward = 64
max_positions = 16
dropout = 0.0
norm_position = "pre"
[training]
steps = 80
batch_tokens = 600
learning_rate = 1e-2
warmup = 10
label_smoothing = 0.0
evaluate_every = 80
save_every = 80
"""

CLASSIFIER_RECIPE = BERT_RECIPE.replace("masked-language-modeling", "text-classification").replace(
    'column = "text"', 'text = "text", label = "verdict"'
).replace("[tokenizer]", "max_length = 16\n[tokenizer]").replace("80", "40")  # fmt: skip

RNN_RECIPE = re.sub(
    r"(?s)\[model\].*?(?=\[training\])", '[model]\nname = "recurrent-classifier"\nwidth = 16\ndropout = 0.0\n', CLASSIFIER_RECIPE
)  # fmt: skip

# Scenes of up to five objects: enough steps to follow the grammar, not to be right.
CAPTIONER_RECIPE = """
task = "image-captioning"
[data]
set = "shapes"
set_size = 200
size = 32
max_length = 80
[tokenizer]
kind = "word"
min_frequency = 1
[model]
name = "captioner"
encoder = { name = "cnn", width = 8, stages = 2, blocks = 1 }
attention = "mlp"
width = 32
embedding_width = 16
dropout = 0.0
[training]
steps = 60
batch_size = 16
learning_rate = 2e-2
warmup = 5
schedule = "cosine"
label_smoothing = 0.0
evaluate_every = 60
save_every = 60
evaluate_sentences = 20
[decoding]
beam = 2
"""

THINGS = ["film", "play", "book", "song", "dance"]
VERDICTS = {"good": ["lovely", "great", "superb"], "bad": ["awful", "poor", "bad"], "dull": ["plain", "so", "middling"]}

KOREAN = ["영", "일", "이", "삼", "사", "오", "육", "칠", "팔", "구"]
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def jumok(*arguments: object, stdin: str | bytes = b"") -> Done:
    """Run `jumok …` as the shell would, in this process."""
    from jumok.cli.main import main

    raw = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    before, code = (sys.argv, sys.stdin), 0
    sys.argv, sys.stdin = ["jumok", *map(str, arguments)], io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as leaving:
        code = leaving.code or 0
    finally:
        sys.argv, sys.stdin = before
    out.flush(), err.flush()
    return Done(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())


# Commands as JSON, typed in one new process, which reads torch once: sys.executable, "-c", EACH, commands.
EACH = """
import json, sys
from jumok.cli.main import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["jumok", *arguments]
    try:
        main()
    except SystemExit as leaving:
        print("exit", leaving.code or 0, file=sys.stderr)
"""


def listing(folder: Path) -> dict[str, int]:
    """Return every file below a folder with its time of change."""
    return {str(path.relative_to(folder)): path.lstat().st_mtime_ns for path in sorted(folder.rglob("*"))}


def digit_pairs(count: int, first: int = 0) -> list[tuple[str, str]]:
    """Return pairs like ("4 0 7", "four zero seven"), all different."""
    numbers = [" ".join(str((number * 7919 + 13) % 100_000)) for number in range(first, first + count)]
    return [(digits, " ".join(WORDS[int(digit)] for digit in digits.split())) for digits in numbers]


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_small(folder: Path) -> Path:
    """Write the small recipe and its four files; return the recipe."""
    for split, pairs in {"train": digit_pairs(60), "val": digit_pairs(6, first=1000)}.items():
        write_lines(folder / f"{split}.digits", [source for source, _ in pairs])
        write_lines(folder / f"{split}.words", [target for _, target in pairs])
    recipe = folder / "small.toml"
    recipe.write_text(SMALL_RECIPE, encoding="utf-8")
    return recipe


def reviews(count: int, seed: int) -> list[tuple[str, str]]:
    """Return texts like "the film was lovely" and their classes, which hang on the last word."""
    generator = random.Random(seed)
    labels = [generator.choice(list(VERDICTS)) for _ in range(count)]
    return [(f"the {generator.choice(THINGS)} was {generator.choice(VERDICTS[label])}", label) for label in labels]


def write_reviews(folder: Path, recipe: str) -> Path:
    """Write a recipe and the two tables it names; return the recipe."""
    for split, rows in {"train": reviews(300, seed=1), "val": reviews(60, seed=2)}.items():
        write_lines(folder / f"{split}.tsv", ["text\tverdict", *map("\t".join, rows)])
    path = folder / "reviews.toml"
    path.write_text(recipe, encoding="utf-8")
    return path


def write_directions(folder: Path) -> Path:
    """Write the recipe of several directions and its two tables; return the recipe."""
    for split, pairs in {"train": digit_pairs(600), "val": digit_pairs(20, first=1000)}.items():
        rows = [(digits, words, " ".join(KOREAN[int(digit)] for digit in digits.split())) for digits, words in pairs]
        write_lines(folder / f"{split}.tsv", ["digits\tenglish\tkorean", *map("\t".join, rows)])
    path = folder / "directions.toml"
    path.write_text(DIRECTIONS_RECIPE, encoding="utf-8")
    return path


def refusal(done: Done) -> str:
    """Return the message of a command that was refused: exit code 2, nothing on standard output, no traceback."""
    assert (done.code, done.out) == (2, ""), done
    assert done.err.startswith("jumok: "), done.err
    assert done.err.endswith("\n")
    return done.err.removeprefix("jumok: ").removesuffix("\n")


def train_once(tmp_path_factory, name: str, write: Callable[[Path], Path], *options: object) -> Path:
    """Return a run, trained once whatever the number of workers; write makes its recipe in a folder."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, run = root / name, root / f"{name}-run"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (run / "last").exists():
            folder.mkdir(exist_ok=True)
            done = jumok("train", write(folder), "--out", run, *options)
            assert done.code == 0, done.err
    return run


def write_recipe(text: str) -> Callable[[Path], Path]:
    """Return what writes a recipe that needs no files."""

    def write(folder: Path) -> Path:
        (folder / "recipe.toml").write_text(text, encoding="utf-8")
        return folder / "recipe.toml"

    return write


@pytest.fixture(scope="session")
def copy_run(tmp_path_factory) -> Path:
    """A run that has learnt to copy letters. Not to be changed, like all of these."""
    return train_once(tmp_path_factory, "copy", write_recipe(COPY_RECIPE))


@pytest.fixture(scope="session")
def directions_run(tmp_path_factory) -> Path:
    """A run that has learnt to say digits in English and in Korean, and to write English ones as digits."""
    return train_once(tmp_path_factory, "directions", write_directions)


@pytest.fixture(scope="session")
def gpt_run(tmp_path_factory) -> Path:
    """A language model of characters with a window of 24."""
    return train_once(tmp_path_factory, "gpt", write_recipe(GPT_RECIPE))


@pytest.fixture(scope="session")
def bert_run(tmp_path_factory) -> Path:
    """A BERT that has found hidden words of reviews."""
    return train_once(tmp_path_factory, "bert", lambda folder: write_reviews(folder, BERT_RECIPE))


@pytest.fixture(scope="session")
def classifier_run(tmp_path_factory, bert_run) -> Path:
    """The same BERT, fine-tuned to name the class of a review."""
    return train_once(
        tmp_path_factory, "classifier", lambda folder: write_reviews(folder, CLASSIFIER_RECIPE),
        "--set", f"training.init={bert_run}",
    )  # fmt: skip


@pytest.fixture(scope="session")
def rnn_run(tmp_path_factory) -> Path:
    """A recurrent network that names the class of a review: it has no attention."""
    return train_once(tmp_path_factory, "rnn", lambda folder: write_reviews(folder, RNN_RECIPE))


@pytest.fixture(scope="session")
def captioner_run(tmp_path_factory) -> Path:
    """A captioner of built-in scenes, which speaks their grammar."""
    return train_once(tmp_path_factory, "captioner", write_recipe(CAPTIONER_RECIPE))


@pytest.fixture(scope="session")
def babble_run(tmp_path_factory) -> Path:
    """An untrained byte-level model: it writes any bytes at all."""
    folder = tmp_path_factory.mktemp("babble")
    recipe = write_small(folder)
    done = jumok(
        "train", recipe, "--out", folder / "run", "--set", "tokenizer.kind=bpe", "--set", "tokenizer.vocabulary=300",
        "--set", "model.positions=learned", "--set", "model.max_positions=64", "--set", "decoding.max_length=40",
    )  # fmt: skip
    assert done.code == 0, done.err
    return folder / "run"


@pytest.fixture
def small(tmp_path) -> Path:
    """The small recipe, its files beside it, in a folder of its own."""
    (tmp_path / "small").mkdir()
    return write_small(tmp_path / "small")
