"""Threads inside a block, and the caller's afterwards: whatever was small, looked at, or went wrong."""

import pytest
import torch
from torch import nn

import jumok
from jumok.nn import threads
from jumok.nn.threads import one_thread, one_thread_for


@pytest.fixture(autouse=True)
def two_threads():
    torch.set_num_threads(2)
    yield
    assert torch.get_num_threads() == 2, "the threads come back"
    torch.set_num_threads(1)


@pytest.mark.parametrize(("rows", "small", "inside"), [(5, True, 1), (5, False, 2), (17, True, 2)])
def test_a_few_rows_of_a_small_model_get_one_thread(monkeypatch, rows, small, inside):
    monkeypatch.setattr(threads, "SMALL", 1000 if small else 10)
    with one_thread_for(rows, nn.Linear(5, 7)):
        assert torch.get_num_threads() == inside


def test_the_threads_come_back_from_what_went_wrong():
    with pytest.raises(KeyError), one_thread():
        raise KeyError


def test_each_call_of_a_decorated_function_gives_back_what_it_found():
    @one_thread()
    def count():
        return torch.get_num_threads()

    assert count() == count() == 1
    torch.set_num_threads(3)
    assert count() == 1
    assert torch.get_num_threads() == 3
    torch.set_num_threads(2)


def test_looking_and_streaming_compute_on_one_thread():
    """And between two pieces of a stream the caller has its own."""
    translator, seen = jumok.load("ko-en"), []

    def watch(*_):
        seen.append(torch.get_num_threads())

    for module in translator.model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(watch)
    translator.explain("넌 누구니?")
    translator.importance("넌 누구니?")
    for _ in translator.stream("넌 누구니?"):
        assert torch.get_num_threads() == 2
    assert set(seen) == {1}
