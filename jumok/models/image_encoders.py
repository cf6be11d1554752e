"""The encoder inside a captioner: a model that reads images, cut off behind its feature map.

[model.encoder] → build_encoder → images (B, C, H, W) → feature_map (B, map_width, h, w)

One that starts from pretrained weights has its batch norms folded into its convolutions (nn/folding.py): their
statistics stay as they were, whatever batches it is finetuned on.
"""

from collections.abc import Callable
from typing import Any

from jumok.config import ModelConfig
from jumok.config.encoder import EncoderConfig
from jumok.errors import ConfigError, did_you_mean
from jumok.models.cnn import CNN, CNNConfig
from jumok.models.efficientnet import EfficientNet, EfficientNetConfig
from jumok.models.mixer import Mixer, MixerConfig
from jumok.models.swin import Swin, SwinConfig
from jumok.models.vit import ViT, ViTConfig
from jumok.nn.folding import fold_norms
from jumok.nn.model import ImageReader

READERS: dict[str, tuple[Callable[[Any], ImageReader], type[ModelConfig]]] = {
    "cnn": (CNN, CNNConfig),
    "efficientnet": (EfficientNet, EfficientNetConfig),
    "mixer": (Mixer, MixerConfig),
    "swin": (Swin, SwinConfig),
    "vit": (ViT, ViTConfig),
}  # by the model.name of the runs that can be encoders


def build_encoder(config: EncoderConfig, *, size: int, channels: int) -> ImageReader:
    """Return the encoder of images of size × size pixels, without what its feature map does not need."""
    encoder = _reader(config, size=size, channels=channels)
    for name in encoder.behind_map:
        delattr(encoder, name)
    if config.pretrained:
        fold_norms(encoder)
    return encoder


def _reader(config: EncoderConfig, *, size: int, channels: int) -> ImageReader:
    sizes = {"image_size": size, "channels": channels, "classes": 1}
    if config.name == "cnn":
        own = config.model_dump(include={"name", "width", "stages", "blocks", "stem_pool", "norm"})
        return CNN(CNNConfig.parse(own | sizes, "model.encoder"))
    if config.name == "run":
        name = config.model["name"]
        if name not in READERS:
            raise ConfigError(
                f"model.encoder.run = '{config.run}' is a run of the model '{name}', which cannot be finetuned as an encoder; "
                f"{did_you_mean(name, READERS)}"
            )
        kind, section = READERS[name]
        return kind(section.parse(config.model, "model.encoder.model"))
    variant = config.name.removeprefix("efficientnet-")
    return EfficientNet(EfficientNetConfig.parse({"name": "efficientnet", "variant": variant} | sizes, "model.encoder"))
