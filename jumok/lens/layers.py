"""Whole layers on a page: their vectors as packed numbers, and their matrices where there is room or they are wanted.

AttentionRecord.layers → JSON and packed numbers; lens/page/layer.js computes sums, norms and activations again
"""

from collections.abc import Container, Sequence
from typing import Any

from torch import Tensor

from jumok.inspection.details import AttentionDetails
from jumok.inspection.layers import LayerDetails, Matrix, NormDetails, Sublayer
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.lens.packing import Packing

HIDDEN_BITS = MATRIX_BITS = (
    8  # of hidden features and matrices, of which there are many: right to a 250th of the largest
)
MATRIX_ROOM = 100_000  # bytes of matrices that a page takes along unasked


def shown_layers(record: AttentionRecord) -> list[LayerDetails]:
    """Return the layers whose attention a page can follow step by step, each of one example: (T, D)."""
    tokens: dict[str, int] = {}
    for found in record.maps:
        if found.details is not None:
            tokens[_layer_of(found)] = len(found.queries)
    whole = [one for one in record.layers if one.path in tokens and one.before.shape[-2] >= tokens[one.path]]
    layers = {layer.path: layer for layer in reversed(whole)}  # of several calls, the first
    return [_cut(layer, tokens[path]) for path, layer in reversed(layers.items())]


def count_numbers(maps: Sequence[AttentionMap], layers: Sequence[LayerDetails]) -> int:
    """Return how many numbers the details of some maps and layers have; hidden features, which get few bits, as many as their bytes."""
    count = sum(tensor.numel() for found in maps if found.details is not None for tensor in vectors_of(found.details))
    for layer in layers:
        count += layer.before.numel() + (0 if layer.embedded is None else layer.embedded.numel())
        for one in layer.sublayers:
            count += 0 if one.hidden is None else one.output.numel() + one.hidden.numel() * HIDDEN_BITS // 16
    return count


def vectors_of(details: AttentionDetails) -> tuple[Tensor, ...]:
    """Return the tensors of a map's details that a page packs."""
    return details.query, details.key, details.value, details.output


def matrices_fit(layers: Sequence[LayerDetails]) -> bool:
    """Return whether the matrices of some layers are few enough to come along unasked."""
    matrices = [matrix for layer in layers for one in layer.sublayers for matrix in one.matrices.values()]
    return sum(matrix.weight.numel() for matrix in matrices) <= MATRIX_ROOM


def describe_layer(
    layer: LayerDetails, packing: Packing, *, known: Container[str], bits: int, matrices: bool
) -> dict[str, Any]:
    """Return the JSON of one layer: the numbers of its arrays in the packing.

    known are the paths of attention whose output the page has with the details of its map.
    """
    return {
        "path": layer.path,
        "before": packing.rounded(layer.before, bits),
        "embedded": None if layer.embedded is None else packing.rounded(layer.embedded, bits),
        "positions": layer.positions,
        "final": None if layer.final is None else _describe_norm(layer.final, packing),
        "sublayers": [
            _describe_sublayer(one, packing, is_known=one.path in known, bits=bits, matrices=matrices)
            for one in layer.sublayers
        ],
    }


def _describe_sublayer(one: Sublayer, packing: Packing, *, is_known: bool, bits: int, matrices: bool) -> dict[str, Any]:
    """Return the JSON of a sublayer."""
    return {
        "path": one.path,
        "output": None if is_known else packing.rounded(one.output, bits),
        "norm": _describe_norm(one.norm, packing),
        "pre": one.pre,
        "residual": one.residual,
        "hidden": None if one.hidden is None else packing.rounded(one.hidden, HIDDEN_BITS),
        "activation": one.activation,
        "matrices": {name: _describe_matrix(matrix, packing) for name, matrix in one.matrices.items() if matrices},
    }


def _describe_norm(norm: NormDetails, packing: Packing) -> dict[str, Any]:
    packed = {name: getattr(norm, name) for name in ("scale", "shift", "mean", "variance")}
    return {"epsilon": norm.epsilon} | {
        name: None if tensor is None else packing.rounded(tensor) for name, tensor in packed.items()
    }


def _describe_matrix(matrix: Matrix, packing: Packing) -> dict[str, int]:
    return {"weight": packing.rounded(matrix.weight, MATRIX_BITS), "bias": packing.rounded(matrix.bias)}


def _layer_of(found: AttentionMap) -> str:
    """Return the path of the layer that a map's attention is a part of."""
    return found.path.rpartition(".")[0]


def _cut(layer: LayerDetails, tokens: int) -> LayerDetails:
    return layer.cut(tokens) if layer.before.dim() == 3 else layer
