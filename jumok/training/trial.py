"""The trial before a run: real steps in every setting, in turn, so that a run takes the faster; it leaves no trace.

settings → a few steps of each, A B A B … → seconds of a step, the lower median of the turns → the fastest

Processes that meet at every step wait for the slowest: beside other work one process may be faster than several. `check`
makes the same trial, and promises the speed that it found.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import torch

from jumok.config import TrainingConfig
from jumok.data.stream import Stream
from jumok.nn.model import Model
from jumok.tasks.base import BatchT, ModelT, Pending, Task
from jumok.training.average import WeightAverage, load_tensors, model_tensors
from jumok.training.step import Sums, TrainingStep
from jumok.training.workers import Alone, Sharing, Workers

LONGEST, SHORTEST = 3.0, 1.0  # seconds of a trial, if two rounds of one step take no longer
SHARE = 0.02  # of a run that its trial may take
SHORT_RUN = 20.0  # seconds: no trial where a run takes less
FEW_STEPS = 100  # no trial where a run has fewer
ROUNDS, FEWEST_ROUNDS = 4, 2
MOST_STEPS = 25  # of a turn: more of a tiny model's tell nothing new


@dataclass(frozen=True)
class Trial:
    """What a trial found: how many seconds a batch takes in each setting.

    Not tokens per second: batches cost about the same, but those of short sentences have more target tokens.
    """

    seconds: dict[Sharing, float]
    decisive: bool  # False: one step of each, because the run is short

    @property
    def fastest(self) -> Sharing:
        """The setting in which a batch takes the least time."""
        return min(self.seconds, key=lambda setting: self.seconds[setting])

    @property
    def words(self) -> str:
        """The settings and their speeds in words, the fastest first."""
        ranked = sorted(self.seconds, key=lambda setting: self.seconds[setting])
        return ", ".join(f"{1 / self.seconds[setting]:.3g} batches/s in {setting}" for setting in ranked)


def choose_sharing(
    task: Task[ModelT, BatchT, Any],
    model: ModelT,
    *,
    batches: Stream[Pending[BatchT]],
    config: TrainingConfig,
    device: torch.device,
    settings: Sequence[Sharing],
) -> tuple[Sharing, Trial | None]:
    """Return the setting that is fastest now, and the trial; the first of them, and None, where none pays."""
    if len(settings) == 1 or config.steps < FEW_STEPS or config.compile:
        return settings[0], None
    with unchanged(model, batches):
        trial = time_settings(
            task, model, batches=batches, config=config, device=device, settings=settings, short_run=SHORT_RUN
        )
    return (trial.fastest, trial) if trial.decisive else (settings[0], None)


@contextmanager
def unchanged(model: Model[Any], batches: Stream[object]) -> Iterator[None]:
    """Put back what steps inside the block change: weights, buffers, gradients, random state, the stream's position."""
    kept = {name: tensor.detach().clone() for name, tensor in model_tensors(model).items()}
    position = batches.position
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            load_tensors(model, kept)
            model.zero_grad(set_to_none=True)
            batches.close()
            batches.seek(*position)


def time_settings(
    task: Task[ModelT, BatchT, Any],
    model: ModelT,
    *,
    batches: Stream[Pending[BatchT]],
    config: TrainingConfig,
    device: torch.device,
    settings: Sequence[Sharing],
    short_run: float = 0.0,
    shortest: float = SHORTEST,
) -> Trial:
    """Take steps in each setting in turn, for shortest to LONGEST seconds; the model learns from them.

    Where the whole run would take less than short_run seconds, one step of each has to do.
    """
    # One batch per step, at the last step: the slowest where teacher forcing fades.
    single = config.model_copy(update={"accumulate": 1})
    one_step = TrainingStep(task, model, batches=batches, config=single, device=device)
    average, (epoch, first), per_epoch = WeightAverage(model, config), batches.position, batches.batches_per_epoch

    def compute(number: int, rank: int, workers: int) -> list[Sums]:
        place = epoch, (first + number) % per_epoch  # the same batches in every setting and process
        if batches.position != place:
            batches.seek(*place)
        return one_step.compute(config.steps, rank, workers)

    def take(steps: Workers | Alone, number: int) -> None:
        [sums] = steps.step(number)
        one_step.normalise(sums.count)
        with steps.waiting():
            one_step.update(config.learning_rate)
        average.update(number + 1)

    def turn(setting: Sharing, number: int, size: int) -> float:
        """Return the seconds of a step in a setting, the mean of size, after one that finds its way back to it."""
        with ExitStack() as stack:
            steps = processes.get(setting) or stack.enter_context(Alone(compute, threads=setting.threads))
            take(steps, number)
            started = time.perf_counter()
            for extra in range(1, size + 1):
                take(steps, number + extra)
        return (time.perf_counter() - started) / size

    with ExitStack() as stack:
        processes = {
            setting: stack.enter_context(Workers(setting.workers, model, compute, seed=config.seed))
            for setting in settings
            if setting.workers > 1
        }
        seconds = {setting: [turn(setting, 0, 1)] for setting in settings}
        run = config.steps * config.accumulate * min(one for [one] in seconds.values())
        if run < short_run:
            return Trial({setting: one for setting, [one] in seconds.items()}, decisive=False)
        budget = min(max(SHARE * run, shortest), LONGEST)
        size = min(max(int(budget / ROUNDS / sum(one for [one] in seconds.values())) - 1, 1), MOST_STEPS)
        started = time.perf_counter()
        for number in range(ROUNDS):
            for setting in settings:
                seconds[setting].append(turn(setting, 1 + number * size, size))
            if number + 1 >= FEWEST_ROUNDS and time.perf_counter() - started > budget:
                break
    return Trial({setting: median_low(turns[1:]) for setting, turns in seconds.items()}, decisive=True)
