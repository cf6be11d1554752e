"""What a module's path and its weights tell about its attention: the kind, and the number of the layer.

decoder.block.2.layer.1.EncDecAttention → cross, layer 2
"""

import re
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from jumok.inspection.record import ModulePath
from jumok.inspection.uncompiled import ORIGINAL

# Q queries · K keys

_CROSS = ("cross", "encoder_attn", "encdec", "enc_dec", "memory_attn", "src_attn")  # in the paths of cross-attention


def guess_kind(path: str, weights: Tensor, *, crossed: bool = False, causal: bool = False, plain: str = "self") -> str:
    """Return the kind of attention with weights (…, Q, K): cross, decoder, encoder or, where nothing tells, plain.

    crossed: queries and keys are known to come from different sequences; causal: later keys are known to be hidden.
    """
    lower, (queries, keys) = path.lower(), weights.shape[-2:]
    if crossed or any(word in lower for word in _CROSS):
        return "cross"
    if causal or "decoder" in lower or _hides_later_keys(weights):
        return "decoder"
    if "encoder" in lower:
        return "encoder"
    return plain if queries == keys else "cross"


def _hides_later_keys(weights: Tensor) -> bool:
    queries, keys = weights.shape[-2:]
    if not 1 < queries <= keys:
        return False
    later = torch.ones(queries, keys, dtype=torch.bool, device=weights.device).triu(keys - queries + 1)
    return not weights[..., later].any()


def module_paths(model: nn.Module) -> dict[nn.Module, ModulePath]:
    """Return the path of each module, and its layer: where it stands in the innermost list of blocks around it."""
    modules = dict(model.named_modules())
    return {
        module: ModulePath(".".join(name for name in path.split(".") if name != ORIGINAL), _layer(path, modules))
        for path, module in modules.items()
    }


def _layer(path: str, modules: Mapping[str, nn.Module]) -> int:
    """Return the number of a module's layer, or 0.

    A list of blocks has members of one class; the parts of a block may stand in a list, too (T5), and so may the heads
    of a layer. Where no list is one of blocks, as in a model that alternates two kinds of them, the last counts.
    """
    blocks, others = [0], [0]
    for number in re.finditer(r"(?:^|(?<=\.))\d+(?=\.|$)", path):
        around = path[: number.start()].rstrip(".")
        if "head" in around.rpartition(".")[2]:
            continue
        is_of_blocks = len({type(member) for member in modules[around].children()}) == 1
        (blocks if is_of_blocks else others).append(int(number[0]))
    return blocks[-1] if len(blocks) > 1 else others[-1]
