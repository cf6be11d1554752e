"""Looking at attention: only the model one looks at, only inside the block, only in this thread, and it is let go of."""

import asyncio
import gc
import threading
import weakref

import pytest
import torch
from torch.testing import assert_close

from jumok.inspection.observe import observe, recorder_for
from jumok.inspection.record import AttentionMap, AttentionRecord, mean_over_heads
from jumok.models.transformer import Transformer
from jumok.nn.attention import SelfAttention
from jumok.nn.batch import PairBatch
from jumok.nn.masks import padding_mask

H, D = 3, 12


def make(seed=1):
    torch.manual_seed(seed)
    return SelfAttention(D, H, kind="encoder").eval()


def call(layer, rows=2, queries=5):
    return layer(torch.randn(rows, queries, D, generator=torch.Generator().manual_seed(3)))


@pytest.fixture
def transformer():
    torch.manual_seed(2)
    config = Transformer.Config(
        source_vocabulary=23,
        target_vocabulary=29,
        layers=2,
        width=D,
        heads=H,
        feedforward=7,
        decoder_layers=3,
        dropout=0.0,
    )
    return Transformer(config).eval()


def pair_batch(source=(7, 4), target=(5, 3)):
    source_mask, target_mask = (padding_mask(torch.tensor(lengths), max(lengths)) for lengths in (source, target))
    ids = [
        torch.randint(4, 23, mask.shape, generator=torch.Generator().manual_seed(1))
        for mask in (source_mask, target_mask, target_mask)
    ]
    return PairBatch(ids[0], source_mask, ids[1], ids[2], target_mask)


def test_observed_calls_are_filed_and_change_nothing():
    layer = make()
    plain = call(layer)
    with observe(layer) as record:
        observed = call(layer)
    assert_close(observed, plain, rtol=1e-5, atol=1e-5)
    (found,) = record.maps
    assert (found.path, found.kind, found.layer, found.weights.shape) == ("", "encoder", 0, (2, H, 5, 5))
    assert_close(found.weights.sum(dim=-1), torch.ones(2, H, 5))
    assert call(layer).equal(plain)  # the fast path is back
    assert len(record.maps) == 1


def test_a_record_says_path_kind_and_layer_of_every_map(transformer):
    batch = pair_batch()
    with observe(transformer) as record:
        transformer(batch)
    assert record.kinds == ["encoder", "decoder", "cross"]
    assert [found.layer for found in record.of_kind("cross")] == [0, 1, 2]
    modules = dict(transformer.named_modules())
    for found in record.maps:
        assert modules[found.path].kind == found.kind
    assert {found.weights.shape for found in record.of_kind("cross")} == {(2, H, 5, 7)}
    cross = record.of_kind("cross")[2].weights
    assert cross[1, :, :, 4:].eq(0).all(), "padding of the second source"
    assert record.of_kind("decoder")[0].weights.triu(1).eq(0).all(), "the future"


def test_other_models_in_the_same_thread_are_not_recorded():
    ours, other = make(), make()
    with observe(ours) as record:
        call(other)
        assert recorder_for(other) is None
        call(ours)
    assert len(record.maps) == 1


def test_other_threads_are_not_recorded():
    layer, seen = make(), []
    with observe(layer) as record:
        thread = threading.Thread(target=lambda: (call(layer), seen.append(recorder_for(layer))))
        thread.start()
        thread.join()
    assert seen == [None]
    assert not record.maps


def test_each_thread_has_its_own_record_of_one_model():
    layer, records, both = make(), {}, threading.Barrier(2)

    def look(queries):
        with observe(layer) as record:
            both.wait()
            for _ in range(queries):
                call(layer, queries=queries)
            both.wait()
        records[queries] = record

    threads = [threading.Thread(target=look, args=(queries,)) for queries in (3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for queries, record in records.items():
        assert [found.weights.shape[-1] for found in record.maps] == [queries] * queries


def test_blocks_inside_each_other_file_each_call_once_with_the_innermost_of_its_model():
    first, second = make(1), make(2)
    with observe(first) as outer:
        call(first)
        with observe(second) as inner:
            call(first)
            call(second)
        call(second)
        with observe(first) as again:
            call(first)
        call(first)
    assert [len(record.maps) for record in (outer, inner, again)] == [3, 1, 1]
    assert recorder_for(first) is recorder_for(second) is None


def test_an_exception_restores_the_fast_path():
    layer, inside = make(), []

    def fail():
        inside.append(recorder_for(layer))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), observe(layer) as record:
        fail()
    assert inside == [record]
    assert recorder_for(layer) is None


def test_a_task_begun_inside_the_block_records_nothing_after_it():
    """A task takes the context along: leaving the block must reach it, too."""
    layer = make()

    async def main():
        async def later():
            await asyncio.sleep(0.01)
            call(layer)

        with observe(layer) as record:
            task = asyncio.create_task(later())
            await asyncio.sleep(0)
        await task
        return record

    assert not asyncio.run(main()).maps


def test_a_record_keeps_its_maps_and_lets_go_of_the_model():
    layer = make()
    model, seen = weakref.ref(layer), None
    with observe(layer) as record:
        call(layer)
        seen = weakref.ref(record.maps[0].weights)
    del layer
    gc.collect()
    assert model() is None
    assert seen() is not None
    del record
    gc.collect()
    assert seen() is None


def test_filed_weights_hold_no_graph():
    layer = make().train()
    with observe(layer) as record:
        output = call(layer)
    assert output.requires_grad
    assert not record.maps[0].weights.requires_grad
    output.sum().backward()
    assert layer.query_key_value.weight.grad.abs().sum() > 0


def test_gradients_are_the_same_under_observation():
    plain, observed = make(), make()
    call(plain).square().sum().backward()
    with observe(observed):
        call(observed).square().sum().backward()
    for ours, theirs in zip(plain.parameters(), observed.parameters(), strict=True):
        assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)


def test_a_map_is_cut_to_one_example():
    weights = torch.arange(2 * H * 5 * 7.0).view(2, H, 5, 7)
    found = AttentionMap("x", "cross", 1, weights).cut(["a", "b"], ["c", "d", "e"], row=1)
    assert found.weights.equal(weights[1, :, :2, :3])
    assert (found.queries, found.keys, found.path, found.layer) == (("a", "b"), ("c", "d", "e"), "x", 1)


def test_the_mean_is_over_layers_and_heads():
    maps = [AttentionMap("", "cross", number, torch.rand(2, H, 5, 7)) for number in range(4)]
    wanted = sum(found.weights.sum(dim=1) for found in maps) / (4 * H)
    assert_close(mean_over_heads(maps), wanted)
    assert_close(mean_over_heads([found.cut("abcde", "abcdefg") for found in maps]), wanted[0])


def test_rows_that_share_a_memory_get_a_map_each(transformer):
    batch = pair_batch()
    with torch.inference_mode():
        state = transformer.start(transformer.encode(batch)).select(torch.tensor([0, 0, 0, 1, 1, 1]))
        tokens = torch.tensor([[4], [5], [6], [7], [8], [9]])
        with observe(transformer) as shared:
            transformer.extend(tokens, state)
        alone = []
        for row, token in enumerate(tokens):
            state = transformer.start(transformer.encode(batch)).select(torch.tensor([row // 3]))
            with observe(transformer) as record:
                transformer.extend(token[None], state)
            alone.append(mean_over_heads(record.of_kind("cross")))
    together = mean_over_heads(shared.of_kind("cross"))
    assert together.shape == (6, 1, 7)
    for row, found in enumerate(alone):
        assert_close(together[row, :, : found.shape[2]], found[0])
        assert together[row, :, found.shape[2] :].eq(0).all()


def test_an_empty_record_has_no_kinds():
    assert AttentionRecord().kinds == []
    assert AttentionRecord().of_kind("cross") == []
