"""The page of an image in a real browser: what lights up is the record's own, by mouse, by keys and for those who cannot see it."""

import re

import pytest
import torch
from lens.test_page import choose, seconds_of

from jumok.inspection.record import AttentionMap, AttentionRecord, rollout
from jumok.lens.image_page import make_image_page
from jumok.lens.image_view import ImageView


def weights_of(tab):
    """Return the weights by which the places are lit, class token first."""
    return tab.locator(".patch").evaluate_all("all => all.map((one) => Number(one.dataset.weight))")


def place(tab, number):
    return tab.locator(f".patch[data-place='{number}']")


def mean(maps):
    return torch.stack([found.weights.mean(dim=0) for found in maps]).mean(dim=0)


def close(values):
    return pytest.approx(values.tolist(), abs=1e-6)


def written(label):
    return label.replace(",", ", ") if "," in label else "class token"


def test_pointing_at_a_patch_lights_what_it_looks_at(visit, vit):
    tab, whole, keys = visit(vit.page()), mean(vit.record.maps), vit.record.maps[0].keys
    assert weights_of(tab) == close(whole[0]), "at rest: the class token's"
    for number in (0, 1, 6, 16):
        place(tab, number).hover()
        assert weights_of(tab) == close(whole[number])
        best = whole[number].argsort(descending=True)[:6].tolist()
        rows = [row.inner_text().split("\n") for row in tab.locator("#pointed li").all()]
        assert [row[-2:] for row in rows] == [[written(keys[key]), f"{100 * float(whole[number, key]):.1f} %"] for key in best]  # fmt: skip
        assert tab.locator(".patch.pointed").get_attribute("data-place") == str(number)
        most = float(whole[number, 1:].max())
        assert f"The strongest patch has {100 * most:.1f} %." in tab.locator("#scale").inner_text()
    choose(tab, "side", "key")
    place(tab, 6).hover()
    assert weights_of(tab) == close(whole[:, 6]), "who looks at it"
    assert tab.locator("#scale").inner_text().startswith("Lit: what looks at row 2, column 2.")
    tab.mouse.move(5, 5)
    assert weights_of(tab) == close(whole[0])


def test_the_veil_is_thinnest_where_it_looks_most(visit, vit):
    tab, row = visit(vit.page()), mean(vit.record.maps)[7, 1:]
    place(tab, 7).hover()
    covers = tab.locator(".cells .patch").evaluate_all("all => all.map((one) => getComputedStyle(one).backgroundColor)")
    opacity = [float(re.findall(r"[\d.]+", cover)[3]) if cover.startswith("rgba") else 1.0 for cover in covers]
    assert opacity == pytest.approx((0.86 * (1 - row / row.max())).tolist(), abs=6e-3)
    choose(tab, "overlay", "heat")
    place(tab, 7).hover()
    covers = tab.locator(".cells .patch").evaluate_all("all => all.map((one) => getComputedStyle(one).backgroundColor)")
    opacity = [float(re.findall(r"[\d.]+", cover)[3]) for cover in covers]
    assert opacity == pytest.approx((0.82 * row / row.max()).tolist(), abs=6e-3)


def test_the_patches_lie_where_the_image_has_them(visit, vit):
    tab = visit(vit.page())
    box = tab.locator(".image").bounding_box()
    for number, (row, column) in ((1, (0, 0)), (6, (1, 1)), (12, (2, 3))):
        own = place(tab, number).bounding_box()
        assert own["x"] == pytest.approx(box["x"] + column * box["width"] / 4, abs=1)
        assert own["y"] == pytest.approx(box["y"] + row * box["height"] / 4, abs=1)
        assert own["width"] == pytest.approx(box["width"] / 4, abs=1)
    pixels = tab.evaluate(
        """() => {
      const image = document.querySelector(".image img"), canvas = document.createElement("canvas");
      canvas.width = image.naturalWidth;
      canvas.height = image.naturalHeight;
      const pen = canvas.getContext("2d");
      pen.drawImage(image, 0, 0);
      return [...pen.getImageData(0, 0, canvas.width, canvas.height).data];
    }"""
    )
    seen = torch.tensor(pixels).view(16, 16, 4)[..., :3]
    assert (seen.numpy() == vit.pixels).all(), "the image as the model saw it"


def test_layers_heads_and_manners_can_be_chosen(visit, vit):
    tab, maps = visit(vit.page()), vit.record.maps
    choose(tab, "layer", 2)
    choose(tab, "head", 1)
    place(tab, 5).hover()
    assert weights_of(tab) == close(maps[1].weights[1, 5])
    assert tab.locator("#selection").inner_text() == "patches → patches · layer 2 · head 2 · 4 × 4 patches"
    choose(tab, "head", "all")
    choose(tab, "combine", "max")
    place(tab, 5).hover()
    assert weights_of(tab) == close(maps[1].weights[:, 5].amax(dim=0))
    choose(tab, "combine", "rollout")
    assert weights_of(tab) == close(rollout(maps)[0])
    place(tab, 9).hover()
    assert weights_of(tab) == close(rollout(maps)[9])
    best = int(vit.heat.argmax())
    wanted = f"most came from row {best // 4 + 1}, column {best % 4 + 1}"
    assert tab.locator(".rollout").get_attribute("aria-label") == wanted


def test_a_swin_is_looked_at_stage_by_stage(visit, swin):
    tab, (first, *second) = visit(swin.page()), swin.record.maps
    assert tab.locator(".patch.token").count() == 0, "it has no class token"
    assert weights_of(tab) == close(mean([first]).mean(dim=0)), "at rest: the mean over patches"
    place(tab, 9).hover()
    assert weights_of(tab) == close(first.weights[0, 9])
    lit = [number for number, weight in enumerate(weights_of(tab)) if weight > 0]
    assert lit == [row * 8 + column for row in range(3) for column in range(3)], "its own window of 3 × 3"
    assert tab.locator("#controls input[value=rollout]").count() == 0
    choose(tab, "kind", "stage 2")
    assert tab.locator(".cells .patch").count() == 16
    choose(tab, "layer", 2)
    choose(tab, "head", 1)
    place(tab, 3).hover()
    assert weights_of(tab) == close(second[1].weights[1, 3])
    assert tab.locator(".table th").all_inner_texts() == ["layer", "head", "spread", "distance"]


def test_there_is_a_thumbnail_of_every_head_as_it_looks_from_there(visit, vit):
    tab = visit(vit.page())
    assert tab.locator(".thumbnails button").count() == 6
    apart = torch.tensor([[((a // 4 - b // 4) ** 2 + (a % 4 - b % 4) ** 2) ** 0.5 for b in range(16)] for a in range(16)])  # fmt: skip
    rows = [[float(cell) for cell in row.inner_text().split("\t")] for row in tab.locator(".table tbody tr").all()]
    heads = [(found, one) for found in vit.record.maps for one in found.summaries()]
    for row, (found, one) in zip(rows, heads, strict=True):
        own = found.weights[one.head]
        cells = own[1:, 1:]
        distance = float((cells * apart).sum() / cells.sum())
        on_class = float(own[:, 0].mean())
        assert row == pytest.approx([one.layer + 1, one.head + 1, one.entropy, distance, on_class], abs=6e-3)
    brightest = """(canvas) => {
      const copy = document.createElement("canvas").getContext("2d");
      copy.drawImage(canvas, 0, 0);
      const data = copy.getImageData(0, 0, 4, 4).data;
      const sums = Array.from({ length: 16 }, (_, n) => data[4 * n] + data[4 * n + 1] + data[4 * n + 2]);
      return sums.indexOf(Math.min(...sums));
    }"""
    for number in (0, 11):
        place(tab, number).hover()
        for thumb, (found, one) in zip(tab.locator(".thumbnails canvas").all(), heads, strict=True):
            row = found.weights[one.head, number, 1:]
            shown = int(thumb.evaluate(brightest))  # the darkest is the strongest on light paper
            assert float(row[shown]) == pytest.approx(float(row.max()), rel=0.02)
    tab.click(".thumbnails [data-layer='3'][data-head='2']")
    tab.mouse.move(5, 5)
    assert weights_of(tab) == close(vit.record.maps[2].weights[1, 0])
    tab.click("#tab-map")
    canvas = tab.locator("#panel-map canvas")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 5, "y": box["height"] - 5})
    last = float(vit.record.maps[2].weights[1, -1, -1])
    assert tab.locator("#panel-map .readout").inner_text() == f"4,4 → 4,4: {100 * last:.2f} %"
    assert weights_of(tab) == close(vit.record.maps[2].weights[1, -1])


def test_the_arithmetic_of_a_patch_and_the_table_of_positions(visit, vit, swin, cnn):
    tab, found = visit(vit.page()), vit.record.maps[1]
    choose(tab, "layer", 2)
    choose(tab, "head", 1)
    place(tab, 6).click()
    tab.click("#tab-steps")
    tab.click("[data-stage=softmax]")
    assert tab.locator(".where strong").inner_text() == "“row 2, column 2” · patches → patches · layer 2 · head 2"
    weights = [float(cell.get_attribute("data-weight")) for cell in tab.locator(".keys .weight").all()]
    assert weights == close(found.weights[1, 6])
    rows = [row.inner_text().replace("−", "-").split("\t") for row in tab.locator(".keys tbody tr").all()]
    scores = found.details.key[1] @ found.details.query[1, 6]
    assert [row[0] for row in rows][:2] == ["class token", "row 1, column 1"]
    assert [float(row[2]) for row in rows] == pytest.approx(scores.tolist(), abs=2e-3)
    assert tab.locator("#save-buttons").is_hidden()
    tab.click("#tab-positions")
    canvas = tab.locator("#panel-positions canvas")
    canvas.hover(position={"x": canvas.bounding_box()["width"] - 2, "y": 16 * 5.5})
    told = tab.locator("#panel-positions .readout").inner_text()
    assert told == f"2,2 · position 5, feature 15: {float(vit.record.positions[0].table[5, -1]):.4f}"
    assert tab.locator("#save-buttons").is_visible()
    alone = visit(swin.page())
    assert alone.locator("#tab-steps, #tab-positions").count() == 0, "windows keep no vectors"
    several = visit(make_image_page([vit.view("vit"), swin.view("swin"), cnn.view("cnn")]))
    several.click("#tab-steps")
    choose(several, "run", 1)
    assert "Those inside windows are not kept" in several.locator("#panel-steps").inner_text()


def test_keys_walk_over_the_image_and_pin(visit, vit):
    tab, whole = visit(vit.page()), mean(vit.record.maps)
    walk = [("ArrowDown", 0), ("ArrowDown", 1), ("ArrowRight", 2), ("ArrowDown", 6), ("End", 8), ("ArrowRight", 9), ("ArrowLeft", 8), ("Home", 5), ("ArrowUp", 1), ("ArrowUp", 0), ("ArrowUp", 0), ("ArrowLeft", 0)]  # fmt: skip
    for key, number in walk:
        tab.keyboard.press(key)
        assert tab.evaluate("document.activeElement.dataset.place") == str(number), key
        assert weights_of(tab) == close(whole[number])
    place(tab, 16).focus()
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.dataset.place") == "16", "below the last row there is nothing"
    tab.keyboard.press("Enter")
    assert place(tab, 16).get_attribute("aria-selected") == "true"
    best = whole[16].argmax()
    name = "class token" if best == 0 else f"row {(int(best) - 1) // 4 + 1}, column {(int(best) - 1) % 4 + 1}"
    assert tab.locator("#spoken").inner_text().startswith(f"row 4, column 4 looks at {name} {100 * float(whole[16, best]):.0f} %; ")  # fmt: skip
    place(tab, 3).hover()
    told = f"pinned row 4, column 4 → row 1, column 3: {100 * float(whole[16, 3]):.2f} %"
    assert tab.locator(".pair-weight").inner_text() == told
    tab.mouse.move(5, 5)
    place(tab, 16).focus()
    tab.locator("#theme").focus()
    assert weights_of(tab) == close(whole[16]), "it stays"
    place(tab, 16).focus()
    tab.keyboard.press("Escape")
    assert tab.locator(".patch[aria-selected=true]").count() == 0
    place(tab, 4).click()
    tab.mouse.move(5, 5)
    assert place(tab, 4).get_attribute("aria-selected") == "true"


def test_every_control_has_a_name_and_the_grid_its_rows(visit, vit):
    tab = visit(vit.page())
    named = "button:visible, input:visible, [role=grid], [role=gridcell], [role=img]:visible"
    for one in tab.locator(named).all():
        assert one.evaluate("(e) => e.getAttribute('aria-label') || e.textContent || e.labels?.[0]?.textContent")
    assert tab.locator("[role=grid]").get_attribute("aria-label") == "the image in 4 × 4 patches"
    assert tab.locator("[role=grid] [role=row]").count() == 5
    assert tab.locator("[role=gridcell][tabindex='0']").count() == 1


def test_the_classes_stand_beside_it(visit, vit):
    tab = visit(vit.page())
    rows = [row.inner_text().split("\n") for row in tab.locator("#classification li").all()]
    assert rows == [[label, f"{100 * share:.1f} %"] for label, share in vit.verdict.probabilities.items()]
    assert tab.locator("#answer").inner_text() == " ".join(rows[0])


def test_several_models_on_one_image(visit, vit, swin, cnn):
    tab = visit(make_image_page([vit.view("a vit"), swin.view("a swin"), cnn.view("a cnn")]))
    choose(tab, "layer", 3)
    place(tab, 2).click()
    choose(tab, "run", 1)
    tab.mouse.move(5, 5)
    assert tab.locator(".patch").count() == 64
    assert weights_of(tab) == close(mean(swin.record.maps[:1]).mean(dim=0)), "another model, another grid: no pin"
    choose(tab, "run", 2)
    assert "no attention to show" in tab.locator("#note").inner_text()
    assert tab.locator(".patch:visible").count() == 0
    assert tab.locator("#views").is_hidden()
    assert tab.locator("#classification li").count() == 5
    choose(tab, "run", 0)
    assert tab.locator("#note").is_hidden()
    assert weights_of(tab) == close(mean(vit.record.maps)[0])


def test_light_dark_and_a_phone(visit, vit, swin):
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    for page in (vit.page(), swin.page()):
        tab = visit(page, color_scheme="dark", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
        first = tab.evaluate(paper)
        assert sum(map(int, re.findall(r"\d+", first)[:3])) < 380
        tab.click("#theme")
        assert tab.evaluate(paper) != first
        for name in ("heads", "map"):
            tab.click(f"#tab-{name}")
            assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    place(tab, 9).tap()
    assert weights_of(tab) == close(swin.record.maps[0].weights[0, 9])


def test_figures_can_be_saved(visit, vit):
    tab = visit(vit.page())
    for name in ("image", "heads", "map"):
        if name != "image":
            tab.click(f"#tab-{name}")
        for kind, begin in (("png", b"\x89PNG"), ("svg", b"<svg xmlns")):
            with tab.expect_download() as waiting:
                tab.click(f"#image-{kind}" if name == "image" else f"#save-{kind}")
            assert waiting.value.suggested_filename == f"attention-{name}.{kind}"
            saved = waiting.value.path().read_bytes()
            assert saved.startswith(begin)
            if (name, kind) == ("image", "svg"):
                assert b'href="data:image/png;base64,' in saved
                assert saved.count(b"<rect") == 17, "the paper and 16 patches"


def test_a_record_without_an_image_has_its_cells(visit, vit):
    tab = visit(make_image_page([ImageView.of_record(vit.record)]))
    place(tab, 6).hover()
    assert weights_of(tab) == close(mean(vit.record.maps)[6])
    assert tab.locator(".image img").is_hidden()
    assert tab.locator("input[name=overlay][value=heat]").is_checked(), "a veil over nothing shows nothing"
    assert tab.locator("#classification li").count() == 0
    with tab.expect_download():
        tab.click("#image-png")


def test_a_large_image_stays_smooth(visit):
    """A ViT-B/16 on 224 × 224: 12 layers of 12 heads, 14 × 14 patches."""
    torch.manual_seed(1)
    maps = [AttentionMap(f"layers.{n}", "encoder", n, (3 * torch.randn(12, 197, 197)).softmax(dim=-1), grid=(14, 14)) for n in range(12)]  # fmt: skip
    pixels = (torch.rand(224, 224, 3) * 255).byte().numpy()
    page = make_image_page([ImageView.of_record(AttentionRecord(maps), pixels)])
    opened, hovered, changed = seconds_of(visit(page), ".patch")
    print(f"\n{len(page.html) / 1e6:.1f} MB; open {opened:.2f} s, hover {1000 * hovered:.0f} ms, tabs {changed:.2f} s")
    assert opened < 4
    assert hovered < 0.05
    assert changed < 2
