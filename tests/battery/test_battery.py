"""The properties that every model must have."""

import pytest
import torch
from battery.conftest import BLIND, HANDICAPPED, MIXES_EXAMPLES, VARIANTS, WIDER, make_batch, make_model
from battery.narrow import check_products_in_bf16
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from jumok.inspection.observe import observe
from jumok.nn.batch import PairBatch
from jumok.tasks.losses import vocabulary_loss
from jumok.training.average import load_tensors, model_tensors

CLOSE = {"atol": 1e-5, "rtol": 1e-4}


def real(logits, batch):
    return logits[batch.target_mask]


def test_the_tables_of_both_sides_are_the_models_own(case, model):
    tables, parameters = model.embedding_tables, {id(parameter) for parameter in model.parameters()}
    assert {side: table.num_embeddings for side, table in tables.items()} == {"source": 31, "target": 29}
    assert all(id(table.weight) in parameters for table in tables.values())
    shared = make_model(*case, source_vocabulary=29, shared_embeddings=True).embedding_tables
    assert shared["source"] is shared["target"]


def test_parameters_are_counted_and_nobody_watches_a_model_that_answers(model):
    assert model.parameter_count == sum(parameter.numel() for parameter in model.parameters())
    assert model.device == torch.device("cpu")
    assert model.watched, "gradients are on"
    with torch.inference_mode():
        assert not model.watched
        with observe(model):
            assert model.watched
        assert model.train().watched


def test_forward_is_the_projection_of_the_features(model):
    batch = make_batch()
    assert_close(model(batch), model.project(model.features(batch)))


def test_padding_changes_nothing(model):
    with torch.no_grad():
        tight, loose = make_batch(), make_batch(extra=4)
        assert_close(real(model(tight), tight), real(model(loose), loose), **CLOSE)


def test_what_stands_in_padding_changes_nothing(model):
    batch = make_batch()
    noise = batch.source + 11 * ~batch.source_mask
    other = PairBatch(noise, batch.source_mask, batch.inputs, batch.targets, batch.target_mask)
    assert (noise != batch.source).any()
    assert_close(real(model(other), batch), real(model(batch), batch), **CLOSE)


def test_a_batch_of_one_equals_a_batch_of_many(model):
    many, one = make_batch(), make_batch((5,), (4,))
    one = PairBatch(many.source[1:2, :5], one.source_mask, many.inputs[1:2, :4], many.targets[1:2, :4], one.target_mask)
    assert_close(model(one)[0], model(many)[1, :4], **CLOSE)


def test_no_output_sees_a_later_input(model):
    batch = make_batch((7, 7), (6, 6))
    changed = batch.inputs.clone()
    changed[:, 4:] = 5
    other = PairBatch(batch.source, batch.source_mask, changed, batch.targets, batch.target_mask)
    before, after = model(batch), model(other)
    assert_close(before[:, :4], after[:, :4], **CLOSE)
    assert not torch.equal(before[:, 4:], after[:, 4:])


def test_stepping_with_a_cache_matches_the_full_forward(model):
    batch = make_batch((7, 5, 3), (6, 6, 6))
    full, state = model(batch), model.start(model.encode(batch))
    for place in range(6):
        logits, state = model.extend(batch.inputs[:, place : place + 1], state)
        assert_close(logits[:, 0], full[:, place], **CLOSE)


def test_a_prefix_can_be_read_at_once_or_in_parts(model):
    batch = make_batch((7, 5, 3), (6, 6, 6))
    full, state = model(batch), model.start(model.encode(batch))
    first, state = model.extend(batch.inputs[:, :2], state)
    second, state = model.extend(batch.inputs[:, 2:], state)
    assert_close(torch.cat([first, second], dim=1), full, **CLOSE)


def test_selected_rows_go_on_as_if_alone(model):
    """Reordering, repeating and dropping rows, as a beam search does, must carry each row's own past along."""
    batch = make_batch((7, 5, 3), (6, 6, 6))
    full, state = model(batch), model.start(model.encode(batch))
    _, state = model.extend(batch.inputs[:, :3], state)
    for rows in ([0, 0, 1, 1, 2, 2], [1, 0, 3, 2, 5, 4], [0, 1, 4, 5], [3, 0, 1]):
        owners = torch.tensor(rows)
        state = state.select(owners)
    # After the four selections the rows belong to sentences 2, 0, 0.
    owners = torch.tensor([2, 0, 0])
    logits, state = model.extend(batch.inputs[owners, 3:5], state)
    assert state.rows == 3
    assert_close(logits, full[owners, 3:5], **CLOSE)


def test_rows_of_different_lengths_go_on_together(model):
    """Waiting sentences join while others are half written."""
    old, new = make_batch((7, 5), (6, 6)), make_batch((3, 8, 2), (6, 6, 6), seed=11)
    state = model.start(model.encode(old))
    _, state = model.extend(old.inputs[:, :3], state)
    state = state.join(model.start(model.encode(new)))
    tokens = torch.cat([old.inputs[:, 3:4], new.inputs[:, :1]])
    logits, state = model.extend(tokens, state)
    assert_close(logits[:2, 0], model(old)[:, 3], **CLOSE)
    assert_close(logits[2:, 0], model(new)[:, 0], **CLOSE)
    state = state.select(torch.tensor([4, 1, 3]))
    tokens = torch.stack([new.inputs[2, 1:3], old.inputs[1, 4:6], new.inputs[1, 1:3]])
    logits, state = model.extend(tokens, state)
    assert_close(logits[0], model(new)[2, 1:3], **CLOSE)
    assert_close(logits[1], model(old)[1, 4:6], **CLOSE)
    assert_close(logits[2], model(new)[1, 1:3], **CLOSE)


def test_observed_equals_plain_and_rows_sum_to_one(case, model):
    batch = make_batch()
    plain = model(batch)
    with observe(model) as record:
        observed = model(batch)
    assert_close(real(observed, batch), real(plain, batch), **CLOSE)
    assert bool(record.maps) == (case[1] not in BLIND)
    for found in record.maps:
        assert_close(found.weights.sum(dim=-1), torch.ones(found.weights.shape[:-1]))
        assert dict(model.named_modules())[found.path] is not None
    cross = record.of_kind("cross") or record.of_kind("recurrent")
    for found in cross:
        assert (found.weights[1, :, :, 5:] == 0).all(), "padding must get no weight"


def test_the_fast_path_comes_back_after_an_exception(model):
    batch = make_batch()
    with pytest.raises(ZeroDivisionError), observe(model) as record:
        raise ZeroDivisionError
    model(batch)
    assert record.maps == []


def test_observing_steps_gives_a_row_for_each_hypothesis(model):
    batch = make_batch((7, 5), (6, 6))
    state = model.start(model.encode(batch)).select(torch.tensor([0, 0, 1, 1]))
    with observe(model) as record:
        model.extend(batch.inputs[[0, 0, 1, 1], :1], state)
    with observe(model) as whole:
        model(batch)
    for kind in ("cross", "recurrent"):
        pairs = zip(record.of_kind(kind), whole.of_kind(kind), strict=True)
        for step, full in pairs:
            assert_close(step.weights[:, :, 0], full.weights[[0, 0, 1, 1], :, 0], **CLOSE)


def test_saved_and_loaded_weights_give_the_same_output(case, model, tmp_path):
    other = make_model(*case)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1.0)
    save_file({name: value.contiguous() for name, value in model_tensors(model).items()}, tmp_path / "w.safetensors")
    load_tensors(other, load_file(tmp_path / "w.safetensors"))
    assert torch.equal(other(make_batch()), model(make_batch()))


def loss_of(model, batch):
    features = model.features(batch)[batch.target_mask]
    return vocabulary_loss(features, model.project, batch.targets[batch.target_mask])[0]


def test_every_parameter_gets_a_gradient(model):
    model.train()
    loss_of(model, make_batch()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0 or name.endswith("bias"), name


def test_products_in_bf16_change_little(model):
    model.train()
    check_products_in_bf16(model, lambda: loss_of(model, make_batch()))


def test_one_batch_can_be_learnt_by_heart(case):
    if case[1] in HANDICAPPED:
        pytest.skip("handicapped on purpose: the claims gallery measures by how much")
    changes = {} if "encoder_width" in VARIANTS[case[0]][case[1]] else WIDER[case[0]]
    model = make_model(*case, **changes).train()
    batch = make_batch((7, 5, 3), (6, 4, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        optimizer.zero_grad()
        loss = loss_of(model, batch) / int(batch.target_mask.sum())
        if loss < 0.1:
            return
        loss.backward()
        optimizer.step()
    pytest.fail(f"a loss of {loss:.3f} after 150 steps")


def test_gradients_of_parts_add_up_to_the_gradient_of_the_whole(case, model):
    if case[1] in MIXES_EXAMPLES:
        pytest.skip("batch statistics depend on the batch, by definition")
    model.train()
    whole = make_batch((7, 5, 3, 6), (6, 4, 2, 5))
    loss_of(model, whole).backward()
    wanted = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    for rows in (slice(0, 1), slice(1, 4)):
        loss_of(model, PairBatch(*(getattr(whole, f)[rows] for f in PairBatch.__dataclass_fields__))).backward()
    for name, parameter in model.named_parameters():
        assert_close(parameter.grad, wanted[name], atol=1e-4, rtol=1e-3, msg=lambda text, name=name: f"{name}: {text}")
