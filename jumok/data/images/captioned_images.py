"""Which images a recipe's [data] is about, and what is said of each: found, divided, not yet opened.

files or a built-in set → images with captions → divided by image, limited → CaptionedImage for each split
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from jumok.config import CaptionData, CaptionFiles, Split
from jumok.data.builtin import relations, shapes
from jumok.data.corpora import ProgressCallback
from jumok.data.images.caption_files import PLAIN, CaptionedImage, CaptionListing, Place, read_captions, some_of
from jumok.data.images.decode import channels_of
from jumok.data.images.decoded import DecodedImages, open_some
from jumok.data.images.equal import shared_images
from jumok.data.images.image_store import ImageStore
from jumok.data.images.listing import ImageEntry
from jumok.data.split import HoldOut, draw
from jumok.errors import ConfigError, DataError, counted, did_you_mean

SETS = ("shapes",)
MOST_HELD_OUT = 1000  # images, where the recipe does not say how many
TOLERATED = 0.05  # share of val's images that may be in train under other names; there they are left out
GRAMMARS = {"plain": shapes, "relations": relations}


class CaptionedImages:
    """The images of a recipe with their captions."""

    wanted_size: int = 0  # what a pretrained component sees: the size where data.size is 0
    wanted_channels: int = 0  # the same of data.channels

    def __init__(
        self, data: CaptionData, find: Callable[[str], Path], progress: ProgressCallback, *, captions: bool = True
    ) -> None:
        """Take files from where find says; nothing is read before it is needed. captions: whether they are needed."""
        self.data, self.find, self.captions = data, find, captions
        self.notes: list[str] = []  # what a user should know of what has been opened
        self._read: dict[str, CaptionListing] = {}
        self._decoded = DecodedImages(data.fit, progress)
        if data.set and data.set not in SETS:
            raise ConfigError(f"data.set = '{data.set}' is no set of captions; {did_you_mean(data.set, SETS)}")
        if data.brief and not captions:
            raise ConfigError("data.brief adds captions, and image codes are learnt without them; leave it out")
        if bool(data.set) == bool(data.train):
            if not captions:
                raise ConfigError(
                    '[data] needs either set = "shapes" (built in) or train = "…" (a folder of images, an .npz, …)'
                )
            raise ConfigError(
                '[data] needs either set = "shapes" (built in) or train = { file = "…", images = "…" } (captions, and '
                "where their images are)"
            )

    @cached_property
    def image_shape(self) -> tuple[int, int]:
        """Size and channels of images: the recipe's, a pretrained encoder's, or those of the first training images."""
        size, channels = self.data.size or self.wanted_size, self.data.channels or self.wanted_channels
        if self.data.set:
            return size or GRAMMARS[self.data.captions].SIDE, channels or 3
        if size and channels:
            return size, channels
        images = open_some([item.image for item in self._train_files])
        first = next(images)
        # One grey photograph among coloured ones does not make them all grey.
        found = channels or max(channels_of(image) for image in (first, *images))
        return size or min(first.size), found

    @cached_property
    def _listings(self) -> dict[Split, list[CaptionListing]]:
        """What the files of train and val hold; images that no caption is of are told once all are read."""
        splits: tuple[Split, ...] = ("train", "val")
        listings = {split: [self.listing(file) for file in self.data.files(split)] for split in splits}
        every = [listing for some in listings.values() for listing in some]
        described = {item.image.place for listing in every for item in listing.items}
        unnamed = {place: name for listing in every for place, name in listing.unnamed.items()}
        names = sorted(name for place, name in unnamed.items() if place not in described)
        if names:
            self.tell(f"left out, as no caption describes them: {counted(len(names), 'image')} ({some_of(names)})")
        return listings

    def listing(self, file: CaptionFiles) -> CaptionListing:
        """Return what a file holds; it is read once."""
        key = file.model_dump_json()
        if key not in self._read:
            self._read[key] = read_captions(file, self.find, needed=self.captions)
            self.tell(*self._read[key].notes)
        return self._read[key]

    def tell(self, *notes: str) -> None:
        """Keep what a user should know, once."""
        self.notes += [note for note in notes if note not in self.notes]

    @cached_property
    def _train_files(self) -> list[CaptionedImage]:
        """The images of all training files; one that is in several has the captions of all, and the first group."""
        gathered: dict[Place, CaptionedImage] = {}
        for listing in self._listings["train"]:
            for item in listing.items:
                known = gathered.get(item.image.place)
                if known:
                    image = replace(known.image, label=known.image.label or item.image.label)
                    item = CaptionedImage(image, known.captions + item.captions)
                gathered[item.image.place] = item
        return list(gathered.values())

    def built_in(self, split: Split) -> list[CaptionedImage]:
        """Return the images of a split of the built-in set; none that shows what is withheld."""
        grammar, name = GRAMMARS[self.data.captions], "shapes" if self.data.captions == "plain" else "relations"
        count = (self.data.set_size if split == "train" else 0) or grammar.DEFAULT_SIZES[split]
        source = Path(name) / split
        items = self._drawn(f"{name} {split}", source / "seen" if self.data.withhold else source, count)
        if self.data.brief and split == "train":
            return [replace(item, wordings=("caption", "brief")) for item in items]
        return items

    def brief(self, split: Split) -> dict[str, list[CaptionedImage]]:
        """Return the images of a split with a brief caption each, by what they are called in tables."""
        if not self.data.brief:
            return {}
        return {"brief captions": [replace(item, wordings=("brief",)) for item in self.built_in(split)]}

    def withheld(self, split: Split) -> dict[str, list[CaptionedImage]]:
        """Return the images of a split that show what training never sees, by what they are called in tables."""
        kinds = relations.WITHHELD if self.data.withhold else ()
        return {
            kind: self._drawn(f"{kind} {split}", Path("relations") / split / kind, relations.WITHHELD_SIZE)
            for kind in kinds
        }

    def _drawn(self, name: str, source: Path, count: int) -> list[CaptionedImage]:
        """Return the first images of a part of the built-in set; its source says which part."""
        return [
            CaptionedImage(ImageEntry(f"{name} {number}", "", source, number, built_in=self.data.set))
            for number in range(count)
        ]

    @cached_property
    def train(self) -> list[CaptionedImage]:
        """The images to learn from."""
        if self.data.set:
            items = self.built_in("train")
        else:
            items = self.divided(held_out=False) if self.data.holds_out else self._without_val(self._train_files)
        if not self.data.limit:
            return items
        chosen = {item.image for item in draw(items, self.data.limit, _name, unit="images")}
        return [item for item in items if item.image in chosen]

    def divided(self, *, held_out: bool) -> list[CaptionedImage]:
        """Return the held-out images or the rest, with all of their captions: drawn by name, the same in every run."""
        items = self._train_files
        hold_out = HoldOut.count(map(_name, items), self.data.hold_out, most=MOST_HELD_OUT, unit="images", least=2)
        return list(hold_out.part(items, _name, held_out=held_out))

    def _without_val(self, items: list[CaptionedImage]) -> list[CaptionedImage]:
        """Return training images that are not those of val, whatever they are called; many of them are refused."""
        val = {item.image.place: item.image for listing in self._listings["val"] for item in listing.items}
        shared = shared_images(list(val.values()), [item.image for item in items])
        if not shared:
            return items
        named = some_of([_both_names(mine, others) for mine, others in shared])
        same_file = any(mine.place == other.place for mine, others in shared for other in others)
        if same_file or len(shared) > TOLERATED * len(val):
            raise DataError(
                f"train and val share {counted(len(shared), 'image')}: {named}. Scores of images that were learnt say "
                "nothing; take them out of one of the two files."
            )
        self.tell(f"left out of train, as val has them: {counted(len(shared), 'image')} ({named})")
        left_out = {other.place for _, others in shared for other in others}
        return [item for item in items if item.image.place not in left_out]

    def decoded(self, items: Sequence[CaptionedImage]) -> ImageStore:
        """Return images opened, brought to one shape and kept in the cache."""
        return self._decoded.store([item.image for item in items], *self.image_shape)

    def content(self, items: Sequence[CaptionedImage]) -> object:
        """Return what changes when images or their captions do."""
        digest = blake2b(digest_size=16)
        for item in items:
            said = item.captions or (item.wordings if item.wordings != PLAIN else ())
            digest.update("\0".join(said).encode("utf-8", "surrogatepass") + b"\1")
        return [self._decoded.content([item.image for item in items]), digest.hexdigest()]


def _name(item: CaptionedImage) -> str:
    return item.image.name


def _both_names(mine: ImageEntry, others: Sequence[ImageEntry]) -> str:
    names = ", ".join(other.name for other in others)
    return mine.name if names == mine.name else f"{mine.name} = {names}"
