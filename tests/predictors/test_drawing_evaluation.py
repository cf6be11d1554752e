"""Scores of drawings, proved on drawings whose scores are known: real images, images of other prompts, copies."""

import numpy as np
import pytest

import jumok
from jumok.data.builtin import relations, shapes
from jumok.errors import ConfigError, DataError
from jumok.evaluation.nearest_images import TrainingImages
from jumok.predictors.drawing_evaluation import (
    AT_ONCE,
    NO_GROUPS,
    NO_READER,
    NO_TRAIN,
    Prompts,
    draw_prompts,
    grouped,
    read_all,
    recoded,
    score_drawings,
    score_drawn,
    training_images,
)
from jumok.predictors.drawing_readers import ClassReader, SceneReader, reader_of
from jumok.tasks.image_tokens import decode, encode

PROMPTS = 40


@pytest.fixture(scope="module")
def reader():
    return reader_of(jumok.load("shapes-captioner"))


@pytest.fixture(scope="module")
def drawer(drawer_run):
    return jumok.load(drawer_run)


@pytest.fixture(scope="module")
def store(drawer):
    return drawer.task.open_split("val")["val"]


@pytest.fixture(scope="module")
def prompts(store):
    return Prompts.spread(store, PROMPTS, 60)


def scenes(kind):
    """Return captions and images of built-in scenes, as large as the reader knows them."""
    found = [relations.scene("val", number, kind=kind) for number in range(PROMPTS)]
    return [each.caption for each in found], np.stack([np.asarray(relations.draw(each)) for each in found])


@pytest.mark.parametrize("kind", ["seen", *relations.WITHHELD])
def test_a_perfect_drawer_scores_what_its_reader_can_read_and_other_prompts_do_not(reader, kind):
    texts, images = scenes(kind)
    read = read_all(reader, {"drawings": images, "real images": images}, texts, withheld=True)
    assert read["drawings"] == read["real images"]
    figures = {name: value for name, value in read["drawings"].items() if name not in ("scenes", "unreadable")}
    assert min(figures.values()) > 90
    assert {"withheld_pair", "withheld_order"} & set(figures) == {
        "seen": set(), "withheld pairs": {"withheld_pair"}, "withheld orders": {"withheld_order"}
    }[kind]  # fmt: skip
    floor = read["drawings of other prompts"]
    assert max(floor[name] for name in figures if name != "size") < 55
    assert floor["all_right"] < 10


def test_what_was_not_withheld_has_no_share_of_its_own(reader):
    texts, images = scenes("withheld pairs")
    assert "withheld_pair" not in reader.score(reader.read(images), texts)


def test_an_object_painted_over_is_missed_and_no_more(reader):
    found = [relations.scene("val", number) for number in range(100)]
    found = [scene for scene in found if len(scene.things) == 3][:10]
    images = np.stack([np.asarray(relations.draw(scene)) for scene in found])
    for image, scene in zip(images, found, strict=True):
        left, upper, right, lower = (round(64 * place) for place in scene.things[1].box)
        image[upper - 1 : lower + 1, left - 1 : right + 1] = scene.background
    scores = reader.score(reader.read(images), [scene.caption for scene in found])
    assert scores["count"] < 10
    assert 60 < scores["colour"] < 72
    assert 60 < scores["pair"] < 72


def test_real_images_as_drawings_score_as_real_images(drawer, store, prompts, reader):
    real = np.asarray(store.images.pixels[prompts.numbers])
    found = score_drawn(drawer.task, store, prompts, real, reader=reader, train=training_images(drawer.task))
    assert found["read"]["drawings"] == found["read"]["real images"] != found["read"]["reconstructions"]
    distances = found["frechet"]["distances"]
    assert distances["drawings"] == distances["real images"] < distances["reconstructions"]
    assert found["frechet"]["images"] == PROMPTS
    assert found["frechet"]["others"] == len(store) - PROMPTS
    assert found["copied"]["median"]["drawings"] == found["copied"]["median"]["real images"] > 5
    assert found["copied"]["nearer_than_real"] <= 100 / PROMPTS


def test_reconstructions_as_drawings_score_as_reconstructions(drawer, store, prompts, reader):
    again = recoded(drawer.task, store, prompts.numbers)
    codes = drawer.task.codes
    assert (again == decode(codes, encode(codes, np.asarray(store.images.pixels[prompts.numbers])))).all()
    found = score_drawn(drawer.task, store, prompts, again, reader=reader)
    assert found["read"]["drawings"] == found["read"]["reconstructions"]
    assert found["copied"] == {"note": NO_TRAIN}


def test_copies_of_training_images_are_found(drawer, store, prompts):
    copies = np.asarray(drawer.task.corpora.train.images.pixels[:PROMPTS])
    train = training_images(drawer.task)
    found = score_drawn(drawer.task, store, prompts, copies, train=train)["copied"]
    assert found["median"]["drawings"] == 0.0
    assert found["nearer_than_real"] == found["nearer_than_reconstructions"] == 100.0
    assert train.nearest(copies).numbers.tolist() == list(range(PROMPTS))


# --- groups

TONES = {"dark": [0, 20, 40], "grey": [120], "light": [220, 250]}  # of training images, by group


def in_tones(*tones):
    """Return images of one tone each."""
    return np.stack([np.full((3, 3, 1), tone, np.uint8) for tone in tones])


@pytest.fixture
def toned():
    """Training images whose groups are known by their tones; the last has none."""
    pairs = [(tone, group) for group, tones in TONES.items() for tone in tones]
    return TrainingImages(in_tones(*(tone for tone, _ in pairs), 180), [*(group for _, group in pairs), ""])


def shares(train, wanted, **sets):
    images = {"drawings": sets["drawings"], "real images": sets.get("real", sets["drawings"])}
    return grouped(train, {name: train.nearest(in_tones(*tones)) for name, tones in images.items()}, wanted)


def test_the_group_of_a_drawing_is_that_of_the_nearest_training_image(toned):
    wanted = ["dark", "grey", "light", "light", "dark"]
    found = shares(toned, wanted, drawings=[1, 110, 10, 181, 130], real=[39, 121, 251, 230, 20])
    assert found["right"]["real images"] == 100.0
    assert found["right"]["drawings"] == 40.0, (
        "one is dark instead of light, one grey, and 181 is next to one of no group"
    )
    assert (found["groups"], found["prompts"]) == (3, 5)
    assert (found["commonest"], found["commonest_right"]) == ("dark", 40.0), "of training, whatever prompts are common"


def test_the_floor_of_groups_is_the_drawing_of_another_prompt(toned):
    wanted = ["dark", "dark", "dark", "light"]
    found = shares(toned, wanted, drawings=[0, 0, 0, 250])
    assert found["right"]["drawings"] == 100.0
    assert found["right"]["drawings of other prompts"] == 50.0, "light is read once, and its own prompt reads dark"


def test_prompts_without_a_group_do_not_count(toned):
    found = shares(toned, ["dark", "", "light", ""], drawings=[0, 180, 0, 180])
    assert (found["right"]["drawings"], found["prompts"], found["commonest_right"]) == (50.0, 2, 50.0)
    assert shares(toned, ["", ""], drawings=[0, 180]) == {}
    assert shares(TrainingImages(in_tones(0, 9)), ["dark"], drawings=[0]) == {"note": NO_GROUPS}


def test_groups_are_scored_of_drawings_with_and_without_a_reader(drawer, store, prompts, reader, monkeypatch):
    """Groups are made up: of each image, its place among the prompts; copies of training images have theirs."""
    train = training_images(drawer.task)
    copies = np.array(train.pixels[:PROMPTS])
    assert "groups" not in score_drawn(drawer.task, store, prompts, copies, train=train)
    groups = ["none"] * len(store)
    for place, number in enumerate(prompts.numbers.tolist()):
        groups[number] = f"group {place}"
    monkeypatch.setattr(store, "groups", groups)
    monkeypatch.setattr(train, "groups", [f"group {number}" for number in range(len(train.pixels))])
    copies[:10] = train.pixels[50:60]
    for who in (None, reader):
        found = score_drawn(drawer.task, store, prompts, copies, reader=who, train=train)["groups"]
        assert found["right"]["drawings"] == pytest.approx(100 * (PROMPTS - 10) / PROMPTS)
        assert found["right"]["drawings of other prompts"] == 0.0
        assert list(found["right"]) == ["drawings", "real images", "reconstructions", "drawings of other prompts"]
        assert max(found["right"]["real images"], found["right"]["reconstructions"]) < 20
    assert "groups" not in score_drawn(drawer.task, store, prompts, copies)


def test_a_drawer_without_a_reader_says_so(drawer, store):
    told = []
    found = score_drawings(
        drawer.task, drawer.model, store, options=drawer.options, drawings=AT_ONCE + 3, progress=told.append
    )
    assert found["reader_note"] == NO_READER
    assert found["drawings"] == AT_ONCE + 3 == sum(told)
    assert {"loss", "bits", "text_loss", "copied"} < set(found)
    assert found["too_long"] == 0
    assert found["decoding"]["sample"]


def test_drawings_depend_on_the_seed_and_not_on_how_many_there_are(drawer, prompts):
    task, model, options = drawer.task, drawer.model, drawer.options
    some = draw_prompts(task, model, prompts.texts[:5], options=options)
    assert (some == draw_prompts(task, model, prompts.texts, options=options)[:5]).all()
    assert (some != draw_prompts(task, model, prompts.texts[:5], options=options.changed({"seed": 9}))).any()
    alike = draw_prompts(task, model, prompts.texts[:1] * (AT_ONCE + 1), options=options)
    assert (alike[0] != alike[1]).any(), "each drawing has random numbers of its own"
    assert (alike[0] != alike[AT_ONCE]).any()


def test_prompts_are_spread_over_the_store_and_none_is_too_long(store):
    found = Prompts.spread(store, 10, 60)
    assert found.numbers.tolist() == list(range(0, 1000, 100))
    assert found.texts == [store.texts(number)[0] for number in found.numbers]
    assert len(Prompts.spread(store, 5000, 60).texts) == len(store)
    short = Prompts.spread(store, 50, 12)
    assert len(short.texts) == 50
    assert all(len(relations.parse(text)) == 1 for text in short.texts)
    with pytest.raises(DataError, match="all have more than 3 tokens"):
        Prompts.spread(store, 10, 3)
    with pytest.raises(ConfigError, match="--drawings 0: must be at least 1"):
        Prompts.spread(store, 0, 60)


def test_prompts_that_a_captioner_cannot_be_scored_on_are_refused(reader):
    reader.refuse(["a small red circle at the top left"])
    with pytest.raises(ConfigError, match="'a dog' describes none; --read an image classifier"):
        reader.refuse(["a small red circle at the top left", "a dog"])


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """Return a classifier of forms that is no good yet: what matters is that its words are counted right."""
    settings = ["data.set_size=100", "model.preset=", "model.layers=1", "model.width=8", "model.heads=2",
                "model.feedforward=8", "training.steps=3", "training.warmup=1", "training.probes=0"]  # fmt: skip
    return jumok.load(jumok.train("shapes-vit", out=tmp_path_factory.mktemp("forms") / "vit", overrides=settings))


def test_a_classifier_reads_the_class_of_prompts(classifier):
    found = [shapes.scene("val", number) for number in range(30)]
    images = [shapes.draw(scene, 32) for scene in found]
    reader = reader_of(classifier)
    read = reader.read(np.stack([np.asarray(image) for image in images]))
    assert read == [verdict.label for verdict in classifier.classify(images)]
    assert reader.score(read, [f"a {label.upper()}" for label in read])["right"] == 100.0
    right = np.mean([label == scene.label for label, scene in zip(read, found, strict=True)])
    prompts = [scene.label for scene in found]
    assert reader.score(read, prompts)["right"] == pytest.approx(100 * right)
    assert reader.each(read, prompts).mean() == pytest.approx(100 * right)
    assert reader.name == "vit"
    with pytest.raises(ConfigError, match="'a dog' names none of them, or several"):
        reader.refuse([*prompts, "a dog"])


def test_images_of_another_size_are_read_as_files_of_them_would_be(reader, classifier):
    texts, large = scenes("seen")
    small = np.stack([np.asarray(relations.draw(relations.scene("val", n, kind="seen"), 32)) for n in range(PROMPTS)])
    assert reader.fitted(large) is large
    assert reader.fitted(small).shape == large.shape
    assert reader.score(reader.read(small), texts)["colour"] > 80
    grey = ClassReader(classifier).fitted(np.zeros((2, 28, 28, 1), dtype=np.uint8))
    assert grey.shape == (2, 32, 32, 3)


@pytest.mark.parametrize("which", ["reader", "forms"])
def test_features_are_one_vector_each_and_tell_images_apart(which, reader, classifier):
    chosen = reader if which == "reader" else reader_of(classifier)
    _, images = scenes("seen")
    found = chosen.features(images)
    assert found.ndim == 2
    assert len(found) == PROMPTS
    np.testing.assert_allclose(chosen.features(images[7:9]), found[7:9], atol=1e-4)
    assert np.ptp(found, axis=0).max() > 0.01


def test_each_drawing_has_a_score(reader):
    texts, images = scenes("seen")
    each = reader.each(reader.read(images), texts)
    assert len(each) == PROMPTS
    assert each.mean() > 90
    assert isinstance(reader, SceneReader)


def test_who_does_not_read_images_is_refused(drawer):
    with pytest.raises(ConfigError, match="is a run of text-to-image; drawings are read by a captioner or an image"):
        reader_of(drawer)
