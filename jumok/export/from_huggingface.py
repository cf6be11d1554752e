"""Models of Hugging Face's layout, brought in: GPT-2, BERT, ViT, Swin, Marian, and what `jumok export` wrote.

config.json, weights, tokenizer or how images are prepared → recipe, our names and our order of ids, tokenizer → RUN
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, normalizers, pre_tokenizers
from torch import Tensor

from jumok.data.text.tokenizer import END, PAD, SPECIALS, START, UNKNOWN, Tokenizer
from jumok.errors import DataError, JumokError
from jumok.export.hugging_face_folder import (
    CONFIG,
    TOKENIZER,
    TOKENIZER_FILES,
    check_numbers,
    damaged,
    read_library,
    read_part,
    read_vocabulary,
    read_weights,
)
from jumok.export.images import Weights, swin_weights, vit_weights
from jumok.export.marian import (
    marian_positions,
    marian_recipe,
    marian_tokenizers,
    marian_weights,
    own_tokenizer,
)
from jumok.texts import visible

NEVER = -1e4  # logit of ids that a GPT-2 does not have
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}


@dataclass(frozen=True)
class Imported:
    """A model brought in."""

    raw: dict[str, Any]  # the recipe, as read from TOML
    tokenizers: dict[str, Tokenizer]  # by name; none where it reads no words
    weights: Weights  # by our names
    missing: list[str]  # parts that the folder does not have: they start afresh


def read_folder(folder: Path) -> Imported:
    """Return the model in a folder of Hugging Face's layout."""
    config = read_part(folder / "config.json", CONFIG)
    readers: dict[str, Callable[[Path, dict[str, Any]], Imported]] = {
        "gpt2": _gpt2,
        "bert": _bert,
        "marian": _marian,
        "pegasus": _marian,
        "vit": _vit,
        "swin": _swin,
    }
    kind = config.get("model_type", "")
    if kind not in readers:
        raise DataError(f"{folder} holds a model of type '{kind}'; jumok imports {', '.join(sorted(readers))}")
    try:
        return readers[kind](folder, config)
    except JumokError:
        raise
    except KeyError as error:
        raise DataError(f"{folder} is no whole {kind}: {error} is in none of its files; save it again") from None
    except IndexError:
        raise DataError(
            f"{folder}: the tokenizer has more tokens than the model; they do not belong together"
        ) from None
    except Exception as error:  # of torch, where shapes do not fit, and the bare ones of the tokenizers' library
        reason = str(error).partition("\n")[0][:200]
        raise DataError(
            f"{folder}: config.json, weights and tokenizer do not belong together ({reason}); copy it again"
        ) from error


def _reorder(
    content: dict[str, Any], specials: dict[int, str], mask: str
) -> tuple[Tokenizer, list[int | None], int | None]:
    """Return the tokenizer with our special ids first and no mask, for each new id the old one (None: invented), and the mask's."""
    old: dict[str, int] = content["model"]["vocab"]
    old |= {token["content"]: token["id"] for token in content.get("added_tokens") or []}
    names = [specials.get(number, SPECIALS[number]) for number in range(len(SPECIALS))]
    others = [token for token, _ in sorted(old.items(), key=lambda item: item[1]) if token not in (*names, mask)]
    tokens = [*names, *others]
    content["model"]["vocab"] = {token: number for number, token in enumerate(tokens)}
    content |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    tokenizer = Tokenizer.read(json.dumps(content, ensure_ascii=False), TOKENIZER_FILES, damaged)
    return tokenizer, [old.get(token) for token in tokens], old.get(mask)


def _rows(table: Tensor, order: list[int | None]) -> Tensor:
    """Return the rows of a table in another order; invented ones are zero."""
    rows = table.new_zeros(len(order), *table.shape[1:])
    known = [number for number, old in enumerate(order) if old is not None]
    rows[known] = table[[old for old in order if old is not None]]
    return rows


def _activation(config: dict[str, Any], key: str) -> str:
    name = config.get(key, "gelu")
    if name not in ACTIVATIONS:
        raise DataError(f"config.json: {key} is '{name}'; jumok knows {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


def _refuse(config: dict[str, Any], **expected: Any) -> None:
    for key, value in expected.items():
        if config.get(key, value) != value:
            raise DataError(f"config.json: {key} is {config[key]!r}; jumok imports models with {value!r} only")


# --- GPT-2


def _gpt2(folder: Path, config: dict[str, Any]) -> Imported:
    _refuse(config, scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
    _refuse(config, tie_word_embeddings=True)

    def from_files() -> Library:
        check_numbers(read_vocabulary(folder))
        library = Library(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = decoders.ByteLevel()
        return library

    tokenizer, order, _ = _reorder(read_library(folder, from_files), {END: "<|endoftext|>"}, mask="")
    theirs = {name.removeprefix("transformer."): value for name, value in read_weights(folder).items()}
    table = theirs["wte.weight"]
    ours = {"embed.table.weight": _rows(table, order), "embed.positions.table": theirs["wpe.weight"]}
    ours["project.bias"] = torch.tensor([NEVER if old is None else 0.0 for old in order])
    for number in range(config["n_layer"]):
        parts = {
            "ln_1": "around_attention.norm", "attn.c_attn": "attention.query_key_value", "attn.c_proj": "attention.output",
            "ln_2": "around_feedforward.norm", "mlp.c_fc": "feedforward.expand", "mlp.c_proj": "feedforward.contract",
        }  # fmt: skip
        for their_name, our_name in parts.items():
            for kind in ("weight", "bias"):
                value = theirs[f"h.{number}.{their_name}.{kind}"]
                ours[f"stack.layers.{number}.{our_name}.{kind}"] = value.T if value.dim() == 2 else value
    ours |= {f"stack.final.{kind}": theirs[f"ln_f.{kind}"] for kind in ("weight", "bias")}
    model = {
        "name": "gpt",
        "layers": config["n_layer"],
        "width": config["n_embd"],
        "heads": config["n_head"],
        "feedforward": config.get("n_inner") or 4 * config["n_embd"],
        "window": config["n_positions"],
        "activation": _activation(config, "activation_function"),
        "norm_epsilon": config.get("layer_norm_epsilon", 1e-5),
        "dropout": config.get("resid_pdrop", 0.1),
        "output_bias": True,
        "vocabulary": len(order),
    }
    raw = {"task": "language-modeling", "model": model, "tokenizer": {"kind": "bpe", "vocabulary": len(order)}}
    return Imported(raw, {"text": tokenizer}, ours, [])


# --- BERT


def _bert(folder: Path, config: dict[str, Any]) -> Imported:
    _refuse(config, position_embedding_type="absolute", is_decoder=False, tie_word_embeddings=True)

    def from_files() -> Library:
        library = Library(models.WordPiece.from_file(str(folder / "vocab.txt"), unk_token="[UNK]"))
        settings = folder / "tokenizer_config.json"
        lower = read_part(settings).get("do_lower_case", True) if settings.exists() else True
        library.normalizer = normalizers.BertNormalizer(lowercase=lower)
        library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        library.decoder = decoders.WordPiece()
        return library

    names = {PAD: "[PAD]", UNKNOWN: "[UNK]", START: "[CLS]", END: "[SEP]"}
    tokenizer, order, mask = _reorder(read_library(folder, from_files), names, mask="[MASK]")
    weights = read_weights(folder)
    theirs = {name.removeprefix("bert."): value for name, value in weights.items()}
    order = [*order, mask]
    classes = len(theirs["classifier.weight"]) if "classifier.weight" in theirs else 0
    ours = {
        "table.weight": _rows(theirs["embeddings.word_embeddings.weight"], order),
        "places.table": theirs["embeddings.position_embeddings.weight"],
        "segments.weight": theirs["embeddings.token_type_embeddings.weight"],
    }
    parts = {"embeddings.LayerNorm": "norm", "pooler.dense": "first"}
    for number in range(config["num_hidden_layers"]):
        their_layer, our_layer = f"encoder.layer.{number}", f"encoder.layers.{number}"
        for kind in ("weight", "bias"):
            three = [theirs[f"{their_layer}.attention.self.{name}.{kind}"] for name in ("query", "key", "value")]
            ours[f"{our_layer}.attention.query_key_value.{kind}"] = torch.cat(three)
        parts |= {
            f"{their_layer}.attention.output.dense": f"{our_layer}.attention.output",
            f"{their_layer}.attention.output.LayerNorm": f"{our_layer}.around_attention.norm",
            f"{their_layer}.intermediate.dense": f"{our_layer}.feedforward.expand",
            f"{their_layer}.output.dense": f"{our_layer}.feedforward.contract",
            f"{their_layer}.output.LayerNorm": f"{our_layer}.around_feedforward.norm",
        }
    if classes:
        parts["classifier"] = "project"
    else:
        parts |= {
            "cls.predictions.transform.dense": "transform",
            "cls.predictions.transform.LayerNorm": "transform_norm",
            "cls.seq_relationship": "next_sentence",
        }
        if "cls.predictions.bias" in theirs:
            ours["project.bias"] = _rows(theirs["cls.predictions.bias"], order)
    missing = []
    for their_name, our_name in parts.items():
        for kind in ("weight", "bias"):
            if f"{their_name}.{kind}" in theirs:
                ours[f"{our_name}.{kind}"] = theirs[f"{their_name}.{kind}"]
            else:
                missing.append(f"{our_name}.{kind}")
    model = {
        "name": "bert",
        "layers": config["num_hidden_layers"],
        "width": config["hidden_size"],
        "heads": config["num_attention_heads"],
        "feedforward": config["intermediate_size"],
        "max_positions": config["max_position_embeddings"],
        "activation": _activation(config, "hidden_act"),
        "norm_epsilon": config.get("layer_norm_eps", 1e-12),
        "dropout": config.get("hidden_dropout_prob", 0.1),
        "vocabulary": len(order),
        "classes": classes,
    }
    raw = {
        "task": "masked-language-modeling",
        "model": model,
        "tokenizer": {"kind": "wordpiece", "vocabulary": len(order)},
    }
    if classes:
        labels = _class_names(config, classes)
        longest = config["max_position_embeddings"]
        raw |= {"task": "text-classification", "data": {"train": [], "labels": labels, "max_length": longest}}
    return Imported(raw, {"text": tokenizer}, ours, missing)


# --- images


def _vit(folder: Path, config: dict[str, Any]) -> Imported:
    _refuse(config, qkv_bias=True, hidden_act="gelu")
    return _images(folder, config, *vit_weights(config, read_weights(folder)))


def _swin(folder: Path, config: dict[str, Any]) -> Imported:
    _refuse(config, qkv_bias=True, hidden_act="gelu", use_absolute_embeddings=False)
    return _images(folder, config, *swin_weights(config, read_weights(folder)))


def _images(folder: Path, config: dict[str, Any], model: dict[str, Any], weights: Weights) -> Imported:
    """Return a classifier of images, which are prepared as the folder says, or to −1 … 1 where it says nothing."""
    path = folder / "preprocessor_config.json"
    prepared = read_part(path, dict.fromkeys(("image_mean", "image_std"), list[float] | None)) if path.exists() else {}
    channels = model["channels"]
    data = {
        "labels": _class_names(config, model["classes"]),
        "size": model["image_size"],
        "channels": channels,
        "fit": "squeeze",
        "mean": [float(value) for value in prepared.get("image_mean") or [0.5] * channels],
        "deviation": [float(value) for value in prepared.get("image_std") or [0.5] * channels],
    }
    return Imported({"task": "image-classification", "data": data, "model": model}, {}, weights, [])


def _class_names(config: dict[str, Any], count: int) -> list[str]:
    """Return the names of classes, without characters that would command a terminal."""
    names = config.get("id2label") or {}
    return [visible(str(names.get(str(number), number))) for number in range(count)]


def _marian(folder: Path, config: dict[str, Any]) -> Imported:
    path = folder / "generation_config.json"
    generation = read_part(path, {"num_beams": int | None, "length_penalty": float | None}) if path.exists() else {}
    raw = marian_recipe(config, generation, _activation(config, "activation_function"))
    if (folder / "vocab.json").exists() or not (folder / "tokenizer.json").exists():
        ids = read_vocabulary(folder)
        tokenizers, order = marian_tokenizers(folder, config, ids)
    else:
        tokenizer = own_tokenizer(read_part(folder / "tokenizer.json", TOKENIZER), damaged)
        tokenizers, order = {"source": tokenizer, "target": tokenizer}, list(range(len(tokenizer)))
        raw["tokenizer"]["kind"] = tokenizer.kind
        raw["data"]["max_length"] = read_part(folder / "tokenizer_config.json", {"model_max_length": int})[
            "model_max_length"
        ]
    weights = read_weights(folder)
    positions, tables = marian_positions(config, weights)
    raw["model"] |= positions | {"source_vocabulary": len(order), "target_vocabulary": len(order)}
    return Imported(raw, tokenizers, marian_weights(config, weights, order) | tables, [])
