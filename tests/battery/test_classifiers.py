"""The properties of models that name a class."""

import pytest
import torch
import torch.nn.functional as F
from battery.narrow import check_products_in_bf16
from torch.testing import assert_close

from jumok.catalogue import MODELS, model_class
from jumok.nn.batch import LabelBatch
from jumok.nn.masks import padding_mask

VOCABULARY, CLASSES = 31, 5
CLASSIFIERS = [name for name in MODELS if "text-classification" in model_class(name).tasks]
VARIANTS = {
    "bert": [
        {"heads": 2, "feedforward": 13, "layers": 2},
        {"heads": 11, "norm_position": "pre", "positions": "sinusoidal"},
    ],
    "recurrent-classifier": [{}, {"cell": "lstm", "layers": 2}, {"cell": "rnn", "bidirectional": False}],
}
CASES = [(name, changes) for name in CLASSIFIERS for changes in VARIANTS[name]]


@pytest.fixture(params=CASES, ids=str)
def model(request):
    name, changes = request.param
    torch.manual_seed(5)
    built = model_class(name)
    return built(built.Config(width=22, vocabulary=VOCABULARY, classes=CLASSES, dropout=0.0, **changes)).eval()


def make_batch(lengths=(7, 5, 3), extra=0) -> LabelBatch:
    mask = padding_mask(torch.tensor(lengths), max(lengths) + extra)
    source = torch.randint(4, VOCABULARY, (len(lengths), 7), generator=torch.Generator().manual_seed(3))
    return LabelBatch(F.pad(source, (0, extra))[:, : mask.shape[1]] * mask, mask, torch.arange(len(lengths)) % CLASSES)


def test_padding_changes_nothing(model):
    assert_close(model(make_batch()), model(make_batch(extra=4)))
    batch = make_batch()
    noise = LabelBatch(batch.source + 11 * ~batch.source_mask, batch.source_mask, batch.labels)
    assert_close(model(noise), model(batch))


def test_a_batch_of_one_equals_a_batch_of_many(model):
    batch = make_batch()
    alone = LabelBatch(batch.source[1:2, :5], batch.source_mask[1:2, :5], batch.labels[1:2])
    assert_close(model(alone)[0], model(batch)[1])


def test_forward_is_the_projection_of_the_features(model):
    assert_close(model(make_batch()), model.project(model.features(make_batch())))


def test_every_parameter_gets_a_gradient_and_a_batch_is_learnt_by_heart(model):
    model.train()
    batch = make_batch()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch), batch.labels)
        loss.backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
        optimizer.step()
    assert loss < 0.1


def test_products_in_bf16_change_little(model):
    model.train()
    batch = make_batch()
    check_products_in_bf16(model, lambda: F.cross_entropy(model(batch), batch.labels))


def test_word_order_matters(model):
    batch = make_batch((7,))
    flipped = LabelBatch(batch.source.flip(1), batch.source_mask, batch.labels)
    assert not torch.allclose(model(batch), model(flipped), atol=1e-4)
