"""Files of tensors: what is written is read, and no flipped bit is taken for a number."""

import random
import stat

import pytest
import torch
from safetensors.torch import save_file

from jumok.tensor_file import DamagedFileError, read_tensors, write_plain_tensors, write_tensors

TENSORS = {
    "matrix": torch.randn(3, 5, generator=torch.Generator().manual_seed(1)),
    "transposed": torch.arange(14, dtype=torch.int64).view(2, 7).t(),
    "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "truth": torch.tensor([True, False, True]),
    "number": torch.tensor(0.25, dtype=torch.float64),
    "nothing": torch.zeros(0, 3),
}


def same(one, other):
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and one[name].equal(other[name]) for name in one
    )


@pytest.mark.parametrize("text", ["", '{"format": 1}', "무엇이든\n "])
def test_what_is_written_is_read(tmp_path, text):
    file = tmp_path / "a.safetensors"
    write_tensors(TENSORS, file, text, entry="ours")
    tensors, read = read_tensors(file, "ours")
    assert same(tensors, TENSORS)
    assert read == text
    assert list(tmp_path.iterdir()) == [file]
    write_tensors(dict(reversed(TENSORS.items())), tmp_path / "b.safetensors", text, entry="ours")
    assert (tmp_path / "b.safetensors").read_bytes() == file.read_bytes()


def test_every_flipped_bit_is_noticed(tmp_path):
    """Of the head as of the numbers; a file that says it has no checksum is damaged, too."""
    file = tmp_path / "a.safetensors"
    write_tensors(TENSORS, file, '{"format": 1, "title": "a text of some length"}')
    whole = file.read_bytes()
    bits = random.Random(5).sample(range(8 * len(whole)), 300)
    for bit in bits:
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        with pytest.raises(DamagedFileError):
            read_tensors(file)


def test_swapped_tensors_are_noticed(tmp_path):
    """Names and shapes count: the same bytes under other names are other weights."""
    file = tmp_path / "a.safetensors"
    write_tensors({"one": torch.zeros(2, 3), "two": torch.ones(2, 3)}, file)
    whole = file.read_bytes()
    for changed in (whole.replace(b'"one"', b'"six"'), whole.replace(b"[2,3]", b"[3,2]"), whole.replace(b'"F32"', b'"I32"')):  # fmt: skip
        assert changed != whole
        file.write_bytes(changed)
        with pytest.raises(DamagedFileError, match="its checksum is not the one it was written with"):
            read_tensors(file)


def test_files_without_a_checksum_are_read(tmp_path):
    file = tmp_path / "old.safetensors"
    ready = {name: value.contiguous() for name, value in TENSORS.items()}
    for head, text in ((None, ""), ({"format": "pt"}, ""), ({"ours": '{"format": 1}'}, '{"format": 1}')):
        save_file(ready, file, metadata=head)
        tensors, read = read_tensors(file, "ours")
        assert same(tensors, TENSORS)
        assert read == text
    save_file(ready, file, metadata={"theirs": "crc32 00000000 "})
    with pytest.raises(DamagedFileError, match="its head has an entry 'theirs', which jumok does not write"):
        read_tensors(file, "ours")


def test_a_cut_off_file_says_how_long_it_is(tmp_path):
    file = tmp_path / "a.safetensors"
    write_tensors(TENSORS, file)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DamagedFileError, match=r"^[\d,]+ bytes; was it cut off while copying\?$"):
        read_tensors(file)
    with pytest.raises(FileNotFoundError):
        read_tensors(tmp_path / "nowhere")


def test_others_may_read_a_file_where_the_umask_lets_them(tmp_path, umask):
    """The library makes files that none but their owner may read."""
    umask(0o027)
    write_tensors(TENSORS, tmp_path / "a.safetensors")
    write_plain_tensors({"a": torch.zeros(2)}, tmp_path / "b.safetensors", {"format": "pt"})
    for name in ("a", "b"):
        assert stat.S_IMODE((tmp_path / f"{name}.safetensors").stat().st_mode) == 0o640


def test_what_the_library_says_of_the_system_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_tensors(TENSORS, tmp_path / "no" / "folder.safetensors")
    with pytest.raises(IsADirectoryError):
        write_tensors(TENSORS, tmp_path)
