"""Films of forecasters: the run stays what it was, and a frame is what `explain` shows."""

import pytest
from predictors.series_runs import BRIEF, SMALL, WIDE, wide_table, write
from torch.testing import assert_close

import jumok


@pytest.fixture
def train(tmp_path):
    """Return what trains a small forecaster for a few steps, into a folder of a name."""
    write(tmp_path / "table.csv", wide_table())

    def go(name, tokens, **training):
        model = SMALL | {"tokens": tokens, "dropout": 0.1}
        recipe = {"task": "forecasting", "data": {"train": "table.csv", **WIDE}, "model": model}
        recipe["training"] = BRIEF | {"evaluate_every": 3} | training
        return jumok.train(recipe, data=tmp_path, out=tmp_path / name, quiet=True)

    return go


@pytest.mark.parametrize("tokens", ["steps", "patches", "variables"])
def test_a_filmed_run_is_the_run_that_was_not(train, assert_same_run, tokens):
    filmed, unseen = train("filmed", tokens), train("unseen", tokens, probes=0)
    assert_same_run(filmed, unseen)
    assert [frame.step for frame in jumok.open_film(filmed).frames] == [0, 3, 6, 8]
    assert not (unseen / "film").exists()
    with pytest.raises(jumok.errors.RunError, match=r"has no film \(training\.probes = 0\): train with"):
        jumok.open_film(unseen)


@pytest.mark.parametrize("tokens", ["steps", "patches", "variables"])
def test_a_frame_is_what_explain_shows(train, tmp_path, tokens):
    run = train("run", tokens)
    forecaster, shot = (
        jumok.load(run, jumok.SeriesForecaster, checkpoint="last"),
        jumok.open_film(run).frames[-1].shots[-1],
    )
    row = int(shot.source.split(" · ")[-1]) - 1  # of the first step that is forecast
    hours = wide_table()["hour"]
    found = forecaster.explain(tmp_path / "table.csv", at=hours[row - 1].replace("T", " ") + ":00")
    kind = shot.maps[0].kind
    for ours, theirs in zip(shot.maps, found.attention.record_of(1).of_kind(kind), strict=True):
        assert_close(ours.weights, theirs.weights, rtol=0, atol=2e-3)
    assert shot.translation.endswith(f"{found.forecast.point[0, 1]:.4g} … {found.forecast.point[-1, 1]:.4g}")
