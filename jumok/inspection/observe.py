"""Look at the attention of any model, without changing how it runs the rest of the time.

with observe(model) as record:  every attention layer of that model computes its weights explicitly and files them here
    model(batch)
record.maps → one AttentionMap a call of a layer (inspection/record.py)

A record is found through a context variable (nn/recording.py) and knows its model: other models and other threads keep
their fast path. Layers of torch's own and of Hugging Face's models are made to show their weights, too (inspection/foreign.py).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from jumok.inspection.ablation import Ablation
from jumok.inspection.foreign import shown
from jumok.inspection.record import AttentionRecord
from jumok.nn.recording import recorder_for, recording


@contextmanager
def observe(
    model: nn.Module, *, ablation: Ablation | None = None, keep: bool = True, details: bool = False
) -> Iterator[AttentionRecord]:
    """Record the attention of model's calls inside the block; outputs stay the same to rounding.

    Blocks may stand inside each other: a call is filed once, by the innermost that observes its model. With ablation (inspection/ablation.py;
    for jumok's own models), the calls leave something out; keep=False keeps no maps of them. With details, jumok's
    own layers also keep what their weights were computed from (AttentionMap.details), and its models their positions.
    """
    record = AttentionRecord(sites=_sites(model), ablation=ablation or Ablation(), keeps=keep, keeps_details=details)
    try:
        with (
            recording(record),
            shown(model, records=lambda module: recorder_for(module) is record, file=record.file_once),
        ):
            yield record
    finally:
        record.sites.clear()  # a record neither keeps the model alive nor goes on in tasks begun inside the block


def _sites(model: nn.Module) -> dict[nn.Module, tuple[str, int]]:
    """Return each module's path and its layer: the last number in the path, counted from 0."""
    sites = {}
    for path, module in model.named_modules():
        numbers = [int(part) for part in path.split(".") if part.isdigit()]
        sites[module] = (path, numbers[-1] if numbers else 0)
    return sites
