"""The whole campaign: `python -m campaign`, or `make campaign`.

python -m campaign                          all of it, into benchmarks/results/campaign.md
python -m campaign --share 0.05             a twentieth
python -m campaign pairs --seed 1 --only 7  what happens to one case, with its traceback
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path


def main() -> int:
    """Run the campaign; return 1 where something failed."""
    parser = argparse.ArgumentParser(prog="python -m campaign", description="Mutated files, kills and full disks.")
    parser.add_argument(
        "target", nargs="*", help="kinds of files to mutate; all, and kills and disks, where none is named"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="share of the cases")
    parser.add_argument("--only", type=int, help="the number of one case of one target")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--out", type=Path, help="where the table is saved")
    parser.add_argument("--failures", type=Path, help="where failures are listed, a line each")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        os.environ.pop("JUMOK_DATA", None)
        os.environ |= {"JUMOK_CACHE": f"{folder}/cache", "JUMOK_DATA_HOME": f"{folder}/data", "JUMOK_LANG": "en"}
        os.environ |= {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}  # children are forks
        from campaign.campaign import show_case, whole

        if given.only is not None:
            return show_case(given.target[0], Path(folder), seed=given.seed, index=given.only)
        return whole(
            given.target, Path(folder), seed=given.seed, share=given.share, jobs=given.jobs, out=given.out, failures=given.failures
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
