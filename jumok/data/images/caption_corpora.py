"""From a recipe's [data] of images and captions to stores, each made once and kept in the cache.

files or a built-in set → images with captions → divided by image, limited → tidied → tokenizer (trained on train)
    → CaptionStore: images, and the ids and texts of the captions of each
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from jumok.cache import cached_folder
from jumok.config import CaptionData, CaptionFiles, Split, TokenizerConfig
from jumok.data.corpora import ProgressCallback, by_title
from jumok.data.images.caption_files import CaptionedImage
from jumok.data.images.caption_store import CaptionStore, build_caption_store, chosen_entries
from jumok.data.images.captioned_images import CaptionedImages
from jumok.data.images.decoded import built_in_captions
from jumok.data.text.sources import tidy
from jumok.data.text.tokenized import SingleTokenizerCorpora
from jumok.data.text.tokenizer import Tokenizer

# Dropped around words. Inside a word they stay (t-shirt, man's), and so does the apostrophe of a shortened word ('s).
MARKS = ".,:;?!…()[]{}\"“”„«»`´‘’'–—-。、！？"
SHORTENED = re.compile("['’](?:s|t|d|m|re|ve|ll)", re.IGNORECASE)


def without_punctuation(text: str) -> str:
    """Return tidied text without the punctuation marks that stand alone or around words."""
    words = (word if SHORTENED.fullmatch(word) else word.strip(MARKS) for word in text.split())
    return " ".join(filter(None, words))


class CaptionCorpora(SingleTokenizerCorpora[CaptionData, CaptionStore]):
    """The images and captions of a recipe: found, tidied, tokenised, decoded, stored."""

    FILE_IN_RECIPE = '{ file = "…", images = "…" }'
    DECISIVE: ClassVar[set[str]] = {"set", "set_size", "captions", "limit", "hold_out", "lowercase", "punctuation"}

    def __init__(
        self,
        data: CaptionData,
        config: TokenizerConfig,
        folders: Sequence[Path],
        progress: ProgressCallback = lambda what, done: None,
        given: Tokenizer | None = None,
    ) -> None:
        """Take the images and captions of a set or of files, and the given tokenizer or one trained on them."""
        super().__init__(data, config, folders, progress, given)
        self.images = CaptionedImages(data, self.find, progress)

    @property
    def notes(self) -> list[str]:
        """What a user should know of what has been opened."""
        return self.images.notes

    @property
    def image_shape(self) -> tuple[int, int]:
        """Size and channels of images."""
        return self.images.image_shape

    # --- stores

    @property
    def withheld(self) -> set[str]:
        """Titles of the stores that no weights are chosen by: what training never sees, and val's images once more."""
        return {*self.images.withheld("val"), *self.images.brief("val")}

    def evaluation(self, split: Split) -> dict[str, CaptionStore]:
        """Return the images of each file of a split by its title; train is one."""
        return {"train": self.train} if split == "train" else super().evaluation(split)

    def own_store(self, file: CaptionFiles) -> CaptionStore:
        """Return the store of one file of captions."""
        return self._store(self.images.listing(file).items)

    def _train_store(self) -> CaptionStore:
        return self._store(self.images.train, most=self.data.max_length)

    def _built_in_stores(self, split: Split) -> dict[str, CaptionStore]:
        parts = {split: self.images.built_in(split), **self.images.brief(split), **self.images.withheld(split)}
        return {title: self._store(items) for title, items in parts.items()}

    def _file_stores(self, split: Split) -> dict[str, CaptionStore]:
        return by_title(self.data.files(split), self.own_store)

    def _held_out_stores(self) -> dict[str, CaptionStore]:
        return {"held out": self._store(self.images.divided(held_out=True))}

    def _store(self, items: Sequence[CaptionedImage], *, most: int = 0) -> CaptionStore:
        def build(folder: Path) -> None:
            build_caption_store(
                folder,
                [item.image.name for item in items],
                [self._captions(item) for item in items],
                self.tokenizer,
                decode=lambda numbers: self.images.decoded([items[number] for number in numbers]),
                most=most,
                progress=lambda done: self.progress("tokenising", done),
            )

        made_of = [most, self.tokenizer.fingerprint, self.data.fit, *self.image_shape]
        folder = cached_folder(self._key("captions", made_of, self.images.content(items)), build)
        chosen = [items[number] for number in chosen_entries(folder)]
        images = self.images.decoded(chosen)
        store = CaptionStore(images, folder, [chosen[place].image.label for place in images.kept.tolist()])
        self.images.tell(*store.notes)
        return store

    # --- captions

    def _captions(self, item: CaptionedImage) -> list[str]:
        """Return the captions of an image, tidied; one that has no text is empty."""
        captions = built_in_captions(item.image, item.wordings) if item.image.built_in else item.captions
        return [self.tidied(caption) for caption in captions]

    def tidied(self, caption: str) -> str:
        """Return a caption as it is learnt from."""
        text = tidy(caption, self.data.lowercase)
        return text if self.data.punctuation else without_punctuation(text)

    def _train_texts(self) -> Iterator[str]:
        return (text for item in self.images.train for text in self._captions(item) if text)

    # --- keys of the cache

    @property
    def fingerprint(self) -> str:
        """What the training images and their captions are made of: a resumed run must find the same."""
        return self._key("data", [self.data.max_length, self.data.fit, *self.image_shape])

    def refuse_learnt_val(self, trained_on: str | None) -> None:
        """Refuse nothing: images are held out by name, and a copy of them, made at another time, is the same data."""

    def _content_of_train(self) -> object:
        return self.images.content(self.images.train)
