"""Draw captions.jpg of docs/captions.md: the first ten val images of Flickr8k, what a run says of them, and where it looked.

python docs/figures/captions.py RUN FLICKR8K       (a run of flickr8k-attend; the folder that holds val.npz)

Nothing is chosen: the images are the first ten of the file, the captions the best of the run's own search.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import jumok
from jumok.lens.caption_strip import overlay, smoothed

HERE = Path(__file__).parent
COUNT, SIDE, GAP, LINE, MOST = 10, 84, 6, 20, 14  # images; pixels of a panel, between panels, of a line; words of a row


def row(captioner: "jumok.CaptionWriter", jpeg: bytes) -> Image.Image:
    """Return one row: the image and its caption, then the image where each word looked."""
    with tempfile.NamedTemporaryFile(suffix=".jpg") as file:
        Path(file.name).write_bytes(jpeg)
        heat = captioner.explain(file.name).in_words().word_heat()
    shares = smoothed(heat.heat, *heat.pixels.shape[:2])
    panels = [heat.pixels, *(overlay(heat.pixels, share) for share in shares[:MOST])]
    made = Image.new("RGB", ((MOST + 1) * (SIDE + GAP) + GAP, SIDE + 2 * LINE + GAP), "white")
    pen, font = ImageDraw.Draw(made), ImageFont.load_default(13)
    pen.text((GAP, 0), heat.caption, fill="black", font=font)
    for place, panel in enumerate(panels):
        left = GAP + place * (SIDE + GAP)
        made.paste(Image.fromarray(panel).resize((SIDE, SIDE), Image.Resampling.LANCZOS), (left, LINE))
        if place:
            pen.text((left + SIDE // 2, LINE + SIDE), heat.words[place - 1], fill="#444", font=font, anchor="ma")
    return made


def main() -> None:
    """Draw the rows below each other."""
    captioner, pack = jumok.load(sys.argv[1], jumok.CaptionWriter), np.load(Path(sys.argv[2]) / "val.npz")
    jpegs, offsets = pack["jpeg"], pack["offset"]
    rows = [row(captioner, jpegs[offsets[n] : offsets[n + 1]].tobytes()) for n in range(COUNT)]
    whole = Image.new("RGB", (rows[0].width, sum(one.height for one in rows)), "white")
    for place, one in enumerate(rows):
        whole.paste(one, (0, place * one.height))
    whole.save(HERE / "captions.jpg", quality=78)


if __name__ == "__main__":
    main()
