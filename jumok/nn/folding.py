"""Batch norms folded into the convolutions before them: the same function of an image, in fewer operations.

norm(W ∗ x) = γ (W ∗ x − μ) / √(σ² + ε) + β, which is the convolution with γ W / √(σ² + ε) and the bias β − γ μ / √(σ² + ε)

With the statistics of training fixed, no example touches another: a folded model may be trained by several processes.
"""

import torch
from torch import Tensor, nn


@torch.no_grad()
def fold_norms(model: nn.Module) -> None:
    """Fold each batch norm that a module's `norm_of` names into its convolution; an identity stands in its place."""
    for module in list(model.modules()):
        named: dict[str, str] = getattr(module, "norm_of", {})  # of each convolution, the norm behind it
        present = {name for name, _ in module.named_modules()}
        for convolution, norm in named.items():
            if norm in present and isinstance(module.get_submodule(norm), nn.BatchNorm2d):  # others have no statistics
                _fold(module.get_submodule(convolution), module.get_submodule(norm))
                module.set_submodule(norm, nn.Identity())


def _fold(convolution: nn.Module, norm: nn.Module) -> None:
    assert isinstance(convolution, nn.Conv2d)
    assert isinstance(norm, nn.BatchNorm2d)
    assert convolution.bias is None
    mean, variance = norm.running_mean, norm.running_var
    assert isinstance(mean, Tensor)
    assert isinstance(variance, Tensor)
    scale = norm.weight / (variance + norm.eps).sqrt()
    convolution.weight.mul_(scale[:, None, None, None])
    convolution.bias = nn.Parameter(norm.bias - mean * scale)
