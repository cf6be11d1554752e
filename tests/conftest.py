"""Settings of the whole suite."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

os.environ["OMP_NUM_THREADS"] = "1"  # tiny tensors: a second thread costs more than it gives, and xdist uses both cores
os.environ["OMP_WAIT_POLICY"] = (
    "passive"  # where a test takes two: a thread that waits leaves its core to the other worker
)
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["JUMOK_LANG"] = "en"  # whatever the machine speaks


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory) -> None:
    """Keep the tests out of the user's cache and data; the workers of xdist share a cache."""
    from jumok.native import build

    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    os.environ["JUMOK_CACHE"] = str(root / "cache")
    os.environ["JUMOK_DATA_HOME"] = str(tmp_path_factory.mktemp("home") / "data")
    os.environ.pop("JUMOK_DATA", None)
    build.state.cache_clear()  # compiled into this cache now, not by the first process that a test starts and perhaps kills
    build.state()


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Do not write the cache through to the disk; tests/test_cache.py does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jumok.cache._synced", lambda path: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def short_measurements() -> Iterator[None]:
    """Time steps for a moment, not for seconds; seek the constant caption among few; leave out METEOR's Java program.

    tests/training/test_trial.py takes the time that a trial needs, and tests/evaluation/test_meteor.py asks METEOR.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jumok.training.trial.LONGEST", 0.02)
        patch.setattr("jumok.evaluation.caption_floors.CANDIDATES", 5)
        patch.setattr("jumok.predictors.captioner.can_run_meteor", lambda: False)
        yield


@pytest.fixture(autouse=True, scope="session")
def answers_in_fp32() -> Iterator[None]:
    """Answer in fp32 where nobody asks for anything else, as on a processor without products in bf16."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jumok.training.precision.ANSWERS_AS_WELL", frozenset())
        yield


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    """Return what sets the umask for one test."""
    before = os.umask(0o022)
    os.umask(before)
    yield os.umask
    os.umask(before)


@pytest.fixture(scope="session")
def codes_run(tmp_path_factory) -> Path:
    """Image codes of built-in scenes: 4 × 4 codes of 32 pixels (tests/drawing_runs.py). Not to be changed."""
    from drawing_runs import CODES_RECIPE, train_once

    return train_once(tmp_path_factory, "codes", CODES_RECIPE)


@pytest.fixture(scope="session")
def drawer_run(tmp_path_factory, codes_run) -> Path:
    """A drawer of built-in scenes in these codes: it knows the words, not how to draw. Not to be changed."""
    from drawing_runs import DRAWER_RECIPE, train_once

    return train_once(tmp_path_factory, "drawer", DRAWER_RECIPE, **{"model.codes": str(codes_run)})
