"""Look at the attention of any model, without changing how it runs the rest of the time.

with observe(model) as record:  every attention layer of the model computes its weights explicitly and files them here
    model(batch)
record.maps → one AttentionMap per call of a layer (inspection/record.py)

Layers find the record through a context variable (nn/recording.py), and the record knows the modules of its model:
other models and other threads keep their fast path. torch's own layers, Hugging Face's models and calls of
F.scaled_dot_product_attention are recorded, too (inspection/foreign.py).
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import nn

from jumok.errors import RecordError
from jumok.inspection.ablation import Ablation
from jumok.inspection.calls import Observation
from jumok.inspection.foreign import filing_foreign_weights
from jumok.inspection.kinds import module_paths
from jumok.inspection.layers import filing_layers
from jumok.inspection.record import AttentionRecord
from jumok.inspection.suspects import explain_emptiness, name_some
from jumok.inspection.uncompiled import uncompiled
from jumok.nn.recording import recorder_for, recording

__all__ = ["observe", "recorder_for"]


@contextmanager
def observe(
    model: nn.Module, *, ablation: Ablation | None = None, keep: bool = True, details: bool = False
) -> Iterator[AttentionRecord]:
    """Record the attention of the model's calls inside the block; outputs stay the same to rounding.

    Blocks may be nested: a call is filed once, by the innermost block that observes its model. An ablation (for jumok's
    own models) leaves heads, source tokens or positions out of the calls. keep=False keeps no maps. With details,
    maps also keep what their weights were computed from (AttentionMap.details), and jumok's models their tables of
    positions (AttentionRecord.positions) and their Transformer layers as a whole (AttentionRecord.layers). A compiled
    model runs uncompiled inside the block. What could not be recorded is said in a warning at the end of the block.
    """
    if isinstance(model, torch.jit.ScriptModule):
        raise RecordError(
            f"{type(model).__name__} is a scripted or traced model (torch.jit): it runs outside of Python, where attention "
            "cannot be recorded; observe the model that it was made from"
        )
    record = AttentionRecord(
        observed=module_paths(model), ablation=ablation or Ablation(), keeps_maps=keep, keeps_details=details
    )
    observation = Observation(record)
    for module in record.observed:
        if isinstance(module, torch.jit.ScriptModule):
            observation.note("What scripted modules (torch.jit) compute cannot be recorded", module)
    try:
        foreign = filing_foreign_weights(model, observation) if keep else nullcontext()
        layers = (
            filing_layers(model, is_recorded=observation.covers, file=record.layers.append)
            if keep and details
            else nullcontext()
        )
        with recording(record), uncompiled(record.observed), foreign, layers:
            yield record
        if observation.called and not record.maps and not type(model).__module__.startswith("jumok."):
            record.why_empty = explain_emptiness(model)
            warnings.warn(record.why_empty, stacklevel=3)
        for sentence, paths in observation.notes.items():
            warnings.warn(f"{sentence}: {name_some(paths)}", stacklevel=3)
    finally:
        record.observed.clear()  # the model is let go of, and tasks that were begun inside the block record no more
