"""ViT and Swin of Hugging Face's layout, brought in: from their names and shapes to ours.

config, weights → [model] of a recipe, weights by our names
"""

from typing import Any

import torch
from torch import Tensor

Weights = dict[str, Tensor]
KINDS = ("weight", "bias")


def vit_weights(config: dict[str, Any], weights: Weights) -> tuple[dict[str, Any], Weights]:
    """Return the [model] and the weights of a ViT."""
    theirs = {name.removeprefix("vit."): value for name, value in weights.items()}
    table = theirs["embeddings.position_embeddings"][0]  # (1 + P, D): the class token's place is part of ours
    ours = {
        "class_token": theirs["embeddings.cls_token"][0, 0] + table[0],
        "positions.table": table[1:],
        **_patches(theirs),
    }
    for number in range(config["num_hidden_layers"]):
        their_layer, our_layer = f"encoder.layer.{number}", f"encoder.layers.{number}"
        ours |= _three_in_one(theirs, f"{their_layer}.attention.attention", f"{our_layer}.attention.query_key_value")
        names = {
            "attention.output.dense": "attention.output",
            "layernorm_before": "around_attention.norm",
            "layernorm_after": "around_feedforward.norm",
            "intermediate.dense": "feedforward.expand",
            "output.dense": "feedforward.contract",
        }
        ours |= _renamed(theirs, their_layer, our_layer, names)
    ours |= _renamed(theirs, "", "", {"layernorm": "encoder.final", "classifier": "project"})
    model = {
        "name": "vit",
        "image_size": config["image_size"],
        "patch_size": config["patch_size"],
        "channels": config.get("num_channels", 3),
        "layers": config["num_hidden_layers"],
        "width": config["hidden_size"],
        "heads": config["num_attention_heads"],
        "feedforward": config["intermediate_size"],
        "norm_epsilon": config.get("layer_norm_eps", 1e-12),
        "dropout": config.get("hidden_dropout_prob", 0.0),
        "classes": len(theirs["classifier.bias"]),
    }
    return model, ours


def swin_weights(config: dict[str, Any], weights: Weights) -> tuple[dict[str, Any], Weights]:
    """Return the [model] and the weights of a Swin Transformer."""
    theirs = {name.removeprefix("swin."): value for name, value in weights.items()}
    ours = _patches(theirs) | _renamed(theirs, "", "", {"embeddings.norm": "patch_norm"})
    for stage, count in enumerate(config["depths"]):
        for number in range(count):
            their_layer, our_layer = f"encoder.layers.{stage}.blocks.{number}", f"stages.{stage}.layers.{number}"
            ours |= _three_in_one(theirs, f"{their_layer}.attention.self", f"{our_layer}.attention.query_key_value")
            relative = theirs[f"{their_layer}.attention.self.relative_position_bias_table"]
            ours[f"{our_layer}.attention.relative"] = relative
            names = {
                "attention.output.dense": "attention.output",
                "layernorm_before": "attention_norm",
                "layernorm_after": "feedforward_norm",
                "intermediate.dense": "feedforward.expand",
                "output.dense": "feedforward.contract",
            }
            ours |= _renamed(theirs, their_layer, our_layer, names)
        if stage < len(config["depths"]) - 1:
            ours |= _renamed(theirs, f"encoder.layers.{stage}.downsample", f"stages.{stage}.merge", {"norm": "norm"})
            ours[f"stages.{stage}.merge.reduce.weight"] = theirs[f"encoder.layers.{stage}.downsample.reduction.weight"]
    ours |= _renamed(theirs, "", "", {"layernorm": "norm", "classifier": "project"})
    model = {
        "name": "swin",
        "image_size": config["image_size"],
        "patch_size": config["patch_size"],
        "channels": config.get("num_channels", 3),
        "width": config["embed_dim"],
        "layers": config["depths"],
        "heads": config["num_heads"],
        "window": config["window_size"],
        "feedforward_ratio": float(config.get("mlp_ratio", 4.0)),
        "norm_epsilon": config.get("layer_norm_eps", 1e-5),
        "dropout": config.get("hidden_dropout_prob", 0.0),
        "stochastic_depth": config.get("drop_path_rate", 0.1),
        "classes": len(theirs["classifier.bias"]),
    }
    return model, ours


def _patches(theirs: Weights) -> Weights:
    """Return our projection of patches; theirs is a convolution."""
    name = "embeddings.patch_embeddings.projection"
    return {
        "patches.project.weight": theirs[f"{name}.weight"].flatten(1),
        "patches.project.bias": theirs[f"{name}.bias"],
    }


def _three_in_one(theirs: Weights, their_name: str, our_name: str) -> Weights:
    return {
        f"{our_name}.{kind}": torch.cat([theirs[f"{their_name}.{part}.{kind}"] for part in ("query", "key", "value")])
        for kind in KINDS
    }


def _renamed(theirs: Weights, their_place: str, our_place: str, names: dict[str, str]) -> Weights:
    return {
        f"{our_place}.{ours}.{kind}".lstrip("."): theirs[f"{their_place}.{name}.{kind}".lstrip(".")]
        for name, ours in names.items()
        for kind in KINDS
    }
