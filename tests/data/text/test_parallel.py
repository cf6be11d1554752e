"""From a recipe's [data] to stores: which pairs go where, what the cache is keyed by, where files are looked for."""

import gzip

import pytest

from jumok.cache import cache_entries
from jumok.config import Corpus, ParallelData, TokenizerConfig
from jumok.data.text.parallel import ParallelCorpora
from jumok.errors import ConfigError, DataError

CHARACTERS = TokenizerConfig(kind="character", vocabulary=100)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))


def write(folder, name, lines):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_pairs(folder, count=200, *, start=0, name="train"):
    write(folder, f"{name}.x", [f"x {number}" for number in range(start, start + count)])
    write(folder, f"{name}.y", [f"y {number}" for number in range(start, start + count)])


def corpora(place, tokenizer=CHARACTERS, **data):
    data = {"train": [{"source": "train.x", "target": "train.y"}]} | data
    return ParallelCorpora(ParallelData.parse(data, "data"), tokenizer, [place])


def texts(store):
    return [store.text(number) for number in range(len(store))]


VAL = {"val": [{"source": "val.x", "target": "val.y"}]}


# --- holding out


def test_held_out_pairs_and_the_rest_are_the_whole_and_share_no_source(tmp_path):
    lines = [f"x {number % 90}" for number in range(300)]  # each source several times, with different targets
    write(tmp_path, "train.x", lines)
    write(tmp_path, "train.y", [f"y {number}" for number in range(300)])
    both = corpora(tmp_path, hold_out=60)
    train, held = texts(both.train), texts(both.evaluation("val")["held out"])
    assert sorted(train + held) == sorted(zip(lines, (f"y {number}" for number in range(300)), strict=True))
    assert not {source for source, _ in train} & {source for source, _ in held}
    assert 30 <= len(held) <= 90


def test_sources_that_differ_in_whitespace_or_case_alone_count_as_the_same(tmp_path):
    variants = [
        f"{a}x{b}{number}{c}"
        for number in range(60)
        for a, b, c in [("", " ", ""), (" ", "  ", "\t"), ("", "\u00a0", " ")]
    ]
    write(tmp_path, "train.x", [line.upper() if index % 2 else line for index, line in enumerate(variants)])
    write(tmp_path, "train.y", [str(number) for number in range(180)])
    both = corpora(tmp_path, hold_out=60, lowercase=True)
    held = {source for source, _ in texts(both.evaluation("val")["held out"])}
    assert held
    assert not held & {source for source, _ in texts(both.train)}


def test_with_val_files_everything_is_for_training(tmp_path):
    write_pairs(tmp_path)
    write_pairs(tmp_path, 10, start=900, name="val")
    both = corpora(tmp_path, **VAL)
    assert len(both.train) == 200
    assert {label: len(store) for label, store in both.evaluation("val").items()} == {"val.x": 10}


@pytest.mark.parametrize("val_first", [True, False])
def test_recipes_with_and_without_val_files_do_not_share_a_cached_training_set(val_first, tmp_path):
    """Else pairs held out by one recipe would be learnt from: the files of train are the same."""
    write_pairs(tmp_path)
    write_pairs(tmp_path, 10, start=900, name="val")
    for with_val in (val_first, not val_first):
        both = corpora(tmp_path, **(VAL if with_val else {}))
        train = {source for source, _ in texts(both.train)}
        if with_val:
            assert len(train) == 200
        else:
            held = {source for source, _ in texts(both.evaluation("val")["held out"])}
            assert held
            assert not held & train
            assert len(held | train) == 200


def test_a_small_file_still_holds_some_out(tmp_path):
    for count in (20, 23, 29, 40):
        write_pairs(tmp_path / str(count), count)
        assert 1 <= len(corpora(tmp_path / str(count)).evaluation("val")["held out"]) < count


def test_holding_out_what_is_not_there_is_refused(tmp_path):
    write_pairs(tmp_path, 19)
    with pytest.raises(DataError, match="19 pairs are too few to hold some out for val; name val files"):
        _ = corpora(tmp_path).train
    write_pairs(tmp_path / "more", 50)
    with pytest.raises(ConfigError, match=r"data\.hold_out = 50 leaves nothing of 50 pairs to train on"):
        _ = corpora(tmp_path / "more", hold_out=50).train


# --- the cache


def entries():
    return {entry.name for entry in cache_entries()}


def test_same_content_in_another_folder_is_the_same_entry(tmp_path):
    for name in ("here", "there"):
        write_pairs(tmp_path / name)
        write_pairs(tmp_path / name, 10, start=900, name="val")
    first = corpora(tmp_path / "here", **VAL)
    _ = first.train, first.evaluation("val")
    before = entries()
    second = corpora(tmp_path / "there", **VAL)
    _ = second.train, second.evaluation("val")
    assert entries() == before
    assert second.train.folder == first.train.folder


def test_same_content_under_another_name_is_the_same_entry(tmp_path):
    write_pairs(tmp_path)
    write_pairs(tmp_path, name="renamed")
    renamed = {"source": "renamed.x", "target": "renamed.y"}
    first, second = corpora(tmp_path), corpora(tmp_path, train=[renamed])
    assert first.train.folder == second.train.folder
    assert (
        first.own_store(Corpus(source="train.x", target="train.y")).folder
        == first.own_store(Corpus(**renamed, name="mine")).folder
    )


def test_the_same_bytes_read_in_another_way_are_another_entry(tmp_path):
    for name in ("a.tsv", "a.csv"):
        write(tmp_path, name, [f"{number},x{number}\ty{number},{number}" for number in range(30)])
    stores = [
        corpora(tmp_path, train=[{"file": name, "source_column": source, "target_column": 1 - source}]).train
        for name in ("a.tsv", "a.csv") for source in (0, 1)
    ]  # fmt: skip
    assert len({store.folder for store in stores}) == 4


def test_one_changed_byte_is_a_new_entry(tmp_path):
    write_pairs(tmp_path)
    write_pairs(tmp_path, 10, start=900, name="val")
    first = corpora(tmp_path, **VAL)
    folder, scored = first.train.folder, first.evaluation("val")["val.x"].folder
    raw = bytearray((tmp_path / "train.y").read_bytes())
    raw[0] = ord("z")
    (tmp_path / "train.y").write_bytes(raw)
    second = corpora(tmp_path, **VAL)
    assert second.train.folder != folder
    assert (first.train.text(0), second.train.text(0)) == (("x 0", "y 0"), ("x 0", "z 0"))
    assert second.evaluation("val")["val.x"].folder == scored, "its file and the tokenizer are the same"


@pytest.mark.parametrize("change", [
    {"max_length": 50}, {"lowercase": True}, {"max_ratio": 3.0}, {"deduplicate": True}, {"hold_out": 30},
])  # fmt: skip
def test_options_that_change_the_pairs_change_the_entry(change, tmp_path):
    write_pairs(tmp_path)
    assert corpora(tmp_path, **change).train.folder != corpora(tmp_path).train.folder


def test_another_tokenizer_is_another_store_but_dropout_is_not(tmp_path):
    write_pairs(tmp_path)
    options = {"kind": "bpe", "vocabulary": 270}
    plain, dropped, other = (
        corpora(tmp_path, TokenizerConfig(**options | more)).train.folder
        for more in ({}, {"dropout": 0.1, "target_dropout": 0.2}, {"kind": "word"})
    )
    assert plain == dropped != other


def test_tokenizers_of_a_run_are_used_as_they_are(tmp_path):
    write_pairs(tmp_path)
    write_pairs(tmp_path / "other", start=5000)
    given = corpora(tmp_path / "other")
    both = corpora(tmp_path)
    both.tokenizers = (given.source_tokenizer, given.target_tokenizer)
    assert both.source_tokenizer is given.source_tokenizer
    assert len(both.train) > 0


def test_shared_and_separate_tokenizers(tmp_path):
    write_pairs(tmp_path)
    shared = corpora(tmp_path)
    assert shared.source_tokenizer is shared.target_tokenizer
    separate = corpora(tmp_path, TokenizerConfig(kind="character", vocabulary=100, shared=False))
    assert "x" in "".join(separate.source_tokenizer.vocabulary)
    assert "x" not in "".join(token for token in separate.target_tokenizer.vocabulary if not token.startswith("["))


def test_the_tokenizer_learns_nothing_from_held_out_pairs(tmp_path):
    write_pairs(tmp_path, 100)
    both = corpora(tmp_path, hold_out=20)
    rare = next(iter(texts(both.evaluation("val")["held out"])))[0]
    write(tmp_path, "train.y", [f"y {number} {'ß' if f'x {number}' == rare else ''}" for number in range(100)])
    both = corpora(tmp_path, hold_out=20)
    assert not any("ß" in token for token in both.target_tokenizer.vocabulary)
    assert any("ß" in target for _, target in texts(both.evaluation("val")["held out"]))


# --- several corpora


def test_corpora_of_different_kinds_and_columns_follow_each_other(tmp_path):
    write(tmp_path, "a.x", ["one", "two"])
    write(tmp_path, "a.y", ["eins", "zwei"])
    write(tmp_path, "b.tsv", ["3\tdrei\tthree", "4\tvier\tfour"])
    write(tmp_path, "c.csv", ["de,en", '"fünf, 5",five'])
    with gzip.open(tmp_path / "d.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write('{"en": "six", "de": "sechs"}\n')
    both = corpora(
        tmp_path,
        train=[
            {"source": "a.x", "target": "a.y"},
            {"file": "b.tsv", "source_column": 2, "target_column": 1},
            {"file": "c.csv", "source_column": "en", "target_column": "de"},
            {"file": "d.jsonl.gz", "source_column": "en", "target_column": "de"},
        ],
        val=[{"source": "a.x", "target": "a.y"}],
    )
    assert texts(both.train) == [
        ("one", "eins"), ("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "fünf, 5"), ("six", "sechs"),
    ]  # fmt: skip


def test_val_corpora_are_labelled_and_nothing_of_them_is_dropped(tmp_path):
    write_pairs(tmp_path, 30)
    write_pairs(tmp_path / "sub", 5, name="val")
    write(tmp_path, "hard.tsv", ["x\ty", "\ty", f"{'x' * 500}\ty", "x\ty"])
    both = corpora(tmp_path, max_length=20, deduplicate=True, val=[
        {"source": "sub/val.x", "target": "sub/val.y"}, {"file": "hard.tsv"}, {"file": "hard.tsv", "name": "again"},
    ])  # fmt: skip
    found = both.evaluation("val")
    assert {label: len(store) for label, store in found.items()} == {"val.x": 5, "hard.tsv": 4, "again": 4}
    assert texts(found["hard.tsv"])[1:3] == [("", "y"), ("x" * 500, "y")]


def test_a_split_without_data_is_refused(tmp_path):
    write_pairs(tmp_path)
    with pytest.raises(DataError, match=r"the recipe has no test data; add test = \{…\} to"):
        corpora(tmp_path).evaluation("test")


def test_two_files_given_by_hand_are_scored_whole(tmp_path):
    write_pairs(tmp_path)
    write_pairs(tmp_path / "elsewhere", 7, name="mine")
    corpus = Corpus(source=str(tmp_path / "elsewhere/mine.x"), target=str(tmp_path / "elsewhere/mine.y"))
    assert len(corpora(tmp_path).own_store(corpus)) == 7


def test_when_nothing_is_left_the_counts_say_why(tmp_path):
    write_pairs(tmp_path, 30)
    with pytest.raises(DataError, match="30 too long"):
        _ = corpora(tmp_path, max_length=2, val=[{"source": "train.x", "target": "train.y"}]).train


# --- built-in sets


def test_a_built_in_set_has_its_splits_and_its_size():
    both = ParallelCorpora(ParallelData(set="reverse", size=40), CHARACTERS, [])
    assert len(both.train) == 40
    splits = [set(texts(both.evaluation(split)["reverse"])) for split in ("train", "val", "test")]
    assert len(splits[0]) == 40
    assert not splits[0] & splits[1]
    assert not splits[1] & splits[2]
    assert all(source[::-1] == target for split in splits for source, target in split)


def test_sizes_of_a_built_in_set_are_different_entries():
    small, large = (ParallelCorpora(ParallelData(set="copy", size=size), CHARACTERS, []) for size in (20, 30))
    assert (len(small.train), len(large.train)) == (20, 30)


def test_an_unknown_set_names_the_nearest():
    with pytest.raises(ConfigError, match=r"data\.set = 'revers' is not a built-in set; did you mean 'reverse'\?"):
        ParallelCorpora(ParallelData(set="revers"), CHARACTERS, [])


# --- where files are looked for


def test_the_first_folder_that_has_the_file_wins(tmp_path):
    write_pairs(tmp_path / "near", 30)
    write_pairs(tmp_path / "far", 30, start=5000)
    data = ParallelData.parse({"train": {"source": "train.x", "target": "train.y"}}, "data")
    both = ParallelCorpora(data, CHARACTERS, [tmp_path / "empty", tmp_path / "near", tmp_path / "far"])
    assert all(int(source.split()[1]) < 5000 for source, _ in texts(both.train))


def test_a_missing_file_says_where_it_was_looked_for_and_how_to_get_it(tmp_path):
    with pytest.raises(DataError, match=r"(?s)train\.x was not found; looked at .*Pass --data FOLDER") as error:
        _ = corpora(tmp_path).train
    assert "jumok fetch multi30k" not in str(error.value)
    with pytest.raises(DataError, match="This set has a public home: jumok fetch multi30k"):
        _ = corpora(tmp_path, folder="multi30k").train
