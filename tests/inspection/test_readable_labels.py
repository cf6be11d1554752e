"""Labels of byte pieces: whatever a text is cut into, it can be read again, by one rule in Python and on pages."""

import json
import shutil
import subprocess
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jumok.config import TokenizerConfig
from jumok.data.text.tokenizer import Tokenizer
from jumok.inspection.labels import REST, join_bytes, readable_labels
from jumok.lens.html import PAGE_FILES

ANY = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="<>·")
TEXTS = st.text(ANY | st.sampled_from("넌가힣é日🦊a"), max_size=12)
BYTES = st.lists(st.binary(min_size=1, max_size=3), max_size=9)


def labels_of(pieces):
    """Return the labels of byte pieces, as a tokenizer of bytes has them."""
    found = []
    for piece in pieces:
        try:
            found.append(piece.decode("utf-8"))
        except UnicodeDecodeError:
            found.append("".join(chr(byte) if byte < 0x7F else f"<{byte:02X}>" for byte in piece))
    return found


def cut(text, places):
    """Return the bytes of a text, cut at some places."""
    whole = text.encode("utf-8")
    at = sorted({0, len(whole), *(place % (len(whole) + 1) for place in places)})
    return [whole[first:last] for first, last in pairwise(at)]


@example("넌넌é🦊🦊", [1, 4, 7, 9, 13])
@given(TEXTS, st.lists(st.integers(0, 99), max_size=9))
def test_a_text_cut_anywhere_can_be_read(text, places):
    labels = labels_of(cut(text, places))
    shown = readable_labels(labels)
    assert len(shown) == len(labels), "a label for each token"
    assert "".join(shown).replace(REST, "") == text
    assert all(shown), "no token without a sign of it"
    assert join_bytes("".join(labels)) == text


@given(BYTES)
def test_bytes_that_are_no_text_keep_their_names(pieces):
    labels = labels_of(pieces)
    shown = readable_labels(labels)
    assert len(shown) == len(labels)
    assert readable_labels(shown) == shown, "what was joined stays as it is"
    for label, other in zip(labels, shown, strict=True):
        assert "<" in label or REST in other or label == other


def test_the_rule_of_a_real_tokenizer():
    tokenizer = Tokenizer.train(["a b c"] * 3, TokenizerConfig(kind="byte"))
    [ids] = tokenizer.encode(["넌 a"])
    assert readable_labels(tokenizer.labels(ids)) == ["▁", "넌", REST, REST, "▁", "a"]


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here: apt-get install nodejs")
def test_pages_have_the_same_rule(tmp_path):
    cases: list[list[str]] = []

    @given(BYTES, TEXTS, st.lists(st.integers(0, 99), max_size=9))
    def collect(pieces, text, places):
        cases.extend([labels_of(pieces), labels_of(cut(text, places))])

    collect()
    cases.append(labels_of(cut("넌넌é🦊🦊", [1, 4, 7, 9, 13])))
    shutil.copy(PAGE_FILES / "labels.js", tmp_path / "labels.mjs")
    (tmp_path / "run.mjs").write_text(
        'import { readFileSync } from "fs"; import { readableLabels } from "./labels.mjs";'
        'const cases = JSON.parse(readFileSync("cases.json", "utf-8"));'
        "console.log(JSON.stringify(cases.map(readableLabels)));"
    )
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    done = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [readable_labels(labels) for labels in cases]
