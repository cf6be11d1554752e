"""Charts of forecasts: what is drawn is what was forecast, at its place, within the width."""

import numpy as np
import pytest
from PIL import Image
from rich.cells import cell_len

from jumok.lens.axes import date_ticks, round_ticks, tick_labels, value_range
from jumok.lens.forecast_chart import BLANK, ROWS, Canvas, draw_forecast
from jumok.lens.forecast_figure import MOST_PANELS, save_forecasts
from jumok.lens.forecast_svg import forecast_svg
from jumok.lens.forecast_view import ForecastView, date_labels

DAY = 86_400_000_000


def view(before=30, steps=12, targets=2, *, level=1.0, quantiles=(0.1, 0.5, 0.9), truth=False, **changes):
    """Return a forecast of straight lines: the past rises to level, the forecast stays there."""
    past = np.linspace(0.0, level, before)[:, None] * np.arange(1, targets + 1)
    point = np.full((steps, targets), level) * np.arange(1, targets + 1)
    settings = {
        "series": "s", "targets": [f"target {number}" for number in range(targets)], "date_kind": "date",
        "history_dates": np.arange(before) * DAY, "history": past, "dates": np.arange(before, before + steps) * DAY,
        "point": point, "quantiles": {one: point + (one - 0.5) * level for one in quantiles}, "ways": None,
        "likelihood": None, "truth": point - 0.1 if truth else None, "paths": False, "trained_steps": steps,
    }  # fmt: skip
    return ForecastView(**settings | changes)


def path_view():
    steps = np.arange(1.0, 13.0)
    ways = np.stack([np.stack([8 + steps, slope * steps], axis=1) for slope in (-0.5, 0.0, 0.5)])
    past = np.stack([np.arange(9.0), np.zeros(9)], axis=1)
    return view(
        9, 12, 2, quantiles=(), history=past, point=ways[1], ways=ways, likelihood=np.array([0.2, 0.5, 0.3]), paths=True,
        date_kind="number",
    )  # fmt: skip


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("shown", [view(), view(truth=True), view(3, 1, 1), view(300, 700, 1), path_view()])
def test_a_chart_is_no_wider_than_the_terminal(shown, width):
    for drawing in draw_forecast(shown):
        lines = drawing.fitted(width).plain.splitlines()
        assert cell_len(lines[0]) <= max(width, 72), "what the colours mean is told whole"
        assert max(map(cell_len, lines[1:])) <= width
        assert any(BLANK < ord(letter) < BLANK + 256 for line in lines for letter in line)


def test_lines_lie_where_their_values_are():
    first, second = draw_forecast(view(quantiles=()))
    lines = first.fitted(80).plain.splitlines()
    assert len(lines) == 1 + ROWS + 2
    assert lines[0].startswith("target 0")
    assert lines[1].rstrip()[-1] == "⠉", "the forecast stays at the greatest value, at the top"
    assert "●" in lines[1], "the last value is marked"
    column = lines[1].index("●")
    assert all(line[column] in "┊●⠁⠉⠈" or ord(line[column]) > BLANK for line in lines[1 : ROWS + 1])
    assert lines[-1].split() == ["1970-01-01", "1970-01-30", "1970-02-11"]
    assert second.fitted(80).plain.splitlines()[0].startswith("target 1")


def test_a_missing_value_breaks_the_line():
    canvas = Canvas(10, 2)
    canvas.line(np.arange(5.0), np.array([0.0, 0.0, np.nan, 0.0, 0.0]), 1)
    (first, _) = (line.plain for line in canvas.lines())
    assert first[:3] == "⠉⠈⠁"


def test_the_band_is_shaded_between_its_quantiles_only():
    lines = draw_forecast(view(60, 40, 1))[0].fitted(80).plain.splitlines()
    shaded = [number for number, line in enumerate(lines[1 : ROWS + 1]) if "░" in line]
    assert 5 <= max(shaded) - min(shaded) + 1 <= 7, "0.8 of 1.4 of ten lines"
    assert all(line.rindex("●" if "●" in line else "┊") < line.find("░") for line in lines[1:-2] if "░" in line)
    assert "10 % to 90 %" in lines[0]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([1.0, 3.0], (1.0, 3.0)), ([np.nan, 2.0], (1.9, 2.1)), ([0.0], (-1.0, 1.0)), ([np.nan, np.inf], (0.0, 1.0))],
)
def test_a_range_is_never_empty(values, wanted):
    assert value_range([np.array(values)]) == pytest.approx(wanted)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3e-7, 4e-7), (97.3, 104.9), (1e6, 1.0001e6), (-5, 1000), (3, 3.1)])
def test_ticks_are_round_few_and_inside(low, high):
    ticks = round_ticks(low, high, 5)
    assert 2 <= len(ticks) <= 5
    assert all(low <= tick <= high * (1 + 1e-12) for tick in ticks)
    labels = tick_labels(ticks)
    assert len(set(labels)) == len(labels)
    if abs(high) < 1e6 and high - low > 1e-4:
        assert [float(label.replace(",", "")) for label in labels] == pytest.approx(ticks)


def test_ticks_of_dates_begin_days_and_months():
    hours = date_labels(np.arange(5, 130) * DAY // 24, "date")
    assert list(date_ticks(hours, 4).values()) == ["1970-01-02", "1970-01-04", "1970-01-06"]
    days = date_labels(np.arange(3, 150) * DAY, "date")
    assert list(date_ticks(days, 5).values()) == ["1970-02-01", "1970-03-01", "1970-04-01", "1970-05-01"]
    assert list(date_ticks([str(number) for number in range(10)], 5)) == [0, 2, 4, 6, 8]
    assert date_ticks(["7"], 5) == {0: "7"}


@pytest.mark.parametrize(
    "dates", [["1970-01-01"], ["1970-01-01 12:00"], ["1970-01-01 12:00:05"], ["1970-01-01 12:00:05.25"]]
)
def test_labels_are_as_fine_as_they_must_be(dates):
    numbers = np.array(dates, dtype="datetime64[us]").astype(np.int64)
    assert date_labels(numbers, "date")[0].startswith(dates[0])
    assert date_labels(np.array([3, 40]), "row") == ["3", "40"]


def test_an_svg_has_a_line_and_a_band_and_escapes_names():
    shown = forecast_svg(view(series="<b>&", truth=True), 1)
    assert shown.count("<path") == 3
    assert shown.count("<polygon") == 1
    assert "&lt;b&gt;&amp; · target 1" in shown
    assert "<b>" not in shown
    assert forecast_svg(path_view(), 0).count("<path") == 5


@pytest.mark.parametrize(
    ("views", "left"),
    [([view()], 0), ([view(targets=1)] * (MOST_PANELS + 2), 2), ([path_view()], 0), ([view(truth=True)], 0)],
)
def test_a_png_shows_the_first_charts(views, left, tmp_path):
    assert save_forecasts(views, tmp_path / "f.png") == left
    with Image.open(tmp_path / "f.png") as image:
        assert image.width > 600
        assert len(image.convert("RGB").getcolors(1 << 24)) > 20
