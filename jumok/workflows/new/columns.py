"""The columns of a table: whether its first row names them, what each holds, and which of them a task reads.

rows → Column (counts of what its values look like) → header or not → the columns of a task, or a sentence that asks
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from jumok.data.files import unreadable
from jumok.data.images.listing import SUFFIXES
from jumok.data.tables import NAMED_SUFFIXES, read_whole_rows
from jumok.errors import ConfigError, DataError, counted, did_you_mean
from jumok.workflows.new.material import Tokens, estimated_tokens

MOST_VALUES = 1000  # different values that are counted: more are no classes
MOST_WORDS = 3  # of a class, on average
NEARLY_ALL = 0.9
NUMBER = re.compile(r"[+-]?(\d+([.,]\d+)*|\.\d+)([eE][+-]?\d+)?%?")
NOT_TEXT = re.compile(r"(.*[_ ])?(id|ids|idx|index|uid|uuid|key|hash|url|uri|link|date|time|timestamp|번호)", re.I)

TEXTS = (
    "text", "sentence", "document", "review", "comment", "content", "body", "utterance", "message", "tweet",
    "문장", "텍스트", "본문", "내용", "리뷰", "댓글",
)  # fmt: skip
LABELS = (
    "label", "class", "category", "sentiment", "intent", "topic", "emotion", "rating", "stars", "score",
    "verdict", "tag", "y", "라벨", "레이블", "분류", "범주", "감정", "평점",
)  # fmt: skip
SOURCES = (
    "source", "src", "input", "question", "q", "prompt", "원문", "질문",
)  # fmt: skip
TARGETS = (
    "target", "tgt", "trg", "output", "answer", "a", "response", "reply", "translation", "번역", "번역문", "답변", "답",
)  # fmt: skip
LANGUAGES = (
    "en", "english", "영어", "ko", "kr", "korean", "한국어", "de", "german", "deutsch", "fr", "french", "français",
    "es", "spanish", "it", "italian", "ja", "jp", "japanese", "日本語", "zh", "chinese", "中文", "ru", "russian",
    "pt", "portuguese", "cs", "czech", "nl", "dutch", "vi", "vietnamese", "ar", "arabic", "hi", "hindi", "tr",
    "turkish",
)  # fmt: skip
IMAGES = (
    "image", "image_name", "image_id", "filename", "file_name", "file", "path", "img", "picture", "이미지", "파일",
)  # fmt: skip
CAPTIONS = (
    "caption", "captions", "description", "descriptions", "comment", "sentence", "sentences", "raw", "text", "캡션", "설명",
)  # fmt: skip
SPLITS = ("split", "set", "partition")
KNOWN = frozenset([*TEXTS, *LABELS, *SOURCES, *TARGETS, *LANGUAGES, *IMAGES, *CAPTIONS, "id", "idx"])


@dataclass
class Column:
    """What the values of a column look like."""

    number: int
    name: str = ""  # where the table has a header
    rows: int = 0
    characters: int = 0
    words: int = 0
    numbers: int = 0
    images: int = 0
    example: str = ""  # the first value that is not empty
    letters: set[str] = field(default_factory=set)
    values: Counter[str] = field(default_factory=Counter)  # until there are too many
    tokens: "array[int]" = field(default_factory=lambda: array("I"))  # of each row, roughly

    def add(self, value: str) -> None:
        """Take one more value into account."""
        self.rows += 1
        self.characters += len(value)
        self.words += len(value.split())
        self.numbers += NUMBER.fullmatch(value.strip()) is not None
        self.images += value.strip().lower().endswith(SUFFIXES)
        self.tokens.append(estimated_tokens(value))
        self.letters.update(value)
        self.example = self.example or value
        if len(self.values) <= MOST_VALUES:
            self.values[value] += 1

    @property
    def lengths(self) -> Tokens:
        """The tokens of each row, roughly."""
        return np.array(self.tokens, np.float64)

    @property
    def key(self) -> int | str:
        """How a recipe names it."""
        return self.name or self.number

    @property
    def known_as(self) -> str:
        """Its name in lower case, for comparisons."""
        return self.name.strip().lower()

    @property
    def kind(self) -> str:
        """Images, classes, numbers or text."""
        if self.images >= NEARLY_ALL * max(self.rows, 1):
            return "images"
        most = min(max(self.rows // 4, 2), MOST_VALUES)
        few = len(self.values) <= most and self.words <= MOST_WORDS * self.rows
        if few and self.known_as not in TEXTS:
            return "classes" if len(self.values) > 1 else "the same everywhere"
        if self.numbers >= NEARLY_ALL * self.rows:
            return "numbers"
        return "other" if NOT_TEXT.fullmatch(self.known_as) else "text"

    def __str__(self) -> str:
        named = f"'{self.name}'" if self.name else f"column {self.number}"
        return f"{named} ({self.kind})"


@dataclass(frozen=True)
class Table:
    """A table that was looked at."""

    path: Path
    columns: list[Column]
    has_header: bool

    @property
    def rows(self) -> int:
        """How many rows it has, the header not counted."""
        return self.columns[0].rows

    def of_kind(self, kind: str) -> list[Column]:
        """Return the columns of a kind, in order."""
        return [column for column in self.columns if column.kind == kind]

    def named(self, names: Sequence[str], kinds: Sequence[str]) -> list[Column]:
        """Return the columns of some kinds whose name is one of those, in order."""
        return [column for column in self.columns if column.known_as in names and column.kind in kinds]

    def find(self, wanted: str, option: str) -> Column:
        """Return the column that an option names, by its name or its number."""
        for column in self.columns:
            if wanted and wanted in (column.name, str(column.number)):
                return column
        cure = did_you_mean(wanted, [str(column.key) for column in self.columns])
        raise ConfigError(f"{option} {wanted}: {self.path.name} has no such column; {cure}")

    def listed(self) -> str:
        """Return the columns in words."""
        return ", ".join(map(str, self.columns))


def look_at_table(path: Path) -> Table:
    """Return what a table holds, its rows read once."""
    rows = _checked(path, read_whole_rows(path))
    first = next(rows, None)
    if first is None:
        raise DataError(f"{path} holds no rows; a table with a row for each example is needed")
    columns = [Column(number) for number in range(len(first))]
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            column.add(value)
    has_header = path.name.lower().removesuffix(".gz").endswith(NAMED_SUFFIXES) or _is_header(first, columns)
    for column, value in zip(columns, first, strict=True):
        if has_header:
            column.name = value
        else:
            column.add(value)
    if not columns[0].rows:
        raise DataError(f"{path} holds a header and no rows; a row for each example is needed")
    return Table(path, columns, has_header)


def _checked(path: Path, rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield rows of one length; another length is refused, because a column would be read that is not meant."""
    width = 0
    try:
        for number, row in enumerate(rows, start=1):
            if width and len(row) != width:
                raise DataError(
                    f"{path} row {number:,} has {counted(len(row), 'column')}, those before {width}; mend the row, "
                    "or write the file as a table whose columns are kept apart by tabs (.tsv) or quoted (.csv)."
                )
            width = len(row)
            yield row
    except OSError as error:
        raise unreadable(path, error) from None


def _is_header(first: Sequence[str], columns: Sequence[Column]) -> bool:
    """Return whether the first row names the columns: it is unlike the rows below it."""
    names = [cell.strip() for cell in first]
    if len(set(names)) < len(names) or not all(names[1:]) or any(map(NUMBER.fullmatch, names)):
        return False
    if any(name.lower() in KNOWN for name in names):
        return True
    told = False
    for name, column in zip(names, columns, strict=True):
        match column.kind:
            case "classes":
                if name in column.values:
                    return False
                told = told or column.rows >= 20
            case "numbers" | "images":
                told = told or not name.lower().endswith(SUFFIXES)
            case "text":
                told = told or (" " not in name and 4 * len(name) < column.characters / max(column.rows, 1))
    return told


# --- which columns a task reads


@dataclass(frozen=True)
class Choice:
    """The columns that the options of `jumok new` name; empty: to be chosen."""

    source: str = ""
    target: str = ""
    text: str = ""
    second: str = ""
    label: str = ""
    date: str = ""
    id: str = ""
    horizon: int = 0

    @property
    def of_series(self) -> bool:
        """Whether an option is given that only series have."""
        return bool(self.date or self.id or self.horizon)

    @property
    def of_texts(self) -> bool:
        """Whether an option is given that only texts and images have."""
        return bool(self.source or self.text or self.second or self.label)


def task_of(table: Table, choice: Choice) -> str:
    """Return the task that a table is for, by the columns that are named and by what columns hold; or ask."""
    if choice.source or choice.target:
        return "translation"
    texts, classes = table.of_kind("text"), table.of_kind("classes")
    if table.of_kind("images"):
        captioned = table.named(CAPTIONS, ["text"]) or (texts and not classes)
        return "image-captioning" if captioned and not choice.label else "image-classification"
    if choice.label or choice.second:
        return "text-classification"
    if _pair_by_name(table):
        return "translation"
    if len(texts) == 1 and classes:
        return "text-classification"
    if len(texts) == 2 and not classes:
        return "translation"
    if len(texts) > 1 and classes and table.named(LABELS, ["classes"]) and len(table.named(TEXTS, ["text"])) == 1:
        return "text-classification"
    if not texts:
        series = (
            "; to forecast what comes next in its numbers, say --task forecasting" if table.of_kind("numbers") else ""
        )
        raise DataError(f"{table.path} has no column of text or of images: {table.listed()}{series}")
    if len(texts) == 1:
        raise ConfigError(
            f"{table.path} has one column of text and none of classes: {table.listed()}.\n"
            "For a language model on it say --task language-modeling (GPT) or --task masked-language-modeling (BERT); "
            "a classifier needs a column of classes, a translator a second column of text."
        )
    raise ConfigError(
        f"{table.path} has several columns of text: {table.listed()}.\n"
        "Say what is wanted: --task translation with --source and --target, or --task text-classification with --text and "
        "--label."
    )


def _pair_by_name(table: Table) -> tuple[Column, Column] | None:
    kinds = ["text", "classes"]
    sources, targets = table.named(SOURCES, kinds), table.named(TARGETS, kinds)
    if len(sources) == len(targets) == 1:
        return sources[0], targets[0]
    languages = table.named(LANGUAGES, kinds)
    return (languages[0], languages[1]) if len(languages) == 2 else None


def pair_columns(table: Table, choice: Choice) -> tuple[Column, Column]:
    """Return the columns of source and target; or ask."""
    if choice.source and choice.target:
        return table.find(choice.source, "--source"), table.find(choice.target, "--target")
    texts = table.of_kind("text")
    if named := _pair_by_name(table):
        texts = list(named)
    for wanted, option, at in ((choice.source, "--source", 0), (choice.target, "--target", 1)):
        if wanted:
            given = table.find(wanted, option)
            others = [column for column in texts if column is not given]
            texts = [given, *others] if at == 0 else [*others, given]
    if len(texts) != 2:
        raise ConfigError(
            f"{table.path}: a translator needs two columns of text, and {len(texts)} may be meant: {table.listed()}.\n"
            "Name them: --source COLUMN --target COLUMN"
        )
    return texts[0], texts[1]


def label_column(table: Table, choice: Choice) -> Column:
    """Return the column of classes; or ask."""
    if choice.label:
        return table.find(choice.label, "--label")
    found = table.named(LABELS, ["classes"]) or table.of_kind("classes")
    if len(found) != 1:
        told = f"{len(found)} columns may be the classes" if found else "no column looks like classes"
        raise ConfigError(f"{table.path}: {told}: {table.listed()}.\nName it: --label COLUMN")
    return found[0]


def text_column(table: Table, choice: Choice) -> Column:
    """Return the column of texts; or ask."""
    if choice.text:
        return table.find(choice.text, "--text")
    found = table.of_kind("text")
    if len(found) > 1:
        found = table.named(TEXTS, ["text"]) or found
    if len(found) != 1:
        told = f"{len(found)} columns may be the text" if found else "no column looks like text"
        raise ConfigError(f"{table.path}: {told}: {table.listed()}.\nName it: --text COLUMN")
    return found[0]
