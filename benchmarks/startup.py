"""How long a person waits for the first answer, beside `import torch` alone.

    python benchmarks/startup.py --run RUN | --data MULTI30K

Whole processes in alternating rounds; one warm-up round is not counted, so that files lie in the system's memory. With an empty
cache, as at the very first use, the kernels are compiled on the way.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from contest import HERE, find_data, machine, spread, warn_if_busy
from trained import run_for

TEXT = "A man is sleeping."
TRANSLATE, EMPTY = "jumok translate", "jumok translate, empty cache"


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


def seconds(command: list[str], *, empty: bool) -> float:
    """Return how long a command takes, with the cache as it is or with an empty one."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | ({"JUMOK_CACHE": cache} if empty else {})
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        return time.perf_counter() - started


def main() -> None:
    """Measure and show."""
    given = arguments()
    warn_if_busy()
    entry = "from jumok.cli.main import main; main()"
    translate = [sys.executable, "-c", entry, "translate", str(given.run), given.text]
    commands = {
        "import torch": [sys.executable, "-c", "import torch"],
        TRANSLATE: translate,
        EMPTY: translate,
        "jumok --help": [sys.executable, "-c", entry, "--help"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(given.rounds + 1):
        for name in list(commands)[:: -1 if number % 2 else 1]:
            taken = seconds(commands[name], empty=name == EMPTY)
            if number:
                times[name].append(taken)
                print(f"round {number}/{given.rounds} · {name:<28} · {taken:.2f} s", flush=True)
    over = [ours - torch for ours, torch in zip(times[TRANSLATE], times["import torch"], strict=True)]
    first = [empty - known for empty, known in zip(times[EMPTY], times[TRANSLATE], strict=True)]
    facts = machine()
    lines = [
        "# Start-up", "",
        f"`{facts['command']}` at {facts['commit']}, {facts['when']}; {facts['processor']}, {facts['cores']} cores. Median (least–most) of {given.rounds} rounds.",
        "", "| process | seconds |", "| --- | --- |",
        *(f"| {name} | {median(found):.2f} ({min(found):.2f}–{max(found):.2f}) |" for name, found in times.items()), "",
        f"- the answer comes {median(over):.2f} s ({min(over):.2f}–{max(over):.2f}) after `import torch` alone would be done",
        f"- the very first one, with an empty cache, {median(first):.2f} s ({min(first):.2f}–{max(first):.2f}) later", "",
    ]  # fmt: skip
    given.out.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": facts, "seconds": times, "over_torch": spread(over), "first_use": spread(first)}
    given.out.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    given.out.with_suffix(".md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
