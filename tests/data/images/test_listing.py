"""Images from folders, tables, .npz, IDX and CIFAR files: the same entries whatever they come from."""

import gzip
import json
from functools import partial

import numpy as np
import pytest
from PIL import Image

from jumok.config import ImageFiles
from jumok.data.files import find_file
from jumok.data.images.listing import list_images, load_entry
from jumok.data.images.packs import as_pixels
from jumok.errors import DataError

PIXELS = np.random.default_rng(1).integers(0, 256, (6, 9, 7, 3), dtype=np.uint8)
CLASSES = ["cat", "dog", "cat", "dog", "dog", "cat"]


def listed(folder, **files):
    return list_images(ImageFiles(**files), partial(find_file, folders=[folder]))


def same(listing, pixels=PIXELS, classes=CLASSES):
    assert sorted(entry.label for entry in listing.entries) == sorted(classes)
    found = {np.asarray(load_entry(entry)).tobytes(): entry.label for entry in listing.entries}
    assert found == {image.tobytes(): label for image, label in zip(pixels, classes, strict=True)}


def write_folders(folder):
    for number, (pixels, label) in enumerate(zip(PIXELS, CLASSES, strict=True)):
        (folder / label / "deep").mkdir(parents=True, exist_ok=True)
        place = folder / label / ("deep" if number == 3 else "") / f"{number}.PNG"
        Image.fromarray(pixels).save(place)
    return folder


def test_class_folders(tmp_path):
    listing = listed(tmp_path, file=str(write_folders(tmp_path / "all")))
    same(listing)
    assert listing.notes == []
    assert listing.entries[0].name == "cat/0.PNG"


def test_a_folder_without_images_is_no_class(tmp_path):
    folder = write_folders(tmp_path / "all")
    (folder / "bird").mkdir()
    (folder / ".hidden").mkdir()
    (folder / "notes.txt").write_text("x")
    Image.fromarray(PIXELS[0]).save(folder / "stray.png")
    listing = listed(tmp_path, file="all")
    same(listing)
    assert listing.notes == [
        f"the folder bird of {folder} has no images: there is no such class",
        f"1 image of {folder} stands in no class folder and is left out",
    ]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_tables(tmp_path, kind):
    write_folders(tmp_path)
    rows = [(f"{label}/{'deep/' if n == 3 else ''}{n}.PNG", label, "train" if n < 4 else "val") for n, label in enumerate(CLASSES)]  # fmt: skip
    if kind == "jsonl":
        text = "".join(json.dumps(dict(zip(("path", "kind", "part"), row, strict=True))) + "\n" for row in rows)
    else:
        mark = "," if kind == "csv" else "\t"
        text = "\n".join(mark.join(row) for row in [("path", "kind", "part"), *rows]) + "\n"
    (tmp_path / f"list.{kind}").write_text(text, encoding="utf-8")
    columns = {"image": "path", "label": "kind"}
    same(listed(tmp_path, file=f"list.{kind}", **columns))
    train = listed(tmp_path, file=f"list.{kind}", split_column="part", split="train", **columns)
    val = listed(tmp_path, file=f"list.{kind}", split_column="part", split="val", **columns)
    same(train, PIXELS[:4], CLASSES[:4])
    same(val, PIXELS[4:], CLASSES[4:])
    with pytest.raises(DataError, match="holds no images"):
        listed(tmp_path, file=f"list.{kind}", split_column="part", split="nothing", **columns)


@pytest.mark.parametrize(
    ("values", "notes"),
    [
        (PIXELS, 0),
        (PIXELS.astype(np.float32), 0),
        (PIXELS.astype(np.float64) / 255, 1),
        (PIXELS.transpose(0, 3, 1, 2), 1),
        (PIXELS.transpose(0, 3, 1, 2).astype(np.float32) / 255, 2),
    ],
    ids=["bytes", "floats", "0 to 1", "channels first", "both"],
)
def test_npz_of_any_order_and_range(tmp_path, values, notes):
    np.savez(tmp_path / "set.npz", x=values, y=np.array([0, 1, 0, 1, 1, 0]), classes=np.array(["cat", "dog"]))
    listing = listed(tmp_path, file="set.npz")
    same(listing)
    assert len(listing.notes) == notes


def test_grey_npz_and_numbers_as_classes(tmp_path):
    np.savez(tmp_path / "set.npz", x=PIXELS[..., :1], y=np.array([4, 11, 4, 11, 11, 4], dtype=np.uint8))
    same(listed(tmp_path, file="set.npz"), PIXELS[..., 0], ["4", "11", "4", "11", "11", "4"])


@pytest.mark.parametrize(("values", "why"), [
    (np.zeros((2, 5)), "images have the shape"),
    (np.zeros((2, 5, 5, 2)), "images have the shape"),
    (np.zeros((2, 3, 4, 3)), "channels first or last"),
    (np.full((2, 5, 5), -1.5), "Are they normalised already"),
    (np.full((2, 5, 5), 300.0), "Are they normalised already"),
    (np.full((2, 5, 5), np.nan), "Are they normalised already"),
])  # fmt: skip
def test_pixels_that_would_be_misread_are_refused(values, why):
    with pytest.raises(DataError, match=why):
        as_pixels(values, "set.npz")


def test_jpeg_bytes_with_offsets(tmp_path):
    import io

    parts = []
    for pixels in PIXELS:
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "PNG")  # any encoding that can be read
        parts.append(buffer.getvalue())
    offset = np.cumsum([0, *map(len, parts)])
    content = np.frombuffer(b"".join(parts), np.uint8)
    labels = np.array([0, 1, 0, 1, 1, 0], dtype=np.uint8)
    np.savez(tmp_path / "set.npz", jpeg=content, offset=offset, label=labels, classes=np.array(["cat", "dog"]))
    same(listed(tmp_path, file="set.npz"))
    np.savez(tmp_path / "short.npz", jpeg=content, offset=offset[:-1], label=labels)
    with pytest.raises(DataError, match="5 images and 6 classes; as many"):
        listed(tmp_path, file="short.npz")


@pytest.mark.parametrize("packed", [False, True])
def test_idx_files(tmp_path, packed):
    grey = PIXELS[..., 0]
    images = bytes([0, 0, 8, 3]) + np.array(grey.shape, ">u4").tobytes() + grey.tobytes()
    labels = bytes([0, 0, 8, 1]) + np.array([6], ">u4").tobytes() + bytes([7, 2, 7, 2, 2, 7])
    end, pack = (".gz", gzip.compress) if packed else ("", bytes)
    (tmp_path / f"train-images-idx3-ubyte{end}").write_bytes(pack(images))
    (tmp_path / f"train-labels-idx1-ubyte{end}").write_bytes(pack(labels))
    same(listed(tmp_path, file=f"train-images-idx3-ubyte{end}"), grey, ["7", "2", "7", "2", "2", "7"])
    (tmp_path / f"other{end}").write_bytes(pack(labels))
    (tmp_path / f"train-labels-idx1-ubyte{end}").unlink()
    name = f"train-images-idx3-ubyte{end}"
    same(listed(tmp_path, file=name, labels_file=f"other{end}"), grey, ["7", "2", "7", "2", "2", "7"])


def test_broken_idx_files(tmp_path):
    (tmp_path / "a-idx3").write_bytes(bytes([0, 0, 8, 3]) + np.array([2, 3, 3], ">u4").tobytes() + b"x" * 17)
    with pytest.raises(DataError, match="is cut off: 18 bytes were announced, 17 are there"):
        listed(tmp_path, file="a-idx3")
    (tmp_path / "b-idx3").write_bytes(b"hello, this is no such file")
    with pytest.raises(DataError, match="is no IDX file"):
        listed(tmp_path, file="b-idx3")
    (tmp_path / "c-idx3").write_bytes(bytes([0, 0, 8, 3]) + np.array([2, 3, 3], ">u4").tobytes() + b"x" * 18)
    with pytest.raises(DataError, match="name it in labels_file"):
        listed(tmp_path, file="c-idx3")


@pytest.mark.parametrize("marks", [1, 2])
def test_cifar_batches(tmp_path, marks):
    images = np.random.default_rng(2).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    numbers = [1, 0, 0, 1]
    rows = [bytes([9] * (marks - 1) + [number]) + image.transpose(2, 0, 1).tobytes() for number, image in zip(numbers, images, strict=True)]  # fmt: skip
    names = tmp_path / ("batches.meta.txt" if marks == 1 else "fine_label_names.txt")
    names.write_text("cat\ndog\n\n")
    (tmp_path / "data_batch_1.bin").write_bytes(b"".join(rows[:2]))
    (tmp_path / "data_batch_2.bin").write_bytes(b"".join(rows[2:]))
    wanted = ["dog", "cat", "cat", "dog"]
    same(listed(tmp_path, file="data_batch_2.bin"), images[2:], wanted[2:])
    same(listed(tmp_path.parent, file=tmp_path.name), images, wanted)
    (tmp_path / "cut.bin").write_bytes(rows[0][:-5])
    with pytest.raises(DataError, match="no whole number of CIFAR's images"):
        listed(tmp_path, file="cut.bin")


@pytest.mark.parametrize(("name", "content", "why"), [
    ("set.npz", b"no archive", "cannot be read"),
    ("set.npz", None, "x .images. and y .classes. are needed"),
    ("data_batch_1", b"\x80\x04", "is a pickle, which could run any program"),
    ("set.zip", b"PK", "is no source of images that jumok knows"),
])  # fmt: skip
def test_other_files_are_refused_in_a_sentence(tmp_path, name, content, why):
    if content is None:
        np.savez(tmp_path / name, images=PIXELS)
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=why):
        listed(tmp_path, file=name)


def test_a_folder_of_nothing_and_one_without_classes(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no images"):
        listed(tmp_path, file="empty")
    Image.fromarray(PIXELS[0]).save(tmp_path / "empty" / "a.png")
    with pytest.raises(DataError, match="put each class into a folder of its name"):
        listed(tmp_path, file="empty")
