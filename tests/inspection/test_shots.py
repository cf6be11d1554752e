"""The shots of a film: their measures are means over all heads, and their subject is what training does not change."""

from dataclasses import replace

import pytest
import torch

from jumok.inspection.film import Shot
from jumok.inspection.record import END, AttentionMap


def make_shot(seed):
    """Return a shot of two layers of three heads."""
    torch.manual_seed(seed)
    labels = ("b", END), ("a", "c", END)
    maps = [AttentionMap(f"decoder.{layer}", "cross", layer, torch.randn(3, 2, 3).softmax(dim=-1), *labels) for layer in range(2)]  # fmt: skip
    return Shot("a c", "b", f"translation {seed}", tuple(maps))


def test_measures_are_means_over_all_heads():
    shot = make_shot(1)
    weights = torch.stack([found.weights for found in shot.maps])
    assert shot.on_end == pytest.approx(float(weights[..., -1].mean()))
    assert shot.entropy == pytest.approx(float(-(weights * weights.log()).sum(dim=-1).mean()))
    assert shot.record.maps == list(shot.maps)


def test_the_subject_is_the_same_at_every_step():
    early, late = make_shot(1), make_shot(2)
    assert early.subject == late.subject
    assert replace(late, reference="d").subject != early.subject
    fewer = replace(late, maps=late.maps[:1])
    assert fewer.subject != early.subject
