"""The film as a page: a slider from the first step to the last, the map of each step, and how the scores went.

Film → JSON (what stays) and packed numbers (the weights of each step) → lens/page/film.html, film.js → one text
"""

import math
import re
from typing import Any

from jumok.inspection.film import Shot
from jumok.lens.film import Film
from jumok.lens.html import Page, assemble_page
from jumok.lens.image_page import DARK
from jumok.lens.packing import Packing

SPECIAL = re.compile(r"\[.*\]")  # the label of a token that stands for no text
SCORES = {"cider_d": "CIDEr-D", "bleu": "BLEU", "accuracy": "val accuracy, %", "loss": "val loss"}
# What the page says below, by what the model answers: why words stay the same, and what the heading is.
FOOTERS = {
    "translation": "while it learnt, the model was shown the reference, so that the words stay the same; "
    "the heading is the model's own translation at that step",
    "continuation": "while it learnt, the model was shown the text, so that the words stay the same; "
    "the heading is the model's own continuation at that step",
    "filling": "the same texts at every step; the heading is how the model filled the masks at that step",
    "caption": "while it learnt, the model was shown the reference, so that the words stay the same; "
    "the heading is the model's own caption at that step",
    "drawing": "the same captions and the same seed at every step; which cells looked at which word is told of the val image, \
so that the cells stay the same",
    "forecast": "the same windows at every step; the heading is the forecast of the last variable at that step, drawn at "
    "the heights of what came",
    "class": "the same texts at every step; the heading is the class that the model named at that step",
}


def make_film_page(film: Film, *, name: str, words: bool | None = None, lang: str | None = None) -> Page:
    """Return the page of a film; words says whether it opens with words or with subwords, None: what shows more.

    lang is the language that it opens in (None: that of jumok.texts.language()).
    """
    shots = film.frames[-1].shots
    if words is None:  # a date is one word: its characters are what there is to see
        words = all(len(set(shot.reference_words)) > 2 and not _reads_characters(shot) for shot in shots)
    packing = Packing()
    frames = [
        {
            "step": frame.step,
            "translations": [shot.translation for shot in frame.shots],
            "weights": [[packing.rounded(found.weights) for found in shot.maps] for shot in frame.shots],
            "drawings": [shot.drawing for shot in frame.shots],
        }
        for frame in film.frames
    ]
    charts = [
        {"name": SCORES[score], "values": values}
        for score in dict.fromkeys((film.score, "loss"))
        if (values := _score_by_step(film, score))
    ]
    data = {
        "name": name,
        "probes": [_describe_probe(shot, number) for number, shot in enumerate(shots, 1)],
        "frames": frames,
        "charts": charts,
        "words": words,
        "answers": shots[0].answer_is,
    }
    page, styles = ("caption_film", ("image", "caption", "film")) if shots[0].image else ("film", ("film",))
    if shots[0].drawing:
        page, styles = "drawing_film", (*styles, "drawing_film")
    footer = FOOTERS[shots[0].answer_is]
    return assemble_page(page, title=name, data=data, packing=packing, footer=footer, styles=styles, lang=lang)


def _reads_characters(shot: Shot) -> bool:
    """Return whether every token is a character, special ones aside."""
    first = shot.maps[0]
    return all(len(label) == 1 for label in (*first.queries, *first.keys) if not SPECIAL.fullmatch(label))


def _score_by_step(film: Film, score: str) -> list[tuple[int, float]]:
    """Return the steps and values of a score; a value that is no finite number cannot be drawn."""
    found = ((step, scores.get(score, math.nan)) for step, scores in sorted(film.scores.items()))
    return [(step, value) for step, value in found if math.isfinite(value)]


def _describe_probe(shot: Shot, number: int) -> dict[str, Any]:
    """Return the JSON of a probe, in the form of a view's: what is the same at every step, so without weights."""
    first = shot.maps[0]
    probe = {
        "name": str(number),
        "source": shot.source,
        "reference": shot.reference,
        "note": "",
        "output": 0,
        "sides": [
            {"name": shot.sides[0], "labels": first.queries, "words": shot.reference_words},
            {"name": shot.sides[1], "labels": first.keys, "words": shot.source_words},
        ],
        "maps": [
            {"path": found.path, "kind": found.kind, "layer": found.layer, "queries": 0, "keys": 1, "details": None}
            for found in shot.maps
        ],
        "positions": [],
        "layers": [],
        "characters": _reads_characters(shot),
        "written": False,
        "choices": [],
        "classes": [],
        "answers": [],
        "worth": [],
    }
    return probe | _describe_image(shot) if shot.image else probe


def _describe_image(shot: Shot) -> dict[str, Any]:
    """Return what the page of a caption knows of its image."""
    pixels = shot.pixels
    grids = {found.kind: found.grid for found in shot.maps if found.grid}
    return {
        "image": shot.image,
        "height": pixels.shape[0],
        "width": pixels.shape[1],
        "dark": bool(pixels.mean() < DARK),
        "warnings": [],
        "grids": {kind: {"rows": grid[0], "columns": grid[1], "block": 1} for kind, grid in grids.items()},
    }
