"""Images and captions of a recipe: what is kept, what is left out and told, and that an image falls on one side."""

import json

import numpy as np
import pytest
from PIL import Image

from jumok.config import CaptionData, TokenizerConfig
from jumok.data.builtin import relations, shapes
from jumok.data.images.caption_corpora import CaptionCorpora, without_punctuation
from jumok.data.images.caption_store import CaptionStore
from jumok.data.images.image_corpora import ImageCorpora, ImageData
from jumok.data.images.image_only_corpora import ImageOnlyCorpora
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError, DataError

BYTES = Tokenizer.train(["any"], TokenizerConfig(kind="byte"))


def corpora(folder, data, *, given=BYTES, config=None):
    config = config or TokenizerConfig(kind="byte")
    return CaptionCorpora(CaptionData.parse({"size": 4, **data}, "data"), config, [folder], given=given)


def write_images(folder, count, *, first=0, mode="RGB"):
    """Write images that all differ, and return their names."""
    folder.mkdir(exist_ok=True)
    names = []
    for number in range(first, first + count):
        pixels = np.random.default_rng(number).integers(0, 256, (6, 9, 3), dtype=np.uint8)
        names.append(f"{number}.png")
        Image.fromarray(pixels).convert(mode).save(folder / names[-1])
    return names


def write_captions(path, said):
    path.write_text(json.dumps(said), encoding="utf-8")
    return {"file": path.name, "images": "images"}


@pytest.fixture
def files(tmp_path):
    """Return two files of captions whose images are in one folder: train, val."""
    names = write_images(tmp_path / "images", 23)
    said = {name: [f"image {name}", f"number {name[:-4]}"] for name in names}
    train = write_captions(tmp_path / "train.json", dict(list(said.items())[:17]))
    val = write_captions(tmp_path / "val.json", dict(list(said.items())[17:]))
    return tmp_path, train, val


def all_of(store):
    """Return captions by image, read back from ids as well as from texts."""
    found = {}
    for number, name in enumerate(store.images.names):
        found[name] = store.texts(number)
        assert [BYTES.decode(store.captions[caption]) for caption in store.numbers(number)] == found[name]
    return found


def test_images_and_their_captions_stand_side_by_side(files):
    folder, train, val = files
    data = corpora(folder, {"train": train, "val": val})
    store = data.train
    assert all_of(store) == {f"{n}.png": [f"image {n}.png", f"number {n}"] for n in range(17)}
    assert store.first.tolist() == list(range(0, 35, 2))
    assert store.image_of.tolist() == [number // 2 for number in range(34)]
    assert store.images.pixels.shape == (17, 4, 4, 3)
    (title,) = data.evaluation("val")
    assert title == "val.json"
    assert len(data.evaluation("val")["val.json"]) == 6
    assert data.notes == []


def test_a_second_opening_reads_the_cache_and_finds_the_same(files, monkeypatch):
    folder, train, val = files
    first = corpora(folder, {"train": train, "val": val})
    store = first.train
    monkeypatch.setattr("jumok.data.images.caption_corpora.build_caption_store", None)
    monkeypatch.setattr("jumok.data.images.decoded.build_image_store", None)
    again = corpora(folder, {"train": train, "val": val})
    assert again.train.folder == store.folder
    assert again.train.images.folder == store.images.folder
    assert again.fingerprint == first.fingerprint


def test_other_captions_decode_no_image_anew(files, monkeypatch):
    folder, train, val = files
    before = corpora(folder, {"train": train, "val": val})
    before_store = before.train
    said = json.loads((folder / "train.json").read_text())
    write_captions(folder / "train.json", said | {"0.png": ["other words"]})
    monkeypatch.setattr("jumok.data.images.decoded.build_image_store", None)
    after = corpora(folder, {"train": train, "val": val})
    assert after.train.images.folder == before_store.images.folder
    assert after.train.folder != before_store.folder
    assert after.fingerprint != before.fingerprint


def test_captions_are_tidied(tmp_path):
    write_images(tmp_path / "images", 3)
    said = {
        "0.png": ["  A  dog\tRuns . "],
        "1.png": ['The man\'s "t-shirt", (blue) -- wow!'],
        "2.png": ["Dogs ' toys ; the boys' man 's ..."],
    }
    train = write_captions(tmp_path / "t.json", said)
    plain = corpora(tmp_path, {"train": train, "hold_out": 1})
    every = all_of(plain.train) | all_of(plain.evaluation("val")["held out"])
    assert every["0.png"] == ["A dog Runs ."]
    bare = corpora(tmp_path, {"train": train, "hold_out": 1, "lowercase": True, "punctuation": False})
    every = all_of(bare.train) | all_of(bare.evaluation("val")["held out"])
    assert every == {
        "0.png": ["a dog runs"],
        "1.png": ["the man's t-shirt blue wow"],
        "2.png": ["dogs toys the boys man 's"],
    }


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ""),
        ("...", ""),
        ("- -", ""),
        ("Hi , there !", "Hi there"),
        ("'s", "'s"),
        ("“눈 속의 새.”", "눈 속의 새"),
        ("3.5 m", "3.5 m"),
    ],
)
def test_punctuation_around_words_is_dropped(text, wanted):
    assert without_punctuation(text) == wanted


def test_what_is_left_out_is_counted_and_told(tmp_path):
    write_images(tmp_path / "images", 7)
    (tmp_path / "images" / "3.png").write_bytes(b"no image")
    said = {
        "0.png": ["good", "", " \t", "x" * 50],
        "1.png": ["", None],
        "2.png": ["y" * 50],
        "3.png": ["broken", "indeed"],
        "4.png": ["fine"],
        "5.png": [],
        "gone.png": ["lost"],
    }
    train = write_captions(tmp_path / "t.json", said)
    write_images(tmp_path / "val", 2, first=100)
    (tmp_path / "v.json").write_text(json.dumps({"100.png": ["z" * 50, ""], "101.png": [""]}))
    val = {"file": "v.json", "images": "val"}
    data = corpora(tmp_path, {"train": train, "val": val, "max_length": 20})
    store = data.train
    assert all_of(store) == {"0.png": ["good"], "4.png": ["fine"]}
    assert store.counts == {"captions": 2, "empty": 4, "too_long": 2, "captionless": 3}
    assert [name for name, _ in store.named] == ["1.png", "2.png", "5.png"]
    assert data.notes == [
        f"missing in {tmp_path / 'images'}, and left out: 1 of 7 images that t.json names (gone.png)",
        "left out, as no caption describes them: 1 image (6.png)",
        "left out, as empty: 4 captions",
        "left out, as longer than data.max_length: 2 captions",
        "left out, as none of their captions can be used: 3 images (1.png, 2.png, 5.png)",
        "1 image cannot be used and is left out: 3.png: no image that can be read",
    ]
    held = data.evaluation("val")["v.json"]
    assert all_of(held) == {"100.png": ["z" * 50]}, "held-out captions are kept whatever their length"
    assert held.counts["captionless"] == 1


def test_nothing_that_can_be_used(tmp_path):
    write_images(tmp_path / "images", 3)
    train = write_captions(tmp_path / "t.json", {f"{n}.png": ["", "x" * 9] for n in range(3)})
    with pytest.raises(
        DataError, match=r"none of 4 captions can be used: 2 are empty, 2 longer than data\.max_length = 5"
    ):
        _ = corpora(tmp_path, {"train": train, "max_length": 5, "hold_out": 1}).train


def test_images_are_held_out_with_all_of_their_captions(files):
    folder, train, _ = files
    data = corpora(folder, {"train": train, "hold_out": 5})
    held_out, rest = data.evaluation("val")["held out"], data.train
    assert (len(held_out), len(rest)) == (5, 12)
    assert set(held_out.images.names).isdisjoint(rest.images.names)
    assert all(len(texts) == 2 for texts in [*all_of(held_out).values(), *all_of(rest).values()])
    again = corpora(folder, {"train": train, "hold_out": 5})
    assert again.evaluation("val")["held out"].images.names == held_out.images.names


def test_a_limit_takes_images_not_captions(files):
    folder, train, val = files
    few, more = (corpora(folder, {"train": train, "val": val, "limit": limit}).train for limit in (3, 7))
    assert (len(few), len(few.captions), len(more)) == (3, 6, 7)
    assert set(few.images.names) < set(more.images.names)
    with pytest.raises(ConfigError, match="only 17 training images"):
        _ = corpora(folder, {"train": train, "val": val, "limit": 18}).train


def test_an_image_of_two_files_has_the_captions_of_both(tmp_path):
    names = write_images(tmp_path / "images", 5)
    english = write_captions(tmp_path / "en.json", {name: ["image"] for name in names})
    korean = write_captions(tmp_path / "ko.json", {name: ["그림"] for name in names[:3]})
    data = corpora(tmp_path, {"train": [english, korean], "hold_out": 1})
    every = all_of(data.train) | all_of(data.evaluation("val")["held out"])
    assert every == {name: ["image", "그림"] if name in names[:3] else ["image"] for name in names}


def write_groups(path, said):
    """Write (image, caption, group) as a list of objects, and return what reads it."""
    rows = [{"image": image, "caption": caption, "kind": kind} for image, caption, kind in said]
    return write_captions(path, rows) | {"group": "kind"}


def groups_of(store):
    return dict(zip(store.images.names, store.groups, strict=True))


def test_groups_stay_with_their_images(tmp_path):
    """Images whose captions cannot be used, broken ones and held-out ones are taken away; the others keep their groups."""
    names = write_images(tmp_path / "images", 9)
    (tmp_path / "images" / "3.png").write_bytes(b"no image")
    said = [(name, "" if name == "1.png" else f"image {name}", f"group {name}") for name in names]
    said[5] = ("5.png", "image 5", None)
    data = corpora(tmp_path, {"train": write_groups(tmp_path / "t.json", said), "hold_out": 3})
    train, held_out = data.train, data.evaluation("val")["held out"]
    assert min(len(train), len(held_out)) > 0
    assert len(train) + len(held_out) == 7
    wanted = {name: f"group {name}" for name in names if name not in ("1.png", "3.png")} | {"5.png": ""}
    assert groups_of(train) | groups_of(held_out) == wanted


def test_other_groups_make_nothing_anew(files, monkeypatch):
    folder, _, val = files
    said = [(f"{number}.png", f"image {number}", "odd" if number % 2 else "even") for number in range(17)]
    train = write_groups(folder / "t.json", said)
    before = corpora(folder, {"train": train, "val": val})
    assert set(groups_of(before.train).values()) == {"odd", "even"}
    assert groups_of(before.evaluation("val")["val.json"]) == {f"{number}.png": "" for number in range(17, 23)}
    write_groups(folder / "t.json", [(image, caption, "all") for image, caption, _ in said])
    monkeypatch.setattr("jumok.data.images.caption_corpora.build_caption_store", None)
    after = corpora(folder, {"train": train, "val": val})
    assert after.train.folder == before.train.folder, "what is stored has no groups"
    assert set(groups_of(after.train).values()) == {"all"}
    assert after.fingerprint == before.fingerprint, "a run learns nothing of groups, and may go on with others"


def test_an_image_of_two_files_has_the_first_group(tmp_path):
    names = write_images(tmp_path / "images", 4)
    plain = write_captions(tmp_path / "plain.json", {name: ["image"] for name in names})
    some = write_groups(tmp_path / "some.json", [(name, "x", "some") for name in names[:3]])
    others = write_groups(tmp_path / "others.json", [(name, "y", "others") for name in names])
    data = corpora(tmp_path, {"train": [plain, some, others], "hold_out": 1})
    found = groups_of(data.train) | groups_of(data.evaluation("val")["held out"])
    assert found == {name: "some" if name in names[:3] else "others" for name in names}


def test_the_group_of_an_image_of_a_class_is_the_class(tmp_path):
    for number, label in enumerate(["cat", "dog", "dog", "cat"]):
        (tmp_path / "animals" / label).mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 256, (4, 4, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "animals" / label / f"{number}.png")
    store = corpora(tmp_path, {"train": "animals", "hold_out": 1}).train
    assert store.groups == [text for number in range(3) for text in store.texts(number)]
    assert set(store.groups) == {"cat", "dog"}


def test_train_and_val_may_not_share_a_file(files):
    folder, train, val = files
    said = json.loads((folder / "val.json").read_text())
    write_captions(folder / "val.json", said | {"3.png": ["again"]})
    with pytest.raises(
        DataError, match=r"train and val share 1 image: 3\.png\. Scores of images that were learnt say nothing"
    ):
        _ = corpora(folder, {"train": train, "val": val}).train


def test_copies_under_other_names_are_refused_where_there_are_many(files):
    folder, train, val = files
    for number in (17, 18):
        (folder / "images" / f"{number}.png").write_bytes((folder / "images" / "0.png").read_bytes())
    with pytest.raises(DataError, match=r"share 2 images: 17\.png = 0\.png, 18\.png = 0\.png"):
        _ = corpora(folder, {"train": train, "val": val}).train


def test_a_few_copies_are_left_out_of_train_and_told(tmp_path):
    names = write_images(tmp_path / "images", 50)
    (tmp_path / "images" / "49.png").write_bytes((tmp_path / "images" / "5.png").read_bytes())
    train = write_captions(tmp_path / "t.json", {name: ["x"] for name in names[:20]})
    val = write_captions(tmp_path / "v.json", {name: ["x"] for name in names[20:]})
    data = corpora(tmp_path, {"train": train, "val": val})
    assert set(data.train.images.names) == set(names[:20]) - {"5.png"}
    assert data.notes == ["left out of train, as val has them: 1 image (49.png = 5.png)"]


@pytest.mark.parametrize("kind", ["jpeg", "x"])
def test_copies_in_packs_are_found(tmp_path, kind):
    pixels = np.random.default_rng(7).integers(0, 256, (11, 5, 5, 3), dtype=np.uint8)
    for split, part in (("train", pixels[:7]), ("val", pixels[6:])):
        parts = [image.tobytes() for image in part]
        arrays = {"jpeg": np.frombuffer(b"".join(parts), np.uint8), "offset": np.cumsum([0, *map(len, parts)])}
        np.savez(tmp_path / f"{split}.npz", **({"x": part} if kind == "x" else arrays))
        (tmp_path / f"{split}.json").write_text(json.dumps([f"{split} {number}" for number in range(len(part))]))
    recipe = {split: {"file": f"{split}.json", "images": f"{split}.npz"} for split in ("train", "val")}
    with pytest.raises(DataError, match=r"share 1 image: val\.npz image 1 = train\.npz image 7"):
        _ = corpora(tmp_path, {**recipe, "channels": 3}).train


def test_sizes_that_are_not_given(files):
    folder, train, val = files
    data = {"train": train, "val": val, "size": 0}
    assert corpora(folder, data).image_shape == (6, 3), "the smaller side of the first image"
    seen = corpora(folder, data)
    seen.images.wanted_size, seen.images.wanted_channels = 13, 1
    assert seen.image_shape == (13, 1), "what a pretrained encoder sees"
    asked = corpora(folder, data | {"size": 5})
    asked.wanted_size = 13
    assert asked.image_shape[0] == 5, "the recipe decides"


def test_one_grey_image_does_not_make_all_grey(files):
    folder, train, val = files
    write_images(folder / "images", 1, mode="L")
    assert corpora(folder, {"train": train, "val": val}).image_shape == (4, 3)
    write_images(folder / "images", 23, mode="L")
    assert corpora(folder, {"train": train, "val": val}).image_shape == (4, 1)


def test_words_are_learnt_from_training_captions_alone(files):
    folder, train, val = files
    said = json.loads((folder / "val.json").read_text())
    write_captions(folder / "val.json", {name: ["zebra zebra zebra"] for name in said})
    config = TokenizerConfig(kind="word", min_frequency=1)
    data = corpora(folder, {"train": train, "val": val}, given=None, config=config)
    words = {token.strip("▁") for token in data.tokenizer.vocabulary}
    assert {"image", "number", "16"} <= words
    assert "zebra" not in words
    store = data.evaluation("val")["val.json"]
    assert len(store) == len(said), "a word outside the vocabulary is an unknown token, not an error"


def test_the_built_in_set():
    data = CaptionCorpora(CaptionData(set="shapes", set_size=23), TokenizerConfig(kind="word"), [])
    assert data.image_shape == (64, 3)
    assert [data.train.texts(number) for number in range(23)] == [
        [relations.scene("train", number).caption] for number in range(23)
    ]
    drawn = np.asarray(relations.draw(relations.scene("train", 5), 64))
    assert (data.train.images.pixels[5] == drawn).all()
    assert data.tokenizer.decode(data.train.captions[7]) == relations.scene("train", 7).caption
    small = CaptionCorpora(CaptionData(set="shapes", set_size=23, captions="plain"), TokenizerConfig(kind="word"), [])
    assert small.train.texts(3) == [shapes.scene("train", 3).caption]
    assert small.fingerprint != data.fingerprint
    classified = ImageCorpora(ImageData(set="shapes", set_size=23, fit="squeeze"), [])
    assert small.train.images.folder == classified.train.images.folder, "the same images are decoded once"


def test_what_data_needs():
    with pytest.raises(ConfigError, match="no set of captions; known: shapes"):
        corpora(None, {"set": "coco"})
    for data in ({}, {"set": "shapes", "train": "t.json"}):
        with pytest.raises(ConfigError, match='needs either set = "shapes"'):
            corpora(None, data)


def test_a_damaged_store_names_its_cure(files):
    folder, train, val = files
    store = corpora(folder, {"train": train, "val": val}).train
    (store.folder / "first").write_bytes(b"\0" * 16)
    with pytest.raises(DataError, match=r"the store of captions in .* is damaged .*jumok cache --clear"):
        CaptionStore(store.images, store.folder)
    (store.folder / "chosen").unlink()
    with pytest.raises(DataError, match=r"chosen is missing.*jumok cache --clear"):
        _ = corpora(folder, {"train": train, "val": val}).train


def test_odd_images_of_every_kind_are_used_or_told(tmp_path):
    images = tmp_path / "images"
    write_images(images, 4)
    Image.new("RGBA", (9, 7), (10, 200, 30, 100)).save(images / "clear.png")
    Image.new("CMYK", (9, 7), (0, 255, 255, 0)).save(images / "ink.jpg")
    Image.new("L", (1, 1), 99).save(images / "dot.png")
    Image.new("P", (20_000, 20_000)).save(images / "huge.png", compress_level=1)
    whole = (images / "0.png").read_bytes()
    (images / "cut.png").write_bytes(whole[: len(whole) // 2])
    said = {path.name: ["something"] for path in images.iterdir()}
    write_images(images, 1, first=100)
    val = write_captions(tmp_path / "v.json", {"100.png": ["held out"]})
    data = corpora(tmp_path, {"train": write_captions(tmp_path / "t.json", said), "val": val, "size": 8})
    assert set(data.train.images.names) == said.keys() - {"huge.png", "cut.png"}
    told = " ".join(data.notes)
    assert "cut.png: " in told
    assert "huge.png: 20,000 × 20,000 pixels are more than" in told


def test_withheld_combinations_are_in_stores_of_their_own_and_nowhere_else(monkeypatch):
    monkeypatch.setattr(relations, "WITHHELD_SIZE", 11)
    monkeypatch.setattr(relations, "DEFAULT_SIZES", {"train": 23, "val": 13, "test": 13})

    def both(**keys):
        data = CaptionData(set="shapes", **keys)
        return CaptionCorpora(data, TokenizerConfig(kind="word"), []), ImageOnlyCorpora(data, [])

    plain, withheld = both(), both(withhold=True)
    for without, held in zip(plain, withheld, strict=True):
        assert without.fingerprint != held.fingerprint, "or a resumed run would go on with other images"
        assert list(without.evaluation("val")) == ["val"]
        assert without.withheld == set()
        assert held.withheld == {"withheld pairs", "withheld orders"}
        for split in ("val", "test"):
            sizes = {title: len(store) for title, store in held.evaluation(split).items()}
            assert sizes == {split: 13, "withheld pairs": 11, "withheld orders": 11}
    captions, images = withheld
    for split, kind in (("train", "seen"), ("val", "seen"), ("test", "withheld pairs"), ("val", "withheld orders")):
        store = captions.evaluation(split)[split if kind == "seen" else kind]
        pixels = images.evaluation(split)[split if kind == "seen" else kind].pixels
        for number in range(len(store)):
            found = relations.scene(split, number, kind=kind)
            assert store.texts(number) == [found.caption]
            assert (pixels[number] == np.asarray(relations.draw(found))).all()
            assert (store.images.pixels[number] == pixels[number]).all()


def test_brief_captions_come_beside_the_full_ones_and_have_a_part_of_their_own(monkeypatch):
    monkeypatch.setattr(relations, "DEFAULT_SIZES", {"train": 17, "val": 13, "test": 13})
    data = CaptionData.parse({"set": "shapes", "size": 16, "brief": True, "withhold": True}, "data")
    plain = CaptionCorpora(data.model_copy(update={"brief": False}), TokenizerConfig(kind="word"), [])
    brief = CaptionCorpora(data, TokenizerConfig(kind="word"), [])
    assert plain.fingerprint != brief.fingerprint, "or a resumed run would go on with other captions"
    for number in range(17):
        found = relations.scene("train", number, kind="seen")
        assert brief.train.texts(number) == [found.caption, found.brief]
        assert plain.train.texts(number) == [found.caption]
    parts = brief.evaluation("val")
    assert list(parts) == ["val", "brief captions", *relations.WITHHELD]
    assert brief.withheld == {"brief captions", *relations.WITHHELD}, "weights are chosen by val alone"
    for number in range(13):
        found = relations.scene("val", number, kind="seen")
        assert parts["val"].texts(number) == [found.caption]
        assert parts["brief captions"].texts(number) == [found.brief]
    assert (parts["val"].images.pixels == parts["brief captions"].images.pixels).all()


def test_brief_captions_are_of_the_relations_grammar_and_of_captions():
    with pytest.raises(ConfigError, match=r'data\.brief adds shorter captions .* "relations"; leave it out'):
        CaptionData.parse({"brief": True, "set": "shapes", "captions": "plain"}, "data")
    with pytest.raises(ConfigError, match="image codes are learnt without them; leave it out"):
        ImageOnlyCorpora(CaptionData.parse({"set": "shapes", "brief": True}, "data"), [])


@pytest.mark.parametrize("data", [{"set": "shapes", "captions": "plain"}, {"train": "t.json"}])
def test_only_the_relations_grammar_withholds(data):
    with pytest.raises(ConfigError, match='needs set = "shapes" and captions = "relations"; leave it out'):
        CaptionData.parse({"withhold": True, **data}, "data")
