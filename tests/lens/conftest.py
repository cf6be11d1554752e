"""The browser that pages are opened in, and images explained by small models.

The models are hardly trained, but have weights that make them look sharply.
"""

import shutil

import pytest
import torch
from cli.conftest import train_once, write_recipe

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
BROWSER = pytest.StashKey()
USUAL = {"viewport": {"width": 1180, "height": 900}}
FORGET = "if (!sessionStorage.length) { localStorage.clear(); sessionStorage.here = 1; }"  # what an earlier tab kept
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
IMAGE = "shapes.png"
RECIPE = """
task = "image-classification"
[data]
set = "shapes"
set_size = 24
size = 16
[model]
{model}
[training]
steps = 3
batch_size = 8
warmup = 1
evaluate_every = 3
save_every = 3
monitor = "accuracy"
"""
MODELS = {
    "vit": 'name = "vit"\npatch_size = 4\nlayers = 3\nwidth = 16\nheads = 2\nfeedforward = 16',
    "swin": 'name = "swin"\npatch_size = 2\nwidth = 8\nlayers = [1, 2]\nheads = [1, 2]\nwindow = 3',
    "cnn": 'name = "cnn"\nwidth = 8\nstages = 2\nblocks = 1',
}


@pytest.fixture
def browser(request):
    """One browser for this folder; it is gone before other tests want an event loop of their own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install 'jumok[dev]' brings playwright")
    if CHROMIUM is None:
        pytest.skip("there is no chromium here: apt-get install chromium")
    folder = next(node for node in request.node.iter_parents() if isinstance(node, pytest.Dir))
    if BROWSER not in folder.stash:
        driver = playwright.sync_playwright().start()
        folder.stash[BROWSER] = started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        started.new_context(**USUAL)  # the first, for pages that want nothing special

        def close():
            started.close(), driver.stop()
            del folder.stash[BROWSER]

        folder.addfinalizer(close)
    return folder.stash[BROWSER]


@pytest.fixture
def visit(browser, tmp_path):
    """Return what opens a page in a fresh tab. Whatever goes wrong inside, or is asked of the network, fails the test."""
    tabs, wrong = [], []

    def go(page, **options):
        file = tmp_path / f"page{len(tabs)}.html"
        page.save(file)
        context = browser.new_context(**USUAL | options) if options else browser.contexts[0]
        tab = context.new_page()
        tabs.append(tab)
        tab.add_init_script(FORGET)
        tab.set_default_timeout(5000)
        tab.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else wrong.append(request.url),
        )
        tab.goto(file.as_uri())
        tab.wait_for_selector("html[data-ready]")
        return tab

    yield go
    for tab in tabs:
        (tab if tab.context is browser.contexts[0] else tab.context).close()
    assert not wrong


def explained(tmp_path_factory, name):
    import jumok
    from jumok.data.builtin import shapes

    run = train_once(tmp_path_factory, f"image-{name}", write_recipe(RECIPE.format(model=MODELS[name])))
    classifier = jumok.load(run)
    with torch.no_grad():
        for path, weights in classifier.model.named_parameters():
            if "query" in path and weights.dim() == 2:
                weights.mul_(4.0 if name == "vit" else 40.0)
    file = tmp_path_factory.mktemp(name) / IMAGE
    shapes.draw(shapes.scene("test", 27), 16).save(file)
    return classifier.explain(file, details=True)


@pytest.fixture(scope="session")
def vit(tmp_path_factory):
    """A ViT's look at an image of 4 × 4 patches: three layers of two heads."""
    return explained(tmp_path_factory, "vit")


@pytest.fixture(scope="session")
def swin(tmp_path_factory):
    """A Swin's look at an image of 8 × 8, then 4 × 4 patches."""
    return explained(tmp_path_factory, "swin")


@pytest.fixture(scope="session")
def cnn(tmp_path_factory):
    """What has no attention."""
    return explained(tmp_path_factory, "cnn")
