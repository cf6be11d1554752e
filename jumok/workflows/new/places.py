"""Which files are trained on and which are scored on: those that are given, or the parts of a folder that has train."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from jumok.config import Split
from jumok.data.images.listing import SUFFIXES
from jumok.data.tables import is_table
from jumok.errors import ConfigError, DataError, counted

Places = Mapping[Split, tuple[Path, ...]]  # of a split, one file or folder; source and target; or images and captions
PARTS: dict[Split, tuple[str, ...]] = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation", "dev"),
    "test": ("test",),
}


def find_places(paths: Sequence[Path], val: Sequence[Path]) -> Places:
    """Return the files of each split."""
    for path in (*paths, *val):
        _check_is_data(path)
    if len(paths) > 2:
        raise ConfigError(
            f"{len(paths)} files are given; jumok new takes two files of lines, or one table, file or folder"
        )
    if captioned := _images_and_captions(paths):
        return {"train": captioned, **_captioned_val(captioned, val)}
    if len(paths) == 2 and any(path.is_dir() or is_table(path) for path in paths):
        raise ConfigError(
            f"{paths[0].name} and {paths[1].name}: two are given where both are text, line by line translations of each "
            "other, or where one holds images and the other their captions; of tables and folders give one, and --val for "
            "what it is scored on"
        )
    places: dict[Split, tuple[Path, ...]] = {"train": tuple(paths)}
    if len(paths) == 1 and paths[0].is_dir():
        places = _parts_of(paths[0]) or places
    if val:
        if len(val) != len(paths):
            cure = "two files need --val SOURCE --val TARGET" if len(paths) == 2 else "give it once"
            raise ConfigError(
                f"--val is given {counted(len(val), 'time')}, and the data is {counted(len(paths), 'file')}; {cure}"
            )
        places["val"] = tuple(val)
    return places


def has_images(folder: Path) -> bool:
    """Return whether there are images in a folder or below."""
    return any(path.suffix.lower() in SUFFIXES for path in folder.rglob("*")) or any(folder.glob("data_batch_*.bin"))


def holds_images(path: Path) -> bool:
    """Return whether a path is a folder with images, or a file of many."""
    return has_images(path) if path.is_dir() else path.suffix.lower() == ".npz"


def _images_and_captions(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return a place of images and a file of captions, however they were ordered; nothing where it is not that."""
    images = [path for path in paths if holds_images(path)]
    others = [path for path in paths if path not in images and path.is_file()]
    return (images[0], others[0]) if len(paths) == 2 and len(images) == len(others) == 1 else ()


def _captioned_val(train: tuple[Path, ...], val: Sequence[Path]) -> dict[Split, tuple[Path, ...]]:
    """Return the images and captions of val; captions alone are of the same images' folder."""
    if not val:
        return {}
    if len(val) == 1 and val[0].is_file() and not holds_images(val[0]):
        return {"val": (train[0], val[0])}
    if found := _images_and_captions(val):
        return {"val": found}
    raise ConfigError("--val needs captions, or --val IMAGES --val CAPTIONS where their images are elsewhere")


def _check_is_data(path: Path) -> None:
    if not path.exists():
        raise DataError(f"there is no {path}; give files or a folder of your own data")
    if (path / "run.json").exists():
        raise ConfigError(
            f"{path} is a run; give what it is to learn from, and the run to start from: jumok new DATA --from {path}"
        )


def _parts_of(folder: Path) -> dict[Split, tuple[Path, ...]]:
    """Return the parts of a folder that has train, and perhaps val and test, as folders or files; nothing otherwise."""
    found: dict[Split, tuple[Path, ...]] = {}
    for split in get_args(Split):
        parts = [path for path in sorted(folder.iterdir()) if path.name.split(".")[0].lower() in PARTS[split]]
        if len(parts) == 1:
            found[split] = (parts[0],)
        elif split == "train":
            return {}
    return found
