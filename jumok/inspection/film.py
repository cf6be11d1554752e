"""What a film of a run consists of: where its model looked in the same few sentences at one step of training.

Shot  one probe at one step: its maps, and what the model answered
Frame  all shots of one step; lens/film.py keeps frames on disk and reads them back
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jumok.inspection.data_url import from_data_url
from jumok.inspection.pointing import distance_between_queries
from jumok.inspection.record import AttentionMap, AttentionRecord


@dataclass(frozen=True)
class Shot:
    """One probe at one step. The maps follow the reference, so that their words are the same at every step."""

    source: str
    reference: str
    translation: str  # the model's own answer at that step
    maps: tuple[AttentionMap, ...]  # (H, Q, K), all with the same labels
    source_words: tuple[int, ...] = ()  # the word of each key, its end included
    reference_words: tuple[int, ...] = ()  # the word of each query
    sides: tuple[str, str] = ("reference", "source")  # what queries and keys are
    answer_is: str = "translation"  # or a filling, a continuation, a class, a caption, a forecast, a drawing
    image: str = ""  # what a captioner described or a drawer was shown, as a data URL
    drawing: str = ""  # a drawer's own at that step, as a data URL

    @property
    def record(self) -> AttentionRecord:
        """The maps as a record."""
        return AttentionRecord(list(self.maps))

    @property
    def pixels(self) -> np.ndarray[Any, Any]:
        """The image of the probe, (height, width, channels) or (height, width)."""
        return from_data_url(self.image)

    @property
    def drawn(self) -> np.ndarray[Any, Any]:
        """The drawing, (height, width, channels)."""
        pixels = from_data_url(self.drawing)
        return pixels if pixels.ndim == 3 else pixels[..., None]

    @property
    def _looks(self) -> tuple[AttentionMap, ...]:
        """The maps with rows that sum to 1, which those of words that cells look at do not."""
        if not self.drawing:
            return self.maps
        return tuple(replace(one, weights=one.weights / one.weights.sum(dim=-1, keepdim=True)) for one in self.maps)

    @property
    def entropy(self) -> float:
        """The mean entropy of all heads, in nats."""
        return _mean([head.entropy for found in self._looks for head in found.summaries()])

    @property
    def on_end(self) -> float:
        """The mean weight on the end token over all heads."""
        return _mean([head.on_end for found in self.maps for head in found.summaries()])

    @property
    def apart(self) -> float:
        """How far the maps of two words are apart, a mean over pairs and heads: 0 alike, 1 apart."""
        return _mean([float(head) for found in self._looks for head in distance_between_queries(found.weights.float())])

    @property
    def subject(self) -> tuple[object, ...]:
        """What is the same at every step: the texts, and the layers with their labels."""
        maps = tuple((found.path, found.kind, found.queries, found.keys) for found in self.maps)
        return self.source, self.reference, maps


@dataclass(frozen=True)
class Frame:
    """All shots of one step."""

    step: int
    shots: tuple[Shot, ...]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
