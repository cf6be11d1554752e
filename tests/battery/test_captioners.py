"""The properties that every captioner must have, whatever its encoder, its cell and its attention."""

import pytest
import torch
from battery.narrow import check_products_in_bf16
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from jumok.config import DecodingConfig
from jumok.decoding.engine import generate
from jumok.decoding.requests import Request
from jumok.errors import ConfigError
from jumok.inspection.observe import observe
from jumok.models.captioner import Captioner, CaptionerConfig, RecurrentCaptioner, TransformerCaptioner
from jumok.nn.batch import CaptionBatch
from jumok.nn.masks import padding_mask
from jumok.tasks.losses import vocabulary_loss
from jumok.tasks.writing import MARKS
from jumok.training.average import load_tensors, model_tensors

CLOSE = {"atol": 1e-5, "rtol": 1e-4}
VOCABULARY, MAP_WIDTH, GRID = 29, 11, (3, 5)
FROZEN = {"name": "efficientnet-lite0"}
OWN = {"name": "cnn", "width": 8, "stages": 2, "blocks": 1}
RECURRENT = {"decoder": "recurrent", "width": 22, "embedding_width": 13}
TRANSFORMER = {"decoder": "transformer", "layers": 2, "width": 22, "heads": 2, "feedforward": 17}
VARIANTS = {
    "tell": RECURRENT | {"attention": "none"},
    "tell, gru of two layers": RECURRENT | {"attention": "none", "cell": "gru", "layers": 2, "tied": False},
    "attend": RECURRENT | {"attention": "mlp"},
    "attend, dot": RECURRENT | {"attention": "dot", "gate": False, "layers": 2},
    "attend, bilinear": RECURRENT | {"attention": "bilinear", "cell": "gru"},
    "attend, without positions": RECURRENT | {"attention": "mlp", "cell_positions": "none", "cell": "rnn"},
    "attend, own encoder": RECURRENT | {"attention": "mlp", "encoder": OWN},
    "transformer": TRANSFORMER,
    "transformer, post-norm": TRANSFORMER | {"norm_position": "post", "tied": False},
    "transformer, own encoder": TRANSFORMER | {"encoder": OWN},
}
BLIND = {"tell", "tell, gru of two layers"}  # one vector of the image has nothing to show


def make_model(variant: str, **changes):
    torch.manual_seed(5)
    sizes = {"vocabulary": VOCABULARY, "map_width": MAP_WIDTH, "image_size": 12, "channels": 3}
    options = {"encoder": FROZEN, "dropout": 0.0} | sizes | VARIANTS[variant] | changes
    return Captioner(CaptionerConfig(**options)).eval()


def make_batch(lengths=(6, 4, 2), *, extra=0, seed=3) -> CaptionBatch:
    """Return random captions of random images, as pixels and as maps; extra adds columns of padding."""
    generator = torch.Generator().manual_seed(seed)
    rows, longest = len(lengths), max(lengths)
    tokens = torch.randint(4, VOCABULARY, (rows, longest + 1), generator=generator)
    mask = padding_mask(torch.tensor(lengths), longest + extra)
    inputs, targets = (torch.nn.functional.pad(part, (0, extra)) * mask for part in (tokens[:, :-1], tokens[:, 1:]))
    images = torch.randn(rows, 3, 12, 12, generator=generator)
    maps = torch.randn(rows, *GRID, MAP_WIDTH, generator=generator).half()
    return CaptionBatch(inputs, targets, mask, images, maps, torch.arange(rows))


@pytest.fixture(params=VARIANTS)
def variant(request):
    return request.param


@pytest.fixture
def model(variant):
    return make_model(variant)


def test_the_decoder_decides_the_class(variant, model):
    kind = TransformerCaptioner if model.config.decoder == "transformer" else RecurrentCaptioner
    assert type(model) is kind
    assert model.attends_to_source == (variant not in BLIND)


def test_forward_is_the_projection_of_the_features(model):
    batch = make_batch()
    assert model(batch).shape == (3, 6, VOCABULARY)
    assert_close(model(batch), model.project(model.features(batch)))


def test_padding_changes_nothing(model):
    tight, loose = make_batch(), make_batch(extra=4)
    assert_close(model(tight)[tight.target_mask], model(loose)[loose.target_mask], **CLOSE)


def test_a_batch_of_one_equals_a_batch_of_many(model):
    many = make_batch()
    assert_close(model(many.part(1, 3))[0, :4], model(many)[1, :4], **CLOSE)


def test_no_output_sees_a_later_word(model):
    batch = make_batch((6, 6))
    changed = batch.inputs.clone()
    changed[:, 4:] = 5
    before = model(batch)
    after = model(CaptionBatch(changed, batch.targets, batch.target_mask, batch.images, batch.feature_map))
    assert_close(before[:, :4], after[:, :4], **CLOSE)
    assert not torch.equal(before[:, 4:], after[:, 4:])


def test_the_image_matters_from_the_first_word_on(model):
    batch, other = make_batch((6, 6)), make_batch((6, 6), seed=4)
    swapped = CaptionBatch(batch.inputs, batch.targets, batch.target_mask, other.images, other.feature_map)
    assert not torch.allclose(model(batch)[:, 0], model(swapped)[:, 0], atol=1e-4)


def test_stepping_with_a_cache_matches_the_full_forward(model):
    batch = make_batch((6, 6, 6))
    full, state = model(batch), model.start(model.encode(batch))
    for place in range(6):
        logits, state = model.extend(batch.inputs[:, place : place + 1], state)
        assert_close(logits[:, 0], full[:, place], **CLOSE)


def test_selected_rows_go_on_as_if_alone(model):
    batch = make_batch((6, 6, 6))
    full, state = model(batch), model.start(model.encode(batch))
    _, state = model.extend(batch.inputs[:, :3], state)
    for rows in ([0, 0, 1, 1, 2, 2], [1, 0, 3, 2, 5, 4], [0, 1, 4, 5], [3, 0, 1]):
        state = state.select(torch.tensor(rows))
    owners = torch.tensor([2, 0, 0])
    logits, _ = model.extend(batch.inputs[owners, 3:5], state)
    assert_close(logits, full[owners, 3:5], **CLOSE)


def test_rows_of_different_lengths_go_on_together(model):
    old, new = make_batch((6, 6)), make_batch((6, 6, 6), seed=11)
    state = model.start(model.encode(old))
    _, state = model.extend(old.inputs[:, :3], state)
    state = state.join(model.start(model.encode(new)))
    tokens = torch.cat([old.inputs[:, 3:5], new.inputs[:, :2]])
    logits, _ = model.extend(tokens, state)
    assert_close(logits[:2], model(old)[:, 3:5], **CLOSE)
    assert_close(logits[2:], model(new)[:, :2], **CLOSE)


def test_observed_equals_plain_and_maps_are_words_by_cells(variant, model):
    batch = make_batch()
    with torch.inference_mode():
        plain = model(batch)
        with observe(model) as record:
            watched = model(batch)
    assert_close(watched, plain, **CLOSE)
    looking = [found for found in record.maps if found.kind in ("recurrent", "cross")]
    assert bool(looking) == (variant not in BLIND)
    cells = GRID[0] * GRID[1] if model.encoder is None else 36
    for found in looking:
        assert found.weights.shape[2:] == (6, cells)
        assert_close(found.weights.sum(dim=-1), torch.ones(found.weights.shape[:-1]), **CLOSE)


@pytest.mark.parametrize("variant", VARIANTS)
def test_products_in_bf16_change_little(variant):
    model, batch = make_model(variant).train(), make_batch()
    mask = batch.target_mask
    check_products_in_bf16(
        model, lambda: vocabulary_loss(model.features(batch)[mask], model.project, batch.targets[mask])[0]
    )


def test_every_parameter_gets_a_gradient_and_one_batch_can_be_learnt_by_heart(variant):
    model, batch = make_model(variant).train(), make_batch()
    rate = 3e-3 if model.config.decoder == "transformer" else 1e-2
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    mask = batch.target_mask
    for step in range(150):
        total, _ = vocabulary_loss(model.features(batch)[mask], model.project, batch.targets[mask])
        optimizer.zero_grad()
        total.backward()
        if step == 0:
            missing = [name for name, parameter in model.named_parameters() if parameter.grad is None]
            assert not missing
        optimizer.step()
        if float(total.detach()) / int(mask.sum()) < 0.1:
            return
    pytest.fail(f"a loss of {float(total.detach()) / int(mask.sum()):.3f} after 150 steps")


def test_saved_and_loaded_weights_say_the_same(variant, model, tmp_path):
    save_file(
        {name: value.contiguous() for name, value in model_tensors(model).items()}, tmp_path / "weights.safetensors"
    )
    torch.manual_seed(99)
    fresh = make_model(variant, dropout=0.3).eval()
    load_tensors(fresh, load_file(tmp_path / "weights.safetensors"))
    assert_close(fresh(make_batch()), model(make_batch()))


def search(model, batch, **options):
    requests = [Request(number, 5) for number in range(len(batch))]
    return generate(
        model,
        requests,
        collate=lambda numbers: batch._each(lambda value: value[list(numbers)]),
        options=DecodingConfig(**options),
        marks=MARKS,
    )


def test_beam_1_is_greedy_and_the_search_score_is_the_rescoring(model):
    batch = make_batch((6, 6, 6))
    with torch.inference_mode():
        greedy = search(model, batch, beam=1, max_length=7)
        memory = model.start(model.encode(batch))
        tokens = torch.full((3, 1), MARKS.start)
        for place in range(len(greedy[0][0].tokens)):
            logits, memory = model.extend(tokens, memory)
            logits[..., [MARKS.start, MARKS.pad]] = -torch.inf
            tokens = logits[:, -1:].argmax(dim=2)
            assert int(tokens[0]) == greedy[0][0].tokens[place]
        for number, found in enumerate(search(model, batch, beam=3, max_length=7)):
            ids = found[0].tokens + ([MARKS.end] if found[0].finished else [])
            inputs = torch.tensor([[MARKS.start, *ids[:-1]]])
            row = batch.part(number, 3)
            alone = CaptionBatch(inputs, inputs, inputs > -1, row.images, row.feature_map)
            scored = model(alone)[0].log_softmax(dim=1)[range(len(ids)), ids].sum()
            assert_close(float(scored), found[0].log_probability, atol=1e-4, rtol=1e-4)


def test_where_all_words_look_is_told_where_the_doubly_stochastic_term_wants_it(variant, model):
    features, weights = model.features_and_weights(make_batch())
    assert_close(features, model.features(make_batch()))
    assert (weights is None) == (variant in BLIND or model.config.decoder == "transformer")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decoder": "transformer", "width": 22, "heads": 3}, "model.width"),
        ({"decoder": "transformer", "doubly_stochastic": 1.0}, "is for decoder = 'recurrent'"),
        ({"attention": "none", "doubly_stochastic": 1.0}, "needs an attention"),
        ({"encoder": {"name": "run"}}, "go together"),
        ({"encoder": {"name": "cnn", "finetune": True}}, "always trained"),
        ({"encoder": "resnet"}, "efficientnet-lite0"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        CaptionerConfig.parse({"name": "captioner", **options}, "model")
