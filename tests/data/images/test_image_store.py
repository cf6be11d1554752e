"""Images decoded once: in order, whole, with mean and deviation; what is broken is named; divisions are by name."""

import os
import signal

import numpy as np
import pytest
from children import children
from PIL import Image

from jumok.cache import cached_folder
from jumok.config import ImageData
from jumok.data.images import image_store as image_store
from jumok.data.images.image_corpora import ImageCorpora
from jumok.data.images.image_store import ImageStore, LabelledImageStore, build_classes, build_image_store
from jumok.data.images.listing import ImageEntry, load_entry
from jumok.errors import ConfigError, DataError


@pytest.fixture
def entries(tmp_path):
    """Return entries of grey images whose tone is their number."""
    found = []
    for number in range(40):
        path = tmp_path / f"{number}.png"
        Image.new("L", (5 + number % 3, 6), number * 6).save(path)
        found.append(ImageEntry(path.name, "even" if number % 2 == 0 else "odd", path))
    return found


def build(entries, folder, **changes):
    folder.mkdir()
    options = {"size": 4, "channels": 1, "fit": "crop", "progress": lambda done: None} | changes
    build_image_store(entries, folder, **options)
    return ImageStore(folder)


def labelled(images, entries, labels, folder):
    folder.mkdir()
    build_classes(images, entries, labels, folder)
    return LabelledImageStore.open(images, folder)


def share_among_processes(monkeypatch):
    monkeypatch.setattr(image_store, "CHUNK", 7)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})


@pytest.mark.parametrize("processes", [False, True])
def test_images_stand_in_their_order(entries, tmp_path, monkeypatch, processes):
    if processes:
        share_among_processes(monkeypatch)
    done = []
    store = build(entries, tmp_path / "store", progress=done.append)
    assert store.pixels.shape == (40, 4, 4, 1)
    assert store.pixels[:, 0, 0, 0].tolist() == [number * 6 for number in range(40)]
    assert store.names == [f"{number}.png" for number in range(40)]
    assert labelled(store, entries, ["even", "odd"], tmp_path / "classes").classes.tolist() == [0, 1] * 20
    assert done[-1] == 40
    assert store.mean == pytest.approx([np.mean(np.arange(40) * 6 / 255)], abs=1e-6)
    assert store.deviation == pytest.approx([np.std(np.arange(40) * 6 / 255)], abs=1e-6)


def test_broken_exif_is_no_broken_image(entries, tmp_path):
    Image.new("L", (5, 6), 30).save(entries[5].source, exif=b"II*\0\xff\xff\xff\xff")
    store = build(entries, tmp_path / "store")
    assert len(store) == 40
    assert store.pixels[5, 0, 0, 0] == 30


def test_a_process_that_dies_while_it_decodes_is_told_and_leaves_no_store(entries, tmp_path, monkeypatch):
    def draw(entry, *, least=0):
        if entry.name == "20.png":
            os.kill(os.getpid(), signal.SIGKILL)
        return load_entry(entry)

    share_among_processes(monkeypatch)
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"a process that decodes images died.*taskset -c 0 before the command"):
        cached_folder(
            "images-1",
            lambda folder: build_image_store(
                entries, folder, size=4, channels=1, fit="crop", progress=lambda done: None, draw=draw
            ),
        )
    assert not list((tmp_path / "cache").iterdir())
    assert not children()


def test_broken_images_are_named_and_counted(entries, tmp_path):
    for number in (3, 4, 8, 11, 20, 33, 39):
        entries[number].source.write_bytes(b"no image")
    entries[5].source.unlink()
    store = build(entries, tmp_path / "store")
    assert len(store) == 32
    assert store.broken == 8
    assert store.named[0] == ["3.png", "no image that can be read"]
    assert len(store.named) == 5
    assert 18 not in store.pixels[:, 0, 0, 0]


def test_nothing_but_broken_images(entries, tmp_path):
    for entry in entries:
        entry.source.write_bytes(b"no image")
    with pytest.raises(DataError, match=r"none of 40 images can be used; 0\.png: no image that can be read"):
        build(entries, tmp_path / "store")


def test_a_damaged_store_is_told(entries, tmp_path):
    build(entries, tmp_path / "store")
    content = (tmp_path / "store" / "pixels").read_bytes()
    (tmp_path / "store" / "pixels").write_bytes(content[:-3])
    with pytest.raises(DataError, match=r"is damaged \(pixels has 637 bytes, not 640\); run jumok cache --clear"):
        ImageStore(tmp_path / "store")


def test_classes_belong_to_the_images_that_are_left(entries, tmp_path):
    for number in (0, 3, 4):
        entries[number].source.write_bytes(b"no image")
    images = build(entries, tmp_path / "store")
    assert images.names[:3] == ["1.png", "2.png", "5.png"]
    store = labelled(images, entries, ["odd", "even"], tmp_path / "classes")
    assert store.classes[:4].tolist() == [0, 1, 0, 1]
    assert len(store) == len(images) == 37
    assert (store.broken, store.named, store.names) == (3, images.named, images.names)
    assert store.pixels is images.pixels
    assert (store.mean, store.deviation) == (images.mean, images.deviation)


def test_classes_that_do_not_fit_the_images_are_told(entries, tmp_path):
    images = build(entries, tmp_path / "store")
    labelled(images, entries, ["even", "odd"], tmp_path / "classes")
    (tmp_path / "classes" / "classes").write_bytes(bytes(4 * 39))
    with pytest.raises(DataError, match=r"is damaged \(39 classes for 40 images\); run jumok cache --clear"):
        LabelledImageStore.open(images, tmp_path / "classes")


def write_classes(folder, count=60):
    for number in range(count):
        place = folder / "all" / ("dark" if number % 2 else "light")
        place.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (6, 6), (number, 0, 255 if number % 2 else 0)).save(place / f"{number}.png")


def corpora(folder, **data):
    return ImageCorpora(ImageData(train=[{"file": "all"}], **data), [folder])


def tones(store):
    return set(store.pixels[:, 0, 0, 0].tolist())


def test_held_out_images_are_drawn_by_name(tmp_path):
    write_classes(tmp_path)
    first = corpora(tmp_path, hold_out=12)
    train, held = tones(first.train), tones(first.evaluation("val")["held out"])
    assert len(held) == 12
    assert train | held == set(range(60))
    assert not train & held
    (tmp_path / "all" / "dark" / "61.png").write_bytes((tmp_path / "all" / "dark" / "1.png").read_bytes())
    again = corpora(tmp_path, hold_out=12)
    assert len(tones(again.evaluation("val")["held out"]) & held) >= 10, "a new image hardly changes the draw"


def test_a_limit_draws_some(tmp_path):
    write_classes(tmp_path)
    some, more = (tones(corpora(tmp_path, limit=count, hold_out=10).train) for count in (8, 20))
    assert len(some) == 8
    assert some < more, "a larger limit adds to the smaller one"
    with pytest.raises(ConfigError, match=r"data\.limit = 99, but there are only 50"):
        _ = corpora(tmp_path, limit=99, hold_out=10).train


def test_the_shape_is_that_of_the_first_image_that_opens(tmp_path):
    write_classes(tmp_path)
    assert corpora(tmp_path).image_shape == (6, 3)
    assert corpora(tmp_path, size=9).image_shape == (9, 3)
    assert corpora(tmp_path, channels=1).image_shape == (6, 1)
    for file in sorted((tmp_path / "all" / "dark").iterdir())[:3]:
        file.write_bytes(b"broken")
    assert corpora(tmp_path).image_shape == (6, 3)


def test_the_cache_knows_a_changed_file(tmp_path):
    write_classes(tmp_path)
    before = corpora(tmp_path)
    key, red = before.fingerprint, before.train.pixels[0, 0, 0, 2]
    Image.new("RGB", (6, 6), (0, 0, 99)).save(sorted((tmp_path / "all" / "dark").iterdir())[0])
    after = corpora(tmp_path)
    assert after.fingerprint != key
    assert 99 in after.train.pixels[:, 0, 0, 2] or 99 in after.evaluation("val")["held out"].pixels[:, 0, 0, 2]
    assert red != 99


def test_numbers_are_sorted_as_numbers(tmp_path):
    for name in ("10", "9", "2"):
        (tmp_path / "all" / name).mkdir(parents=True)
        Image.new("L", (4, 4)).save(tmp_path / "all" / name / "a.png")
    assert corpora(tmp_path).labels == ["2", "9", "10"]


def test_other_labels_decode_no_image_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    write_classes(tmp_path)
    rows = [f"{path.relative_to(tmp_path)},{path.parent.name}" for path in sorted((tmp_path / "all").rglob("*.png"))]
    told = []

    def table(name, labels):
        changed = [row.rsplit(",", 1)[0] + f",{label}" for row, label in zip(rows, labels, strict=True)]
        (tmp_path / f"{name}.csv").write_text("image,label\n" + "\n".join(changed) + "\n")
        source = {"file": f"{name}.csv", "image": "image", "label": "label"}
        data = ImageData(train=[source], val=[source])
        return ImageCorpora(data, [tmp_path], lambda what, done: told.append(what))

    first = table("first", ["a", "b"] * 30)
    assert first.train.classes.tolist() == [0, 1] * 30
    assert told
    told.clear()
    second = table("second", ["c", "a", "b"] * 20)
    assert second.train.classes.tolist() == [2, 0, 1] * 20
    assert second.train.images.folder == first.train.images.folder
    assert not told
    assert second.fingerprint != first.fingerprint, "a run on other labels is another run"


def test_what_was_decoded_before_captions_came_is_found_again():
    """Recorded before decoding moved to a file of its own: a user's cache stays worth what it is."""
    corpora = ImageCorpora(ImageData(set="shapes", set_size=40), [])
    assert corpora.train.images.folder.name == "images-258f6cb36f7ee31afca46beab6ab7885"
    assert corpora.fingerprint == "data-41342548cafde38e80ba00c8aacf04e3"
