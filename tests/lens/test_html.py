"""The page as a file: what is in it equals the record, nothing is loaded from outside, and it stays small."""

import base64
import html
import json
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch
from cli.conftest import copy_run  # noqa: F401 - a fixture
from torch import nn
from torch.testing import assert_close

import jumok
from jumok.errors import ConfigError, DataError
from jumok.inspection.observe import observe
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.lens import html as page_of_words
from jumok.lens.html import PAGE_FILES, bits_for, bundle_modules, make_page
from jumok.lens.layers import count_numbers, shown_layers
from jumok.lens.packing import Packing
from jumok.lens.view import Side, View
from jumok.models.transformer import Transformer
from jumok.nn.batch import PairBatch

TEXT = "k c a z"


@pytest.fixture(scope="module")
def explanation(copy_run):  # noqa: F811
    return jumok.load(copy_run).explain(TEXT, details=True)


def read(page):
    """Return the JSON of a page and its arrays, as the browser has them."""
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.html, re.DOTALL)[1])
    return data, unpacked(data["arrays"], re.search(r'id="numbers">(.*?)</script>', page.html, re.DOTALL)[1])


def unpacked(places, text):
    """Return the arrays of a packing."""
    packed = base64.b85decode(text.translate(str.maketrans(",.:[", "<{(&")))
    whole, arrays = np.frombuffer(zlib.decompress(packed), dtype="u1"), []
    for place in places:
        kind, size = np.dtype(place["type"]), int(np.prod(place["shape"]))
        planes = whole[place["start"] : place["start"] + size * kind.itemsize].reshape(kind.itemsize, size)
        numbers = np.ascontiguousarray(planes.T).view(kind).reshape(place["shape"])
        arrays.append(torch.tensor(numbers * place["scale"] if "scale" in place else numbers.copy()))
    return arrays


def test_what_is_in_the_page_equals_the_record(explanation):
    data, arrays = read(explanation.page())
    (run,) = data["runs"]
    assert (run["source"], run["answer"]) == (TEXT, TEXT)
    for told, found in zip(run["maps"], explanation.record.maps, strict=True):
        assert (told["path"], told["kind"], told["layer"]) == (found.path, found.kind, found.layer)
        assert arrays[told["weights"]].equal(found.weights), "weights are exact"
        assert run["sides"][told["queries"]]["labels"] == list(found.queries)
        assert run["sides"][told["keys"]]["labels"] == list(found.keys)
        for name in ("query", "key", "value", "output"):
            exact = getattr(found.details, name)
            assert_close(arrays[told["details"][name]].float(), exact, rtol=0, atol=float(exact.abs().max()) / 65000)
        assert told["details"]["scale"] == found.details.scale
        if found.details.mask is not None:
            assert arrays[told["details"]["mask"]].bool().equal(found.details.mask)
    for told, choice in zip(run["choices"], explanation.choices, strict=True):
        assert (told["token"], told["probability"]) == (choice.token, choice.probability)
        assert [tuple(rival) for rival in told["rivals"]] == list(choice.rivals)
    assert run["answers"][0] == {"text": TEXT, "score": explanation.answer.score}
    for told, table in zip(run["positions"], explanation.record.positions, strict=True):
        assert told["labels"] == list(table.labels)
        assert len(arrays[told["table"]]) == 64, "however short the sentence"
        assert_close(arrays[told["table"]].float(), table.table, rtol=0, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_numbers_are_packed_in_any_size(dtype):
    packing = Packing()
    for array in (torch.zeros(2, 3), torch.zeros(0, 5), torch.randn(3, 1, 4, dtype=dtype), torch.full((7,), -1e30)):
        packing.exact(array)
        packing.rounded(array)
    assert [place["shape"] for place in packing.places[::2]] == [(2, 3), (0, 5), (3, 1, 4), (7,)]
    assert packing.text().isascii()


def test_fewer_bits_are_right_to_half_a_level_and_shorter():
    array, sizes = torch.randn(50, 40, generator=torch.Generator().manual_seed(1)), {}
    for bits in (11, 16):
        packing = Packing()
        packing.rounded(array, bits)
        found = unpacked(packing.places, packing.text())[0]
        level = float(array.abs().max()) / (2 ** (bits - 1) - 1)
        assert level / 10 < float((found - array).abs().max()) <= 0.501 * level
        sizes[bits] = len(packing.text())
    assert sizes[11] < 0.8 * sizes[16]


def test_many_vectors_get_fewer_bits(explanation, monkeypatch):
    view = explanation.view("run")
    numbers = count_numbers(view.record.maps, shown_layers(view.record))
    numbers += sum(table.table.numel() for table in view.record.positions)
    weights = sum(found.weights.numel() for found in view.record.maps)
    assert bits_for([view]) == 16
    assert bits_for([replace(view, record=AttentionRecord([]))]) == 16
    whole = len(explanation.page().html)
    monkeypatch.setattr(page_of_words, "ROOM", numbers * 13 // 8 + 1 + 4 * weights)
    assert bits_for([view]) == 13
    assert bits_for([view, view]) == 9
    assert len(explanation.page().html) < whole


def test_nothing_is_loaded_from_outside(explanation):
    text = explanation.page().html
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", re.sub(r"srcdoc=.*", "", text))
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "@import" not in text
    assert "url(" not in text


def test_every_module_is_joined_behind_those_it_needs():
    used = [
        module
        for entry in (
            "text",
            "film",
            "image",
            "caption",
            "caption_film",
            "forecast",
            "drawing",
            "drawing_film",
            "codes",
            "drawn",
        )
        for module in check_joined(entry)
    ]
    assert set(used) == {path.stem for path in PAGE_FILES.glob("*.js")}, "a module that nobody imports"


def check_joined(entry):
    """Return the modules of a script in their order, each behind those it needs."""
    script = bundle_modules(entry)
    assert "</script" not in script
    assert not re.findall(r"^\s*(?:import|export) ", script, re.MULTILINE), "an import or export of another form"
    order = re.findall(r"^const (\w+)Module = ", script, re.MULTILINE)
    for name in order:
        source = (PAGE_FILES / f"{name}.js").read_text(encoding="utf-8")
        for names, needed in re.findall(r'import \{ (.*?) \} from "\./(\w+)\.js"', source):
            assert order.index(needed) < order.index(name)
            given = (PAGE_FILES / f"{needed}.js").read_text(encoding="utf-8")
            for one in names.split(", "):
                assert re.search(rf"^export (?:async )?(?:function|const|class) {one}\b", given, re.MULTILINE), one
                assert len(re.findall(rf"\b{one}\b", source)) > 1, f"{name}.js imports {one} and never uses it"
    return order


def test_text_cannot_break_out_of_the_page(copy_run):  # noqa: F811
    record = AttentionRecord([AttentionMap("a", "cross", 0, torch.ones(1, 1, 1), ("</script><b>",), ("<!--",))])
    side = Side("output", ("</script><b>",)), Side("source", ("<!--",))
    view = View("<i>", record, {"cross": side}, output=side[0], source="</title><script>x", answer="</script>")
    text = make_page([view]).html
    assert text.count("</script>") == 3
    assert "<b>" not in text
    assert "<title>&lt;/title&gt;&lt;script&gt;x" in text


def random_explanation(source=23, target=23, *, layers=4, heads=4, width=128, details=True):
    """Return a view of an untrained Transformer on so many tokens."""
    torch.manual_seed(0)
    config = Transformer.Config(
        source_vocabulary=97, target_vocabulary=97, layers=layers, heads=heads, width=width, feedforward=2 * width
    )
    model = Transformer(config).eval()
    ones = torch.ones(1, source, dtype=torch.bool), torch.ones(1, target, dtype=torch.bool)
    ids = torch.randint(4, 97, (1, source)), torch.randint(4, 97, (1, target))
    with torch.inference_mode(), observe(model, details=details) as record:
        model(PairBatch(ids[0], ones[0], ids[1], ids[1], ones[1]))
    keys = Side("source", (*(f"▁word{n}" for n in range(source - 1)), "[END]"))
    queries = Side("output", (*(f"▁Wort{n}" for n in range(target - 1)), "[END]"))
    begun = Side("output so far", ("[START]", *queries.labels[:-1]))
    sides = {"encoder": (keys, keys), "decoder": (queries, begun), "cross": (queries, keys)}
    record.maps = [found.cut(*(side.labels for side in sides[found.kind])) for found in record.maps]
    record.positions = [table.cut(side.labels) for table, side in zip(record.positions, (keys, begun), strict=True)]
    rivals = [("▁anderes", 0.0123456789)] * 5
    choices = [(label, 0.987654321, rivals) for label in queries.labels]
    text = " ".join(f"word{n}" for n in range(source - 1))
    return View(
        "run", record, sides, output=queries, source=text, answer=text, choices=choices, answers=[(text, -0.5)] * 5
    )


def test_a_page_of_twenty_words_is_small_enough_for_mail():
    size = len(make_page([random_explanation()]).html.encode())
    assert size <= 600_000, f"{size:,} bytes"


def test_a_notebook_shows_the_page_in_a_frame(explanation):
    shown = explanation._repr_html_()
    assert shown.startswith('<iframe srcdoc="')
    inside = html.unescape(re.search(r'srcdoc="(.*?)"', shown, re.DOTALL)[1])
    assert inside == explanation.page().html
    assert read(explanation.in_words().page())[0]["runs"][0]["sides"][0]["labels"] == ["k", "c", "a", "z", "[END]"]


def test_any_record_can_be_shown(explanation):
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    with jumok.observe(layer) as record:
        layer(torch.randn(2, 3, 8), *[torch.randn(2, 5, 8)] * 2)
    data, arrays = read(jumok.show(record))
    (run,) = data["runs"]
    assert [side["labels"] for side in run["sides"]] == [["1", "2", "3"], ["1", "2", "3", "4", "5"]]
    assert arrays[run["maps"][0]["weights"]].equal(record.maps[0].weights[0])
    assert jumok.show(explanation) == explanation.page()
    with pytest.raises(ConfigError, match="show takes a record of attention or an explanation, not a str"):
        jumok.show("text")
    with pytest.raises(ConfigError, match="the record is empty: call the model inside"):
        jumok.show(AttentionRecord())
    with jumok.observe(layer) as record:
        for length in (3, 4):
            layer(*[torch.randn(1, length, 8)] * 3)
    with pytest.raises(ConfigError, match="are of different sequences: observe one call"):
        jumok.show(record)


def test_a_page_is_written_whole_or_not_at_all(explanation, tmp_path):
    explanation.page().save(tmp_path / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(DataError, match=r"cannot be written: there is no folder .*/no; choose another file"):
        explanation.page().save(tmp_path / "no" / "page.html")
