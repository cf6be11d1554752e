"""What a person sees of a training run: a live bar on a terminal or in a notebook, plain lines in a log file.

trainer → Reporter → terminal | notebook | log file | TensorBoard (where installed)
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Task, TaskID, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from jumok.texts import localized, localized_word
from jumok.training.memory import peak_memory, peak_memory_of_children
from jumok.training.notebook import NotebookBar

if TYPE_CHECKING:
    from jumok.config import TrainingConfig
    from jumok.training.trainer import TrainingState


def duration(seconds: float) -> str:
    """Return a time as people say it: 48 s, 3 min 20 s, 2 h 05 min."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"


class StatusColumn(TextColumn):
    """The newest figures, in the language that is spoken: found when they are drawn, not at every step."""

    def render(self, task: Task) -> Text:
        """Return the status of a task."""
        return Text(localized(task.fields["status"]))


class Reporter:
    """Show a run on a console; without a terminal, one plain line per event."""

    def __init__(
        self, console: Console, run: Path | None = None, *, unit: str = "target tokens", perplexity: bool = True
    ) -> None:
        self.console, self.unit = console, unit  # what the loss is counted over
        self.perplexity = perplexity  # whether the loss has one
        self.bar: Bar | NotebookBar | None = None
        self.run = run
        self.board: Any = None
        self.steps = 0
        self.learned = self.pace = ""  # the newest loss, and speed with time left
        self.began = (0, 0.0, 0)  # step, seconds and tokens where this session started

    def start(self, state: "TrainingState", config: "TrainingConfig") -> None:
        """Open the display."""
        self.steps = config.steps
        self.began = (state.step, state.seconds, state.target_tokens)
        self.board = _tensorboard(self.run, after=state.step)
        self.task = TaskID(0)
        if self.console.is_jupyter and not self.console.quiet:
            self.bar = NotebookBar(config.steps, state.step)
        elif self.console.is_terminal:
            columns = (
                TextColumn(localized_word("step")),
                MofNCompleteColumn(),
                BarColumn(bar_width=None),
                StatusColumn(""),
            )
            self.bar = bar = Bar(*columns, console=self.console)
            self.task = bar.add_task("train", total=config.steps, completed=state.step, status="")
            bar.start()

    def step(self, state: "TrainingState") -> None:
        """Move the bar."""
        self.pace = self._pace(state)
        if self.bar is not None:
            self.bar.update(self.task, completed=state.step, status=self._status())

    def _status(self) -> str:
        """Return the newest loss and the pace, as far as they are known."""
        return " · ".join(filter(None, (self.learned, self.pace)))

    def _pace(self, state: "TrainingState") -> str:
        steps = state.step - self.began[0]
        seconds = max(state.seconds - self.began[1], 1e-9)
        speed = (state.target_tokens - self.began[2]) / seconds
        left = (self.steps - state.step) * seconds / max(steps, 1)
        return " · ".join([f"{speed:,.0f} {self.unit.split()[-1]}/s", f"{duration(left)} left"])

    def log(self, row: dict[str, Any]) -> None:
        """Show a line of the log."""
        loss, rate = row["loss"], row["learning_rate"]
        words = f" · perplexity {math.exp(min(row.get('nll', loss), 50.0)):,.2f}" if self.perplexity else ""
        self.learned = f"loss {loss:.3f}{words} · lr {rate:.2e}"
        text = self._status()
        if self.bar is None:
            self.note(f"step {row['step']:,}/{self.steps:,} · epoch {row['epoch'] + 1} · {text}")
        else:
            self.bar.update(self.task, status=text)
        if self.board is not None:
            for name in ("loss", "nll", "learning_rate", "gradient_norm"):
                if name in row:
                    self.board.add_scalar(f"train/{name}", row[name], row["step"])

    def evaluating(self) -> None:
        """Say that an evaluation is under way."""
        if self.bar is not None:
            self.bar.update(self.task, status="evaluating …")

    def evaluation(self, row: dict[str, Any], samples: list[dict[str, str]]) -> None:
        """Show the scores, whether they are the best, and sample answers."""
        if self.bar is not None:
            self.bar.update(self.task, status=self.learned + self.pace)
        scores = " · ".join(
            f"{name} {value:.4g}" for name, value in row["evaluation"].items() if isinstance(value, int | float)
        )
        mark = "  ← best" if row["best"] else ""
        self.note(f"step {row['step']:,} · val: {scores}{mark} ({duration(row['evaluation_seconds'])})")
        for sample in samples:
            for name, text in sample.items():
                self.console.print(Text(f"    {name:<9} {_printable(text)}"), soft_wrap=True)
        if self.board is not None:
            for name, value in row["evaluation"].items():
                if isinstance(value, int | float):
                    self.board.add_scalar(f"val/{name}", value, row["step"])

    def note(self, text: str) -> None:
        """Show a line above the bar."""
        self.console.print(localized(text), markup=False, emoji=False, highlight=False, soft_wrap=True)

    def end(self, state: "TrainingState", config: "TrainingConfig", *, stopped: bool, workers: int = 1) -> None:
        """Close the display."""
        self.close()
        if state.finished:
            self.note(f"stopped early: {config.patience} evaluations without a better {config.monitor}")
        share = state.outside / max(state.seconds, 1e-9)
        word = "stopped" if stopped else "done"
        speed = state.target_tokens / max(state.seconds, 1e-9)
        best = f"; best {config.monitor} at step {state.best_step:,}" if state.best_step else ""
        self.note(
            f"{word} at step {state.step:,} after {duration(state.seconds)} in training "
            f"({share:.1%} of it outside forward, backward and step){best}"
        )
        others = f" and {peak_memory_of_children() / 1e6:,.0f} MB per worker" if workers > 1 else ""
        self.note(f"{speed:,.0f} {self.unit}/s, peak memory {peak_memory() / 1e6:,.0f} MB{others}")

    def close(self) -> None:
        """Stop drawing, whatever happened."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
        if self.board is not None:
            self.board.close()
            self.board = None


def _printable(text: str) -> str:
    """Return text on one line, without the control characters that a young byte-level model may write."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(text.split()))


def _tensorboard(run: Path | None, *, after: int) -> Any:
    """Return a TensorBoard writer in RUN/tensorboard that hides older points after a step; None where not installed."""
    if run is None:
        return None
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(run / "tensorboard"), purge_step=after + 1 if after else None)
