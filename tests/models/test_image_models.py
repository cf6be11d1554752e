"""What each model for images says of itself: patches, positions, windows, mixing, blocks."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from jumok.errors import ConfigError
from jumok.inspection.observe import observe
from jumok.inspection.record import AttentionMap, rollout
from jumok.models.cnn import CNN, CNNConfig
from jumok.models.mixer import Mixer, MixerConfig
from jumok.models.swin import Swin, SwinConfig
from jumok.models.vit import ViT, ViTConfig
from jumok.nn.batch import ImageBatch
from jumok.nn.dropout import StochasticDepth, depth_rates
from jumok.nn.patches import GridPositions, Patches
from jumok.nn.windows import (
    BiasedAttention,
    MergePatches,
    Reorder,
    WindowAttention,
    into_windows,
    relative_places,
    shift_mask,
    window_order,
)

DATA = {"channels": 3, "classes": 7}


def images(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def batch(found):
    return ImageBatch(found, torch.zeros(len(found), dtype=torch.int64))


# --- patches and positions


@pytest.mark.parametrize("size", [(12, 12), (12, 20), (13, 11)], ids=str)
def test_a_matrix_product_and_a_convolution_give_the_same_patches(size):
    torch.manual_seed(2)
    product, convolution = Patches(3, 4, 10), Patches(3, 4, 10, kind="convolution")
    convolution.load_state_dict(product.state_dict())
    image = images(2, 3, *size)
    assert_close(product(image), convolution(image), atol=1e-5, rtol=1e-4)
    rows, columns = product.grid(image)
    assert product(image).shape == (2, rows * columns, 10)
    cell = F.pad(image, (0, 4, 0, 4))[:, :, 4:8, 8:12].flatten(1)  # row 1, column 2
    assert_close(product(image)[:, columns + 2], product.project(cell), atol=1e-5, rtol=1e-4)


def test_learned_positions_are_their_own_at_home_and_between_elsewhere():
    torch.manual_seed(2)
    positions = GridPositions("learned", 6, (5, 5))
    assert positions.encode((5, 5)) is positions.table
    wide = positions.encode((5, 15)).view(5, 15, 6)
    assert_close(wide[:, 1::3], positions.table.view(5, 5, 6), atol=0.02, rtol=0.3)
    assert wide.shape == (5, 15, 6)


def test_sinusoids_say_the_row_and_the_column():
    table = GridPositions("sinusoidal", 12, (4, 6)).encode((4, 6)).view(4, 6, 12)
    assert len({tuple(row.tolist()) for row in table.flatten(0, 1)}) == 24, "each place is unique"
    assert_close(table[2, :, :6], table[2, :1, :6].expand(6, -1))
    assert_close(table[:, 3, 6:], table[:1, 3, 6:].expand(4, -1))


def test_without_positions_a_vit_is_blind_to_order():
    """Its patches may be shuffled, as words may in self-attention without positions."""
    torch.manual_seed(2)
    sizes = {"patch_size": 4, "layers": 2, "width": 12, "heads": 2, "feedforward": 16, "image_size": 12, **DATA}
    cells = images(1, 9, 3, 4, 4)

    def assembled(order):
        grid = cells[:, order].view(1, 3, 3, 3, 4, 4)  # rows, columns, channels, height, width
        return grid.permute(0, 3, 1, 4, 2, 5).reshape(1, 3, 12, 12)

    shuffled = torch.randperm(9, generator=torch.Generator().manual_seed(4))
    for kind, blind in (("none", True), ("learned", False), ("sinusoidal", False)):
        model = ViT(ViTConfig(positions=kind, **sizes)).eval()
        first, second = model(batch(assembled(torch.arange(9)))), model(batch(assembled(shuffled)))
        assert torch.allclose(first, second, atol=1e-5) == blind, kind


# --- windows


def test_windows_and_back():
    cells = images(2, 6, 9, 4)
    windows = into_windows(cells, 3)
    assert windows.shape == (2, 6, 9, 4)
    assert_close(windows[1, 4], cells[1, 3:6, 3:6].flatten(0, 1))
    order, back = window_order((6, 9), 3, 0)
    assert_close(Reorder.apply(cells.flatten(1, 2), order, back).view_as(windows), windows)
    assert_close(Reorder.apply(windows.flatten(1, 2), back, order).view_as(cells), cells)


def test_a_swin_can_learn_after_it_was_only_used():
    """What is kept from one image to the next belongs to no inference mode."""
    for kept in (relative_places, shift_mask, window_order):
        kept.cache_clear()
    layer = WindowAttention(8, 2, 4, shifted=True)
    with torch.inference_mode():
        layer(images(1, 8, 8, 8))
    layer(images(1, 8, 8, 8)).sum().backward()
    assert layer.relative.grad is not None


def test_windows_of_a_rolled_grid():
    cells = images(2, 6, 9, 4)
    order, back = window_order((6, 9), 3, 1)
    windows = into_windows(cells.roll((-1, -1), dims=(1, 2)), 3)
    assert_close(Reorder.apply(cells.flatten(1, 2), order, back).view_as(windows), windows)
    assert_close(Reorder.apply(windows.flatten(1, 2), back, order).view_as(cells), cells)


@pytest.mark.parametrize("biases", [1, 3])
def test_the_gradients_of_window_attention_are_those_of_numbers(biases):
    torch.manual_seed(3)
    joined = torch.randn(2, 3, 4, 3 * 6, dtype=torch.float64, requires_grad=True)  # two heads of width 3
    bias = torch.randn(biases, 2, 4, 4, dtype=torch.float64)
    bias[0, :, 1, 2] = -torch.inf
    bias.requires_grad_()
    query, key, value = joined.view(2, 3, 4, 3, 2, 3).permute(3, 0, 1, 4, 2, 5)
    plain = (query @ key.mT * 0.7 + bias).softmax(dim=-1) @ value
    assert_close(BiasedAttention.apply(joined, bias, 0.7, 2), plain.transpose(2, 3).flatten(3))
    torch.autograd.gradcheck(lambda joined: BiasedAttention.apply(joined, bias, 0.7, 2), joined)
    wanted, found = (
        torch.autograd.grad((made * torch.arange(made.numel()).view_as(made)).sum(), (joined, bias))
        for made in (plain.transpose(2, 3).flatten(3), BiasedAttention.apply(joined, bias, 0.7, 2))
    )
    assert_close(found, wanted)


def test_the_gradient_of_an_order_is_the_way_back():
    rows = torch.randn(2, 6, 3, dtype=torch.float64, requires_grad=True)
    order = torch.tensor([3, 1, 5, 0, 2, 4])
    torch.autograd.gradcheck(lambda rows: Reorder.apply(rows, order, order.argsort()), rows)


def test_relative_places_depend_on_the_difference_alone():
    places = relative_places(3, 3).view(9, 9)
    seen: dict[tuple[int, int], int] = {}
    for a in range(9):
        for b in range(9):
            difference = (a // 3 - b // 3, a % 3 - b % 3)
            assert seen.setdefault(difference, int(places[a, b])) == int(places[a, b])
    assert sorted(seen.values()) == list(range(25))
    small = relative_places(2, 3).view(4, 4)  # a smaller window uses the middle of the same table
    assert int(small[0, 3]) == seen[-1, -1]
    assert int(small[2, 0]) == seen[1, 0]


def test_the_mask_parts_what_the_roll_brought_together():
    grid, size, shift = (6, 6), 3, 1
    mask = shift_mask(grid, size, shift)
    rolled = torch.arange(36).view(1, 6, 6).roll((-shift, -shift), dims=(1, 2))
    cells = into_windows(rolled, size)[0]
    for window in range(4):
        for a in range(9):
            for b in range(9):
                first, second = divmod(int(cells[window, a]), 6), divmod(int(cells[window, b]), 6)
                near = all(abs(x - y) < size for x, y in zip(first, second, strict=True))
                assert bool(mask[window, a, b]) == near


@pytest.mark.parametrize("shifted", [False, True])
def test_attention_stays_in_its_window(shifted):
    torch.manual_seed(3)
    attention = WindowAttention(8, 2, 4, shifted=shifted).eval()
    cells = images(1, 8, 8, 8)
    before = attention(cells)
    touched = cells.clone()
    touched[0, 5, 6] += 1.0
    changed = (attention(touched) - before).abs().sum(dim=-1)[0] > 1e-6
    rows, columns = (slice(2, 6), slice(6, 8)) if shifted else (slice(4, 8), slice(4, 8))
    wanted = torch.zeros(8, 8, dtype=torch.bool)
    wanted[rows, columns] = True
    assert torch.equal(changed, wanted)


@pytest.mark.parametrize("grid", [(8, 8), (7, 9), (3, 5), (4, 4), (1, 1), (2, 11)], ids=str)
def test_the_record_lies_over_the_grid_and_explains_the_output(grid):
    torch.manual_seed(3)
    model = torch.nn.ModuleDict({"attention": WindowAttention(8, 2, 4, shifted=True)}).eval()
    attention = model["attention"]
    cells = images(2, *grid, 8)
    with observe(model) as record:
        observed = attention(cells)
    assert_close(observed, attention(cells), atol=1e-5, rtol=1e-4)
    [found] = record.maps
    assert found.grid == grid
    assert found.kind == "window"
    size = attention.sizes(grid)[0]
    if grid[0] % size == 0 and grid[1] % size == 0:  # nothing is padded: the weights are all there is
        assert_close(found.weights.sum(dim=-1), torch.ones(2, 2, grid[0] * grid[1]))
        value = attention.query_key_value(cells)[..., 16:].view(2, -1, 2, 4).transpose(1, 2)
        mixed = (found.weights @ value).transpose(1, 2).flatten(2)
        assert_close(attention.output(mixed).view(observed.shape), observed, atol=1e-5, rtol=1e-4)


def test_merging_takes_two_by_two_cells():
    torch.manual_seed(3)
    merge = MergePatches(4, 1e-5)
    cells = images(1, 5, 4, 4)
    assert merge(cells).shape == (1, 3, 2, 8)
    other = cells.clone()
    other[0, 3, 2] += 1.0
    changed = (merge(other) - merge(cells)).abs().sum(dim=-1)[0] > 1e-6
    assert changed.nonzero().tolist() == [[1, 1]]


# --- the mixer's formula, the CNN's blocks


def test_the_mixer_is_its_formula():
    torch.manual_seed(3)
    sizes = {"patch_size": 4, "layers": 2, "width": 10, "feedforward": 14, "place_feedforward": 6, "image_size": 12}
    model = Mixer(MixerConfig(**sizes, **DATA)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    image = images(2, 3, 12, 12)
    x = model.patches(image)
    for layer in model.layers:
        normed = F.layer_norm(x, (10,), layer.place_norm.weight, layer.place_norm.bias, 1e-6)
        hidden = F.gelu(
            torch.einsum("bpd,hp->bhd", normed, layer.places.expand.weight) + layer.places.expand.bias[:, None]
        )
        x = x + torch.einsum("bhd,ph->bpd", hidden, layer.places.contract.weight) + layer.places.contract.bias[:, None]
        normed = F.layer_norm(x, (10,), layer.feature_norm.weight, layer.feature_norm.bias, 1e-6)
        hidden = F.gelu(normed @ layer.features.expand.weight.T + layer.features.expand.bias)
        x = x + hidden @ layer.features.contract.weight.T + layer.features.contract.bias
    pooled = F.layer_norm(x, (10,), model.norm.weight, model.norm.bias, 1e-6).mean(dim=1)
    assert_close(model(batch(image)), pooled @ model.project.weight.T + model.project.bias, atol=1e-5, rtol=1e-4)
    assert model.mixing_weights().shape == (2, 9, 9)


@pytest.mark.parametrize("pool", [False, True])
def test_a_cnn_halves_its_grid_and_doubles_its_width(pool):
    model = CNN(CNNConfig(width=8, stages=3, blocks=2, stem_pool=pool, **DATA)).eval()
    sizes = []
    for block in model.blocks:
        block.register_forward_hook(lambda module, given, found: sizes.append(tuple(found.shape[1:])))
    side = 31 if pool else 16  # pooling counts half a cell as one
    model(batch(images(2, 3, side, side)))
    assert sizes == [(8, 16, 16), (8, 16, 16), (16, 8, 8), (16, 8, 8), (32, 4, 4), (32, 4, 4)]


def test_the_features_of_a_cnn_are_the_mean_of_its_feature_map():
    model = CNN(CNNConfig(width=8, stages=3, blocks=1, dropout=0.5, **DATA)).eval()
    found = images(2, 3, 16, 20)
    cells = model.feature_map(found)
    assert cells.shape == (2, 32, 4, 5)
    assert_close(model.features(batch(found)), cells.flatten(2).mean(dim=2))
    torch.manual_seed(1)
    dropped = model.train().features(batch(found))
    assert (dropped == 0).any(), "dropout comes behind the mean"


def test_models_without_attention_say_why():
    assert "convolutions see the same neighbourhood" in CNN.why_no_attention
    assert "mixes places in the same way for all images" in Mixer.why_no_attention
    assert not ViT.why_no_attention
    assert not Swin.why_no_attention


# --- depth, rollout, presets


def test_stochastic_depth_leaves_whole_examples_out_and_keeps_the_mean():
    torch.manual_seed(1)
    depth = StochasticDepth(0.25)
    found = depth(torch.ones(4000, 3, 2))
    kept = found[:, 0, 0] > 0
    assert torch.equal(found, (kept / 0.75)[:, None, None].expand(-1, 3, 2))
    assert float(kept.float().mean()) == pytest.approx(0.75, abs=0.03)
    assert torch.equal(depth.eval()(torch.ones(5)), torch.ones(5))
    assert list(depth_rates(0.3, 4)) == pytest.approx([0.0, 0.1, 0.2, 0.3])
    assert list(depth_rates(0.3, 1)) == [0.0]


def test_rollout_of_layers_that_look_elsewhere():
    def layer(weights):
        return AttentionMap("", "encoder", 0, torch.tensor(weights)[None])

    identity, swap = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
    assert_close(rollout([layer(identity)] * 5), torch.eye(2))
    assert_close(rollout([layer(swap)]), torch.full((2, 2), 0.5))
    mixed = rollout([layer(swap), layer([[0.2, 0.8], [0.6, 0.4]])])
    assert_close(mixed.sum(dim=1), torch.ones(2))


PAPERS = {  # millions of parameters at 224 × 224 and 1,000 classes, as the papers (or timm) give them
    (ViT, "tiny-16"): 5.7, (ViT, "small-16"): 22.1, (ViT, "base-16"): 86.6,
    (Swin, "tiny"): 28.3, (Swin, "small"): 49.6, (Swin, "base"): 87.8,
    (Mixer, "small-16"): 18.5, (Mixer, "base-16"): 59.9,
}  # fmt: skip


@pytest.mark.parametrize(("model", "preset"), PAPERS, ids=str)
def test_presets_have_the_papers_sizes(model, preset):
    with torch.device("meta"):
        config = model.Config.parse(
            {"name": model.Config.model_fields["name"].default, "preset": preset, "image_size": 224, "channels": 3, "classes": 1000},
            "model",
        )  # fmt: skip
        count = sum(parameter.numel() for parameter in model(config).parameters())
    assert count / 1e6 == pytest.approx(PAPERS[model, preset], abs=0.1)


@pytest.mark.parametrize(("config", "options", "why"), [
    (ViTConfig, {"width": 10, "heads": 3}, "model.width .10. must be a multiple of model.heads"),
    (ViTConfig, {"image_size": 30, "patch_size": 4}, "data.size .30. must be a multiple of model.patch_size .4.; the nearest below is 28"),
    (MixerConfig, {"image_size": 30, "patch_size": 4}, "data.size .30. must be a multiple"),
    (SwinConfig, {"layers": [2, 2], "heads": [2]}, "give each stage an entry in both"),
    (SwinConfig, {"width": 10, "layers": [1, 1], "heads": [2, 3]}, "stage 2 has width 20, which is no multiple of its 3 heads"),
])  # fmt: skip
def test_sizes_that_do_not_fit_are_refused(config, options, why):
    with pytest.raises(ConfigError, match=why):
        config.parse({"name": config.model_fields["name"].default, **options}, "model")


def test_a_image_of_noise_is_finite_everywhere():
    model = Swin(SwinConfig(image_size=32, **DATA)).eval()
    assert np.isfinite(model(batch(1e3 * images(1, 3, 32, 32))).detach().numpy()).all()
