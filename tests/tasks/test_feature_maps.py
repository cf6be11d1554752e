"""Feature maps of a frozen encoder: the same for an image however it comes, made once, and refused when damaged."""

import os
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from jumok.data.images.image_store import ImageStore, build_image_store
from jumok.data.images.listing import ImageEntry
from jumok.errors import ConfigError, DataError, JumokError
from jumok.models.cnn import CNN, CNNConfig
from jumok.nn.component import Component
from jumok.nn.images import enlarged
from jumok.tasks import feature_maps as module
from jumok.tasks import image_arrays
from jumok.tasks.feature_maps import build_feature_maps, feature_maps, see
from jumok.tasks.image_batches import normalise

SIDE, SEEN = 11, 16


def drawn(entry, *, least=0):
    from PIL import Image

    values = np.random.default_rng(entry.number).integers(0, 256, (least, least, 3), dtype=np.uint8)
    return Image.fromarray(values)


def make_store(folder, count=7, channels=3):
    folder.mkdir(parents=True)
    entries = [ImageEntry(f"image {number}", "", folder / "none", number) for number in range(count)]
    build_image_store(
        entries, folder, size=SIDE, channels=channels, fit="squeeze", progress=lambda done: None, draw=drawn
    )
    return ImageStore(folder)


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / f"images-{os.urandom(8).hex()}")


@pytest.fixture
def component():
    torch.manual_seed(5)
    model = CNN(CNNConfig(width=8, stages=2, blocks=1, image_size=SEEN, channels=3, classes=2)).eval()
    return Component(
        model.requires_grad_(False),
        hash="a",
        config={},
        size=SEEN,
        mean=(0.4, 0.5, 0.6),
        deviation=(0.2, 0.25, 0.3),
    )


def test_what_is_kept_is_what_the_encoder_sees(store, component):
    told = []
    kept = feature_maps(component, store, progress=told.append)
    assert told == [0, 7]
    assert kept.maps.dtype == np.float16
    assert kept.maps.shape == (7, 8, 8, 16) == (len(kept), *kept.grid, kept.width)
    values = normalise(store.pixels, [0.4, 0.5, 0.6], [0.2, 0.25, 0.3])
    wanted = component.model.feature_map(enlarged(torch.from_numpy(values), SEEN))
    assert_close(torch.tensor(kept.maps).float(), wanted.permute(0, 2, 3, 1), atol=1e-2, rtol=2e-3)


def test_a_new_image_is_seen_as_the_stored_one(store, component):
    kept = feature_maps(component, store)
    for number in (0, 6):
        alone = see(component, store.pixels[number : number + 1])
        assert_close(alone[0], torch.tensor(kept.maps[number]), atol=2e-3, rtol=2e-3)


def test_maps_are_made_once_for_each_that_they_depend_on(store, component, monkeypatch):
    first = feature_maps(component, store)
    calls = []

    def build(*arguments, **options):
        calls.append(1)
        build_feature_maps(*arguments, **options)

    monkeypatch.setattr(module, "build_feature_maps", build)
    assert np.array_equal(feature_maps(component, store).maps, first.maps)
    assert not calls
    others = [{"hash": "b"}, {"size": 20}, {"mean": (0.5, 0.5, 0.5)}, {"deviation": (0.5, 0.5, 0.5)}]
    for number, change in enumerate(others, start=1):
        feature_maps(replace(component, **change), store)
        assert len(calls) == number, change
    assert feature_maps(replace(component, size=20), store).grid == (10, 10)


def test_processes_write_the_same_maps(store, component, monkeypatch):
    alone = feature_maps(component, store).maps
    monkeypatch.setattr(image_arrays, "processes_for", lambda *_, **__: 2)
    monkeypatch.setattr(image_arrays, "PORTION", 2)
    told = []
    shared = feature_maps(replace(component, hash="c"), store, progress=told.append)
    assert np.array_equal(shared.maps, alone)
    assert told[0] == 0
    assert told[-1] == 7


def test_a_process_that_dies_is_told_and_nothing_is_kept(store, component, monkeypatch):
    monkeypatch.setattr(image_arrays, "processes_for", lambda *_, **__: 2)
    parent, real = os.getpid(), module.see

    def dying(component, pixels):
        if os.getpid() != parent:
            os._exit(9)
        return real(component, pixels)

    monkeypatch.setattr(module, "see", dying)
    with pytest.raises(JumokError, match="a process that looked at images died"):
        feature_maps(replace(component, hash="d"), store)
    monkeypatch.undo()
    assert len(feature_maps(replace(component, hash="d"), store)) == 7


def test_a_damaged_file_is_a_sentence(store, component, tmp_path):
    folder = tmp_path / "maps"
    folder.mkdir()
    build_feature_maps(component, store, folder, progress=lambda done: None)
    file = folder / "maps"
    file.write_bytes(file.read_bytes()[:-2])
    with pytest.raises(
        DataError, match=r"the store of feature maps in .* is damaged \(maps has .* bytes, not .*cache --clear"
    ):
        module.FeatureMaps(folder)
    file.unlink()
    with pytest.raises(DataError, match="maps is missing"):
        module.FeatureMaps(folder)


def test_grey_images_do_not_fit_an_encoder_of_colours(component, tmp_path):
    store = make_store(tmp_path / "grey", channels=1)
    with pytest.raises(ConfigError, match="= 1: the encoder sees images of 3 channels"):
        feature_maps(component, store)
