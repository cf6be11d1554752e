"""A Transformer as a CTranslate2 model: our weights under its names.

Transformer, tokenizers → TransformerSpec → DIR/model.bin, config.json, vocabularies
Tokens are handed over as texts; each id has the text of its own number, so that no two can be taken for one another.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jumok.data.text.tokenizer import END, PAD, START, UNKNOWN
from jumok.errors import MissingExtraError
from jumok.export.supported import supported_transformer
from jumok.nn.embeddings import Embedding
from jumok.nn.model import Model
from jumok.nn.norms import LayerNorm

PLACES = 4096  # of a sinusoid that has no end of its own


NAMES = {PAD: "<blank>", UNKNOWN: "<unk>", START: "<s>", END: "</s>"}  # those that CTranslate2 knows
NUMBERS = {name: token for token, name in NAMES.items()}


def names_of(ids: Iterable[int]) -> list[str]:
    """Return the texts that stand for ids."""
    return [NAMES.get(token) or str(token) for token in map(int, ids)]


def ids_of(names: Iterable[str]) -> list[int]:
    """Return the ids that names_of made texts of."""
    found = list(names)
    if odd := [name for name in found if name not in NUMBERS and not name.isdecimal()]:
        raise ValueError(f"its vocabulary has '{odd[0]}' where a number is needed")
    return [NUMBERS[name] if name in NUMBERS else int(name) for name in found]


def write_ctranslate2(model: Model[Any], folder: Path) -> None:
    """Write a Transformer into folder as CTranslate2 reads it."""
    try:
        from ctranslate2.specs import common_spec, transformer_spec
    except ImportError:
        raise MissingExtraError("CTranslate2", "ctranslate2", "this export") from None
    transformer = supported_transformer(model, "CTranslate2")
    config = transformer.config
    activations = {
        "relu": common_spec.Activation.RELU,
        "gelu": common_spec.Activation.GELU,
        "gelu-tanh": common_spec.Activation.GELUTanh,
        "silu": common_spec.Activation.SWISH,
    }
    spec = transformer_spec.TransformerSpec.from_config(
        config.depths, config.heads, pre_norm=config.norm_position == "pre", activation=activations[config.activation]
    )
    _embed(spec.encoder, spec.encoder.embeddings[0], transformer.embed_source)
    _embed(spec.decoder, spec.decoder.embeddings, transformer.embed_target)
    stack: Any  # its layers are a torch.nn.ModuleList, which does not say of what
    for stack, theirs in ((transformer.encoder, spec.encoder), (transformer.decoder, spec.decoder)):
        if stack.final is not None:
            _norm(theirs.layer_norm, stack.final)
        for layer, place in zip(stack.layers, theirs.layer, strict=True):
            _attention(place.self_attention, layer.around_attention, layer.attention.query_key_value, layer.attention)
            if stack is transformer.decoder:
                _attention(place.attention, layer.around_cross, layer.cross.query, layer.cross.key_value, layer.cross)
            _norm(place.ffn.layer_norm, layer.around_feedforward.norm)
            _linear(place.ffn.linear_0, layer.feedforward.expand)
            _linear(place.ffn.linear_1, layer.feedforward.contract)
    _linear(spec.decoder.projection, transformer.project)
    spec.register_source_vocabulary(names_of(range(config.source_vocabulary)))
    spec.register_target_vocabulary(names_of(range(config.target_vocabulary)))
    spec.config.add_source_bos, spec.config.add_source_eos = False, True
    spec.config.decoder_start_token = NAMES[START]
    spec.config.layer_norm_epsilon = stack.layers[0].around_attention.norm.eps
    folder.mkdir(parents=True, exist_ok=True)
    spec.validate()
    spec.save(str(folder))


def _numbers(tensor: Tensor) -> Any:
    return tensor.detach().float().cpu().contiguous().numpy()


def _linear(place: Any, linear: nn.Linear) -> None:
    place.weight, place.bias = _numbers(linear.weight), _numbers(linear.bias)


def _norm(place: Any, norm: LayerNorm) -> None:
    place.gamma, place.beta = _numbers(norm.weight), _numbers(norm.bias)


def _attention(place: Any, around: Any, *projections: Any) -> None:
    """Fill in one attention: its norm, the projections of its inputs, and that of its output."""
    *inputs, attention = projections
    _norm(place.layer_norm, around.norm)
    for linear, ours in zip(place.linear, [*inputs, attention.output], strict=True):
        _linear(linear, ours)


def _embed(stack: Any, place: Any, embedding: Embedding) -> None:
    """Fill in a table, already scaled, and the places it is added to."""
    place.weight = _numbers(embedding.table.weight * embedding.scale)
    stack.scale_embeddings = False
    positions = embedding.positions
    longest = positions.limit or PLACES
    width = embedding.table.embedding_dim
    table = torch.zeros(longest, width) if positions.kind == "none" else positions.encode(torch.arange(longest))
    stack.position_encodings.encodings = _numbers(table)
