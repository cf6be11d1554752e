"""The page of a drawing as a file: what is in it equals the record, nothing is loaded from outside."""

import re

import pytest
from lens.drawing_examples import NUMBERS, TEXT, TOKENS, drawing
from lens.test_html import check_joined, read
from torch.testing import assert_close

import jumok
from jumok.inspection.data_url import from_data_url
from jumok.lens.drawing_page import make_drawing_page


def test_the_numbers_are_the_records_own():
    found = drawing(guidance=3.0)
    data, arrays = read(found.page())
    (run,) = data["runs"]
    for told, one in zip(run["maps"], found.record.maps, strict=True):
        assert arrays[told["weights"]].equal(one.weights)
    cells, keys = run["sides"]
    assert cells["labels"][:6] == ["1,1", "1,2", "1,3", "1,4", "1,5", "2,1"]
    assert keys["labels"][: len(TOKENS) + 2] == [*TOKENS, "[BEGIN]", "1,1"]
    assert keys["words"] == [*NUMBERS, *range(6, 21)]
    assert (run["tokens"], run["guidance"], run["given"]) == (len(TOKENS), 3.0, False)
    assert run["grids"] == {"decoder": {"rows": 3, "columns": 5, "block": 1}}
    assert [int(one["token"]) for one in run["choices"]] == found.codes.flatten().tolist()
    assert [one["probability"] for one in run["choices"]] == found.probabilities.flatten().tolist()
    assert run["choices"][0]["rivals"][0] == ["61", 0.05]
    assert (from_data_url(run["image"]) == found.pixels).all()
    assert data["words"] is True


def test_a_fine_grid_is_rounded_and_stays_small():
    found = drawing(layers=4, heads=4, grid=(16, 16))
    page = found.page()
    data, arrays = read(page)
    weights = arrays[data["runs"][0]["maps"][2]["weights"]].float()
    assert_close(weights, found.record.maps[2].weights, atol=1e-3, rtol=0)
    assert len(page.html) < 2_500_000


def test_nothing_is_loaded_from_outside_and_text_stays_text():
    made = make_drawing_page([drawing(), drawing(seed=2)])
    assert set(re.findall(r"https?://[^\s\"'<]+", made.html)) <= {"http://www.w3.org/2000/svg"}
    assert "{{" not in made.html
    check_joined("drawing")
    check_joined("drawing_film")
    assert f"<title>{TEXT} · jumok</title>" in made.html


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_both_languages(lang):
    assert f'<html lang="{lang}">' in drawing().page(lang=lang).html
    assert read(drawing().page())[0]["texts"]["ko"]["earlier cells"] == "앞 칸"
    assert jumok.show(drawing()) == drawing().page()
