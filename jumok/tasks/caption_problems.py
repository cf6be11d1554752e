"""What is wrong with images and captions: copies, captions that say nothing of their image, another language, losses.

CaptionStore of train, those of val → problems, for `jumok check`
"""

from collections import Counter

import numpy as np

from jumok.data.images.caption_store import CaptionStore
from jumok.tasks.held_out import Column, image_problems, language_problem
from jumok.tasks.survey import Problem

SAID = 0.2  # share of images that one caption may describe
DOUBLED = 0.01  # share of training images that may be there twice …
FEW = 2  # … or their number, whichever is more
LEFT_OUT = 0.02  # share of captions that may be empty or too long
MOST_BYTES = 1 << 30  # of images that are compared


def caption_problems(train: CaptionStore, held_out: dict[str, CaptionStore]) -> list[Problem]:
    """Return what is wrong with training data and held-out data."""
    problems = _left_out(train) + _doubled(train) + _said_of_many(train)
    problems += image_problems(train.images, {label: store.images for label, store in held_out.items()})
    for label, store in held_out.items():
        problems += language_problem(label, _captions(store), [_captions(train)], scripts=True)
    return problems


def _captions(store: CaptionStore) -> Column:
    """Return the captions in a drawn order: each second one may be in another language, and some are compared."""
    order = np.random.default_rng(1).permutation(len(store.captions))
    return Column("caption", len(order), lambda place: store.captions.text(int(order[place])))


def _left_out(train: CaptionStore) -> list[Problem]:
    empty, too_long = train.counts["empty"], train.counts["too_long"]
    dropped = empty + too_long
    read = dropped + len(train.captions)
    if dropped <= LEFT_OUT * read:
        return []
    what = f"{dropped:,} of {read:,} training captions are left out: {empty:,} are empty, {too_long:,} too long"
    return [(what, "look at data.max_length, and at the column of captions")]


def _doubled(train: CaptionStore) -> list[Problem]:
    """Return a problem where images are there twice, pixel by pixel, under two names."""
    pixels, names = train.images.pixels, train.images.names
    first: dict[int, int] = {}
    doubled = []
    for number in range(min(len(train), max(MOST_BYTES // max(pixels[:1].nbytes, 1), 1))):
        earlier = first.setdefault(hash(pixels[number].tobytes()), number)
        if earlier != number:
            doubled.append((earlier, number))
    if len(doubled) <= max(DOUBLED * len(train), FEW):
        return []
    one, other = doubled[0]
    what = (
        f"{len(doubled):,} of {len(train):,} training images are there twice, under two names "
        f"({names[one]} and {names[other]})"
    )
    return [(what, "give all captions of an image to one name; or one copy may be held out, and the other learnt")]


def _said_of_many(train: CaptionStore) -> list[Problem]:
    """Return a problem where one caption is said of very many images: a model will learn to say it of all."""
    said = Counter(text for number in range(len(train)) for text in set(train.texts(number)))
    ((text, count),) = said.most_common(1)
    if count <= max(SAID * len(train), FEW):
        return []
    what = (
        f"the caption {text[:60]!r} is said of {count:,} of {len(train):,} training images: it will be said of others"
    )
    return [(what, "is it the right column? Take out captions that say nothing of their image")]
