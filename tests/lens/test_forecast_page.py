"""The page of a forecast as a file: what is in it equals the record, in blocks where there is much, nothing from outside."""

import re

import numpy as np
import pytest
import torch
from lens.forecast_examples import HORIZON, LOOK_BACK, explained
from lens.test_html import check_joined, read
from torch.testing import assert_close

import jumok
from jumok.inspection.record import AttentionMap
from jumok.inspection.series_tokens import step_tokens
from jumok.lens.forecast_look import ForecastLook
from jumok.lens.forecast_page import MOST_TOKENS, in_blocks, make_forecast_page
from jumok.lens.forecast_view import DAY, ForecastView


@pytest.mark.parametrize("tokens", ["steps", "patches", "variables"])
def test_the_numbers_are_the_record_s_own(tokens):
    found = explained(tokens, head="quantiles")
    data, arrays = read(found.page())
    (run,) = data["runs"]
    view = found.forecast
    assert run["tokens"] == tokens
    assert (run["dates"], run["ahead"]) == (view.history_labels, view.labels)
    assert_close(arrays[run["history"]], torch.from_numpy(view.history).float())
    assert_close(arrays[run["point"]], torch.from_numpy(view.point).float())
    assert_close(arrays[run["quantiles"]][0], torch.from_numpy(view.quantiles[0.1]).float())
    told = [one for one in run["maps"] if one["kind"] != "occlusion"]
    maps = [(target, one) for target, record in enumerate(found.attention.records) for one in record.maps]
    for described, (target, one) in zip(told, maps, strict=True):
        assert arrays[described["weights"]].equal(one.weights)
        assert described["target"] == (target if tokens == "patches" else None)
        keys = run["sides"][described["keys"]]
        assert len(keys["labels"]) == len(keys["spans"]) == one.weights.shape[-1]
    changes = [one for one in run["maps"] if one["kind"] == "occlusion"]
    assert [one["target"] for one in changes] == [0, 1]
    assert_close(arrays[changes[1]["weights"]][0].T, found.attention.occlusion.change[..., 1].float())
    assert run["marks"] == {"day": 24, "week": 168}


def test_steps_of_the_forecast_follow_those_of_the_past():
    (run,) = read(explained("steps").page())[0]["runs"]
    cross = next(one for one in run["maps"] if one["kind"] == "cross")
    assert run["sides"][cross["queries"]]["spans"] == [[LOOK_BACK + n, LOOK_BACK + n + 1] for n in range(HORIZON)]
    assert run["sides"][cross["keys"]]["spans"][-1] == [LOOK_BACK - 1, LOOK_BACK]


@pytest.mark.parametrize("first", [0, 512])
def test_many_steps_that_look_at_each_other_are_shown_in_blocks(first):
    count = 3 * MOST_TOKENS - 1
    side = step_tokens("past", [str(n) for n in range(count)], first=first)
    found = AttentionMap("", "encoder", 0, torch.rand(2, count, count).softmax(-1), side.labels, side.labels)
    merged, queries, keys = in_blocks(found, side, side)
    assert merged.weights.shape == (2, MOST_TOKENS, MOST_TOKENS)
    assert queries == keys
    assert keys.spans[0] == (first, first + 3)
    assert keys.spans[-1] == (first + count - 2, first + count)
    assert keys.labels[0] == "0 – 2"
    assert_close(merged.weights.sum(-1), torch.ones(2, MOST_TOKENS))
    assert_close(merged.weights[1, 4, 7], found.weights[1, 12:15, 21:24].sum(-1).mean())
    other = step_tokens("forecast", ["a", "b"], first=count)
    wide = AttentionMap("", "cross", 0, torch.rand(2, 2, count))
    assert in_blocks(wide, other, side)[0] is wide, "where the forecast looks stays exact"


def test_a_forecast_without_attention_has_a_page():
    view = explained("steps").forecast
    (run,) = read(make_forecast_page([ForecastLook("run", view)]))[0]["runs"]
    assert (run["maps"], run["tokens"], run["warnings"]) == ([], "", [])
    two = read(make_forecast_page([ForecastLook("run", view), ForecastLook("other", view)]))[0]["runs"]
    assert [one["name"] for one in two] == ["run", "other"]


@pytest.mark.parametrize(
    ("step", "kind", "season", "marks"),
    [
        (DAY // 24, "date", 24, {"day": 24, "week": 168}),
        (DAY, "date", 7, {"week": 7}),
        (DAY, "date", 30, {"week": 7, "season": 30}),
        (30 * DAY, "date", 12, {"season": 12}),
        (1, "row", 5, {"season": 5}),
        (1, "row", 0, {}),
    ],
)
def test_marks_of_days_weeks_and_seasons(step, kind, season, marks):
    facts = vars(explained("steps").forecast) | {"history_dates": step * np.arange(60), "date_kind": kind}
    view = ForecastView(**{name: facts[name] for name in ForecastView.__dataclass_fields__})
    assert ForecastLook("", view, season=season).marks == marks


def test_a_week_of_trading_days_has_five():
    days = [day for day in range(120) if day % 7 < 5]
    facts = vars(explained("steps").forecast) | {"history_dates": DAY * np.array(days)}
    view = ForecastView(**{name: facts[name] for name in ForecastView.__dataclass_fields__})
    assert ForecastLook("", view, season=5).marks == {"week": 5}


def test_nothing_is_loaded_from_outside_and_text_stays_text():
    made = explained("steps", name="</title><script>").page()
    assert set(re.findall(r"https?://[^\s\"'<]+", made.html)) <= {"http://www.w3.org/2000/svg"}
    assert "{{" not in made.html
    assert made.html.count("</script>") == explained("steps").page().html.count("</script>")
    check_joined("forecast")
    assert jumok.show(explained("patches")) == explained("patches").page()
