"""Files of numbers: .npz and safetensors, damaged in every way, end in one sentence; nothing is unpickled."""

import io
import json
import random
import struct
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from jumok import reading
from jumok.arrays import read_npz, read_tensors, read_tensors_and_head
from jumok.errors import DataError
from jumok.tensor_file import write_tensors

ARRAYS = {"x": np.arange(30).reshape(2, 3, 5), "y": np.array([1.5, 2.5], np.float32), "names": np.array(["가", "bc"])}


def refuse(place, why):
    return DataError(f"{place}: {why}!")


def packed(save=np.savez, **arrays):
    buffer = io.BytesIO()
    save(buffer, **arrays)
    return buffer.getvalue()


def with_member(content, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        file.writestr("x.npy", content)
    return buffer.getvalue()


def header(text):
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_come_back(tmp_path, save):
    path = tmp_path / "a.npz"
    more = {
        "by columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "empty": np.zeros((0, 3)),
        "one": np.array(7),
    }
    path.write_bytes(packed(save, **ARRAYS, **more))
    found = read_npz(path, refuse)
    assert found.keys() == (ARRAYS | more).keys()
    for name, array in (ARRAYS | more).items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "File is not a zip file"),
        (packed(**ARRAYS)[:-40], "File is not a zip file"),
        (packed(x=np.array([{}, 1], dtype=object)), "x.npy holds object, not numbers or texts"),
        (with_member(header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 9)}")),
         r"x.npy announces the shape (1000000000000, 9) of float64 and has 0 bytes"),
        (with_member(header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1)}") + bytes(8)),
         r"x.npy announces the shape (-1, -1) of float64 and has 8 bytes"),
        (with_member(header("{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,)}") + bytes(8)),
         "x.npy holds datetime64[s], not numbers or texts"),
        (with_member(b"\x93NUMPY\x03\x00"), "x.npy is of numpy's format 3.0"),
        (with_member(b"nothing"), "EOF: reading magic string"),
    ],
)  # fmt: skip
def test_an_npz_that_cannot_be_read(tmp_path, content, why):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(DataError) as told:
        read_npz(path, refuse)
    assert why in str(told.value)


def test_an_npz_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    path.write_bytes(packed(np.savez_compressed, x=np.zeros((100, 1000))))
    assert read_npz(path, refuse)["x"].shape == (100, 1000)
    monkeypatch.setattr(reading, "LARGEST", 700_000)
    with pytest.raises(DataError, match=r"bytes unpack to more than 700,000!"):
        read_npz(path, refuse)


def test_whatever_is_flipped_or_cut_in_an_npz_ends_in_a_sentence(tmp_path):
    rng, path = random.Random(3), tmp_path / "a.npz"
    goods = [packed(save, **ARRAYS) for save in (np.savez, np.savez_compressed)]
    for _ in range(150):
        damaged = bytearray(rng.choice(goods))
        place = rng.randrange(len(damaged))
        match rng.randrange(3):
            case 0:
                damaged[place] ^= 1 << rng.randrange(8)
            case 1:
                damaged[place : place + rng.choice([1, 4, 50])] = bytes(rng.choice([0, 2, 50]))
            case _:
                del damaged[place:]
        path.write_bytes(damaged)
        try:
            found = read_npz(path, refuse)
        except DataError:
            continue
        assert all(array.dtype.kind in "biufUS" for array in found.values())


def test_tensors_and_the_head_of_their_file(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"a": torch.ones(2, 3)}, path, metadata={"ours": json.dumps({"n": 1})})
    assert read_tensors(path, refuse)["a"].shape == (2, 3)
    assert read_tensors_and_head(path, "ours", refuse)[1] == {"n": 1}
    with pytest.raises(DataError, match="its head has an entry 'ours', which jumok does not write"):
        read_tensors_and_head(path, "theirs", refuse)
    save_file({"a": torch.ones(2, 3)}, path)
    with pytest.raises(DataError, match="its head has no 'ours'"):
        read_tensors_and_head(path, "ours", refuse)
    for head, why in (("[1]", "'ours' of its head holds no JSON object"), ("[" * 9999, "more than 100 deep")):
        write_tensors({"a": torch.ones(2, 3)}, path, head, entry="ours")
        with pytest.raises(DataError, match=why):
            read_tensors_and_head(path, "ours", refuse)
    good = path.read_bytes()
    for damaged in (good[:-1], good[:5], b"", b"\xff" * 100, good.replace(b"F32", b"F99")):
        path.write_bytes(damaged)
        with pytest.raises(DataError):
            read_tensors(path, refuse)
    with pytest.raises(DataError, match=r"none\.safetensors: "):
        read_tensors(tmp_path / "none.safetensors", refuse)
