"""What the [data] of every task shares: files for each split, in a folder of their own."""

from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeVar

from pydantic import Field

from jumok.config.section import Section
from jumok.errors import ConfigError

Split = Literal["train", "val", "test"]


class DataFile(Section):
    """A source of examples: a file, a table, a folder."""

    name: str = Field("", description="label in scores; the file's own name by default")
    file: str = Field("", description="the file")

    @property
    def origin(self) -> str:
        """Where the examples come from, as the recipe writes it."""
        return self.file

    @property
    def title(self) -> str:
        """The source's name in tables."""
        return self.name or self.origin.rstrip("/").rsplit("/", 1)[-1]

    @property
    def full_title(self) -> str:
        """The same with the whole path, where titles would be alike."""
        return self.name or self.origin


FileT = TypeVar("FileT", bound=DataFile, covariant=True)


class DataConfig(Section, Generic[FileT]):
    """The [data] of a recipe. A task's own class describes its files and adds its own keys."""

    folder: str = Field(
        "", description="folder of the files inside the data folder; jumok fetch writes to one of that name"
    )
    train: list[FileT] = Field([], description="files to learn from")
    val: list[FileT] = Field([], description="files to score during training")
    test: list[FileT] = Field([], description="files for the final score")

    def files(self, split: Split) -> Sequence[FileT]:
        """Return the files of a split."""
        return {"train": self.train, "val": self.val, "test": self.test}[split]

    @property
    def built_in(self) -> str:
        """The name of the built-in set that stands instead of files, empty where there is none."""
        return ""

    @property
    def languages(self) -> list[str]:
        """The target languages that are told by a tag, sorted; none where there is one direction only."""
        return []

    @property
    def holds_out(self) -> bool:
        """Whether some of the training examples are held out for val."""
        return bool(self.train) and not self.val


def as_list(value: Any) -> Any:
    """Return one table of a recipe as a list of one."""
    return [value] if isinstance(value, dict) else value


def as_files(value: Any) -> Any:
    """Return one file, or its name, as a list of one."""
    files = value if isinstance(value, list) else [value]
    return [{"file": file} if isinstance(file, str) else file for file in files]


def refuse_equal_labels(labels: list[str]) -> list[str]:
    """Return the classes that data.labels names; one that is named twice is refused."""
    if len(set(labels)) < len(labels):
        raise ConfigError(f"data.labels names a class twice: {', '.join(labels)}")
    return labels
