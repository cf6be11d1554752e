"""The film as a page: a slider from the first step to the last, the map of each step, and how the scores went.

Film → JSON (what stays) and packed numbers (the weights of each step) → lens/page/film.html, film.js → one text
"""

import math
from typing import Any

from jumok.lens.film import Film, Shot
from jumok.lens.html import Page, joined_modules, put_together
from jumok.lens.packing import Packing

SCORES = {"bleu": "BLEU", "loss": "val loss"}


def make_film_page(film: Film, *, name: str, words: bool | None = None) -> Page:
    """Return the page of a film; words says whether it opens with words or with subwords, None: what shows more."""
    if words is None:  # a date is one word: its characters are what there is to see
        words = all(len(set(shot.reference_words)) > 2 for shot in film.frames[-1].shots)
    packing = Packing()
    frames = [
        {
            "step": frame.step,
            "translations": [shot.translation for shot in frame.shots],
            "weights": [[packing.rounded(found.weights) for found in shot.maps] for shot in frame.shots],
        }
        for frame in film.frames
    ]
    charts = [
        {"name": SCORES[score], "values": values}
        for score in dict.fromkeys((film.score, "loss"))
        if (values := _course(film, score))
    ]
    data = {
        "name": name,
        "probes": [_probe(shot, number) for number, shot in enumerate(film.frames[-1].shots, 1)],
        "frames": frames,
        "charts": charts,
        "arrays": packing.places,
        "words": words,
    }
    return put_together(
        "film",
        title=f"the film of {name}",
        data=data,
        numbers=packing.text(),
        script=joined_modules("film"),
        styles=("page", "film"),
    )


def _course(film: Film, score: str) -> list[tuple[int, float]]:
    """Return a score by step; what is not a number cannot be drawn."""
    found = ((step, scores.get(score, math.nan)) for step, scores in sorted(film.scores.items()))
    return [(step, value) for step, value in found if math.isfinite(value)]


def _probe(shot: Shot, number: int) -> dict[str, Any]:
    """Return what the page is told of a probe once, in the form of a view's (lens/html.py)."""
    first = shot.maps[0]
    return {
        "name": str(number),
        "source": shot.source,
        "reference": shot.reference,
        "note": "",
        "output": 0,
        "sides": [
            {"name": "reference", "labels": first.queries, "words": shot.reference_words},
            {"name": "source", "labels": first.keys, "words": shot.source_words},
        ],
        "maps": [
            {"path": found.path, "kind": found.kind, "layer": found.layer, "queries": 0, "keys": 1, "parts": None}
            for found in shot.maps
        ],
        "positions": [],
        "choices": [],
        "answers": [],
        "worth": [],
    }
