"""A folder of Hugging Face's layout: its JSON files, its weights and its tokenizer, each entry of the kind that is used.

Nothing is unpickled freely: weights are safetensors, or a .bin read with weights_only.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer as Library
from torch import Tensor

from jumok.arrays import read_tensors
from jumok.errors import DataError
from jumok.reading import Kind, check_entries, is_kind, read_object, what_is_wrong

WHOLE_NUMBERS = (
    "n_layer", "n_embd", "n_head", "n_positions", "num_hidden_layers", "hidden_size", "num_attention_heads",
    "intermediate_size", "max_position_embeddings", "image_size", "patch_size", "num_channels", "embed_dim", "window_size",
    "encoder_layers", "decoder_layers", "d_model", "encoder_attention_heads", "decoder_attention_heads", "encoder_ffn_dim",
    "decoder_ffn_dim", "vocab_size",
)  # fmt: skip
NUMBERS = (
    "layer_norm_epsilon", "layer_norm_eps", "resid_pdrop", "hidden_dropout_prob", "mlp_ratio", "drop_path_rate", "dropout",
)  # fmt: skip
MAY_BE_NULL = ("n_inner", "num_beams", "decoder_start_token_id", "pad_token_id", "eos_token_id")
CONFIG: dict[str, Kind] = {  # what config.json says, and the kind of each entry that is used
    **dict.fromkeys(WHOLE_NUMBERS, int),
    **dict.fromkeys(NUMBERS, float),
    **dict.fromkeys(MAY_BE_NULL, int | None),
    **dict.fromkeys(("model_type", "activation_function", "hidden_act"), str),
    **dict.fromkeys(("depths", "num_heads"), list[int]),
    "tie_word_embeddings": bool,
    "length_penalty": float | None,
    "id2label": dict[str, str | int] | None,
}
TOKENIZER: dict[str, Kind] = {"model": dict[str, Any], "added_tokens": list[dict[str, Any]] | None}


MOST_TOKENS = 1 << 24  # the largest vocabularies have some hundred thousand

# What messages call a tokenizer that was put together from whichever of these is there.
TOKENIZER_FILES = "its tokenizer (tokenizer.json, or vocab.json with merges.txt, or vocab.txt)"


def read_part(path: Path, kinds: Mapping[str, Kind] | None = None) -> dict[str, Any]:
    """Return the entries of one of the folder's JSON files."""
    if not path.exists():
        raise DataError(f"{path} is missing; a folder that save_pretrained wrote is needed")
    return read_object(path, damaged, kinds)


def damaged(place: str, why: str) -> DataError:
    """Return the error of a file of the folder that cannot be read."""
    return DataError(f"{place} cannot be read ({why}); copy it again")


def read_vocabulary(folder: Path) -> dict[str, int]:
    """Return the numbers of the tokens in a folder's vocab.json."""
    numbers = read_part(folder / "vocab.json")
    if not is_kind(numbers, dict[str, int]):
        raise damaged(str(folder / "vocab.json"), "it does not give each token a whole number")
    return numbers


def check_numbers(vocabulary: Mapping[str, int]) -> None:
    """Raise a ValueError where a token has a number that no model has; the tokenizers' library would abort over it."""
    for token, number in vocabulary.items():
        if not 0 <= number < MOST_TOKENS:
            raise ValueError(f"the token '{token}' has the number {number}")


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Return the weights in a folder by their names there, as float32."""
    index = folder / "model.safetensors.index.json"
    shards = read_part(index, {"weight_map": dict[str, str]}) if index.exists() else {}
    names = sorted(set(shards.get("weight_map", {}).values())) or ["model.safetensors"]

    def refuse(place: str, why: str) -> DataError:
        return DataError(f"the weights in {folder} cannot be read ({why}); copy them again")

    if all((folder / name).exists() for name in names):
        found = {key: value.float() for name in names for key, value in read_tensors(folder / name, refuse).items()}
        if odd := sorted(name for name, value in found.items() if not value.isfinite().all()):
            raise refuse("", f"{odd[0]} holds NaN, or numbers beyond all bounds")
        return found
    if not (folder / "pytorch_model.bin").exists():
        raise DataError(f"{folder} has neither model.safetensors nor pytorch_model.bin")
    try:
        loaded = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
        return {key: value.float() for key, value in loaded.items()}
    except Exception as error:  # pickle refuses what is no plain tensor, and calls whatever a damaged file names
        raise DataError(
            f"{folder / 'pytorch_model.bin'} is not opened ({what_is_wrong(error)}); save it again with safetensors"
        ) from None


def read_library(folder: Path, fallback: Callable[[], Library]) -> dict[str, Any]:
    """Return the description of a folder's tokenizer."""
    path = folder / "tokenizer.json"
    if path.exists():
        content = read_part(path, TOKENIZER)
    else:
        try:
            content = json.loads(fallback().to_str())
        except Exception as error:  # the library raises bare Exceptions
            raise DataError(
                f"{folder} has no tokenizer.json, and its vocabulary files cannot be read ({error})"
            ) from None
    try:
        check_entries(content["model"], {"vocab": dict[str, int]})
        for token in content.get("added_tokens") or []:
            check_entries(token, {"content": str, "id": int})
        check_numbers(content["model"]["vocab"])
        check_numbers({token["content"]: token["id"] for token in content.get("added_tokens") or []})
    except ValueError as error:
        raise damaged(str(path), str(error)) from None
    return content
