"""How long a person waits for the first answer, beside `import torch` alone.

    python benchmarks/startup.py --run RUN | --data MULTI30K

Whole processes in alternating rounds; one warm-up round is not counted, so that files lie in the system's memory.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from contest import HERE, find_data, machine, spread, warn_if_busy
from trained import run_for

TEXT = "A man is sleeping."


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Start-up time of jumok beside that of torch.")
    parser.add_argument("--run", type=Path, help="a run of a translator; without one, a tiny one is trained first")
    parser.add_argument("--data", type=Path, help="for that, the folder of Multi30k, or the one that holds it")
    parser.add_argument("--text", default=TEXT)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "startup", help="OUT.json and OUT.md")
    given = parser.parse_args()
    if given.run is None:
        if given.data is None:
            parser.error("give --run RUN, or --data FOLDER to train one")
        given.run = run_for(find_data(given.data, "multi30k"))
    return given


def seconds(command: list[str]) -> float:
    """Return how long a command takes."""
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    """Measure and show."""
    given = arguments()
    warn_if_busy()
    entry = "from jumok.cli.main import main; main()"
    commands = {
        "import torch": [sys.executable, "-c", "import torch"],
        "jumok translate": [sys.executable, "-c", entry, "translate", str(given.run), given.text],
        "jumok --help": [sys.executable, "-c", entry, "--help"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(given.rounds + 1):
        for name in list(commands)[:: -1 if number % 2 else 1]:
            taken = seconds(commands[name])
            if number:
                times[name].append(taken)
                print(f"round {number}/{given.rounds} · {name:<16} · {taken:.2f} s", flush=True)
    over = [ours - torch for ours, torch in zip(times["jumok translate"], times["import torch"], strict=True)]
    facts = machine()
    lines = [
        "# Start-up", "",
        f"`{facts['command']}` at {facts['commit']}, {facts['when']}; {facts['processor']}, {facts['cores']} cores. Median (least–most) of {given.rounds} rounds.",
        "", "| process | seconds |", "| --- | --- |",
        *(f"| {name} | {median(found):.2f} ({min(found):.2f}–{max(found):.2f}) |" for name, found in times.items()), "",
        f"- the answer comes {median(over):.2f} s ({min(over):.2f}–{max(over):.2f}) after `import torch` alone would be done", "",
    ]  # fmt: skip
    given.out.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": facts, "seconds": times, "over_torch": spread(over)}
    given.out.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    given.out.with_suffix(".md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
