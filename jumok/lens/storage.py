"""A record kept for later: one safetensors file, its tensors by number, everything else as JSON in the file's head.

AttentionRecord → FILE.safetensors → AttentionRecord; nothing is ever unpickled
"""

from dataclasses import fields
from pathlib import Path
from typing import Any

from torch import Tensor

from jumok.arrays import read_tensors_and_head
from jumok.errors import DataError
from jumok.inspection.details import AttentionDetails, PositionTable
from jumok.inspection.layers import LayerDetails, NormDetails, Sublayer
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.json_text import json_text
from jumok.reading import check_entries, is_kind, what_is_wrong
from jumok.tensor_file import write_tensors
from jumok.writing import explained

FORMAT = 1
Kept = AttentionMap | AttentionDetails | PositionTable | LayerDetails | Sublayer | NormDetails
HEAD = "jumok_record"  # the one entry of the file's head that is ours


def save_record(record: AttentionRecord, path: str | Path) -> None:
    """Write the maps, positions and layers of a record to a file, whole or not at all; the model's matrices stay with it."""
    tensors: dict[str, Tensor] = {}
    head = {
        "format": FORMAT,
        "maps": [_taken_apart(found, f"maps.{number}", tensors) for number, found in enumerate(record.maps)],
        "positions": [_taken_apart(found, f"positions.{n}", tensors) for n, found in enumerate(record.positions)],
        "layers": [_taken_apart(found, f"layers.{n}", tensors) for n, found in enumerate(record.layers)],
    }
    with explained(path):
        write_tensors(tensors, Path(path), json_text(head), entry=HEAD)


def load_record(path: str | Path) -> AttentionRecord:
    """Return the record that save_record wrote."""
    if not Path(path).exists():
        raise DataError(f"there is no file {path}; jumok.save_record(record, FILE) writes one")
    tensors, head = read_tensors_and_head(Path(path), HEAD, _no_record)
    if is_kind(head.get("format"), int) and head["format"] != FORMAT:
        raise DataError(f"{path} is of format {head['format']}, this jumok reads {FORMAT}; upgrade jumok")
    try:
        check_entries(head, dict.fromkeys(("maps", "positions", "layers"), list[dict[str, Any]]), ["maps", "positions"])
        maps = [_map(facts, f"maps.{number}", tensors) for number, facts in enumerate(head["maps"])]
        positions = [_table(facts, f"positions.{n}", tensors) for n, facts in enumerate(head["positions"])]
        layers = [_layer(facts, f"layers.{n}", tensors) for n, facts in enumerate(head.get("layers", []))]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise _no_record(str(path), what_is_wrong(error)) from None
    return AttentionRecord(maps, positions=positions, layers=layers)


def _no_record(place: str, why: str) -> DataError:
    return DataError(f"{place} is no whole record of attention ({why}); jumok.save_record(record, FILE) writes one")


def _taken_apart(found: Kept, name: str, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """Return the fields of a dataclass that are no tensors, and put its tensors into `tensors` by name."""
    facts: dict[str, Any] = {}
    for field in fields(found):
        value = getattr(found, field.name)
        if isinstance(value, Tensor):
            tensors[f"{name}.{field.name}"] = value.detach().cpu().clone().contiguous()  # nothing is shared in a file
        elif isinstance(value, Kept):
            facts[field.name] = _taken_apart(value, f"{name}.{field.name}", tensors)
        elif field.name == "sublayers":
            facts["sublayers"] = [_taken_apart(one, f"{name}.{place}", tensors) for place, one in enumerate(value)]
        elif field.name != "matrices":
            facts[field.name] = value
    return facts


def _map(facts: dict[str, Any], name: str, tensors: dict[str, Tensor]) -> AttentionMap:
    """Return a map from its entry in the file's head; labels that do not fit the weights are refused."""
    weights = tensors[f"{name}.weights"]
    queries, keys, grid = tuple(facts["queries"]), tuple(facts["keys"]), facts["grid"]
    if weights.dim() not in (3, 4) or (queries and (len(queries), len(keys)) != tuple(weights.shape[-2:])):
        raise ValueError(f"{name} has weights of shape {tuple(weights.shape)}")
    details = None
    kept = "parts" if "parts" in facts else "details"  # older files say parts
    if facts.get(kept) is not None:
        query, key, value, output = (tensors[f"{name}.{kept}.{one}"] for one in ("query", "key", "value", "output"))
        mask, vector = (tensors.get(f"{name}.{kept}.{one}") for one in ("mask", "vector"))
        details = AttentionDetails(query, key, value, output, float(facts[kept]["scale"]), mask, vector)
    where = str(facts["path"]), str(facts["kind"]), int(facts["layer"])
    return AttentionMap(*where, weights, queries, keys, (grid[0], grid[1]) if grid else None, details)


def _table(facts: dict[str, Any], name: str, tensors: dict[str, Tensor]) -> PositionTable:
    """Return a position table from its entry in the file's head."""
    where = str(facts["path"]), str(facts["kind"]), str(facts["join"])
    grid = facts.get("grid")
    return PositionTable(*where, tensors[f"{name}.table"], tuple(facts["labels"]), (grid[0], grid[1]) if grid else None)


def _layer(facts: dict[str, Any], name: str, tensors: dict[str, Tensor]) -> LayerDetails:
    """Return a layer from its entry in the file's head."""
    return LayerDetails(
        str(facts["path"]),
        tensors[f"{name}.before"],
        tuple(_sublayer(one, f"{name}.{place}", tensors) for place, one in enumerate(facts["sublayers"])),
        tensors[f"{name}.after"],
        tensors.get(f"{name}.embedded"),
        str(facts["positions"]),
        None if facts.get("final") is None else _norm(facts["final"], f"{name}.final", tensors),
    )


def _sublayer(facts: dict[str, Any], name: str, tensors: dict[str, Tensor]) -> Sublayer:
    return Sublayer(
        str(facts["path"]),
        tensors[f"{name}.output"],
        _norm(facts["norm"], f"{name}.norm", tensors),
        bool(facts["pre"]),
        bool(facts["residual"]),
        tensors.get(f"{name}.hidden"),
        str(facts["activation"]),
    )


def _norm(facts: dict[str, Any], name: str, tensors: dict[str, Tensor]) -> NormDetails:
    given = tensors[f"{name}.scale"], tensors[f"{name}.shift"], float(facts["epsilon"])
    return NormDetails(*given, tensors.get(f"{name}.mean"), tensors.get(f"{name}.variance"))
