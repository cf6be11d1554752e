"""Text survives the way to ids and back, special tokens are never made from text, equal texts give equal tokenizers."""

import base64
import json
import os
import pickle
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import TokenizerConfig
from jumok.data.text.tokenizer import END, PAD, SPECIALS, START, UNKNOWN, Tokenizer
from jumok.errors import ConfigError, DataError, RunError

TEXTS = [
    "Hello, world (and you).",
    "A well-known man didn't see 2024 dogs, [END] he said.",
    "넌 누구니? 나는 너를 좋아해.",
    "The animal didn't cross the street because it was too tired",
] * 5
KINDS = ["bpe", "unigram", "word", "character"]


def trained(kind, vocabulary=400, **options):
    return Tokenizer.train(TEXTS, TokenizerConfig(kind=kind, vocabulary=vocabulary, **options))


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return trained(request.param)


def test_known_text_comes_back(tokenizer):
    for text, ids in zip(TEXTS, tokenizer.encode(TEXTS), strict=True):
        assert ids
        assert tokenizer.decode(ids) == text
        assert tokenizer.decode([START, *ids, END, PAD, PAD]) == text
    assert tokenizer.encode([""]) == [[]]
    assert tokenizer.decode([]) == ""


@pytest.mark.parametrize("split_digits", [False, True])
@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=40))
def test_byte_level_bpe_gives_back_any_text(split_digits, text):
    tokenizer = BPE[split_digits]
    ids = tokenizer.encode([text])[0]
    assert tokenizer.decode(ids) == text
    assert all(index >= len(SPECIALS) for index in ids)


BPE = {split_digits: trained("bpe", split_digits=split_digits) for split_digits in (False, True)}


@settings(max_examples=60, deadline=None)
@given(text=st.text(sorted(set("".join(TEXTS))), max_size=30))
def test_known_characters_come_back(text):
    assert CHARACTER.decode(CHARACTER.encode([text])[0]) == text
    tidied = " ".join(text.split())
    assert UNIGRAM.decode(UNIGRAM.encode([tidied])[0]) == tidied


CHARACTER, UNIGRAM = trained("character"), trained("unigram")


def test_special_tokens_are_never_made_from_text(tokenizer):
    written = ["[END]", "[PAD] [START]", *SPECIALS, "x[END]y", "a [END] b"]
    ids = [index for row in tokenizer.encode(written) for index in row]
    assert not {PAD, START, END} & set(ids)


def test_the_first_ids_are_the_special_ones(tokenizer):
    vocabulary = tokenizer.vocabulary
    assert [vocabulary[name] for name in SPECIALS] == [PAD, UNKNOWN, START, END] == [0, 1, 2, 3]
    assert sorted(vocabulary.values()) == list(range(len(tokenizer)))
    assert len(tokenizer) <= 400


def test_what_was_never_seen_is_unknown():
    for kind in ("unigram", "word", "character"):
        assert UNKNOWN in trained(kind).encode(["ж"])[0], kind


def test_words_are_numbered_in_order(tokenizer):
    encoded = tokenizer.encode_words(TEXTS)
    assert [ids for ids, _ in encoded] == tokenizer.encode(TEXTS)
    for ids, words in encoded:
        assert len(ids) == len(words)
        assert words[0] == 0
        assert all(after - before in (0, 1) for before, after in pairwise(words))


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word"])
def test_digits_can_be_tokens_of_their_own(kind):
    texts = ["in 2024 and 1999"] * 9
    joined = Tokenizer.train(texts, TokenizerConfig(kind=kind, vocabulary=300))
    split = Tokenizer.train(texts, TokenizerConfig(kind=kind, vocabulary=300, split_digits=True))
    labels = split.labels(split.encode(texts)[0])
    assert [label for label in labels if any(letter.isdigit() for letter in label)] == list("20241999")
    if kind != "unigram":  # which needs more text than this for pieces of several letters
        assert any("2024" in label for label in joined.labels(joined.encode(texts)[0]))
    assert split.decode(split.encode(texts)[0]) == texts[0]


@pytest.mark.parametrize("kind", ["bpe", "word", "character"])
def test_what_is_rare_is_left_out(kind):
    texts = ["common common", "common zebra"]
    for frequency, known in ((1, True), (2, False)):
        tokenizer = Tokenizer.train(texts, TokenizerConfig(kind=kind, vocabulary=400, min_frequency=frequency))
        labels = tokenizer.labels(list(tokenizer.vocabulary.values()))
        assert (("z" in labels) if kind == "character" else ("▁zebra" in labels)) == known
    assert any("common" in label for label in labels) or kind == "character"


def test_labels_are_readable():
    assert BPE[False].labels(BPE[False].encode(["Hello, 누구니"])[0])[:2] == ["▁Hello", ","]
    assert BPE[False].labels([PAD, UNKNOWN, START, END]) == list(SPECIALS)
    small = Tokenizer.train(["abc"], TokenizerConfig(vocabulary=260))
    assert small.labels(small.encode(["a가"])[0]) == ["▁", "a", "<EA>", "<B0>", "<80>"]
    large = Tokenizer.train(["주목 주목"] * 9, TokenizerConfig(vocabulary=300))
    assert large.labels(large.encode(["주목"])[0]) == ["▁주목"]
    assert CHARACTER.labels(CHARACTER.encode(["a b"])[0]) == ["a", "▁", "b"]
    assert trained("word").labels(trained("word").encode(["world (and"])[0]) == ["▁world", "▁(", "and"]


def test_save_load_and_pickle_give_the_same_tokenizer(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.json")
    for copy in (Tokenizer.load(tmp_path / "tokenizer.json"), pickle.loads(pickle.dumps(tokenizer))):
        assert copy.fingerprint == tokenizer.fingerprint
        assert copy.kind == tokenizer.kind
        assert copy.vocabulary == tokenizer.vocabulary
        assert copy.encode(TEXTS) == tokenizer.encode(TEXTS)


def test_a_missing_or_damaged_file_is_a_clear_error(tmp_path):
    path = tmp_path / "tokenizer.json"
    with pytest.raises(RunError, match="is missing"):
        Tokenizer.load(path)
    BPE[False].save(path)
    for content in (path.read_bytes()[:1000], b"", b"{}", b"\xff\xfe"):
        path.write_bytes(content)
        with pytest.raises(RunError, match="damaged"):
            Tokenizer.load(path)


PROGRAM = """
import sys
sys.path[:0] = {path!r}
from jumok.config import TokenizerConfig
from jumok.data.text.tokenizer import Tokenizer
import random
letters = random.Random(3)
texts = ["".join(letters.choice("abcdefghijk  äöü가나다") for _ in range(60)) for _ in range(300)]
for kind in ("bpe", "unigram", "word", "character"):
    tokenizer = Tokenizer.train(texts, TokenizerConfig(kind=kind, vocabulary=500))
    print(kind, tokenizer.fingerprint)
if {fork}:
    import os
    tokenizer.encode(texts)
    child = os.fork()
    tokenizer.encode(texts)
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert "TOKENIZERS_PARALLELISM" not in os.environ
"""


def run(fork):
    environment = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    program = PROGRAM.format(path=[path for path in sys.path if path], fork=fork)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)


def test_equal_texts_give_equal_tokenizers_in_any_process_and_forks_are_quiet():
    first, second = run(fork=True), run(fork=False)
    assert first.stdout == second.stdout
    assert len(first.stdout.splitlines()) == 4  # and no output while training
    assert first.stderr == second.stderr == ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_no_text_is_an_error(kind, texts):
    with pytest.raises(DataError, match="no text to train a tokenizer on"):
        Tokenizer.train(texts, TokenizerConfig(kind=kind, vocabulary=300))


@pytest.mark.parametrize(("kind", "needed"), [("bpe", 260), ("unigram", 12)])
def test_a_vocabulary_too_small_is_an_error_and_no_endless_search(kind, needed):
    with pytest.raises(ConfigError, match=f"tokenizer.vocabulary = 8 is too small .* at least {needed}"):
        Tokenizer.train(["가나다라마바사"] * 9, TokenizerConfig(kind=kind, vocabulary=8))


def without_unknown(content):
    del content["model"]["vocab"]["[UNK]"]
    content["model"]["vocab"]["[GAP]"] = 1


def with_a_gap(content):
    content["model"]["vocab"]["a"] = 9999


def with_a_damaged_map(content):
    content["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(b"damaged").decode()}


@pytest.mark.parametrize(
    ("kind", "change", "why"),
    [
        ("character", without_unknown, r"WordLevel error: Missing \[UNK\] token from the vocabulary"),
        ("character", with_a_gap, r"its [\d,]+ tokens are not numbered from 0 to \d+"),
        ("bpe", with_a_gap, r"its [\d,]+ tokens are not numbered from 0 to \d+"),
        ("character", with_a_damaged_map, r"its map of characters is damaged"),
        ("character", lambda content: content["model"].update(type="Other"), r""),
        ("character", lambda content: content.update(model=[]), r""),
        ("character", lambda content: content.update(model={"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}), "it has fewer than the 4 special tokens"),
        ("bpe", lambda content: content["model"]["vocab"].update({"한": len(content["model"]["vocab"])}), "its tokens have letters that stand for no byte"),
    ],
)  # fmt: skip
def test_a_tokenizer_that_would_fail_in_use_is_refused(tmp_path, kind, change, why):
    content = json.loads(trained(kind).content)
    change(content)
    path = tmp_path / "source.json"
    path.write_text(json.dumps(content))
    with pytest.raises(
        RunError, match=rf"source\.json is damaged \({why}.*\); restore it from a copy, or train again\."
    ):
        Tokenizer.load(path)


@pytest.mark.parametrize("content", [b"[" * 9999, b"\xff{}", b'{"a": ' + b"1" * 5000 + b"}", b""])
def test_a_file_that_is_no_tokenizer(tmp_path, content):
    (tmp_path / "source.json").write_bytes(content)
    with pytest.raises(RunError, match=r"source\.json is damaged \(.*\); restore it from a copy"):
        Tokenizer.load(tmp_path / "source.json")


def test_tags_are_no_letters_of_bytes(tmp_path):
    tokenizer = Tokenizer.train(TEXTS, TokenizerConfig(kind="bpe", vocabulary=400), languages=("ko", "en"))
    tokenizer.save(tmp_path / "source.json")
    assert Tokenizer.load(tmp_path / "source.json").tags == tokenizer.tags == {"ko": 4, "en": 5}
