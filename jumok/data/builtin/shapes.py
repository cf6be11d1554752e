"""The built-in set `shapes`: coloured forms drawn by Pillow, with their places, their boxes and a sentence about them.

number → seeded draw → Scene: objects with form, colour, size and place → image, class, boxes, caption
The class of an image is the form of its largest object; smaller ones of other forms stand beside it.
"""

import math
import random
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw

from jumok.config import Split

FORMS = ("circle", "square", "triangle", "star", "cross")
COLOURS = {
    "red": (214, 48, 49),
    "green": (39, 154, 86),
    "blue": (41, 98, 214),
    "yellow": (240, 196, 25),
    "purple": (142, 68, 173),
    "black": (30, 30, 30),
}
SIZES = {"small": (0.16, 0.22), "large": (0.34, 0.46)}  # of the image's side
DEFAULT_SIZES: dict[Split, int] = {"train": 4000, "val": 500, "test": 500}
SIDE = 32
SHARPNESS = 4  # drawn so many times larger, then shrunk: smooth edges
BACKGROUND = (225, 245)  # light grey


@dataclass(frozen=True)
class Thing:
    """One object of a scene; places are shares of the image's side."""

    form: str
    colour: str
    size: str
    box: tuple[float, float, float, float]  # left, upper, right, lower

    @property
    def words(self) -> str:
        """What it is, in words."""
        return f"a {self.size} {self.colour} {self.form}"


@dataclass(frozen=True)
class Scene:
    """What is to be drawn."""

    things: tuple[Thing, ...]  # the largest first
    background: int

    @property
    def label(self) -> str:
        """The class: the form of the largest object."""
        return self.things[0].form

    @property
    def caption(self) -> str:
        """The scene in a sentence."""
        first, *others = self.things
        place = f"{_third(first.box[1], first.box[3], 'top', 'middle', 'bottom')} {_third(first.box[0], first.box[2], 'left', 'centre', 'right')}"
        rest = "".join(f" and {thing.words}" for thing in others)
        return f"{first.words}{rest}, the first at the {place}"


def _third(low: float, high: float, *names: str) -> str:
    return names[min(int((low + high) / 2 * 3), 2)]


@lru_cache(maxsize=4096)
def scene(split: Split, number: int, seed: int = 1) -> Scene:
    """Return scene number of a split: a pure function of its arguments."""
    generator = random.Random(f"shapes {split} {seed} {number}")
    things: list[Thing] = []
    wanted = ["large", *("small" for _ in range(generator.randrange(3)))]
    for size in wanted:
        for _ in range(30):  # a place that is still free
            side = generator.uniform(*SIZES[size])
            left, upper = generator.uniform(0.02, 0.98 - side), generator.uniform(0.02, 0.98 - side)
            box = (left, upper, left + side, upper + side)
            if all(apart(box, other.box) for other in things):
                form = generator.choice(FORMS)
                things.append(Thing(form, generator.choice(list(COLOURS)), size, box))
                break
    return Scene(tuple(things), generator.randrange(*BACKGROUND))


def apart(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    """Return whether two boxes do not overlap."""
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def draw(found: Scene, side: int = SIDE) -> Image.Image:
    """Return the image of a scene, side × side pixels."""
    whole = side * SHARPNESS
    image = Image.new("RGB", (whole, whole), (found.background,) * 3)
    pen = ImageDraw.Draw(image)
    for thing in found.things:
        left, upper, right, lower = (place * whole for place in thing.box)
        colour = COLOURS[thing.colour]
        middle_x, middle_y, radius = (left + right) / 2, (upper + lower) / 2, (right - left) / 2
        match thing.form:
            case "circle":
                pen.ellipse((left, upper, right, lower), fill=colour)
            case "square":
                pen.rectangle((left, upper, right, lower), fill=colour)
            case "triangle":
                pen.polygon([(middle_x, upper), (right, lower), (left, lower)], fill=colour)
            case "star":
                angles = [math.pi * (place / 5 - 0.5) for place in range(10)]
                reach = [radius if place % 2 == 0 else radius * 0.42 for place in range(10)]
                pen.polygon(
                    [
                        (middle_x + far * math.cos(angle), middle_y + far * math.sin(angle))
                        for angle, far in zip(angles, reach, strict=True)
                    ],
                    fill=colour,
                )
            case _:
                thick = radius * 0.36
                pen.rectangle((middle_x - thick, upper, middle_x + thick, lower), fill=colour)
                pen.rectangle((left, middle_y - thick, right, middle_y + thick), fill=colour)
    return image.resize((side, side), Image.Resampling.BOX)
