"""Look at the attention of any model, without changing how it runs the rest of the time.

with observe(model) as record:  every attention layer of the model computes its weights explicitly and files them here
    model(batch)
record.maps → one AttentionMap per call of a layer (inspection/record.py)

Layers find the record through a context variable (nn/recording.py), and the record knows the modules of its model:
other models and other threads keep their fast path. torch's own layers and Hugging Face's models are made to hand over
their weights, too (inspection/foreign.py).
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from torch import nn

from jumok.inspection.ablation import Ablation
from jumok.inspection.foreign import filing_foreign_weights
from jumok.inspection.layers import filing_layers
from jumok.inspection.record import AttentionRecord, ModulePath
from jumok.nn.recording import recorder_for, recording


@contextmanager
def observe(
    model: nn.Module, *, ablation: Ablation | None = None, keep: bool = True, details: bool = False
) -> Iterator[AttentionRecord]:
    """Record the attention of the model's calls inside the block; outputs stay the same to rounding.

    Blocks may be nested: a call is filed once, by the innermost block that observes its model. An ablation (for jumok's
    own models) leaves heads, source tokens or positions out of the calls. keep=False keeps no maps. With details,
    jumok's own layers also keep what their weights were computed from (AttentionMap.details) and all that follows them
    (AttentionRecord.layers), and its models their tables of positions (AttentionRecord.positions).
    """
    record = AttentionRecord(
        observed=_paths(model), ablation=ablation or Ablation(), keeps_maps=keep, keeps_details=details
    )

    def is_recorded(module: nn.Module) -> bool:
        return recorder_for(module) is record

    try:
        with (
            recording(record),
            filing_foreign_weights(model, is_recorded=is_recorded, file=record.file_unless_repeated),
            filing_layers(model, is_recorded=is_recorded, file=record.layers.append)
            if details and keep
            else nullcontext(),
        ):
            yield record
    finally:
        record.observed.clear()  # the model is let go of, and tasks that were begun inside the block record no more


def _paths(model: nn.Module) -> dict[nn.Module, ModulePath]:
    """Return the path of each module, and its layer: the last number in the path, or 0."""
    paths = {}
    for path, module in model.named_modules():
        numbers = [int(part) for part in path.split(".") if part.isdigit()]
        paths[module] = ModulePath(path, numbers[-1] if numbers else 0)
    return paths
