"""`jumok caption`: images in, a sentence each out; whatever a file is, it is described or named."""

import json
import struct
import zlib
from pathlib import Path

import pytest
from cli.conftest import captioner_run, copy_run, jumok, refusal  # noqa: F401 - fixtures
from PIL import Image

import jumok as library
from jumok.data.builtin import relations

VALID = "a "  # how every caption of the grammar begins


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Five images of the grammar, one of them inside a folder of the folder."""
    made = tmp_path_factory.mktemp("images")
    (made / "inner").mkdir()
    for number in range(5):
        path = made / "inner" / "4.png" if number == 4 else made / f"{number}.png"
        relations.draw(relations.scene("test", number)).save(path)
    return made


def test_one_image_has_its_caption_and_nothing_else(captioner_run, folder):  # noqa: F811
    done = jumok("caption", captioner_run, folder / "0.png")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(VALID)
    assert done.out.count("\n") == 1
    assert "\t" not in done.out


def test_a_folder_has_a_line_for_each_image(captioner_run, folder):  # noqa: F811
    lines = jumok("caption", captioner_run, folder).out.splitlines()
    names = [line.split("\t")[1] for line in lines]
    assert names == [str(folder / name) for name in ("0.png", "1.png", "2.png", "3.png", "inner/4.png")]
    alone = jumok("caption", captioner_run, folder / "2.png").out.strip()
    assert lines[2].split("\t")[0] == alone, "company changes no caption"
    two = jumok("caption", captioner_run, folder / "2.png", folder / "3.png").out.splitlines()
    assert two == lines[2:4]


def test_names_come_from_standard_input_and_files(captioner_run, folder, tmp_path):  # noqa: F811
    names = "".join(f"{folder / name}\n" for name in ("1.png", "0.png"))
    wanted = jumok("caption", captioner_run, folder / "1.png", folder / "0.png").out
    assert jumok("caption", captioner_run, stdin=names).out == wanted
    (tmp_path / "names").write_text(names, encoding="utf-8")
    done = jumok("caption", captioner_run, "--in", tmp_path / "names", "--out", tmp_path / "captions")
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "captions").read_text(encoding="utf-8") == wanted
    assert jumok("caption", captioner_run, stdin="").out == ""


def test_json_and_several_captions(captioner_run, folder):  # noqa: F811
    told = json.loads(jumok("caption", captioner_run, folder / "0.png", "--json").out)
    text = jumok("caption", captioner_run, folder / "0.png").out.strip()
    assert (told["image"], told["text"]) == (str(folder / "0.png"), text)
    assert told["tokens"][0].strip("▁ ") == "a"
    lines = jumok("caption", captioner_run, folder / "0.png", "--n-best", 3, "--beam", 4).out.splitlines()
    scores, texts, names = zip(*(line.split("\t") for line in lines), strict=True)
    assert len(set(texts)) == 3
    assert sorted(map(float, scores), reverse=True) == list(map(float, scores))
    assert set(names) == {str(folder / "0.png")}
    told = json.loads(jumok("caption", captioner_run, folder / "0.png", "--n-best", 3, "--beam", 4, "--json").out)
    assert [one["text"] for one in told["captions"]] == list(texts)
    assert told["text"] == texts[0]


def test_the_python_twin_says_the_same(captioner_run, folder):  # noqa: F811
    captioner = library.load(captioner_run)
    files = [folder / "0.png", folder / "1.png"]
    lines = jumok("caption", captioner_run, *files).out.splitlines()
    assert captioner.caption(files) == [line.split("\t")[0] for line in lines]
    with Image.open(files[1]) as image:
        assert captioner.caption(image) == captioner.caption(files[1])
    assert (
        captioner.caption(str(files[0]), beam=1) == jumok("caption", captioner_run, files[0], "--beam", 1).out.strip()
    )


# --- images as they come


@pytest.mark.parametrize("mode", ["L", "LA", "1", "P", "RGBA", "CMYK", "I;16", "F"])
def test_every_kind_of_pixel_is_described(captioner_run, folder, tmp_path, mode):  # noqa: F811
    path = tmp_path / ("image.tif" if mode in ("CMYK", "F") else "image.png")
    with Image.open(folder / "0.png") as image:
        steps = {"F": ("L", "F"), "I;16": ("L", "I", "I;16"), "LA": ("L", "LA")}.get(mode, (mode,))
        for step in steps:
            image = image.convert(step)
        image.save(path)
    done = jumok("caption", captioner_run, path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(VALID)


def test_transparency_is_white_and_sizes_are_squeezed(captioner_run, folder, tmp_path):  # noqa: F811
    plain = jumok("caption", captioner_run, folder / "0.png").out
    with Image.open(folder / "0.png") as image:
        image.convert("RGBA").save(tmp_path / "opaque.png")
        image.resize((1, 1)).save(tmp_path / "dot.png")
        image.resize((640, 64)).save(tmp_path / "wide.png")
        image.putalpha(0)
        image.save(tmp_path / "clear.png")
    Image.new("RGB", (64, 64), "white").save(tmp_path / "white.png")
    assert jumok("caption", captioner_run, tmp_path / "opaque.png").out == plain
    clear, white = library.load(captioner_run).captions([str(tmp_path / "clear.png"), str(tmp_path / "white.png")])
    assert clear[1][0].score == white[1][0].score
    for name in ("dot.png", "wide.png"):
        assert jumok("caption", captioner_run, tmp_path / name).out.startswith(VALID)


def write_huge(path: Path, side: int) -> Path:
    """Write a black PNG of side × side pixels, a few hundred kilobytes, row by row."""
    packer = zlib.compressobj(9)
    row = bytes(1 + (side + 7) // 8)
    packed = b"".join([*(packer.compress(row) for _ in range(side)), packer.flush()])

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)  # one bit of grey
    parts = [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", head), chunk(b"IDAT", packed), chunk(b"IEND", b"")]
    path.write_bytes(b"".join(parts))
    return path


def test_what_cannot_be_read_is_named_and_the_others_are_described(captioner_run, folder, tmp_path):  # noqa: F811
    cut = tmp_path / "cut.png"
    cut.write_bytes((folder / "1.png").read_bytes()[:200])
    text = tmp_path / "text.png"
    text.write_text("no image", encoding="utf-8")
    empty = tmp_path / "empty.png"
    empty.touch()
    huge = write_huge(tmp_path / "huge.png", 20_000)
    done = jumok("caption", captioner_run, folder / "0.png", cut, text, empty, huge, folder / "1.png")
    assert done.code == 1
    lines = done.out.splitlines()
    assert [line.split("\t")[0] == "-" for line in lines] == [False, True, True, True, True, False]
    for path in (cut, text, empty, huge):
        assert path.name in done.err.replace("\n", "")
    told = [
        json.loads(line) for line in jumok("caption", captioner_run, cut, folder / "0.png", "--json").out.splitlines()
    ]
    assert (told[0]["text"], told[0]["image"]) == (None, str(cut))
    assert told[1]["text"].startswith(VALID)


def test_what_is_not_there_is_refused(captioner_run, folder, tmp_path, monkeypatch):  # noqa: F811
    assert "there is no image" in refusal(jumok("caption", captioner_run, tmp_path / "none.png"))
    (tmp_path / "bare").mkdir()
    assert "holds no images" in refusal(jumok("caption", captioner_run, tmp_path / "bare"))
    monkeypatch.chdir(tmp_path)
    assert "there is no run folder nowhere" in refusal(jumok("caption", "nowhere", folder / "0.png"))


def test_each_run_has_its_own_command(captioner_run, copy_run, folder):  # noqa: F811
    assert "use jumok translate, not jumok caption" in refusal(jumok("caption", copy_run, folder / "0.png"))
    assert "use jumok caption, not jumok classify" in refusal(jumok("classify", captioner_run, folder / "0.png"))
    assert "use jumok caption, not jumok translate" in refusal(jumok("translate", captioner_run, "a"))


# --- looking and scoring


def test_looking_at_one_image(captioner_run, folder, tmp_path):  # noqa: F811
    caption = jumok("caption", captioner_run, folder / "0.png").out.strip()
    done = jumok(
        "look", captioner_run, folder / "0.png", "--png", tmp_path / "strip.png", "--html", tmp_path / "a.html"
    )
    assert done.code == 0, done
    assert caption in (tmp_path / "a.html").read_text(encoding="utf-8")
    with Image.open(tmp_path / "strip.png") as strip:
        assert strip.width > 100
    assert "look shows one image" in refusal(jumok("look", captioner_run, folder))


def test_files_of_ones_own_are_scored_by_a_run_of_a_built_in_set(captioner_run, tmp_path):  # noqa: F811
    """Once such a run scored drawings of the set in their place, under the files' names."""
    jumok("sample", "shapes", tmp_path / "images", "--captions", "--number", 4)
    Image.new("RGB", (9, 9), "navy").save(tmp_path / "images/test-0.png")
    captioner = library.load(captioner_run)
    store = captioner.own_data(tmp_path / "images/captions.csv")
    assert (store.images.pixels[0] == (0, 0, 128)).all()
    assert store.texts(3) == [relations.scene("test", 3).caption]
    done = jumok(
        "evaluate", captioner_run, "--source", tmp_path / "images/captions.csv", "--target", tmp_path / "images"
    )
    assert "4 images" in done.out, done.err


def test_scores_stand_beside_floors(captioner_run):  # noqa: F811
    done = jumok("evaluate", captioner_run, "--beam", 1)
    assert done.code == 0, done.err
    for word in ("CIDEr-D", "one constant caption", "captions of the nearest images", "form", "place"):
        assert word in done.out
