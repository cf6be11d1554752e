"""A contest of toolkits: alternating rounds in one run, each toolkit in its own process.

contestants × threads → round after round, every second one backwards → records → table → JSON and markdown

One part of the benchmarks (recurrent.py, …) says who takes part and what each is asked to do. A driver (train_*.py)
reads its job from a JSON file, does it with its toolkit, and leaves its result in another.
"""

import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
PEERS = HERE / ".peers" / "bin" / "python"
OURS = "jumok"

Record = dict[str, Any]


@dataclass(frozen=True)
class Contestant:
    """A toolkit in one event of the contest."""

    event: str  # what is compared: ratios are taken within it
    toolkit: str
    driver: str
    job: dict[str, Any] = field(default_factory=dict)
    apart: bool = True  # it needs the peers' environment

    @property
    def python(self) -> str:
        """The interpreter of the toolkit's environment."""
        return str(PEERS) if self.apart else sys.executable


def build_peers() -> None:
    """Make the peers' environment where it is missing or outdated."""
    subprocess.run(["sh", str(HERE / "peers.sh")], check=True, env={**os.environ, "PYTHON": sys.executable})


def hold(
    contestants: Sequence[Contestant], *, rounds: int, threads: Sequence[int], job: dict[str, Any], folder: Path
) -> Iterator[Record]:
    """Run every contestant at every number of threads, round after round; yield what each measured."""
    starts = [(contestant, count) for contestant in contestants for count in threads]
    for number in range(rounds):
        # Backwards every second time, so that a machine that slows down or warms up favours nobody.
        for place, (contestant, count) in enumerate(starts[::-1] if number % 2 else starts):
            own = folder / f"{number}-{place}"
            own.mkdir()
            result = run(contestant, {**job, **contestant.job, "threads": count, "folder": str(folder)}, own=own)
            yield {
                "round": number,
                "event": contestant.event,
                "toolkit": contestant.toolkit,
                "threads": count,
                **result,
            }


def run(contestant: Contestant, job: dict[str, Any], *, own: Path) -> Record:
    """Return what one process of a contestant measured."""
    job = {**job, "own": str(own), "result": str(own / "result.json")}
    (own / "job.json").write_text(json.dumps(job), encoding="utf-8")
    threads = str(job["threads"])
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "PYTHONWARNINGS": "ignore"}
    busy = os.getloadavg()[0]
    with (own / "log").open("w", encoding="utf-8") as log:
        command = [contestant.python, str(HERE / contestant.driver), str(own / "job.json")]
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=own, check=False)
    if done.returncode or not (own / "result.json").exists():
        said = (own / "log").read_text(encoding="utf-8", errors="replace").splitlines()[-30:]
        raise SystemExit(
            "\n".join([*said, f"{contestant.toolkit} ({contestant.event}) failed; the end of its log is above."])
        )
    result: Record = json.loads((own / "result.json").read_text(encoding="utf-8"))
    return {**result, "load_before": busy}


def find_data(folder: Path, name: str) -> Path:
    """Return the folder of one set: itself, or the one of its name in a folder of several."""
    return folder / name if (folder / name).is_dir() else folder


def warn_if_busy() -> None:
    """Say so where something else is using the machine."""
    if os.getloadavg()[0] > 0.5:
        print(f"the machine is busy (load {os.getloadavg()[0]:.1f}): these figures will not be fair", flush=True)


# --- what the records say


def speed(record: Record) -> float:
    """Return target tokens per second, in steps alone."""
    return float(record["target_tokens"] / record["step_seconds"])


def whole_speed(record: Record) -> float:
    """Return target tokens per second, waiting for data included."""
    return float(record["target_tokens"] / record["whole_seconds"])


def at_its_best(records: Sequence[Record], event: str, toolkit: str) -> list[Record]:
    """Return a toolkit's records of an event, round by round, at the number of threads that suits it best."""
    own = [record for record in records if (record["event"], record["toolkit"]) == (event, toolkit)]
    by_threads = {count: [r for r in own if r["threads"] == count] for count in {r["threads"] for r in own}}
    return max(by_threads.values(), key=lambda some: median(map(speed, some)))


def summarise(records: Sequence[Record]) -> list[Record]:
    """Return a row for each event and toolkit; a peer's says how many times as fast jumok is, in each round."""
    rows = []
    for event, toolkit in dict.fromkeys((record["event"], record["toolkit"]) for record in records):
        own = at_its_best(records, event, toolkit)
        row: Record = {
            "event": event,
            "toolkit": toolkit,
            "version": own[0]["version"],
            "threads": own[0]["threads"],
            "parameters": own[0]["parameters"],
            "tokens_a_second": spread([speed(record) for record in own]),
            "with_data": spread([whole_speed(record) for record in own]),
            "tokens_a_step": median(record["target_tokens"] / record["steps"] for record in own),
            "padding": median(1 - record["target_tokens"] / record["target_cells"] for record in own),
            "peak_memory": max(record["peak_memory"] for record in own),
        }
        if toolkit != OURS:
            ours = at_its_best(records, event, OURS)
            row["ratio"] = spread([speed(a) / speed(b) for a, b in zip(ours, own, strict=True)])
            row["ratio_with_data"] = spread([whole_speed(a) / whole_speed(b) for a, b in zip(ours, own, strict=True)])
        rows.append(row)
    return rows


def fastest_peers(rows: Sequence[Record]) -> list[Record]:
    """Return the row of the fastest peer of each event."""
    peers = [row for row in rows if not row["toolkit"].startswith(OURS)]  # nor another way of jumok's own
    events = dict.fromkeys(row["event"] for row in peers)
    return [
        max((row for row in peers if row["event"] == event), key=lambda row: row["tokens_a_second"]["median"])
        for event in events
    ]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median, least and most of values."""
    return {"median": median(values), "least": min(values), "most": max(values)}


# --- what a person sees


def table(rows: Sequence[Record], event: str) -> str:
    """Return the rows as a markdown table; event is the heading of what is compared."""
    lines = [
        f"| {event} | toolkit | parameters | threads | target tokens/s in steps | data included | padding | peak MB | jumok is × as fast |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        ratio = "" if row["toolkit"] == OURS else _spread(row["ratio"], ".2f")
        cells = [
            row["event"],
            f"{row['toolkit']} {row['version']}",
            f"{row['parameters']:,}",
            str(row["threads"]),
            _spread(row["tokens_a_second"], ",.0f"),
            _spread(row["with_data"], ",.0f"),
            f"{row['padding']:.0%}",
            f"{row['peak_memory'] / 1e6:,.0f}",
            ratio,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _spread(values: dict[str, float], form: str) -> str:
    return f"{values['median']:{form}} ({values['least']:{form}}–{values['most']:{form}})"


def machine() -> dict[str, Any]:
    """Return what the figures depend on beside the toolkits."""
    names = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    processor = next((line.split(":", 1)[1].strip() for line in names if line.startswith("model name")), "")
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return {
        "processor": processor or platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "commit": commit,
        "when": time.strftime("%Y-%m-%d %H:%M"),
        "command": command_line(sys.argv),
    }


def command_line(arguments: Sequence[str]) -> str:
    """Return a command as anybody may give it: FOLDER stands for what is outside the clone, on this machine alone."""
    script, *rest = map(Path, arguments)
    shown = ["FOLDER" if path.is_absolute() or ".." in path.parts else str(path) for path in rest]
    return shlex.join(["python", f"{HERE.name}/{script.name}", *shown])


def save(
    out: Path,
    *,
    title: str,
    event: str,
    settings: dict[str, Any],
    records: Sequence[Record],
    does: str = "trains",
    notes: Sequence[str] = (),
) -> str:
    """Write OUT.json and OUT.md; return the markdown. does is what jumok does faster or slower than its peers."""
    rows, facts = summarise(records), machine()
    rounds = max(record["round"] for record in records) + 1
    verdicts = [
        f"- {row['event']}: jumok {does} {_spread(row['ratio'], '.2f')} × as fast as {row['toolkit']}, the fastest peer"
        for row in fastest_peers(rows)
    ]
    text = "\n".join(
        [
            f"# {title}",
            "",
            f"`{facts['command']}` at {facts['commit']}, {facts['when']}; {facts['processor']}, {facts['cores']} cores, "
            f"torch {records[0]['torch']}, Python {facts['python']}.",
            f"Median (least–most) of {rounds} alternating rounds, each toolkit at its best number of threads; ratios are taken round by round.",
            "",
            table(rows, event),
            "",
            *verdicts,
            *(f"- {note}" for note in notes),
            "",
        ]
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    content = {"title": title, "machine": facts, "settings": settings, "summary": rows, "records": list(records)}
    out.with_suffix(".json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    return text
