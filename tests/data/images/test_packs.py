"""Files of many images whose parts do not belong together: told in a sentence, before anything is decoded."""

import gzip
import io
import random

import numpy as np
import pytest
from PIL import Image

from jumok import reading
from jumok.data.images import packs
from jumok.data.images.decode import BrokenImageError
from jumok.data.images.packs import open_pack
from jumok.errors import DataError

PIXELS = np.random.default_rng(1).integers(0, 256, (5, 7, 3), dtype=np.uint8)


def encoded(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


PARTS = [encoded(PIXELS[:, :width]) for width in (3, 5, 7)]
OFFSET = np.cumsum([0, *map(len, PARTS)])
IMAGES = {"x": np.stack([PIXELS] * 3), "y": np.array([0, 1, 0]), "classes": np.array(["cat", "dog"])}
ENCODED = {
    "jpeg": np.frombuffer(b"".join(PARTS), np.uint8),
    "offset": OFFSET,
    "label": np.array([0, 1, 0]),
    "classes": np.array(["cat", "dog"]),
}


@pytest.mark.parametrize(
    ("arrays", "changed", "why"),
    [
        (IMAGES, {"classes": np.array(["cat"])}, "the classes of images go from 0 to 1, and classes has 1 name; numbers from 0 on"),
        (IMAGES, {"y": np.array([0, -1, 0])}, "the classes of images go from -1 to 0, and classes has 2 names"),
        (IMAGES, {"y": np.array([0.0, 1.0, 0.0])}, "the classes of images are of the type float64; numbers from 0 on are needed"),
        (IMAGES, {"y": np.array([[0], [1], [0]])}, "y has the shape (3, 1); one dimension is needed"),
        (IMAGES, {"y": np.array(3)}, "y has the shape (); one dimension is needed"),
        (IMAGES, {"classes": np.array([["cat", "dog"]])}, "classes has the shape (1, 2); one dimension is needed"),
        (IMAGES, {"y": np.array([{}, 1, 2], dtype=object)}, "y.npy holds object, not numbers or texts"),
        (IMAGES, {"x": np.array(["a", "b", "c"])}, "pixels are of the type <U1; numbers are needed"),
        (IMAGES, {"x": np.zeros((3, 0, 4), np.uint8)}, "its images have 0 × 4 pixels"),
        (IMAGES, {"y": np.array([0, 1])}, "has 3 images and 2 classes; as many are needed"),
        (ENCODED, {"offset": OFFSET.astype(np.float64)}, "offset has the shape (4,) and the type float64; a list of int64 is needed"),
        (ENCODED, {"offset": OFFSET[[0, 2, 1, 3]]}, f"offset goes from 0 to {OFFSET[-1]}, and jpeg has {OFFSET[-1]} bytes; offsets must grow"),
        (ENCODED, {"offset": OFFSET + 1}, f"offset goes from 1 to {OFFSET[-1] + 1}, and jpeg has {OFFSET[-1]} bytes; offsets must grow"),
        (ENCODED, {"offset": OFFSET - 1}, f"offset goes from -1 to {OFFSET[-1] - 1}, and jpeg has"),
        (ENCODED, {"jpeg": ENCODED["jpeg"].astype(np.int64)}, "jpeg is of the type int64; the bytes of all images are needed, as uint8"),
        (ENCODED, {"label": np.array([0, 1, 2])}, "the classes of images go from 0 to 2, and classes has 2 names"),
    ],
)  # fmt: skip
def test_parts_that_do_not_belong_together(tmp_path, arrays, changed, why):
    np.savez(tmp_path / "a.npz", **arrays)
    good = open_pack(tmp_path / "a.npz")
    assert good.labels == ["cat", "dog", "cat"]
    assert [good.image(number, 0).size for number in range(3)][2] == (7, 5)
    np.savez(tmp_path / "b.npz", **(arrays | changed))
    with pytest.raises(DataError) as told:
        open_pack(tmp_path / "b.npz")
    assert why in str(told.value)


def idx(*shape, pixels=b""):
    return bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes() + pixels


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (idx(2, 3, 3, pixels=b"x" * 17), "is cut off: 18 bytes were announced, 17 are there"),
        (idx(2, 3, 3, pixels=b"x" * 1900), "is cut off: 18 bytes were announced, more are there"),
        (idx(70_000, 70_000, 70_000), "announces 343,000,000,000,000 bytes, and a file of its size may hold 536,870,912 at most"),
        (idx(2, 0, 3), "cannot be read (its images have 0 × 3 pixels)"),
        (b"\0\0\x08", "is no IDX file of bytes in 3 dimensions"),
    ],
)  # fmt: skip
def test_idx_files_are_read_as_far_as_they_announce(tmp_path, content, why, end):
    path = tmp_path / f"a-idx3{end}"
    path.write_bytes(gzip.compress(content) if end else content)
    with pytest.raises(DataError) as told:
        open_pack(path)
    assert why in str(told.value)


def test_a_gz_of_cifar_is_bounded(tmp_path, monkeypatch):
    path = tmp_path / "a.bin.gz"
    path.write_bytes(gzip.compress(bytes(3073 * 20)))
    assert open_pack(path).count == 20
    packs.open_pack.cache_clear()
    monkeypatch.setattr(reading, "LARGEST", 3073 * 19)
    with pytest.raises(DataError, match=r"cannot be read \(its \d+ bytes unpack to more than 58,387\)"):
        open_pack(path)


def test_names_of_cifars_classes_in_another_encoding(tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(3073))
    (tmp_path / "batches.meta.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(DataError, match=r"batches\.meta\.txt cannot be read \(line 1 is not UTF-8"):
        open_pack(tmp_path / "a.bin")


def test_whatever_is_damaged_ends_in_a_sentence(tmp_path):
    rng, goods = random.Random(5), []
    for arrays in (IMAGES, ENCODED):
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        goods.append(("a.npz", buffer.getvalue()))
    goods.append(("a-idx3.gz", gzip.compress(idx(2, 3, 3, pixels=b"x" * 18))))
    for _ in range(200):
        name, good = rng.choice(goods)
        damaged = bytearray(good)
        for _ in range(rng.choice([1, 1, 9])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        (tmp_path / name).write_bytes(damaged[: rng.choice([len(damaged), rng.randrange(len(damaged))])])
        packs.open_pack.cache_clear()
        try:
            pack = open_pack(tmp_path / name)
            for number in range(pack.count):
                pack.image(number, 0)
        except (DataError, BrokenImageError):
            pass
