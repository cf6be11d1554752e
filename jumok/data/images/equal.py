"""Images that are equal byte for byte, whatever their names: found without reading most of them.

entries → those of equal size → those whose ends are equal → those that are equal
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from hashlib import sha256

from jumok.data.images.listing import ImageEntry
from jumok.data.images.packs import open_pack

END = 4096  # bytes: two compressed images hardly ever end alike

Group = Sequence[int]


def equal_images(entries: Sequence[ImageEntry], matters: Callable[[Group], bool]) -> list[Group]:
    """Return the numbers of equal images, group by group; groups that do not matter are left out, best unread."""
    groups: list[Group] = [range(len(entries))]
    for key in (_size, _end, _whole):
        groups = [part for group in groups for part in _parts(entries, group, key) if len(part) > 1 and matters(part)]
    return groups


def shared_images(
    entries: Sequence[ImageEntry], others: Sequence[ImageEntry]
) -> list[tuple[ImageEntry, list[ImageEntry]]]:
    """Return each image of entries that is among others, too, with its equals there."""
    border = len(entries)
    groups = equal_images([*entries, *others], lambda group: min(group) < border <= max(group))
    return [
        (entries[number], [others[other - border] for other in group if other >= border])
        for group in groups
        for number in group
        if number < border
    ]


def _parts(entries: Sequence[ImageEntry], group: Group, key: Callable[[ImageEntry], Hashable]) -> list[list[int]]:
    parts: dict[Hashable, list[int]] = defaultdict(list)
    for number in group:
        try:
            parts[key(entries[number])].append(number)
        except OSError:  # an image that cannot be read is told where images are decoded
            continue
    return list(parts.values())


def _size(entry: ImageEntry) -> int:
    return len(_packed(entry)) if entry.number >= 0 else entry.source.stat().st_size


def _end(entry: ImageEntry) -> bytes:
    if entry.number >= 0:
        return _packed(entry)[-END:]
    with entry.source.open("rb") as file:
        file.seek(max(entry.source.stat().st_size - END, 0))
        return file.read()


def _whole(entry: ImageEntry) -> bytes:
    return sha256(_packed(entry) if entry.number >= 0 else entry.source.read_bytes()).digest()


def _packed(entry: ImageEntry) -> bytes:
    return open_pack(entry.source, entry.labels_file).content(entry.number)
