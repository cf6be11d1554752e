"""What people see: a plain log without control characters, a live bar on a terminal, TensorBoard where it is installed."""

import io
import re
import signal
import sys
from types import ModuleType, SimpleNamespace

import pytest
from rich.console import Console

from jumok.config import TrainingConfig
from jumok.training.progress import Reporter, duration
from jumok.training.trainer import TrainingState

LINE = re.compile(
    r"step 3/23 · epoch 1 · loss \d+\.\d+ · perplexity [\d,.]+ · lr 6\.00e-03 · [\d,]+ tokens/s · \d+ s left"
)


def test_a_plain_log_says_everything_without_control_characters(run_recipe, tmp_path):
    shown = run_recipe(tmp_path / "run").shown
    assert LINE.search(shown), shown
    assert re.search(
        r"step 6 · val: loss [\d.]+ · perplexity [\d.]+ · bleu [\d.]+ · chrf [\d.]+ · exact_match [\d.]+  ← best", shown
    )
    samples = re.search(r"step 6 · val.*\n((?:    .*\n)+)", shown).group(1).splitlines()
    assert [line.split()[0] for line in samples] == ["source", "reference", "jumok"] * 2
    assert re.search(
        r"done at step 23 after \d+ s in training \([\d.]+% of it outside .*\); best loss at step \d+", shown
    )
    assert re.search(r"transformer, [\d,]+ parameters, 300 pairs, on cpu", shown)
    assert not [letter for letter in shown if not letter.isprintable() and letter != "\n"]
    assert max(map(len, shown.splitlines())) < 200


def test_long_lines_are_not_broken_in_a_log(run_recipe, tmp_path):
    shown = run_recipe(tmp_path / "run", overrides=["training.steps=6"], width=40).shown
    assert any(len(line) > 60 for line in shown.splitlines())


def rows(step=3):
    log = {"step": step, "epoch": 0, "loss": 2.0, "nll": 1.0, "learning_rate": 0.5, "gradient_norm": 1.0}
    evaluation = {
        "step": step,
        "evaluation": {"loss": 1.5, "bleu": 30.0, "signature": "x"},
        "best": True,
        "evaluation_seconds": 75,
    }
    return log, evaluation


def make(console, **options):
    reporter = Reporter(console)
    reporter.start(TrainingState(**options), TrainingConfig(steps=40))
    return reporter


def test_the_bar_on_a_terminal_keeps_showing_the_loss_between_lines_of_the_log():
    console = Console(file=io.StringIO(), force_terminal=True, width=150)
    reporter = make(console)
    reporter.step(TrainingState(step=3, seconds=1.5, target_tokens=300))
    reporter.log(rows()[0])
    reporter.step(TrainingState(step=4, seconds=2.0, target_tokens=400))
    reporter.bar.refresh()
    reporter.close()
    reporter.close()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())
    assert re.search(r"4/40 .*loss 2\.000 · perplexity 2\.72 · lr 5\.00e-01 · 200 tokens/s · 18 s left", shown)


def test_a_whole_run_on_a_terminal(recipe, tmp_path):
    from jumok import api

    console = Console(file=io.StringIO(), force_terminal=True, width=150)
    api.prepare_job(recipe, out=tmp_path / "run", overrides=["training.steps=7"]).train(console)
    shown = console.file.getvalue()
    assert "\x1b[?25h" in shown.rpartition("\x1b[?25l")[2], "the cursor must come back"
    for part in ("7/7", "perplexity", "tokens/s", "val: loss", "← best", "reference", "done at step 7"):
        assert part in shown


def test_time_left_and_speed_are_of_this_session():
    console = Console(file=io.StringIO(), width=150)
    reporter = make(console, step=20, seconds=1000.0, target_tokens=10**6)
    reporter.step(TrainingState(step=30, seconds=1005.0, target_tokens=10**6 + 500))
    reporter.log(rows(30)[0])
    assert "100 tokens/s · 5 s left" in console.file.getvalue()


def test_texts_are_shown_as_they_are_but_for_control_characters():
    console = Console(file=io.StringIO(), width=150)
    sample = {"source": "[bold]나[/bold] :smile: \\", "reference": "a\tb\nc", "jumok": "x\x1b[31m\x07y\x00"}
    make(console).evaluation(rows()[1], [sample])
    shown = console.file.getvalue()
    assert "step 3 · val: loss 1.5 · bleu 30  ← best (1 min 15 s)\n" in shown
    assert "    source    [bold]나[/bold] :smile: \\\n    reference a b c\n    jumok     x�[31m�y�\n" in shown


@pytest.mark.parametrize(("best", "finished", "stopped", "wanted", "unwanted"), [
    (0, False, True, "stopped at step 5", "best"),
    (4, False, False, "; best loss at step 4", "stopped"),
    (4, True, False, "stopped early: 3 evaluations without a better loss", "stopped at"),
])  # fmt: skip
def test_the_last_line_says_how_it_ended(best, finished, stopped, wanted, unwanted):
    console = Console(file=io.StringIO(), width=150)
    progress = TrainingState(step=5, seconds=10.0, outside=0.5, best_step=best, finished=finished)
    Reporter(console).end(progress, TrainingConfig(patience=3), stopped=stopped)
    shown = console.file.getvalue()
    assert wanted in shown
    assert unwanted not in shown
    assert "(5.0% of it outside forward, backward and step)" in shown


@pytest.mark.parametrize(("seconds", "text"), [
    (0, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (3599.7, "1 h 00 min"), (7500, "2 h 05 min"),
])  # fmt: skip
def test_times_read_as_people_say_them(seconds, text):
    assert duration(seconds) == text


# --- TensorBoard


@pytest.fixture
def boards(monkeypatch):
    """Install a TensorBoard that only remembers."""
    opened = []

    class SummaryWriter:
        def __init__(self, folder, purge_step=None):
            self.folder, self.purge_step, self.points, self.closed = folder, purge_step, [], False
            opened.append(self)

        def add_scalar(self, name, value, step):
            assert not self.closed
            self.points.append((name, value, step))

        def close(self):
            self.closed = True

    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    return opened


def test_tensorboard_gets_every_number_and_a_resumed_run_hides_what_it_does_again(
    boards, run_recipe, assert_same_run, tmp_path
):
    run_recipe(tmp_path / "broken", at={8: lambda: signal.raise_signal(signal.SIGINT)})
    run_recipe(tmp_path / "broken", resume=True)
    run_recipe(tmp_path / "whole")
    assert_same_run(tmp_path / "broken", tmp_path / "whole")
    first, second, whole = boards
    assert (first.purge_step, second.purge_step, whole.purge_step) == (None, 9, None)
    assert first.folder == str(tmp_path / "broken/tensorboard")
    assert first.points + second.points == whole.points
    assert {name for name, _, _ in whole.points} == {
        "train/loss", "train/nll", "train/learning_rate", "train/gradient_norm",
        "val/loss", "val/perplexity", "val/bleu", "val/chrf", "val/exact_match",
    }  # fmt: skip
    assert all(board.closed for board in boards)


def test_without_tensorboard_nothing_is_said_or_written(run_recipe, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    shown = run_recipe(tmp_path / "run", overrides=["training.steps=3"]).shown
    assert "TensorBoard" not in shown
    assert not (tmp_path / "run/tensorboard").exists()


def test_a_note_in_the_middle_of_a_print_does_not_cost_the_run(toy, tmp_path):
    """A signal may come while the console writes: Python then refuses a second write."""

    def refuse(text):
        raise RuntimeError("reentrant call inside <_io.BufferedWriter>")

    def loss(model, batch, step):
        if step == 2:
            trainer.reporter.note = refuse
            signal.raise_signal(signal.SIGTERM)
            del trainer.reporter.note
        return toy.loss(model, batch, step)

    trainer = toy.trainer(tmp_path / "run", loss=loss)
    assert trainer.train().step == 2
    assert trainer.checkpoints.steps() == [2]


def test_progress_without_a_run_folder_needs_no_board(boards):
    reporter = Reporter(SimpleNamespace(is_terminal=False, is_jupyter=False))
    reporter.start(TrainingState(), TrainingConfig())
    assert not boards
