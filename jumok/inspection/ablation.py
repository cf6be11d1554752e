"""What if: a forward pass with heads switched off, source tokens hidden or positions taken away.

with observe(model, ablation=Ablation(heads={("decoder.layers.0.cross", 2)})):
    model(batch)  # each attention layer leaves out what its record says

A weight is not yet a reason: what an answer loses without a head tells more than how sharply the head looks.
"""

from collections.abc import Set
from dataclasses import dataclass

from torch import Tensor, nn

from jumok.nn.attention import MultiHeadAttention
from jumok.nn.scores import StateAttention

# B batch · H heads · Q queries · K keys

OVER_SOURCE = ("encoder", "cross", "recurrent")  # kinds of attention whose keys are the source tokens


@dataclass(frozen=True)
class Ablation:
    """What is left out of a forward pass."""

    heads: Set[tuple[str, int]] = frozenset()  # the path of an attention layer and a head of it, counted from 0
    hidden: Set[int] = frozenset()  # keys that no query may look at, counted from 0: source tokens
    without_positions: bool = False
    kinds: tuple[str, ...] = OVER_SOURCE  # whose keys the hidden ones are; of a GPT, which has no source: decoder

    def apply(self, weights: Tensor, *, path: str, kind: str) -> Tensor:
        """Return the weights (B, H, Q, K) of the layer at path with heads switched off and keys hidden."""
        off = [head for own, head in self.heads if own == path]
        hidden = [token for token in self.hidden if token < weights.shape[-1]] if kind in self.kinds else []
        if not off and not hidden:
            return weights
        weights = weights.clone()
        if hidden:  # as if their scores had been −∞: the other keys share their weight
            weights[..., hidden] = 0.0
            weights /= weights.sum(dim=-1, keepdim=True).clamp(min=1e-30)
        if off:
            weights[:, off] = 0.0
        return weights


def attention_layers(model: nn.Module) -> dict[str, int]:
    """Return the paths of a model's attention layers, jumok's own, each with its number of heads."""
    return {
        path: module.heads if isinstance(module, MultiHeadAttention) else 1
        for path, module in model.named_modules()
        if isinstance(module, MultiHeadAttention | StateAttention)
    }
