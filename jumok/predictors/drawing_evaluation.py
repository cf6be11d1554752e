"""How good drawings are: what a reader finds in them, whether they are copied, how far they lie from real images.

prompts of a store, evenly spread → one drawing each → beside the prompts' real images and what their codes make of these:
    round trip (a reader's scores), nearest training images and their groups, Fréchet distance on the reader's features
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.config import DecodingConfig
from jumok.data.images.caption_store import CaptionStore
from jumok.data.images.decode import Pixels
from jumok.errors import ConfigError, DataError
from jumok.evaluation.frechet import frechet_distance
from jumok.evaluation.nearest_images import Nearest, TrainingImages, nearer_than
from jumok.evaluation.round_trip import floor_order
from jumok.nn.threads import one_thread_for
from jumok.predictors.base import Advance, ignore_progress
from jumok.predictors.drawing_readers import DrawingReader
from jumok.tasks.base import Scores
from jumok.tasks.image_tokens import decode
from jumok.tasks.text_to_image import Draws, TextToImage

# N images of a store · n drawings · S side · C channels

DRAWINGS = 200  # of each store, where nobody says how many
AT_ONCE = 32  # prompts drawn side by side
MOST_OTHERS = 1000  # real images that drawings are compared with by the Fréchet distance
FEWEST = 10  # images, below which a distance of sets says nothing
NO_READER = (
    "nobody reads the drawings: --read RUN names a captioner or an image classifier of yours that says what it sees"
)
NO_TRAIN = "the training images are not here, so nobody looked for copies of them"
NO_GROUPS = "the training images have no groups, so drawings have no score by group: set group in train, too"


@dataclass(frozen=True)
class Prompts:
    """Some prompts of a store, and their images."""

    numbers: NDArray[np.int64]  # (n,) of the images in the store
    texts: list[str]

    @classmethod
    def spread(cls, store: CaptionStore, count: int, longest: int) -> "Prompts":
        """Return the first caption of so many images, evenly spread, or of all; none of more tokens than longest."""
        if count < 1:
            raise ConfigError(f"--drawings {count}: must be at least 1")
        fitting = np.flatnonzero(store.captions.lengths[store.first[:-1]] <= longest)
        if not len(fitting):
            raise DataError(
                f"no caption can be drawn: all have more than {longest} tokens, the longest that was learnt"
            )
        numbers = fitting[np.arange(min(count, len(fitting))) * len(fitting) // min(count, len(fitting))]
        return cls(numbers, [store.texts(number)[0] for number in numbers.tolist()])


def score_drawings(
    task: TextToImage,
    model: Draws,
    store: CaptionStore,
    *,
    options: DecodingConfig,
    reader: DrawingReader | None = None,
    train: TrainingImages | None = None,
    drawings: int = DRAWINGS,
    progress: Advance = ignore_progress,
) -> Scores:
    """Return loss and bits of a store's codes, and the scores of one drawing for each of some prompts."""
    prompts = Prompts.spread(store, drawings, task.model_config.longest_text)
    if reader is not None:
        reader.refuse(prompts.texts)  # before time is spent on drawing
    chosen = options.changed({"sample": True, "n_best": 1})
    drawn = draw_prompts(task, model, prompts.texts, options=chosen, progress=progress)
    return {
        **task.metrics(model, store),
        "images": len(store),
        "captions": len(store.captions),
        "too_long": task.too_long(store),
        "broken": store.images.broken,
        "decoding": chosen.model_dump(),
        **score_drawn(task, store, prompts, drawn, reader=reader, train=train),
    }


def draw_prompts(
    task: TextToImage,
    model: Draws,
    texts: Sequence[str],
    *,
    options: DecodingConfig,
    progress: Advance = ignore_progress,
) -> Pixels:
    """Return one drawing of each text, (n, S, S, C), each by a seed of its own: two runs draw alike by the same ones."""
    ids, found = task.ids(texts), []
    for first in range(0, len(ids), AT_ONCE):
        some = ids[first : first + AT_ONCE]
        changed = options.changed({"seed": options.seed + first})
        with one_thread_for(len(some), model):
            drawn = task.draw(model, some, options=changed)
        found.append(task.pixels([drawing for (drawing,) in drawn]))
        progress(len(some))
    return np.concatenate(found)


def score_drawn(
    task: TextToImage,
    store: CaptionStore,
    prompts: Prompts,
    drawn: Pixels,
    *,
    reader: DrawingReader | None = None,
    train: TrainingImages | None = None,
) -> Scores:
    """Return the scores of drawings (n, S, S, C) of some prompts, beside those of the prompts' own images.

    Without a reader, or without training images, a note says what is not known; groups are scored where images have some.
    """
    real = np.asarray(store.images.pixels[prompts.numbers])
    sets = {"drawings": drawn, "real images": real, "reconstructions": recoded(task, store, prompts.numbers)}
    scores: Scores = {"drawings": len(drawn), "copied": {"note": NO_TRAIN}}
    if train is not None:
        nearest = {name: train.nearest(pixels) for name, pixels in sets.items()}
        groups = grouped(train, nearest, [store.groups[number] for number in prompts.numbers.tolist()])
        scores |= {"copied": copied(train, nearest)} | ({"groups": groups} if groups else {})
    if reader is None:
        return scores | {"reader_note": NO_READER}
    return scores | {
        "reader": reader.name,
        "read": read_all(reader, sets, prompts.texts, withheld=task.data.withhold),
        "frechet": frechet(reader, store, sets, prompts.numbers),
    }


def recoded(task: TextToImage, store: CaptionStore, numbers: NDArray[np.int64]) -> Pixels:
    """Return what the image codes make of some images of a store, (n, S, S, C): no drawing can be better."""
    return decode(task.codes, task.tokens_of(store)[numbers])


def read_all(
    reader: DrawingReader, sets: dict[str, Pixels], prompts: Sequence[str], *, withheld: bool = False
) -> dict[str, Scores]:
    """Return the reader's scores of each set of images; drawings read for other prompts are the floor."""
    read = {name: reader.read(pixels) for name, pixels in sets.items()}
    found = {name: reader.score(texts, prompts, withheld=withheld) for name, texts in read.items()}
    others = [read["drawings"][number] for number in floor_order(len(prompts))]
    return found | {"drawings of other prompts": reader.score(others, prompts, withheld=withheld)}


def frechet(reader: DrawingReader, store: CaptionStore, sets: dict[str, Pixels], numbers: NDArray[np.int64]) -> Scores:
    """Return the Fréchet distance of each set from the store's other images, on the reader's features."""
    others = np.setdiff1d(np.arange(len(store)), numbers)
    others = others[np.unique(np.linspace(0, len(others) - 1, min(MOST_OTHERS, len(others))).astype(int))]
    if min(len(numbers), len(others)) < FEWEST:
        return {}
    wanted = reader.features(np.asarray(store.images.pixels[others]))
    distances = {name: frechet_distance(reader.features(pixels), wanted) for name, pixels in sets.items()}
    return {"features": wanted.shape[1], "images": len(numbers), "others": len(others), "distances": distances}


def training_images(task: TextToImage) -> TrainingImages | None:
    """Return a run's training images, to look for the nearest; None where their files are gone."""
    try:
        train = task.corpora.train
        return TrainingImages(train.images.pixels, train.groups)
    except DataError:
        return None


def copied(train: TrainingImages, nearest: Mapping[str, Nearest]) -> Scores:
    """Return how far the nearest training image is from the images of each set.

    Of drawings, also the share that is nearer than 99 % of the real images are, and of their reconstructions: codes smooth
    an image, and a smoother image is nearer to any other, so that these are the fairer yardstick.
    """
    distances = {name: found.distances for name, found in nearest.items()}
    return {
        "training_images": len(train.pixels),
        "median": {name: float(np.median(found)) for name, found in distances.items()},
        "least": {name: float(found.min()) for name, found in distances.items()},
        "nearer_than_real": nearer_than(distances["drawings"], distances["real images"]),
        "nearer_than_reconstructions": nearer_than(distances["drawings"], distances["reconstructions"]),
    }


def grouped(train: TrainingImages, nearest: Mapping[str, Nearest], groups: Sequence[str]) -> Scores:
    """Return how many images of each set have a nearest training image of their prompt's group, per cent.

    groups are those of the prompts, '' where one has none and does not count; all without: no scores. The floors: drawings
    of other prompts, and the commonest group of training for every prompt.
    """
    if not any(groups):
        return {}
    if not any(train.groups):
        return {"note": NO_GROUPS}
    wanted, of_train = np.array(groups), np.array(train.groups)
    found = {name: of_train[near.numbers] for name, near in nearest.items()}
    found["drawings of other prompts"] = found["drawings"][floor_order(len(wanted))]
    counts = Counter(filter(None, train.groups))
    commonest, _ = counts.most_common(1)[0]
    known = wanted != ""
    return {
        "groups": len(counts),
        "prompts": int(known.sum()),
        "right": {name: 100.0 * float((of_set == wanted)[known].mean()) for name, of_set in found.items()},
        "commonest": commonest,
        "commonest_right": 100.0 * float((wanted == commonest)[known].mean()),
    }
