"""Captions from every format: the same images and captions whatever they come from; what is wrong gets a sentence."""

import csv
import gzip
import io
import json
from functools import partial

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image

from jumok.config import CaptionFiles
from jumok.data.files import find_file
from jumok.data.images.caption_files import read_captions
from jumok.data.images.listing import load_entry
from jumok.data.images.packs import open_pack
from jumok.errors import ConfigError, DataError

few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = ["a.jpg", "b.jpg", "c.jpg"]
SAID = {
    "a.jpg": ["A dog runs .", "One dog"],
    "b.jpg": ['Two "cats", sitting'],
    "c.jpg": ["눈 속의 새", "a bird", "bird"],
}
ROWS = [(name, text) for name, texts in SAID.items() for text in texts]


@pytest.fixture
def folder(tmp_path):
    """Images whose tone is their number, as files and in packs."""
    (tmp_path / "images").mkdir()
    parts = []
    for number, name in enumerate(NAMES):
        image = Image.new("RGB", (7, 5), (number * 40,) * 3)
        image.save(tmp_path / "images" / name)
        parts.append((tmp_path / "images" / name).read_bytes())
    np.savez(
        tmp_path / "pack.npz",
        jpeg=np.frombuffer(b"".join(parts), np.uint8),
        offset=np.cumsum([0, *map(len, parts)]),
        name=np.array(NAMES),
    )
    np.savez(tmp_path / "plain.npz", x=np.stack([np.full((5, 7, 3), number * 40, np.uint8) for number in range(3)]))
    return tmp_path


def listed(folder, *, needed=True, **files):
    return read_captions(CaptionFiles(**files), partial(find_file, folders=[folder]), needed=needed)


def write(folder, name, content):
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return name


def same(listing, said=SAID):
    found = {item.image.name: list(item.captions) for item in listing.items}
    assert found == said
    for item in listing.items:
        tone = np.asarray(load_entry(item.image)).mean()
        assert abs(tone - NAMES.index(item.image.name) * 40) < 3


def as_csv(rows):
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


def coco():
    images = [{"id": 10 + number, "file_name": name, "height": 5} for number, name in enumerate(NAMES)]
    said = [{"id": n, "image_id": 10 + NAMES.index(name), "caption": text} for n, (name, text) in enumerate(ROWS)]
    return {"info": {}, "images": images, "annotations": said}


def karpathy(splits=("train", "restval", "val")):
    return {
        "dataset": "flickr8k",
        "images": [
            {
                "filename": name,
                "filepath": "elsewhere",
                "split": split,
                "sentids": [1],
                "sentences": [{"raw": text, "tokens": text.split()} for text in SAID[name]],
            }
            for name, split in zip(NAMES, splits, strict=True)
        ],
    }


FORMATS = {
    "table.csv": lambda: as_csv(ROWS),
    "header.csv": lambda: as_csv([("image", "caption"), *ROWS]),
    "table.csv.gz": lambda: as_csv(ROWS),
    "table.tsv": lambda: "".join(f"{name}\t{text}\n" for name, text in ROWS),
    "rows.jsonl": lambda: "".join(json.dumps({"image": name, "caption": text}) + "\n" for name, text in ROWS),
    "lists.jsonl": lambda: "".join(
        json.dumps({"image": name, "caption": texts}) + "\n" for name, texts in SAID.items()
    ),
    "names.json": lambda: json.dumps(SAID),
    "names.json.gz": lambda: json.dumps(SAID),
    "coco.json": lambda: json.dumps(coco()),
    "karpathy.json": lambda: json.dumps(karpathy()),
    "objects.json": lambda: json.dumps([{"image": name, "caption": texts} for name, texts in SAID.items()]),
    "Flickr8k.token.txt": lambda: "".join(f"{name}#{number}\t{text}\n" for number, (name, text) in enumerate(ROWS)),
    "flickr.txt.gz": lambda: "".join(f"{name}#0\t{text}\n" for name, text in ROWS),
    "windows.txt": lambda: "".join(f"{name}#0\t{text}\r\n" for name, text in ROWS),
}


@pytest.mark.parametrize("images", ["images", "pack.npz"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_the_same(folder, name, images):
    listing = listed(folder, file=write(folder, name, FORMATS[name]()), images=images)
    same(listing)
    assert listing.notes == []
    assert listing.unnamed == {}


def test_parquet_with_lists(folder):
    table = pyarrow.table({"image": NAMES, "caption": list(SAID.values())})
    pyarrow.parquet.write_table(table, folder / "said.parquet")
    same(listed(folder, file="said.parquet", images="images", image="image", caption="caption"))


def test_images_beside_the_captions_need_no_folder(folder):
    (folder / "images" / "said.csv").write_text(as_csv(ROWS), encoding="utf-8")
    same(listed(folder, file="images/said.csv"))


def test_columns_by_name_and_splits_of_a_column(folder):
    rows = [
        ("set", "comment", "picture"),
        *(("val" if name == "c.jpg" else "train", text, name) for name, text in ROWS),
    ]
    files = {"file": write(folder, "t.csv", as_csv(rows)), "images": "images", "image": "picture", "caption": "comment"}
    same(listed(folder, **files))
    listing = listed(folder, **files, split_column="set", split="val")
    same(listing, {"c.jpg": SAID["c.jpg"]})
    assert listing.unnamed == {}, "images of the other split have captions"
    with pytest.raises(DataError, match="no captions of the split 'test'; its splits: train, val"):
        listed(folder, **files, split_column="set", split="test")
    with pytest.raises(ConfigError, match="split = 'val' needs split_column"):
        listed(folder, **files, split="val")
    with pytest.raises(ConfigError, match="split_column = 'set' needs split"):
        listed(folder, **files, split_column="set")


GROUPS = {"a.jpg": "animals", "b.jpg": "", "c.jpg": "birds & more"}
GROUP_ROWS = [(name, text, GROUPS[name]) for name, text in ROWS]
WITH_GROUPS = {
    "table.csv": lambda: as_csv(GROUP_ROWS),
    "header.csv": lambda: as_csv([("image", "caption", "kind"), *GROUP_ROWS]),
    "rows.jsonl": lambda: "".join(
        json.dumps({"image": name, "caption": text, "kind": kind or None}) + "\n" for name, text, kind in GROUP_ROWS
    ),
    "objects.json": lambda: json.dumps(
        [{"image": name, "caption": SAID[name], "kind": f" {kind}\t"} for name, kind in GROUPS.items()]
    ),
}
NAMELESS = ("table.csv", "kind")  # whose columns have no names


def groups_of(listing):
    return {item.image.name: item.image.label for item in listing.items}


@pytest.mark.parametrize(
    ("name", "column"), [(name, column) for name in WITH_GROUPS for column in (2, "kind") if (name, column) != NAMELESS]
)
def test_groups_are_those_of_a_column_or_a_key(folder, name, column):
    file = write(folder, name, WITH_GROUPS[name]())
    listing = listed(folder, file=file, images="images", group=column)
    same(listing)
    assert groups_of(listing) == GROUPS
    assert set(groups_of(listed(folder, file=file, images="images")).values()) == {""}


def test_groups_stand_beside_splits_and_several_captions(folder):
    rows = [("id", "image", "en", "set", "ko", "kind")]
    rows += [(n, name, f"one {n}", "train" if n else "val", f"하나 {n}", f"{n}") for n, name in enumerate(NAMES)]
    file = write(folder, "t.csv", as_csv(rows))
    columns = {"image": "image", "caption": ["en", "ko"], "split_column": "set", "group": "kind"}
    listing = listed(folder, file=file, images="images", **columns, split="train")
    same(listing, {name: [f"one {n}", f"하나 {n}"] for n, name in enumerate(NAMES) if n})
    assert groups_of(listing) == {"b.jpg": "1", "c.jpg": "2"}


def test_groups_in_the_order_of_the_images(folder):
    said = [{"en": f"emoji {number}", "ko": f"그림 {number}", "kind": 7 * number} for number in range(3)]
    files = {"file": write(folder, "l.json.gz", json.dumps(said)), "images": "plain.npz", "caption": ["en", "ko"]}
    listing = listed(folder, **files, group="kind")
    assert [item.image.label for item in listing.items] == ["0", "7", "14"]
    assert listing.items[2].captions == ("emoji 2", "그림 2")
    with pytest.raises(DataError, match=r"no column 'sort'; it has 0 \(en\).*Set caption 1, caption 2 and group"):
        listed(folder, **files, group="sort")


def test_the_first_of_several_groups_counts_and_is_told(folder):
    rows = [
        ("a.jpg", "x", ""),
        ("a.jpg", "y", "one"),
        ("./a.jpg", "z", "two"),
        ("b.jpg", "x", "one"),
        ("b", "y", "one"),
    ]
    listing = listed(folder, file=write(folder, "t.csv", as_csv(rows)), images="images", group=2)
    assert groups_of(listing) == {"a.jpg": "one", "b.jpg": "one"}
    assert listing.notes == ["t.csv has several groups for 1 image, and the first counts (a.jpg)"]


@pytest.mark.parametrize("name", ["names.json", "coco.json", "karpathy.json", "Flickr8k.token.txt"])
def test_formats_without_groups_say_so(folder, name):
    file = write(folder, name, FORMATS[name]())
    with pytest.raises(ConfigError, match=rf"{name}: group = 'kind' is for a table or a \.json list of objects"):
        listed(folder, file=file, images="images", group="kind")


def test_lists_of_captions_alone_and_images_of_classes_take_no_groups(folder):
    file = write(folder, "l.json", json.dumps([["one"], ["two"], ["three"]]))
    with pytest.raises(ConfigError, match="this file has no groups; leave it out"):
        listed(folder, file=file, images="plain.npz", group="kind")
    (class_folder, _), *_ = write_classes(folder)
    with pytest.raises(ConfigError, match="their captions are their classes; group = 'kind' is for a file of captions"):
        listed(folder, file=class_folder, group="kind")
    assert {item.image.label for item in listed(folder, file=class_folder).items} == {"cat", "dog"}


@pytest.mark.parametrize("kind", [["one", "two"], {"x": 1}, True])
def test_what_is_no_name_of_a_group_is_refused(folder, kind):
    file = write(folder, "t.jsonl", json.dumps({"image": "a.jpg", "caption": "x", "kind": kind}) + "\n")
    with pytest.raises(DataError, match=r"t\.jsonl line 1 holds \w+ .*; the name of one group is needed"):
        listed(folder, file=file, images="images", group="kind")


def test_karpathys_rest_of_val_is_trained_on(folder):
    files = {"file": write(folder, "k.json", json.dumps(karpathy())), "images": "images"}
    same(listed(folder, **files, split="train"), {name: SAID[name] for name in NAMES[:2]})
    same(listed(folder, **files, split="restval"), {"b.jpg": SAID["b.jpg"]})
    same(listed(folder, **files, split="val"), {"c.jpg": SAID["c.jpg"]})
    with pytest.raises(DataError, match="its splits: train, restval, val"):
        listed(folder, **files, split="dev")


def test_karpathys_folders_count_where_they_are_there(folder):
    (folder / "images" / "elsewhere").mkdir()
    (folder / "images" / "a.jpg").rename(folder / "images" / "elsewhere" / "a.jpg")
    listing = listed(folder, file=write(folder, "k.json", json.dumps(karpathy())), images="images")
    assert [item.image.name for item in listing.items] == ["elsewhere/a.jpg", "b.jpg", "c.jpg"]


def test_a_split_may_be_a_list_of_names(folder):
    write(folder, "Flickr_8k.trainImages.txt", "b.jpg\na.jpg\n")
    files = {"file": write(folder, "t.txt", FORMATS["flickr.txt.gz"]()), "images": "images"}
    same(listed(folder, **files, split="Flickr_8k.trainImages.txt"), {name: SAID[name] for name in NAMES[:2]})
    write(folder, "other.txt", "x.jpg\n")
    with pytest.raises(DataError, match=r"no caption of the 1 images that other\.txt names"):
        listed(folder, **files, split="other.txt")


@pytest.mark.parametrize("caption", ["en", "ko", 1])
def test_a_list_in_the_order_of_the_images(folder, caption):
    said = [{"id": number, "en": f"emoji {number}", "ko": [f"그림 {number}", f"{number}"]} for number in range(3)]
    listing = listed(folder, file=write(folder, "l.json.gz", json.dumps(said)), images="plain.npz", caption=caption)
    assert [item.image.number for item in listing.items] == [0, 1, 2]
    wanted = ("그림 1", "1") if caption == "ko" else ("emoji 1",)
    assert listing.items[1].captions == wanted
    with pytest.raises(DataError, match=r"has 2 entries for the 3 images of .*plain\.npz; as many are needed"):
        listed(folder, file=write(folder, "short.json", json.dumps(said[:2])), images="plain.npz", caption="en")
    with pytest.raises(DataError, match=r"entry 1 has no column 'de'; it has 0 \(id\), 1 \(en\), 2 \(ko\)"):
        listed(folder, file="l.json.gz", images="plain.npz", caption="de")


def test_names_without_their_ending_are_found(folder):
    same(listed(folder, file=write(folder, "t.csv", as_csv([(name[0], text) for name, text in ROWS])), images="images"))


def test_an_image_named_in_two_ways_is_one(folder):
    rows = [("a.jpg", "one"), ("./a.jpg", "two"), ("a", "three")]
    listing = listed(folder, file=write(folder, "t.csv", as_csv(rows)), images="images")
    assert [(item.image.name, item.captions) for item in listing.items] == [("a.jpg", ("one", "two", "three"))]


def test_missing_images_are_counted_and_named(folder):
    rows = ROWS + [(f"{number}.jpg", "lost") for number in range(7)] * 2
    listing = listed(folder, file=write(folder, "t.csv", as_csv(rows)), images="images")
    same(listing)
    assert listing.notes == [
        f"missing in {folder / 'images'}, and left out: 7 of 10 images that t.csv names (0.jpg, 1.jpg, 2.jpg, 3.jpg, 4.jpg, …)"
    ]
    with pytest.raises(DataError, match=r"names 1 image, and none is in .*images: 0\.jpg; set images to their folder"):
        listed(
            folder,
            file=write(folder, "t.csv", as_csv(rows[-1:] * 1)[:0] + as_csv([("0.jpg", "lost")])),
            images="images",
        )


def test_images_without_captions_are_known(folder):
    for images in ("images", "pack.npz"):
        listing = listed(folder, file=write(folder, "t.csv", as_csv([("a.jpg", "one")])), images=images)
        assert sorted(listing.unnamed.values()) == ["b.jpg", "c.jpg"]


def test_empty_captions_are_kept_for_counting(folder):
    content = json.dumps({"a.jpg": ["", None, "x"], "b.jpg": [], "c.jpg": 5})
    listing = listed(folder, file=write(folder, "n.json", content), images="images")
    assert [item.captions for item in listing.items] == [("", "", "x"), (), ("5",)]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("n.json", "{", r"is no JSON .*One object per line is \.jsonl"),
        ("n.json", "5", "holds int; lists of captions by image are needed"),
        ("n.json", "[]", "holds no captions"),
        ("n.json", "{}", "holds no captions"),
        ("n.json", '["a dog"]', "entry 1 does not say which image it describes"),
        ("n.json", '{"a.jpg": {"x": 1}}', r"a\.jpg holds dict .*; a caption or a list of them is needed"),
        ("n.json", '{"annotations": [{"image_id": 1, "bbox": []}]}', "is it COCO's file of captions"),
        ("n.json", '{"annotations": [7]}', "is it COCO's file of captions"),
        ("n.json", '{"images": [{"file_name": "a.jpg"}]}', "is it Karpathy's split file"),
        ("n.json", '{"images": [{"filename": "a.jpg", "sentences": 5}]}', "is it Karpathy's split file"),
        ("t.txt", "a.jpg,a dog\n", r"line 1 is no caption as Flickr8k writes it .*Then let its name end in \.tsv"),
        ("t.txt", "", "is empty"),
        ("t.csv", "a.jpg\n", "line 1 has 1 column"),
        ("t.csv", " ,a dog\nb.jpg,x\n ,a dog\n", "line 3 names no image"),
        ("t.jsonl", '{"image": true, "caption": "x"}\n', "line 1 names no image: 'True'"),
        ("t.jsonl", '{"image": "a.jpg", "caption": {"x": 1}}\n', "holds dict"),
        ("t.json.gz", b"no gzip", "broken or cut-off gzip"),
        ("t.json", b"\xff\xfe\x00", "UTF-16"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(folder, name, content, sentence):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=sentence):
        listed(folder, file=name, images="images")


def test_what_is_wrong_with_the_images_is_said(folder):
    file = write(folder, "t.csv", as_csv(ROWS))
    with pytest.raises(DataError, match="is no folder; a folder of images is needed, or an"):
        listed(folder, file=file, images="t.csv")
    with pytest.raises(DataError, match="no-folder was not found"):
        listed(folder, file=file, images="no-folder")
    with pytest.raises(
        ConfigError, match="images holds images, and their captions are their classes; images = 'images'"
    ):
        listed(folder, file="images", images="images")
    (folder / "broken.npz").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(DataError, match="cannot be read"):
        listed(folder, file=file, images="broken.npz")
    np.savez(folder / "odd.npz", jpeg=np.zeros(3, np.uint8), offset=np.zeros((2, 2)))
    with pytest.raises(DataError, match=r"offset has the shape \(2, 2\) and the type float64"):
        listed(folder, file=file, images="odd.npz")
    np.savez(folder / "names.npz", jpeg=np.zeros(3, np.uint8), offset=np.array([0, 3]), name=np.array(["a", "b"]))
    with pytest.raises(DataError, match="has 1 images and 2 names; as many are needed"):
        listed(folder, file=file, images="names.npz")


# --- images whose class is their caption, and images alone


def write_classes(folder):
    """Write images of two classes in every form in which images come with classes; return what to read them by."""
    tones, classes = [0, 40, 80, 120, 160], [0, 1, 1, 0, 1]
    for number, (tone, place) in enumerate(zip(tones, classes, strict=True)):
        (folder / "by class" / ("cat", "dog")[place]).mkdir(parents=True, exist_ok=True)
        Image.new("L", (7, 7), tone).save(folder / "by class" / ("cat", "dog")[place] / f"{number}.png")
    pixels = np.stack([np.full((7, 7), tone, np.uint8) for tone in tones])
    np.savez(folder / "classes.npz", x=pixels, y=np.array(classes), classes=np.array(["cat", "dog"]))
    (folder / "train-images-idx3-ubyte").write_bytes(
        bytes([0, 0, 8, 3]) + np.array([5, 7, 7], ">u4").tobytes() + pixels.tobytes()
    )
    (folder / "train-labels-idx1-ubyte").write_bytes(
        bytes([0, 0, 8, 1]) + np.array([5], ">u4").tobytes() + bytes(classes)
    )
    rows = [bytes([place]) + bytes([tone]) * 3072 for tone, place in zip(tones, classes, strict=True)]
    (folder / "data.bin").write_bytes(b"".join(rows))
    (folder / "batches.meta.txt").write_text("cat\ndog\n")
    return [
        ("by class", "cat dog"),
        ("classes.npz", "cat dog"),
        ("train-images-idx3-ubyte", "0 1"),
        ("data.bin", "cat dog"),
    ]


def test_the_caption_of_an_image_of_a_class_is_its_name(folder):
    for file, names in write_classes(folder):
        cat, dog = names.split()
        wanted = {0: cat, 40: dog, 80: dog, 120: cat, 160: dog}
        found = {
            int(np.asarray(load_entry(item.image)).mean()): item.captions for item in listed(folder, file=file).items
        }
        assert found == {tone: (name,) for tone, name in wanted.items()}, file


def test_images_alone_where_no_caption_is_needed(folder):
    """Classes make no difference: the images, their names and their order are those of the drawer's data."""
    for file, _ in write_classes(folder):
        alone, named = listed(folder, file=file, needed=False), listed(folder, file=file)
        assert all(item.captions == () for item in alone.items)
        assert [item.image.place for item in alone.items] == [item.image.place for item in named.items]
        assert [item.image.name for item in alone.items] == [item.image.name for item in named.items]
    (folder / "train-labels-idx1-ubyte").unlink()
    for file, count in (("images", 3), ("plain.npz", 3), ("pack.npz", 3), ("train-images-idx3-ubyte", 5)):
        open_pack.cache_clear()
        assert len(listed(folder, file=file, needed=False).items) == count
        with pytest.raises(DataError, match=rf'Or name a file of captions: .*images = "{file}"'):
            listed(folder, file=file)


def test_a_folder_without_images_is_told(folder):
    (folder / "empty").mkdir()
    for needed in (True, False):
        with pytest.raises(DataError, match=r"empty holds no images; files ending in \.png"):
            listed(folder, file="empty", needed=needed)


def test_keys_of_captions_are_refused_where_there_are_none(folder):
    with pytest.raises(ConfigError, match="split = 'val' is for a file of captions"):
        listed(folder, file="plain.npz", split="val", needed=False)


# --- nothing but a DataError, whatever a file holds

texts = st.text(max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts | st.sampled_from(NAMES),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [*NAMES, "images", "annotations", "image_id", "caption", "filename", "sentences", "raw", "id", "split"]
            )
            | st.sampled_from(["image", "group"])
            | texts,
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def read_or_refused(folder, name, images):
    for group in ("", "group", 2):
        try:
            listing = listed(folder, file=name, images=images, group=group)
        except DataError:
            continue
        except ConfigError:
            assert group != "", "only groups are refused: some formats have none"
            continue
        assert all(isinstance(text, str) for item in listing.items for text in item.captions)
        for item in listing.items:
            item.image.label.encode("utf-8")


@few
@given(values, st.sampled_from(["images", "pack.npz", "plain.npz"]))
@example({"annotations": [{"image_id": [], "caption": 1}], "images": {}}, "images")
@example({"images": [{"filename": "a\0b", "sentences": [{"tokens": 3}]}]}, "images")
@example([{"image": "a.jpg", "caption": "x", "group": "\ud800"}], "images")
@example([{"caption": 0, "group": []}, {}, [], None], "plain.npz")
def test_any_json(folder, value, images):
    read_or_refused(folder, write(folder, "any.json", json.dumps(value)), images)
    read_or_refused(folder, write(folder, "any.jsonl", json.dumps(value) + "\n"), images)


@few
@given(st.binary(max_size=80) | st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"a.jpg#0\tx\n" + b"y" * 5000 + b"#1\tz")
@example(("n" * 5000 + ",x\n").encode())
def test_any_bytes(folder, content):
    for name in ("any.txt", "any.csv", "any.tsv", "any.json", "any.jsonl"):
        (folder / name).write_bytes(content)
        read_or_refused(folder, name, "images")
    for name in ("any.npz", "any.csv.gz"):
        (folder / name).write_bytes(content)
    write(folder, "t.csv", as_csv(ROWS))
    read_or_refused(folder, "t.csv", "any.npz")
    read_or_refused(folder, "any.csv.gz", "images")
