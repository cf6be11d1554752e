"""A trained drawer: draw what a text says, complete an image, and score its codes.

text → ids → guided search → codes (h, w) → image codes decode → pixels → Drawn
"""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from jumok.config import CaptionFiles, DecodingConfig
from jumok.data.images.caption_store import CaptionStore
from jumok.data.images.decode import BrokenImageError, Pixels, open_image, to_mode
from jumok.data.text.tokenizer import SPACE, UNKNOWN
from jumok.errors import ConfigError, DataError, counted
from jumok.nn.model import DrawingDecoder
from jumok.nn.threads import one_thread, one_thread_for
from jumok.predictors.base import Advance, ModelPredictor, ignore_progress
from jumok.predictors.drawing_explaining import explain
from jumok.predictors.drawing_explanation import DrawingExplanation
from jumok.predictors.drawn import Drawings, Drawn
from jumok.predictors.explaining import Look
from jumok.predictors.images import GivenImage, read_image
from jumok.tasks.base import Scores
from jumok.tasks.image_tokens import decode, encode
from jumok.tasks.text_to_image import Ids, TextToImage

# n drawings · h, w rows and columns of codes · S pixels per side · C channels

MOST_NAMED = 30  # known words that are told where some are not known
TOLD = ("guidance", "temperature")  # options that drawings keep, and these where they are set:
TOLD_IF_SET = {"top_k": 0, "top_p": 1.0}
Watch = Callable[[int, int, NDArray[np.int64]], None]  # a text, the first of its drawings, their codes (n, rows, w)


class Drawer(ModelPredictor[TextToImage, DrawingDecoder[Any], CaptionStore]):
    """Draw what texts say with a run's weights."""

    verb = "draw"
    explains = "drawing"

    @property
    def options(self) -> DecodingConfig:
        """The recipe's own way to decode, but at random: the likeliest drawing of all is a blank one."""
        return super().options.model_copy(update={"sample": True, "n_best": 1})

    @property
    def size(self) -> int:
        """Pixels per side of its drawings."""
        return self.task.codes.size

    def draw(
        self,
        texts: str | Sequence[str],
        *,
        samples: int = 1,
        guidance: float | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        options: DecodingConfig | None = None,
        complete: tuple[GivenImage, int] | None = None,
        progress: Advance = ignore_progress,
        watch: Watch | None = None,
    ) -> Drawings:
        """Return drawings of a text, or of several: samples of each, those of the first text first.

        Sample 1 has the seed of the options, every further one a seed more; that seed draws it again alone. complete is
        an image and how many of its rows of codes, from the top, each drawing begins with. progress is told the rows of
        codes that are done; watch gets the codes of drawings whenever they have grown by a row, and `begun` shows them.
        """
        if samples < 1:
            raise ConfigError(f"samples = {samples}: there must be 1 at least")
        changes = {"guidance": guidance, "temperature": temperature, "seed": seed, "sample": True}
        options = (options or self.options).changed(changes)
        wanted = [texts] if isinstance(texts, str) else list(texts)
        ids = self.read(wanted)
        given = [] if complete is None else self.first_codes(*complete)
        found: list[list[Drawn]] = [[] for _ in wanted]
        for first in range(0, samples, options.batch_size):
            some = min(options.batch_size, samples - first)
            part = options.changed({"n_best": some, "seed": options.seed + first})
            for place, drawn in enumerate(self._draw(wanted, ids, given, part, first, progress, watch)):
                found[place] += drawn
        kept = [*TOLD, *(name for name, off in TOLD_IF_SET.items() if getattr(options, name) != off)]
        told = {name: getattr(options, name) for name in kept}
        return Drawings([one for own in found for one in own], run=str(self.run.folder), options=told)

    def _draw(
        self,
        texts: Sequence[str],
        ids: Sequence[Ids],
        given: list[int],
        options: DecodingConfig,
        first: int,
        progress: Advance,
        watch: Watch | None,
    ) -> list[list[Drawn]]:
        """Return options.n_best drawings of each text; first is how many each has already."""

        def grown(number: int, codes: NDArray[np.int64]) -> None:
            if watch is not None:
                watch(number, first, codes)

        rows = min(len(texts) * options.n_best, options.batch_size)
        with one_thread_for(rows if options.guidance == 1.0 else 2 * rows, self.model), self.answering():
            found = self.task.draw(
                self.model,
                ids,
                options=options,
                given=[given] * len(texts) if given else None,
                seeds=[options.seed] * len(texts),
                progress=progress,
                watch=None if watch is None else grown,
            )
            pixels = iter(self.task.pixels([drawing for own in found for drawing in own]))
        given_rows = len(given) // self.model.grid[1]
        return [
            [
                Drawn(
                    text,
                    next(pixels),
                    options.seed + sample,
                    codes=drawing.codes,
                    log_probability=drawing.log_probability,
                    given_rows=given_rows,
                )
                for sample, drawing in enumerate(own)
            ]
            for text, own in zip(texts, found, strict=True)
        ]

    def begun(self, codes: NDArray[np.int64]) -> list[Pixels]:
        """Return the upper parts (h', S, C) of images of which some rows of codes (n, rows, w) are known."""
        rows, columns = self.model.grid
        known = codes.shape[1]
        if not known:
            return [np.zeros((0, self.size, self.task.codes.channels), dtype=np.uint8) for _ in codes]
        # A decoder looks below, too: what is not known yet is taken to go on as the last row.
        whole = np.concatenate([codes, codes[:, -1:].repeat(rows - known, axis=1)], axis=1)
        pixels = decode(self.task.codes, whole.reshape(len(codes), rows * columns))
        return list(pixels[:, : known * self.size // rows])

    # --- looking inside

    @one_thread()
    def explain(
        self, text: str, *, options: DecodingConfig | None = None, image: GivenImage | None = None
    ) -> DrawingExplanation:
        """Return a drawing of a text with the words and earlier cells that each of its cells looked at.

        It is drawn at full speed; then one pass over its codes, with the text, is observed. image is looked at under the
        text instead of a drawing.
        """
        (ids,) = self.read([text])
        pixels = None if image is None else read_image(image, self.task.data)
        return explain(self.model, self.task, text, ids, options=options or self.options, image=pixels)

    def look_at(self, text: str, asked: Look, *, image: Path | None = None) -> DrawingExplanation:
        """Return what `jumok look` shows of a text, drawn, or of an image under it."""
        asked.refuse(self.run.folder, "draws", decoding={"seed", "temperature", "top_k", "top_p", "guidance"})
        if image is not None and asked.decoding:
            option = next(iter(asked.decoding)).replace("_", "-")
            raise ConfigError(f"--{option} is for drawing, and --image {image} is not drawn; leave one of them out")
        if image is not None and not image.is_file():
            raise DataError(f"--image {image}: there is no such file; name an image")
        return self.explain(text, options=self.options.changed(asked.decoding), image=image)

    # --- what is given

    def read(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of texts; one that is empty, too long or has words that the model does not know is refused."""
        found = []
        for number, text in enumerate(texts, 1):
            try:
                found.append(self._read(text))
            except ConfigError as error:
                raise error if len(texts) == 1 else ConfigError(f"text {number}: {error}") from None
        return found

    def _read(self, text: str) -> Ids:
        if not text.strip():
            raise ConfigError("an empty text says nothing to draw; write what is to be seen")
        (ids,) = self.task.ids([text])
        if UNKNOWN in ids:
            (lowered,) = self.task.ids([text.lower()])  # a capital at the start of a sentence is no other word
            if UNKNOWN in lowered:
                raise self._unknown(text)
            ids = lowered
        longest = self.task.model_config.longest_text
        if len(ids) > longest:
            raise ConfigError(
                f"the text has {len(ids)} tokens, and {self.run.folder} draws texts of {longest} at most; shorten it"
            )
        return ids

    def _unknown(self, text: str) -> ConfigError:
        """Return the refusal of a text some of whose words are not known."""
        spoken = list(dict.fromkeys(text.split()))
        unknown = [
            word.strip(".,;:!?") or word
            for word in spoken
            if all(UNKNOWN in ids for ids in self.task.ids([word, word.lower()]))
        ]
        named = ", ".join(f"'{word}'" for word in unknown) or f"'{text}'"
        known = self._words()
        if not known:
            return ConfigError(f"{self.run.folder} has never read {named}; use words of its training data")
        near = [word for one in unknown for word in get_close_matches(one.lower(), known, n=2, cutoff=0.6)]
        some = list(dict.fromkeys([*near, *known]))[:MOST_NAMED]
        more = ", …" if len(known) > len(some) else ""
        return ConfigError(
            f"{self.run.folder} has never read {named}; it knows {counted(len(known), 'word')}: {', '.join(some)}{more}"
        )

    def _words(self) -> list[str]:
        """Return the words that the model knows, the commonest first; none where its tokens are no words."""
        tokenizer = self.task.tokenizer
        if tokenizer.kind != "word":
            return []
        labels = tokenizer.labels(range(tokenizer.reserved, len(tokenizer)))
        words = dict.fromkeys(label.removeprefix(SPACE) for label in labels)
        return [word for word in words if any(map(str.isalnum, word))]

    def first_codes(self, image: GivenImage, rows: int) -> list[int]:
        """Return the codes of the first rows of an image, which must be of the size that is drawn."""
        codes, name = self.task.codes, "the image" if isinstance(image, Image.Image) else str(image)
        height, width = self.model.grid
        if not 0 < rows < height:
            raise ConfigError(
                f"rows = {rows}: an image is {height} rows of codes; give 1 to {height - 1} of them, and the others are drawn"
            )
        try:
            opened = image if isinstance(image, Image.Image) else open_image(Path(image))
            told = to_mode(opened, codes.channels)
        except BrokenImageError as error:
            raise DataError(f"{name}: {error}.") from None
        if opened.size != (codes.size, codes.size):
            raise DataError(
                f"{name} has {opened.width} × {opened.height} pixels, and {self.run.folder} draws {codes.size} × {codes.size}; "
                "make it as large first"
            )
        pixels = np.asarray(told, dtype=np.uint8)
        found = encode(codes, pixels.reshape(1, codes.size, codes.size, codes.channels))
        return [int(code) for code in found[0, : rows * width]]

    # --- scores

    def own_data(self, source: Path, target: Path | None = None) -> CaptionStore:
        """Return the captions of a file of one's own; target is where its images are."""
        images = "" if target is None else str(target.absolute())
        return self.task.corpora.own_store(CaptionFiles(file=str(source.absolute()), images=images))

    @torch.inference_mode()
    def score(self, store: CaptionStore, options: DecodingConfig, progress: Advance) -> Scores:
        """Return what a code and a text's token cost the model, of a store's images and captions."""
        scores = self.task.metrics(self.model, store)
        progress(len(store))
        return {
            **scores,
            "images": len(store),
            "captions": len(store.captions),
            "too_long": self.task.too_long(store),
            "broken": store.images.broken,
        }
