"""The trainer: one step after another; log, evaluate and save on the way.

batches → TrainingStep (gradients, update) → average → metrics.jsonl, checkpoints

It knows no model and no modality: what to learn and what to score is the task's affair. A run that is stopped and
resumed is the run that never stopped, bit for bit.
"""

import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Generic, TypeVar, get_type_hints

import torch
from torch import Tensor

from jumok.config import TrainingConfig
from jumok.data.stream import Stream
from jumok.errors import RunError, TrainingError
from jumok.reading import check_entries
from jumok.tasks.base import BatchT, ModelT, Pending, Task
from jumok.training.average import WeightAverage, load_tensors, model_tensors
from jumok.training.callbacks import EvaluationReport, OnEvaluation, OnStep, StepReport
from jumok.training.checkpoint import Checkpoints
from jumok.training.memory import within_memory
from jumok.training.metrics import Metrics
from jumok.training.optimizer import load_optimizer_tensors, optimizer_tensors
from jumok.training.progress import Reporter
from jumok.training.schedule import learning_rate
from jumok.training.step import Sums, TrainingStep
from jumok.training.workers import Alone, Sharing, Workers, settings_for, share_steps

ReportT = TypeVar("ReportT", StepReport, EvaluationReport)


@dataclass
class TrainingState:
    """How far a run has come: everything that a resumed run must know, beside tensors."""

    step: int = 0
    epoch: int = 0
    index: int = 0
    seconds: float = 0.0  # in training: batches, steps and saves, but not evaluations
    outside: float = 0.0  # the part of seconds outside forward, backward and step
    target_tokens: int = 0
    best: float | None = None
    best_step: int = 0
    waited: int = 0  # evaluations since the best
    finished: bool = False
    window: dict[str, float] = field(default_factory=dict)  # sums since the last line of the log

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "TrainingState":
        """Return what asdict has made a dict of; a ValueError says what is wrong with it."""
        kinds = get_type_hints(cls)
        if facts.keys() - kinds.keys():
            raise ValueError(f"it has a '{min(facts.keys() - kinds.keys())}', which no run has")
        check_entries(facts, kinds)
        if min(facts["step"], facts["epoch"], facts["index"]) < 0:
            raise ValueError("its step, its epoch or its index is below 0")
        return cls(**facts)


class Trainer(Generic[ModelT, BatchT]):
    """One training run in one process."""

    def __init__(
        self,
        task: Task[ModelT, BatchT, Any],
        model: ModelT,
        *,
        batches: Stream[Pending[BatchT]],
        config: TrainingConfig,
        run: Path,
        on_step: OnStep | None = None,
        on_evaluation: OnEvaluation | None = None,
        reporter: Reporter,
        device: torch.device,
        film: Callable[[ModelT, int], None] | None = None,
        sharing: Sharing | None = None,
    ) -> None:
        """Make a run of these ready; without a sharing, steps are shared as if the machine had nothing else to do."""
        self.task, self.model, self.batches, self.film = task, model, batches, film
        self.config, self.run_folder, self.reporter, self.device = config, run, reporter, device
        self.on_step, self.on_evaluation = on_step, on_evaluation
        self.checkpoints, self.metrics = Checkpoints(run), Metrics(run)
        self.one_step = TrainingStep(task, model, batches=batches, config=config, device=device)
        self.average = WeightAverage(model, config)
        self.state = TrainingState()
        self.stop_signal = 0
        self.sharing = sharing or settings_for(model, config, device)[0]
        self.steps: Workers | Alone = share_steps(self.one_step.compute, model, sharing=self.sharing, seed=config.seed)

    def train(self) -> TrainingState:
        """Run to the last step, or until stopped; return how far it came."""
        self.one_step.freed.keep()
        # Workers are forked first: what is shown and what is caught belongs to this process alone.
        with within_memory(lambda: self.state.step), self.steps, self._stoppable():
            self.reporter.start(self.state, self.config)
            if self.film is not None and self.state.step == 0:
                with self._answering():
                    self.film(self.model, 0)
            stopping = bool(self.stop_signal)
            while not (self._over or stopping):
                self._take_step()
                is_best = self._due(self.config.evaluate_every) and self._evaluate()
                # Asked once: a signal that comes a moment later gets one more step, so that it too ends with a save.
                stopping = bool(self.stop_signal)
                if is_best or stopping or self.state.finished or self._due(self.config.save_every):
                    self._save(best=is_best)
            if self._over:
                self.stop_signal = 0  # it came during the last step: nothing is left to stop
        self.reporter.end(self.state, self.config, stopped=bool(self.stop_signal), workers=self.sharing.workers)
        return self.state

    def resume(self) -> None:
        """Take up the newest checkpoint and forget lines of the log that came after it."""
        tensors, facts = self.checkpoints.load_training(self.reporter.note)
        try:
            self._restore(tensors)
        except ValueError as error:
            raise RunError(
                f"{self.run_folder}: {error}; recipe.toml and the checkpoint do not belong together"
            ) from None
        try:
            self.state = TrainingState.of(facts)
        except ValueError as error:
            raise RunError(
                f"{self.run_folder / 'last' / 'training.json'} is damaged ({error}); copy the run again, or train it anew"
            ) from None
        if self.state.step == self.state.best_step:
            self.checkpoints.mark_best(self.state.step)
        self.batches.seek(self.state.epoch, self.state.index)
        self.metrics.forget_after(self.state.step)

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        """Put back what a checkpoint holds for going on; a ValueError says what does not fit."""
        groups: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "average": {}, "random": {}}
        for key, value in tensors.items():
            group, _, name = key.partition("/")
            if group not in groups:
                raise ValueError(f"training.safetensors has a tensor '{key}', which no run has")
            groups[group][name] = value
        load_tensors(self.model, groups["model"])
        load_optimizer_tensors(self.one_step.optimizer, groups["optimizer"])
        self.average.load_state_tensors(groups["average"])
        try:
            torch.set_rng_state(groups["random"]["cpu"])
            if "cuda" in groups["random"] and self.device.type == "cuda":
                torch.cuda.set_rng_state(groups["random"]["cuda"], self.device)
        except (KeyError, TypeError, RuntimeError):
            raise ValueError("training.safetensors has no random state that fits") from None

    @property
    def _over(self) -> bool:
        return self.state.step >= self.config.steps or self.state.finished

    def _due(self, interval: int) -> bool:
        return self.state.step % interval == 0 or self.state.step == self.config.steps

    def _take_step(self) -> None:
        one_step, state, started = self.one_step, self.state, time.perf_counter()
        step = state.step + 1
        rate = learning_rate(step, self.config)
        losses = self.steps.step(step)
        total, count = sum(sums.total for sums in losses), sum(sums.count for sums in losses)
        norm = one_step.normalise(count)
        if not (math.isfinite(total) and math.isfinite(norm)):
            raise TrainingError(self._explain_divergence(step, losses, norm=norm, rate=rate))
        with self.steps.waiting():
            one_step.update(rate)
        self.average.update(step)
        computed = time.perf_counter()

        state.step, (state.epoch, state.index) = step, self.batches.position
        state.target_tokens += count
        window = state.window
        for name, value in [("loss", total), ("count", count), ("norm", norm), ("steps", 1)]:
            window[name] = window.get(name, 0.0) + value
        for sums in losses:
            for name, value in sums.parts.items():
                window[f"part {name}"] = window.get(f"part {name}", 0.0) + value
        elapsed = time.perf_counter() - started
        state.seconds += elapsed
        state.outside += elapsed - (computed - started) + one_step.waited
        self.reporter.step(state)
        if self._due(self.config.log_every):
            self._log(rate)
        if self.on_step is not None:
            self._ask(self.on_step, StepReport(step, total / count, rate, count / elapsed))

    def _ask(self, callback: Callable[[ReportT], bool | None], report: ReportT) -> None:
        """Hand a report to the caller; False stops the run as Ctrl-C does. What is drawn there is not missing here."""
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            if callback(report) is False:
                self.stop_signal = self.stop_signal or signal.SIGINT

    def _log(self, rate: float) -> None:
        state, window = self.state, self.state.window
        row = {
            "step": state.step,
            "epoch": state.epoch,
            "seconds": round(state.seconds, 3),
            "target_tokens": state.target_tokens,
            "loss": window["loss"] / window["count"],
            **{
                name.removeprefix("part "): value / window["count"]
                for name, value in window.items()
                if name.startswith("part ")
            },
            "learning_rate": rate,
            "gradient_norm": window["norm"] / window["steps"],
        }
        state.window = {}
        self.metrics.write(row)
        self.reporter.log(row)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Lend the model out with the weights that are scored; training does not notice."""
        self.model.eval()
        unchanged = torch.random.fork_rng([self.device] if self.device.type == "cuda" else [])
        with self.average.in_place(), unchanged, self.steps.waiting():
            yield

    def _evaluate(self) -> bool:
        started = time.perf_counter()
        self.reporter.evaluating()
        with self._answering():
            scores = dict(self.task.evaluate(self.model))
            if self.film is not None:
                self.film(self.model, self.state.step)
        samples = scores.pop("samples", [])
        state, monitor = self.state, self.config.monitor
        if monitor not in scores:
            raise TrainingError(f"training.monitor = '{monitor}' is not among the scores: {', '.join(scores)}")
        value = scores[monitor]
        better = -value if self.task.scores[monitor] == "smaller" else value
        is_best = not math.isnan(value) and (state.best is None or better > state.best)
        state.waited = 0 if is_best else state.waited + 1
        if is_best:
            state.best, state.best_step = better, state.step
        if self.config.patience and state.waited >= self.config.patience:
            state.finished = True
        row = {
            "step": state.step,
            "seconds": round(state.seconds, 3),
            "evaluation": scores,
            "best": is_best,
            "evaluation_seconds": round(time.perf_counter() - started, 3),
        }
        self.metrics.write(row)
        self.reporter.evaluation(row, samples)
        if self.on_evaluation is not None:
            self._ask(self.on_evaluation, EvaluationReport(state.step, scores, is_best))
        return is_best

    def _save(self, *, best: bool) -> None:
        started = time.perf_counter()
        random = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            random["cuda"] = torch.cuda.get_rng_state(self.device)
        training = {
            **{f"model/{name}": value for name, value in model_tensors(self.model).items()},
            **{f"optimizer/{name}": value for name, value in optimizer_tensors(self.one_step.optimizer).items()},
            **{f"average/{name}": value for name, value in self.average.state_tensors().items()},
            **{f"random/{name}": value for name, value in random.items()},
        }
        self.metrics.settle()
        step, weights = self.state.step, self.average.weights()
        self.checkpoints.save(step, weights=weights, training=training, facts=asdict(self.state), best=best)
        elapsed = time.perf_counter() - started
        self.state.seconds += elapsed
        self.state.outside += elapsed

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """Turn the first Ctrl-C or SIGTERM into a stop after the current step; a second one is immediate."""

        def remember(number: int, frame: FrameType | None) -> None:
            if self.stop_signal:
                raise KeyboardInterrupt
            self.stop_signal = number
            with suppress(RuntimeError):  # the signal came in the middle of a print
                self.reporter.note("stopping after this step; a checkpoint is being saved (again to stop at once)")

        try:
            old = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not in the main thread: nothing to catch
            old = {}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def _explain_divergence(self, step: int, losses: list[Sums], *, norm: float, rate: float) -> str:
        """Return what became infinite, on which batch, and what to do."""
        places, kept = self.one_step.places, self.checkpoints.steps()
        guilty = next(
            (at for at, sums in zip(places, losses, strict=True) if not math.isfinite(sums.total)), places[-1]
        )
        total = sum(sums.total for sums in losses)
        what = f"the loss became {total}" if not math.isfinite(total) else f"the gradient's norm became {norm}"
        return (
            f"{what} at step {step:,} (learning rate {rate:.2g}), on this batch: {self.batches.describe(guilty)}. "
            f"Lower training.learning_rate (half of it), lengthen training.warmup or set training.clip = 1.0. "
            + (f"The checkpoint of step {kept[-1]:,} is kept." if kept else "No checkpoint had been saved yet.")
        )
