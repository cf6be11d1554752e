"""Muon: a layer's matrix steps along its averaged gradient with all directions made equally long.

A gradient's matrix is nearly flat: a few directions carry almost all of its length, and plain steps hardly move the
others. Five rounds of a polynomial (Newton-Schulz) bring all singular values near 1 without computing any.
What is no matrix of a layer (embeddings, norms, biases, the last projection) is left to AdamW.
(Jordan et al. 2024; the size of a step, which lets AdamW's learning rates serve: Liu et al. 2025.)
"""

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW

MOMENTUM = 0.95
ROUNDS = 5
POLYNOMIAL = (3.4445, -4.7750, 2.0315)  # of x, x³, x⁵: steep at zero, so that small singular values grow fastest
SLIM = 2  # columns for each row from which working on a matrix's squares takes less time
USUAL_STEP = 0.2  # about the root mean square of AdamW's step at a learning rate of 1


def layer_matrices(model: nn.Module) -> set[Tensor]:
    """Return the weights of linear layers and convolutions inside a model's lists of layers."""
    lists = (module for module in model.modules() if isinstance(module, (nn.ModuleList, nn.Sequential)))
    inside = (part for layers in lists for part in layers.modules())
    return {part.weight for part in inside if isinstance(part, (nn.Linear, nn.Conv2d))}


def orthogonalised(matrices: Tensor) -> Tensor:
    """Return (N, rows, columns) with the same directions and singular values near 1."""
    wide = matrices.size(-2) <= matrices.size(-1)
    x = matrices if wide else matrices.mT
    x = x / x.flatten(1).norm(dim=1).clamp(min=1e-7)[:, None, None]
    found: Tensor = _through_squares(x) if x.size(-1) >= SLIM * x.size(-2) else _step_by_step(x)
    return found if wide else found.mT


def _step_by_step(x: Tensor) -> Tensor:
    first, third, fifth = POLYNOMIAL
    for _ in range(ROUNDS):
        squares = x @ x.mT
        x = first * x + torch.baddbmm(squares, squares, squares, beta=third, alpha=fifth) @ x
    return x


def _through_squares(x: Tensor) -> Tensor:
    """The same, but all rounds work on x xᵀ, which is small where x is much longer than high; x is met twice only.

    A round multiplies x by p(x xᵀ) from the left. So all rounds together are one small matrix times x, and x xᵀ itself
    goes from round to round by p · x xᵀ · p.
    """
    first, third, fifth = POLYNOMIAL
    squares = x @ x.mT
    unit = torch.eye(x.size(-2), dtype=x.dtype, device=x.device)
    product = None
    for number in range(ROUNDS):
        factor = torch.baddbmm(squares, squares, squares, beta=third, alpha=fifth) + first * unit
        product = factor if product is None else factor @ product
        if number + 1 < ROUNDS:
            squares = factor @ squares @ factor
    assert product is not None
    return product @ x


class Muon(AdamW):
    """AdamW, but for groups that are `orthogonal`."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Step all groups, each in its own way."""
        groups = self.param_groups
        for group in groups:
            if group["orthogonal"]:
                self._orthogonal_step(group)
        self.param_groups = [group for group in groups if not group["orthogonal"]]
        try:
            super().step(closure)
        finally:
            self.param_groups = groups

    def _average(self, parameter: Tensor) -> Tensor:
        state = self.state[parameter]
        if not state:
            state["average"] = torch.zeros_like(parameter)
            state["step"] = torch.zeros(())  # AdamW asks for it when a state is loaded
        state["step"] += 1
        average: Tensor = state["average"]
        return average

    def _orthogonal_step(self, group: dict[str, Any]) -> None:
        """Step the matrices of one shape together: many small products are one large."""
        alike: dict[tuple[int, ...], list[Tensor]] = defaultdict(list)
        for parameter in group["params"]:
            if parameter.grad is not None:
                alike[tuple(parameter.shape)].append(parameter)
        rate: float = group["lr"]
        for shape, parameters in alike.items():
            gradients: list[Any] = [parameter.grad for parameter in parameters]
            averages = [self._average(parameter) for parameter in parameters]
            torch._foreach_lerp_(averages, gradients, 1 - MOMENTUM)
            ahead = torch._foreach_lerp(gradients, averages, MOMENTUM)  # Nesterov: the average as it will be
            steps = orthogonalised(torch.stack(ahead).flatten(2))
            size = USUAL_STEP * max(steps.shape[1:]) ** 0.5
            torch._foreach_mul_(parameters, 1 - rate * group["weight_decay"])
            torch._foreach_add_(parameters, [step.view(shape) for step in steps], alpha=-rate * size)
