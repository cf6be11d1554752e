"""Workers: answers, errors and deaths reach their owner; nobody outlives it, nobody is left by it."""

import fcntl
import os
import signal
import time
from contextlib import closing, suppress

import pytest
from children import alive, children, gone

from jumok.errors import DataError, JumokError, MissingExtraError
from jumok.processes import Worker, end, kept_from_workers, spread


def died():
    return DataError("it died")


@pytest.fixture(autouse=True)
def nobody_is_left():
    before = children()
    yield
    assert children() == before


@pytest.fixture
def start():
    """Return a function that starts a worker; all are ended after the test."""
    workers = []

    def worker(answer):
        workers.append(Worker(lambda: answer, died=died))
        return workers[-1]

    yield worker
    end(workers)


def forked(act):
    """Call act in a fork of this process, with a function that hands numbers out; return the fork and its numbers."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        with suppress(BaseException):
            act(lambda *numbers: os.write(writing, " ".join(map(str, numbers)).encode()))
        os._exit(0)
    os.close(writing)
    try:
        return process, [int(number) for number in os.read(reading, 100).split()]
    finally:
        os.close(reading)


# --- answers and errors


def test_tasks_are_answered_in_their_order_by_another_process(start):
    worker = start(lambda task: (task * 2, os.getpid()))
    for task in range(5):
        worker.send(task)
    answers = [worker.receive() for _ in range(5)]
    assert answers == [(task * 2, worker.pid) for task in range(5)]
    assert worker.pid != os.getpid()


class OddError(Exception):
    """An error that cannot be put together again: its arguments are not what it was made of."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


ERRORS = {
    "a user's": (lambda: DataError("bad data"), DataError, "bad data"),
    "of more arguments": (lambda: MissingExtraError("onnx", "onnx", "an export"), JumokError, "an export needs onnx"),
    "that cannot be sent": (lambda: ValueError("worse", lambda: 0), RuntimeError, "worse"),
    "that cannot be read": (lambda: OddError(1, 2), RuntimeError, "1 and 2"),
    "that sends no notes": (lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), UnicodeDecodeError, "bad"),
    "for want of memory": (lambda: MemoryError("no room"), MemoryError, "no room"),
}


@pytest.mark.parametrize("what", ERRORS)
def test_an_error_is_raised_by_its_owner_with_where_it_was(start, what):
    make, kind, message = ERRORS[what]

    def answer(task):
        if task:
            error = make()
            error.add_note("of old")
            raise error
        return task

    worker = start(answer)
    for _ in range(2):  # it goes on after an error
        worker.send(1)
        with pytest.raises(kind, match=message) as raised:
            worker.receive()
        first, second = raised.value.__notes__
        assert first == "of old"
        assert "in answer" in second
        worker.send(0)
        assert worker.receive() == 0


def test_an_error_at_the_beginning_is_the_answer_to_the_first_task():
    def begin():
        raise DataError("no beginning")

    worker = Worker(begin, died=died)
    worker.send(1)
    with pytest.raises(DataError, match="no beginning"):
        worker.receive()
    end([worker])


def test_an_answer_that_cannot_be_sent_is_an_error_of_the_worker(start):
    worker = start(lambda task: lambda: task)
    worker.send(1)
    with pytest.raises(Exception, match="pickle"):
        worker.receive()


# --- deaths


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGUSR1])
def test_a_death_is_the_callers_sentence_wherever_it_is_met(start, number):
    idle, busy = start(lambda task: task), start(lambda task: time.sleep(60))
    busy.send(1)
    for worker in (idle, busy):
        os.kill(worker.pid, number)
        with pytest.raises(DataError, match="it died"):
            worker.receive()
        with pytest.raises(DataError, match="it died"):
            worker.send(1)


def test_a_worker_that_leaves_by_itself_has_died(start):
    worker = start(lambda task: exit(3))
    worker.send(1)
    with pytest.raises(DataError, match="it died"):
        worker.receive()


def test_where_no_process_can_be_started_there_is_a_sentence(monkeypatch):
    def fork():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fork)
    handles = len(os.listdir("/proc/self/fd"))
    with pytest.raises(JumokError, match=r"another process cannot be started \(Resource temporarily unavailable\)"):
        Worker(lambda: lambda task: task, died=died)
    assert len(os.listdir("/proc/self/fd")) == handles


def test_all_leave_when_their_owner_is_killed():
    """Those started first as well, though those started later were forked beside their pipes; and workers' workers."""

    def act(tell):
        def begin():
            own = Worker(lambda: lambda task: os.getpid(), died=died)

            def answer(task):
                own.send(task)
                return os.getpid(), own.receive()

            return answer

        workers = [Worker(begin, died=died) for _ in range(3)]
        for worker in workers:
            worker.send(0)
        tell(*(number for worker in workers for number in worker.receive()))
        os.kill(os.getpid(), signal.SIGKILL)

    process, numbers = forked(act)
    assert len(numbers) == 6
    assert gone(numbers, within=2)
    os.waitpid(process, 0)


def test_ended_they_are_gone_at_once_unless_they_do_not_listen(start):
    quick = [start(lambda task: task) for _ in range(3)]
    deaf = start(lambda task: time.sleep(60))
    deaf.send(1)
    begun = time.monotonic()
    end(quick)
    assert time.monotonic() - begun < 1
    assert not any(alive(worker.pid) for worker in quick)
    end([deaf], patience=0.1)
    assert not alive(deaf.pid)
    assert time.monotonic() - begun < 2
    end([deaf, *quick])  # again: nothing happens


def test_a_worker_that_leaves_ends_its_own():
    def begin():
        own = Worker(lambda: time.sleep, died=died)
        own.send(60)
        return lambda task: own.pid

    worker = Worker(begin, died=died)
    worker.send(0)
    grandchild = worker.receive()
    assert alive(grandchild)
    end([worker])
    assert not alive(grandchild)


def test_a_fork_of_the_owner_ends_nobody(start):
    worker = start(lambda task: task)
    process, _ = forked(lambda tell: end([worker], patience=0))
    os.waitpid(process, 0)
    worker.send(7)
    assert worker.receive() == 7


# --- signals


def test_ctrl_c_and_sigterm_are_the_owners_affair(start, capfd):
    def answer(task):
        signal.raise_signal(signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        return task

    worker = start(answer)
    worker.send(7)
    assert worker.receive() == 7
    assert capfd.readouterr() == ("", "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())


# --- what is not shared


def test_a_lock_is_free_when_its_owner_is_killed(tmp_path):
    """The worker still computes, and a handle that is open anywhere holds the lock."""

    def act(tell):
        handle = os.open(tmp_path, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
        with kept_from_workers(handle):
            worker = Worker(lambda: time.sleep, died=died)
            worker.send(0)
            worker.receive()
            worker.send(60)
            tell(worker.pid)
            os.kill(os.getpid(), signal.SIGKILL)

    process, [worker] = forked(act)
    os.waitpid(process, 0)
    assert alive(worker)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(handle)
    os.kill(worker, signal.SIGKILL)
    assert gone([worker])


# --- many tasks


@pytest.mark.parametrize(("tasks", "processes"), [(0, 2), (1, 3), (3, 3), (30, 2)])
def test_spread_tasks_are_answered_once_each(tasks, processes):
    found = list(spread(lambda: lambda task: (task, os.getpid()), "x" * tasks, processes=processes, died=died))
    assert sorted(number for number, _ in found) == list(range(tasks))
    assert all(task == "x" for _, (task, _) in found)
    assert len({process for _, (_, process) in found}) <= processes
    assert os.getpid() not in {process for _, (_, process) in found}


def test_they_end_early_where_nobody_wants_more():
    begun = time.monotonic()
    with closing(spread(lambda: time.sleep, [0.0, 60.0, 60.0], processes=2, died=died)) as found:
        assert next(found) == (0, None)
    assert time.monotonic() - begun < 5


def test_a_death_among_them_ends_all():
    def answer(task):
        if task == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return task

    with pytest.raises(DataError, match="it died"):
        list(spread(lambda: answer, range(9), processes=3, died=died))
