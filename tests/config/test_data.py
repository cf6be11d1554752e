"""What every [data] section can say: its files, its set, whether it holds out."""

import pytest

from jumok.catalogue import TASKS, task_class
from jumok.config import Corpus, DataConfig, ImageData, ImageFiles, LabelledData, ParallelData, TextData


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_files_for_each_split_in_a_folder(task):
    section = task_class(task).Data
    assert issubclass(section, DataConfig)
    file = {"source": "x", "target": "y"} if section is ParallelData else {"file": "x"}
    data = section(train=[file], test=[file, file], folder="here")
    assert [len(data.files(split)) for split in ("train", "val", "test")] == [1, 0, 2]
    assert (data.folder, data.built_in, data.languages) == ("here", "", [])
    assert data.holds_out
    assert not section(train=[file], val=[file]).holds_out


def test_a_built_in_set_holds_nothing_out_of_itself():
    for data in (ParallelData(set="copy"), TextData(set="stdlib"), ImageData(set="shapes")):
        assert data.built_in == data.set
        assert not data.holds_out
    assert LabelledData(train=[{"file": "x"}]).built_in == ""


def test_titles_of_files():
    assert ImageFiles(file="a/b/").title == "b"
    assert ImageFiles(file="a/b/").full_title == "a/b/"
    corpus = Corpus(source="a/x", target="a/y", to="ko")
    assert (corpus.title, corpus.full_title) == ("x → ko", "a/x → ko")
    assert Corpus(set="phrasebook", name="mine").full_title == "mine"
