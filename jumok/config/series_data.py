"""The [data] of a recipe about series: tables whose rows are steps of time."""

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from jumok.config.data import DataConfig, DataFile, as_files
from jumok.config.section import one_is_a_list, one_or_its_name
from jumok.errors import ConfigError

Column = int | str  # by number or name
Transform = Literal["none", "log", "difference", "log-return"]
Calendar = Literal["minute", "hour", "weekday", "day", "week", "month"]


class SeriesFile(DataFile):
    """A table of series."""

    file: str = Field(description="a .csv, .tsv, .jsonl or .parquet table (.gz allowed), a row for each step")


class SeriesData(DataConfig[SeriesFile]):
    """Tables of one series or many, and what of them is forecast from what."""

    INSIDE = SeriesFile
    FILLED_IN: ClassVar[tuple[str, ...]] = (
        "date",
        "id",
        "targets",
        "known",
        "mean",
        "deviation",
        "static_mean",
        "static_deviation",
        "categories",
        "season",
    )

    set: str = Field("", description="a built-in set (jumok list) instead of files")
    train: list[SeriesFile] = Field([], description="tables to learn from", json_schema_extra=one_or_its_name)
    val: list[SeriesFile] = Field(
        [], description="tables to score during training, later than train", json_schema_extra=one_or_its_name
    )
    test: list[SeriesFile] = Field(
        [], description="tables for the final score, later than val", json_schema_extra=one_or_its_name
    )
    val_from: int | float | str = Field(
        0, description="where val begins in train's tables: a date, a row of each series, or a share (0.8); 0 = 0.8"
    )
    test_from: int | float | str = Field(0, description="where test begins, likewise; 0 = there is none")
    own_history: bool = Field(
        False,
        description="windows of val and test look back into their own rows only, not into those before their split",
    )
    date: Column = Field("", description="the column of dates, times or step numbers; '' = rows are steps as they come")
    id: list[Column] = Field(
        [],
        description="the columns that tell which series a row belongs to; [] = there is one",
        json_schema_extra=one_is_a_list,
    )
    targets: list[Column] = Field(
        [], description="the columns to forecast; [] = all that have no other use", json_schema_extra=one_is_a_list
    )
    known: list[Column] = Field(
        [], description="columns that are known ahead, such as holidays", json_schema_extra=one_is_a_list
    )
    past: list[Column] = Field(
        [], description="columns that are known only up to the last step", json_schema_extra=one_is_a_list
    )
    static: list[Column] = Field(
        [], description="columns that are constant in a series: numbers or names", json_schema_extra=one_is_a_list
    )
    calendar: list[Calendar] = Field([], description="features of the dates that the model gets, known ahead")
    look_back: int = Field(96, ge=2, description="steps that a forecast is made of")
    horizon: int = Field(24, ge=1, description="steps that are forecast")
    transform: Transform = Field(
        "none", description="of the targets, undone in forecasts: log; difference or log-return of one step to the next"
    )
    scale: Literal["column", "none"] = Field(
        "column", description="mean 0 and deviation 1 of every column over the training rows, undone in forecasts"
    )
    interval: str = Field(
        "",
        description="the time between two steps (10, '15min', '1h', '1d', '1mo', '1b' for business days); '' = each row is the "
        "next step",
    )
    missing: Literal["split", "fill"] = Field(
        "split",
        description="with interval, where steps are missing: split the series in two, or fill in rows without values",
    )
    season: int = Field(
        0,
        ge=0,
        description="steps of a season, for floors and MASE; 0 = by the dates: a day of hours or minutes, a week of days, "
        "5 business days, 12 months; else 1",
    )
    paths: bool = Field(False, description="the two targets are places (x, y): scored by ADE and FDE")
    rotate: float = Field(
        0.0, ge=0.0, le=1.0, description="paths: so many of them are turned by a random angle when they are learnt from"
    )
    scores: Literal["scaled", "units"] = Field(
        "scaled", description="scores are of scaled values, or in the data's units (of logarithms where there are some)"
    )
    mean: list[float] = Field([], description="filled in: of each column over the training rows, transformed")
    deviation: list[float] = Field([], description="filled in: likewise")
    static_mean: list[float] = Field([], description="filled in: of each static column over the training series")
    static_deviation: list[float] = Field([], description="filled in: likewise")
    categories: dict[str, list[str]] = Field({}, description="filled in: the names in each static column of names")

    @property
    def built_in(self) -> str:
        """The name of the built-in set that stands instead of files."""
        return self.set

    @property
    def relative(self) -> bool:
        """Whether targets are told from the last step on: how far they have gone since."""
        return self.transform in ("difference", "log-return")

    @field_validator("train", "val", "test", mode="before")
    @classmethod
    def one_source_is_a_list(cls, value: Any) -> Any:
        return as_files(value)

    @field_validator("id", "targets", "known", "past", "static", mode="before")
    @classmethod
    def one_column_is_a_list(cls, value: Any) -> Any:
        return value if isinstance(value, list) else [value]

    @model_validator(mode="after")
    def a_column_has_one_use(self) -> Self:
        used = [column for column in [self.date, *self.id] if column != ""]
        used += [*self.targets, *self.known, *self.past, *self.static]
        twice = {column for column in used if used.count(column) > 1}
        if twice:
            raise ConfigError(f"data: the column {sorted(map(str, twice))[0]} has two uses; name it once")
        if self.calendar and self.date == "" and not self.set:
            raise ConfigError("data.calendar needs data.date, the column of dates")
        if self.interval and self.date == "":
            raise ConfigError("data.interval needs data.date, the column of dates or step numbers")
        if self.val and (self.val_from or self.test_from):
            raise ConfigError("data.val_from and data.test_from divide train's tables; with data.val, leave them out")
        if self.test and self.test_from:
            raise ConfigError("data.test_from divides train's tables; with data.test, leave it out")
        if self.rotate and not self.paths:
            raise ConfigError("data.rotate is for paths; set data.paths = true")
        if self.paths and self.targets and len(self.targets) != 2:
            raise ConfigError(f"data.paths needs two targets, x and y; data.targets has {len(self.targets)}")
        return self
