"""Processes that work for this one, and the pipes to them: whoever dies, the other hears of it.

begin() → answer, in a forked Worker: send(task) ⇄ receive() → its answer, or the error that it ended in
spread(tasks) → workers, each with the next task as soon as it is free → answers, as they come

A worker that dies becomes its owner's sentence. Where an owner dies its pipes close: workers leave, and end their own.
Signals are the owner's affair, because Ctrl-C reaches every process of a terminal.
"""

import os
import pickle
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar
from weakref import WeakSet

from jumok.errors import JumokError

TaskT = TypeVar("TaskT")
AnswerT = TypeVar("AnswerT")
Begin = Callable[[], Callable[[TaskT], AnswerT]]  # called in a worker once: returns what answers each task

PATIENCE = 3.0  # seconds that a worker gets to leave by itself
SIGNALS = (signal.SIGINT, signal.SIGTERM)  # what asks an owner to stop

_workers: WeakSet["Worker[object, object]"] = WeakSet()  # of this process, or of the one that it was forked from
_private: set[int] = set()  # file handles that workers must not keep open


class Worker(Generic[TaskT, AnswerT]):
    """A forked process that answers one task after another, as its owner sees it."""

    def __init__(self, begin: Begin[TaskT, AnswerT], *, died: Callable[[], JumokError]) -> None:
        """Start the process; died returns what its owner says where it dies."""
        self.owner, self.died = os.getpid(), died
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until the worker ignores them and is known here
        try:
            self.connection, theirs = Pipe()
            with warnings.catch_warnings():
                # Python warns of forks beside threads. Workers use one thread, as the loaders of torch do.
                warnings.simplefilter("ignore", DeprecationWarning)
                self.pid = os.fork()
            if self.pid == 0:
                self.connection.close()
                _work(begin, theirs)
            theirs.close()
            _workers.add(self)  # type: ignore[arg-type]
        except OSError as error:
            raise JumokError(
                f"another process cannot be started ({error.strerror}); end other programs, or allow more by ulimit"
            ) from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def send(self, task: TaskT) -> None:
        """Hand over a task."""
        message = pickle.dumps(task)
        try:
            self.connection.send_bytes(message)
        except OSError:
            raise self.died() from None

    def receive(self) -> AnswerT:
        """Return the answer to the oldest task that has none, or raise the error that it ended in."""
        try:
            message = self.connection.recv_bytes()
        except (EOFError, OSError):
            raise self.died() from None
        answer: AnswerT
        answer, error, notes = pickle.loads(message)
        if error is not None:
            error.__notes__ = notes  # not every class of errors takes them along
            raise error
        return answer


def end(workers: Sequence[Worker[TaskT, AnswerT]], *, patience: float = PATIENCE) -> None:
    """Let workers leave, and kill those that have not after some seconds; none of them is left, not even as a zombie."""
    ours = [worker for worker in workers if worker.owner == os.getpid()]  # a forked copy has no say
    for worker in ours:
        worker.connection.close()
        _workers.discard(worker)  # type: ignore[arg-type]
    until = time.monotonic() + patience
    for worker in ours:
        with suppress(ChildProcessError):  # another one has waited for it
            while os.waitpid(worker.pid, os.WNOHANG) == (0, 0):
                if time.monotonic() >= until:
                    os.kill(worker.pid, signal.SIGKILL)
                    os.waitpid(worker.pid, 0)
                    break
                time.sleep(0.001)
        worker.owner = 0


def spread(
    begin: Begin[TaskT, AnswerT], tasks: Iterable[TaskT], *, processes: int, died: Callable[[], JumokError]
) -> Generator[tuple[int, AnswerT]]:
    """Yield the number of a task and its answer as soon as there is one. Close the iterator to end the workers early."""
    waiting = iter(enumerate(tasks))
    busy: dict[Connection, tuple[Worker[TaskT, AnswerT], int]] = {}
    try:
        for number, task in waiting:
            worker = Worker(begin, died=died)
            busy[worker.connection] = worker, number
            worker.send(task)
            if len(busy) == processes:
                break
        while busy:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                worker, number = busy[ready]
                answer = worker.receive()
                following = next(waiting, None)
                if following is None:
                    del busy[ready]
                    end([worker])
                else:
                    busy[ready] = worker, following[0]
                    worker.send(following[1])
                yield number, answer
    finally:
        end([worker for worker, _ in busy.values()], patience=0)


@contextmanager
def kept_from_workers(handle: int) -> Iterator[None]:
    """Let no worker that is started inside the block keep a file handle open, such as a lock's, when its owner dies."""
    _private.add(handle)
    try:
        yield
    finally:
        _private.discard(handle)


def _work(begin: Begin[TaskT, AnswerT], owner: Connection) -> None:
    """Be a worker: answer tasks until nobody is there to send one; never returns."""
    try:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        for other in list(_workers):
            other.connection.close()  # else the others would not hear of the owner's death
        _workers.clear()
        for handle in _private:
            os.close(handle)
        _private.clear()
        answer = None
        with suppress(EOFError, OSError):
            while True:
                task = pickle.loads(owner.recv_bytes())
                try:
                    answer = answer or begin()
                    message = pickle.dumps((answer(task), None, []))
                except Exception as error:
                    message = _failure(error)
                owner.send_bytes(message)
        end(list(_workers), patience=0)
    finally:
        os._exit(0)


def _failure(error: Exception) -> bytes:
    """Return the message that a task ended in an error: its traceback is a note, and it can be read by the owner."""
    notes = [*getattr(error, "__notes__", []), traceback.format_exc()]
    try:
        message = pickle.dumps((None, error, notes))
        pickle.loads(message)
    except Exception:  # what an error holds may not be sent, or not be put together again
        kind = JumokError if isinstance(error, JumokError) else RuntimeError
        message = pickle.dumps((None, kind(str(error) or type(error).__name__), notes))
    return message
