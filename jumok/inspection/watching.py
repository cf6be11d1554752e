"""Mark attention weights in a model of one's own, so that they are recorded while the model is observed.

def forward(self, x):
    weights = watch(scores.softmax(dim=-1))  # the same tensor; outside of observe nothing else happens
"""

import torch
from torch import Tensor

from jumok.errors import RecordError
from jumok.inspection.calls import innermost_call
from jumok.inspection.functions import batched
from jumok.inspection.kinds import guess_kind
from jumok.inspection.record import name_of
from jumok.inspection.rows import refuse_other_rows

# B batch · H heads · Q queries · K keys


def watch(weights: Tensor, *, kind: str = "", grid: tuple[int, int] | None = None) -> Tensor:
    """Return weights as they are; inside observe they are filed under the module of the model that is being called.

    weights are (B, H, Q, K), (B, Q, K) of one head or (Q, K) of one example, and each row sums to 1 or is empty. kind
    is encoder, decoder, cross or a word of one's own, guessed where it is left out. grid is the rows and columns of keys
    in an image.
    """
    call = None if torch.compiler.is_compiling() else innermost_call()
    if call is None or not call.observation.covers(call.module):
        return weights
    name = f"watch in {name_of(call.module, call.path)}"
    if not 2 <= weights.dim() <= 4:
        raise RecordError(f"{name} got weights {tuple(weights.shape)}; give (B, H, Q, K), (B, Q, K) or (Q, K)")
    refuse_other_rows(weights, name=name)
    filed, observation = batched(weights.detach()), call.observation
    kind = kind or observation.kind_of_step(call.module, filed) or guess_kind(call.path, filed, crossed=call.crosses)
    observation.file(call.module, kind, filed, grid=grid)
    return weights
