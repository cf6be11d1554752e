"""The vocabulary loss against torch's cross-entropy: values, gradients, chunks, extremes."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from jumok.native import kernels as native
from jumok.nn.precision import products
from jumok.tasks import losses
from jumok.tasks.losses import vocabulary_loss

N, D, V = 13, 7, 29


@pytest.fixture
def project():
    torch.manual_seed(3)
    linear = nn.Linear(D, V)
    nn.init.normal_(linear.bias)
    return linear


def data(scale=1.0, dtype=torch.float32, count=N):
    generator = torch.Generator().manual_seed(5)
    features = (scale * torch.randn(count, D, generator=generator, dtype=dtype)).requires_grad_()
    return features, torch.randint(V, (count,), generator=generator)


def gradients(total, features, project):
    return torch.autograd.grad(total, [features, project.weight, project.bias])


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("elements", [1, V, 3 * V, 5 * V + 1, N * V, 1 << 19])
def test_value_and_gradients_equal_torchs(smoothing, elements, project, monkeypatch):
    """Chunks of 1, 1, 3, 5 and 13 rows, and one that is larger than the data."""
    monkeypatch.setattr(losses, "CHUNK_ELEMENTS", elements)
    features, targets = data()
    total, plain = vocabulary_loss(features, project, targets, smoothing=smoothing)
    logits = project(features)
    wanted = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    assert_close(total, wanted, rtol=1e-5, atol=1e-5)
    assert_close(plain, F.cross_entropy(logits, targets, reduction="sum"), rtol=1e-5, atol=1e-5)
    for ours, theirs in zip(gradients(total, features, project), gradients(wanted, features, project), strict=True):
        assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_gradients_scale_with_what_comes_after(project):
    features, targets = data()
    once = gradients(vocabulary_loss(features, project, targets)[0], features, project)
    scaled = gradients(vocabulary_loss(features, project, targets)[0] * -2.5, features, project)
    for ours, theirs in zip(scaled, once, strict=True):
        assert_close(ours, -2.5 * theirs)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_are_right_in_double_precision(smoothing, project, monkeypatch):
    monkeypatch.setattr(losses, "CHUNK_ELEMENTS", 2 * V)
    features, targets = data(dtype=torch.float64, count=5)
    project = project.double()

    def total(features, weight, bias):
        linear = nn.Linear(D, V)
        del linear.weight, linear.bias
        linear.weight, linear.bias = weight, bias
        return vocabulary_loss(features, linear, targets, smoothing=smoothing)[0]

    assert torch.autograd.gradcheck(total, (features, project.weight, project.bias))


@pytest.mark.parametrize("scale", [1e4, 1e30])
def test_extreme_logits_stay_finite(scale, project):
    with torch.no_grad():
        project.weight.zero_()
        project.bias.copy_(torch.linspace(-1, 1, V) * scale)
    features, _ = data()
    for targets in (torch.zeros(N, dtype=torch.int64), torch.full((N,), V - 1)):
        total, plain = vocabulary_loss(features, project, targets, smoothing=0.1)
        wanted = F.cross_entropy(project(features), targets, reduction="sum")
        assert_close(plain, wanted)
        assert total.isfinite()
        assert all(gradient.isfinite().all() for gradient in gradients(total, features, project))


def test_logits_that_are_all_alike_cost_the_log_of_the_vocabulary(project):
    for value in (-1e4, 0.0, 1e4):
        with torch.no_grad():
            project.weight.zero_()
            project.bias.fill_(value)
        features, targets = data()
        _, plain = vocabulary_loss(features, project, targets)
        assert float(plain) == pytest.approx(N * torch.tensor(V).log().item(), rel=1e-3)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_an_evaluation_gets_the_value_and_makes_no_gradients(mode, project, monkeypatch):
    features, targets = data()
    wanted, _ = vocabulary_loss(features, project, targets)
    made = []
    monkeypatch.setattr(torch, "zeros_like", lambda tensor: made.append(tensor))
    with mode():
        total, _ = vocabulary_loss(features, project, targets)
    assert_close(total, wanted.detach())
    assert not total.requires_grad
    assert not made, "gradients were computed for nobody"


def test_frozen_weights_leave_the_features_their_gradient(project):
    features, targets = data()
    wanted = gradients(vocabulary_loss(features, project, targets)[0], features, project)[0]
    project.requires_grad_(False)
    vocabulary_loss(features, project, targets)[0].backward()
    assert_close(features.grad, wanted)


def test_no_tokens_at_all_cost_nothing(project):
    features, targets = data(count=0)
    total, plain = vocabulary_loss(features, project, targets)
    assert total.item() == plain.item() == 0.0
    assert all(gradient.eq(0).all() for gradient in gradients(total, features, project))


@pytest.mark.parametrize("weighted", [False, True])
def test_with_products_in_bf16_the_sums_are_in_fp32(project, weighted):
    features, targets = data()
    weights = torch.linspace(0.5, 2, len(targets)) if weighted else None
    rounded = copy.deepcopy(project)
    with torch.no_grad():
        rounded.weight.copy_(project.weight.bfloat16())
    wanted, _ = vocabulary_loss(features.bfloat16().float(), rounded, targets, smoothing=0.1, weights=weights)
    with products("bf16"):
        total, plain = vocabulary_loss(features, project, targets, smoothing=0.1, weights=weights)
    assert total.dtype == plain.dtype == torch.float32
    assert_close(total, wanted, rtol=3e-3, atol=0)
    ours = gradients(total, features, project)
    theirs = gradients(wanted, features, rounded)
    for own, other in zip(ours, theirs, strict=True):
        assert own.dtype == torch.float32
        assert torch.cosine_similarity(own.flatten(), other.flatten(), dim=0) > 0.999


def test_a_tied_table_gets_both_gradients():
    """The projection's weight is the embedding's: what comes from each side adds up."""
    table, targets = nn.Embedding(V, D), data()[1]
    project = nn.Linear(D, V)
    project.weight = table.weight
    tokens = targets.flip(0)
    vocabulary_loss(table(tokens), project, targets)[0].backward()
    ours, table.weight.grad = table.weight.grad, None
    F.cross_entropy(project(table(tokens)), targets, reduction="sum").backward()
    assert_close(ours, table.weight.grad, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_in_c_as_in_torch(monkeypatch, bias, smoothing):
    if native.kernels() is None:
        pytest.skip("no C compiler: torch does it all")
    found = []
    for served in (True, False):
        if not served:
            monkeypatch.setattr(losses.native, "serves", lambda logits: False)
        torch.manual_seed(5)
        features = (4 * torch.randn(70, 6)).requires_grad_()
        project = nn.Linear(6, 90, bias=bias)
        targets = torch.randint(0, 90, (70,))
        total, plain = losses.vocabulary_loss(features, project, targets, smoothing=smoothing)
        (3 * total).backward()
        found.append([total.detach(), plain, features.grad, *(parameter.grad for parameter in project.parameters())])
    for ours, theirs in zip(*found, strict=True):
        assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("elements", [1, 1 << 19])
def test_weights_are_those_of_each_target(smoothing, elements, project, monkeypatch):
    monkeypatch.setattr(losses, "CHUNK_ELEMENTS", elements)
    features, targets = data()
    weights = torch.linspace(-2, 1, N)
    total, plain = vocabulary_loss(features, project, targets, smoothing=smoothing, weights=weights)
    each = F.cross_entropy(project(features), targets, label_smoothing=smoothing, reduction="none")
    assert_close(total, (each * weights).sum(), rtol=1e-5, atol=1e-5)
    assert_close(plain, F.cross_entropy(project(features), targets, reduction="sum"), rtol=1e-5, atol=1e-5)
    wanted = gradients((each * weights).sum(), features, project)
    for ours, theirs in zip(gradients(total, features, project), wanted, strict=True):
        assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
