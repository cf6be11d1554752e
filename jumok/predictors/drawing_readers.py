"""Who says what is in a drawing without knowing the prompt: a captioner, or an image classifier, trained on its own.

drawings (B, S, S, C) → as the reader takes images → texts: captions or classes; texts, prompts → scores of the round trip
drawings → features (B, D), for the Fréchet distance
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from jumok.config import CaptionData, ImageData
from jumok.data.builtin.relations import Described, parse, parse_brief, withheld_orders, withheld_pairs
from jumok.data.images.decode import Pixels
from jumok.errors import ConfigError
from jumok.evaluation.round_trip import SceneRoundTrip, Withheld, class_of, score_classes, score_round_trip
from jumok.nn.threads import one_thread_for
from jumok.predictors.base import Advance, AnyPredictor, ignore_progress
from jumok.predictors.captioner import CaptionWriter
from jumok.predictors.image_classifier import ImageClassifier
from jumok.predictors.images import read_image
from jumok.tasks.base import Scores

# B drawings · S side · C channels · D width of features

ROWS = 64  # images whose features are computed at once


class DrawingReader(ABC):
    """A trained model that says what it sees in drawings."""

    data: CaptionData | ImageData  # how its images are made

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def refuse(self, prompts: Sequence[str]) -> None:
        """Refuse prompts that what it reads cannot be compared with."""

    @abstractmethod
    def read(self, pixels: Pixels, progress: Advance = ignore_progress) -> list[str]:
        """Return what it says of images (B, S, S, C) of any size."""

    @abstractmethod
    def score(self, read: Sequence[str], prompts: Sequence[str], *, withheld: bool = False) -> Scores:
        """Return how much of the prompts was read; withheld: training left out what data.withhold names."""

    @abstractmethod
    def each(self, read: Sequence[str], prompts: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of each drawing alone, per cent."""

    def features(self, pixels: Pixels) -> NDArray[np.float32]:
        """Return what it sees in images (B, S, S, C) as one vector each, (B, D): the mean over places."""
        fitted = self.fitted(pixels)
        found = [self._features(fitted[first : first + ROWS]) for first in range(0, len(fitted), ROWS)]
        return np.concatenate(found)

    @abstractmethod
    def _features(self, pixels: Pixels) -> NDArray[np.float32]:
        """Return the vectors (B, D) of images that fit."""

    def fitted(self, pixels: Pixels) -> Pixels:
        """Return images (B, S, S, C) in the reader's size and channels."""
        if pixels.shape[1:] == (self.data.size, self.data.size, self.data.channels):
            return pixels
        grey = pixels.shape[3] == 1
        images = (Image.fromarray(image[..., 0] if grey else image) for image in pixels)
        return np.stack([read_image(image, self.data) for image in images])


class SceneReader(DrawingReader):
    """A captioner that describes the objects of drawn scenes."""

    def __init__(self, captioner: CaptionWriter) -> None:
        super().__init__(captioner.run.folder.name)
        self.captioner, self.data = captioner, captioner.task.data

    def refuse(self, prompts: Sequence[str]) -> None:
        """Refuse a prompt that is no sentence of the relations grammar."""
        for prompt in prompts:
            if not parse_brief(prompt):
                raise ConfigError(
                    f"{self.name} is a captioner, which reads drawings of the built-in scenes (shapes, captions = "
                    f"'relations'), and '{prompt}' describes none; --read an image classifier whose classes the prompts name"
                )

    def read(self, pixels: Pixels, progress: Advance = ignore_progress) -> list[str]:
        """Return the caption of each image."""
        found = self.captioner.answer_pixels(self.fitted(pixels), options=self.captioner.options, progress=progress)
        return [answers[0].text for answers in found]

    def score(self, read: Sequence[str], prompts: Sequence[str], *, withheld: bool = False) -> Scores:
        """Return the shares of objects, counts and orders that were read as the prompts have them."""
        return self._scenes(read, prompts, withheld=withheld).to_dict()

    def each(self, read: Sequence[str], prompts: Sequence[str]) -> NDArray[np.float64]:
        """Return the share of each drawing's traits that were read as its prompt has them."""
        return np.array(self._scenes(read, prompts).traits_each)

    def _scenes(self, read: Sequence[str], prompts: Sequence[str], *, withheld: bool = False) -> SceneRoundTrip:
        wanted = [_objects(prompt) for prompt in prompts]
        special = [Withheld(withheld_pairs(objects), withheld_orders(objects)) for objects in wanted]
        return score_round_trip([parse(text) for text in read], wanted, special if withheld else None)

    @torch.inference_mode()
    def _features(self, pixels: Pixels) -> NDArray[np.float32]:
        captioner = self.captioner
        with one_thread_for(len(pixels), captioner.model):
            batch = captioner.task.collate_inputs(captioner.model)(captioner.task.look_at(pixels))
            states: NDArray[np.float32] = captioner.model.encode(batch).states.mean(dim=1).float().cpu().numpy()
        return states


class ClassReader(DrawingReader):
    """An image classifier; a prompt is the name of a class."""

    def __init__(self, classifier: ImageClassifier) -> None:
        super().__init__(classifier.run.folder.name)
        self.classifier, self.data = classifier, classifier.task.data

    def refuse(self, prompts: Sequence[str]) -> None:
        """Refuse a prompt that names no class."""
        for prompt in prompts:
            if class_of(prompt, self.classifier.task.labels) is None:
                known = ", ".join(self.classifier.task.labels[:10])
                raise ConfigError(
                    f"{self.name} knows the classes {known}, and '{prompt}' names none of them, or several; --read a run that "
                    "was trained on the prompts' classes"
                )

    @torch.inference_mode()
    def read(self, pixels: Pixels, progress: Advance = ignore_progress) -> list[str]:
        """Return the likeliest class of each image."""
        task, model, found = self.classifier.task, self.classifier.model, []
        fitted = self.fitted(pixels)
        for first in range(0, len(fitted), ROWS):
            some = fitted[first : first + ROWS]
            with one_thread_for(len(some), model):
                found += [task.labels[number] for number in task.read(model, some).argmax(dim=1).tolist()]
            progress(len(some))
        return found

    def score(self, read: Sequence[str], prompts: Sequence[str], *, withheld: bool = False) -> Scores:
        """Return the share that was read as the class of its prompt."""
        return score_classes(read, self._classes(prompts))

    def each(self, read: Sequence[str], prompts: Sequence[str]) -> NDArray[np.float64]:
        """Return 100 for each drawing that was read as the class of its prompt, else 0."""
        return np.array([100.0 * (one == other) for one, other in zip(read, self._classes(prompts), strict=True)])

    def _classes(self, prompts: Sequence[str]) -> list[str]:
        return [class_of(prompt, self.classifier.task.labels) or "" for prompt in prompts]

    @torch.inference_mode()
    def _features(self, pixels: Pixels) -> NDArray[np.float32]:
        task, model = self.classifier.task, self.classifier.model
        with one_thread_for(len(pixels), model):
            batch = task.batch(pixels).to(model.device)
            found: NDArray[np.float32] = model.feature_map(batch.images).mean(dim=(2, 3)).float().cpu().numpy()
        return found


def reader_of(predictor: AnyPredictor) -> DrawingReader:
    """Return the reader that a trained model is; one that does not read images is refused."""
    if isinstance(predictor, CaptionWriter):
        return SceneReader(predictor)
    if isinstance(predictor, ImageClassifier):
        return ClassReader(predictor)
    raise ConfigError(
        f"{predictor.run.folder} is a run of {predictor.run.recipe.task}; drawings are read by a captioner or an image "
        "classifier: --read one"
    )


def _objects(prompt: str) -> list[Described]:
    found = parse_brief(prompt)
    assert found is not None, "prompts were checked"
    return found
