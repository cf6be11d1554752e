"""Marian and Pegasus translators of Hugging Face's layout, brought in: from their names, ids and pieces to ours.

config, weights, source.spm, target.spm, vocab.json → [model] and [decoding] of a recipe, two tokenizers, weights
tokenizer.json, where `jumok export` wrote it, has our own ids: it is taken as it is
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumok.data.text.tokenizer import END, PAD, SPECIALS, START, UNKNOWN, Tokenizer
from jumok.errors import DataError
from jumok.export.sentencepiece import read_pieces, unigram_tokenizer
from jumok.nn.positions import sinusoid
from jumok.reading import Refuse

Weights = dict[str, Tensor]
LAYER = {  # of either stack; the decoder has cross-attention too
    "self_attn.out_proj": "attention.output",
    "self_attn_layer_norm": "around_attention.norm",
    "fc1": "feedforward.expand",
    "fc2": "feedforward.contract",
    "final_layer_norm": "around_feedforward.norm",
}
CROSS = {"encoder_attn.out_proj": "cross.output", "encoder_attn_layer_norm": "around_cross.norm"}


def marian_tokenizers(
    folder: Path, config: dict[str, Any], ids: dict[str, int]
) -> tuple[dict[str, Tokenizer], list[int]]:
    """Return our two tokenizers, and for each of our ids theirs. ids is their vocab.json."""
    start = config["decoder_start_token_id"]
    theirs = {PAD: config["pad_token_id"], UNKNOWN: ids["<unk>"], START: start, END: config["eos_token_id"]}
    rest = [(number, token) for token, number in ids.items() if number not in theirs.values()]
    order = {place: token for place, (_, token) in enumerate(sorted(rest), start=len(SPECIALS))}
    if any(not isinstance(number, int) for number in theirs.values()):
        raise KeyError("decoder_start_token_id, pad_token_id or eos_token_id")
    tokenizers = {side: unigram_tokenizer(read_pieces(folder / f"{side}.spm"), order) for side in ("source", "target")}
    return tokenizers, [*(theirs[number] for number in range(len(SPECIALS))), *(number for number, _ in sorted(rest))]


def own_tokenizer(content: dict[str, Any], refuse: Refuse) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json that `jumok export` wrote, as it was before; another is refused."""
    marked = {token.get("id"): token.get("content") for token in content.get("added_tokens") or []}
    if [marked.get(number) for number in range(len(SPECIALS))] != list(SPECIALS):
        raise DataError(
            "its tokenizer was not written by jumok export: jumok imports Marian models with source.spm, target.spm and "
            "vocab.json, and what jumok export wrote"
        )
    plain: dict[str, Any] = {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    return Tokenizer.read(json.dumps(content | plain, ensure_ascii=False), "tokenizer.json", refuse)


def marian_recipe(config: dict[str, Any], generation: dict[str, Any], activation: str) -> dict[str, Any]:
    """Return the recipe of a Marian model."""
    layers = {"encoder_ffn_dim": "decoder_ffn_dim", "encoder_attention_heads": "decoder_attention_heads"}
    for encoder, decoder in layers.items():
        if config[encoder] != config[decoder]:
            raise DataError(
                f"config.json: {encoder} and {decoder} differ ({config[encoder]}, {config[decoder]}); jumok has one for both"
            )
    if not config.get("scale_embedding") or not config.get("static_position_embeddings", True):
        raise DataError(
            "config.json: the embeddings are not scaled, or positions are learned; jumok reads the opus-mt layout"
        )
    return {
        "task": "translation",
        "data": {"max_length": config["max_position_embeddings"]},
        "tokenizer": {"kind": "unigram", "vocabulary": config["vocab_size"]},
        "model": {
            "name": "transformer",
            "encoder_layers": config["encoder_layers"],
            "decoder_layers": config["decoder_layers"],
            "width": config["d_model"],
            "heads": config["encoder_attention_heads"],
            "feedforward": config["encoder_ffn_dim"],
            "activation": activation,
            "norm_position": "pre" if config["model_type"] == "pegasus" else "post",
            "tied": config.get("tie_word_embeddings", True),
            "dropout": config.get("dropout", 0.1),
        },
        "decoding": {
            "beam": generation.get("num_beams") or config.get("num_beams") or 1,
            "length_penalty": float(generation.get("length_penalty") or config.get("length_penalty") or 1.0),
        },
    }


def marian_weights(config: dict[str, Any], weights: Weights, order: list[int]) -> Weights:
    """Return a Marian model's weights by our names, its tables in our order of ids."""
    rows = torch.tensor(order)
    table = weights["model.shared.weight"][rows]
    bias = weights.get("final_logits_bias", torch.zeros(1, len(weights["model.shared.weight"])))[0][rows]
    ours = {"embed_source.table.weight": table, "project.bias": bias}  # one table for both sides and the output
    if not config.get("tie_word_embeddings", True):
        ours["project.weight"] = weights["lm_head.weight"][rows]
    for stack in ("encoder", "decoder"):
        if config["model_type"] == "pegasus":
            ours |= {
                f"{stack}.final.{kind}": weights[f"model.{stack}.layer_norm.{kind}"] for kind in ("weight", "bias")
            }
        for number in range(config[f"{stack}_layers"]):
            theirs, place = f"model.{stack}.layers.{number}", f"{stack}.layers.{number}"
            for kind in ("weight", "bias"):
                three = [weights[f"{theirs}.self_attn.{name}_proj.{kind}"] for name in "qkv"]
                ours[f"{place}.attention.query_key_value.{kind}"] = torch.cat(three)
                if stack == "decoder":
                    ours[f"{place}.cross.query.{kind}"] = weights[f"{theirs}.encoder_attn.q_proj.{kind}"]
                    two = [weights[f"{theirs}.encoder_attn.{name}_proj.{kind}"] for name in "kv"]
                    ours[f"{place}.cross.key_value.{kind}"] = torch.cat(two)
                names = LAYER | (CROSS if stack == "decoder" else {})
                ours |= {f"{place}.{new}.{kind}": weights[f"{theirs}.{old}.{kind}"] for old, new in names.items()}
    return ours


def marian_positions(config: dict[str, Any], weights: Weights) -> tuple[dict[str, Any], Weights]:
    """Return the keys of [model] that say how positions are encoded, and the tables of those that are learned.

    A folder without tables has the sinusoid of Marian: sines first, cosines behind them.
    """
    tables = [weights.get(f"model.{stack}.embed_positions.weight") for stack in ("encoder", "decoder")]
    if tables[0] is None or tables[1] is None:
        return {"positions": "sinusoidal-halves"}, {}
    places, width = torch.arange(len(tables[0])), config["d_model"]
    known = {
        "none": torch.zeros(len(places), width),
        "sinusoidal": sinusoid(places, width),
        "sinusoidal-halves": sinusoid(places, width, halves=True),
    }
    for kind, wanted in known.items():
        if all(table is not None and torch.allclose(table, wanted, atol=1e-3) for table in tables):
            return {"positions": kind}, {}
    learned = {"embed_source.positions.table": tables[0], "embed_target.positions.table": tables[1]}
    return {"positions": "learned", "max_positions": len(places)}, learned
