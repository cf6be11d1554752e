"""Take the images of docs/look.md: each view of a page, in a real browser.

python docs/figures/look.py RUN "TEXT"                   (needs playwright and chromium)
python docs/figures/look.py --compare "TEXT" RUN ...     look-compare.png alone: subwords, the second run's sixth lit
python docs/figures/look.py --film RUN                   look-film.png alone
python docs/figures/look.py --text NAME RUN "TEXT" N     look-NAME.png alone: masks, a continuation or a class, token N lit
python docs/figures/look.py --image RUN NUMBER           look-image.png alone: a test image of the built-in shapes
python docs/figures/look.py --file NAME FILE.html        look-NAME.png alone: any page that was kept, of a model of others

--lang ko before all that: the same in Korean, as look-…-ko.png.
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import jumok
from jumok.api import Look, open_film
from jumok.config import DecodingConfig
from jumok.data.builtin import shapes
from jumok.lens.film_page import make_film_page
from jumok.lens.html import Page as Made
from jumok.lens.html import make_page
from jumok.lens.image_page import make_image_page

HERE = Path(__file__).parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
WIDE, PHONE = {"width": 1120, "height": 700}, {"width": 360, "height": 740}
LAST_LAYER = "#controls label:has(input[name=layer]) >> nth=-1"
LANG = "en"  # of the pages; --lang


def views(runs: list[str], text: str) -> list:
    """Return what a page is told of each run, with all details."""
    found = []
    for run in runs:
        translator = jumok.load(run)
        options = DecodingConfig.parse(translator.options.model_dump() | {"beam": 5, "n_best": 5}, "decoding")
        explanation, worth = translator.importance(text, options=options, details=True)
        found.append(explanation.view(Path(run).name, worth=worth))
    return found


def point(tab: Page, place: int) -> None:
    tab.locator("#sentence [data-side=query] .word").nth(place).hover()
    tab.wait_for_timeout(200)


def take(tab: Page, name: str, *, whole: bool = True) -> None:
    file = HERE / f"look-{name}{'' if LANG == 'en' else f'-{LANG}'}.png"
    tab.screenshot(path=file, full_page=whole)
    with Image.open(file) as image:  # 200 colours are enough, and a third of the size
        image.convert("RGB").quantize(200).save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


def main(run: str, text: str) -> None:
    """Write docs/figures/look-*.png."""
    alone = Path(tempfile.mkdtemp()) / "alone.html"
    make_page(views([run], text), lang=LANG).save(alone)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)

        def visit(file: Path, **options: object) -> Page:
            tab = browser.new_context(**({"viewport": WIDE} | options)).new_page()
            tab.goto(file.as_uri())
            tab.wait_for_selector("html[data-ready]")
            return tab

        tab = visit(alone)
        tab.click("[data-side=query] .word >> nth=5")
        point(tab, 5)
        take(tab, "words", whole=False)
        tab.keyboard.press("Escape")
        tab.mouse.move(5, 5)
        tab.click(LAST_LAYER)
        for head in (0, 2):
            tab.locator(f"#controls input[name=head][value='{head}']").check()
        tab.mouse.move(5, 5)
        take(tab, "lines")
        tab.locator("#controls input[name=head][value='all']").check()
        tab.click("#tab-map")
        point(tab, 4)
        take(tab, "map")
        tab.click("#tab-heads")
        tab.click("[data-sort=lost]")
        take(tab, "heads")
        tab.locator("#controls input[name=head][value='0']").check()
        tab.click("[data-side=query] .word >> nth=5")
        tab.mouse.move(5, 5)
        tab.click("#tab-steps")
        tab.click("[data-stage=output]")
        take(tab, "steps")
        tab.click("[data-stage=feedforward-residual]")
        take(tab, "layer")
        tab.click("#tab-positions")
        tab.mouse.move(5, 5)
        take(tab, "positions")
        tab.locator("#panel-positions [value=similarity]").check()
        take(tab, "similarity")
        dark = visit(alone, color_scheme="dark")
        dark.click("#tab-heads")
        point(dark, 3)
        take(dark, "dark")
        phone = visit(alone, viewport=PHONE, device_scale_factor=2)
        point(phone, 4)
        take(phone, "phone", whole=False)
        browser.close()


def take_film(run: str) -> None:
    """Write docs/figures/look-film.png."""
    take_alone(make_film_page(open_film(run), name=Path(run).name, lang=LANG), "film")


def take_text(name: str, run: str, text: str, place: int) -> None:
    """Write docs/figures/look-NAME.png: whatever a run does with a text."""
    explanation = jumok.load(run).look(text, Look(importance=True, details=True))
    lit = f"#sentence [data-side=query] .word >> nth={place}"
    take_alone(make_page([explanation.view(Path(run).name)], lang=LANG), name, pointed=lit)


def take_image(run: str, number: int) -> None:
    """Write docs/figures/look-image.png."""
    file = Path(tempfile.mkdtemp()) / "shapes.png"
    shapes.draw(shapes.scene("test", number)).save(file)
    view = jumok.load(run).explain(file, details=True).view(Path(run).name)
    take_alone(make_image_page([view], lang=LANG), "image")
    take_alone(
        make_image_page([view], lang=LANG), "image-steps", clicks=["#tab-steps", LAST_LAYER, "[data-stage=result]"]
    )
    similar = ["#tab-positions", "#panel-positions label:has([value=similarity])"]
    take_alone(make_image_page([view], lang=LANG), "image-positions", clicks=similar)


def take_compare(text: str, runs: list[str]) -> None:
    """Write docs/figures/look-compare.png."""
    sixth = "[data-run='1'] [data-side=query] .word >> nth=5"
    take_alone(make_page(views(runs, text), words=False, lang=LANG), "compare", pointed=sixth)


def take_file(name: str, file: Path) -> None:
    """Write docs/figures/look-NAME.png of a page that was kept, as it opens."""
    take_alone(Made(file.read_text(encoding="utf-8")), name)


def take_alone(page: Made, name: str, *, pointed: str = "", clicks: Sequence[str] = ()) -> None:
    """Take a page as it opens, after some clicks, or with something pointed at."""
    file = Path(tempfile.mkdtemp()) / "page.html"
    page.save(file)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        tab = browser.new_context(viewport=WIDE).new_page()
        tab.goto(file.as_uri())
        tab.wait_for_selector("html[data-ready]")
        for one in clicks:
            tab.click(one)
        if pointed:
            tab.hover(pointed)
            tab.wait_for_timeout(200)
        take(tab, name)
        browser.close()


if __name__ == "__main__":
    if sys.argv[1] == "--lang":
        LANG = sys.argv[2]
        del sys.argv[1:3]
    if sys.argv[1] == "--film":
        take_film(sys.argv[2])
    elif sys.argv[1] == "--text":
        take_text(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
    elif sys.argv[1] == "--image":
        take_image(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "--compare":
        take_compare(sys.argv[2], sys.argv[3:])
    elif sys.argv[1] == "--file":
        take_file(sys.argv[2], Path(sys.argv[3]))
    else:
        main(sys.argv[1], sys.argv[2])
