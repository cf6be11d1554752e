"""The built-in set `shapes` with captions = "relations": one to five objects, said from left to right.

number → seeded draw → RelationScene: objects from left to right → image, boxes, caption; caption → parse → objects
with [data] withhold, scenes of training have no WITHHELD_PAIRS and no WITHHELD_ORDERS; other scenes have at least one
with [data] brief, a scene of training has a second caption, which leaves things out, as people do

    a small red circle at the top left, above a large blue star at the middle centre, left of a small green cross at …
    a small red circle above a blue star left of a small green cross

A caption says all that can be asked of an image and follows from it alone, so that a perfect model can be perfect:
no centre is near a border between thirds, the order from left to right is clear, and so is each relation.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from PIL import Image

from jumok.config import Split
from jumok.data.builtin import shapes
from jumok.data.builtin.shapes import COLOURS, FORMS, Thing

SIZES = {"small": (0.15, 0.19), "large": (0.27, 0.33)}  # of the image's side
DEFAULT_SIZES: dict[Split, int] = {"train": 20_000, "val": 1000, "test": 1000}
SIDE = 64
MOST = 5  # objects of a scene
BORDER = 0.02  # of the image's side that stays empty all around, and around each object
MARGIN = (
    0.04  # from a centre to a border between thirds; between the centres of two objects; by which a relation is clear
)
ROWS, COLUMNS = ("top", "middle", "bottom"), ("left", "centre", "right")
RELATIONS = ("left of", "above", "below")

# What training never sees where [data] says withhold: one colour of each form, and the order of two forms in a relation;
# each colour, each form, each relation and the same two forms in the other order are seen.
WITHHELD_PAIRS = frozenset(
    {("yellow", "circle"), ("purple", "square"), ("green", "triangle"), ("red", "star"), ("blue", "cross")}
)  # colour, form
WITHHELD_ORDERS = frozenset(
    {("star", "left of", "circle"), ("square", "above", "triangle"), ("cross", "below", "circle")}
)  # form, relation, form of the next object
WITHHELD_SIZE = 500  # scenes of each kind that have what is withheld

# all: any scene; seen: none that has what is withheld; the others: those that have at least one of the one kind, none of
# the other
Kind = Literal["all", "seen", "withheld pairs", "withheld orders"]
WITHHELD: tuple[Kind, ...] = ("withheld pairs", "withheld orders")

# What a brief caption leaves out, and how often: of all objects at once, or of each by itself.
LEFT_OUT = {"place": (0.7, 0.4), "size": (0.2, 0.2), "colour": (0.05, 0.1)}
NO_COMMAS = 0.5

_SIZE, _COLOUR, _FORM = (
    f"(?P<{name}>{'|'.join(words)})" for name, words in (("size", SIZES), ("colour", COLOURS), ("form", FORMS))
)
_PLACE = rf"at the (?P<place>(?:{'|'.join(ROWS)}) (?:{'|'.join(COLUMNS)}))"
_THING = f"a {_SIZE} {_COLOUR} {_FORM} {_PLACE}"
_BRIEF = f"a (?:{_SIZE} )?(?:{_COLOUR} )?{_FORM}(?: {_PLACE})?"


@dataclass(frozen=True)
class Described:
    """An object as a caption describes it; what a brief caption leaves out is empty."""

    size: str
    colour: str
    form: str
    place: str  # one of nine: top left, …, bottom right
    relation: str = field(default="", compare=False)  # of the object before to this one; none before the first

    @property
    def words(self) -> str:
        """The object in words."""
        at = f"at the {self.place}" if self.place else ""
        return " ".join(filter(None, ["a", self.size, self.colour, self.form, at]))


@dataclass(frozen=True)
class RelationScene:
    """What is to be drawn and said."""

    things: tuple[Thing, ...]  # from left to right
    background: int

    @property
    def described(self) -> list[Described]:
        """The objects as the caption describes them."""
        before = [None, *self.things]
        return [
            Described(thing.size, thing.colour, thing.form, place(thing), relation(left, thing) if left else "")
            for left, thing in zip(before, self.things, strict=False)
        ]

    @property
    def caption(self) -> str:
        """The scene in a sentence."""
        return _sentence(self.described, comma=",")

    @property
    def brief(self) -> str:
        """The scene in a sentence that leaves things out: always the same ones of the same scene."""
        draw = random.Random(f"brief {self.caption} {self.things[0].box}").random
        whole = {trait: draw() < of_all for trait, (of_all, _) in LEFT_OUT.items()}
        said = [
            replace(
                each,
                **{trait: "" for trait, (_, of_one) in LEFT_OUT.items() if whole[trait] or draw() < of_one},
            )
            for each in self.described
        ]
        return _sentence(said, comma="" if draw() < NO_COMMAS else ",")


def _sentence(said: Sequence[Described], *, comma: str) -> str:
    first, *others = said
    return first.words + "".join(f"{comma} {each.relation} {each.words}" for each in others)


def place(thing: Thing) -> str:
    """Return which of the nine parts of the image an object's centre is in."""
    x, y = _centre(thing)
    return f"{ROWS[min(int(y * 3), 2)]} {COLUMNS[min(int(x * 3), 2)]}"


def relation(left: Thing, right: Thing) -> str:
    """Return how an object stands to the next one on its right: along the axis on which they are farther apart."""
    (x, y), (next_x, next_y) = _centre(left), _centre(right)
    if abs(next_y - y) <= next_x - x:
        return "left of"
    return "above" if next_y > y else "below"


def parse(caption: str) -> list[Described] | None:
    """Return the objects that a caption describes, or None where it is no sentence of this grammar."""
    return _parsed(caption, _THING)


def parse_brief(caption: str) -> list[Described] | None:
    """Return the objects that a caption describes, which may leave things out, or None where it is no such sentence."""
    return _parsed(caption, _BRIEF)


def _parsed(caption: str, thing: str) -> list[Described] | None:
    text = " ".join(re.sub(r"[,.]", " ", caption).lower().split())
    found, things = re.compile(thing).match(text), []
    following = re.compile(rf" (?P<relation>{'|'.join(RELATIONS)}) {thing}")
    while found:
        said = {name: value or "" for name, value in found.groupdict().items()}
        things.append(Described(**said))
        if found.end() == len(text):
            return things
        found = following.match(text, found.end())
    return None


@lru_cache(maxsize=4096)
def scene(split: Split, number: int, seed: int = 1, kind: Kind = "all") -> RelationScene:
    """Return scene number of a split: a pure function of its arguments. One of all that is seen has the same number there."""
    drawn_as = f" {kind}" if kind in WITHHELD else ""
    generator = random.Random(f"relations {split} {seed} {number}{drawn_as}")
    wanted = generator.randint(2 if kind == "withheld orders" else 1, MOST)
    while True:
        things = _placed(generator, wanted)
        if things and all(_is_clear(left, right) for left, right in pairwise(things)):
            found = RelationScene(tuple(things), generator.randrange(*shapes.BACKGROUND))
            if kind in ("all", _kind(found)):
                return found


def withheld_pairs(described: Sequence[Described]) -> list[int]:
    """Return which objects of a scene have a colour and a form that training never sees together."""
    return [number for number, said in enumerate(described) if (said.colour, said.form) in WITHHELD_PAIRS]


def withheld_orders(described: Sequence[Described]) -> list[int]:
    """Return which objects of a scene stand to their next one as training never sees these two forms stand."""
    return [
        number
        for number, (said, after) in enumerate(pairwise(described))
        if (said.form, after.relation, after.form) in WITHHELD_ORDERS
    ]


def _kind(found: RelationScene) -> Kind | None:
    """Return which kind of scenes one belongs to: None where it has both that is withheld."""
    match bool(withheld_pairs(found.described)), bool(withheld_orders(found.described)):
        case False, False:
            return "seen"
        case True, False:
            return "withheld pairs"
        case False, True:
            return "withheld orders"
    return None


def draw(found: RelationScene, side: int = SIDE) -> Image.Image:
    """Return the image of a scene, side × side pixels."""
    return shapes.draw(shapes.Scene(found.things, found.background), side)


def _placed(generator: random.Random, wanted: int) -> list[Thing]:
    """Return so many objects that do not touch, from left to right; none where there was no room for all."""
    things: list[Thing] = []
    for _ in range(40 * wanted):
        size = generator.choice(list(SIZES))
        side = generator.uniform(*SIZES[size])
        left, upper = (generator.uniform(BORDER, 1 - BORDER - side) for _ in range(2))
        thing = Thing(
            generator.choice(FORMS), generator.choice(list(COLOURS)), size, (left, upper, left + side, upper + side)
        )
        if _is_free(thing, things):
            things.append(thing)
        if len(things) == wanted:
            return sorted(things, key=_centre)
    return []


def _is_free(thing: Thing, others: list[Thing]) -> bool:
    (x, y), (left, upper, right, lower) = _centre(thing), thing.box
    room = (left - BORDER, upper - BORDER, right + BORDER, lower + BORDER)
    near_a_border = any(abs(value - third) < MARGIN for value in (x, y) for third in (1 / 3, 2 / 3))
    return not near_a_border and all(
        shapes.apart(room, other.box) and abs(x - _centre(other)[0]) >= MARGIN for other in others
    )


def _is_clear(left: Thing, right: Thing) -> bool:
    """Return whether two neighbours are clearly farther apart on one axis than on the other."""
    (x, y), (next_x, next_y) = _centre(left), _centre(right)
    return abs(abs(next_y - y) - (next_x - x)) >= MARGIN


def _centre(thing: Thing) -> tuple[float, float]:
    left, upper, right, lower = thing.box
    return (left + right) / 2, (upper + lower) / 2
