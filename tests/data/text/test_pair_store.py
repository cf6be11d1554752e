"""The store gives back every pair it kept, counts every one it did not, and notices damage."""

import os
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumok.cache import cached_folder
from jumok.config import Corpus, ParallelData, TokenizerConfig
from jumok.data.text import pair_store
from jumok.data.text.pair_store import Counts, PairStore, Part, build_pair_store
from jumok.data.text.sources import tidy
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import DataError

TOKENIZER = Tokenizer.train(["a b c hello world 누구니"] * 3, TokenizerConfig(vocabulary=280))
WORDS = Tokenizer.train(["a b c"] * 3, TokenizerConfig(kind="word", vocabulary=20))


def recipe(**options):
    return ParallelData(train=[Corpus(source="x", target="y")], **options)


def build(pairs, folder, *, data=None, source=TOKENIZER, target=TOKENIZER, **options):
    return build_pair_store(
        [Part(pairs)], source_tokenizer=source, target_tokenizer=target, data=data or recipe(), folder=folder, **options
    )


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), min_size=1, max_size=9))
def test_with_keep_all_every_pair_comes_back_tidied(tmp_path, pairs):
    store = build(pairs, tmp_path, keep_all=True)
    assert len(store) == len(pairs) == store.counts.kept
    for index, (source, target) in enumerate(pairs):
        assert store.text(index) == (tidy(source), tidy(target))
        assert TOKENIZER.decode(store.source[index]) == tidy(source)
        assert TOKENIZER.decode(store.target[index]) == tidy(target)
        assert store.lengths[index].tolist() == [len(store.source[index]) + 1, len(store.target[index]) + 1]


def test_chunks_do_not_show(tmp_path, monkeypatch):
    pairs = [(f"hello {n}", f"world {n * n} 누구니") for n in range(23)]
    whole = build(pairs, tmp_path / "whole")
    monkeypatch.setattr(pair_store, "CHUNK", 5)
    told = []
    cut = build(iter(pairs), tmp_path / "cut", progress=told.append)
    assert told == [5, 10, 15, 20, 23]
    for file in (tmp_path / "whole").iterdir():
        assert file.read_bytes() == (tmp_path / "cut" / file.name).read_bytes(), file.name
    assert [cut.text(n) for n in range(23)] == [whole.text(n) for n in range(23)] == pairs


def test_what_is_dropped_is_counted_by_reason(tmp_path):
    pairs = [
        ("a", "b"),
        ("", "b"),
        ("a", " \n"),
        ("a b c", "a"),
        ("a " * 4, "a " * 4),
        ("a", "b"),
        ("A", "c"),
        ("", ""),
    ]
    data = recipe(max_length=4, max_ratio=3.0, deduplicate=True, lowercase=True)
    store = build(pairs, tmp_path, data=data, source=WORDS, target=WORDS)
    assert store.counts == Counts(read=8, kept=2, empty_source=2, empty_target=1, too_long=1, bad_ratio=1, duplicates=1)
    assert store.counts.dropped == 6
    assert [store.text(0), store.text(1)] == [("a", "b"), ("a", "c")]
    sentence = str(store.counts)
    assert sentence.startswith("2 of 8 pairs kept (6 dropped: 2 empty source, 1 empty target, 1 too long,")
    kept = build(pairs, tmp_path / "all", data=data, source=WORDS, target=WORDS, keep_all=True)
    assert str(kept.counts) == "8 of 8 pairs kept"


@pytest.mark.parametrize(("words", "kept"), [(3, 1), (4, 0)])
def test_the_end_token_counts_towards_max_length(tmp_path, words, kept):
    data = recipe(max_length=4)
    pairs = [("a", "b"), ("a", " ".join("a" * words))]
    assert len(build(pairs, tmp_path, data=data, source=WORDS, target=WORDS)) == 1 + kept


def test_nothing_left_is_an_error_that_says_why(tmp_path):
    with pytest.raises(DataError, match=r"no pairs are left .* 0 of 2 pairs kept \(2 dropped: 2 empty target\)"):
        build([("a", ""), ("b", "")], tmp_path)


def test_sides_have_their_own_tokenizers_and_word_starts(tmp_path):
    store = build([("a b", "a b"), ("", "b c a")], tmp_path, source=WORDS, keep_all=True)
    assert WORDS.decode(store.source[0]) == "a b"
    assert TOKENIZER.decode(store.target[1]) == "b c a"
    assert store.source.words.tolist() == [1, 1]
    assert store.target.words.sum() == 5
    assert store.source[-1].tolist() == []
    with pytest.raises(IndexError):
        store.source[2]
    assert len(list(store.source)) == 2  # ends, like any sequence


def test_a_store_of_empty_lines_opens(tmp_path):
    store = build([("", ""), ("", "")], tmp_path, keep_all=True)
    assert store.text(1) == ("", "")
    assert store.lengths.tolist() == [[1, 1], [1, 1]]


def test_a_large_vocabulary_keeps_its_ids(tmp_path):
    texts = [chr(0x4E00 + n) + chr(0x4E00 + m) for n in range(300) for m in range(250)]
    tokenizer = Tokenizer.train(texts, TokenizerConfig(kind="word", vocabulary=80_000, min_frequency=1))
    assert len(tokenizer) > 1 << 16
    store = build([(texts[-1], texts[0])], tmp_path, source=tokenizer, target=tokenizer)
    assert store.source.ids.dtype == np.uint32
    assert tokenizer.decode(store.source[0]) == texts[-1]


def test_reading_maps_the_files_and_pickling_reopens_them(tmp_path):
    store = build([("hello", "world")] * 3, tmp_path)
    assert isinstance(store.source.ids.base, np.memmap)
    assert store.source.ids.dtype == np.uint16
    copy = pickle.loads(pickle.dumps(store))
    assert copy.text(2) == ("hello", "world")
    assert copy.counts == store.counts


@pytest.mark.parametrize("name", ["source.ids", "target.words", "source.offsets", "target.text", "store.json"])
@pytest.mark.parametrize("gone", [False, True])
def test_a_damaged_store_says_how_to_mend_it(tmp_path, name, gone):
    build([("hello", "world")] * 3, tmp_path)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    if not gone:
        (tmp_path / name).write_bytes(content[:-1])
    with pytest.raises(DataError, match=r"damaged.*jumok cache --clear"):
        PairStore.open(tmp_path)


def test_another_format_is_refused(tmp_path):
    build([("hello", "world")], tmp_path)
    path = tmp_path / "store.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 0'))
    with pytest.raises(DataError, match="has format 0, not 1"):
        PairStore.open(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("name", ["source.ids", "target.text", "store.json"])
def test_a_store_that_does_not_fit_is_a_full_disk_error(tmp_path, monkeypatch, name):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))

    def make(folder):
        (folder / name).symlink_to("/dev/full")
        build([("hello", "world")] * 3, folder)

    with pytest.raises(DataError, match="is full"):
        cached_folder("key", make)
