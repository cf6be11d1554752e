"""The writer: text in pieces equal to text as a whole, past the window, up to a stop text, never an unknown beginning."""

import pytest

import jumok
from jumok.api import load_for
from jumok.config import TokenizerConfig
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError
from jumok.predictors.base import Notice
from jumok.predictors.translator import Translator
from jumok.predictors.writer import Writer

RECIPE = """
task = "language-modeling"
[data]
train = "rhyme.txt"
val = "rhyme.txt"
documents = "line"
[tokenizer]
kind = "character"
vocabulary = 60
min_frequency = 1
[model]
name = "gpt"
layers = 1
width = 32
heads = 2
feedforward = 64
window = 24
[training]
steps = 300
batch_tokens = 480
learning_rate = 1e-2
warmup = 10
label_smoothing = 0.0
evaluate_every = 300
save_every = 300
"""
RHYME = ["one two three four five", "once I caught a fish alive", "six seven eight nine ten", "then I let it go again"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rhyme")
    (folder / "rhyme.txt").write_text("\n".join(RHYME * 30) + "\n", encoding="utf-8")
    (folder / "rhyme.toml").write_text(RECIPE, encoding="utf-8")
    return jumok.train(folder / "rhyme.toml", out=folder / "run")


@pytest.fixture(scope="module")
def writer(run):
    return load_for(Writer, run)


def choose(writer, **changes):
    return writer.options.model_copy(update=changes)


def test_it_has_learnt_its_lines_by_heart(writer):
    greedy = choose(writer, sample=False)
    for line in RHYME[1:3]:
        assert writer.generate(line[:9], options=greedy) == line[9:]


@pytest.mark.parametrize(
    "changes", [{}, {"temperature": 2.0}, {"top_k": 3}, {"min_p": 0.2}, {"sample": False}], ids=str
)
def test_pieces_make_the_whole_and_a_seed_repeats_it(writer, changes):
    for seed in (1, 2):
        options = choose(writer, seed=seed, max_length=60, **changes)
        whole = writer.generate("one", options=options)
        assert "".join(writer.stream("one", options=options)) == whole == writer.generate("one", options=options)


def test_seeds_differ_and_low_temperature_does_not(writer):
    bold = {writer.generate("", options=choose(writer, seed=seed, temperature=3.0, max_length=15)) for seed in range(6)}
    safe = {writer.generate("six s", options=choose(writer, seed=seed, temperature=0.01)) for seed in range(6)}
    assert len(bold) == 6
    assert len(safe) == 1


def test_past_the_window_it_goes_on_and_says_so_once(writer):
    """With the end forbidden by a penalty too high to reach, only the length asked for stops it."""
    said = []
    options = choose(writer, max_length=100, temperature=5.0, seed=4)
    texts = [
        writer.generate(
            "six seven", options=choose(writer, max_length=100, temperature=5.0, seed=seed), warn=said.append
        )
        for seed in range(8)
    ]
    longest = max(texts, key=len)
    assert len(longest) > writer.task.window
    assert said
    assert str(said[0]).startswith("the text outgrows the model's window of 24 tokens: it goes on from the newest 12")
    assert len(said) <= 8
    assert writer.generate("six seven", options=options) == texts[4]


def test_a_beginning_longer_than_the_window_is_read_from_its_newest_half(writer):
    said = []
    long = "once I caught a fish alive six s"
    greedy = choose(writer, sample=False, max_length=4)
    assert len(long) > writer.task.window
    writer.generate(long, options=greedy, warn=said.append)
    assert len(said) == 1


def test_it_ends_before_a_stop_text_even_one_of_several_tokens(writer):
    greedy = choose(writer, sample=False)
    assert writer.generate("six", options=choose(writer, sample=False, stop=["nine"])) == " seven eight "
    assert writer.generate("six", options=choose(writer, sample=False, stop=["zebra", "n e"])) == " seve"
    pieces = list(writer.stream("six", options=choose(writer, sample=False, stop=["eight nine"])))
    assert "".join(pieces) == " seven "
    assert writer.generate("six", options=choose(writer, sample=False, stop=["zebra"])) == writer.generate(
        "six", options=greedy
    )


@pytest.mark.parametrize("kind", ["byte", "bpe", "character"])
def test_a_piece_is_whole_characters_and_no_dearer_late_in_a_text(writer, monkeypatch, kind):
    text = "봄이 오면 산에 들에 진달래 피네 🌸 one two " * 40
    tokenizer = Tokenizer.train([text], TokenizerConfig(kind=kind, vocabulary=300, min_frequency=1))
    longest, decode = [], tokenizer.decode
    monkeypatch.setattr(tokenizer, "decode", lambda ids: longest.append(len(ids)) or decode(ids))
    monkeypatch.setattr(type(writer.task), "tokenizer", tokenizer)
    ids = tokenizer.encode([text])[0]
    monkeypatch.setattr(Writer, "_tokens", lambda self, known, options, warn: iter(ids))
    for stops, wanted in [
        ([], text),
        (["두 번"], text),
        (["🌸 one"], "봄이 오면 산에 들에 진달래 피네 "),
        (["면 산", "오"], "봄이 "),
    ]:
        pieces = list(writer.stream("봄", options=choose(writer, stop=stops)))
        assert "".join(pieces).removeprefix(" ") == wanted  # a text of its own begins with a space, in BPE
        assert "\N{REPLACEMENT CHARACTER}" not in "".join(pieces)
        assert all(pieces)
        assert len(pieces) > 2
    assert max(longest) < 20


def test_a_repetition_penalty_makes_letters_rarer(writer):
    plain, penalised = (
        writer.generate("one", options=choose(writer, sample=False, max_length=20, repetition_penalty=penalty))
        for penalty in (1.0, 50.0)
    )
    assert len(set(penalised)) > len(set(plain)) or len(penalised) < len(plain)
    assert penalised != plain


def test_unknown_letters_are_told_and_nothing_but_them_refused(writer):
    said = []
    writer.generate("one ☃ two", warn=said.append)
    assert said[:1] == [Notice(None, "1 of 9 tokens of the beginning are unknown to the model")]
    with pytest.raises(ConfigError, match="the model knows none of the characters of '☃☃'"):
        writer.generate("☃☃")


def test_scores_of_text_agree_with_each_other(writer, tmp_path):
    (scores,) = writer.evaluate("val").values()
    assert scores["loss"] < 1.5
    bits = scores["loss"] * scores["tokens"] / 0.6931471805599453
    assert scores["bits_per_byte"] == pytest.approx(bits / scores["bytes"])
    assert scores["bits_per_character"] == pytest.approx(bits / scores["characters"])
    own = tmp_path / "own.txt"
    own.write_text("one two three four five\n" * 3, encoding="utf-8")
    assert writer.evaluate("val", source=own)["own.txt"]["documents"] == 3
    with pytest.raises(ConfigError, match="--target is for translation"):
        writer.evaluate("val", source=own, target=own)


def test_a_run_of_another_task_is_refused(run):
    with pytest.raises(ConfigError, match="is a run of language-modeling: use jumok generate, not jumok translate"):
        load_for(Translator, run)
