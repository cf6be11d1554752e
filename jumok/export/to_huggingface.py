"""A translator in Hugging Face's layout: Marian where norms come after (post-norm), Pegasus where they come before.

Transformer, tokenizer → config.json, generation_config.json, model.safetensors, tokenizer.json, tokenizer_config.json
Both keep their table of positions among the weights, so that any kind that is added fits.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.data.text.tokenizer import END, PAD, SPECIALS, START, UNKNOWN, Tokenizer
from jumok.errors import ConfigError, MissingExtraError
from jumok.export.marian import CROSS, LAYER
from jumok.export.supported import supported_transformer
from jumok.json_text import json_text
from jumok.models.transformer import Transformer
from jumok.nn.model import Model
from jumok.tensor_file import write_plain_tensors

PLACES = 1024  # of a sinusoid that has no end of its own
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu-tanh": "gelu_new", "silu": "silu"}


def write_huggingface(
    model: Model[Any], folder: Path, *, tokenizers: dict[str, Tokenizer], options: DecodingConfig, longest: int
) -> None:
    """Write a Transformer and its tokenizer into folder as save_pretrained would; longest is the most source tokens."""
    transformer = supported_transformer(model, "Hugging Face's layout")
    config = transformer.config
    source, target = (json.loads(tokenizers[side].content) for side in ("source", "target"))
    if source != target:
        raise ConfigError(
            "Hugging Face's layout has one tokenizer for both languages; train with tokenizer.shared = true"
        )
    if not config.shared_embeddings:
        raise ConfigError("Hugging Face's layout has one table for both languages (model.shared_embeddings = true)")
    pre = config.norm_position == "pre"
    limit = transformer.limit or PLACES
    folder.mkdir(parents=True, exist_ok=True)
    description = {
        "architectures": ["PegasusForConditionalGeneration" if pre else "MarianMTModel"],
        "model_type": "pegasus" if pre else "marian",
        "vocab_size": config.source_vocabulary,
        "d_model": config.width,
        "encoder_layers": config.depths[0],
        "decoder_layers": config.depths[1],
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.feedforward,
        "decoder_ffn_dim": config.feedforward,
        "activation_function": ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "max_position_embeddings": limit,
        "is_encoder_decoder": True,
        "tie_word_embeddings": config.tied,
        "pad_token_id": PAD,
        "bos_token_id": START,
        "eos_token_id": END,
        "decoder_start_token_id": START,
        "forced_eos_token_id": None,
        "torch_dtype": "float32",
    }
    if not pre:
        description |= {"decoder_vocab_size": config.target_vocabulary, "share_encoder_decoder_embeddings": True}
    generation = {
        "num_beams": options.beam,
        "length_penalty": options.length_penalty,
        "early_stopping": True,
        "max_length": limit,
        "pad_token_id": PAD,
        "bos_token_id": START,
        "eos_token_id": END,
        "decoder_start_token_id": START,
        "bad_words_ids": [[PAD], [START]],
    }
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": SPECIALS[PAD],
        "unk_token": SPECIALS[UNKNOWN],
        "bos_token": SPECIALS[START],
        "eos_token": SPECIALS[END],
        "model_max_length": longest,
        "clean_up_tokenization_spaces": False,
    }
    for name, content in (
        ("config.json", description),
        ("generation_config.json", generation),
        ("tokenizer_config.json", settings),
        ("tokenizer.json", _with_end(source)),
    ):
        (folder / name).write_text(json_text(content, indent=1) + "\n", encoding="utf-8")
    write_plain_tensors(_weights(transformer, limit), folder / "model.safetensors", {"format": "pt"})


def _with_end(content: dict[str, Any]) -> dict[str, Any]:
    """Return a tokenizer that marks its special tokens and writes the end behind every text, as ours leaves to the task."""
    marks = {"special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False}
    end = SPECIALS[END]
    pieces = [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": end, "type_id": 0}}]
    return {
        **content,
        "added_tokens": [{"id": number, "content": name, **marks} for number, name in enumerate(SPECIALS)],
        "post_processor": {
            "type": "TemplateProcessing",
            "single": pieces,
            "pair": [*pieces, {"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": end, "type_id": 0}}],
            "special_tokens": {end: {"id": end, "ids": [END], "tokens": [end]}},
        },
    }


def _weights(model: Transformer, limit: int) -> dict[str, Tensor]:
    """Return the weights by their names."""
    found = {
        "model.shared.weight": model.embed_source.table.weight,
        "final_logits_bias": model.project.bias[None],
        "lm_head.weight": model.project.weight,
    }
    sides = (("encoder", model.encoder, model.embed_source), ("decoder", model.decoder, model.embed_target))
    for stack, ours, embed in sides:
        positions = embed.positions
        places = (
            torch.zeros(limit, model.config.width)
            if positions.kind == "none"
            else positions.encode(torch.arange(limit))
        )
        found[f"model.{stack}.embed_positions.weight"] = places
        found[f"model.{stack}.embed_tokens.weight"] = embed.table.weight
        if ours.final is not None:
            found |= {f"model.{stack}.layer_norm.{k}": getattr(ours.final, k) for k in ("weight", "bias")}
        for number, layer in enumerate(ours.layers):
            place, own = f"model.{stack}.layers.{number}", dict(layer.named_parameters())
            for kind in ("weight", "bias"):
                three = own[f"attention.query_key_value.{kind}"].chunk(3)
                found |= {f"{place}.self_attn.{n}_proj.{kind}": part for n, part in zip("qkv", three, strict=True)}
                if stack == "decoder":
                    two = own[f"cross.key_value.{kind}"].chunk(2)
                    found[f"{place}.encoder_attn.q_proj.{kind}"] = own[f"cross.query.{kind}"]
                    found |= {f"{place}.encoder_attn.{n}_proj.{kind}": part for n, part in zip("kv", two, strict=True)}
                names = LAYER | (CROSS if stack == "decoder" else {})
                found |= {f"{place}.{theirs}.{kind}": own[f"{name}.{kind}"] for theirs, name in names.items()}
    return {name: value.detach().float().cpu().clone().contiguous() for name, value in found.items()}


@torch.inference_mode()
def answer_with_transformers(
    folder: Path, texts: Sequence[str], *, options: DecodingConfig, progress: Callable[[int], None]
) -> list[tuple[str, float]]:
    """Return what Hugging Face's own library makes of an export: text and score of the best answer to each."""
    try:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    except ImportError:
        raise MissingExtraError("transformers", "huggingface", "the proof that the export is right") from None
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    found = []
    for text in texts:
        encoded = tokenizer([text], return_tensors="pt", return_token_type_ids=False)
        longest = options.max_length or 2 * encoded.input_ids.shape[1] + 10
        written = model.generate(
            **encoded,
            num_beams=options.beam,
            length_penalty=options.length_penalty,
            early_stopping=True,
            max_new_tokens=longest,
            max_length=None,
            return_dict_in_generate=True,
            output_scores=True,
        )
        if options.beam > 1:
            score = float(written.sequences_scores[0])
        else:
            scores = model.compute_transition_scores(written.sequences, written.scores, normalize_logits=True)[0]
            score = float(scores.sum()) / len(scores) ** options.length_penalty
        found.append((str(tokenizer.decode(written.sequences[0], skip_special_tokens=True)), score))
        progress(1)
    return found
