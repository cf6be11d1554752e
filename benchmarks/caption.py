"""Describe images with a run, timed: python caption.py JOB.json

how = cached   the val images' feature maps lie in the cache, as `jumok evaluate` finds them: search alone
      files    image files are decoded, seen by the encoder and described, as `jumok caption` does it
"""

import time
from pathlib import Path
from types import SimpleNamespace

from stopwatch import read_job, write_result

import jumok
from jumok.predictors.captioner import CaptionWriter
from jumok.runs.loading import add_data_folder


def main() -> None:
    """Do the job."""
    job = read_job()
    captioner = jumok.load(job["run"], CaptionWriter)
    add_data_folder(captioner, job["data"])
    options = captioner.options.changed({"beam": job["beam"], "workers": job["processes"]})
    files = sorted(map(str, Path(job["images"]).iterdir()))
    store = next(iter(captioner.task.open_split("val").values()))
    captioner.caption(files[:8], options=options)
    started = time.perf_counter()
    written = captioner.write(store, options) if job["how"] == "cached" else captioner.caption(files, options=options)
    seconds, count = time.perf_counter() - started, len(written)
    assert None not in written
    watch = SimpleNamespace(
        steps=count, pairs=count, tokens=count, cells=count, computing=seconds, began=started, ended=started + seconds
    )
    write_result(job, watch, model=captioner.model, version=jumok.__version__)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
