"""What products in bf16 must leave as it was, of any model: its loss nearly, the direction of its gradient, its fp32 weights."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from jumok.native.fast_path import fast_path
from jumok.nn.precision import products


def check_products_in_bf16(model: nn.Module, loss_of: Callable[[], Tensor], *, near: float = 0.02, along: float = 0.97):
    """Compare a loss and its gradient with and without products in bf16, on the fast path and off it."""

    def learn(precision, *, fast):
        model.zero_grad(set_to_none=True)
        torch.manual_seed(3)
        with products(precision), fast_path(when=fast):
            loss = loss_of()
            loss.backward()
        assert loss.dtype == torch.float32
        assert all(
            parameter.grad.dtype == torch.float32 for parameter in model.parameters() if parameter.grad is not None
        )
        flat = [parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None]
        return float(loss.detach()), torch.cat(flat)

    loss, gradient = learn("fp32", fast=False)
    for fast in (False, True):
        narrow_loss, narrow_gradient = learn("bf16", fast=fast)
        assert narrow_loss == pytest.approx(loss, rel=near, abs=1e-3)
        assert not torch.equal(narrow_gradient, gradient), "some product was made in bf16"
        likeness = torch.cosine_similarity(narrow_gradient, gradient, dim=0)
        assert likeness > along, f"likeness of the gradients {likeness:.4f}"
        again = learn("bf16", fast=fast)
        assert again[0] == narrow_loss
        assert torch.equal(again[1], narrow_gradient), "the same every time, or a run could not be resumed"
