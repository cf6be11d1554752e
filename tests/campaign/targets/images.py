"""Images, alone and many in a file, and the captions that describe them."""

import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import jumok
from campaign.target import Given, Target
from campaign.targets import runs
from campaign.targets.tables import OF_DATA, write_table
from jumok import api
from jumok.runs.job import prepare
from jumok.runs.run import load_recipe

COUNT, SIDE = 24, 12
SUFFIXES = ("png", "jpg", "webp", "bmp", "gif", "tif", "ppm", "pgm")
EXIF = {0x010E: "a description", 0x0112: 6, 0x0132: "2024:01:01 10:00:00"}  # which way is up, above all


def pixels(*, count: int = COUNT, side: int = SIDE) -> np.ndarray[Any, Any]:
    """Return images (N, H, W, 3)."""
    return np.random.default_rng(5).integers(0, 256, (count, side, side, 3), dtype=np.uint8)


CLASSES = np.arange(COUNT) % 3


def save_image(values: np.ndarray[Any, Any], path: Path) -> None:
    """Write an image in the format that its name says, with EXIF where it has a place for that."""
    exif = Image.Exif()
    exif.update(EXIF)
    kept = {"exif": exif} if path.suffix in (".png", ".jpg", ".webp", ".tif") else {}
    Image.fromarray(values).convert("L" if path.suffix == ".pgm" else "RGB").save(path, **kept)


def write_images(folder: Path) -> None:
    """Write an image of each format: in grey, in colour, of several modes."""
    for number, suffix in enumerate(SUFFIXES):
        save_image(pixels()[number], folder / f"image.{suffix}")
    image = Image.fromarray(pixels()[9])
    image.convert("P").save(folder / "palette.png", transparency=0)
    image.convert("I;16").save(folder / "deep.png")
    image.convert("CMYK").save(folder / "print.jpg")
    image.save(folder / "packed.tiff", compression="tiff_lzw")
    image.save(folder / "moving.gif", save_all=True, append_images=[image.rotate(90)])


def make_classifier(folder: Path) -> None:
    runs.trained(runs.VIT)(folder)
    (folder / "images").mkdir()
    write_images(folder / "images")


def classify_image(given: Given) -> None:
    """Name the class of an image."""
    jumok.load(given.folder / "run", jumok.ImageClassifier).classify(given.file)


def make_folders(folder: Path) -> None:
    """Write a folder for each class."""
    for number, values in enumerate(pixels()):
        place = folder / "train" / f"class{number % 3}" / f"{number}.{SUFFIXES[number % len(SUFFIXES)]}"
        place.parent.mkdir(parents=True, exist_ok=True)
        save_image(values, place)


def _prepare(given: Given, recipe: dict[str, Any], **train: Any) -> None:
    data = {"train": train, "loaders": 0, "size": 8, "channels": 3, "hold_out": 4}
    ready = prepare(
        load_recipe(recipe | {"data": data | ({"max_length": 20} if "tokenizer" in recipe else {})}),
        path=None,
        data=given.folder,
    )
    ready.task.batches().take().part(0, 1)


def prepare_images(name: str, **more: Any) -> Callable[[Given], None]:
    """Return what reads images and their classes from a file or a folder, and takes a batch."""
    return lambda given: _prepare(given, runs.VIT, file=name, **more)


def prepare_captions(name: str = "", **more: Any) -> Callable[[Given], None]:
    """Return what reads captions and their images, and takes a batch."""
    return lambda given: _prepare(given, runs.CAPTIONER, file=name or given.file.name, **more)


def make_table(folder: Path) -> None:
    """Write images, and tables that name them and their classes."""
    make_folders(folder)
    files = sorted((folder / "train").rglob("*.*"))
    rows = [(file.relative_to(folder).as_posix(), file.parent.name) for file in files]
    for suffix in (".csv", ".jsonl", ".parquet"):
        write_table(folder / f"table{suffix}", ("image", "label"), rows)


def read_table(given: Given) -> None:
    """Read a table of images and their classes, and take a batch."""
    _prepare(given, runs.VIT, file=given.file.name, image="image", label="label")


def make_new(folder: Path) -> None:
    """Write what `jumok new` may be shown of images: an .npz with classes, and captions of another."""
    make_npz(folder)
    np.savez(folder / "photos.npz", x=pixels(count=60))
    (folder / "captions.json").write_text(
        json.dumps([f"{text} of many" for text in CAPTIONS * 3][:60]), encoding="utf-8"
    )


def new_recipe(given: Given) -> None:
    """Let `jumok new` look at images of classes, or at captions and their images."""
    classes = given.file.name == "images.npz"
    data = [given.file] if classes else [given.folder / "captions.json", given.folder / "photos.npz"]
    api.new_recipe(data, out=given.out / "new.toml")
    (given.out / "new.toml").unlink()


def idx(values: np.ndarray[Any, Any]) -> bytes:
    """Return bytes as MNIST's files have them."""
    return (
        bytes([0, 0, 8, values.ndim])
        + struct.pack(f">{values.ndim}I", *values.shape)
        + values.astype(np.uint8).tobytes()
    )


def make_idx(folder: Path) -> None:
    (folder / "train-images-idx3-ubyte").write_bytes(idx(pixels()[..., 0]))
    (folder / "train-labels-idx1-ubyte").write_bytes(idx(CLASSES))


def make_packed_idx(folder: Path) -> None:
    (folder / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(pixels()[..., 0])))
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(CLASSES)))


def make_cifar(folder: Path) -> None:
    images = pixels(side=32).transpose(0, 3, 1, 2).reshape(COUNT, -1)
    content = np.concatenate([CLASSES[:, None].astype(np.uint8), images], axis=1).tobytes()
    (folder / "data_batch_1.bin").write_bytes(content)
    (folder / "batches.meta.txt").write_text("cat\ndog\nbird\n", encoding="utf-8")


def make_npz(folder: Path) -> None:
    np.savez(folder / "images.npz", x=pixels(), y=CLASSES, classes=np.array(["cat", "dog", "bird"]))


def make_jpeg_npz(folder: Path) -> None:
    """Write JPEGs behind each other, and where each begins."""
    contents = []
    for values in pixels():
        save_image(values, folder / "one.jpg")
        contents.append((folder / "one.jpg").read_bytes())
    (folder / "one.jpg").unlink()
    offset = np.cumsum([0, *map(len, contents)])
    names = np.array([f"{number}.jpg" for number in range(COUNT)])
    np.savez(
        folder / "images.npz",
        jpeg=np.frombuffer(b"".join(contents), np.uint8),
        offset=offset,
        label=CLASSES,
        name=names,
    )


CAPTIONS = [
    f"a {word} thing number {number}" for number, word in zip(range(COUNT), ("red", "small", "round") * 8, strict=True)
]


def make_captions(folder: Path) -> None:
    """Write images, and their captions in every format that jumok reads."""
    (folder / "images").mkdir()
    names = [f"{number}.png" for number in range(COUNT)]
    for name, values in zip(names, pixels(), strict=True):
        save_image(values, folder / "images" / name)
    both = list(zip(names, CAPTIONS, strict=True))
    (folder / "flickr.txt").write_text("".join(f"{name}#0\t{text}\n" for name, text in both), encoding="utf-8")
    for suffix in (".csv", ".jsonl", ".parquet"):
        write_table(folder / f"table{suffix}", ("image", "caption"), both)
    coco = {
        "images": [{"id": number, "file_name": name} for number, name in enumerate(names)],
        "annotations": [{"id": number, "image_id": number, "caption": text} for number, text in enumerate(CAPTIONS)],
    }
    sentences = [
        {"filename": name, "split": "train", "sentences": [{"raw": text, "tokens": text.split()}]}
        for name, text in both
    ]
    made = {
        "coco": coco,
        "karpathy": {"images": sentences},
        "names": dict(both),
        "list": [{"image": n, "caption": [t]} for n, t in both],
    }
    for name, content in made.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")


CAPTION_FILES = {
    "*.json": "json",
    "flickr.txt": "text",
    "table.csv": "text",
    "table.jsonl": "jsonl",
    "table.parquet": "bytes",
}


def read_captions(given: Given) -> None:
    """Read captions of whichever format, and take a batch."""
    named = {"image": "image", "caption": "caption"} if given.file.name.startswith(("table", "list")) else {}
    _prepare(given, runs.CAPTIONER, file=given.file.name, images="images", **named)


def make_captioned_npz(folder: Path) -> None:
    np.savez(folder / "images.npz", x=pixels())
    (folder / "captions.json").write_text(json.dumps(CAPTIONS), encoding="utf-8")


TARGETS = [
    Target("image", make_classifier, classify_image, {"images/*": "bytes"}, 1200),
    Target("image-folders", make_folders, prepare_images("train"), {"train/*/*": "bytes"}, 400, OF_DATA),
    Target("image-table", make_table, read_table, {"table.csv": "text", "table.jsonl": "jsonl", "table.parquet": "bytes"}, 400, OF_DATA),
    Target("new-images", make_new, new_recipe, {"*.npz": "npz", "captions.json": "json"}, 300),
    Target("idx", make_idx, prepare_images("train-images-idx3-ubyte"), {"train-*": "bytes"}, 400, OF_DATA),
    Target("idx-gz", make_packed_idx, prepare_images("train-images-idx3-ubyte.gz"), {"train-*": "gzip"}, 400, OF_DATA),
    Target("cifar", make_cifar, prepare_images("data_batch_1.bin"), {"data_batch_1.bin": "bytes", "batches.meta.txt": "text"}, 300, OF_DATA),
    Target("npz", make_npz, prepare_images("images.npz"), {"images.npz": "npz"}, 700, OF_DATA),
    Target("npz-jpeg", make_jpeg_npz, prepare_images("images.npz"), {"images.npz": "npz"}, 400, OF_DATA),
    Target("captions", make_captions, read_captions, CAPTION_FILES, 800, OF_DATA),
    Target("captions-npz", make_captioned_npz, prepare_captions("captions.json", images="images.npz"), {"images.npz": "npz", "captions.json": "json"}, 400, OF_DATA),
]  # fmt: skip
