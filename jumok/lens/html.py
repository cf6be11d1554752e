"""A page that shows attention: one HTML file that needs nothing else, to be opened, mailed or shown in a notebook.

views → JSON and packed numbers (lens/packing.py)                          ┐
lens/page/: base.html, text.html, base.css, text.js and what it imports    ┴→ one text

The modules import each other by name, as a browser would have it; here each becomes a function that is called once, in
an order in which every module stands behind those it needs. So a page also works from a file, without a server.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jumok.errors import ConfigError
from jumok.inspection.details import AttentionDetails
from jumok.json_text import page_json
from jumok.lens.layers import count_numbers, describe_layer, matrices_fit, shown_layers, vectors_of
from jumok.lens.packing import BITS, Packing
from jumok.lens.view import Side, View
from jumok.texts import LANGUAGES, catalogue, language
from jumok.writing import write_text

PAGE_FILES = Path(__file__).parent / "page"
ROOM, FEWEST_BITS = 360_000, 9  # bytes for the numbers of all views; the fewest bits that one of the details is cut to
# The names of what a view has as tuples.
CHOICE, ANSWER = ("token", "probability", "rivals"), ("text", "score")
CLASS = ("label", "probability")
TOKEN = ("token", "lost")
WORTH = ("path", "head", "lost", "strongest")
FOOTER = "shades follow the square root of a weight, so that small ones stay visible"

SAID = re.compile(r'(?:\bsay\(|data-say(?:-\w+)?=)"((?:[^"\\]|\\.)*)"')  # say("…") of scripts, data-say="…" of HTML

IMPORT = re.compile(r'^import \{ ([^}]*) \} from "\./([a-z_]+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
# What a page does without: indentation, empty lines, comments on a line of their own or behind code.
SPACE_AND_COMMENTS = re.compile(r"^(?:[ ]+|//.*\n|/\* .* \*/\n|<!-- .* -->\n|\n)+|(?<=[;,{]) // .*$", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """A page as text; a notebook shows it where it is the last value of a cell."""

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page to a file, whole or not at all."""
        write_text(path, self.html)

    def _repr_html_(self) -> str:
        """Return the page in an iframe, so that its styles and a notebook's do not meet."""
        inside = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{inside}" style="width: 100%; height: 46rem; border: 0" title="jumok"></iframe>'


def make_page(
    views: Sequence[View], *, words: bool | None = None, matrices: bool | None = None, lang: str | None = None
) -> Page:
    """Return the page of one or more views; words says whether it opens with words or subwords, None: as they are read.

    matrices says whether the page has the matrices of layers with details (None: where they are small); lang is the
    language that it opens in (None: that of jumok.texts.language()).
    """
    packing = Packing()
    bits = bits_for(views)
    runs = [describe_view(view, packing, bits=bits, matrices=matrices) for view in views]
    if words is None:
        words = not any(view.characters for view in views)
    data = {"runs": runs, "words": words}
    title = f"{views[0].source} → {views[0].answer}" if views[0].source else views[0].name
    return assemble_page("text", title=title, data=data, packing=packing, footer=FOOTER, lang=lang)


def bits_for(views: Sequence[View]) -> int:
    """Return how many bits each number of the details gets, so that the page of a usual sentence can be mailed."""
    weights = sum(found.weights.numel() for view in views for found in view.record.maps)
    numbers = sum(count_numbers(view.record.maps, shown_layers(view.record)) for view in views)
    numbers += sum(one.table.numel() for view in views for one in view.record.positions)
    return max(min(8 * (ROOM - 4 * weights) // max(numbers, 1), BITS), FEWEST_BITS)


def assemble_page(
    name: str,
    *,
    title: str,
    data: dict[str, Any],
    packing: Packing,
    footer: str,
    styles: Sequence[str] = (),
    lang: str | None = None,
) -> Page:
    """Return the page of lens/page/NAME.html and NAME.js inside base.html, with further styles beside base.css."""
    opens_in = lang or language()
    if opens_in not in LANGUAGES:
        raise ConfigError(f"lang = '{lang}': a page speaks {' or '.join(LANGUAGES)}")
    data = data | {"footer": footer, "lang": opens_in, "languages": LANGUAGES, "arrays": packing.places}
    data["texts"] = texts_of(name, page_json(data))
    filled = {
        "lang": opens_in,
        "body": _read("html", name).strip(),
        "title": html.escape(f"{title} · jumok"),
        "style": "".join(_read("css", style) for style in ("base", *styles)),
        "data": page_json(data).replace("<", "\\u003c"),
        "numbers": packing.text(),
        "script": bundle_modules(name),
    }
    return Page(re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], _read("html", "base")))


def texts_of(name: str, told: str) -> dict[str, dict[str, str]]:
    """Return the translations, by language, of what a page can say: the texts of its files, and those in its JSON."""
    said = _said_by(name)
    return {
        spoken: {
            text: translated
            for text, translated in catalogue(spoken, "page").items()
            if text in said or page_json(text) in told
        }
        for spoken in LANGUAGES
    }


@cache
def _said_by(name: str) -> frozenset[str]:
    """Return the English texts of lens/page/NAME.html and of all modules that it needs."""
    sources = bundle_modules(name) + _read("html", name) + _read("html", "base")
    return frozenset(text.replace('\\"', '"') for text in SAID.findall(sources))


@cache
def bundle_modules(entry: str) -> str:
    """Return a module and all that it imports as one script: one function per module, each behind those it needs."""
    order: list[str] = []

    def place(name: str) -> None:
        if name not in order:
            for _, needed in IMPORT.findall(_read("js", name)):
                place(needed)
            order.append(name)

    place(entry)
    return "\n".join(_as_function(name, _read("js", name)) for name in order)


def _as_function(name: str, source: str) -> str:
    """Return a module as `const nameModule = (() => { …; return { exported }; })();`."""
    exported = ", ".join(EXPORT.findall(source))
    body = EXPORT.sub("", IMPORT.sub(r"const { \1 } = \2Module;", source))
    return f"const {name}Module = (() => {{\n{body}return {{ {exported} }};\n}})();"


def _read(kind: str, name: str) -> str:
    """Return a file of lens/page without comments and indentation; whoever reads a page's script finds them there."""
    return SPACE_AND_COMMENTS.sub("", (PAGE_FILES / f"{name}.{kind}").read_text(encoding="utf-8"))


def describe_view(
    view: View, packing: Packing, *, exact: bool = True, bits: int = BITS, matrices: bool | None = None
) -> dict[str, Any]:
    """Return the JSON of one view; exact says whether weights stay as they are, bits is for details."""
    sides: list[Side] = []

    def number(side: Side) -> int:
        if side not in sides:
            sides.append(side)
        return sides.index(side)

    maps = [
        {
            "path": found.path,
            "kind": found.kind,
            "layer": found.layer,
            "queries": number(view.sides[found.kind][0]),
            "keys": number(view.sides[found.kind][1]),
            "weights": (packing.exact if exact else packing.rounded)(found.weights),
            "details": None if found.details is None else _describe_details(found.details, packing, bits),
        }
        for found in view.record.maps
    ]
    positions = [
        {
            "path": one.path,
            "kind": one.kind,
            "join": one.join,
            "labels": one.labels,
            "table": packing.rounded(one.table, bits),
            "grid": one.grid,
        }
        for one in view.record.positions
    ]
    known = {found.path for found in view.record.maps if found.details is not None}
    layers = shown_layers(view.record)
    takes_matrices = matrices_fit(layers) if matrices is None else matrices
    return {
        "name": view.name,
        "source": view.source,
        "answer": view.answer,
        "note": "" if maps else view.note,
        "output": number(view.output),
        "maps": maps,
        "positions": positions,
        "layers": [describe_layer(layer, packing, known=known, bits=bits, matrices=takes_matrices) for layer in layers],
        "choices": [one and dict(zip(CHOICE, one, strict=True)) for one in view.choices],
        "classes": [dict(zip(CLASS, one, strict=True)) for one in view.classes],
        "written": view.written,
        "characters": view.characters,
        "answers": [dict(zip(ANSWER, one, strict=True)) for one in view.answers],
        "worth": [dict(zip(WORTH, one, strict=True)) for one in view.worth],
        "tokens": [dict(zip(TOKEN, one, strict=True)) for one in view.tokens],
        "sides": [vars(side) for side in sides],
    }


def _describe_details(details: AttentionDetails, packing: Packing, bits: int) -> dict[str, Any]:
    """Return the JSON of one map's details: the numbers of its arrays in the packing."""
    names = ("query", "key", "value", "output")
    packed = {name: packing.rounded(one, bits) for name, one in zip(names, vectors_of(details), strict=True)}
    return packed | {
        "scale": details.scale,
        "mask": None if details.mask is None else packing.truths(details.mask),
        "vector": None if details.vector is None else packing.rounded(details.vector),
    }
