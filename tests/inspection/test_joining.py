"""Records of a text that was written step by step: joined, they are those of one pass over the finished text."""

import pytest
import torch
from inspection.test_architectures import architectures
from inspection.test_observe import pair_batch, transformer  # noqa: F401 - a fixture
from torch import nn
from torch.testing import assert_close

import jumok
from jumok.inspection.joining import join_maps
from jumok.inspection.record import AttentionMap, AttentionRecord

WRITERS = ["GPT-2", "Llama", "Mistral", "Gemma 3", "BLOOM"]  # two of them keep a window of keys only
PAIRED = ["T5", "Marian"]


def generate(name, *, details=False, rows=1, **options):
    """Return the record of generate, what it wrote, and the record of one pass over that."""
    model = architectures.make_model(name)
    inputs = {part: ids[:rows] for part, ids in architectures.make_inputs(name).items() if part != "decoder_input_ids"}
    torch.manual_seed(4)
    with torch.no_grad(), jumok.observe(model, details=details) as record:
        written = model.generate(**inputs, max_new_tokens=6, min_new_tokens=6, **options)
    read = inputs | {"decoder_input_ids": written[:, :-1]} if name in PAIRED else {"input_ids": written[:, :-1]}
    with torch.no_grad(), jumok.observe(model) as whole:
        model(**read)
    return record, written, whole


@pytest.mark.parametrize(
    "options", [{}, {"use_cache": False}, {"do_sample": True, "rows": 2}], ids=["greedy", "no cache", "sampled"]
)
@pytest.mark.parametrize("name", [*WRITERS, *PAIRED])
def test_steps_joined_are_one_pass(name, options):
    if options.get("rows") and name not in PAIRED:
        options = options | {"rows": 1}  # the second text is padded, which one pass would have to be told
    record, _, whole = generate(name, **options)
    joined = join_maps(record)
    assert [(found.path, found.kind, found.layer) for found in joined] == [
        (found.path, found.kind, found.layer) for found in whole.maps
    ]
    for ours, theirs in zip(joined, whole.maps, strict=True):
        assert_close(ours.weights[0], theirs.weights[0], atol=1e-4, rtol=0)


def test_details_are_joined_too():
    from inspection.test_details import by_hand

    joined = join_maps(generate("Marian", details=True)[0])
    for found in joined:
        weights, _ = by_hand(found.details)
        assert_close(weights, found.weights, atol=1e-4, rtol=0)
        assert found.details.output.shape[1] == found.weights.shape[2]
    assert all(found.details is None for found in join_maps(generate("Mistral", details=True)[0])), (
        "keys left the window"
    )


@pytest.mark.parametrize("name", ["GPT-2", "T5"])
def test_beam_search_is_refused_plainly(name):
    record, _, _ = generate(name, num_beams=3)
    with pytest.raises(
        jumok.JumokError, match=r"of a beam search.*\(num_beams=1.* one call of the model over the finished"
    ):
        join_maps(record)


def test_models_of_jumok(transformer):  # noqa: F811
    batch = pair_batch((7,), (5,))
    with torch.inference_mode():
        with jumok.observe(transformer) as whole:
            transformer(batch)
        with jumok.observe(transformer) as record:
            state = transformer.start(transformer.encode(batch))
            for token in batch.inputs[0]:
                _, state = transformer.extend(token.view(1, 1), state)
    joined = {(found.path): found.weights for found in join_maps(record)}
    assert len(joined) == len(whole.maps) < len(record.maps)
    for found in whole.maps:
        assert_close(joined[found.path], found.weights)


def one(queries, keys, kind="decoder", path="layer"):
    return AttentionMap(path, kind, 0, torch.rand(1, 2, queries, keys).softmax(dim=-1))


@pytest.mark.parametrize(
    "maps",
    [
        [one(4, 4), one(4, 4)],  # the same length twice
        [one(4, 4), one(5, 5)],  # longer, and not a repetition
        [one(4, 4), one(1, 9)],  # keys that nobody computed
        [one(4, 4), one(1, 5), one(3, 3)],
        [one(1, 4, "cross"), one(1, 5, "cross")],
        [one(3, 4, "cross"), one(3, 4, "cross")],
    ],
)
def test_calls_with_different_sequences_are_refused(maps):
    with pytest.raises(jumok.JumokError, match=f"kind '{maps[0].kind}' are of different sequences: observe one call"):
        join_maps(AttentionRecord(maps))


def test_batches_of_different_sizes_are_refused():
    maps = [one(4, 4), one(1, 5), AttentionMap("other", "cross", 0, torch.ones(3, 2, 1, 1))]
    with pytest.raises(jumok.JumokError, match=r"different batches \(calls had 1 to 3 rows\)"):
        join_maps(AttentionRecord(maps))


def test_heads_that_are_modules_become_one_map():
    maps = [one(3, 3, path=f"blocks.{block}.heads.{head}") for block in range(2) for head in range(4)]
    joined = join_maps(AttentionRecord([*maps, one(3, 3, path="heads.0"), one(3, 3, path="lm_head")]))
    assert [(found.path, found.weights.shape[1]) for found in joined] == [
        ("blocks.0.heads", 8), ("blocks.1.heads", 8), ("heads.0", 2), ("lm_head", 2),
    ]  # fmt: skip
    assert joined[1].weights[:, 2:4].equal(maps[5].weights)


def test_one_call_stays_as_it_is():
    layer = nn.MultiheadAttention(12, 3, batch_first=True)
    with jumok.observe(layer) as record:
        layer(*[torch.randn(2, 5, 12)] * 3)
    assert join_maps(record) == record.maps
