"""A share of the kills; and what goes wrong is noticed."""

import os
import time
from dataclasses import replace

import pytest
from forked import import_all

from campaign import kills
from campaign.kills import TEXT, Case, Kind, die, itself_later
from campaign.place import Place
from jumok.training.average import WeightAverage
from jumok.training.trainer import Trainer


def test_a_share():
    rows = kills.campaign(share=0.015, seed=5)
    assert sum(row.cases for row in rows) == 2
    assert [row for row in rows if row.failures] == []


def test_there_are_more_than_a_hundred():
    assert sum(kind.cases for kind in kills.KINDS) >= 130


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    import_all()
    return Place(tmp_path_factory.mktemp("place"))


def dies_after_a_save(random):
    plain = Trainer._save

    def save(self, *, best):
        plain(self, best=best)
        die()

    Trainer._save = save


MORTAL = Kind("", 1, TEXT, itself_later, aim=dies_after_a_save)


def test_another_end_is_noticed(place, monkeypatch):
    """A run that takes up all but its averages goes on to other weights."""
    assert place.whole(TEXT)
    assert Case(MORTAL, place, "1").run().wrong == []
    monkeypatch.setattr(WeightAverage, "load_state_tensors", lambda self, tensors: None)
    assert Case(MORTAL, place, "1").run().wrong == ["goes on to another end"]


def test_an_orphan_is_noticed(place, monkeypatch):
    def leaves_a_child(random):
        if os.fork() == 0:
            time.sleep(30)
        die()

    monkeypatch.setattr(kills, "LEAVING", 0.1)
    wrong = Case(replace(MORTAL, aim=leaves_a_child), place, "1").run().wrong
    assert wrong[0] == "leaves processes behind"


def test_silence_and_tracebacks_are_noticed(place):
    def fails(random):
        raise ValueError("no sentence")

    wrong = Case(replace(MORTAL, aim=fails), place, "1").run().wrong
    assert wrong[0].startswith("a traceback: ")
    assert "exit code 1" in wrong[1]
