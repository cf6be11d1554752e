"""`jumok look` at drawers: maps, PNG, JSON, pages and films, an image given, and what it refuses."""

import json

import numpy as np
import pytest
from cli.conftest import jumok, refusal
from drawing_runs import DRAWER_RECIPE, train_once
from PIL import Image

import jumok as library

TEXT = "a large red circle above a small star"


@pytest.fixture(scope="module")
def filmed(tmp_path_factory, codes_run):
    few = {"steps": 4, "evaluate_every": 2, "save_every": 4, "warmup": 1, "probes": 2}
    recipe = DRAWER_RECIPE | {"training": DRAWER_RECIPE["training"] | few}
    return train_once(tmp_path_factory, "filmed-drawer", recipe, **{"model.codes": str(codes_run)})


def test_the_terminal_shows_words_with_their_shares_and_maps(drawer_run):
    done = jumok("look", drawer_run, TEXT, "--seed", 3)
    assert done.code == 0, done.err
    lines = [line for line in done.out.splitlines() if line]
    found = library.load(drawer_run)
    explained = found.explain(TEXT, options=found.options.changed({"seed": 3}))
    assert lines[0] == TEXT
    assert lines[1].startswith("cells looked at words")
    assert "mean of 2 layers, mean of 2 heads" in lines[2]
    assert " ".join(lines[3].split()) == TEXT
    assert lines[4].split() == [f"{share:.1%}" for share in explained.shares().words]
    assert "▀" not in done.out, "a pipe gets no colours"


def test_json_is_the_explanations_own(drawer_run):
    found = library.load(drawer_run)
    options = found.options.changed({"seed": 3, "guidance": 4.0, "temperature": 0.5, "top_k": 9})
    given = ("--seed", 3, "--guidance", 4, "--temperature", 0.5, "--top-k", 9)
    told = json.loads(jumok("look", drawer_run, TEXT, *given, "--layer", 2, "--head", 1, "--json").out)
    own = found.explain(TEXT, options=options)
    assert told["codes"] == own.codes.tolist()
    assert told["guidance"] == 4.0
    assert np.allclose(told["weights"], own.looked_at(layer=2, head=1).weights, atol=1e-6)
    assert told["keys"][:3] == ["[START]", "a", "large"]
    assert jumok("look", drawer_run, TEXT, *given, "--json").out != jumok("look", drawer_run, TEXT, "--json").out


def test_pages_and_pngs(drawer_run, filmed, tmp_path):
    done = jumok("look", drawer_run, TEXT, "--png", tmp_path / "words.png")
    assert done.code == 0, done.err
    with Image.open(tmp_path / "words.png") as image:
        assert image.width > 1000
    done = jumok("look", drawer_run, TEXT, "--html", tmp_path / "page.html")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<title>{TEXT} · jumok</title>" in page
    assert '"name":"drawer-run"' in page
    done = jumok("look", drawer_run, filmed, TEXT, "--html", tmp_path / "both.html")
    assert done.code == 0, done.err
    assert (tmp_path / "both.html").read_text(encoding="utf-8").count('"given":false') == 2


def test_an_image_under_a_text(drawer_run, tmp_path):
    noise = np.random.default_rng(3).integers(0, 255, (32, 32, 3)).astype(np.uint8)
    file = tmp_path / "image.png"
    Image.fromarray(noise).save(file)
    told = json.loads(jumok("look", drawer_run, TEXT, "--image", file, "--json").out)
    assert told["image_given"]
    assert told["codes"] == library.load(drawer_run).explain(TEXT, image=file).codes.tolist()


def test_the_film_of_a_drawer(filmed, tmp_path):
    done = jumok("look", filmed, "--film")
    assert done.code == 0, done.err
    steps = [line.split()[0] for line in done.out.splitlines() if line.strip()[:1].isdigit()]
    assert steps == ["0", "2", "4"]
    assert "first of 2 images" in done.out
    done = jumok("look", filmed, "--film", "--html", tmp_path / "film.html")
    assert done.code == 0, done.err
    page = (tmp_path / "film.html").read_text(encoding="utf-8")
    assert page.count("data:image/png") == 2 + 3 * 2, "two val images, and a drawing of each at each step"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((TEXT, "--beam", 3), "--beam is for translation and captions; {run} draws"),
        ((TEXT, "--max-length", 3), "--max-length is for language models; {run} draws"),
        ((TEXT, "--to", "ko"), "--to is for translation; {run} draws"),
        ((TEXT, "--target", "x"), "--target is for translations, continuations, classes and captions; {run} draws"),
        ((TEXT, "--importance"), "--matrices and --importance are for texts and captions; leave them out"),
        ((TEXT, "--layer", 3), "--layer 3: there are 2"),
        ((TEXT, "--head", 3), "--head 3: there are 2"),
        ((TEXT, "--kind", "cross"), "--kind cross: this model has decoder"),
        ((TEXT, "--step", 2), "--at, --series and --step are for runs that forecast; leave them out"),
        ((TEXT, "--image", "none.png"), "--image none.png: there is no such file; name an image"),
        (
            (TEXT, "--image", "none.png", "--guidance", 2),
            "--guidance is for drawing, and --image none.png is not drawn; leave one of them out",
        ),
        ((TEXT, "--guidance", -1), "decoding.guidance"),
        (("a red dog",), "{run} has never read 'dog'"),
        (("",), "an empty text says nothing to draw"),
        ((" ".join(["red"] * 61),), "the text has 61 tokens, and {run} draws texts of 60 at most; shorten it"),
    ],
)
def test_what_is_refused(drawer_run, options, message):
    assert message.format(run=drawer_run) in refusal(jumok("look", drawer_run, *options))


def test_drawing_options_are_for_drawers():
    assert "--guidance is for drawers" in refusal(jumok("look", "ko-en", "안녕", "--guidance", 2))
    assert "--image x.png is for runs that draw" in refusal(jumok("look", "ko-en", "안녕", "--image", "x.png"))


def test_korean_messages(drawer_run, monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "ko")
    assert "그런 파일이 없" in refusal(jumok("look", drawer_run, TEXT, "--image", "none.png"))
    assert "단어마다 그 단어를 본 칸" in jumok("look", drawer_run, TEXT).out
