"""Sentences shared among processes: the same answers in the same order, and no process is left behind."""

import os
import signal
import time

import pytest
import torch
from children import children
from hypothesis import given
from hypothesis import strategies as st

from jumok.decoding.workers import LEAST, portions, processes_for, share
from jumok.errors import ConfigError, JumokError
from jumok.nn.model import Model


class Small(Model[torch.Tensor]):
    """Ninety parameters."""

    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(9, 9)

    def features(self, batch):
        return batch


LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=300)


@given(LENGTHS, st.integers(1, 4), st.integers(1, 80))
def test_portions_hold_every_sentence_once_the_longest_first(lengths, processes, portion):
    found = portions(lengths, processes=processes, portion=portion)
    order = [place for some in found for place in some]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[place] for place in order] == sorted(lengths, reverse=True)
    assert all(len(some) <= max(4 * portion, LEAST) for some in found)


def test_answers_come_back_in_order_from_other_processes():
    told = []
    given = portions(list(range(100)), processes=3, portion=8)
    found = share(lambda some: [(place, os.getpid()) for place in some], given, processes=3, progress=told.append)
    assert [place for place, _ in found] == list(range(100))
    assert 1 <= len({process for _, process in found} - {os.getpid()}) <= 3
    assert os.getpid() not in {process for _, process in found}
    assert sum(told) == 100
    assert not children()


def fail(portion):
    raise ConfigError(f"portion of {len(portion)}")


def die(portion):
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(10)


def test_an_error_is_the_callers_and_a_death_is_told():
    with pytest.raises(ConfigError, match="portion of 2"):
        share(fail, [[0, 1]], processes=2)
    with pytest.raises(JumokError, match="a process that was searching died"):
        share(die, [[0, 1], [2]], processes=2)
    assert not children()


def test_few_sentences_are_not_worth_a_process():
    cpu = torch.device("cpu")
    assert processes_for(10, wanted=2, portion=64, device=cpu) == 1
    assert processes_for(100, wanted=2, portion=64, device=cpu) == 2
    assert processes_for(100, wanted=1, portion=64, device=cpu) == 1
    assert processes_for(10_000, wanted=2, portion=64, device=torch.device("cuda")) == 1
