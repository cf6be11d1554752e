"""The kind of attention and the number of its layer, by path and weights.

decoder.block.2.layer.1.EncDecAttention → cross, layer 2
"""

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
    """Return the path of each module, and its layer: where it stands in the innermost list of blocks around it.

    A list of blocks has members of one class; the parts of a block may stand in a list, too (T5), and so may the heads
    of a layer. Where no list is one of blocks, as in a model that alternates two kinds of them, the last counts.
    """
    paths: dict[nn.Module, ModulePath] = {}
    layers: dict[str, tuple[int | None, int]] = {"": (None, 0)}  # by path: the number in blocks, and in any list
    has_blocks: dict[str, bool] = {}
    for path, module in model.named_modules():
        around, _, name = path.rpartition(".")
        if module is not model:
            layers[path] = layers[around]
        if name.isdigit() and "head" not in around.rpartition(".")[2]:
            if around not in has_blocks:
                has_blocks[around] = len({type(member) for member in model.get_submodule(around).children()}) == 1
            block, _ = layers[around]
            layers[path] = (int(name), int(name)) if has_blocks[around] else (block, int(name))
        block, last = layers[path]
        plain = ".".join(part for part in path.split(".") if part != ORIGINAL) if ORIGINAL in path else path
        paths[module] = ModulePath(plain, last if block is None else block)
    return paths
