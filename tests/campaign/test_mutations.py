"""A small share of the mutations, and that the campaign notices what it should: its own failures would hide others."""

import ctypes
import os
import signal
import sys
import time
import warnings
from collections import Counter
from datetime import date
from pathlib import Path
from random import Random

import pytest

from campaign import target as target_module
from campaign.campaign import batches, make_good
from campaign.children import Batch, Limits, run
from campaign.mutations import KINDS, mutate
from campaign.report import Tally, as_markdown
from campaign.row import Row
from campaign.target import Given, Outcome, Target, damage, judge
from campaign.targets import TARGETS
from jumok.errors import DataError

SEED, SHARE = 4, 3  # cases of each target; by chance none of them unpacks to 1.5 GB


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_damaged_files_end_in_a_sentence(target, tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    [(target, good)] = make_good([target], tmp_path)
    [batch] = batches(target, good, seed=SEED, share=SHARE / target.cases)
    tally = Tally(target.name)
    for outcome in run([batch], jobs=1):
        tally.add(outcome)
    assert tally.cases == SHARE
    assert not tally.failures, "\n".join(tally.lines(SEED))


# --- what the campaign must notice


def outcomes(tmp_path: Path, read, *, cases: int = 1, **limits: float) -> list[Outcome]:
    """Return how cases of a reader end; the file that it reads is called notes.txt."""
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "notes.txt").write_text("some words\n" * 9, encoding="utf-8")
    target = Target("notes", lambda folder: None, read, {"*.txt": "text"}, cases)
    return list(run([Batch(target, tmp_path / "good", 1, range(cases))], jobs=2, limits=Limits(**limits)))


def failure(tmp_path: Path, read, **limits: float) -> str:
    [outcome] = outcomes(tmp_path, read, **limits)
    return outcome.failure


def refuse(given: Given, message: str) -> None:
    raise DataError(message.format(file=given.file))


def test_a_sentence_that_names_the_file_is_what_is_wanted(tmp_path):
    assert failure(tmp_path, lambda given: refuse(given, "{file} is damaged; copy it again")) == ""


def test_a_reader_that_takes_anything_is_fine(tmp_path):
    assert failure(tmp_path, lambda given: given.file.read_bytes()) == ""


@pytest.mark.parametrize(
    ("error", "name"), [(ValueError("no"), "ValueError"), (SystemExit(1), "SystemExit"), (KeyError(1), "KeyError")]
)
def test_any_other_exception(tmp_path, error, name):
    def read(given: Given) -> None:
        raise error

    [outcome] = outcomes(tmp_path, read)
    assert outcome.failure == name
    assert "Traceback" in outcome.detail


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("it is damaged", "the file is not named"),
        ("{file}: KeyError: 'x'", "a class of errors is named"),
        ("{file} holds <class 'int'>", "a class of errors is named"),
        ("{file} says \x1b[31mred", "control characters"),
        ("{file} has half of \ud800", "control characters"),
        ("{file} is bad " * 100, "a very long message"),
        ("{file} is bad\n", "no sentence"),
    ],
)
def test_messages_that_are_no_sentences(message, wrong):
    assert judge(message.format(file="notes.txt"), ("notes.txt",)) == wrong


def test_a_reader_that_sleeps(tmp_path):
    [outcome] = outcomes(tmp_path, lambda given: time.sleep(60), waiting=0.2)
    assert outcome.failure == "hang on the clock"
    assert "<lambda>" in outcome.detail


def test_a_reader_that_spins(tmp_path):
    def spin(given: Given) -> None:
        while True:
            pass

    [outcome] = outcomes(tmp_path, spin, seconds=0.2)
    assert outcome.failure == "hang"
    assert "in spin" in outcome.detail


def test_a_reader_that_asks_for_more_memory_than_there_is(tmp_path):
    assert failure(tmp_path, lambda given: bytearray(1 << 28), address_space=1 << 26) == "MemoryError"


def test_a_reader_that_takes_much_memory_in_silence(tmp_path, monkeypatch):
    monkeypatch.setattr(target_module, "MOST_MEMORY", 1 << 24)
    assert failure(tmp_path, lambda given: len(bytes(1 << 28).replace(b"\0", b"a"))).startswith("memory: ")


def test_a_reader_that_crashes_costs_its_own_case_only(tmp_path):
    def crash(given: Given) -> None:
        if len(given.file.read_bytes()) % 2:
            ctypes.string_at(0)

    found = outcomes(tmp_path, crash, cases=12)
    assert Counter(outcome.index for outcome in found) == Counter(range(12))
    assert {outcome.failure for outcome in found} == {"", "died by SIGSEGV"}


def test_a_reader_that_is_killed(tmp_path):
    assert failure(tmp_path, lambda given: os.kill(os.getpid(), signal.SIGKILL)) == "died by SIGKILL"


def test_half_a_file_that_is_left(tmp_path):
    def leave(given: Given) -> None:
        (given.out / "answer.part").write_text("half", encoding="utf-8")
        refuse(given, "{file} is damaged")

    [outcome] = outcomes(tmp_path, leave)
    assert outcome.failure == "left behind"
    assert "answer.part" in outcome.detail


@pytest.mark.parametrize("say", [lambda: print("oh"), lambda: os.write(2, b"oh"), lambda: print("oh", file=sys.stderr)])
def test_what_is_printed_past_jumok(tmp_path, say):
    assert failure(tmp_path, lambda given: say()) == "printed"


def test_warnings(tmp_path):
    assert failure(tmp_path, lambda given: warnings.warn("oh", RuntimeWarning, stacklevel=1)) == "warning"


# --- mutations


def test_a_case_is_the_same_every_time(tmp_path):
    target = Target("notes", lambda folder: None, lambda given: None, {"*": "text"}, 1)

    def damaged(index: int) -> bytes:
        (tmp_path / "notes.txt").write_bytes(b"a few words\tand a number 7\n" * 5)
        damage(target, tmp_path, seed=SEED, index=index)
        return (tmp_path / "notes.txt").read_bytes()

    assert [damaged(index) for index in range(40)] == [damaged(index) for index in range(40)]
    assert len({damaged(index) for index in range(40)}) > 30


@pytest.mark.parametrize("kind", ["text", "bytes", "protobuf"])
def test_even_an_empty_file_can_be_mutated(kind):
    for seed in range(200):
        mutate(b"", kind, Random(seed))


def test_every_kind_of_every_target_is_known():
    assert {kind for target in TARGETS for kind in target.files.values()} <= KINDS.keys()
    assert len({target.name for target in TARGETS}) == len(TARGETS)


def test_there_are_as_many_as_promised():
    assert sum(target.cases for target in TARGETS) >= 20_000


# --- the report


def test_failures_are_told_by_what_they_have_in_common():
    tally = Tally("notes")
    for index in range(5):
        tally.add(
            Outcome(
                "notes",
                index,
                "KeyError",
                "notes.txt: cut",
                "…\nKeyError: 'a'",
                "KeyError jumok/a.py:1 b",
                0.1,
                5 << 20,
            )
        )
    tally.add(Outcome("notes", 5, seconds=2.0))
    [line] = tally.lines(3)
    assert line.startswith("5\tKeyError\tKeyError jumok/a.py:1 b\t")
    assert line.endswith("python -m campaign notes --seed 3 --only 0")
    assert tally.figures == ("notes", "6", "0", "5", "2.0 s", "5 MB")


def test_the_page_has_a_line_for_everything():
    page = as_markdown(
        [Tally("notes", cases=7)], [Row("kills", 100, 0, "bit for bit")], seed=3, share=0.5, day=date(2026, 1, 2)
    )
    assert "| notes | 7 | 0 | 0 | 0.0 s | 0 MB |" in page
    assert "| kills | 100 | 0 | bit for bit |" in page
    assert "--seed 3 --share 0.5" in page
    assert "2026-01-02" in page
