"""Training and looking beside other work: none, one and two processes that keep a core busy on purpose.

    python benchmarks/beside.py [--rounds 3] [--seconds 7]

train     dates-transformer with training.workers = 2, with 1 (on one thread, and on two) and with 0 (auto), each in a
          process of its own, in alternating rounds: target tokens per second, the first steps left out
check     what `jumok check` promises in the same round, beside what auto reaches
look      importance of one sentence by the shipped ko-en: seconds on one thread, as it is, and on two, as it was
A busy process multiplies matrices on one thread without a pause.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from contest import HERE, machine, spread, warn_if_busy

CONDITIONS = (0, 1, 2)  # busy processes beside
AUTO = "auto"
SETTINGS = {
    "2 processes": ("training.workers=2",),
    "1 process of 1 thread": ("training.workers=1", "training.threads=1"),
    "1 process of 2 threads": ("training.workers=1", "training.threads=2"),
    AUTO: (),
}
WARM_UP = 2.0  # seconds of other work before anything is measured

BUSY = """
import torch
torch.set_num_threads(1)
a = torch.randn(512, 512)
while True:
    a @ a
"""

# The run is stopped as Ctrl-C stops it, so many seconds after its second line of the log, but not before its fourth.
TRAIN = """
import json, os, pathlib, signal, sys, threading, time
from jumok import api
out, seconds, *overrides = sys.argv[1:]
log = pathlib.Path(out) / "metrics.jsonl"

def wait_for(lines):
    while not (log.exists() and log.read_text().count("\\n") >= lines):
        time.sleep(0.05)

def stop():
    wait_for(2)
    time.sleep(float(seconds))
    wait_for(4)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=stop, daemon=True).start()
api.train("dates-transformer", out=out, overrides=["training.evaluate_every=1000000", "training.save_every=1000000",
          "training.log_every=5", "training.probes=0", *overrides])
rows = [json.loads(line) for line in log.read_text().splitlines()][1:]
facts = json.loads((pathlib.Path(out) / "run.json").read_text())
speed = (rows[-1]["target_tokens"] - rows[0]["target_tokens"]) / (rows[-1]["seconds"] - rows[0]["seconds"])
print(json.dumps([speed, facts["workers"]]))
"""

CHECK = """
import json
from jumok import api
report = api.check("dates-transformer")
print(json.dumps([report.tokens_per_second, report.workers]))
"""

LOOK = """
import json, sys, time, torch, jumok
translator = jumok.load("ko-en")
if sys.argv[1] == "2":
    torch.set_num_threads = lambda count: None  # what asks for one thread keeps the two
found = []
for _ in range(3):
    started = time.perf_counter()
    translator.importance("넌 누구니?")
    found.append(time.perf_counter() - started)
print(json.dumps([min(found[1:]), max(found)]))
"""


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Speed of training and looking beside busy processes.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=7.0, help="that each training run is timed for")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "beside", help="OUT.json and OUT.md")
    return parser.parse_args()


def ask(code: str, *given: str) -> list[float]:
    """Return what a Python process prints; it has two threads."""
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    command = [sys.executable, "-c", code, *given]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many processes busy inside the block."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        if processes:
            time.sleep(WARM_UP)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def measure(given: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Return one record of each round and condition."""
    records = []
    for number in range(given.rounds):
        # Backwards every second time, so that a machine that slows down or warms up favours nobody.
        order = 1 if number % 2 == 0 else -1
        for count in CONDITIONS[::order]:
            record: dict[str, Any] = {"round": number, "busy": count, "train": {}, "look": {}}
            with busy(count):
                for name in list(SETTINGS)[::order]:
                    out = folder / f"{number}-{count}-{name.replace(' ', '-')}"
                    record["train"][name], workers = ask(TRAIN, str(out), str(given.seconds), *SETTINGS[name])
                    if name == AUTO:
                        record["chosen"] = int(workers)
                record["promised"], _ = ask(CHECK)
                for threads in (1, 2)[::order]:
                    record["look"][threads] = ask(LOOK, str(threads))
            records.append(record)
            print(json.dumps(record), flush=True)
    return records


def summarise(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each condition."""
    rows = []
    for count in CONDITIONS:
        own = [record for record in records if record["busy"] == count]
        speeds = {name: spread([record["train"][name] for record in own]) for name in SETTINGS}
        best = max(speeds[name]["median"] for name in SETTINGS if name != AUTO)
        rows.append(
            {
                "busy": count,
                "speeds": speeds,
                "chosen": [record["chosen"] for record in own],
                "of_the_best": speeds[AUTO]["median"] / best,
                "promise": spread([record["promised"] / record["train"][AUTO] for record in own]),
                "look": {threads: median(record["look"][threads][0] for record in own) for threads in (1, 2)},
                "slowest_look": {threads: max(record["look"][threads][1] for record in own) for threads in (1, 2)},
            }
        )
    return rows


def main() -> None:
    """Measure and show."""
    given = arguments()
    warn_if_busy()
    ask(CHECK)  # the data and the kernels are in the cache before anything is timed
    with tempfile.TemporaryDirectory() as folder:
        records = measure(given, Path(folder))
    rows, facts = summarise(records), machine()
    lines = [
        "# Beside other work", "",
        f"`{facts['command']}` at {facts['commit']}, {facts['when']}; {facts['processor']}, {facts['cores']} cores. Median (least–most) of {given.rounds} rounds.",
        "", f"| busy processes | {' | '.join(SETTINGS)} | auto chose | auto ÷ the best |", "| --- " * (len(SETTINGS) + 3) + "|",
        *(
            f"| {row['busy']} | "
            + " | ".join(f"{s['median']:,.0f} ({s['least']:,.0f}–{s['most']:,.0f})" for s in row["speeds"].values())
            + f" | {', '.join(map(str, row['chosen']))} | {row['of_the_best']:.2f} |"
            for row in rows
        ), "",
        "Target tokens per second of `dates-transformer`, waiting for data included.", "",
        "| busy processes | promised by check ÷ reached | importance, 1 thread | 2 threads | slowest, 1 thread | 2 threads |",
        "| --- | --- | --- | --- | --- | --- |",
        *(
            f"| {row['busy']} | {row['promise']['median']:.2f} ({row['promise']['least']:.2f}–{row['promise']['most']:.2f}) | "
            f"{row['look'][1]:.2f} s | {row['look'][2]:.2f} s | {row['slowest_look'][1]:.2f} s | {row['slowest_look'][2]:.2f} s |"
            for row in rows
        ), "",
    ]  # fmt: skip
    given.out.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": facts, "rows": rows, "records": records}
    given.out.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    given.out.with_suffix(".md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
