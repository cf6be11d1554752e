"""The trainer: take batches, sum their gradients, divide once, clip, step; log, evaluate and save on the way.

batches → task.loss (sum and count) → gradients ÷ count → clip → step → average → metrics.jsonl, checkpoints

It knows no model and no modality: what to learn comes as a task, what to score as a callable. A run that is stopped
and resumed is the run that never stopped, bit for bit.
"""

import json
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from jumok.config import TrainingConfig
from jumok.errors import RunError, TrainingError
from jumok.native.fast_path import fast_path
from jumok.native.freed_memory import FreedMemory
from jumok.training.average import WeightAverage, load_tensors, model_tensors
from jumok.training.checkpoint import Checkpoints
from jumok.training.optimizer import load_optimizer_tensors, make_optimizer, optimizer_tensors
from jumok.training.progress import Reporter
from jumok.training.schedule import learning_rate
from jumok.training.workers import Sums, Workers, workers_for


class Loss(Protocol):
    """A sum over count items, and other sums for the log."""

    total: Tensor
    count: int
    parts: dict[str, float]


class Batches(Protocol):
    """An endless, seekable stream of batches."""

    @property
    def position(self) -> tuple[int, int]:
        """Epoch and place in it of the next batch."""

    def seek(self, epoch: int, index: int) -> None:
        """Go to a position."""

    def take(self) -> Any:
        """Return the next batch."""

    def describe(self, batch: Any) -> str:
        """Return a batch's examples in a line, for a message."""


LESS_IS_BETTER = ("loss", "perplexity", "bits_per_byte", "bits_per_character")  # of scores; of all others, more is

LossFunction = Callable[[nn.Module, Any, int], Loss]
Evaluate = Callable[[nn.Module], dict[str, Any]]  # scores; 'samples' holds texts for the display
Film = Callable[[nn.Module, int], None]  # keeps a frame of the model at a step


@dataclass
class Progress:
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


class Trainer:
    """One training run in one process."""

    def __init__(
        self,
        model: nn.Module,
        *,
        loss: LossFunction,
        batches: Batches,
        evaluate: Evaluate,
        config: TrainingConfig,
        run: Path,
        reporter: Reporter,
        device: torch.device,
        film: Film | None = None,
    ) -> None:
        self.model, self.loss, self.batches, self.evaluate, self.film = model, loss, batches, evaluate, film
        self.config, self.run_folder, self.reporter, self.device = config, run, reporter, device
        self.checkpoints = Checkpoints(run)
        self.optimizer = make_optimizer(model, config)
        self.average = WeightAverage(model, config)
        self.progress = Progress()
        self.stop_signal = 0
        self.workers: Workers | None = None
        self.freed = FreedMemory()
        self._taken: list[Any] = []  # the batches of this step
        self._waiting = 0.0  # seconds that taking them took

    def train(self) -> Progress:
        """Run to the last step, or until stopped; return how far it came."""
        self.freed.keep()
        count = workers_for(self.model, wanted=self.config.workers, device=self.device)
        workers = Workers(count, self.model, self._compute, seed=self.config.seed) if count > 1 else None
        # Workers are forked first: what is shown and what is caught belongs to this process alone.
        alone = fast_path(when=torch.get_num_threads() == 1)
        with workers or alone, self._stoppable():
            self.workers = workers
            self.reporter.start(self.progress, self.config)
            if self.film is not None and self.progress.step == 0:
                with self._answering():
                    self.film(self.model, 0)
            stopping = bool(self.stop_signal)
            while not (self._over or stopping):
                self._one_step()
                is_best = self._due(self.config.evaluate_every) and self._evaluate()
                # Asked once: a signal that comes a moment later gets one more step, so that it too ends with a save.
                stopping = bool(self.stop_signal)
                if is_best or stopping or self.progress.finished or self._due(self.config.save_every):
                    self._save(best=is_best)
            if self._over:
                self.stop_signal = 0  # it came during the last step: nothing is left to stop
        self.reporter.end(self.progress, self.config, stopped=bool(self.stop_signal), workers=count)
        return self.progress

    def resume(self) -> None:
        """Take up the newest checkpoint and forget lines of the log that came after it."""
        tensors, facts = self.checkpoints.load_training()
        groups: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "average": {}, "random": {}}
        for key, value in tensors.items():
            group, _, name = key.partition("/")
            groups[group][name] = value
        try:
            load_tensors(self.model, groups["model"])
        except ValueError as error:
            raise RunError(
                f"{self.run_folder}: {error}; recipe.toml and the checkpoint do not belong together"
            ) from None
        load_optimizer_tensors(self.optimizer, groups["optimizer"])
        self.average.load_state_tensors(groups["average"])
        torch.set_rng_state(groups["random"]["cpu"])
        if "cuda" in groups["random"] and self.device.type == "cuda":
            torch.cuda.set_rng_state(groups["random"]["cuda"], self.device)
        self.progress = Progress(**facts)
        if self.progress.step == self.progress.best_step:
            self.checkpoints.mark_best(self.progress.step)
        self.batches.seek(self.progress.epoch, self.progress.index)
        self._forget_rows_after(self.progress.step)

    def _forget_rows_after(self, step: int) -> None:
        metrics, fresh = self.run_folder / "metrics.jsonl", self.run_folder / ".metrics.jsonl.new"
        text = metrics.read_text(encoding="utf-8", errors="replace") if metrics.exists() else ""
        fresh.write_text("".join(f"{row}\n" for row in text.split("\n") if _step_of(row) <= step), encoding="utf-8")
        fresh.replace(metrics)  # a kill in the middle must not cost the log

    @property
    def _over(self) -> bool:
        return self.progress.step >= self.config.steps or self.progress.finished

    def _due(self, interval: int) -> bool:
        return self.progress.step % interval == 0 or self.progress.step == self.config.steps

    def _one_step(self) -> None:
        progress, started = self.progress, time.perf_counter()
        step = progress.step + 1
        rate = learning_rate(step, self.config)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        computing = time.perf_counter()
        losses = self._compute(step, 0, 1) if self.workers is None else self.workers.step(step)
        count, totals = sum(count for _, count, _ in losses), [total for total, _, _ in losses]
        total = sum(totals)
        torch._foreach_div_([p.grad for p in self.model.parameters() if p.grad is not None], count)
        norm = clip_grad_norm_(self.model.parameters(), self.config.clip or math.inf)
        if not (math.isfinite(total) and math.isfinite(float(norm))):
            guilty = next(
                (batch for batch, value in zip(self._taken, totals, strict=True) if not math.isfinite(value)),
                self._taken[-1],
            )
            raise TrainingError(self._explain_blow_up(step, guilty, total, float(norm), rate))
        with self._all_threads():
            self.optimizer.step()
        self.optimizer.zero_grad()
        self.average.update(step)
        computed = time.perf_counter()

        progress.step, (progress.epoch, progress.index) = step, self.batches.position
        progress.target_tokens += count
        window = progress.window
        for name, value in [("loss", total), ("count", count), ("norm", float(norm)), ("steps", 1)]:
            window[name] = window.get(name, 0.0) + value
        for _, _, parts in losses:
            for name, value in parts.items():
                window[f"part {name}"] = window.get(f"part {name}", 0.0) + value
        elapsed = time.perf_counter() - started
        progress.seconds += elapsed
        progress.outside += elapsed - (computed - computing) + self._waiting
        self.reporter.step(progress)
        if self._due(self.config.log_every):
            self._log(rate)

    def _compute(self, step: int, rank: int, workers: int) -> list[Sums]:
        """Take a step's batches and add up the gradients of our part of them; return each batch's sums."""
        self.freed.tidy()
        started = time.perf_counter()
        self._taken = [self.batches.take() for _ in range(self.config.accumulate)]
        self._waiting = time.perf_counter() - started
        self.model.train()
        sums: list[Sums] = []
        for batch in self._taken:
            own = batch if workers == 1 else batch.part(rank, workers)
            if workers > 1 and not len(own):  # fewer examples than workers
                sums.append((0.0, 0, {}))
                continue
            with self._precision():
                loss = self.loss(self.model, own.to(self.device), step)
            loss.total.backward()  # type: ignore[no-untyped-call]
            sums.append((float(loss.total.detach()), loss.count, loss.parts))
        return sums

    def _precision(self) -> Any:
        if self.config.precision == "bf16":
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return nullcontext()

    def _log(self, rate: float) -> None:
        progress, window = self.progress, self.progress.window
        row = {
            "step": progress.step,
            "epoch": progress.epoch,
            "seconds": round(progress.seconds, 3),
            "target_tokens": progress.target_tokens,
            "loss": window["loss"] / window["count"],
            **{
                name.removeprefix("part "): value / window["count"]
                for name, value in window.items()
                if name.startswith("part ")
            },
            "learning_rate": rate,
            "gradient_norm": window["norm"] / window["steps"],
        }
        progress.window = {}
        self._write_row(row)
        self.reporter.log(row)

    def _write_row(self, row: dict[str, Any]) -> None:
        path = self.run_folder / "metrics.jsonl"
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        except OSError as error:
            raise RunError(
                f"{path} cannot be written ({error.strerror}); mend that, then go on with --resume."
            ) from None

    def _all_threads(self) -> AbstractContextManager[None]:
        """Return a block for what workers have no part in."""
        return nullcontext() if self.workers is None else self.workers.waiting()

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Lend the model out with the weights that are scored; training does not notice."""
        self.model.eval()
        unchanged = torch.random.fork_rng([self.device] if self.device.type == "cuda" else [])
        with self.average.in_place(), unchanged, self._all_threads():
            yield

    def _evaluate(self) -> bool:
        started = time.perf_counter()
        self.reporter.evaluating()
        with self._answering():
            scores = dict(self.evaluate(self.model))
            if self.film is not None:
                self.film(self.model, self.progress.step)
        samples = scores.pop("samples", [])
        progress, monitor = self.progress, self.config.monitor
        if monitor not in scores:
            raise TrainingError(f"training.monitor = '{monitor}' is not among the scores: {', '.join(scores)}")
        value = scores[monitor]
        better = -value if monitor in LESS_IS_BETTER else value
        is_best = not math.isnan(value) and (progress.best is None or better > progress.best)
        progress.waited = 0 if is_best else progress.waited + 1
        if is_best:
            progress.best, progress.best_step = better, progress.step
        if self.config.patience and progress.waited >= self.config.patience:
            progress.finished = True
        row = {
            "step": progress.step,
            "seconds": round(progress.seconds, 3),
            "evaluation": scores,
            "best": is_best,
            "evaluation_seconds": round(time.perf_counter() - started, 3),
        }
        self._write_row(row)
        self.reporter.evaluation(row, samples)
        return is_best

    def _save(self, *, best: bool) -> None:
        started = time.perf_counter()
        random = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            random["cuda"] = torch.cuda.get_rng_state(self.device)
        training = {
            **{f"model/{name}": value for name, value in model_tensors(self.model).items()},
            **{f"optimizer/{name}": value for name, value in optimizer_tensors(self.optimizer).items()},
            **{f"average/{name}": value for name, value in self.average.state_tensors().items()},
            **{f"random/{name}": value for name, value in random.items()},
        }
        step, weights = self.progress.step, self.average.weights()
        self.checkpoints.save(step, weights=weights, training=training, facts=asdict(self.progress), best=best)
        elapsed = time.perf_counter() - started
        self.progress.seconds += elapsed
        self.progress.outside += elapsed

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

    def _explain_blow_up(self, step: int, batch: Any, total: float, norm: float, rate: float) -> str:
        kept = self.checkpoints.steps()
        what = f"the loss became {total}" if not math.isfinite(total) else f"the gradient's norm became {norm}"
        return (
            f"{what} at step {step:,} (learning rate {rate:.2g}), on this batch: {self.batches.describe(batch)}. "
            f"Lower training.learning_rate (half of it), lengthen training.warmup or set training.clip = 1.0. "
            + (f"The checkpoint of step {kept[-1]:,} is kept." if kept else "No checkpoint had been saved yet.")
        )


def _step_of(row: str) -> float:
    """Return the step of a metrics row; a row cut off by a kill counts as the future."""
    try:
        return float(json.loads(row)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf
