"""The view of any record: joined maps of the first example, labelled by the tokens that the model read and wrote.

AttentionRecord, labels of the source, labels of the target → maps (H, Q, K) with labels → View
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jumok.errors import ConfigError
from jumok.inspection.joining import OVER_ANOTHER, join_maps
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.lens.labels import Labels
from jumok.lens.view import Side, View

# H heads · Q queries · K keys


def view_of_record(
    record: AttentionRecord, *, tokens: Labels | None = None, target_tokens: Labels | None = None, name: str = ""
) -> View:
    """Return the view of a record: the first example of each map; a side without labels is numbered.

    tokens label what the model read; with cross-attention that is the source, and target_tokens label what was written.
    One label more than the model read as target is the token written last.
    """
    if not record.maps:
        hint = record.why_empty or "call the model inside `with observe(model) as record:` first"
        raise ConfigError(f"the record is empty: {hint}")
    joined = _split_by_size(join_maps(record))
    is_of_steps = len({(found.path, found.layer) for found in record.maps}) < len(record.maps)
    crosses = any(found.kind in OVER_ANOTHER for found in joined)
    if target_tokens is not None and not crosses:
        raise ConfigError("target_tokens are given, and the record has no cross-attention; give tokens alone")
    labelling = _Labelling(tokens, target_tokens, crosses=crosses)
    sides: dict[str, tuple[Side, Side]] = {}
    maps = []
    for found in joined:
        if found.kind not in sides:
            sides[found.kind] = labelling.sides_of(found)
        maps.append(_label(found, sides[found.kind]))
    over_another = [kind for kind in sides if kind in OVER_ANOTHER]
    causal = [kind for kind in sides if kind == "decoder"]
    output = sides[(over_another or causal or list(sides))[0]][0]
    return View(
        name or "a record of attention",
        replace(record, maps=maps, positions=[] if is_of_steps else record.positions),
        sides,
        output=output,
        source=tokens.text if tokens is not None and crosses else "",
        answer=_answer(target_tokens if crosses else tokens, len(output.labels)),
        written=crosses or is_of_steps,
    )


@dataclass(frozen=True)
class _Labelling:
    """Which labels belong to which side of a map."""

    tokens: Labels | None
    target_tokens: Labels | None
    crosses: bool

    def sides_of(self, found: AttentionMap) -> tuple[Side, Side]:
        """Return what looks and what is looked at in maps of one kind."""
        queries, keys = found.weights.shape[-2:]
        if found.queries and found.keys:
            return self._named(found)
        if found.kind in OVER_ANOTHER:
            return self._written(queries)[0], _side("source", self.tokens, keys, "tokens")
        if found.kind == "decoder" and self.crosses:
            return self._written(queries)
        if found.kind == "decoder" and self.tokens is not None and len(self.tokens.labels) == keys + 1:
            return _shifted(self.tokens, keys)
        if found.kind == "encoder" or self.tokens is not None:
            side = _side("source" if self.crosses else "text", self.tokens, keys, "tokens")
            if queries != keys:
                raise ConfigError(f"{found.path} has {queries} queries and {keys} keys: tokens cannot label both")
            return side, side
        return _side("queries", None, queries), _side("keys", None, keys)

    def _named(self, found: AttentionMap) -> tuple[Side, Side]:
        """Return the sides of a map that has labels."""
        if found.kind in OVER_ANOTHER:
            return Side("output", found.queries), Side("source", found.keys)
        if found.kind == "decoder" and self.crosses:
            return Side("output", found.queries), Side("output so far", found.keys)
        if found.queries == found.keys:
            side = Side("source" if self.crosses else "text", found.keys)
            return side, side
        return Side("queries", found.queries), Side("keys", found.keys)

    def _written(self, count: int) -> tuple[Side, Side]:
        given = self.target_tokens
        if given is not None and len(given.labels) == count + 1:
            return _shifted(given, count)
        return _side("output", given, count, "target_tokens"), _side("output so far", given, count, "target_tokens")


def _side(name: str, given: Labels | None, count: int, argument: str = "") -> Side:
    """Return a side with the given labels, or numbered."""
    if given is None:
        return Side(name, tuple(str(place + 1) for place in range(count)))
    if len(given.labels) != count:
        also = " (or one more: the token written last)" if argument == "target_tokens" else ""
        raise ConfigError(
            f"{argument} has {len(given.labels)} labels, and the model read {count}{also}; give one per token that it read, "
            "special tokens and padding included"
        )
    return Side(name, given.labels, given.words)


def _shifted(given: Labels, count: int) -> tuple[Side, Side]:
    """Return what was written, and what stood there before, given one label more than there are queries."""
    output = given.after_first()
    return Side("output", output.labels, output.words), Side("output so far", given.labels[:count], given.words[:count])


def _answer(given: Labels | None, written: int) -> str:
    """Return the text of what was written, or read where nothing was."""
    if given is None:
        return ""
    return given.after_first().text if len(given.labels) > written else given.text


def _label(found: AttentionMap, sides: tuple[Side, Side]) -> AttentionMap:
    """Return the map of the first example with the labels of its kind's sides."""
    queries, keys = (side.labels for side in sides)
    if found.weights.shape[-2:] != (len(queries), len(keys)):
        raise ConfigError(
            f"the maps of kind '{found.kind}' are of different sequences: observe one call of the model at a time"
        )
    return found.cut(queries, keys) if found.weights.dim() == 4 else replace(found, queries=queries, keys=keys)


def _split_by_size(maps: Sequence[AttentionMap]) -> list[AttentionMap]:
    """Return the maps with a kind for each size, where the layers of a kind look at grids or windows of different sizes."""
    sizes: dict[str, set[tuple[int, int]]] = {}
    for found in maps:
        sizes.setdefault(found.kind, set()).add((found.weights.shape[-2], found.weights.shape[-1]))
    paths = {found.path for found in maps}
    if len(paths) < len(maps):  # several calls of a layer: not sizes of one model, but different sequences
        return list(maps)
    return [
        replace(found, kind=f"{found.kind} {found.weights.shape[-2]}×{found.weights.shape[-1]}")
        if len(sizes[found.kind]) > 1
        else found
        for found in maps
    ]
