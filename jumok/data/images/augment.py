"""How images are varied in training: places, sizes, tones, and mixtures of two.

pixels (S, S, C), 0 to 255 → crop → zoom → flip → policy → jitter → erase → pixels; then two images mixed (float)
Every draw comes from a generator that the caller keys by seed, epoch and image: no order of work changes an image.
"""

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from jumok.config import Augment
from jumok.data.images.decode import Pixels

Generator = np.random.Generator


def vary(pixels: Pixels, augment: Augment, generator: Generator) -> Pixels:
    """Return a variant of pixels (S, S, C), of the same shape."""
    if augment.crop:
        pixels = crop(pixels, augment.crop, generator)
    if augment.zoom:
        pixels = zoom(pixels, augment.zoom, generator)
    if augment.flip and generator.random() < 0.5:
        pixels = pixels[:, ::-1]
    if augment.policy:
        pixels = policy(pixels, augment.policy, augment.policy_strength, generator)
    if augment.jitter:
        pixels = jitter(pixels, augment.jitter, generator)
    if augment.erase and generator.random() < augment.erase:
        pixels = erase(pixels, generator)
    return pixels


def crop(pixels: Pixels, border: int, generator: Generator) -> Pixels:
    """Return the image moved by up to border pixels each way, with an empty edge."""
    border = min(border, min(pixels.shape[:2]) - 1)  # something of it stays
    down, right = generator.integers(-border, border + 1, 2).tolist()
    moved = np.zeros_like(pixels)
    height, width = pixels.shape[:2]
    moved[max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)] = pixels[
        max(-down, 0) : height + min(-down, 0), max(-right, 0) : width + min(-right, 0)
    ]
    return moved


def zoom(pixels: Pixels, most: float, generator: Generator) -> Pixels:
    """Return a part of the image, of 1 − most of its area at least and about as wide as high, enlarged to its size."""
    height, width = pixels.shape[:2]
    area = generator.uniform(1.0 - most, 1.0)
    stretch = np.exp(generator.uniform(-0.2877, 0.2877) / 2)  # 3 : 4 to 4 : 3
    part_height = int(np.clip(round(height * np.sqrt(area) * stretch), 1, height))
    part_width = int(np.clip(round(width * np.sqrt(area) / stretch), 1, width))
    upper = int(generator.integers(0, height - part_height + 1))
    left = int(generator.integers(0, width - part_width + 1))
    box = (left, upper, left + part_width, upper + part_height)
    return _pixels(_image(pixels).resize((width, height), Image.Resampling.BICUBIC, box=box), pixels)


def jitter(pixels: Pixels, most: float, generator: Generator) -> Pixels:
    """Return the image with brightness, contrast and colour each changed by a factor from 1 ± most."""
    factors = generator.uniform(1.0 - most, 1.0 + most, 3)
    values = pixels.astype(np.float32) * factors[0]
    grey = values.mean(axis=2, keepdims=True)
    values = grey + (values - grey) * factors[2]
    middle = values.mean()
    values = middle + (values - middle) * factors[1]
    toned: Pixels = values.clip(0, 255).astype(np.uint8)
    return toned


def erase(pixels: Pixels, generator: Generator) -> Pixels:
    """Return the image with a rectangle of 2 to 33 % of its area filled with noise (Zhong et al. 2020)."""
    upper, left, lower, right = _rectangle(pixels.shape[:2], float(generator.uniform(0.02, 1 / 3)), generator)
    erased = pixels.copy()
    erased[upper:lower, left:right] = generator.integers(0, 256, erased[upper:lower, left:right].shape, dtype=np.uint8)
    return erased


def _rectangle(shape: tuple[int, ...], area: float, generator: Generator) -> tuple[int, int, int, int]:
    """Return upper, left, lower and right edge of a rectangle of about this share of the area, somewhere."""
    stretch = np.exp(generator.uniform(-0.5, 0.5))
    height = int(np.clip(round(shape[0] * np.sqrt(area) * stretch), 1, shape[0]))
    width = int(np.clip(round(shape[1] * np.sqrt(area) / stretch), 1, shape[1]))
    upper = int(generator.integers(0, shape[0] - height + 1))
    left = int(generator.integers(0, shape[1] - width + 1))
    return upper, left, upper + height, left + width


# --- a policy of operations (after RandAugment, Cubuk et al. 2020)


def policy(pixels: Pixels, count: int, strength: float, generator: Generator) -> Pixels:
    """Return the image after count operations, drawn with their direction; strength 0 to 1 says how far they go."""
    image = _image(pixels)
    for name in generator.choice(list(OPERATIONS), count).tolist():
        amount = strength * (1.0 if generator.random() < 0.5 else -1.0)
        image = OPERATIONS[name](image, amount)
    return _pixels(image, pixels)


def _moved(image: Image.Image, *matrix: float) -> Image.Image:
    """Return the image under an affine map about its middle; its edges are filled with its mean."""
    a, b, c, d, e, f = matrix
    x, y = image.width / 2, image.height / 2
    whole = (a, b, c + x - a * x - b * y, d, e, f + y - d * x - e * y)
    fill = tuple(int(value) for value in np.asarray(image).reshape(-1, len(image.getbands())).mean(axis=0))
    return image.transform(
        image.size,
        Image.Transform.AFFINE,
        whole,
        Image.Resampling.BILINEAR,
        fillcolor=fill if len(fill) > 1 else fill[0],
    )


def _turned(image: Image.Image, amount: float) -> Image.Image:
    angle = np.deg2rad(30.0 * amount)
    return _moved(image, np.cos(angle), np.sin(angle), 0.0, -np.sin(angle), np.cos(angle), 0.0)


OPERATIONS: dict[str, Callable[[Image.Image, float], Image.Image]] = {
    "same": lambda image, amount: image,
    "turn": _turned,
    "shear across": lambda image, amount: _moved(image, 1.0, 0.3 * amount, 0.0, 0.0, 1.0, 0.0),
    "shear down": lambda image, amount: _moved(image, 1.0, 0.0, 0.0, 0.3 * amount, 1.0, 0.0),
    "shift across": lambda image, amount: _moved(image, 1.0, 0.0, 0.3 * amount * image.width, 0.0, 1.0, 0.0),
    "shift down": lambda image, amount: _moved(image, 1.0, 0.0, 0.0, 0.0, 1.0, 0.3 * amount * image.height),
    "brightness": lambda image, amount: ImageEnhance.Brightness(image).enhance(1.0 + 0.9 * amount),
    "contrast": lambda image, amount: ImageEnhance.Contrast(image).enhance(1.0 + 0.9 * amount),
    "colour": lambda image, amount: ImageEnhance.Color(image).enhance(1.0 + 0.9 * amount),
    "sharpness": lambda image, amount: ImageEnhance.Sharpness(image).enhance(1.0 + 0.9 * amount),
    "posterise": lambda image, amount: ImageOps.posterize(image, 8 - round(4 * abs(amount))),
    "solarise": lambda image, amount: ImageOps.solarize(image, 256 - round(256 * abs(amount))),
    "stretch tones": lambda image, amount: ImageOps.autocontrast(image),
    "even out tones": lambda image, amount: ImageOps.equalize(image),
}


def _image(pixels: Pixels) -> Image.Image:
    return Image.fromarray(np.ascontiguousarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels))


def _pixels(image: Image.Image, like: Pixels) -> Pixels:
    return np.asarray(image, dtype=np.uint8).reshape(like.shape)


# --- two images in one


def mixing(
    count: int, augment: Augment, generator: Generator, side: int
) -> tuple[np.ndarray, float, tuple[int, int, int, int] | None] | None:
    """Return how a batch of count images is mixed: each one's partner, the share that stays, and the box of a cut.

    None: not at all. Where both mixup and cutmix are on, each batch draws one of them.
    """
    alphas = {kind: alpha for kind, alpha in (("mixup", augment.mixup), ("cutmix", augment.cutmix)) if alpha}
    if not alphas:
        return None
    kind, alpha = list(alphas.items())[int(generator.integers(len(alphas)))]
    share = float(generator.beta(alpha, alpha))
    partners = generator.permutation(count)
    if kind == "mixup":
        return partners, share, None
    height = width = round(side * np.sqrt(1.0 - share))
    middle = generator.integers(0, side, 2)
    upper, left = (max(int(place) - height // 2, 0) for place in middle)
    lower, right = (
        min(int(place) - height // 2 + size, side) for place, size in zip(middle, (height, width), strict=True)
    )
    share = 1.0 - max(lower - upper, 0) * max(right - left, 0) / side**2
    return partners, share, (upper, left, lower, right)


def mix(ours: np.ndarray, theirs: np.ndarray, share: float, box: tuple[int, int, int, int] | None) -> np.ndarray:
    """Return images (B, S, S, C) mixed with their partners: share of ours stays, or all of it outside the box."""
    if box is None:
        return share * ours + (1.0 - share) * theirs
    upper, left, lower, right = box
    mixed = ours.copy()
    mixed[:, upper:lower, left:right] = theirs[:, upper:lower, left:right]
    return mixed
