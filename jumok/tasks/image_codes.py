"""Image codes: an image said in a small grid of numbers, and made of them again.

training   images → ImageBatch → ImageCoder.recode → difference from what came in (+ of what a critic sees in both)
answering  pixels → codes (h, w) → pixels
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from jumok.config import CaptionData, CodesModelConfig
from jumok.config.recipe import Recipe
from jumok.data.images.decode import Pixels
from jumok.data.images.image_only_corpora import ImageOnlyCorpora
from jumok.data.images.image_store import ImageStore
from jumok.errors import ConfigError
from jumok.evaluation.image_likeness import code_use, psnr, ssim
from jumok.nn.batch import ImageBatch
from jumok.nn.images import enlarged
from jumok.nn.model import ImageCoder, ImageReader, Recoded
from jumok.tasks.base import Direction, Scores, Task
from jumok.tasks.image_batches import PendingImages, PixelBatches, normalise
from jumok.tasks.image_tokens import to_pixels
from jumok.tasks.losses import Loss
from jumok.tasks.survey import Survey

# B batch · S side · C channels · h, w rows and columns of codes

BATCH_SIZE = 32  # images, where the recipe does not say
ROWS = 64  # images coded side by side in an evaluation
FIRST = 256  # images that a codebook starts from


class ImageCoding(Task[ImageCoder, ImageBatch, ImageStore]):
    """The task of saying images in codes."""

    Data = CaptionData
    Corpora = ImageOnlyCorpora
    unit = "images"
    scores: Mapping[str, Direction] = {
        "loss": "smaller",
        "psnr": "larger",
        "ssim": "larger",
        "used": "larger",
        "bits": "smaller",
    }
    corpora: ImageOnlyCorpora

    @property
    def data(self) -> CaptionData:
        """The recipe's [data]."""
        return self.corpora.data

    @property
    def size(self) -> str:
        """How much there is to learn from."""
        side, channels = self.corpora.image_shape
        colour = "colour" if channels == 3 else "grey"
        return f"{len(self.corpora.train):,} images of {side} × {side} pixels, {colour}"

    def notes(self) -> list[str]:
        """Return what a user should know of the data before a run, one line each."""
        _ = self.corpora.train  # what cannot be decoded is known then
        return list(self.corpora.notes)

    def complete(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the size and channels of the data, and how its pixels are normalised."""
        size, channels = self.corpora.image_shape
        full = recipe.with_sizes(image_size=size, channels=channels)
        train = self.corpora.train  # decoded now: what does not fit has been told
        mean, deviation = self.data.mean or train.mean, self.data.deviation or train.deviation
        for name, values in (("mean", mean), ("deviation", deviation)):
            if len(values) != channels:
                raise ConfigError(f"data.{name} has {len(values)} numbers for {channels} channels")
        known = {"size": size, "channels": channels, "mean": mean, "deviation": deviation}
        self.corpora.data = self.data.model_copy(update=known)
        self.recipe = replace(full, data=self.corpora.data)
        return self.recipe

    def initialise(self, model: ImageCoder) -> list[str]:
        """Let a codebook start from some training images; return what was done, one line each."""
        pixels = self.corpora.train.pixels
        step = max(len(pixels) // FIRST, 1)
        model.begin(self.images(pixels[::step][:FIRST]).to(model.device))
        return super().initialise(model)

    def images(self, pixels: Pixels) -> Tensor:
        """Return normalised images (B, C, S, S) of pixels (B, S, S, C)."""
        return torch.from_numpy(normalise(pixels, self.data.mean, self.data.deviation))

    def batches(self) -> PixelBatches:
        """Return the stream of training batches."""
        training = self.recipe.training
        return PixelBatches(
            self.corpora.train.pixels, self.data, batch_size=training.batch_size or BATCH_SIZE, seed=training.seed
        )

    def loss(self, model: ImageCoder, batch: ImageBatch, step: int) -> Loss:
        """Return the summed loss of a batch's images: the mean difference of pixels, and of what a critic sees."""
        return self._loss_of(model.recode(batch.images), batch.images)

    def _loss_of(self, found: Recoded, images: Tensor) -> Loss:
        """Return the summed loss of images (B, C, S, S) as their codes tell them."""
        config = self.recipe.model
        assert isinstance(config, CodesModelConfig)
        compare = F.l1_loss if config.loss == "l1" else F.mse_loss
        cells = found.codes[0].numel()
        pixels = compare(found.images, images) * len(images)
        total = pixels + found.loss / cells
        if config.perceptual:
            total = total + config.perceptual * self._seen_difference(found.images, images) * len(images)
        return Loss(total, len(images), {"pixels": pixels.detach()})

    def _seen_difference(self, images: Tensor, others: Tensor) -> Tensor:
        """Return the mean difference between what the critic sees in two batches of images (B, C, S, S)."""
        component = self.components["critic"]
        critic = component.model
        assert isinstance(critic, ImageReader)
        ours, theirs = (self._as_the_critic_sees(part) for part in (images, others))
        seen, wanted = critic.feature_map(ours), critic.feature_map(theirs.detach())
        return F.mse_loss(F.normalize(seen, dim=1), F.normalize(wanted, dim=1)) * seen.shape[1]

    def _as_the_critic_sees(self, images: Tensor) -> Tensor:
        """Return images (B, C, S, S) of this data's normalisation in the critic's."""
        component = self.components["critic"]
        mean, deviation, its_mean, its_deviation = (
            torch.tensor(values, device=images.device).view(-1, 1, 1)
            for values in (self.data.mean, self.data.deviation, component.mean, component.deviation)
        )
        return enlarged((images * deviation + mean - its_mean) / its_deviation, component.size)

    # --- scores

    @torch.inference_mode()
    def recoded(self, model: ImageCoder, pixels: Pixels) -> tuple[Pixels, Tensor]:
        """Return what the codes of pixels (B, S, S, C) tell, and these codes (B, h, w)."""
        found = model.recode(self.images(pixels).to(model.device))
        return self.pixels(found.images), found.codes.cpu()

    def pixels(self, images: Tensor) -> Pixels:
        """Return pixels (B, S, S, C) of normalised images (B, C, S, S)."""
        return to_pixels(images.float().cpu().numpy(), tuple(self.data.mean), tuple(self.data.deviation))

    @torch.inference_mode()
    def metrics(
        self, model: ImageCoder, *stores: ImageStore, progress: Callable[[int], None] = lambda done: None
    ) -> Scores:
        """Return the scores of stores: loss, PSNR and SSIM as means over images; use and bits of all their codes."""
        noises, likenesses, codes, total, count = [], [], [], 0.0, 0
        for store in stores:
            for first in range(0, len(store), ROWS):
                pixels = store.pixels[first : first + ROWS]
                images = self.images(pixels).to(model.device)
                found = model.recode(images)
                seen = self.pixels(found.images)
                noises.append(psnr(pixels, seen))
                likenesses.append(ssim(pixels, seen))
                codes.append(found.codes.cpu().numpy().ravel())
                loss = self._loss_of(found, images)
                total, count = total + float(loss.total), count + loss.count
                progress(len(pixels))
        used, bits = code_use(np.concatenate(codes), model.codes)
        return {
            "loss": total / max(count, 1),
            "psnr": float(np.concatenate(noises).mean()),
            "ssim": float(np.concatenate(likenesses).mean()),
            "used": used,
            "bits": bits,
        }

    def evaluate(self, model: ImageCoder) -> Scores:
        """Return the val scores that are taken during training."""
        return self.metrics(model, *self.monitored())

    def survey(self) -> Survey[PendingImages]:
        """Return the data at a glance, for `check`."""
        store, held_out, batches = self.corpora.train, self.open_split("val"), self.batches()
        side = self.corpora.image_shape[0]
        return Survey(
            unit="images",
            largest_batch=batches.take(),
            largest=(batches.batch_size, side, side),
            batches_per_epoch=batches.batches_per_epoch,
            tokens_per_epoch=batches.batches_per_epoch * batches.batch_size,
            counts={
                name: {"kept": len(found), "broken": found.broken}
                for name, found in {"train": store, **held_out}.items()
            },
        )
