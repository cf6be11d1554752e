"""The schema of a recipe: one class a section, strict about keys and types.

TOML → dict → Section classes. A wrong key or value becomes a ConfigError that names the nearest right one.
Zero means "choose for me" or "off" wherever a number may be left out; recipes hold no empty values.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from jumok.errors import ConfigError, did_you_mean


class Section(BaseModel):
    """A table of a recipe: unknown keys are refused, values are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, protected_namespaces=())
    INSIDE: ClassVar["type[Section] | None"] = None  # the tables that stand inside this one
    FILLED_IN: ClassVar[tuple[str, ...]] = ()  # keys that a run takes from its data where the recipe leaves them out

    @classmethod
    def parse(cls, values: Any, where: str) -> Self:
        """Return the section made of values; where names it in messages, e.g. 'model'."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(explain(error, cls, where)) from None


class Corpus(Section):
    """Parallel text: two files of lines, or one table with a column for each side."""

    name: str = Field("", description="label in scores; the file's own name by default")
    source: str = Field("", description="file with one source sentence a line (.gz allowed)")
    target: str = Field("", description="file with the translations, line by line (.gz allowed)")
    file: str = Field("", description="one .tsv, .csv, .jsonl or .parquet with both sides (.gz allowed)")
    source_column: int | str = Field(0, description="column of the source: number from 0, or name in the header")
    target_column: int | str = Field(1, description="column of the target: number from 0, or name in the header")

    @model_validator(mode="after")
    def one_kind_of_file(self) -> Self:
        pair = bool(self.source) and bool(self.target)
        if pair == bool(self.file) or bool(self.source) != bool(self.target):
            raise ConfigError(
                "a corpus needs either source and target (two files of lines) or file (one table); "
                f"given: {', '.join(k for k in ('source', 'target', 'file') if getattr(self, k)) or 'none of them'}"
            )
        return self

    @property
    def label(self) -> str:
        """The corpus' name in tables."""
        return self.name or (self.file or self.source).rsplit("/", 1)[-1]


def one_is_a_list(schema: dict[str, Any]) -> None:
    """Say in the schema that one corpus may stand for a list of one."""
    schema["anyOf"] = [schema["items"], {"type": schema.pop("type"), "items": schema.pop("items")}]


class ParallelData(Section):
    """Pairs of sentences: a built-in set, or files for each split."""

    INSIDE = Corpus

    set: str = Field("", description="a built-in set (jumok list) instead of files")
    size: int = Field(0, ge=0, description="training pairs of a built-in set; 0 = its own default")
    folder: str = Field(
        "", description="folder of the files inside the data folder; jumok fetch writes to one of that name"
    )
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

    @field_validator("train", "val", "test", mode="before")
    @classmethod
    def one_corpus_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    @model_validator(mode="after")
    def a_set_or_files(self) -> Self:
        if bool(self.set) == bool(self.train):
            raise ConfigError(
                '[data] needs either set = "NAME" (a built-in set, see jumok list) or train = {…} (files)'
            )
        return self


def one_or_its_name(schema: dict[str, Any]) -> None:
    """Say in the schema that a file's name may stand for the file, and one for a list of one."""
    file = {"anyOf": [schema["items"], {"type": "string"}]}
    schema["anyOf"] = [*file["anyOf"], {"type": schema.pop("type"), "items": file}]
    schema.pop("items")


class TextFile(Section):
    """Running text: a file of it, or a column of a table."""

    name: str = Field("", description="label in scores; the file's own name by default")
    file: str = Field(description="plain text, or a .tsv, .csv, .jsonl or .parquet table (.gz allowed)")
    column: int | str = Field(0, description="a table's column with the text: number from 0, or name in the header")

    @property
    def label(self) -> str:
        """The file's name in tables."""
        return self.name or self.file.rsplit("/", 1)[-1]


class TextData(Section):
    """Running text: a built-in set, or files for each split."""

    INSIDE = TextFile

    set: str = Field("", description="a built-in set (jumok list) instead of files")
    folder: str = Field(
        "", description="folder of the files inside the data folder; jumok fetch writes to one of that name"
    )
    train: list[TextFile] = Field([], description="files to learn from", json_schema_extra=one_or_its_name)
    val: list[TextFile] = Field([], description="files to score during training", json_schema_extra=one_or_its_name)
    test: list[TextFile] = Field([], description="files for the final score", json_schema_extra=one_or_its_name)
    documents: Literal["file", "paragraph", "line"] = Field(
        "file", description="what a document is in plain text; a table has one a row"
    )
    hold_out: float = Field(
        0.05, gt=0.0, lt=1.0, description="share of the training text taken for val where val has no files"
    )
    separate: bool = Field(False, description="documents that share a block do not see each other")
    lowercase: bool = Field(False, description="fold case")

    @field_validator("train", "val", "test", mode="before")
    @classmethod
    def one_file_is_a_list(cls, value: Any) -> Any:
        files = value if isinstance(value, list) else [value]
        return [{"file": file} if isinstance(file, str) else file for file in files]


class GapData(TextData):
    """Running text with words hidden, to be found."""

    gaps: float = Field(0.15, gt=0.0, lt=1.0, description="share of tokens to be found")
    whole_words: bool = Field(False, description="hide all tokens of a word together")
    next_sentence: bool = Field(False, description="also ask whether the second half of a text follows the first")

    @model_validator(mode="after")
    def texts_are_apart_anyway(self) -> Self:
        if self.separate:
            raise ConfigError(
                "data.separate is for the language task, which packs documents into blocks; here each text is a row of "
                "its own: take it out"
            )
        return self


class LabelledFile(Section):
    """A table of texts and their classes."""

    name: str = Field("", description="label in scores; the file's own name by default")
    file: str = Field(description="a .tsv, .csv, .jsonl or .parquet table (.gz allowed)")
    text: int | str = Field(0, description="column of the text: number from 0, or name in the header")
    second: int | str = Field("", description="column of a second text, where the class belongs to two; '' = none")
    label: int | str = Field(1, description="column of the class: number from 0, or name in the header")

    @property
    def shown(self) -> str:
        """The file's name in tables."""
        return self.name or self.file.rsplit("/", 1)[-1]


class LabelledData(Section):
    """Texts and their classes."""

    INSIDE = LabelledFile
    FILLED_IN: ClassVar[tuple[str, ...]] = ("labels",)

    folder: str = Field("", description="folder of the files inside the data folder")
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
        return [value] if isinstance(value, dict) else value

    @field_validator("labels")
    @classmethod
    def labels_differ(cls, value: list[str]) -> list[str]:
        if len(set(value)) < len(value):
            raise ConfigError(f"data.labels names a class twice: {', '.join(value)}")
        return value


class TokenizerConfig(Section):
    """How text becomes tokens. Trained in place on the training split."""

    kind: Literal["bpe", "unigram", "wordpiece", "word", "character", "byte"] = Field(
        "bpe", description="byte-level BPE, unigram, BERT's word pieces, words, characters, bytes"
    )
    vocabulary: int = Field(8000, ge=8, description="the most entries each vocabulary may have")
    shared: bool = Field(True, description="one vocabulary for both languages, or one each")
    dropout: float = Field(
        0.0, ge=0.0, lt=1.0, description="subword dropout, in training, of the text a model reads (bpe, unigram)"
    )
    target_dropout: float = Field(
        0.0, ge=0.0, lt=1.0, description="the same of the text it writes; a beam then prefers small pieces"
    )
    split_digits: bool = Field(False, description="each digit is a token of its own (bpe, unigram, word)")
    min_frequency: int = Field(2, ge=1, description="rarer merges or words are left out")

    @model_validator(mode="after")
    def dropout_needs_subwords(self) -> Self:
        for key in ("dropout", "target_dropout"):
            if getattr(self, key) and self.kind not in ("bpe", "unigram"):
                raise ConfigError(f"tokenizer.{key} needs subwords: kind 'bpe' or 'unigram', not '{self.kind}'")
        return self


class ModelConfig(Section):
    """Sizes and options of a model. A preset gives sizes that single keys override."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {}
    EXTRA_TOKENS: ClassVar[int] = 0  # rows of the vocabulary behind the tokenizer's own, such as the mark of a gap

    name: str
    preset: str = Field("", description="a named set of sizes; keys given beside it win")

    @model_validator(mode="before")
    @classmethod
    def fill_in_preset(cls, values: Any) -> Any:
        preset = values.get("preset", "") if isinstance(values, dict) else ""
        if preset and preset not in cls.PRESETS:
            raise ConfigError(f"model.preset = '{preset}' does not exist; {did_you_mean(str(preset), cls.PRESETS)}")
        return {**cls.PRESETS[preset], **values} if preset else values


class PairModelConfig(ModelConfig):
    """A model that turns one sequence of tokens into another."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("source_vocabulary", "target_vocabulary")

    source_vocabulary: int = Field(0, ge=0, description="filled in from the tokenizer")
    target_vocabulary: int = Field(0, ge=0, description="filled in from the tokenizer")


class TextModelConfig(ModelConfig):
    """A model that reads one sequence of tokens."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("vocabulary",)

    vocabulary: int = Field(0, ge=0, description="filled in from the tokenizer")


class PictureModelConfig(ModelConfig):
    """A model that reads a picture."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("picture_size", "channels", "classes")

    picture_size: int = Field(0, ge=0, description="filled in from data.size: pixels a side")
    channels: int = Field(0, ge=0, description="filled in from the data: 1 for grey, 3 for colour")
    classes: int = Field(0, ge=0, description="filled in from the data")


class TrainingConfig(Section):
    """How a model learns."""

    steps: int = Field(10_000, ge=1, description="optimizer steps in all")
    batch_tokens: int = Field(4096, ge=1, description="a batch's rows × the longer of its longest source and target")
    batch_size: int = Field(0, ge=0, description="pictures a batch, for tasks on pictures; 0 = 128")
    accumulate: int = Field(1, ge=1, description="batches whose gradients are summed for one step")
    optimizer: Literal["adam", "adamw"] = "adam"
    learning_rate: float = Field(1e-3, gt=0.0, description="the peak, reached after warmup")
    schedule: Literal["inverse_sqrt", "cosine", "linear", "constant"] = Field(
        "inverse_sqrt", description="after the warm-up"
    )
    warmup: int = Field(1000, ge=0, description="steps from zero to the peak")
    final_learning_rate: float = Field(0.0, ge=0.0, description="where cosine and linear end")
    betas: list[Annotated[float, Field(ge=0.0, lt=1.0)]] = Field([0.9, 0.98], min_length=2, max_length=2)
    epsilon: float = Field(1e-9, gt=0.0)
    weight_decay: float = Field(0.0, ge=0.0)
    clip: float = Field(1.0, ge=0.0, description="largest gradient norm; 0 = off")
    label_smoothing: float = Field(0.1, ge=0.0, lt=1.0)
    teacher_forcing: float = Field(
        1.0, ge=0.0, le=1.0, description="share of true tokens among a decoder's inputs; the rest it wrote itself"
    )
    teacher_forcing_decay: float = Field(
        0.0, ge=0.0, le=1.0, description="how much lower teacher_forcing is at the last step, on a straight line"
    )
    average: Literal["none", "last", "ema"] = Field("none", description="weights that are scored and saved for use")
    average_last: int = Field(5, ge=1, description="average = 'last': how many saves are averaged")
    average_decay: float = Field(
        0.999, ge=0.0, lt=1.0, description="average = 'ema': share of the old average kept a step"
    )
    monitor: str = Field("loss", description="the val score that decides which weights are best")
    evaluate_sentences: int = Field(
        1000, ge=1, description="most val sentences answered at an evaluation (the loss takes all)"
    )
    patience: int = Field(0, ge=0, description="stop after so many evaluations without a better score; 0 = never")
    save_every: int = Field(500, ge=1, description="steps between checkpoints")
    evaluate_every: int = Field(500, ge=1, description="steps between evaluations")
    log_every: int = Field(50, ge=1, description="steps between lines in metrics.jsonl")
    init: str = Field("", description="a run whose weights and tokenizers this one starts from")
    seed: int = Field(1, ge=0)
    device: str = Field("auto", description="auto (CUDA, then MPS, then CPU), cpu, cuda, cuda:1, mps")
    precision: Literal["fp32", "bf16"] = "fp32"
    threads: int = Field(0, ge=0, description="CPU threads; 0 = torch's own choice")
    workers: int = Field(
        0,
        ge=0,
        description="processes that share each batch on a CPU, a thread each; 0 = what is fastest, 1 = no sharing",
    )


class DecodingConfig(Section):
    """How an answer is searched for. Every value can be changed when translating."""

    beam: int = Field(5, ge=1, description="hypotheses kept a sentence; 1 = greedy")
    n_best: int = Field(1, ge=1, description="answers returned a sentence, at most beam")
    length_penalty: float = Field(1.0, description="log-probability is divided by length to this power")
    coverage_penalty: float = Field(0.0, ge=0.0, description="punish source words nobody looked at (GNMT's beta)")
    no_repeat_ngram: int = Field(0, ge=0, description="no n-gram of this size twice; 0 = off")
    min_length: int = Field(0, ge=0, description="tokens before the end is allowed")
    max_length: int = Field(0, ge=0, description="most tokens of an answer; 0 = twice the source plus 10")
    sample: bool = Field(False, description="draw at random instead of searching")
    temperature: float = Field(1.0, gt=0.0, allow_inf_nan=False)
    top_k: int = Field(0, ge=0, description="draw from the k likeliest; 0 = all")
    top_p: float = Field(1.0, gt=0.0, le=1.0, description="draw from the likeliest that make up this share")
    min_p: float = Field(0.0, ge=0.0, lt=1.0, description="draw from those at least this share as likely as the first")
    repetition_penalty: float = Field(
        1.0, ge=1.0, allow_inf_nan=False, description="make tokens already written less likely (CTRL's); 1 = off"
    )
    stop: list[Annotated[str, Field(min_length=1)]] = Field(
        [], description="end before any of these texts (language models)"
    )
    seed: int = Field(1, ge=0)
    batch_size: int = Field(64, ge=1, description="sentences decoded side by side")

    @model_validator(mode="after")
    def n_best_fits_the_beam(self) -> Self:
        if self.n_best > self.beam and not self.sample:
            raise ConfigError(
                f"n_best ({self.n_best}) needs a beam at least as wide, not {self.beam}; set beam = {self.n_best}"
            )
        if 0 < self.max_length < self.min_length:
            raise ConfigError(f"min_length ({self.min_length}) is above max_length ({self.max_length})")
        return self


def explain(error: ValidationError, cls: type[Section], where: str) -> str:
    """Return one line a problem, each with the allowed values or the nearest key."""
    return "\n".join(_explain_one(dict(detail), cls, where) for detail in error.errors())


def _explain_one(detail: dict[str, Any], cls: type[Section], where: str) -> str:
    path = [where, *(str(part) for part in detail["loc"])]
    place, given, context = ".".join(path), detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            known = ((len(path) > 2 and cls.INSIDE) or cls).model_fields
            return f"[{'.'.join(path[:-1])}] has no key '{path[-1]}'; {did_you_mean(path[-1], known)}"
        case "missing":
            return f"{place} is missing"
        case "literal_error":
            return f"{place} = {given!r}: must be {context['expected']}"
        case "greater_than_equal":
            return f"{place} = {given!r}: must be at least {context['ge']}"
        case "greater_than":
            return f"{place} = {given!r}: must be above {context['gt']}"
        case "less_than_equal":
            return f"{place} = {given!r}: must be at most {context['le']}"
        case "less_than":
            return f"{place} = {given!r}: must be below {context['lt']}"
        case kind if kind.endswith("_type"):
            wanted = {
                "int": "a whole number",
                "float": "a number",
                "bool": "true or false",
                "string": "text in quotes",
                "list": "a list",
                "model": "a table",
            }
            return f"{place} = {given!r}: must be {wanted.get(kind.removesuffix('_type'), kind.removesuffix('_type'))}"
        case _:
            return f"{place} = {given!r}: {detail['msg'][0].lower()}{detail['msg'][1:]}"
