"""The campaign put together: good files made once, read once, then mutated many times; kills and disks; the table."""

import shutil
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from campaign.children import Batch, Limits, run
from campaign.report import Tally, as_markdown, show
from campaign.row import Row
from campaign.target import Given, Target
from campaign.targets import TARGETS

BATCH = 100  # cases that a child takes
RESULT = Path(__file__).parents[2] / "benchmarks" / "results" / "campaign.md"


def make_good(targets: Sequence[Target], folder: Path) -> Iterator[tuple[Target, Path]]:
    """Yield each target with the folder of its good files, which jumok has read without a word."""
    torch.set_num_threads(1)  # children are forks, and another thread would not be in them
    for target in targets:
        good, room = folder / "good" / target.name, folder / "room"
        good.mkdir(parents=True)
        target.make(good)
        for place in target.examples(good):
            shutil.copytree(good, room / target.name, symlinks=True)
            (room / "written").mkdir()
            target.read(
                Given(room / target.name, room / target.name / place, room / "written")
            )  # else the target is wrong
            shutil.rmtree(room)
        yield target, good


def batches(target: Target, good: Path, *, seed: int, share: float, size: int = BATCH) -> list[Batch]:
    """Return the cases of a target in batches."""
    count = max(round(target.cases * share), 1)
    return [Batch(target, good, seed, range(first, min(first + size, count))) for first in range(0, count, size)]


def whole(
    names: Sequence[str], folder: Path, *, seed: int, share: float, jobs: int, out: Path | None, failures: Path | None
) -> int:
    """Run the campaign, show its table and save it; return 1 where something failed."""
    chosen = [target for target in TARGETS if not names or target.name in names]
    console = Console(stderr=True)
    tallies = mutations(chosen, folder, seed=seed, share=share, jobs=jobs, console=console)
    rows = [] if names else kills_and_disks(seed=seed, share=share)
    show(tallies, rows, seed=seed)
    if failures is not None:
        failures.write_text(
            "".join(f"{line}\n" for tally in tallies for line in tally.lines(seed)),
            encoding="utf-8",
            errors="backslashreplace",
        )
    if not names or out is not None:
        (out or RESULT).write_text(
            as_markdown(tallies, rows, seed=seed, share=share, day=date.today()), encoding="utf-8"
        )
    return int(any(tally.failures for tally in tallies) or any(row.failures for row in rows))


def kills_and_disks(*, seed: int, share: float) -> list[Row]:
    """Return what became of runs whose processes were killed, and of full disks."""
    from campaign import disks, kills  # not needed for mutations

    return [*kills.campaign(share=share, seed=seed), *disks.campaign(share=share, seed=seed)]


def mutations(
    targets: Sequence[Target], folder: Path, *, seed: int, share: float, jobs: int, console: Console
) -> list[Tally]:
    """Return how the cases of each target ended."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    tallies = {target.name: Tally(target.name) for target in targets}
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("making good files", total=None)
        waiting = [
            batch for target, good in make_good(targets, folder) for batch in batches(target, good, seed=seed, share=share)
        ]  # fmt: skip
        progress.update(bar, total=sum(len(batch.indices) for batch in waiting))
        for outcome in run(waiting, jobs=jobs):
            tallies[outcome.target].add(outcome)
            bad = sum(len(tally.failures) for tally in tallies.values())
            progress.update(bar, advance=1, description=f"{outcome.target}, {bad} failures so far")
    return list(tallies.values())


def show_case(name: str, folder: Path, *, seed: int, index: int) -> int:
    """Print what happens to one case, here or, where it kills, in a child."""
    [(target, good)] = make_good([target for target in TARGETS if target.name == name], folder)
    [outcome] = run([Batch(target, good, seed, [index])], jobs=1, limits=Limits())
    told = f"{outcome.what}\n{outcome.failure or 'fine'} ({outcome.seconds:.2f} s, {outcome.memory >> 20} MB)\n{outcome.detail}"
    print(told)
    return int(bool(outcome.failure))
