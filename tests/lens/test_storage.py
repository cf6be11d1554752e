"""Records on disk: what comes back is what was saved, and a damaged file says so."""

from dataclasses import is_dataclass, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from inspection.test_observe import pair_batch
from safetensors.torch import save_file

import jumok
from jumok.errors import DataError
from jumok.inspection.details import AttentionDetails, PositionTable
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.lens.storage import HEAD
from jumok.models.transformer import Transformer
from jumok.tensor_file import read_tensors

LABELS = st.text(min_size=0, max_size=4)
SIZES = st.integers(1, 4)


@st.composite
def maps(draw):
    heads, queries, keys, width = (draw(SIZES) for _ in range(4))
    torch.manual_seed(draw(st.integers(0, 99)))
    labelled = draw(st.booleans())
    mask = torch.rand(queries, keys) > 0.5 if draw(st.booleans()) else None
    vector = torch.randn(width) if draw(st.booleans()) else None
    details = AttentionDetails(
        torch.randn(heads, queries, width), torch.randn(heads, keys, width), torch.randn(heads, keys, 3),
        torch.randn(queries, 5), draw(st.floats(0.1, 1.0)), mask, vector,
    )  # fmt: skip
    return AttentionMap(
        draw(LABELS), draw(st.sampled_from(["encoder", "cross"])), draw(st.integers(0, 9)),
        torch.rand(heads, queries, keys, dtype=draw(st.sampled_from([torch.float32, torch.bfloat16]))),
        tuple(draw(st.lists(LABELS, min_size=queries, max_size=queries))) if labelled else (),
        tuple(draw(st.lists(LABELS, min_size=keys, max_size=keys))) if labelled else (),
        draw(st.none() | st.tuples(SIZES, SIZES)),
        details if draw(st.booleans()) else None,
    )  # fmt: skip


def without_checksum(file, changed):
    """Write a record as earlier versions did, all of its texts changed by a function."""
    tensors, text = read_tensors(file, HEAD)
    save_file({changed(name): value for name, value in tensors.items()}, file, metadata={HEAD: changed(text)})


def same(one, other):
    """Whether two of anything are alike, tensors bit by bit."""
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.equal(other)
    if is_dataclass(one):
        return type(one) is type(other) and all(same(value, vars(other)[name]) for name, value in vars(one).items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@given(st.lists(maps(), max_size=3), st.lists(LABELS, max_size=3))
def test_what_comes_back_is_what_was_saved(tmp_path_factory, found, labels):
    file = tmp_path_factory.mktemp("record") / "record.safetensors"
    table = PositionTable("places", "learned", "add", torch.randn(len(labels), 2), tuple(labels))
    jumok.save_record(AttentionRecord(found, positions=[table]), file)
    back = jumok.load_record(file)
    assert same(back.maps, found)
    assert same(back.positions, [table])
    assert [path.name for path in file.parent.iterdir()] == ["record.safetensors"]


def test_files_of_older_records_say_parts(tmp_path):
    numbers = [torch.rand(2, 3, 7), torch.rand(2, 5, 7), torch.rand(2, 5, 3), torch.rand(3, 4)]
    found = AttentionMap("a", "x", 0, torch.rand(2, 3, 5), details=AttentionDetails(*numbers, scale=0.5))
    jumok.save_record(AttentionRecord([found]), tmp_path / "r")
    without_checksum(tmp_path / "r", lambda text: text.replace("details", "parts"))
    assert same(jumok.load_record(tmp_path / "r").maps, [found])


def test_maps_that_share_memory_are_saved_each(tmp_path):
    weights = torch.rand(2, 3, 5)
    jumok.save_record(AttentionRecord([AttentionMap("a", "x", 0, weights), AttentionMap("b", "x", 1, weights[:, 1:])]), tmp_path / "r")  # fmt: skip
    assert jumok.load_record(tmp_path / "r").maps[1].weights.equal(weights[:, 1:])


def test_a_damaged_file_gives_one_sentence(tmp_path):
    file = tmp_path / "record.safetensors"
    jumok.save_record(AttentionRecord([AttentionMap("a", "x", 0, torch.rand(2, 3, 5), tuple("abc"), tuple("vwxyz"))]), file)  # fmt: skip
    whole = file.read_bytes()
    for broken in (b"", whole[: len(whole) // 2], whole[:-8], b"x" * 100, whole.replace(b"jumok_record", b"jumok_recora"),
                   whole.replace(b'\\"c\\"]', b'\\"c\\"}'), whole.replace(b'\\"maps\\"', b'\\"mops\\"')):  # fmt: skip
        file.write_bytes(broken)
        with pytest.raises(DataError, match=r"record.safetensors is no whole record of attention \(.*\); jumok.save_record") as caught:  # fmt: skip
            jumok.load_record(file)
        assert "\n" not in str(caught.value)
    file.write_bytes(whole)
    without_checksum(file, lambda text: text.replace('"format": 1', '"format": 7'))
    with pytest.raises(DataError, match=r"is of format 7, this jumok reads 1; upgrade jumok"):
        jumok.load_record(file)
    with pytest.raises(DataError, match="there is no file"):
        jumok.load_record(tmp_path / "nothing")
    with pytest.raises(DataError, match="cannot be written"):
        jumok.save_record(AttentionRecord(), tmp_path / "no" / "folder")


@pytest.mark.parametrize("options", [{}, {"norm_position": "pre"}, {"norm": "batch", "feedforward": 0}])
def test_layers_come_back_without_the_matrices_of_the_model(tmp_path, options):
    config = Transformer.Config(source_vocabulary=23, target_vocabulary=29, layers=1, width=6, heads=2, **({"feedforward": 5} | options))  # fmt: skip
    model = Transformer(config).eval()
    with torch.no_grad(), jumok.observe(model, details=True) as record:
        model(pair_batch())
    jumok.save_record(record, tmp_path / "record.safetensors")
    back = jumok.load_record(tmp_path / "record.safetensors")
    assert len(back.layers) == 2
    for layer, found in zip(back.layers, record.layers, strict=True):
        bare = tuple(replace(one, matrices={}) for one in found.sublayers)
        assert same(layer, replace(found, sublayers=bare))
