"""Worker processes that share every step: each computes the gradient of its part of the batch on a thread of its own.

step → every process takes the same batch → its own rows of it → loss and gradient → the trainer's process adds them up

On a CPU two threads inside one operation wait for each other hundreds of times a step; two processes meet once
(docs/log.md has the figures). Workers are forked, so that model, task and data need not be sent: the batches are a pure
function of seed and place, weights and gradients live in memory that all of them see.
"""

import mmap
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from jumok.config import TrainingConfig
from jumok.errors import ConfigError, TrainingError
from jumok.native.fast_path import fast_path
from jumok.nn.threads import threads
from jumok.processes import Worker, end
from jumok.training.step import Sums

LARGEST = 64_000_000  # parameters: beyond, products are large enough for threads, and a gradient each costs memory
ALIGNMENT = 64  # bytes: a line of the cache

Compute = Callable[[int, int, int], list[Sums]]  # (step, rank, workers) → gradients in place, and the sums


@dataclass(frozen=True)
class Sharing:
    """How a step is shared: among how many processes of one thread each, or by how many threads of one process."""

    workers: int
    threads: int  # of one process; where several share a step, of what the trainer's process does alone

    def __str__(self) -> str:
        if self.workers > 1:
            return f"{self.workers} processes"
        return "1 process" if self.threads == 1 else f"1 process of {self.threads} threads"


def settings_for(model: nn.Module, config: TrainingConfig, device: torch.device) -> list[Sharing]:
    """Return how steps may be shared, first what is fastest on a machine with nothing else to do.

    One process on one thread is the other setting: it waits for nobody, which is faster beside other work.
    """
    wanted, available = config.workers, torch.get_num_threads()
    mixes = any(isinstance(module, _BatchNorm) for module in model.modules())
    if wanted > 1 and mixes:
        raise ConfigError(
            f"training.workers = {wanted}: batch norm needs the whole batch in one process; set it to 1, or model.norm = 'layer'"
        )
    can = device.type == "cpu" and sys.platform.startswith("linux")
    if wanted > 1 and not can:
        raise ConfigError(f"training.workers = {wanted} is for CPUs under Linux; set it to 0 or 1")
    if wanted:
        return [Sharing(wanted, available)]
    large = sum(p.numel() for p in model.parameters()) > LARGEST
    processes = 1 if mixes or large or not can else min(available, os.cpu_count() or 1)
    first, alone = Sharing(processes, available), Sharing(1, 1)
    # A number of threads that the recipe names is kept in one process; several processes have one each anyway.
    fixed = first == alone or device.type != "cpu" or (processes == 1 and config.threads > 0)
    return [first] if fixed else [first, alone]


def shared_like(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors of these shapes in memory that forked processes share."""
    sizes = [-(-tensor.numel() * tensor.element_size() // ALIGNMENT) * ALIGNMENT for tensor in tensors]
    memory = mmap.mmap(-1, max(sum(sizes), 1))  # anonymous: not bound by the size of /dev/shm
    shared, place = [], 0
    for tensor, size in zip(tensors, sizes, strict=True):
        flat = torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel(), offset=place)
        shared.append(flat.view(tensor.shape))
        place += size
    return shared


def add_up(sums: Sequence[Sequence[Sums]]) -> list[Sums]:
    """Return each batch's sums over all processes, of every process's list of them."""
    batches = []
    for shares in zip(*sums, strict=True):
        parts: dict[str, float] = {}
        for share in shares:
            for name, value in share.parts.items():
                parts[name] = parts.get(name, 0.0) + value
        batches.append(Sums(sum(share.total for share in shares), sum(share.count for share in shares), parts))
    return batches


def share_steps(compute: Compute, model: nn.Module, *, sharing: Sharing, seed: int) -> "Workers | Alone":
    """Return what computes steps in a setting, inside its block."""
    if sharing.workers > 1:
        return Workers(sharing.workers, model, compute, seed=seed)
    return Alone(compute, threads=sharing.threads)


class Alone:
    """One process that computes each step by itself; on one thread it takes the fast path."""

    def __init__(self, compute: Compute, *, threads: int) -> None:
        self.compute, self.threads, self.stack = compute, threads, ExitStack()

    def __enter__(self) -> "Alone":
        """Take the threads."""
        self.stack.enter_context(threads(self.threads))
        self.stack.enter_context(fast_path(when=self.threads == 1))
        return self

    def __exit__(self, *_: object) -> None:
        """Give the threads back."""
        self.stack.close()

    def step(self, step: int) -> list[Sums]:
        """Return each batch's sums of a step; the gradients are in the parameters."""
        return self.compute(step, 0, 1)

    def waiting(self) -> AbstractContextManager[None]:
        """Return a block in which nobody else works: all of them."""
        return nullcontext()


class Workers:
    """The processes beside the trainer's own."""

    def __init__(self, count: int, model: nn.Module, compute: Compute, *, seed: int) -> None:
        self.count, self.seed, self.compute = count, seed, compute
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.threads = torch.get_num_threads()
        self.workers: list[Worker[int, list[Sums]]] = []
        self.gradients: list[list[Tensor]] = []
        self.step_number = 0
        self.stack = ExitStack()

    def __enter__(self) -> "Workers":
        """Move the weights to shared memory and start the processes."""
        with torch.no_grad():
            for parameter, shared in zip(self.parameters, shared_like(self.parameters), strict=True):
                parameter.data = shared.copy_(parameter)
        with ExitStack() as stack:
            stack.callback(end, self.workers)
            for rank in range(1, self.count):
                self.gradients.append(shared_like(self.parameters))
                self.workers.append(Worker(partial(self._begin, rank), died=partial(self._died, rank)))
            stack.enter_context(threads(1))
            stack.enter_context(fast_path())
            self.stack = stack.pop_all()
        return self

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Take all threads for ourselves: the other processes have nothing to do inside this block."""
        with threads(self.threads):
            yield

    def __exit__(self, *_: object) -> None:
        """Let the processes end; the threads come back."""
        self.stack.close()

    def step(self, step: int) -> list[Sums]:
        """Return each batch's sums of a step over all processes; the gradients of all are in the parameters."""
        self.step_number = step
        for worker in self.workers:
            worker.send(step)
        sums = [self._part(step, 0), *(worker.receive() for worker in self.workers)]
        self._add_up_gradients()
        return add_up(sums)

    def _add_up_gradients(self) -> None:
        for theirs in self.gradients:
            for parameter, gradient in zip(self.parameters, theirs, strict=True):
                if parameter.grad is not None:
                    parameter.grad += gradient
                elif bool(gradient.any()):  # what nobody used has none, as without workers: by a zero it would decay
                    parameter.grad = gradient.clone()

    def _part(self, step: int, rank: int) -> list[Sums]:
        """Compute one process's part of a step, with random numbers of its own that depend on the step alone."""
        torch.manual_seed((self.seed * 1_000_003 + step) * 4096 + rank)
        return self.compute(step, rank, self.count)

    def _begin(self, rank: int) -> Callable[[int], list[Sums]]:
        """Make a worker ready: its gradients are those that the trainer's process reads."""
        torch.set_num_threads(1)
        own = self.gradients[rank - 1]
        for parameter, gradient in zip(self.parameters, own, strict=True):
            parameter.grad = gradient

        def work(step: int) -> list[Sums]:
            torch._foreach_zero_(own)
            with fast_path():
                return self._part(step, rank)

        return work

    def _died(self, rank: int) -> TrainingError:
        return TrainingError(
            f"worker process {rank} died at step {self.step_number:,}, perhaps for want of memory; end other programs and go "
            "on with --resume, or start another run with a smaller training.batch_tokens or training.workers = 1"
        )
