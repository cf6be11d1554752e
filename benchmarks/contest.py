"""A contest of toolkits: alternating rounds in one run, each toolkit in its own process.

contestants × threads → round after round, every second one backwards → records → table → JSON and markdown

One part of the benchmarks (recurrent.py, …) says who takes part and what each is asked to do. A driver (train_*.py)
reads its job from a JSON file, does it with its toolkit, and leaves its result in another.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
PEERS = HERE / ".peers" / "bin" / "python"
OURS = "jumok"
PRECISIONS = ("fp32", "bf16")
# What a processor can do that decides how fast its products are, by the names of /proc/cpuinfo.
INSTRUCTIONS = (
    "avx2", "avx512f", "avx512_bf16", "avx512_vnni", "avx_vnni", "amx_bf16", "amx_int8", "asimd", "bf16", "i8mm", "sve",
)  # fmt: skip
HELD_TO = "ONEDNN_MAX_CPU_ISA"  # oneDNN's own name

Record = dict[str, Any]


@dataclass(frozen=True)
class Contestant:
    """A toolkit in one event of the contest."""

    event: str  # what is compared: ratios are taken within it
    toolkit: str
    driver: str
    job: dict[str, Any] = field(default_factory=dict)
    apart: bool = True  # it needs the peers' environment
    precision: str = ""  # of its products; "": what it takes unasked

    @property
    def python(self) -> str:
        """The interpreter of the toolkit's environment."""
        return str(PEERS) if self.apart else sys.executable


class HoldOneDNN(argparse.Action):
    """Hold oneDNN to a set of instructions, in every process that is started from here."""

    def __call__(self, parser: object, namespace: object, values: object, option_string: object = None) -> None:
        """Set its environment variable."""
        os.environ[HELD_TO] = str(values)


def add_options(
    parser: argparse.ArgumentParser,
    part: str,
    *,
    rounds: int = 3,
    threads: Sequence[int] = (2,),
    precisions: Sequence[str] = PRECISIONS,
) -> None:
    """Add what every contest of precisions can be told."""
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument(
        "--threads", type=int, nargs="+", default=list(threads), help="each is tried; a toolkit's best counts"
    )
    parser.add_argument(
        "--precisions",
        nargs="+",
        choices=precisions,
        default=list(precisions),
        help="of products, where a toolkit has them",
    )
    parser.add_argument(
        "--isa",
        action=HoldOneDNN,
        metavar="ISA",
        help=f"hold oneDNN to these instructions ({HELD_TO}): AVX512_CORE has no bf16, AVX512_CORE_BF16 no AMX",
    )
    parser.add_argument("--out", type=Path, default=HERE / "results" / part, help="OUT.json and OUT.md")


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
            given = {
                **job,
                **contestant.job,
                "threads": count,
                "folder": str(folder),
                "precision": contestant.precision,
            }
            yield {
                "round": number,
                "event": contestant.event,
                "toolkit": contestant.toolkit,
                "threads": count,
                "precision": contestant.precision or "fp32",  # where the result does not tell
                **run(contestant, given, own=own),
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


def told(record: Record, *, rounds: int, unit: str, pace: Callable[[Record], float] | None = None) -> str:
    """Return a line for a record, as it comes in."""
    return (
        f"round {record['round'] + 1}/{rounds} · {record['event']:<8} · {record['toolkit']:<20} · {record['precision']} · "
        f"threads {record['threads']} · {(pace or speed)(record):,.0f} {unit}"
    )


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


def at_its_best(records: Sequence[Record], event: str, toolkit: str, precision: str = "") -> list[Record]:
    """Return a toolkit's records of an event, round by round, at the threads, and the precision, that suit it best."""
    by_way: dict[tuple[int, str], list[Record]] = {}
    for record in records:
        if (record["event"], record["toolkit"]) == (event, toolkit) and precision in ("", record["precision"]):
            by_way.setdefault((record["threads"], record["precision"]), []).append(record)
    return max(by_way.values(), key=lambda some: median(map(speed, some)))


def ratio(
    ours: Sequence[Record], theirs: Sequence[Record], pace: Callable[[Record], float] = speed
) -> dict[str, float]:
    """Return how many times as fast ours are, taken round by round."""
    return spread([pace(a) / pace(b) for a, b in zip(ours, theirs, strict=True)])


def summarise(records: Sequence[Record]) -> list[Record]:
    """Return a row for each event, toolkit and precision, with how many times as fast jumok is at its best precision."""
    rows = []
    kinds = dict.fromkeys((record["event"], record["toolkit"], record["precision"]) for record in records)
    for event, toolkit, precision in kinds:
        own = at_its_best(records, event, toolkit, precision)
        row: Record = {
            "event": event,
            "toolkit": toolkit,
            "version": own[0]["version"],
            "precision": precision,
            "threads": own[0]["threads"],
            "parameters": own[0]["parameters"],
            "tokens_a_second": spread([speed(record) for record in own]),
            "with_data": spread([whole_speed(record) for record in own]),
            "tokens_a_step": median(record["target_tokens"] / record["steps"] for record in own),
            "padding": median(1 - record["target_tokens"] / record["target_cells"] for record in own),
            "peak_memory": max(record["peak_memory"] for record in own),
        }
        ours = at_its_best(records, event, OURS)
        if (toolkit, precision) != (OURS, ours[0]["precision"]):
            row["ratio"] = ratio(ours, own)
            row["ratio_with_data"] = ratio(ours, own, whole_speed)
        rows.append(row)
    return rows


def verdicts(records: Sequence[Record], does: str) -> list[str]:
    """Return how many times as fast jumok is as the fastest peer of each event: in fp32, and at its best precision."""
    rows, lines = summarise(records), []
    for event in dict.fromkeys(row["event"] for row in rows):
        own = [row for row in rows if row["event"] == event]
        peers = [row for row in own if not row["toolkit"].startswith(OURS)]  # nor another way of jumok's own
        if not peers:
            continue
        ours = [row["precision"] for row in own if row["toolkit"] == OURS]
        best = at_its_best(records, event, OURS)[0]["precision"]
        plain = max((row for row in peers if row["precision"] == "fp32"), key=_pace, default=None)
        pairs = [(best, plain, "in fp32"), (best, max(peers, key=_pace), "at its best precision")]
        if best != "fp32" and "fp32" in ours:
            pairs.append(("fp32", plain, "in fp32"))
        if {row["precision"] for row in peers} | set(ours) == {"fp32"}:
            pairs = [("fp32", plain, "")]
        for precision, peer, among in pairs:
            if peer is None:
                continue
            times = ratio(
                at_its_best(records, event, OURS, precision),
                at_its_best(records, event, peer["toolkit"], peer["precision"]),
            )
            us, them = (f" in {precision}", f" in {peer['precision']}") if among else ("", "")
            lines.append(
                f"{event}: jumok{us} {does} {_spread(times, '.2f')} × as fast as {peer['toolkit']}{them}, the fastest peer"
                f"{f' {among}' if among else ''}"
            )
    return lines


def _pace(row: Record) -> float:
    return float(row["tokens_a_second"]["median"])


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median, least and most of values."""
    return {"median": median(values), "least": min(values), "most": max(values)}


# --- what a person sees


def table(rows: Sequence[Record], event: str, unit: str) -> str:
    """Return the rows as a markdown table; event is the heading of what is compared, unit of how fast it is done."""
    prepared = any(row["with_data"] != row["tokens_a_second"] for row in rows)  # else nothing but steps was timed
    heads = [
        event, "toolkit", "precision", "parameters", "threads",
        *([f"{unit} in steps", "data included", "padding"] if prepared else [unit]),
        "peak MB", "jumok is × as fast",
    ]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for row in rows:
        data = [_spread(row["with_data"], ",.0f"), f"{row['padding']:.0%}"] if prepared else []
        cells = [
            row["event"],
            f"{row['toolkit']} {row['version']}",
            row["precision"],
            f"{row['parameters']:,}",
            str(row["threads"]),
            _spread(row["tokens_a_second"], ",.0f"),
            *data,
            f"{row['peak_memory'] / 1e6:,.0f}",
            _spread(row["ratio"], ".2f") if "ratio" in row else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _spread(values: dict[str, float], form: str) -> str:
    return f"{values['median']:{form}} ({values['least']:{form}}–{values['most']:{form}})"


def machine() -> dict[str, Any]:
    """Return what the figures depend on beside the toolkits."""
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "commit": commit,
        "when": time.strftime("%Y-%m-%d %H:%M"),
        "command": command_line(sys.argv),
    }


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name, its family, and those of its instructions that decide how fast products are."""
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    facts = dict(
        [part.strip() for part in line.split(":", 1)] for line in lines[::-1] if ":" in line
    )  # the first core's
    name = facts.get("model name") or platform.processor() or platform.machine()
    flags = set((facts.get("flags") or facts.get("Features", "")).split())
    parts = [f"family {facts['cpu family']}"] if "cpu family" in facts else []
    parts += [" ".join(one for one in INSTRUCTIONS if one in flags) or "none of the instructions that matter are known"]
    if HELD_TO in os.environ:
        parts.append(f"oneDNN held to {os.environ[HELD_TO]}")
    return f"{name} ({'; '.join(parts)})"


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
    unit: str = "target tokens/s",
    does: str = "trains",
    notes: Sequence[str] = (),
    more: dict[str, Any] | None = None,
) -> str:
    """Write OUT.json and OUT.md; return the markdown.

    does is what jumok does faster or slower than its peers; notes are lines below the table, more what else the JSON keeps.
    """
    rows, facts = summarise(records), machine()
    rounds = max(record["round"] for record in records) + 1
    text = "\n".join(
        [
            f"# {title}",
            "",
            f"`{facts['command']}` at {facts['commit']}, {facts['when']}; {facts['processor']}, {facts['cores']} cores, "
            f"torch {records[0]['torch']}, Python {facts['python']}.",
            f"Median (least–most) of {rounds} alternating rounds, each toolkit at its best number of threads; ratios are "
            "taken round by round, jumok at its best precision.",
            "",
            table(rows, event, unit),
            "",
            *(f"- {line}" for line in [*verdicts(records, does), *notes]),
            "",
        ]
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "title": title,
        "machine": facts,
        "settings": settings,
        "summary": rows,
        **(more or {}),
        "records": list(records),
    }
    out.with_suffix(".json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    return text
