"""Count the modules whose functions run on the two walks: a recipe trained, a sentence translated.

python tools/walks.py                                        this clone, this Python
python tools/walks.py --clone FOLDER --python FOLDER/.venv/bin/python   another clone, to compare

Both walks start at the command line, in a process of their own with an empty cache. A module counts when one of its
functions is called; importing it does not count, nor does what runs while a module is imported.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

WALKS = {
    "training": [
        "train", "dates-transformer", "--out", "run",
        "--set", "training.steps=2", "--set", "training.evaluate_sentences=4",
    ],
    "answering": ["translate", "ko-en", "넌 누구니?"],
}  # fmt: skip

MODEL = ("models", "native", "nn")  # the model itself: what it is made of differs from recipe to recipe

# Runs in the process that is watched, before jumok is imported; worker processes inherit it and append to the same file.
WATCH = """
import inspect, os, sys, threading
clone, log = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND)
package, known = os.path.join(clone, "jumok") + os.sep, set()

def being_imported(frame):
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False

def profile(frame, event, argument):
    code = frame.f_code
    file = code.co_filename
    if event != "call" or file in known or not file.startswith(package):
        return
    if code.co_flags & inspect.CO_OPTIMIZED and not being_imported(frame):  # a function, not a module's or class's body
        known.add(file)
        os.write(log, (file[len(package):] + "\\n").encode())

sys.path.insert(0, clone)
threading.setprofile(profile)
sys.setprofile(profile)
from jumok.cli.main import main
sys.argv = ["jumok", *sys.argv[3:]]
main()
"""


def modules_called(clone: Path, python: Path, command: list[str]) -> list[str]:
    """Return the files of jumok, relative to the package, whose functions a command calls."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "called"
        log.touch()
        environment = os.environ | {"JUMOK_CACHE": f"{folder}/cache", "JUMOK_DATA_HOME": f"{folder}/data"}
        done = subprocess.run(
            [python, "-P", "-c", WATCH, str(clone), str(log), *command],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"`jumok {' '.join(command)}` failed in {clone}:\n{done.stderr}")
        return sorted(set(log.read_text(encoding="utf-8").split()))


def main() -> None:
    """Print the modules of each walk and their number."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clone", type=Path, default=Path(__file__).parents[1], help="the clone whose jumok is run")
    parser.add_argument(
        "--python", type=Path, default=Path(sys.executable), help="the Python that has its dependencies"
    )
    options = parser.parse_args()
    for name, command in WALKS.items():
        modules = modules_called(options.clone.resolve(), options.python.absolute(), command)
        around = [module for module in modules if module.split("/")[0] not in MODEL]
        print(f"{name}: {len(modules)} modules, {len(around)} of them outside {', '.join(MODEL)}")
        print("  " + "\n  ".join(modules))


if __name__ == "__main__":
    main()
