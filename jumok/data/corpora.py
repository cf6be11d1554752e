"""What corpora of every kind share: how files are found, which examples are held out, what the cache is keyed by.

[data] of a recipe → files → examples, some of them held out for val → stores, each made once and kept in the cache
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from jumok.cache import cache_key
from jumok.config import DataConfig, DataFile, Split
from jumok.data.fetch import DOWNLOADS, data_home
from jumok.data.files import MissingFileError, find_file
from jumok.errors import DataError, RunError

ProgressCallback = Callable[[str, int], None]  # what is being done, and how many examples are through
REPORTED_EVERY = 1000  # examples

DataT = TypeVar("DataT", bound=DataConfig[DataFile])
FileT = TypeVar("FileT", bound=DataFile)
StoreT = TypeVar("StoreT")
ItemT = TypeVar("ItemT")


class Corpora(ABC, Generic[DataT, StoreT]):
    """The examples of a recipe: read, divided, stored."""

    FORMAT: ClassVar[int] = 1  # of what stands in the cache; raise it when the contents change
    FILE_IN_RECIPE: ClassVar[str]  # how a file of [data] is written, for messages
    OWN_FILES: ClassVar[str] = "--source"  # the options that name files of one's own

    def __init__(
        self, data: DataT, folders: Sequence[Path], progress: ProgressCallback = lambda what, done: None
    ) -> None:
        """Take files from the first of folders that has them; nothing is read before it is needed."""
        self.data, self.folders, self.progress = data, folders, progress

    # --- stores

    @cached_property
    def train(self) -> StoreT:
        """All training examples in one store."""
        return self._train_store()

    def evaluation(self, split: Split) -> dict[str, StoreT]:
        """Return the store of each corpus of a split by its title."""
        if self.data.built_in:
            return self._built_in_stores(split)
        if self.data.files(split):
            return self._file_stores(split)
        if split == "val" and self.data.holds_out:
            return self._held_out_stores()
        raise DataError(
            f"the recipe has no {split} data; add {split} = {self.FILE_IN_RECIPE} to [data], or give {self.OWN_FILES}"
        )

    @property
    def withheld(self) -> set[str]:
        """Titles of the evaluation stores that show what is kept out of training on purpose."""
        return set()

    @abstractmethod
    def _train_store(self) -> StoreT:
        """Return the training examples; without val files, those that are not held out."""

    @abstractmethod
    def _file_stores(self, split: Split) -> dict[str, StoreT]:
        """Return the store of each file of a split by its title."""

    @abstractmethod
    def _held_out_stores(self) -> dict[str, StoreT]:
        """Return the held-out examples by what they are called in tables."""

    def _built_in_stores(self, split: Split) -> dict[str, StoreT]:
        """Return a split of a built-in set by what it is called in tables."""
        raise AssertionError(f"{type(self).__name__} has no built-in sets")

    # --- keys of the cache

    @property
    def fingerprint(self) -> str:
        """What the training data is made of: a resumed run must find the same."""
        return self._key("data", [])

    def refuse_learnt_val(self, trained_on: str | None) -> None:
        """Refuse to hold out val for a run that was trained on other data: it may have learnt what is held out now.

        trained_on is the fingerprint that the run has kept; a run without one cannot be asked.
        """
        if trained_on and self.data.holds_out and trained_on != self.fingerprint:
            raise RunError(
                "val is held out of the training data, which is not what the run was begun with: it may have learnt some of "
                f"what would be held out now. Put the files back, or give {self.OWN_FILES}."
            )

    def _key(self, kind: str, parts: object, content: object = None) -> str:
        """Return a cache key that changes with everything an entry depends on; content is the training data's where None."""
        content = self._train_content if content is None else content
        return cache_key(kind, *self._settings, parts, content, format=self.FORMAT)

    @property
    @abstractmethod
    def _settings(self) -> list[object]:
        """What of [data] changes the stores, beside the contents of files."""

    @cached_property
    def _train_content(self) -> object:
        """What changes when the training examples do."""
        return self._content_of_train()

    @abstractmethod
    def _content_of_train(self) -> object:
        """Return what changes when the training files, or the built-in set, do."""

    # --- files

    def find(self, name: str) -> Path:
        """Return where a file of [data] is; where it is missing, say where its set can be fetched."""
        if not self.folders and not Path(name).is_absolute():  # a shipped model
            raise DataError(
                f"{name} does not come with the model; give data of your own with {self.OWN_FILES}, or the folder that "
                "has it with --data FOLDER."
            )
        try:
            return find_file(name, self.folders)
        except MissingFileError as error:
            if self.data.folder in DOWNLOADS:
                raise DataError(f"{error}\nThis set has a public home: jumok fetch {self.data.folder}") from None
            if self.data.folder:
                raise DataError(
                    f"{error}\nWhere they come from stands in the recipe's head: jumok recipe NAME"
                ) from None
            raise

    def _reported(self, what: str, items: Iterable[ItemT]) -> Iterator[ItemT]:
        """Yield items, telling now and then how many are through."""
        for number, item in enumerate(items):
            if number % REPORTED_EVERY == 0:
                self.progress(what, number)
            yield item


def data_folders(data: Path | None, name: str, recipe: Path | None = None) -> list[Path]:
    """Return where relative files are looked for: the given folder, JUMOK_DATA, the recipe's, here, jumok fetch's."""
    roots = [
        data,
        Path(os.environ["JUMOK_DATA"]) if os.environ.get("JUMOK_DATA") else None,
        recipe and recipe.parent,
        Path.cwd(),
    ]
    folders: list[Path] = []
    for root in filter(None, roots):
        folders += [root / name, root] if name else [root]
    with suppress(DataError):  # no home folder: nothing was fetched into it
        folders.append(data_home() / name if name else data_home())
    return list(dict.fromkeys(folder.absolute() for folder in folders))


def by_title(files: Sequence[FileT], store_of: Callable[[FileT], StoreT]) -> dict[str, StoreT]:
    """Return the store of each file by its title, or by its whole path where two titles are alike."""
    titles = [file.title for file in files]
    if len(set(titles)) < len(titles):  # val.en of two folders
        titles = [file.full_title for file in files]
    return {title: store_of(file) for title, file in zip(titles, files, strict=True)}
