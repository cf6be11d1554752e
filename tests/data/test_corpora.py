"""What corpora of every kind do alike: which examples a split has, how missing files are told, how stores are named."""

import pytest
from PIL import Image

from jumok.cache import cache_entries
from jumok.config import ImageData, LabelledData, ParallelData, TextData, TokenizerConfig
from jumok.data.corpora import Corpora, by_title, data_folders
from jumok.data.fetch import data_home
from jumok.data.images.image_corpora import ImageCorpora
from jumok.data.text.documents import TextCorpora
from jumok.data.text.labelled import LabelledCorpora
from jumok.data.text.parallel import ParallelCorpora
from jumok.errors import DataError, RunError

BYTES = TokenizerConfig(kind="byte")


def pairs(place, **data):
    return ParallelCorpora(ParallelData.parse(data, "data"), BYTES, [place])


def text(place, **data):
    return TextCorpora(TextData.parse({"documents": "line"} | data, "data"), BYTES, [place])


def labelled(place, **data):
    return LabelledCorpora(LabelledData.parse(data, "data"), BYTES, [place])


def images(place, **data):
    return ImageCorpora(ImageData.parse(data, "data"), [place])


KINDS = [pairs, text, labelled, images]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))


def write(folder, make, count=60):
    """Write a source of count examples for a kind of corpora and return it as a recipe names it."""
    folder.mkdir(parents=True, exist_ok=True)
    if make is images:
        for number in range(count):
            place = folder / "shown" / "ab"[number % 2]
            place.mkdir(parents=True, exist_ok=True)
            Image.new("L", (4, 4), number).save(place / f"{number}.png")
        return {"file": "shown"}
    rows = [f"text {number}\t{'ab'[number % 2]}" for number in range(count)]
    (folder / "rows.tsv").write_text("\n".join(rows) + "\n")
    return {"file": "rows.tsv"}


@pytest.mark.parametrize("make", KINDS)
def test_without_val_files_some_of_train_are_held_out(make, tmp_path):
    source = write(tmp_path, make)
    whole, divided = make(tmp_path, train=[source], val=[source]), make(tmp_path, train=[source])
    assert isinstance(divided, Corpora)
    (held,) = divided.evaluation("val").values()
    (everything,) = whole.evaluation("val").values()
    count = (lambda store: store.documents) if make is text else len
    assert count(divided.train) + count(held) == count(whole.train) == count(everything) == 60
    assert 1 <= count(held) <= 12
    assert whole.fingerprint != divided.fingerprint


@pytest.mark.parametrize("make", KINDS)
def test_a_split_without_data_says_what_to_add(make, tmp_path):
    with pytest.raises(DataError, match=r"the recipe has no test data; add test = .* to \[data\], or give --source"):
        make(tmp_path, train=[write(tmp_path, make)]).evaluation("test")


@pytest.mark.parametrize("make", KINDS)
def test_a_missing_file_is_told_with_the_public_home_of_its_set(make, tmp_path):
    with pytest.raises(DataError, match=r"none\.tsv was not found; looked at") as error:
        _ = make(tmp_path, train=[{"file": "none.tsv"}]).train
    assert "public home" not in str(error.value)
    with pytest.raises(DataError, match="This set has a public home: jumok fetch multi30k"):
        _ = make(tmp_path, train=[{"file": "none.tsv"}], folder="multi30k").train


@pytest.mark.parametrize("make", KINDS)
def test_files_of_one_name_go_by_their_whole_paths(make, tmp_path):
    sources = []
    for name in ("one", "two"):
        source = write(tmp_path / name, make, count=24)
        sources.append({"file": f"{name}/{source['file']}"})
    found = make(tmp_path, train=sources, val=sources).evaluation("val")
    assert list(found) == [source["file"] for source in sources]
    named = make(tmp_path, train=sources, val=[sources[0], sources[1] | {"name": "other"}]).evaluation("val")
    assert list(named) == [sources[0]["file"].rsplit("/", 1)[-1], "other"]


@pytest.mark.parametrize("make", KINDS)
def test_a_second_time_everything_comes_from_the_cache(make, tmp_path):
    source, kept = write(tmp_path, make), []
    for _ in range(2):
        corpora = make(tmp_path, train=[source])
        _ = corpora.train, corpora.evaluation("val"), corpora.fingerprint
        kept.append({entry.name for entry in cache_entries()})
    assert kept[0] == kept[1]
    assert all(len(name.rpartition("-")[2]) == 32 for name in kept[0])


@pytest.mark.parametrize("make", [pairs, text, labelled])
def test_what_a_run_may_have_learnt_is_not_held_out_for_it(make, tmp_path):
    source = write(tmp_path, make)
    trained_on = make(tmp_path, train=[source]).fingerprint
    make(tmp_path, train=[source]).refuse_learnt_val(trained_on)
    make(tmp_path, train=[source]).refuse_learnt_val(None)
    write(tmp_path, make, count=61)
    with pytest.raises(RunError, match=r"val is held out of the training data, which is not .* or give --source"):
        make(tmp_path, train=[source]).refuse_learnt_val(trained_on)
    make(tmp_path, train=[source], val=[source]).refuse_learnt_val(trained_on)


def test_images_are_held_out_by_name_whatever_their_date(tmp_path):
    source = write(tmp_path, images)
    trained_on = images(tmp_path, train=[source]).fingerprint
    write(tmp_path, images)
    assert images(tmp_path, train=[source]).fingerprint != trained_on
    images(tmp_path, train=[source]).refuse_learnt_val(trained_on)


def test_titles_are_short_where_they_differ(tmp_path):
    files = TextData(train=["a/x.txt", "b/y.txt"]).files("train")
    assert by_title(files, lambda file: file.file) == {"x.txt": "a/x.txt", "y.txt": "b/y.txt"}


def test_folders_come_in_the_order_of_how_near_the_user_named_them(tmp_path, monkeypatch):
    for name in ("given", "environment", "recipes", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("JUMOK_DATA", str(tmp_path / "environment"))
    monkeypatch.chdir(tmp_path / "here")
    found = data_folders(tmp_path / "given", "", tmp_path / "recipes/mine.toml")
    assert found == [*(tmp_path / name for name in ("given", "environment", "recipes", "here")), data_home().absolute()]
    named = data_folders(tmp_path / "given", "multi30k", tmp_path / "recipes/mine.toml")
    assert named[:2] == [tmp_path / "given/multi30k", tmp_path / "given"]
    assert named[-1] == data_home().absolute() / "multi30k"
    assert [folder for folder in named if folder.name != "multi30k"] == found[:-1]
    monkeypatch.delenv("JUMOK_DATA")
    assert data_folders(None, "", None) == [tmp_path / "here", data_home().absolute()]
