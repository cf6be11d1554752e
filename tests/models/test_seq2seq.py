"""Seq2Seq beside an independent reading of its formulas, one sentence and one number at a time; its options; decoding."""

import math
from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from battery.conftest import make_batch
from torch.testing import assert_close

from jumok.config import DecodingConfig
from jumok.data.text.tokenizer import END, PAD, START
from jumok.decoding import Marks, Request, generate, stream
from jumok.errors import ConfigError
from jumok.inspection.observe import observe
from jumok.models.seq2seq import Seq2Seq, Seq2SeqConfig, reversing_order
from jumok.nn.batch import PairBatch
from jumok.nn.masks import padding_mask
from jumok.nn.model import Memory
from jumok.nn.precision import products
from jumok.nn.recurrent import RecurrentStack
from jumok.nn.scores import StateAttention
from jumok.tasks.pairs import collate
from jumok.tasks.writing import observed_extend

CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def small(**changes) -> Seq2Seq:
    torch.manual_seed(1)
    sizes = {"layers": 1, "width": 8, "dropout": 0.0, "source_vocabulary": 31, "target_vocabulary": 29}
    model = Seq2Seq(Seq2SeqConfig(**{**sizes, **changes})).eval()
    with torch.no_grad():  # some biases start at zero: move them, so that a forgotten one shows
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


# --- the formulas once more


class Reference:
    """One sentence at a time, one token at a time, one vector at a time, from the model's own weights."""

    def __init__(self, model: Seq2Seq) -> None:
        self.config, self.w = model.config, {name: value.detach() for name, value in model.state_dict().items()}

    def cell(self, name, x, h, c):
        """Return the next state and LSTM cell; name is e.g. 'encoder.cells', 'l0_reverse'."""
        part, suffix = name
        gates_in = self.w[f"{part}.weight_ih_{suffix}"] @ x + self.w[f"{part}.bias_ih_{suffix}"]
        gates_back = self.w[f"{part}.weight_hh_{suffix}"] @ h + self.w[f"{part}.bias_hh_{suffix}"]
        if self.config.cell == "rnn":
            return torch.tanh(gates_in + gates_back), c
        if self.config.cell == "gru":
            (r_in, z_in, n_in), (r_back, z_back, n_back) = gates_in.chunk(3), gates_back.chunk(3)
            r, z = torch.sigmoid(r_in + r_back), torch.sigmoid(z_in + z_back)
            n = torch.tanh(n_in + r * n_back)
            return (1 - z) * n + z * h, c
        i, f, g, o = (gates_in + gates_back).chunk(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def embed(self, side, token):
        return self.w[f"embed_{side}.weight"][token] * math.sqrt(self.config.width)

    def encode(self, source):
        """Return the states, and the last states and LSTM cells of each layer."""
        config, length = self.config, len(source)
        order = list(range(length))
        if config.reverse_source:
            order = [*reversed(order[:-1]), length - 1]
        inputs = [self.embed("source", source[place]) for place in order]
        each = config.reader_width // (2 if config.bidirectional else 1)
        last_h, last_c = [], []
        for layer in range(config.layers):
            directions, ends = [], []
            for suffix in [f"l{layer}", f"l{layer}_reverse"][: 2 if config.bidirectional else 1]:
                h, c = torch.zeros(each), torch.zeros(each)
                states = [None] * length
                places = range(length) if not suffix.endswith("reverse") else reversed(range(length))
                for place in places:
                    h, c = self.cell(("encoder.cells", suffix), inputs[place], h, c)
                    states[place] = h
                directions.append(states)
                ends.append((h, c))
            inputs = [torch.cat(pair) for pair in zip(*directions, strict=True)]
            last_h.append(torch.cat([h for h, _ in ends]))
            last_c.append(torch.cat([c for _, c in ends]))
        states = [None] * length
        for read, place in enumerate(order):
            states[place] = inputs[read]  # where the word stands in the sentence, not when it was read
        return states, last_h, last_c

    def bridge(self, number, vector):
        if self.config.reader_width == self.config.width:
            return vector
        return torch.tanh(self.w[f"bridge.{number}.weight"] @ vector + self.w[f"bridge.{number}.bias"])

    def look(self, query, states):
        """Return the context and the weights."""
        scores = []
        for state in states:
            if self.config.attention == "dot":
                scores.append(query @ state)
            elif self.config.attention == "bilinear":
                scores.append(query @ self.w["attention.score.form.weight"] @ state)
            else:
                mixed = self.w["attention.score.of_query.weight"] @ query + self.w["attention.score.of_query.bias"]
                mixed = mixed + self.w["attention.score.of_key.weight"] @ state
                scores.append(self.w["attention.score.vector.weight"][0] @ torch.tanh(mixed))
        shares = [score.exp() for score in scores]
        weights = [share / sum(shares) for share in shares]
        return sum(weight * state for weight, state in zip(weights, states, strict=True)), torch.stack(weights)

    def join(self, state, context):
        return torch.tanh(self.w["combine.weight"] @ torch.cat([state, context]) + self.w["combine.bias"])

    def decode(self, source, tokens):
        """Return the logits (T, V) and the attention (T, S), or None where there is no attention."""
        config = self.config
        states, last_h, last_c = self.encode(source)
        h, c = [self.bridge(0, vector) for vector in last_h], list(last_c)
        if config.cell == "lstm":
            c = [self.bridge(1, vector) for vector in last_c]
        fed, logits, looked = torch.zeros(config.width), [], []
        for token in tokens:
            x = self.embed("target", token)
            if config.context == "every":
                x = torch.cat([x, last_h[-1]])
            if config.input_feeding:
                x = torch.cat([x, fed])
            if config.attention != "none" and config.attend == "before":
                context, weights = self.look(h[-1], states)
                h[-1] = self.join(h[-1], context)
            for layer in range(config.layers):
                h[layer], c[layer] = self.cell(("decoder.cells", f"l{layer}"), x, h[layer], c[layer])
                x = h[layer]
            if config.attention != "none" and config.attend == "after":
                context, weights = self.look(h[-1], states)
                x = fed = self.join(h[-1], context)
            logits.append(self.w["project.weight"] @ x + self.w["project.bias"])
            if config.attention != "none":
                looked.append(weights)
        return torch.stack(logits), torch.stack(looked) if looked else None


OTHER = {"encoder_width": 6}  # a bridge is needed
ATTENTIONS = {
    "none": {"attention": "none"},
    "none, bridge": {"attention": "none", **OTHER},
    "none, every": {"attention": "none", "context": "every"},
    "none, every, bridge": {"attention": "none", "context": "every", **OTHER},
    "none, one way": {"attention": "none", "bidirectional": False, "encoder_width": 5},
    "dot": {"attention": "dot"},
    "bilinear": {"attention": "bilinear"},
    "bilinear, bridge": {"attention": "bilinear", **OTHER},
    "mlp": {"attention": "mlp"},
    "mlp, bridge": {"attention": "mlp", **OTHER},
    "mlp, one way": {"attention": "mlp", "bidirectional": False},
}
WAYS = {
    "after": {},
    "before": {"attend": "before"},
    "feeding": {"input_feeding": True},
    "reversed": {"reverse_source": True},
    "before, reversed": {"attend": "before", "reverse_source": True},
}
VARIANTS = {
    f"{attention}, {way}": options | more
    for (attention, options), (way, more) in product(ATTENTIONS.items(), WAYS.items())
    if options["attention"] != "none" or way in ("after", "reversed")
}


def variants(*kept):
    return pytest.mark.parametrize(
        "options", [pytest.param(VARIANTS[name], id=name) for name in VARIANTS if not kept or name in kept]
    )


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@variants()
def test_every_variant_is_its_formulas(cell, layers, options):
    model = small(cell=cell, layers=layers, **options)
    reference, batch = Reference(model), make_batch((5, 3, 1), (4, 4, 2))
    with torch.no_grad(), observe(model) as record:
        logits = model(batch)
    for row, (source_length, target_length) in enumerate([(5, 4), (3, 4), (1, 2)]):
        source, tokens = batch.source[row, :source_length], batch.inputs[row, :target_length]
        wanted, looked = reference.decode(source, tokens)
        assert_close(logits[row, :target_length], wanted, **CLOSE)
        if looked is None:
            assert record.maps == []
            continue
        [found] = record.maps
        assert (found.path, found.kind) == ("attention", "recurrent")
        assert_close(found.weights[row, 0, :target_length, :source_length], looked, **CLOSE)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@variants()
def test_all_steps_at_once_equal_one_after_another(cell, options):
    model, batch = small(cell=cell, layers=2, **options), make_batch((7, 5, 3), (6, 6, 6))
    with torch.no_grad():
        whole, state = model(batch), model.start(model.encode(batch))
        for place in range(6):
            logits, state = model.extend(batch.inputs[:, place : place + 1], state)
            assert_close(logits[:, 0], whole[:, place], **CLOSE)


@pytest.mark.parametrize("attention", ["dot", "bilinear", "mlp"])
def test_no_python_loop_over_time_where_nothing_is_fed_back(attention, monkeypatch):
    calls = {"look": 0, "step": 0, "run": 0}

    def count(owner, name, key):
        original = getattr(owner, name)

        def counted(*arguments):
            calls[key] += 1
            return original(*arguments)

        monkeypatch.setattr(owner, name, counted)

    count(StateAttention, "forward", "look")
    count(RecurrentStack, "step", "step")
    count(RecurrentStack, "run", "run")
    batch = make_batch((7, 5), (6, 6))
    small(attention=attention)(batch)
    assert calls == {"look": 1, "step": 0, "run": 1}
    small(attention=attention, input_feeding=True)(batch)
    assert calls == {"look": 7, "step": 6, "run": 1}
    small(attention=attention, attend="before")(batch)
    assert calls == {"look": 13, "step": 12, "run": 1}
    small(attention="none")(batch)
    assert calls == {"look": 13, "step": 12, "run": 2}


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@variants("none, bridge, after", "none, every, after", "mlp, after", "mlp, before", "mlp, feeding", "dot, before")
def test_half_precision_trains(cell, options):
    model, batch = small(cell=cell, layers=2, **options).train(), make_batch()
    whole = make_batch((4, 4), (3, 3))  # no padding: another kernel
    for one in (batch, whole):
        with products("bf16"):
            half = model(one).float()
        half.square().sum().backward()
        assert_close(half[one.target_mask], model(one)[one.target_mask], atol=0.2, rtol=0.1)


# --- the reversed source


def test_the_reversing_order_undoes_itself_and_leaves_the_end_and_padding():
    mask = padding_mask(torch.tensor([6, 4, 2, 1, 0]), 6)
    order = reversing_order(mask)
    assert order.tolist() == [
        [4, 3, 2, 1, 0, 5],
        [2, 1, 0, 3, 4, 5],
        [0, 1, 2, 3, 4, 5],
        [0, 1, 2, 3, 4, 5],
        [0, 1, 2, 3, 4, 5],
    ]
    assert_close(order.gather(1, order), torch.arange(6).expand(5, 6))


@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_reversed_source_is_read_backwards_and_remembered_in_its_own_order(bidirectional):
    reversed_model = small(reverse_source=True, bidirectional=bidirectional, layers=2)
    plain = small(bidirectional=bidirectional, layers=2)
    plain.load_state_dict(reversed_model.state_dict())
    rows = [[5, 6, 7, 8, END], [9, 10, END], [END]]
    backwards = [[8, 7, 6, 5, END], [10, 9, END], [END]]
    ours, theirs = (source_batch(words) for words in (rows, backwards))
    memory, read = reversed_model.encode(ours), plain.encode(theirs)
    assert_close(list(memory.layers), list(read.layers), **CLOSE)
    assert_close(memory.states[0, :5], read.states[0, [3, 2, 1, 0, 4]], **CLOSE)
    assert_close(memory.states[1, :3], read.states[1, [1, 0, 2]], **CLOSE)
    assert_close(memory.states[2, 0], read.states[2, 0], **CLOSE)
    assert (memory.states[1, 3:] == 0).all()
    assert (memory.states[2, 1:] == 0).all()
    assert torch.equal(memory.mask, ours.source_mask)


def source_batch(rows):
    return collate([(np.array(row[:-1], dtype=np.int64), np.empty(0, dtype=np.int64)) for row in rows])


def test_a_one_way_reversed_encoder_meets_the_last_word_first():
    """So the state that stands at a word knows the words behind it, and not those before it."""
    model = small(reverse_source=True, bidirectional=False)
    before = model.encode(source_batch([[5, 6, 7, 8, END]])).states[0]
    for place in range(4):
        words = [5, 6, 7, 8, END]
        words[place] = 20
        changed = (model.encode(source_batch([words])).states[0] - before).abs().sum(dim=1) > 1e-6
        assert changed.tolist() == [other <= place for other in range(4)] + [True], "the end is read last"


def test_attention_labels_point_at_the_word_itself():
    """With a dot score and one state turned up, the weight must stand where the word stands in the source."""
    model = small(reverse_source=True, attention="dot")
    batch = source_batch([[5, 6, 7, 8, END]])
    memory = model.encode(batch)
    loud = torch.zeros_like(memory.states)
    state = model.start(memory)
    _, state_after = model.extend(torch.tensor([[START]]), model.start(memory))
    loud[0, 1] = 50 * state_after.vectors[0][0]  # the query itself, at the place of word 6
    state.memory.buffers.tensors = [loud, loud]
    with observe(model) as record:
        model.extend(torch.tensor([[START]]), state)
    assert record.maps[0].weights[0, 0, 0].argmax() == 1


# --- the fixed context


@pytest.mark.parametrize("context", ["first", "every"])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_fixed_context_is_all_the_decoder_knows(cell, context, monkeypatch):
    model = small(attention="none", context=context, cell=cell, layers=2)
    one, other = make_batch((7, 5), (6, 6), seed=3), make_batch((4, 6), (6, 6), seed=4)
    other = PairBatch(other.source, other.source_mask, one.inputs, one.targets, one.target_mask)
    assert (model(one) - model(other)).abs().max() > 1e-3
    _, vectors = model.encoder(torch.randn(2, 3, 8), torch.ones(2, 3, dtype=torch.bool))
    monkeypatch.setattr(model.encoder, "forward", lambda x, mask: (torch.randn(*x.shape[:2], 8), vectors))
    assert torch.equal(model(one), model(other))


def test_a_context_that_is_fed_first_is_never_fed_again():
    """Rows whose states are exchanged after some steps go on as the other sentence would; not so with 'every'."""
    for context in ("first", "every"):
        model = small(attention="none", context=context, layers=2)
        batch = make_batch((7, 5), (6, 6))
        tokens = batch.inputs[:1].expand(2, -1)
        assert model.decoder.cells.input_size == (8 if context == "first" else 16)
        with torch.no_grad():
            whole, _ = model.extend(tokens, model.start(model.encode(batch)))
            _, state = model.extend(tokens[:, :3], model.start(model.encode(batch)))
            assert len(state.vectors) == (2 if context == "first" else 3)
            for vector in state.vectors[:2]:
                vector.copy_(vector.flip(0))
            rest, _ = model.extend(tokens[:, 3:], state)
        same = torch.allclose(rest, whole.flip(0)[:, 3:], atol=1e-5)
        assert same == (context == "first")


def test_the_states_of_the_source_are_not_even_kept_without_attention():
    model = small(attention="none")
    assert model.start(model.encode(make_batch())).memory.parts == []
    assert not any(name.startswith(("attention", "combine")) for name, _ in model.named_parameters())


# --- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 9}, "a two-way encoder needs an even width, not 9; set model.encoder_width = 10, or "
                       "model.bidirectional = false"),
        ({"encoder_width": 7}, "a two-way encoder needs an even width, not 7; set model.encoder_width = 8, or "
                               "model.bidirectional = false"),
        ({"attention": "dot", "encoder_width": 6}, "attention = 'dot' needs equal widths, not model.width = 8 and "
                                                   "encoder_width = 6; 'bilinear' and 'mlp' take any"),
        ({"attention": "none", "input_feeding": True}, "model.input_feeding needs an attention and attend = 'after'"),
        ({"attend": "before", "input_feeding": True}, "model.input_feeding needs an attention and attend = 'after'"),
        ({"context": "every"}, "model.context = 'every' is for attention = 'none'; an attention looks at every step "
                               "anyway"),
        ({"preset": "tny"}, "model.preset = 'tny' does not exist; did you mean 'tiny'?"),
        ({"atention": "dot"}, "[model] has no key 'atention'; did you mean 'attention'?"),
        ({"attention": "cosine"}, "model.attention = 'cosine': must be 'none', 'dot', 'bilinear' or 'mlp'"),
        ({"cell": "qrnn"}, "model.cell = 'qrnn': must be 'rnn', 'gru' or 'lstm'"),
        ({"layers": 0}, "model.layers = 0: must be at least 1"),
        ({"dropout": 1.0}, "model.dropout = 1.0: must be below 1.0"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_with_the_cure(options, message):
    with pytest.raises(ConfigError) as error:
        Seq2SeqConfig.parse({"width": 8, **options}, "model")
    assert str(error.value) == message


def test_an_odd_width_is_fine_one_way_or_with_its_own_encoder_width():
    small(width=9, bidirectional=False)(make_batch())
    small(width=9, encoder_width=10)(make_batch())


FIVE = {
    "none": {"attention": "none"},
    "none, reversed": {"attention": "none", "reverse_source": True},
    "dot": {"attention": "dot"},
    "bilinear": {"attention": "bilinear"},
    "mlp": {"attention": "mlp"},
}


@pytest.mark.parametrize("name", FIVE)
def test_tiny_has_between_two_and_three_million_parameters(name):
    config = Seq2SeqConfig(preset="tiny", source_vocabulary=6000, target_vocabulary=6000, **FIVE[name])
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in Seq2Seq(config).parameters())
    print(f"seq2seq tiny, {name}: {count:,} parameters")
    embedding, bias = 6000 * 256, 6000
    encoder = 2 * 3 * (128 * (256 + 128) + 2 * 128)
    decoder = 3 * (256 * (256 + 256) + 2 * 256)
    combine, form = 512 * 256 + 256, 256 * 256
    looking = {"dot": combine, "bilinear": combine + form, "mlp": combine + 2 * form + 256 + 256}.get(name, 0)
    assert count == embedding + bias + encoder + decoder + looking
    assert 2_000_000 < count < 3_000_000


@pytest.mark.parametrize(("preset", "sizes"), [("tiny", (1, 256)), ("small", (2, 512)), ("base", (4, 1000))])
def test_presets_give_sizes_and_single_keys_win(preset, sizes):
    config = Seq2SeqConfig(preset=preset)
    assert (config.layers, config.width) == sizes
    assert Seq2SeqConfig(preset=preset, layers=3).layers == 3
    assert Seq2SeqConfig(preset=preset, layers=3).width == sizes[1]


@pytest.mark.parametrize(
    "change",
    [{"attend": "before"}, {"reverse_source": True}, {"reverse_source": True, "bidirectional": False}],
    ids=str,
)
def test_the_same_weights_say_something_else_with_another_option(change):
    other = small(**change)
    plain = small(**{key: value for key, value in change.items() if key == "bidirectional"})
    plain.load_state_dict(other.state_dict())
    batch = make_batch()
    assert (plain(batch) - other(batch)).abs().max() > 1e-3


def test_options_change_the_shapes_they_should():
    def shapes(**options):
        return {name: tuple(value.shape) for name, value in small(**options).named_parameters()}

    plain = shapes()
    assert "project.weight" not in plain  # the embedding's
    assert plain["embed_source.weight"] == (31, 8)
    assert shapes(tied=False)["project.weight"] == (29, 8)
    assert "encoder.cells.weight_ih_l0_reverse" not in shapes(bidirectional=False)
    assert shapes(layers=3)["decoder.cells.weight_ih_l2"] == (24, 8)
    assert shapes(cell="lstm")["decoder.cells.weight_ih_l0"] == (32, 8)
    assert shapes(cell="rnn")["decoder.cells.weight_ih_l0"] == (8, 8)
    assert shapes(input_feeding=True)["decoder.cells.weight_ih_l0"] == (24, 16)
    assert shapes(attention="none", context="every", encoder_width=6)["decoder.cells.weight_ih_l0"] == (24, 14)
    assert not any(name.startswith("bridge") for name in plain)
    bridged = shapes(encoder_width=6, cell="lstm")
    assert (bridged["bridge.0.weight"], bridged["bridge.1.weight"]) == ((8, 6), (8, 6))
    assert "bridge.1.weight" not in shapes(encoder_width=6)


def test_one_table_for_both_sides_where_the_vocabulary_is_shared():
    shared = small(source_vocabulary=29)
    assert shared.embed_source is shared.embed_target
    assert shared.project.weight is shared.embed_target.weight
    apart = small(source_vocabulary=29, shared_embeddings=False)
    assert apart.embed_source is not apart.embed_target
    assert small().embed_source is not small().embed_target  # 31 and 29 entries
    assert small(tied=False).project.weight is not small(tied=False).embed_target.weight


def test_embeddings_start_with_unit_variance():
    model = Seq2Seq(Seq2SeqConfig(width=256, source_vocabulary=500, target_vocabulary=600))
    assert model.embed_source.weight.detach().std() * 16 == pytest.approx(1.0, rel=0.02)
    assert model.embed_target.weight.detach().std() * 16 == pytest.approx(1.0, rel=0.02)


def test_dropout_is_for_training_only():
    model, batch = small(dropout=0.5, layers=2), make_batch()
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))


# --- decoding

SEARCHED = ["none, after", "none, every, bridge, after", "dot, after", "bilinear, bridge, before", "mlp, feeding"]
SOURCES = [
    np.random.default_rng(7).integers(4, 31, size=length).astype(np.int64) for length in (4, 9, 1, 7, 3, 11, 2, 8, 5)
]


def sharp(options, cell="gru"):
    """An untrained model says nearly the same everywhere: make it decided."""
    model = small(cell=cell, layers=2, **options)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4.0 if parameter.dim() > 1 else 1.0)
        model.project.bias[END] += 1.0
    return model


def answers(model, sources, *, prefixes=None, observed_extend=None, **options):
    prefixes = prefixes or [()] * len(sources)
    return generate(
        model, [Request(ids, len(ids) + 1, prefix) for ids, prefix in zip(sources, prefixes, strict=True)],
        collate=only_sources, options=DecodingConfig(**{"max_length": 9, **options}), marks=Marks(START, END, PAD),
        observed_extend=observed_extend,
    )  # fmt: skip


def only_sources(sources):
    return collate([(ids, np.empty(0, dtype=np.int64)) for ids in sources])


def teacher_forced(model, source, hypothesis):
    """Return the −log p of each token and the attention (T, S) from one pass over the whole answer."""
    written = [*hypothesis.tokens, END] if hypothesis.finished else hypothesis.tokens
    fed = np.array(written[:-1], dtype=np.int64)
    with torch.inference_mode(), observe(model) as record:
        logits = model(collate([(source, fed)]))[0]
    each = logits.log_softmax(dim=1)[range(len(written)), written]
    return each, record.maps[0].weights[0, 0] if record.maps else None


def same(ours, theirs):
    for mine, other in zip(ours, theirs, strict=True):
        assert [found.tokens for found in mine] == [found.tokens for found in other]
        for one, two in zip(mine, other, strict=True):
            assert one.score == pytest.approx(two.score, abs=1e-4)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@variants(*SEARCHED)
def test_a_beams_score_is_the_score_of_the_whole_answer(cell, options):
    model = sharp(options, cell)
    found = answers(model, SOURCES, beam=4, n_best=4)
    assert len({tuple(best[0].tokens) for best in found}) > 4, "the model should not say the same to all"
    for source, hypotheses in zip(SOURCES, found, strict=True):
        assert len({tuple(hypothesis.tokens) for hypothesis in hypotheses}) == len(hypotheses) == 4
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        for hypothesis in hypotheses:
            each, _ = teacher_forced(model, source, hypothesis)
            assert_close(torch.tensor(hypothesis.token_log_probabilities), each, atol=1e-4, rtol=1e-4)
            assert hypothesis.score == pytest.approx(float(each.sum()) / len(each), abs=1e-4)


@variants(*SEARCHED)
def test_a_batch_of_one_answers_as_a_batch_of_many(options):
    model = sharp(options)
    for search in ({"beam": 1}, {"beam": 3, "n_best": 3}, {"sample": True, "beam": 1, "seed": 5}):
        together = answers(model, SOURCES, **search)
        for batch_size in (1, 2, 5):
            same(answers(model, SOURCES, batch_size=batch_size, **search), together)
    same([answers(model, [source], beam=3)[0] for source in SOURCES], answers(model, SOURCES, beam=3))


@variants(*SEARCHED)
def test_greedy_takes_the_likeliest_and_streams_the_same(options):
    model = sharp(options)
    for source, [answer] in zip(SOURCES, answers(model, SOURCES, beam=1), strict=True):
        written: list[int] = []
        while len(written) < 9:  # the slow way: everything again for each token
            with torch.no_grad():
                logits = model(collate([(source, np.array(written, dtype=np.int64))]))[0, -1]
            logits[[START, PAD]] = -math.inf
            if logits.argmax() == END:
                break
            written.append(int(logits.argmax()))
        assert answer.tokens == written
        streamed = list(
            stream(
                model, Request(source, len(source) + 1), collate=only_sources, options=DecodingConfig(max_length=9),
                marks=Marks(START, END, PAD),
            )
        )  # fmt: skip
        assert [token for token, _ in streamed] == written


@variants(*SEARCHED)
def test_a_prefix_is_kept_and_what_follows_fits_it(options):
    model = sharp(options)
    prefixes = [[5, 6], [7], [], [8, 9, 10], [5], [6, 6], [11], [], [12]]
    for search in ({"beam": 1}, {"beam": 3}, {"sample": True}):
        for source, prefix, [answer, *_] in zip(
            SOURCES, prefixes, answers(model, SOURCES, prefixes=prefixes, **search), strict=True
        ):
            assert answer.tokens[: len(prefix)] == prefix
            each, _ = teacher_forced(model, source, answer)
            assert_close(torch.tensor(answer.token_log_probabilities), each, atol=1e-4, rtol=1e-4)


def test_draws_follow_the_models_own_distribution():
    model = sharp(VARIANTS["mlp, after"])
    source = SOURCES[1]
    with torch.no_grad():
        logits = model(only_sources([source]))[0, 0]
    logits[[START, PAD]] = -math.inf
    drawn = answers(model, [source] * 3000, sample=True, max_length=1, batch_size=3000)
    counts = torch.bincount(torch.tensor([END if not h.tokens else h.tokens[0] for [h] in drawn]), minlength=29)
    assert_close(counts / 3000, logits.softmax(dim=0), atol=0.04, rtol=0.0)


@variants("dot, after", "bilinear, bridge, before", "mlp, feeding", "mlp, reversed")
def test_attention_seen_while_writing_is_that_of_one_pass_over_the_answer(options):
    model = sharp(options)
    for source in SOURCES[:4]:
        with observe(model) as record:
            [[answer]] = answers(model, [source], beam=1)
        seen = torch.cat([found.weights[0, 0] for found in record.of_kind("recurrent")])
        _, wanted = teacher_forced(model, source, answer)
        assert seen.shape == wanted.shape
        assert_close(seen, wanted, atol=1e-4, rtol=1e-4)
        assert_close(seen.sum(dim=1), torch.ones(len(seen)))


@variants("dot, after", "bilinear, bridge, before", "mlp, feeding")
@pytest.mark.parametrize("batch_size", [2, 64])
def test_coverage_under_a_beam_is_that_of_each_hypothesis(batch_size, options):
    model = sharp(options)
    found = answers(
        model,
        SOURCES,
        observed_extend=observed_extend(model),
        beam=3,
        n_best=3,
        coverage_penalty=0.7,
        batch_size=batch_size,
    )
    for source, hypotheses in zip(SOURCES, found, strict=True):
        for hypothesis in hypotheses:
            each, looked = teacher_forced(model, source, hypothesis)
            penalty = 0.7 * float(looked.sum(dim=0).clamp(min=1e-6, max=1.0).log().sum())
            assert hypothesis.score == pytest.approx(float(each.sum()) / len(each) + penalty, abs=1e-3)


def test_coverage_of_a_model_without_attention_is_refused_in_a_sentence():
    model = sharp({"attention": "none"})
    with pytest.raises(ConfigError, match="no source attention to cover; set coverage_penalty = 0"):
        answers(model, SOURCES, observed_extend=observed_extend(model), beam=3, coverage_penalty=0.7)


def test_hypotheses_share_the_memory_of_their_sentence():
    model = small()
    batch = make_batch((7, 5), (6, 6))
    state = model.start(model.encode(batch))
    parts = state.memory.parts
    state = state.select(torch.tensor([0, 0, 0, 1, 1, 1]))
    assert state.rows == 6
    assert all(mine.data_ptr() == theirs.data_ptr() for mine, theirs in zip(state.memory.parts, parts, strict=True))
    assert [len(vector) for vector in state.vectors] == [6]


def test_a_memory_can_be_made_by_hand():
    """Nothing but the Memory passes from encoder to decoder."""
    model, batch = small(), make_batch()
    memory = model.encode(batch)
    copy = Memory(memory.states.clone(), memory.mask.clone(), tuple(vector.clone() for vector in memory.layers))
    logits, _ = model.extend(batch.inputs, model.start(copy))
    assert_close(logits, model(batch), **CLOSE)
    assert_close(F.softmax(logits, dim=2).sum(dim=2), torch.ones(3, 6))
