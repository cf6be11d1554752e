"""torch.compile, a layer at a time, in training alone.

Layers of one kind share their compiled code. Answering and looking inside run as written: their shapes change with
every token, and each new shape would be compiled again.
"""

from typing import Any

import torch
from torch import nn

from jumok.nn.recording import recorder_for


def compile_layers(model: nn.Module) -> int:
    """Let the layers of a model's lists be compiled when they are first trained; return how many there are."""
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    inner = {id(part) for layers in lists for layer in layers for part in layer.modules() if part is not layer}
    layers = [layer for some in lists for layer in some if id(layer) not in inner]
    for layer in layers:
        layer.forward = _in_training(layer, layer.forward)
    return len(layers)


def _in_training(layer: nn.Module, plain: Any) -> Any:
    compiled = torch.compile(plain, dynamic=True)

    def forward(*given: Any, **named: Any) -> Any:
        fast = layer.training and recorder_for(layer) is None
        return (compiled if fast else plain)(*given, **named)

    return forward
