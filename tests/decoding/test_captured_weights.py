"""What a decoder captures for speed: nothing before it first decodes, and never weights that the model no longer has."""

import copy
import gc
import pickle

import pytest
import torch
from torch.testing import assert_close

from jumok.config import DecodingConfig
from jumok.decoding import Marks, Request, Search, generate, native_weights
from jumok.decoding.lean import LeanStack
from jumok.decoding.native_step import NativeStep
from jumok.models.gpt import GPT, GPTConfig
from jumok.models.transformer import Transformer, TransformerConfig
from jumok.nn.batch import PairBatch, TextBatch
from jumok.nn.precision import answering
from jumok.training.workers import shared_like

PAD, START, END = 0, 2, 3
SIZES = {"layers": 2, "width": 16, "heads": 2, "feedforward": 24, "dropout": 0.0}
SOURCES = [torch.tensor([5, 7, 9, 11]), torch.tensor([6, 4]), torch.tensor([12, 13, 14])]


def make(kind, seed=3):
    torch.manual_seed(seed)
    if kind == "gpt":
        model = GPT(GPTConfig(**SIZES, vocabulary=31, window=40))
    else:
        model = Transformer(TransformerConfig(**SIZES, source_vocabulary=31, target_vocabulary=29))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=0.0, std=0.5)
    return model.eval()


def collate(inputs):
    source = torch.nn.utils.rnn.pad_sequence(list(inputs), batch_first=True)
    return PairBatch(source, source > 0, source, source, source > 0)


def write(model, **options):
    """Return the tokens and log-probabilities of some answers."""
    marks = Marks(START, END, PAD, writes_start=isinstance(model, GPT))
    found = generate(
        model, [Request(source, len(source)) for source in SOURCES],
        collate=(lambda rows: TextBatch(torch.zeros(len(rows), 1), torch.zeros(len(rows), 1)))
        if isinstance(model, GPT) else collate,
        options=DecodingConfig(**{"beam": 1, "max_length": 12, **options}), marks=marks,
    )  # fmt: skip
    return [(answer.tokens, answer.token_log_probabilities) for answers in found for answer in answers]


def agree(found, expected):
    assert [tokens for tokens, _ in found] == [tokens for tokens, _ in expected]
    for (_, one), (_, other) in zip(found, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


@pytest.fixture(params=["gpt", "transformer"])
def kind(request):
    return request.param


def test_a_model_that_was_just_made_holds_modules_and_numbers_alone(kind):
    model = make(kind)
    assert model.lean is None
    assert not [value for value in vars(model).values() if isinstance(value, LeanStack | NativeStep)]
    write(model)
    assert not [value for value in vars(model).values() if isinstance(value, NativeStep)]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_has_its_own_weights_before_and_after_it_decoded(kind, again):
    model = make(kind)
    expected = write(model)
    for original in (make(kind), model):
        other = again(original)
        agree(write(other), expected)
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.mul_(-0.7)
        assert write(other) != expected
        agree(write(original), expected)


def test_what_is_loaded_in_place_is_used(kind):
    model, other = make(kind), make(kind, seed=4)
    before = write(model)
    model.load_state_dict(other.state_dict())
    agree(write(model), write(other))
    assert write(model) != before


def test_what_replaces_parameters_is_used(kind):
    model, other = make(kind), make(kind, seed=4)
    before = write(model)
    model.load_state_dict(copy.deepcopy(other.state_dict()), assign=True)
    agree(write(model), write(other))
    assert write(model) != before


def test_data_that_is_swapped_is_used(kind):
    """As the worker processes of training do, when they move the weights to memory that all of them see."""
    model, other = make(kind), make(kind, seed=4)
    before = write(model)
    parameters = list(model.parameters())
    for parameter, shared in zip(parameters, shared_like(parameters), strict=True):
        parameter.data = shared.copy_(parameter.detach())
    agree(write(model), before)
    with torch.no_grad():
        for parameter, new in zip(parameters, other.parameters(), strict=True):
            parameter.copy_(new)
    agree(write(model), write(other))


@pytest.mark.parametrize("beam", [1, 3])
def test_weights_that_are_swapped_while_a_search_runs(beam):
    """Those that run keep memory that is alive; those that come after have the new weights."""
    model, other = make("transformer"), make("transformer", seed=4)
    options = DecodingConfig(beam=beam, max_length=20, batch_size=4)
    search = Search(model, collate=collate, options=options, marks=Marks(START, END, PAD))
    search.steps_at_once = 2
    search.add([Request(source, len(source)) for source in SOURCES])
    search.step(), search.step()
    for parameter, new in zip(model.parameters(), other.parameters(), strict=True):
        parameter.data = new.detach().clone()
    gc.collect()
    filler = [torch.full((16, 16), float("nan")) for _ in range(200)]  # takes what was freed
    search.step()
    (late,) = search.add([Request(SOURCES[0], 4)])
    while search.busy:
        search.step()
    expected = generate(
        other, [Request(SOURCES[0], 4)], collate=collate, options=options, marks=Marks(START, END, PAD)
    )[0]
    found = search.take(late)
    assert [answer.tokens for answer in found] == [answer.tokens for answer in expected]
    assert found[0].score == pytest.approx(expected[0].score, abs=1e-4)
    assert all(torch.isnan(each).all() for each in filler)


def test_the_flat_stack_is_made_once():
    model = make("gpt")
    write(model)
    lean = model.lean
    assert isinstance(lean, LeanStack)
    write(model)
    assert model.lean is lean


def test_weights_are_packed_once_and_again_after_they_changed(monkeypatch):
    taken, packed = [], native_weights.packed
    monkeypatch.setattr(native_weights, "packed", lambda weight, kind: taken.append(weight) or packed(weight, kind))
    model = make("transformer")
    plain = write(model)
    with answering("fp32", {}):
        agree(write(model), plain)
        count = len(taken)
        agree(write(model), plain)
        assert len(taken) == count
        with torch.no_grad():
            model.decoder.layers[0].cross.query.weight.mul_(-1.0)
        assert write(model) != plain
        assert native_weights.kernels() is None or len(taken) > count


def test_weights_that_learn_are_read_where_they_are():
    """The fused step of Adam is not counted by torch."""
    model = make("transformer")
    before = write(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5, fused=True)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    agree(write(model), write(copy.deepcopy(model)))
    assert write(model) != before


@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")  # advice about in-place operations on its output
def test_ddp_and_fsdp_can_wrap_a_model(tmp_path):
    """One process is a group of its own: what counts is that nothing captured stands in the way."""
    from torch import distributed
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    try:
        plain, model = make("transformer"), make("transformer")
        expected, batch = write(plain), collate(SOURCES)
        wrapped = DistributedDataParallel(model)
        assert_close(wrapped(batch), plain(batch))
        agree(write(wrapped.module), expected)
        sharded = make("transformer")
        write(sharded)  # what it has captured must not outlive the sharding
        fully_shard(sharded)
        assert_close(sharded(batch), plain(batch))
    finally:
        distributed.destroy_process_group()
