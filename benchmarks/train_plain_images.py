"""Train Hugging Face's ViT or Swin in a plain loop, timed: python train_plain_images.py JOB.json

What a good tutorial would write: images in memory, a crop and a flip on the whole batch, AdamW, no toolkit around it.
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from stopwatch import EnoughError, Stopwatch, products, read_job, write_result
from torch import Tensor


def make_model(kind: str, sizes: dict[str, Any]) -> torch.nn.Module:
    """Return a model of transformers with the sizes of jumok's."""
    shared = {
        "image_size": sizes["image_size"],
        "patch_size": sizes["patch_size"],
        "num_channels": sizes["channels"],
        "num_labels": sizes["classes"],
    }
    if kind == "vit":
        config = transformers.ViTConfig(
            hidden_size=sizes["width"], num_hidden_layers=sizes["layers"], num_attention_heads=sizes["heads"],
            intermediate_size=sizes["feedforward"], **shared,
        )  # fmt: skip
        return transformers.ViTForImageClassification(config)
    config = transformers.SwinConfig(
        embed_dim=sizes["width"], depths=sizes["layers"], num_heads=sizes["heads"], window_size=sizes["window"],
        mlp_ratio=sizes["feedforward_ratio"], drop_path_rate=sizes["stochastic_depth"], **shared,
    )  # fmt: skip
    return transformers.SwinForImageClassification(config)


def vary(images: Tensor, border: int) -> Tensor:
    """Return images (B, C, S, S), moved by up to border pixels and half of them mirrored."""
    side = images.shape[-1]
    padded = F.pad(images, (border,) * 4)
    places = torch.randint(0, 2 * border + 1, (len(images), 2)).tolist()
    cut = torch.stack([padded[i, :, y : y + side, x : x + side] for i, (y, x) in enumerate(places)])
    mirrored = torch.rand(len(cut)) < 0.5
    return torch.where(mirrored[:, None, None, None], cut.flip(3), cut)


def main() -> None:
    """Do the job."""
    job = read_job()
    with np.load(job["arrays"]) as file:
        pixels, labels = torch.from_numpy(file["x"]), torch.from_numpy(file["y"])  # (N, S, S, C), (N,)
    torch.manual_seed(1)
    model = make_model(job["kind"], job["sizes"]).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    mean, deviation = (torch.tensor(job[key])[:, None, None] for key in ("mean", "deviation"))
    rows, border = job["batch_size"], job["crop"]

    def batch() -> tuple[Tensor, Tensor]:
        chosen = torch.randint(len(labels), (rows,))
        images = (pixels[chosen].permute(0, 3, 1, 2).float() / 255 - mean) / deviation
        return (vary(images, border) if border else images), labels[chosen]

    stopwatch = Stopwatch(job, lambda pair: (len(pair[0]), len(pair[0]), len(pair[0])))
    try:
        while True:
            images, wanted = stopwatch.take(batch)
            with products(job):
                loss = F.cross_entropy(model(pixel_values=images).logits, wanted)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    except EnoughError:
        write_result(job, stopwatch, model=model, version=transformers.__version__)


if __name__ == "__main__":
    main()
