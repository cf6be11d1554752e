"""A convolution that multiplies in bf16 where asked to (nn/precision.py).

image (B, C, H, W) → (B, O, H', W')
"""

import torch.nn.functional as F
from torch import Tensor, nn

from jumok.nn.precision import NARROW, narrow


class Conv2d(nn.Conv2d):
    """torch's convolution; its weight is rounded where it is used, and its answer has the numbers of the image."""

    def forward(self, input: Tensor) -> Tensor:
        """Return (B, O, H', W') of an image (B, C, H, W)."""
        if not narrow():
            return super().forward(input)
        return narrow_convolution(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


def narrow_convolution(
    image: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, ...],
    padding: str | tuple[int, ...] = (0, 0),
    dilation: tuple[int, ...] = (1, 1),
    groups: int = 1,
) -> Tensor:
    """Return the convolution in bf16, in the numbers of the image; weight and bias are fp32."""
    rounded = None if bias is None else bias.to(NARROW)
    found = F.conv2d(image.to(NARROW), weight.to(NARROW), rounded, stride, padding, dilation, groups)
    return found.to(image.dtype)
