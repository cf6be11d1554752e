"""`jumok look` at a forecaster: the terminal, JSON, PNG, a page, the film; and what it says to bad input."""

import json
import re

import numpy as np
import pytest
from cli.conftest import jumok, refusal
from predictors.series_runs import (  # noqa: F401 - fixtures
    HORIZON,
    LOOK_BACK,
    WIDE,
    shop_table,
    shops,
    shops_run,
    trained,
    wide_run,
    wide_table,
    write,
)

import jumok as library
from jumok.lens.film_page import make_film_page
from jumok.tasks.forecast_film import drawn_line, forecast_probes

AT = "2020-03-03 05:00"


@pytest.fixture(scope="module")
def steps_run(tmp_path_factory):
    """Return a run whose tokens are steps."""
    return trained(tmp_path_factory.mktemp("steps"), wide_table(), WIDE, tokens="steps", heads=4, layers=2)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write(tmp_path_factory.mktemp("table") / "hours.csv", wide_table(90))


def test_the_terminal_shows_where_a_step_looked(steps_run, table):
    done = jumok("look", steps_run, table, "--at", AT, "--step", 3, "--target", "load")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "2020-03-03 08:00, step 3 of 7: cross attention, mean of 2 layers, mean of 4 heads"
    assert "▲" in done.out
    found = library.load(steps_run).explain(table, at=AT).looked(3, target="load")
    label, weight = found.strongest(1)[0]
    assert f"{weight:.1%}  {label}" in done.out
    assert re.findall(r"(\S+)%  2020", done.out) == [f"{100 * one:.1f}" for _, one in found.strongest()]


def test_json_has_the_weights(steps_run, table):
    done = jumok("look", steps_run, table, "--at", AT, "--step", 2, "--layer", 2, "--head", 4, "--json")
    told = json.loads(done.out)
    forecast = json.loads(jumok("forecast", steps_run, table, "--at", AT, "--json").out)
    assert {key: told[key] for key in forecast} == forecast, "explaining changes no number"
    assert len(told["weights"]) == len(told["keys"]) == LOOK_BACK
    assert sum(told["weights"]) == pytest.approx(1, abs=1e-5)
    assert (told["keys"][-1], told["step"], told["target"]) == ("2020-03-03 05:00", 2, "heat")


def test_patches_say_why_and_show_what_changes(wide_run, table):  # noqa: F811
    done = jumok("look", wide_run, table, "--at", AT)
    assert "step 1 of 7: how heat changes without each stretch of the past" in done.out
    assert "Patches look at patches, and the head reads all of them" in done.out
    told = json.loads(jumok("look", wide_run, table, "--json").out)
    assert "truth" not in told, "nobody knows yet what comes after the table's end"
    changes = library.load(wide_run).explain(table).attention.occlusion.change
    assert told["weights"] == pytest.approx(changes[:, 0, 1].tolist())


def test_a_series_of_a_panel(shops_run, tmp_path):  # noqa: F811
    file = write(tmp_path / "shops.csv", shop_table(ahead=HORIZON))
    told = json.loads(jumok("look", shops_run, file, "--series", "east", "--json").out)
    assert told["series"] == "east"
    assert list(told["quantiles"]) == ["0.1", "0.25", "0.5", "0.75", "0.9"]
    assert refusal(jumok("look", shops_run, file)).startswith(
        "the table has 3 series, and one is looked at: --series NAME"
    )


def test_a_png_and_a_page_of_two_runs(steps_run, wide_run, table, tmp_path):  # noqa: F811
    pytest.importorskip("matplotlib")
    assert jumok("look", steps_run, table, "--png", tmp_path / "a.png").code == 0
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    done = jumok("look", steps_run, wide_run, table, "--at", AT, "--html", tmp_path / "a.html")
    assert f"page: {tmp_path / 'a.html'}" in done.out
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert '"tokens":"steps"' in text
    assert '"tokens":"patches"' in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--step", "8"], "--step 8: the forecast has 7"),
        (["--target", "cold"], "--target cold: the forecast has load, heat"),
        (["--layer", "3"], "--layer 3: there are 2"),
        (["--kind", "decoder"], "told by cross or occlusion; the page has all"),
        (["--at", "yesterday"], "--at yesterday: must be a date such as"),
        (["--words"], "of a table there are --at, --series, --step and --target"),
    ],
)
def test_bad_options_are_refused(steps_run, table, options, message):
    assert message in refusal(jumok("look", steps_run, table, *options))


def test_the_film_of_a_forecaster(steps_run, wide_run):  # noqa: F811
    film = library.open_film(steps_run)
    assert [frame.step for frame in film.frames] == [0, 8]
    for frame in film.frames:
        for shot in frame.shots:
            for one in shot.maps:
                assert one.kind == "cross"
                assert one.weights.shape == (4, HORIZON, LOOK_BACK)
                np.testing.assert_allclose(one.weights.sum(-1), 1, atol=2e-3)
            assert shot.maps[0].keys[-1] == "−1"
            assert shot.maps[0].queries[0] == "+1"
    done = jumok("look", steps_run, "--film")
    assert (done.code, "steps apart" in done.out) == (0, True)
    assert "the heading is the forecast" in make_film_page(film, name="run").html
    kept = library.open_film(wide_run).frames[-1].shots[0].maps[0]
    assert kept.weights.shape == (2, 2, 2), "patches of the last target"


def test_a_forecast_in_one_line():
    line, told = drawn_line(np.array([0.0, 7.0, np.nan, 3.5]), np.array([0.0, 7.0])).split("  ")
    assert (line, told) == ("▁█ ▅", "0 … 3.5")
    assert forecast_probes([], count=2) == []
