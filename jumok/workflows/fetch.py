"""What `jumok fetch` does: a public data set is brought from its public home."""

from dataclasses import dataclass
from pathlib import Path

from jumok.data.fetch import DOWNLOADS, DownloadProgress
from jumok.data.fetch import fetch as download


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
    place = download(name, folder, base_url=base_url or None, progress=progress)
    return Fetched(place, DOWNLOADS[name].licence)
