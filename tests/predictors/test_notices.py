"""Warnings are data: a line and a text, which whoever shows them puts together."""

from cli.conftest import bert_run, classifier_run, copy_run  # noqa: F401 - fixtures

import jumok
from jumok.predictors.base import Notice


def test_a_notice_reads_as_a_sentence_and_counts_on():
    about_a_line, about_none = Notice(3, "has no text"), Notice(None, "the window is full")
    assert str(about_a_line) == "line 3 has no text"
    assert str(about_none) == "the window is full"
    assert about_a_line.after(1024) == Notice(1027, "has no text")
    assert about_none.after(1024) == about_none


def test_each_notice_of_a_call_names_its_line(copy_run, classifier_run):  # noqa: F811
    said: list[Notice] = []
    jumok.load(copy_run).answers(["a b", "c " * 60, "", "d " * 70], warn=said.append)
    assert [notice.line for notice in said] == [2, 4]
    assert said[0].text.startswith("has 61 tokens, the model takes 40: cut after")
    said.clear()
    jumok.load(classifier_run).classify(["a film", "", " "], warn=said.append)
    assert [notice.line for notice in said] == [2, 3]
