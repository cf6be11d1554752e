"""The properties that every drawer must have: text first, then the codes of an image."""

import pytest
import torch
from battery.narrow import check_products_in_bf16
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from jumok.catalogue import MODELS, model_class
from jumok.decoding.guidance import Guided
from jumok.inspection.observe import observe
from jumok.nn.batch import DrawingBatch
from jumok.nn.masks import padding_mask
from jumok.tasks.losses import vocabulary_loss
from jumok.training.average import load_tensors, model_tensors

CLOSE = {"atol": 1e-5, "rtol": 1e-4}
VOCABULARY, CODES, ROWS, COLUMNS = 29, 23, 3, 5
DRAWERS = [name for name in MODELS if "text-to-image" in model_class(name).tasks]
SIZES = {"dalle": {"layers": 2, "width": 22, "heads": 2, "feedforward": 13, "dropout": 0.0}}
VARIANTS = {
    "dalle": {
        "default": {},
        "post-norm": {"norm_position": "post", "activation": "relu"},
        "no feed-forward": {"feedforward": 0, "layers": 3},
    },
}
CASES = [(name, variant) for name in DRAWERS for variant in VARIANTS[name]]


def make_model(name, variant, **changes):
    torch.manual_seed(5)
    built = model_class(name)
    sizes = {"vocabulary": VOCABULARY, "code_count": CODES, "rows": ROWS, "columns": COLUMNS, "longest_text": 11}
    config = built.Config(name=name, codes="anywhere", **sizes | SIZES[name] | VARIANTS[name][variant] | changes)
    model = built(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(std=0.3)  # larger than at the start, so that what differs shows
    return model


def make_batch(lengths=(7, 5, 3), extra=0, seed=3):
    """Return random texts, their start and end included, and codes; extra adds columns of padding to the texts."""
    generator = torch.Generator().manual_seed(seed)
    text = torch.randint(4, VOCABULARY, (len(lengths), max(lengths)), generator=generator)
    codes = torch.randint(0, CODES, (len(lengths), ROWS * COLUMNS), generator=generator)
    mask = padding_mask(torch.tensor(lengths), max(lengths) + extra)
    return DrawingBatch(torch.nn.functional.pad(text, (0, extra)) * mask, mask, codes)


def inputs_of(model, batch):
    """Return what is written to draw a batch's codes."""
    begin = batch.codes.new_full((len(batch), 1), model.begin)
    return torch.cat([begin, batch.codes[:, :-1]], dim=1)


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}, {case[1]}")
def case(request):
    return request.param


@pytest.fixture
def model(case):
    return make_model(*case)


def test_forward_is_the_projection_of_what_the_image_is_told_from(model):
    batch = make_batch()
    of_text, of_image = model.text_and_image(batch)
    assert model(batch).shape == (3, ROWS * COLUMNS, CODES)
    assert_close(model(batch), model.project(of_image))
    assert model.project_text(of_text).shape == (3, 6, VOCABULARY)
    assert (model.grid, model.limit) == ((ROWS, COLUMNS), ROWS * COLUMNS)


def test_padding_and_what_stands_in_it_change_nothing(model):
    tight, loose = make_batch(), make_batch(extra=4)
    assert_close(model(loose), model(tight), **CLOSE)
    noise = DrawingBatch(tight.text + 5 * ~tight.text_mask, tight.text_mask, tight.codes)
    assert_close(model(noise), model(tight), **CLOSE)
    text, padded = model.text_and_image(tight)[0], model.text_and_image(loose)[0]
    told = tight.text_mask[:, 1:]
    assert_close(padded[:, :6][told], text[told], **CLOSE)


def test_a_batch_of_one_equals_a_batch_of_many(model):
    many = make_batch()
    one = DrawingBatch(many.text[1:2, :5], many.text_mask[1:2, :5], many.codes[1:2])
    assert_close(model(one)[0], model(many)[1], **CLOSE)


def test_no_code_sees_a_later_one_and_no_word_sees_the_image(model):
    batch = make_batch()
    changed = batch.codes.clone()
    changed[:, 6:] = (changed[:, 6:] + 1) % CODES
    other = DrawingBatch(batch.text, batch.text_mask, changed)
    before, after = model(batch), model(other)
    assert_close(after[:, :7], before[:, :7], **CLOSE)  # the seventh is told from six
    assert (after[:, 7:] - before[:, 7:]).abs().amax(dim=(1, 2)).min() > 1e-3
    told = batch.text_mask[:, 1:]
    assert_close(model.text_and_image(other)[0][told], model.text_and_image(batch)[0][told], **CLOSE)


def test_every_word_matters_to_every_code(model):
    batch = make_batch((6, 6))
    for place in range(6):
        text = batch.text.clone()
        text[:, place] = (text[:, place] + 1) % VOCABULARY
        after = model(DrawingBatch(text, batch.text_mask, batch.codes))
        assert bool(((after - model(batch)).abs().amax(dim=2) > 1e-6).all())


def test_rows_and_columns_tell_cells_apart(model):
    """The same code in every cell: without positions each would be told the same of the next."""
    batch = make_batch()
    same = DrawingBatch(batch.text, batch.text_mask, torch.full_like(batch.codes, 7))
    with torch.no_grad():
        model.row.zero_()
        columns = model(same)
        model.column.zero_()
        nowhere = model(same)
    assert not torch.allclose(columns[:, 2], columns[:, 3], atol=1e-3)
    assert not torch.allclose(columns[:, 2], nowhere[:, 2], atol=1e-3)


def test_stepping_with_a_cache_matches_the_full_forward(model):
    batch = make_batch()
    for grad in (True, False):  # with gradients layers are called as they stand, without them the lean way
        with torch.set_grad_enabled(grad):
            full, state = model(batch), model.start(model.encode(batch))
            tokens = inputs_of(model, batch)
            for place in range(ROWS * COLUMNS):
                logits, state = model.extend(tokens[:, place : place + 1], state)
                assert_close(logits[:, 0], full[:, place], **CLOSE)


def test_given_codes_can_be_read_at_once_or_in_parts(model):
    batch = make_batch()
    full, state, tokens = model(batch), model.start(model.encode(batch)), inputs_of(model, batch)
    first, state = model.extend(tokens[:, :4], state)
    second, state = model.extend(tokens[:, 4:], state)
    assert_close(torch.cat([first, second], dim=1), full, **CLOSE)


def test_selected_and_joined_drawings_go_on_as_if_alone(model):
    old, new = make_batch(), make_batch((4, 8), seed=11)
    state = model.start(model.encode(old))
    _, state = model.extend(inputs_of(model, old)[:, :6], state)
    state = state.select(torch.tensor([2, 0, 0])).join(model.start(model.encode(new)))
    tokens = torch.cat([inputs_of(model, old)[[2, 0, 0], 6:9], inputs_of(model, new)[:, :3]])
    logits, state = model.extend(tokens, state)
    assert state.rows == 5
    assert_close(logits[:3], model(old)[[2, 0, 0], 6:9], **CLOSE)
    assert_close(logits[3:], model(new)[:, :3], **CLOSE)


def test_observed_equals_plain_and_rows_sum_to_one(model):
    batch = make_batch()
    plain = model(batch)
    with observe(model) as record:
        observed = model(batch)
    assert_close(observed, plain, **CLOSE)
    assert len(record.maps) == model.config.layers
    for found in record.maps:
        assert_close(found.weights.sum(dim=-1), torch.ones(found.weights.shape[:-1]))


@pytest.mark.parametrize("scale", [0.0, 1.0, 2.5])
def test_guidance_pushes_away_from_what_no_text_would_draw(model, scale):
    batch = make_batch((7, 7))
    nothing = torch.full_like(batch.text, 3)  # stands for the empty text
    given, without = model(batch), model(DrawingBatch(nothing, batch.text_mask, batch.codes))
    mask, codes = torch.cat([batch.text_mask, batch.text_mask[:1]]), torch.cat([batch.codes, batch.codes[:1]])
    both = DrawingBatch(torch.cat([batch.text, nothing[:1]]), mask, codes)  # the empty text once, at the end
    guided = Guided(model, scale)
    state = guided.start(guided.encode(both))
    tokens = inputs_of(model, batch)
    first, state = guided.extend(tokens[:, :4], state)
    wanted = without + scale * (given - without)
    assert_close(first, wanted[:, :4], **CLOSE)
    state = state.select(torch.tensor([1, 0, 1]))
    second, state = guided.extend(tokens[[1, 0, 1], 4:9], state)
    assert state.rows == 3
    assert_close(second, wanted[[1, 0, 1], 4:9], **CLOSE)
    joined = state.join(guided.start(guided.encode(both)))
    rows = torch.cat([tokens[[1, 0, 1], 9:11], tokens[:, :2]])
    third, _ = guided.extend(rows, joined)
    assert_close(third, torch.cat([wanted[[1, 0, 1], 9:11], wanted[:, :2]]), **CLOSE)


def loss_of(model, batch):
    of_text, of_image = model.text_and_image(batch)
    image, _ = vocabulary_loss(of_image.flatten(0, 1), model.project, batch.codes.flatten())
    told = batch.text_mask[:, 1:]
    text, _ = vocabulary_loss(of_text[told], model.project_text, batch.text[:, 1:][told])
    return image + text


def test_every_parameter_gets_a_gradient(model):
    loss_of(model.train(), make_batch((13, 5, 3))).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0 or name.endswith("bias"), name


def test_products_in_bf16_change_little(model):
    model.train()
    check_products_in_bf16(model, lambda: loss_of(model, make_batch((13, 5, 3))))


def test_gradients_of_parts_add_up_to_the_gradient_of_the_whole(model):
    whole = make_batch((7, 5, 3, 6))
    loss_of(model.train(), whole).backward()
    wanted = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    for number in range(3):
        loss_of(model, whole.part(number, 3)).backward()
    for name, parameter in model.named_parameters():
        assert_close(parameter.grad, wanted[name], atol=1e-3, rtol=1e-3, msg=lambda text, name=name: f"{name}: {text}")


def test_one_batch_can_be_learnt_by_heart(case):
    torch.manual_seed(2)
    model, batch = make_model(*case, width=44).train(), make_batch()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        if loss / (batch.codes.numel() + int(batch.text_mask[:, 1:].sum())) < 0.1:
            return
        loss.backward()
        optimizer.step()
    pytest.fail(f"a loss of {loss:.3f} after 150 steps")


def test_saved_and_loaded_weights_draw_the_same(case, model, tmp_path):
    save_file({name: value.contiguous() for name, value in model_tensors(model).items()}, tmp_path / "w.safetensors")
    other = make_model(*case)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1.0)
    load_tensors(other, load_file(tmp_path / "w.safetensors"))
    assert torch.equal(other(make_batch()), model(make_batch()))
