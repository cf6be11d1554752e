"""The [data] of a recipe about text: pairs of sentences, running text, or texts and their classes."""

import re
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from jumok.config.data import DataConfig, DataFile, Split, as_files, as_list, refuse_equal_labels
from jumok.config.section import one_is_a_list, one_or_its_name
from jumok.errors import ConfigError

MADE = ("korean",)  # sets that a grammar makes, as many pairs as are wanted
LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*")
A_SET_OR_FILES = '[data] needs either set = "NAME" (a built-in set, see jumok list) or train = {…} (files)'


class Corpus(DataFile):
    """Parallel text: two files of lines, or one table with a column for each side, perhaps a built-in one."""

    source: str = Field("", description="file with one source sentence per line (.gz allowed)")
    target: str = Field("", description="file with the translations, line by line (.gz allowed)")
    file: str = Field("", description="one .tsv, .csv, .jsonl or .parquet with both sides (.gz allowed)")
    set: str = Field(
        "", description="a built-in table instead of files: phrasebook (English, Korean) or korean (Korean, English)"
    )
    size: int = Field(0, ge=0, description="how many pairs of the set korean; 0 = its own default")
    split: Split = Field(
        "train", description="which part of the set korean; the list that the corpus stands in decides"
    )
    source_column: int | str = Field(0, description="column of the source: number from 0, or name in the header")
    target_column: int | str = Field(1, description="column of the target: number from 0, or name in the header")
    swap: bool = Field(False, description="read it backwards: the target is the source")
    to: str = Field("", description="target language (ko, en, …), for a model of several; it is told by a tag")
    weight: float = Field(1.0, gt=0.0, description="how often an epoch draws each pair, in train")

    @model_validator(mode="after")
    def one_kind_of_file(self) -> Self:
        sources = {"source": self.source, "target": self.target, "file": self.file, "set": self.set}
        given = [key for key, value in sources.items() if value]
        if given not in (["source", "target"], ["file"], ["set"]):
            raise ConfigError(
                "a corpus needs either source and target (two files of lines), file (one table) or set (a built-in table); "
                f"given: {', '.join(given) or 'none of them'}"
            )
        return self

    @model_validator(mode="after")
    def only_a_made_set_has_a_size(self) -> Self:
        if (self.size or self.split != "train") and not self.is_made:
            raise ConfigError(f"'{self.title}' has the pairs that it has; size and split are for set = 'korean'")
        return self

    @field_validator("to")
    @classmethod
    def to_is_a_language(cls, value: str) -> str:
        if value and not LANGUAGE.fullmatch(value):
            raise ConfigError(f"to = '{value}': must be the code of a language, such as ko, en or pt-BR")
        return value

    @property
    def is_made(self) -> bool:
        """Whether its pairs are made by a grammar, as many as are wanted."""
        return self.set in MADE

    @property
    def origin(self) -> str:
        """Where the pairs come from, as the recipe writes it."""
        return self.set or self.file or self.source

    @property
    def title(self) -> str:
        """The corpus' name in tables."""
        return self.name or self._with_direction(super().title)

    @property
    def full_title(self) -> str:
        """The same with the whole path, where titles would be alike."""
        return self.name or self._with_direction(super().full_title)

    def _with_direction(self, title: str) -> str:
        return f"{title} → {self.to}" if self.to else title


class ParallelData(DataConfig[Corpus]):
    """Pairs of sentences: a built-in set, or files for each split."""

    INSIDE = Corpus

    set: str = Field("", description="a built-in set (jumok list) instead of files")
    size: int = Field(0, ge=0, description="training pairs of a built-in set; 0 = its own default")
    train: list[Corpus] = Field([], description="corpora to learn from", json_schema_extra=one_is_a_list)
    val: list[Corpus] = Field([], description="corpora to score during training", json_schema_extra=one_is_a_list)
    test: list[Corpus] = Field([], description="corpora for the final score", json_schema_extra=one_is_a_list)
    hold_out: int = Field(
        0, ge=0, description="pairs taken from train for val where val has no files; 0 = 5 %, at most 1000"
    )
    max_length: int = Field(256, ge=1, description="longer pairs (tokens, either side) are dropped")
    max_ratio: float = Field(
        0.0, ge=0.0, description="drop pairs whose lengths (characters) differ by more than this factor; 0 = off"
    )
    lowercase: bool = Field(False, description="fold case on both sides")
    deduplicate: bool = Field(False, description="keep one copy of equal training pairs")
    without_examples: bool = Field(
        False,
        description="drop training pairs that are, or nearly are, the examples that shipped translators are shown on",
    )

    @field_validator("train", "val", "test", mode="before")
    @classmethod
    def one_corpus_is_a_list(cls, value: Any, info: ValidationInfo) -> Any:
        corpora = as_list(value)
        if not isinstance(corpora, list) or info.field_name == "train":
            return corpora
        return [  # a made set has its own val and test
            {"split": info.field_name, **corpus} if isinstance(corpus, dict) and corpus.get("set") in MADE else corpus
            for corpus in corpora
        ]

    @model_validator(mode="after")
    def a_set_or_files(self) -> Self:
        if self.set and self.train:
            raise ConfigError(A_SET_OR_FILES)
        return self

    @model_validator(mode="after")
    def every_direction_is_learnt(self) -> Self:
        known = self.languages
        learnt = f"train has {', '.join(known)}" if known else "give those of train a target language, too"
        for corpus in (*self.train, *self.val, *self.test):
            if known and not corpus.to:
                raise ConfigError(
                    f"[data] '{corpus.title}' does not say its target language, though others do; "
                    f"give it one, such as to = '{known[0]}'"
                )
            if corpus.to and corpus.to not in known:
                raise ConfigError(
                    f"[data] '{corpus.title}' has to = '{corpus.to}', which no corpus of train has; {learnt}"
                )
        return self

    @model_validator(mode="after")
    def weights_are_for_train(self) -> Self:
        for corpus in (*self.val, *self.test):
            if corpus.weight != 1.0:
                raise ConfigError(
                    f"[data] '{corpus.title}' has weight = {corpus.weight:g}, but val and test are scored pair by pair; "
                    "only corpora of train have a weight"
                )
        return self

    @property
    def built_in(self) -> str:
        """The name of the built-in set that stands instead of files."""
        return self.set

    @property
    def languages(self) -> list[str]:
        """The target languages that are told by a tag, sorted; none where there is one direction only."""
        return sorted({corpus.to for corpus in self.train if corpus.to})


class TextFile(DataFile):
    """Running text: a file of it, a folder of such files, or a column of a table."""

    file: str = Field(
        description="plain text, a folder of .txt and .md files, or a .tsv, .csv, .jsonl or .parquet table (.gz allowed)"
    )
    column: int | str = Field(0, description="a table's column with the text: number from 0, or name in the header")


class TextData(DataConfig[TextFile]):
    """Running text: a built-in set, or files for each split."""

    INSIDE = TextFile

    set: str = Field("", description="a built-in set (jumok list) instead of files")
    train: list[TextFile] = Field([], description="files to learn from", json_schema_extra=one_or_its_name)
    val: list[TextFile] = Field([], description="files to score during training", json_schema_extra=one_or_its_name)
    test: list[TextFile] = Field([], description="files for the final score", json_schema_extra=one_or_its_name)
    documents: Literal["file", "paragraph", "line"] = Field(
        "file", description="what a document is in plain text; a table has one per row"
    )
    hold_out: float = Field(
        0.05, gt=0.0, lt=1.0, description="share of the training text taken for val where val has no files"
    )
    separate: bool = Field(False, description="documents that share a block do not see each other")
    lowercase: bool = Field(False, description="fold case")

    @property
    def built_in(self) -> str:
        """The name of the built-in set that stands instead of files."""
        return self.set

    @field_validator("train", "val", "test", mode="before")
    @classmethod
    def one_file_is_a_list(cls, value: Any) -> Any:
        return as_files(value)


class MaskedTextData(TextData):
    """Running text with masked tokens to predict."""

    masked: float = Field(0.15, gt=0.0, lt=1.0, description="share of tokens to predict")
    whole_words: bool = Field(False, description="mask all tokens of a word together")
    next_sentence: bool = Field(False, description="also ask whether the second half of a text follows the first")

    @model_validator(mode="after")
    def texts_are_apart_anyway(self) -> Self:
        if self.separate:
            raise ConfigError(
                "data.separate is for language-modeling, which packs documents into blocks; here each text is a row of "
                "its own: take it out"
            )
        return self


class LabelledFile(DataFile):
    """A table of texts and their classes."""

    file: str = Field(description="a .tsv, .csv, .jsonl or .parquet table (.gz allowed)")
    text: int | str = Field(0, description="column of the text: number from 0, or name in the header")
    second: int | str = Field("", description="column of a second text, where the class belongs to two; '' = none")
    label: int | str = Field(1, description="column of the class: number from 0, or name in the header")


class LabelledData(DataConfig[LabelledFile]):
    """Texts and their classes."""

    INSIDE = LabelledFile
    FILLED_IN: ClassVar[tuple[str, ...]] = ("labels",)

    train: list[LabelledFile] = Field(description="tables to learn from", json_schema_extra=one_is_a_list)
    val: list[LabelledFile] = Field([], description="tables to score during training", json_schema_extra=one_is_a_list)
    test: list[LabelledFile] = Field([], description="tables for the final score", json_schema_extra=one_is_a_list)
    labels: list[str] = Field([], description="the classes in order; those of the training data, sorted, where empty")
    limit: int = Field(0, ge=0, description="learn from so many examples only, drawn at random; 0 = all")
    hold_out: int = Field(
        0, ge=0, description="examples taken from train for val where val has no files; 0 = 5 %, at most 1000"
    )
    max_length: int = Field(128, ge=4, description="longer texts (tokens) are cut")
    lowercase: bool = Field(False, description="fold case")

    @field_validator("train", "val", "test", mode="before")
    @classmethod
    def one_file_is_a_list(cls, value: Any) -> Any:
        return as_list(value)

    @field_validator("labels")
    @classmethod
    def labels_differ(cls, value: list[str]) -> list[str]:
        return refuse_equal_labels(value)
