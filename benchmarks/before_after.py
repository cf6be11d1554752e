"""Two checkouts of jumok beside each other, in alternating rounds: did a change cost speed?

    python benchmarks/before_after.py --old FOLDER --data FOLDER/data [--rounds 3]

train        the recipe benchmarks/multi30k-tiny.toml for some steps: target tokens per second
translate    the shipped ko-en on val sentences of koen: greedy and beam 5, all at once and one at a time
start        `jumok translate ko-en "…"`, from the command to its end: seconds
Ratios are new ÷ old, above 1 where the new one is faster; the median of the rounds, with their range.
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
import sys, time, pathlib, jumok
texts = pathlib.Path(sys.argv[1]).read_text().splitlines()
beam, one_by_one = int(sys.argv[2]), sys.argv[3] == "single"
translator = jumok.load("ko-en")
translator.translate(texts[:3], beam=beam)
started = time.perf_counter()
if one_by_one:
    for text in texts:
        translator.translate([text], beam=beam)
else:
    translator.translate(texts, beam=beam)
print(len(texts) / (time.perf_counter() - started))
"""

START = """
import sys, subprocess, time
started = time.perf_counter()
subprocess.run([sys.executable, "-c", "from jumok.cli.main import main; main()", "translate", "ko-en", "넌 누구니?"],
               check=True, stdout=subprocess.DEVNULL)
print(1 / (time.perf_counter() - started))
"""


def run(checkout: Path, code: str, *arguments: str) -> float:
    """Return the figure that code prints when it runs with a checkout's jumok."""
    python = checkout / ".venv" / "bin" / "python"
    done = subprocess.run(
        [str(python if python.exists() else sys.executable), "-P", "-c", code, *arguments],
        check=True, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(checkout)},
    )  # fmt: skip
    return float(done.stdout.split()[-1])


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
        texts.write_text("\n".join(lines[:300]), encoding="utf-8")
        few = Path(folder) / "few"
        few.write_text("\n".join(lines[:200]), encoding="utf-8")
        recipe = str(HERE / "multi30k-tiny.toml")
        parts = {
            "train tiny, target tokens/s": lambda checkout, number: run(
                checkout, TRAIN, recipe, str(options.data), f"{folder}/{checkout.name}-{number}", str(options.steps)
            ),
            **{
                f"translate, {name}, {how}, sentences/s": lambda checkout, number, beam=beam, how=how, file=file: run(
                    checkout, TRANSLATE, str(file), beam, how
                )
                for name, beam in (("greedy", "1"), ("beam 5", "5"))
                for how, file in (("batch", texts), ("single", few))
            },
            "start, commands/s": lambda checkout, number: run(checkout, START),
        }
        found: dict[str, dict[str, list[float]]] = {part: {"old": [], "new": []} for part in parts}
        for number in range(options.rounds):
            for part, measure in parts.items():
                sides = [("old", options.old), ("new", options.new)]
                for side, checkout in sides if number % 2 == 0 else reversed(sides):
                    found[part][side].append(measure(checkout.resolve(), number))
    for part, sides in found.items():
        ratios = [new / old for old, new in zip(sides["old"], sides["new"], strict=True)]
        middle, low, high = statistics.median(ratios), min(ratios), max(ratios)
        best = max(sides["new"]) / max(sides["old"])
        print(f"{part:<44} old {max(sides['old']):>10,.2f}  new {max(sides['new']):>10,.2f}  "
              f"ratio {middle:.3f} ({low:.3f}-{high:.3f}), best against best {best:.3f}")  # fmt: skip
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
