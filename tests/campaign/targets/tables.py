"""Tables and text: parallel text, texts with classes, running text, series, vectors, sentences to translate."""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

import jumok
from campaign.commands import command
from campaign.target import Given, Target
from campaign.targets import runs
from jumok import api
from jumok.config import Corpus, LabelledFile, TextFile
from jumok.data.text.sources import read_documents, read_labelled, read_pairs
from jumok.runs.job import prepare
from jumok.runs.run import load_recipe
from jumok.tasks.word2vec import load_word2vec

PAIRS = [
    ("the cat sat", "고양이가 앉았다"),
    ('a "fine" day', "좋은 날"),
    ("ünïcode, été", "유니코드"),
    ("x", "엑스"),
] * 6
COLUMNS = {"source_column": "en", "target_column": "ko"}


def write_table(path: Path, names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Write a table in the format that its name says."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        import pyarrow
        import pyarrow.parquet

        columns = {key: list(column) for key, column in zip(names, zip(*rows, strict=True), strict=True)}
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
        return
    with gzip.open(path, "wt", encoding="utf-8") if path.suffix == ".gz" else path.open("w", encoding="utf-8") as file:
        if name.endswith(".csv"):
            csv.writer(file).writerows([names, *rows])
        elif name.endswith(".tsv"):
            file.writelines("\t".join(map(str, row)) + "\n" for row in [names, *rows])
        else:
            file.writelines(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)


KINDS = {".csv": "text", ".tsv": "text", ".jsonl": "jsonl", ".parquet": "bytes", ".tsv.gz": "gzip text"}


def tables(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Callable[[Path], None]:
    """Return what writes one table in each format, a folder for each."""

    def make(folder: Path) -> None:
        for suffix in KINDS:
            write_table(folder / f"table{suffix}", names, rows)

    return make


IN_EACH_FORMAT = {f"table{suffix}": kind for suffix, kind in KINDS.items()}


def _find(folder: Path) -> Callable[[str], Path]:
    return lambda name: folder / name


def read_parallel(given: Given) -> None:
    """Read parallel text from the tables."""
    for _ in read_pairs(Corpus(file=given.file.name, **COLUMNS), _find(given.folder)):
        pass


def prepare_parallel(given: Given) -> None:
    """Train a tokenizer on a table, store it, and take a batch."""
    files = {"train": {"file": given.file.name, **COLUMNS}, "hold_out": 2}
    ready = prepare(load_recipe(runs.TRANSLATOR | {"data": files}), path=None, data=given.folder)
    ready.task.batches().take()


def read_two_files(given: Given) -> None:
    """Read parallel text from two files of lines."""
    for _ in read_pairs(Corpus(source="train.en", target="train.ko.gz"), _find(given.folder)):
        pass


def write_two_files(folder: Path) -> None:
    (folder / "train.en").write_text("".join(f"{source}\n" for source, _ in PAIRS), encoding="utf-8")
    with gzip.open(folder / "train.ko.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{target}\n" for _, target in PAIRS)


LABELLED = [(f"the film was {word} {number}", label) for number in range(9) for word, label in (("fine", "good"), ("poor", "bad"))]  # fmt: skip


def prepare_labelled(given: Given) -> None:
    """Read texts with classes, store them, and take a batch."""
    for _ in read_labelled(LabelledFile(file=given.file.name, text="text", label="label"), _find(given.folder)):
        pass
    files = {"train": {"file": given.file.name, "text": "text", "label": "label"}, "hold_out": 4, "max_length": 16}
    ready = prepare(load_recipe(runs.CLASSIFIER | {"data": files}), path=None, data=given.folder)
    ready.task.batches().take()


def prepare_text(given: Given) -> None:
    """Read running text, store it, and take a batch."""
    for _ in read_documents(TextFile(file="text.txt"), _find(given.folder), documents="paragraph"):
        pass
    prepare(load_recipe(runs.WRITER), path=None, data=given.folder).task.batches().take()


def write_series(folder: Path) -> None:
    runs.write_data(folder)
    with (folder / "table.csv").open(encoding="utf-8") as file:
        names, *rows = list(csv.reader(file))
    tables(tuple(names), [(day, float(load), int(weekday)) for day, load, weekday in rows])(folder)


def prepare_series(given: Given) -> None:
    """Read a table of a series, scale it, and take a batch."""
    recipe = runs.FORECASTER | {"data": runs.FORECASTER["data"] | {"train": given.file.name, "known": ["weekday"]}}
    prepare(load_recipe(recipe), path=None, data=given.folder).task.batches().take()


def make_forecaster(folder: Path) -> None:
    write_series(folder)
    runs.trained(runs.FORECASTER)(folder)
    write_series(folder)


def forecast_tables(given: Given) -> None:
    """Forecast what comes next of a table."""
    run = jumok.load(given.folder / "run", jumok.SeriesForecaster)
    run.forecast(given.file)


def write_vectors(folder: Path) -> None:
    lines = [
        f"{word} {' '.join(f'{(number + place) % 5 / 3:.4f}' for place in range(5))}"
        for number, word in enumerate("abcdefgh")
    ]
    (folder / "vectors.txt").write_text("\n".join([f"{len(lines)} 5", *lines, ""]), encoding="utf-8")


def read_vectors(given: Given) -> None:
    """Start an embedding from a file of vectors."""
    load_word2vec(
        given.folder / "vectors.txt", {letter: place for place, letter in enumerate("abcdefgh")}, nn.Embedding(9, 5)
    )


def make_input(folder: Path) -> None:
    runs.trained(runs.TRANSLATOR)(folder)
    (folder / "in.txt").write_text("a b c\nd e\n\nf\n" * 2, encoding="utf-8")


def translate_file(given: Given) -> None:
    """Translate the lines of a file into another."""
    command(
        "translate",
        given.folder / "run",
        "--in",
        given.folder / "in.txt",
        "--out",
        given.out / "out.txt",
        "--max-length",
        4,
    )
    (given.out / "out.txt").unlink()


def new_recipe(given: Given) -> None:
    """Let `jumok new` look at a table."""
    api.new_recipe([given.file], out=given.out / "new.toml")
    (given.out / "new.toml").unlink()


TWO_FILES = {"train.en": "text", "train.ko.gz": "gzip text"}

OF_DATA = ("training data", "[data]", "data.hold_out")  # what a message may say of files that are good, but too little

TARGETS = [
    Target("pairs-tables", tables(("en", "ko"), PAIRS), read_parallel, IN_EACH_FORMAT, 1500),
    Target("pairs-prepared", tables(("en", "ko"), PAIRS), prepare_parallel, IN_EACH_FORMAT, 400, OF_DATA),
    Target("pairs-two-files", write_two_files, read_two_files, TWO_FILES, 700, ("train.en", "train.ko")),
    Target("labelled-texts", tables(("text", "label"), LABELLED), prepare_labelled, IN_EACH_FORMAT, 500, OF_DATA),
    Target("running-text", runs.write_data, prepare_text, {"text.txt": "text"}, 400, OF_DATA),
    Target("series", write_series, prepare_series, IN_EACH_FORMAT, 600, OF_DATA),
    Target("series-forecast", make_forecaster, forecast_tables, IN_EACH_FORMAT, 500, ("the table has",)),
    Target("word2vec", write_vectors, read_vectors, {"vectors.txt": "text"}, 500),
    Target("lines-to-translate", make_input, translate_file, {"in.txt": "text"}, 300),
    Target("new-pairs", tables(("en", "ko"), PAIRS * 20), new_recipe, IN_EACH_FORMAT, 400),
    Target("new-series", write_series, new_recipe, IN_EACH_FORMAT, 300, ("series have",)),
]  # fmt: skip
