"""A page that shows attention: one HTML file that needs nothing else, to be opened, mailed or shown in a notebook.

views → JSON and packed numbers (lens/packing.py)             ┐
lens/page/: frame.html, page.html, page.css, JavaScript modules ┴→ one text

The modules import each other by name, as a browser would have it; here each becomes a function that is called once, in
an order in which every module stands behind those it needs. So a page also works from a file, without a server.
"""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jumok.errors import DataError
from jumok.inspection.details import AttentionDetails
from jumok.lens.packing import BITS, Packing
from jumok.lens.view import NOTHING_TO_SHOW, Side, View

PIECES = Path(__file__).parent / "page"
IMPORT = re.compile(r'^import \{ ([^}]*) \} from "\./([a-z]+)\.js";$', re.MULTILINE)
ROOM, FEWEST_BITS = 280_000, 11  # bytes for the vectors of the arithmetic in all views; what they are cut to at most
SPACE_AND_REMARKS = re.compile(r"^(?:[ ]+|//.*\n|\n)+", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """A page as text; a notebook shows it where it is the last value of a cell."""

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page to a file, whole or not at all."""
        target = Path(path)
        part = target.with_name(f".{target.name}.part")
        try:
            part.write_text(self.html, encoding="utf-8")
            part.replace(target)
        except OSError as error:
            raise DataError(f"{target} cannot be written: {error.strerror}; choose another file") from None
        finally:
            part.unlink(missing_ok=True)

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, so that its styles and a notebook's do not meet."""
        inside = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{inside}" style="width: 100%; height: 46rem; border: 0" title="jumok"></iframe>'


def make_page(views: Sequence[View], *, words: bool = True) -> Page:
    """Return the page of one or more views; words says whether it opens with words or with subwords."""
    packing = Packing()
    bits = bits_for(views)
    runs = [told_of(view, packing, bits=bits) for view in views]
    data = {"runs": runs, "arrays": packing.places, "words": words}
    title = f"{views[0].source} → {views[0].answer}" if views[0].source else views[0].name
    return put_together("page", title=title, data=data, numbers=packing.text(), script=joined_modules("main"))


def bits_for(views: Sequence[View]) -> int:
    """Return how many bits the vectors of the arithmetic get, so that the page of a usual sentence can be mailed."""
    parts = [found.details for view in views for found in view.record.maps if found.details is not None]
    numbers = sum(map(numbers_of, parts))
    return max(min(8 * ROOM // max(numbers, 1), BITS), FEWEST_BITS)


def numbers_of(parts: AttentionDetails) -> int:
    """Return how many numbers the vectors of one map have."""
    return sum(part.numel() for part in (parts.query, parts.key, parts.value, parts.output))


def put_together(
    skeleton: str, *, title: str, data: dict[str, Any], numbers: str, script: str, styles: Sequence[str] = ("page",)
) -> Page:
    """Return the page of a skeleton in lens/page inside the frame of all pages, with title, styles, data and script."""
    filled = {
        "body": (PIECES / f"{skeleton}.html").read_text(encoding="utf-8").strip(),
        "title": html.escape(f"{title} · jumok"),
        "style": "".join((PIECES / f"{name}.css").read_text(encoding="utf-8") for name in styles),
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        "numbers": numbers,
        "script": script,
    }
    text = (PIECES / "frame.html").read_text(encoding="utf-8")
    return Page(re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], text))


@cache
def joined_modules(entry: str) -> str:
    """Return a module and all that it needs as one script: a function each, called behind those that it imports from."""
    sources = {path.stem: path.read_text(encoding="utf-8") for path in sorted(PIECES.glob("*.js"))}
    order: list[str] = []

    def place(name: str) -> None:
        if name not in order:
            for _, needed in IMPORT.findall(sources[name]):
                place(needed)
            order.append(name)

    place(entry)
    return "\n".join(_as_function(name, sources[name]) for name in order)


def _as_function(name: str, source: str) -> str:
    """Return a module as `const nameModule = (() => { …; return { exported }; })();`."""
    exported = ", ".join(EXPORT.findall(source))
    body = EXPORT.sub("", IMPORT.sub(r"const { \1 } = \2Module;", source))
    body = SPACE_AND_REMARKS.sub("", body)  # whoever reads a page's script finds the modules in jumok/lens/page
    return f"const {name}Module = (() => {{\n{body}return {{ {exported} }};\n}})();"


def told_of(view: View, packing: Packing, *, exact: bool = True, bits: int = BITS) -> dict[str, Any]:
    """Return what the page is told of one view; exact says whether weights stay as they are, bits is for vectors."""
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
            "parts": None if found.details is None else _parts(found.details, packing, bits),
        }
        for found in view.record.maps
    ]
    positions = [
        {
            "path": one.path,
            "kind": one.kind,
            "join": one.join,
            "labels": one.labels,
            "table": packing.rounded(one.table),
        }
        for one in view.record.positions
    ]
    return {
        "name": view.name,
        "source": view.source,
        "answer": view.answer,
        "note": "" if maps else NOTHING_TO_SHOW,
        "output": number(view.output),
        "maps": maps,
        "positions": positions,
        "choices": [{"token": token, "probability": share, "rivals": rivals} for token, share, rivals in view.choices],
        "answers": [{"text": text, "score": score} for text, score in view.answers],
        "worth": [{"path": path, "head": head, "lost": lost, "strongest": most} for path, head, lost, most in view.worth],
        "sides": [{"name": side.name, "labels": side.labels, "words": side.words} for side in sides],
    }  # fmt: skip


def _parts(parts: AttentionDetails, packing: Packing, bits: int) -> dict[str, Any]:
    """Return where the parts of one map lie."""
    return {
        "query": packing.rounded(parts.query, bits),
        "key": packing.rounded(parts.key, bits),
        "value": packing.rounded(parts.value, bits),
        "output": packing.rounded(parts.output, bits),
        "scale": parts.scale,
        "mask": None if parts.mask is None else packing.truths(parts.mask),
        "vector": None if parts.vector is None else packing.rounded(parts.vector),
    }
