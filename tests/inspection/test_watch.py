"""Attention by hand: a sentence where nothing was recognised, and watch, which marks weights."""

import warnings

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import jumok
from jumok.inspection.suspects import find_suspects

B, T, D = 2, 5, 12


class Head(nn.Module):
    """One head, with its softmax taken by hand; mark is what it does with its weights."""

    def __init__(self, width, mark):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(D, width, bias=False) for _ in range(3))
        self.mark = mark

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(-2, -1) * self.key.out_features**-0.5
        scores = scores.masked_fill(torch.ones(x.shape[1], x.shape[1]).triu(1).bool(), -torch.inf)
        return self.mark(scores.softmax(dim=-1)) @ self.value(x)


class Block(nn.Module):
    def __init__(self, mark):
        super().__init__()
        self.heads = nn.ModuleList(Head(D // 3, mark) for _ in range(3))

    def forward(self, x):
        return x + torch.cat([head(x) for head in self.heads], dim=-1)


class GPT(nn.Module):
    def __init__(self, mark=lambda weights: weights):
        super().__init__()
        self.blocks = nn.Sequential(Block(mark), Block(mark))

    def forward(self, x):
        return self.blocks(x)


def test_a_sentence_names_what_looks_like_attention():
    said = (
        "no attention was recorded of GPT: .* F.scaled_dot_product_attention. blocks.0.heads.0 \\(Head\\), "
        "blocks.0.heads.1 \\(Head\\), .* and 2 more look like attention; .*behind the softmax: `from jumok import watch` and "
        "`weights = watch\\(weights\\)`"
    )
    model = GPT()
    with pytest.warns(UserWarning, match=said) as caught, jumok.observe(model) as record:
        model(torch.randn(B, T, D))
    assert [warning.filename for warning in caught] == [__file__], "told where the block stands"
    with pytest.raises(jumok.JumokError, match=f"the record is empty: {said}"):
        jumok.show(record)


def test_a_model_that_was_not_called_is_not_complained_of():
    with jumok.observe(GPT()) as record:
        pass
    with pytest.raises(jumok.JumokError, match="the record is empty: call the model inside"):
        jumok.show(record)


def test_an_error_inside_the_block_is_all_that_is_said():
    model = GPT()
    with pytest.raises(RuntimeError), jumok.observe(model):
        model(torch.randn(B, T, D + 1))


def test_a_model_without_any_trace_of_attention():
    model = nn.Sequential(nn.Linear(D, D), nn.ReLU())
    with pytest.warns(UserWarning, match="of Sequential: .*No module looks like attention"), jumok.observe(model):
        model(torch.randn(B, D))


@pytest.mark.parametrize(
    ("names", "suspected"),
    [
        ("wq wk wv", True), ("q_proj k_proj v_proj", True), ("to_qkv", True), ("c_attn", True), ("query key value", True),
        ("linear_q linear_k", True), ("fc1 fc2", False), ("quality keyboard", False), ("weight bias", False),
    ],
)  # fmt: skip
def test_modules_are_known_by_their_children(names, suspected):
    module = nn.Module()
    for name in names.split():
        module.add_module(name, nn.Linear(2, 2))
    assert find_suspects(nn.ModuleDict({"a": module})) == (["a (Module)"] if suspected else [])


def test_weights_are_recorded_where_they_are_marked():
    plain, model = GPT(), GPT(jumok.watch)
    model.load_state_dict(plain.state_dict())
    x = torch.randn(B, T, D)
    with jumok.observe(model) as record:
        assert model(x).equal(plain(x))
    assert [(found.path, found.layer) for found in record.maps][:4] == [
        ("blocks.0.heads.0", 0), ("blocks.0.heads.1", 0), ("blocks.0.heads.2", 0), ("blocks.1.heads.0", 1),
    ]  # fmt: skip
    assert {found.kind for found in record.maps} == {"decoder"}
    assert record.maps[0].weights.shape == (B, 1, T, T)
    head = model.blocks[0].heads[0]
    scores = head.query(x) @ head.key(x).transpose(1, 2) / 2
    assert_close(record.maps[0].weights[:, 0, 3, :4], scores[:, 3, :4].softmax(dim=-1))
    assert not record.maps[0].weights.requires_grad


def test_outside_of_observe_nothing_happens():
    weights = torch.randn(3)
    assert jumok.watch(weights) is weights
    with jumok.observe(GPT()) as record:
        assert jumok.watch(weights) is weights, "no module is being called"
        GPT(jumok.watch)(torch.randn(B, T, D))
    assert not record.maps


class Marked(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, weights):
        return jumok.watch(weights, **self.options)


@pytest.mark.parametrize(("shape", "filed"), [((3, 7), (1, 1, 3, 7)), ((2, 3, 7), (2, 1, 3, 7)), ((2, 5, 3, 7), (2, 5, 3, 7))])  # fmt: skip
def test_shapes_of_weights(shape, filed):
    model, weights = Marked(), torch.randn(shape).softmax(dim=-1)
    with jumok.observe(model) as record:
        assert model(weights) is weights
    assert record.maps[0].weights.shape == filed
    assert record.maps[0].kind == "cross"


def test_kind_and_grid_can_be_told():
    model = Marked(kind="memory", grid=(2, 3))
    with jumok.observe(model) as record:
        model(torch.randn(1, 6, 6).softmax(dim=-1))
    assert (record.maps[0].kind, record.maps[0].grid) == ("memory", (2, 3))


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (
            torch.full((2, 3, 4), 0.2),
            r"watch in Marked gave numbers \(2, 3, 4\) .*: a row sums to 0.8\..*before dropout",
        ),
        (torch.tensor([[1.5, -0.5]]), "one of them is -0.5, below 0"),
        (torch.full((1, 2), torch.nan), "a row sums to nan"),
        (torch.ones(4), r"watch in Marked got weights \(4,\); give \(B, H, Q, K\), \(B, Q, K\) or \(Q, K\)"),
    ],
)
def test_what_is_no_distribution_is_refused_by_name(weights, said):
    model = Marked()
    with pytest.raises(jumok.JumokError, match=said), jumok.observe(model):
        model(weights)


@torch.no_grad()
@pytest.mark.parametrize("how", ["compile", "torch.compile", "inside", "function"])
def test_compiled_models_are_recorded_as_they_are_written(how):
    model, x = GPT(jumok.watch), torch.randn(B, T, D)
    expected = model(x)
    if how == "compile":
        model.compile(backend="eager")
    elif how == "torch.compile":
        model = torch.compile(model, backend="eager", fullgraph=False)
    elif how == "inside":
        model.blocks[0] = torch.compile(model.blocks[0], backend="eager")
    else:
        model.blocks[0].heads[0].mark = torch.compile(lambda weights: jumok.watch(weights * 1), backend="eager")
    assert_close(model(x), expected)
    with jumok.observe(model) as record:
        assert_close(model(x), expected)
    paths = [found.path for found in record.maps]
    wanted = [f"blocks.{block}.heads.{head}" for block in range(2) for head in range(3)]
    assert paths == (wanted[1:] if how == "function" else wanted)  # watch inside compiled code is passed by
    assert_close(model(x), expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripted_parts_are_named():
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.own = Marked()
            self.scripted = torch.jit.script(nn.Linear(T, T))

        def forward(self, x):
            return self.scripted(self.own(x.softmax(dim=-1)))

    model = Half()
    said = r"What scripted modules \(torch.jit\) compute cannot be recorded: scripted"
    with pytest.warns(UserWarning, match=said), jumok.observe(model) as record:
        model(torch.randn(B, T, T))
    assert len(record.maps) == 1


def test_a_model_of_jumok_without_attention_is_not_complained_of():
    from inspection.test_observe import pair_batch

    from jumok.models.seq2seq import Seq2Seq

    config = Seq2Seq.Config(source_vocabulary=23, target_vocabulary=29, width=6, attention="none", dropout=0.0)
    model = Seq2Seq(config).eval()
    with warnings.catch_warnings(), jumok.observe(model) as record:
        warnings.simplefilter("error")
        model(pair_batch())
    assert not record.maps
