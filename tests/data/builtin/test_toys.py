"""The toy sets: right answers, splits that share nothing, the same pairs in every process."""

import os
import subprocess
import sys

import pytest

from jumok.data.builtin.toys import DEFAULT_SIZES, SETS, pairs, split_of
from jumok.errors import DataError

SPLITS = ("train", "val", "test")


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("split", SPLITS)
def test_every_answer_is_the_source_copied_or_turned_round(name, split):
    made = pairs(name, split)
    assert len(made) == DEFAULT_SIZES[split]
    for source, target in made:
        letters = source.split(" ")
        assert all(len(letter) == 1 and letter.isalpha() for letter in letters)
        assert target.split(" ") == (letters if name == "copy" else letters[::-1])


@pytest.mark.parametrize("name", SETS)
def test_splits_share_no_source_even_when_their_seeds_differ(name):
    sources = [{source for seed in (1, 2, 3) for source, _ in pairs(name, split, seed=seed)} for split in SPLITS]
    assert not sources[0] & sources[1]
    assert not sources[0] & sources[2]
    assert not sources[1] & sources[2]


def test_no_pair_comes_twice():
    assert len(set(pairs("copy", "train", longest=3))) == DEFAULT_SIZES["train"]


def test_all_lengths_up_to_the_longest_are_drawn():
    lengths = {len(source.split()) for source, _ in pairs("reverse", "train", longest=7)}
    assert lengths == set(range(1, 8))


def test_a_smaller_set_is_the_beginning_of_a_larger_one():
    assert pairs("copy", "train", 300)[:50] == pairs("copy", "train", 50)


def test_another_seed_gives_other_pairs():
    assert pairs("copy", "train", 100, seed=1) != pairs("copy", "train", 100, seed=2)


def test_every_process_makes_the_same_pairs():
    program = "from jumok.data.builtin.toys import pairs; print(pairs('reverse', 'test', 20))"
    for salt in ("0", "1"):
        answer = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": salt}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert answer.stdout.strip() == str(pairs("reverse", "test", 20))


def test_splits_have_about_their_shares():
    found = [split_of(str(number)) for number in range(10_000)]
    assert 0.83 < found.count("train") / len(found) < 0.87
    assert 0.04 < found.count("val") / len(found) < 0.06


def test_too_few_sequences_is_an_error_that_says_so():
    with pytest.raises(DataError, match=r"'copy' has only about \d+ .* at most 1 letters, and 500 .*longest"):
        pairs("copy", "train", 500, longest=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("copi", "train"), "no toy set 'copi'; did you mean 'copy'?"),
        (("copy", "valid"), "no split 'valid'; did you mean 'val'?"),
        (("copy", "train", -3), "cannot have -3 pairs"),
        (("copy", "train", 5, 1, 0), "longest = 0"),
    ],
)
def test_a_wrong_request_is_explained(arguments, message):
    with pytest.raises(DataError) as error:
        pairs(*arguments)
    assert message in str(error.value)
