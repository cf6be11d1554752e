"""`jumok list` and `jumok check` say whether kernels in C are in use, and if not, why not and what to do."""

import json

import pytest
from cli.conftest import jumok

from jumok.native import build
from jumok.workflows.check import CheckReport
from jumok.workflows.check import _kernels as told_by_check

STATES = {
    "in use": build.Kernels(object(), "compiled by /usr/bin/cc for AVX-512"),
    "not in use": build.Kernels(None, "JUMOK_NATIVE is 0; unset it to use them"),
}


@pytest.mark.parametrize("word", STATES)
def test_kernels_and_why_not(word, monkeypatch):
    monkeypatch.setattr(build, "state", lambda: STATES[word])
    assert json.loads(jumok("list", "--json").out)["kernels in C"] == {word: STATES[word].told}
    assert f"  {word}    {STATES[word].told}" in jumok("list").out
    assert CheckReport(kernels=told_by_check()).to_dict()["kernels"] == f"{word}: {STATES[word].told}"


def test_in_korean(monkeypatch):
    sentence = "they could not be compiled: the compiler /usr/bin/cc failed (small.c:7:1: error: no such thing); install another C compiler (gcc or clang), or let it try again with jumok cache --clear"
    monkeypatch.setattr(build, "state", lambda: build.Kernels(None, sentence))
    monkeypatch.setenv("JUMOK_LANG", "ko")
    assert "컴파일러 /usr/bin/cc 실패(small.c:7:1: error: no such thing). 다른 C 컴파일러" in " ".join(
        jumok("list").out.split()
    )
