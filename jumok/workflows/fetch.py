"""What `jumok fetch` does: a public data set is brought from its public home."""

from dataclasses import dataclass
from pathlib import Path

from jumok.data.fetch import DOWNLOADS, DownloadProgress
from jumok.data.fetch import fetch as download
from jumok.errors import DataError


@dataclass(frozen=True)
class Fetched:
    """Where a data set is now, and on which terms it may be used."""

    folder: Path
    licence: str


def fetch(
    name: str,
    folder: Path | None = None,
    *,
    base_url: str = "",
    progress: DownloadProgress = lambda file, done, total: None,
) -> Fetched:
    """Bring the files of a public set into a folder, by default where recipes look; base_url is a mirror's."""
    if name not in DOWNLOADS and (recipes := _recipes_that_read(name)):
        raise DataError(
            f"'{name}' is not among the sets that jumok can fetch ({', '.join(DOWNLOADS)}); the head of its recipe says where "
            f"it comes from: jumok recipe {recipes[0]}"
        )
    place = download(name, folder, base_url=base_url or None, progress=progress)
    return Fetched(place, DOWNLOADS[name].licence)


def _recipes_that_read(folder: str) -> list[str]:
    """Return the shipped recipes whose data is in a folder of that name."""
    from jumok.config.recipe import parse_toml, shipped_recipes  # here, because `jumok fetch` starts at once

    return [name for name, path in shipped_recipes().items() if parse_toml(path)["data"].get("folder") == folder]
