"""Images made larger for an encoder that was trained on larger ones."""

import torch.nn.functional as F
from torch import Tensor


def enlarged(images: Tensor, size: int) -> Tensor:
    """Return images (B, C, H, W) at size × size pixels, as Pillow's bicubic filter makes them; 0: as they are."""
    if size in (0, images.shape[-1]) and images.shape[-2] == images.shape[-1]:
        return images
    return F.interpolate(images, (size, size), mode="bicubic", antialias=True)
