"""The translators inside the package: there, small enough, and as good as their card says."""

import re

import pytest
from cli.conftest import jumok, refusal
from safetensors import safe_open

import jumok as library
from jumok.catalogue import SHIPPED
from jumok.data.files import content_hash
from jumok.runs.shipped import SHELF
from jumok.tensor_file import ENTRY

TRANSLATORS = {name for name, entry in SHIPPED.items() if entry.to}
CARD = SHELF / "translator" / "CARD.md"
HANGUL = re.compile("[가-힣]")


@pytest.fixture(autouse=True)
def somewhere_else(monkeypatch, tmp_path):
    """A folder of that name in the working directory would come first."""
    monkeypatch.chdir(tmp_path)


def examples():
    """Return (label, source, reference, written) of the card's table of held-out sentences."""
    table = CARD.read_text(encoding="utf-8").partition("unedited:")[2]
    return re.findall(r"^\| (\w\w → \w\w, \w+) \| (.*) \| (.*) \| (.*) \|$", table, re.MULTILINE)


def test_every_direction_writes_its_own_language():
    assert {"ko-en", "en-ko", "fr-en", "en-fr"} == TRANSLATORS
    sentences = {"ko": "나는 학생이야.", "en": "I am a student.", "fr": "Je suis étudiant."}
    for name in TRANSLATORS:
        source, target = name.split("-")
        written = library.load(name).translate(sentences[source])
        assert bool(HANGUL.search(written)) == (target == "ko")
        assert bool(re.search("[a-zA-Z]", written)) == (target != "ko")
        assert len(written) < 60, "no sentence without an end"


def test_what_the_notes_ask_for():
    assert library.load("ko-en").translate("넌 누구니?") == "Who are you?"
    liked = library.load("en-ko").translate("I like you")
    assert re.fullmatch(
        r"((나는|난|내가|저는|전|제가) )?(당신을|당신이|너를|널|네가) 좋아(해|해요|합니다|한다)\.?", liked
    )


def test_the_card_shows_what_the_model_really_writes():
    found = examples()
    assert len(found) == 10
    assert {label.split(",")[0] for label, *_ in found} == {"ko → en", "en → ko", "fr → en", "en → fr"}
    translator = library.load("ko-en")
    written = translator.translate([source for _, source, _, _ in found], to=[label[5:7] for label, *_ in found])
    equal = sum(ours == card for ours, (*_, card) in zip(written, found, strict=True))
    assert equal >= 9, "another processor may round another way once"


def test_looking_inside_by_name(tmp_path):
    done = jumok("look", "ko-en", "넌 누구니?", "--words", "--html", tmp_path / "look.html")
    assert done.code == 0, done
    page = (tmp_path / "look.html").read_text(encoding="utf-8")
    assert "Who are you?" in page
    assert "누구니" in page


def test_a_name_stands_for_its_direction():
    assert "ko-en translates to en" in refusal(jumok("translate", "ko-en", "안녕", "--to", "fr"))
    assert {*re.findall(r"^\s+(\w\w-\w\w)\s", jumok("list").out, re.MULTILINE)} >= TRANSLATORS


def test_every_file_of_weights_has_a_checksum():
    """Its own, or, of image codes, the one in the recipe of the drawer that is made of them."""
    files = sorted(SHELF.rglob("*.safetensors"))
    assert len(files) >= 4
    for file in files:
        with safe_open(file, framework="pt") as opened:
            own = ENTRY in (opened.metadata() or {})
        recipe = file.parents[2] / "recipe.toml"
        assert own or content_hash([file]) in recipe.read_text(encoding="utf-8"), file
