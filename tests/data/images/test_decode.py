"""One image from bytes to pixels: every mode, upright, square, never too large, and a word for what is broken."""

import io
import struct
import zlib
from contextlib import suppress

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from jumok.data.images.decode import LARGEST, BrokenImageError, channels_of, open_image, to_mode, to_pixels, to_square


def encoded(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def gradient(mode="RGB", size=(12, 8)):
    across = np.linspace(0, 255, size[0])[None].repeat(size[1], axis=0)
    down = np.linspace(0, 255, size[1])[:, None].repeat(size[0], axis=1)
    return Image.fromarray(np.stack([across, down, 255 - across], axis=2).astype(np.uint8)).convert(mode)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF"])
def test_every_usual_format_is_read(kind):
    options = {"quality": 95} if kind in ("JPEG", "WEBP") else {}
    pixels = to_pixels(open_image(encoded(gradient(), kind, **options)), size=8, channels=3, fit="crop")
    wanted = to_pixels(gradient(), size=8, channels=3, fit="crop")
    assert pixels.shape == (8, 8, 3)
    assert np.abs(pixels.astype(int) - wanted).mean() < (30 if kind == "GIF" else 12)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "HSV", "LAB", "I;16", "I", "F"])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_mode_becomes_grey_or_colour(mode, channels):
    if mode in ("I;16", "I", "F"):
        values = np.asarray(gradient("L"), dtype=np.float64)
        kinds = {"I;16": (257, np.uint16), "I": (257, np.int32), "F": (1, np.float32)}
        factor, kind = kinds[mode]
        image = Image.fromarray((values * factor).astype(kind))
        assert image.mode == mode
    else:
        image = gradient(mode)
    found = to_mode(image, channels)
    assert found.mode == {1: "L", 3: "RGB"}[channels]
    grey = np.asarray(found.convert("L"), dtype=int)
    far = grey - np.asarray(gradient("L"), dtype=int)
    assert abs(far.mean() if mode == "1" else np.abs(far).mean()) < 12, "tones survive, dithered ones on average"
    assert channels_of(image) == (1 if mode in ("1", "L", "LA", "I;16", "I", "F") else 3)


def test_a_sixteen_bit_png_keeps_its_tones():
    """The classic mistake cuts off the upper byte: everything above 255 turns white."""
    values = np.linspace(0, 65535, 16).astype(np.uint16)[None].repeat(16, axis=0)
    pixels = to_pixels(open_image(encoded(Image.fromarray(values))), size=16, channels=1, fit="crop")
    assert np.abs(pixels[0, :, 0].astype(int) - np.linspace(0, 255, 16)).max() <= 1


def test_what_is_transparent_lies_on_white():
    clear = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    assert (to_pixels(clear, size=4, channels=3, fit="crop") == 255).all()
    palette = Image.new("P", (4, 4), 0)
    palette.putpalette([0, 0, 0, 9, 9, 9])
    assert (to_pixels(open_image(encoded(palette, transparency=0)), size=4, channels=3, fit="crop") == 255).all()


def test_a_photograph_stands_upright():
    image = Image.new("RGB", (6, 4), "black")
    image.putpixel((0, 0), (255, 255, 255))
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    turned = open_image(encoded(image, "PNG", exif=exif))
    assert turned.size == (4, 6)
    assert turned.getpixel((3, 0)) == (255, 255, 255)


def with_exif(content):
    """Return a PNG of 6 × 4 pixels with these bytes as its Exif."""
    return encoded(Image.new("RGB", (6, 4), "red"), "PNG", exif=content)


def turned_by_a_quarter(*tags):
    """Return Exif that says so, with further tags: (number, kind, count, value or place)."""
    tags = [(0x0112, 3, 1, 6), *tags]
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)


@pytest.mark.parametrize(
    ("exif", "size"),
    [
        (turned_by_a_quarter() + bytes(4), (4, 6)),
        (
            turned_by_a_quarter((0x8769, 4, 1, 10**9), (0x9003, 12, 10**9, 10**9)) + bytes(4),
            (4, 6),
        ),  # the rest is broken
        (b"not a TIFF at all", (6, 4)),
        (b"II*\0\xff\xff\xff\xff", (6, 4)),
        (b"II*\0\x08\0\0\0\x09", (6, 4)),
        (turned_by_a_quarter()[:-4], (6, 4)),
        (turned_by_a_quarter().replace(b"\x06\0\0\0", b"\x63\0\0\0") + bytes(4), (6, 4)),  # there is no such turn
    ],
    ids=["good", "other tags broken", "text", "far", "cut", "cut in a tag", "no such turn"],
)
def test_broken_exif_costs_no_pixels(exif, size):
    assert open_image(with_exif(exif)).size == size


def test_only_listed_formats_are_opened(tmp_path, monkeypatch):
    """PostScript would be handed to Ghostscript, which is a whole language; its name may end in .png."""
    path = tmp_path / "holiday.png"
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n")
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *given: pytest.fail("Ghostscript was called"))
    with Image.open(path) as image:
        assert image.format == "EPS", "Pillow would take it"
    with pytest.raises(BrokenImageError, match=r"^no image that can be read$"):
        open_image(path)


def test_pixels_that_are_no_numbers_are_black():
    values = np.array([[np.nan, 0.0], [np.inf, 255.0]], dtype=np.float32)
    found = np.asarray(to_mode(open_image(encoded(Image.fromarray(values), "TIFF")), 1))
    assert found[0].tolist() == [0, 0]


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (200, 3), (33, 57)])
@pytest.mark.parametrize("fit", ["crop", "squeeze", "pad"])
def test_any_shape_becomes_square(size, fit):
    assert to_square(gradient(size=size), 16, fit).size == (16, 16)


def test_the_ways_to_become_square_differ():
    wide = Image.new("RGB", (32, 16), "black")
    wide.paste("white", (0, 0, 8, 16))  # at the left edge
    crop, squeeze, pad = (np.asarray(to_square(wide, 16, fit).convert("L")) for fit in ("crop", "squeeze", "pad"))
    assert crop.max() < 40, "the edge is cut off"
    assert squeeze[:, :3].min() > 200
    assert pad[:3].max() == 0, "an empty border above"
    assert pad[8, 1] > 200


@pytest.mark.parametrize(("content", "why"), [
    (b"this is a text, not an image", "no image that can be read"),
    (b"", "no image that can be read"),
    (encoded(gradient(size=(64, 64)), "JPEG")[:400], "truncated"),
    (encoded(gradient(size=(64, 64)))[:100], "truncated|cannot"),
])  # fmt: skip
def test_what_is_broken_is_said(content, why):
    with pytest.raises(BrokenImageError, match=f"(?i){why}"):
        open_image(content)


def announced(width, height):
    """Return a PNG that says it is huge: refused before anything of that size is made."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    rest = b"\0\0\0\0IEND\xaeB`\x82"
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(head)) + chunk + struct.pack(">I", zlib.crc32(chunk)) + rest


@pytest.mark.parametrize("side", [20_000, 9_000])
def test_a_huge_image_is_refused_before_memory_is_taken(side):
    with pytest.raises(BrokenImageError, match="make it smaller"):
        open_image(announced(side, side))
    assert side * side > LARGEST


def test_a_jpeg_beyond_pillows_own_limit_is_shrunk_too(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 50_000_000)
    content = encoded(Image.new("L", (14_000, 14_000), 60), "JPEG")
    assert open_image(content, least=32).size == (1750, 1750)
    with pytest.raises(BrokenImageError, match="14,000 × 14,000 pixels are more than 64,000,000"):
        open_image(content)
    assert Image.MAX_IMAGE_PIXELS == 50_000_000, "what the user has set stays"


def test_a_large_jpeg_is_shrunk_while_reading():
    content = encoded(Image.new("L", (4096, 4096), 128), "JPEG")
    assert max(open_image(content, least=32).size) <= 512
    assert open_image(content).size == (4096, 4096)
    assert (to_pixels(open_image(content, least=32), size=32, channels=1, fit="crop") == 128).all()


def test_whatever_is_damaged_is_an_image_or_broken():
    rng = np.random.default_rng(7)
    exif = Image.Exif()
    exif[0x0112], exif[0x8769] = 6, {0x9003: "2026:01:01"}
    goods = [encoded(gradient(), kind, exif=exif) for kind in ("PNG", "JPEG", "WEBP")]
    goods += [encoded(gradient(), kind) for kind in ("BMP", "GIF", "PPM", "TIFF")]
    for _ in range(300):
        damaged = bytearray(goods[rng.integers(len(goods))])
        for place in rng.integers(len(damaged), size=rng.choice([1, 2, 20])):
            damaged[place] = rng.integers(256)
        try:
            found = to_pixels(open_image(bytes(damaged), least=8), size=8, channels=3, fit="crop")
        except BrokenImageError:
            continue
        assert found.shape == (8, 8, 3)


def test_libtiff_prints_nothing_of_damaged_images(capfd):
    rng, good = np.random.default_rng(3), encoded(gradient(), "TIFF", compression="tiff_lzw")
    start = int.from_bytes(good[4:8], "little")  # of the directory, behind the pixels
    assert start > 100, "the pixels come first"
    for _ in range(40):
        damaged = bytearray(good)
        damaged[8:start] = rng.bytes(start - 8)
        with suppress(BrokenImageError):
            open_image(bytes(damaged))
    assert capfd.readouterr().err == ""
