"""Two checkouts of jumok beside each other, in alternating rounds: did a change cost speed?

    python benchmarks/before_after.py --old FOLDER --data FOLDER/data [--rounds 3]

train        the recipe benchmarks/multi30k-tiny.toml for some steps: target tokens per second
translate    the shipped ko-en on val sentences of koen, on one thread: greedy and beam 5, all at once and one at a time,
             by processor time; two processes are asked in turn, so that a restless machine disturbs both alike
start        `jumok translate ko-en "…"`, from the command to its end: commands per second
Ratios are new ÷ old, above 1 where the new one is faster.
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

TRAIN = """
import json, sys, pathlib, torch
from jumok import api
recipe, data, out, steps = sys.argv[1:]
api.train(recipe, data=data, out=out, overrides=[f"training.steps={steps}", "training.evaluate_every=100000",
          "training.save_every=100000", "training.log_every=10", "training.probes=0", "training.evaluate_sentences=1"])
rows = [json.loads(line) for line in (pathlib.Path(out) / "metrics.jsonl").read_text().splitlines()]
rows = [row for row in rows if "loss" in row]
print((rows[-1]["target_tokens"] - rows[0]["target_tokens"]) / (rows[-1]["seconds"] - rows[0]["seconds"]))
"""

TRANSLATE = """
import pathlib, sys, time, torch, jumok
torch.set_num_threads(1)
translator = jumok.load("ko-en")
texts = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
options = {beam: translator.options.model_copy(update={"beam": beam, "workers": 1}) for beam in (1, 5)}
for asked in sys.stdin:
    beam, how = int(asked.split()[0]), asked.split()[1]
    calls = [[text] for text in texts[:8]] if how == "single" else [texts]
    started = time.process_time()
    for call in calls:
        translator.translate(call, options=options[beam])
    print(sum(map(len, calls)) / (time.process_time() - started), flush=True)
"""

START = """
import sys, subprocess, time
started = time.perf_counter()
subprocess.run([sys.executable, "-c", "from jumok.cli.main import main; main()", "translate", "ko-en", "넌 누구니?"],
               check=True, stdout=subprocess.DEVNULL)
print(1 / (time.perf_counter() - started))
"""


def python_of(checkout: Path) -> str:
    """Return a checkout's own Python, or this one."""
    python = checkout / ".venv" / "bin" / "python"
    return str(python if python.exists() else sys.executable)


def run(checkout: Path, code: str, *arguments: str) -> float:
    """Return the figure that code prints when it runs with a checkout's jumok."""
    done = subprocess.run(
        [python_of(checkout), "-P", "-c", code, *arguments],
        check=True, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(checkout)},
    )  # fmt: skip
    return float(done.stdout.split()[-1])


class Asked:
    """A process with a checkout's jumok that answers a question per line: fine turns, so that noise meets both alike."""

    def __init__(self, checkout: Path, code: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [python_of(checkout), "-P", "-c", code, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(checkout)},
        )  # fmt: skip

    def ask(self, question: str) -> float:
        """Return the figure that answers a question."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, required=True, help="a checkout of the version before, with its .venv")
    parser.add_argument("--new", type=Path, default=HERE.parent, help="a checkout of the version after; this one")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds multi30k and koen")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder) / "texts"
        with gzip.open(options.data / "koen" / "tatoeba.val.tsv.gz", "rt", encoding="utf-8") as table:
            lines = [line.rstrip("\n").split("\t")[1] for line in table]  # English, Korean
        texts.write_text("\n".join(lines[:200]), encoding="utf-8")
        recipe = str(HERE / "multi30k-tiny.toml")
        checkouts = {"old": options.old.resolve(), "new": options.new.resolve()}
        workers = {side: Asked(checkout, TRANSLATE, str(texts)) for side, checkout in checkouts.items()}
        asked = {  # part → how often each side is asked, and the question
            f"translate, {name}, {how}, sentences/s": (turns * options.rounds, f"{beam} {how}")
            for name, beam in (("greedy", 1), ("beam 5", 5))
            for how, turns in (("batch", 6), ("single", 20))
        }
        found: dict[str, dict[str, list[float]]] = {}
        for part, (turns, question) in asked.items():
            found[part] = {side: [] for side in checkouts}
            for number in range(turns + 1):
                for side in sorted(workers, reverse=bool(number % 2)):
                    figure = workers[side].ask(question)
                    if number:  # the first is a warm-up
                        found[part][side].append(figure)
        whole = {
            "train tiny, target tokens/s": lambda side, number: run(
                checkouts[side], TRAIN, recipe, str(options.data), f"{folder}/{side}-{number}", str(options.steps)
            ),
            "start, commands/s": lambda side, number: run(checkouts[side], START),
        }
        for part, measure in whole.items():
            found[part] = {side: [] for side in checkouts}
            for number in range(options.rounds):
                for side in sorted(checkouts, reverse=bool(number % 2)):
                    found[part][side].append(measure(side, number))
    for part, sides in found.items():
        middle = statistics.median(sides["new"]) / statistics.median(sides["old"])
        best = max(sides["new"]) / max(sides["old"])
        print(f"{part:<40} old {max(sides['old']):>10,.2f}  new {max(sides['new']):>10,.2f}  "
              f"ratio of medians {middle:.3f}, of the best {best:.3f}")  # fmt: skip
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
