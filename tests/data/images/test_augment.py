"""Variants of images: each does what it says, keeps the shape, and is a pure function of its generator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import Augment
from jumok.data.images import augment as module
from jumok.data.images.augment import OPERATIONS, crop, erase, jitter, mix, mixing, policy, vary, zoom

KEYS = {"crop": 3, "zoom": 0.5, "flip": True, "policy": 2, "jitter": 0.4, "erase": 1.0}


def rng(seed=1):
    return np.random.default_rng(seed)


def image(side=16, channels=3, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (side, side, channels), dtype=np.uint8)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 24), st.sampled_from([1, 3]), st.sets(st.sampled_from(sorted(KEYS))), st.integers(0, 99))
def test_any_mixture_keeps_shape_and_type_and_repeats(side, channels, names, seed):
    chosen = Augment(**{name: KEYS[name] for name in names})
    pixels = image(side, channels)
    before = pixels.copy()
    found = vary(pixels, chosen, rng(seed))
    assert found.shape == pixels.shape
    assert found.dtype == np.uint8
    assert np.array_equal(found, vary(pixels, chosen, rng(seed)))
    assert np.array_equal(pixels, before), "the store must not be written to"
    if not names:
        assert found is pixels


@pytest.mark.parametrize("name", KEYS)
def test_every_key_changes_images(name):
    chosen = Augment(**{name: KEYS[name]})
    variants = {vary(image(), chosen, rng(seed)).tobytes() for seed in range(12)}
    assert len(variants) >= (2 if name == "flip" else 6)


def test_a_crop_moves_the_image_and_leaves_an_empty_edge():
    pixels = image() // 2 + 100  # nowhere 0
    seen = set()
    for seed in range(200):
        moved = crop(pixels, 2, rng(seed))
        rows, columns = moved.any(axis=(1, 2)), moved.any(axis=(0, 2))
        down = int(rows.argmax()) if not rows[0] else -int(rows[::-1].argmax())
        right = int(columns.argmax()) if not columns[0] else -int(columns[::-1].argmax())
        assert np.array_equal(
            moved[rows][:, columns], pixels[max(-down, 0) : 16 - max(down, 0), max(-right, 0) : 16 - max(right, 0)]
        )
        seen.add((down, right))
    assert seen == {(down, right) for down in range(-2, 3) for right in range(-2, 3)}


def test_a_zoom_shows_a_part():
    across = np.linspace(0, 255, 32).astype(np.uint8)[None, :, None].repeat(32, axis=0)
    ranges = [float(np.ptp(zoom(across, 0.75, rng(seed)))) for seed in range(40)]
    assert min(ranges) < 180
    assert all(found > 255 * 0.5 * 0.75 - 12 for found in ranges), "never less than the share that must stay"


def test_a_flip_is_half_and_half():
    flipped = sum(np.array_equal(vary(image(), Augment(flip=True), rng(s)), image()[:, ::-1]) for s in range(400))
    assert 150 < flipped < 250


def test_jitter_moves_tones_both_ways():
    means = [jitter(image() // 3 + 60, 0.4, rng(seed)).mean() for seed in range(60)]
    plain = (image() // 3 + 60).mean()
    assert min(means) < 0.8 * plain
    assert max(means) > 1.2 * plain


def test_erasing_leaves_the_rest_alone():
    for seed in range(30):
        pixels = image()
        changed = (erase(pixels, rng(seed)) != pixels).any(axis=2)
        rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
        area = (rows[-1] - rows[0] + 1) * (columns[-1] - columns[0] + 1)
        assert changed.sum() > 0.8 * area, "one rectangle"
        assert 0 < area <= 0.55 * 256


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_works_both_ways_and_at_nothing_does_nothing(name, channels):
    pixels = image(20, channels) // 2 + 40
    opened = module._image(pixels)
    results = [module._pixels(OPERATIONS[name](opened, amount), pixels) for amount in (-1.0, 0.0, 1.0)]
    assert all(found.shape == pixels.shape for found in results)
    if name not in ("stretch tones", "even out tones"):
        assert np.abs(results[1].astype(int) - pixels).max() <= 1
    if name not in ("same", "colour") or (name == "colour" and channels == 3):
        assert not np.array_equal(results[2], pixels)


def test_a_stronger_policy_goes_further():
    def far(strength):
        pixels = image(24)
        return np.mean(
            [np.abs(policy(pixels, 2, strength, rng(seed)).astype(int) - pixels).mean() for seed in range(60)]
        )

    assert far(0.05) < far(0.3) < far(1.0)


@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
def test_shares_say_what_is_in_a_mixture(kind):
    ours, theirs = np.zeros((5, 16, 16, 1)), np.ones((5, 16, 16, 1))
    for seed in range(40):
        found = mixing(5, Augment(**{kind: 1.0}), rng(seed), 16)
        assert found is not None
        partners, share, box = found
        assert sorted(partners.tolist()) == list(range(5))
        assert (box is None) == (kind == "mixup")
        mixed = mix(ours, theirs, share, box)
        assert mixed.mean() == pytest.approx(1.0 - share, abs=1e-6)


def test_with_both_each_batch_draws_one_and_with_none_nothing_is_mixed():
    both = Augment(mixup=0.2, cutmix=1.0)
    kinds = [mixing(4, both, rng(seed), 16)[2] is None for seed in range(60)]
    assert 15 < sum(kinds) < 45
    assert mixing(4, Augment(flip=True), rng(), 16) is None
