"""The scores of captions that a run wrote: beside them what needs no captioner, and objects where scenes were drawn.

captions, store → CIDEr-D and others, with and without punctuation → floors from the training data → Scores for a report
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.cache import cache_key, cached_folder
from jumok.data.builtin.relations import parse
from jumok.data.images.caption_store import CaptionStore
from jumok.errors import DataError
from jumok.evaluation.caption_floors import floors
from jumok.evaluation.captions import score_captions
from jumok.evaluation.scenes import SceneScores, score_scenes
from jumok.tasks.base import Scores
from jumok.tasks.image_captioning import ImageCaptioning

# N images · h, w, E rows, columns and features of a map

MOST_TRAIN = 10_000  # training images, evenly spread, whose captions the floors are made of
THUMBNAIL = 8  # pixels per side of an image that is compared with others where there is no frozen encoder
ROWS = 512  # maps that are pooled at once


def score_written(task: ImageCaptioning, store: CaptionStore, written: Sequence[str]) -> Scores:
    """Return the scores of captions written for all images of a store."""
    references = all_texts(store)
    scores = score_captions(written, references).to_dict()
    scores["with_punctuation"] = score_captions(written, references, punctuation=True).to_dict()
    scenes = scene_scores(written, references)
    if scenes is not None:
        scores["objects"] = scenes.to_dict()
    return scores | floors_beside(task, store)


def all_texts(store: CaptionStore) -> list[list[str]]:
    """Return the captions of every image of a store."""
    return [store.texts(number) for number in range(len(store))]


def scene_scores(written: Sequence[str], references: Sequence[Sequence[str]]) -> SceneScores | None:
    """Return the scores of captions as sets of objects; None where references are not in the grammar of `shapes`."""
    drawn = [objects for texts in references if (objects := parse(texts[0])) is not None]
    if not drawn or len(drawn) < len(references):
        return None
    return score_scenes([parse(text) for text in written], drawn)


def floors_beside(task: ImageCaptioning, store: CaptionStore) -> Scores:
    """Return the scores that need no captioner, kept in the cache; without training data those of humans, and why."""
    references = all_texts(store)
    try:
        train = task.corpora.train
    except DataError as error:
        return {"floors": floors(references, []), "floors_note": f"fewer floors: {str(error).splitlines()[0]}"}

    def build(folder: Path) -> None:
        numbers = np.arange(len(train))
        if len(train) > MOST_TRAIN:
            numbers = np.arange(MOST_TRAIN) * len(train) // MOST_TRAIN
        found = floors(
            references,
            [train.texts(number) for number in numbers.tolist()],
            features=vectors(task, store, np.arange(len(store))),
            train_features=vectors(task, train, numbers),
            progress=lambda done: task.corpora.progress("comparing with training images", done),
        )
        (folder / "floors.json").write_text(json.dumps(found), encoding="utf-8")

    stores = [found.folder.name for side in (store, train) for found in (side, side.images)]
    key = cache_key("caption-floors", stores, task.frozen.hash if task.frozen else "", MOST_TRAIN)
    text = (cached_folder(key, build) / "floors.json").read_text(encoding="utf-8")
    return {"floors": json.loads(text)}


def vectors(task: ImageCaptioning, store: CaptionStore, numbers: NDArray[Any]) -> NDArray[np.float32]:
    """Return a vector for each of some images, to compare them by: the mean of a frozen encoder's map, or few pixels."""
    maps = task.maps_of(store)
    found = []
    for first in range(0, len(numbers), ROWS):
        some = numbers[first : first + ROWS]
        if maps is not None:
            found.append(np.asarray(maps[some], dtype=np.float32).mean(axis=(1, 2)))  # (N, E)
        else:
            pixels = np.asarray(store.images.pixels[some], dtype=np.float32)  # (N, S, S, C)
            places = np.arange(THUMBNAIL) * pixels.shape[1] // THUMBNAIL
            small = pixels[:, places][:, :, places].reshape(len(some), -1)
            found.append(small - small.mean(axis=1, keepdims=True))
    return np.concatenate(found)
