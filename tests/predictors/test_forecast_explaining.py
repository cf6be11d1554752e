"""Forecasts explained: the same numbers as without, maps whose rows sum to one, labels that fit, exact occlusion."""

import json

import numpy as np
import pytest
import torch
from lens.forecast_examples import HORIZON, LOOK_BACK, explained, forecaster, history_of, series_data
from torch.testing import assert_close

from jumok.data.series.scaling import Scaling
from jumok.data.series.windows import scaled
from jumok.errors import ConfigError
from jumok.inspection.observe import observe
from jumok.inspection.series_tokens import CONTEXT, patch_spans
from jumok.models.forecaster import PatchTokens
from jumok.predictors.forecast_explaining import occluded, stretches_of, without
from jumok.tasks.window_batches import batch_of

KINDS = ("steps", "patches", "variables")


def window(data, history):
    rows = np.full((1, data.look_back + data.horizon, history.shape[1]), np.nan)
    rows[0, : data.look_back] = history
    arrays = scaled(rows, np.zeros((1, 0)), data, Scaling.of(data))
    return batch_of(arrays), arrays.level


@pytest.mark.parametrize("tokens", KINDS)
def test_observed_equals_plain(tokens):
    data = series_data()
    model, (batch, _) = forecaster(tokens, data), window(data, history_of(2))
    with torch.no_grad():
        plain = model(batch)
        with observe(model):
            assert_close(model(batch), plain)
        assert_close(model(batch), plain, rtol=0, atol=0)


@pytest.mark.parametrize("tokens", KINDS)
@pytest.mark.parametrize("more", [{}, {"past": ["MULL"], "known": ["holiday"]}], ids=["targets", "more"])
def test_rows_sum_to_one_and_labels_fit(tokens, more):
    found = explained(tokens, **more)
    maps = [one for record in found.attention.records for one in record.maps]
    assert len(found.attention.records) == (2 if tokens == "patches" else 1)
    for one in maps:
        assert_close(one.weights.sum(-1), torch.ones(one.weights.shape[:-1]))
        queries, keys = found.attention.sides[one.kind]
        assert one.weights.shape == (3, len(queries.labels), len(keys.labels))
        assert (one.queries, one.keys) == (queries.labels, keys.labels)
        assert all(len(side.spans) == len(side.labels) for side in (queries, keys))
    kinds = [one.kind for one in maps]
    assert kinds == (
        ["cross"] * 2 + ["encoder"] * 2 + ["decoder"] * 2 if tokens == "steps" else ["encoder"] * len(maps)
    )
    assert (CONTEXT in maps[0].keys) == (tokens != "steps" and bool(more))


def test_a_variable_s_patches_are_those_of_its_own_row():
    data, found = series_data(), explained("patches")
    model, (batch, _) = forecaster("patches", data), window(data, history_of(2))
    alone, whole = batch.past.clone(), found.attention.records
    alone[..., 0] = 0.7  # the other target
    changed = type(batch)(
        alone, *(getattr(batch, name) for name in ("observed", "known", "static", "future", "future_observed"))
    )
    with torch.no_grad(), observe(model) as record:
        model(changed)
    assert_close(record.maps[0].weights[1], whole[1].maps[0].weights)
    assert not torch.allclose(record.maps[0].weights[0], whole[0].maps[0].weights)


@pytest.mark.parametrize(("look_back", "patch", "stride"), [(61, 13, 7), (23, 7, 3), (16, 16, 8), (17, 16, 8)])
def test_spans_of_patches_are_what_the_model_cuts(look_back, patch, stride):
    data = series_data(look_back=look_back)
    reader = forecaster("patches", data, patch=patch, stride=stride).reader
    assert isinstance(reader, PatchTokens)
    cut = reader.patches(torch.arange(float(look_back))[None, :, None])[0, 0]  # (N, patch)
    spans = patch_spans(look_back, patch=patch, stride=stride)
    assert [(max(first, 0), last - 1) for first, last in spans] == [(int(one.min()), int(one.max())) for one in cut]


def test_feeding_back_keeps_the_maps_of_all_steps():
    found = explained("steps", feedback=True)
    cross = found.attention.records[0].of_kind("cross")
    assert [one.weights.shape for one in cross] == [(3, HORIZON, LOOK_BACK)] * 2


@pytest.mark.parametrize("tokens", KINDS)
def test_occlusion_is_the_forecast_with_those_values_missing(tokens):
    data, history = series_data(), history_of(2)
    model, (batch, level) = forecaster(tokens, data), window(data, history)
    spans = [(-9, 0), (LOOK_BACK, LOOK_BACK + 5), (11, 29)]
    change = occluded(model, batch, level, Scaling.of(data), spans).change
    assert_close(
        change[:2], torch.zeros(2, HORIZON, 2, dtype=torch.float64), rtol=0, atol=0, msg="outside the look-back"
    )
    history[11:29] = np.nan
    with torch.no_grad():
        missing = model.head.point(model(window(data, history)[0]))
        plain = model.head.point(model(batch))
    expected = Scaling.of(data).undo(missing, level) - Scaling.of(data).undo(plain, level)
    assert_close(change[2], torch.from_numpy(expected[0]), rtol=1e-4, atol=1e-4)
    assert change[2].abs().max() > 0.01


def test_occlusion_leaves_the_batch_as_it_was():
    data = series_data()
    batch, _ = window(data, history_of(2))
    kept = batch.past.clone()
    many = without(batch, [None, (0, 3)])
    assert_close(many.past[0], kept[0])
    assert not many.observed[1, :3].any()
    assert many.observed[1, 3:].all()
    assert_close(batch.past, kept)


@pytest.mark.parametrize(("look_back", "steps"), [(61, 7), (8, 3), (5, 5), (512, 8), (4, 9)])
def test_stretches_cover_the_past_once(look_back, steps):
    spans = stretches_of(look_back, steps)
    assert [step for first, last in spans for step in range(first, last)] == list(range(look_back))


def test_a_step_is_looked_up_by_name_layer_and_head():
    found = explained("steps")
    cross = found.attention.records[0].of_kind("cross")
    looked = found.looked(4, layer=2, head=3)
    assert_close(looked.weights, cross[1].weights[2, 3])
    assert looked.strongest(1)[0][1] == pytest.approx(float(looked.weights.max()))
    assert looked.keys.labels == tuple(found.forecast.history_labels)
    without_stretch = found.looked(4, kind="occlusion", target="HULL")
    assert_close(without_stretch.weights, found.attention.occlusion.change[:, 3, 0])
    assert explained("patches").looked(1).keys.name == "stretches", "patches do not tell where a step looks"
    told = json.loads(json.dumps(found.to_dict()))
    assert told["point"]["OT"] == pytest.approx(found.forecast.point[:, 1].tolist(), rel=1e-6)
    for asked, message in [
        ({"step": 12}, "--step 12: the forecast has 11"),
        ({"step": 1, "target": "XX"}, "--target XX: the forecast has HULL, OT"),
        ({"step": 1, "kind": "encoder"}, "told by cross or occlusion"),
        ({"step": 1, "layer": 3}, "--layer 3: there are 2"),
        ({"step": 1, "kind": "occlusion", "head": 1}, "leave out --kind occlusion"),
    ]:
        with pytest.raises(ConfigError, match=message):
            found.looked(**asked)
    with pytest.raises(ConfigError, match="occlusion alone: Patches look at patches"):
        explained("patches").looked(1, layer=1)


def test_steps_that_look_alike_are_told():
    assert not explained("steps").warnings
    data = series_data()
    model = forecaster("steps", data)
    with torch.no_grad():
        places = torch.arange(data.look_back, data.look_back + data.horizon)
        model.reader.queries[:] = model.reader.queries[:1] - model.reader.positions.encode(places)
    found = explained("steps", model=model)
    assert "look at nearly the same places" in found.warnings[0]
    assert not explained("patches").warnings


def test_a_short_history_is_missing_where_it_has_no_steps():
    found = explained("steps", steps_known=40)
    view = found.forecast
    assert len(view.history) == len(view.history_labels) == LOOK_BACK
    assert np.isnan(view.history[: LOOK_BACK - 40]).all()
    assert np.diff(view.history_dates).tolist() == [view.history_dates[-1] - view.history_dates[-2]] * (LOOK_BACK - 1)


@pytest.mark.parametrize("colour", [True, False])
def test_the_terminal_has_a_strip_that_is_dark_where_it_looked(colour):
    found = explained("steps")
    looked = found.looked(3)
    lines = found.draw(looked, colour=colour).fitted(100).plain.rstrip("\n").splitlines()
    assert all(len(line) <= 100 for line in lines)
    axis, strip = next(line for line in lines if "└" in line), lines[-1]
    first, columns = axis.index("└") + 1, axis.count("─")
    strongest = int(looked.weights.argmax()) / (LOOK_BACK + HORIZON - 1) * (2 * columns - 1) // 2
    assert strip[first + round(strongest)] == "█"
    assert strip[first + round((LOOK_BACK + 2) / (LOOK_BACK + HORIZON - 1) * (2 * columns - 1)) // 2] == "▲"
    assert "█" in found.draw(looked, colour=False).plain, "in a pipe, too"


def test_figures_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    for number, found in enumerate(
        [explained("variables", head="student-t"), explained("steps", paths=True, head="mixture", ways=3)]
    ):
        found.save_png(found.looked(2), tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").read_bytes()[:4] == b"\x89PNG"
        assert found.draw(found.looked(2)).plain
