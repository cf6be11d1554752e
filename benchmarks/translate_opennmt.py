"""OpenNMT-py's Transformer with the weights of a run, and its own search; for translate.py.

export in Hugging Face's layout (config.json, model.safetensors) → encoder, decoder, generator → Translator
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

# Imported by text filters that are not used here, and hard to install: empty stand-ins will do.
for name in ("fasttext", "spacy"):
    sys.modules.setdefault(name, ModuleType(name))

import pyonmttok  # noqa: E402
from onmt.constants import DefaultTokens  # noqa: E402
from onmt.decoders import TransformerDecoder  # noqa: E402
from onmt.encoders import TransformerEncoder  # noqa: E402
from onmt.models import NMTModel  # noqa: E402
from onmt.modules import Embeddings  # noqa: E402
from onmt.translate import GNMTGlobalScorer, Translator  # noqa: E402

# B batch · S source · D width

PAD, END = 0, 3
SPECIALS = [DefaultTokens.PAD, DefaultTokens.UNK, DefaultTokens.BOS, DefaultTokens.EOS]  # in jumok's order
NORM_EPSILON = 1e-5  # jumok's; OpenNMT-py's own default is 1e-6
ACTIVATIONS = ("relu", "gelu")  # its silu is another layer, with a gate
RENAMED = (  # Hugging Face's names to OpenNMT-py's, one after another
    ("model.", ""),
    ("encoder.layers.", "encoder.transformer."),
    ("decoder.layers.", "decoder.transformer_layers."),
    ("encoder_attn_layer_norm", "layer_norm_2"),
    ("encoder_attn.", "context_attn."),
    ("q_proj", "linear_query"),
    ("k_proj", "linear_keys"),
    ("v_proj", "linear_values"),
    ("out_proj", "final_linear"),
    ("final_layer_norm", "feed_forward.layer_norm"),
    ("fc1", "feed_forward.w_1"),
    ("fc2", "feed_forward.w_2"),
    ("embed_tokens", "embeddings.make_embedding.emb_luts.0"),
    ("embed_positions.weight", "embeddings.make_embedding.pe.pe"),
    ("lm_head", "generator"),
    ("final_logits_bias", "generator.bias"),
)


def load(job: dict[str, Any]) -> tuple[nn.Module, Callable[[Tensor], list[list[int]]]]:
    """Return the model, and what translates a padded batch of ids (B, S)."""
    folder = Path(job["huggingface"])
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    refuse_unknown(config)
    model = build(config)
    weights = {renamed(name): value for name, value in load_file(folder / "model.safetensors").items()}
    # view_as: its table of positions and its bias have other axes of length one.
    fitting = {name: weights[name].view_as(own) for name, own in model.state_dict().items()}
    nn.Module.load_state_dict(model, fitting)  # NMTModel's own reads a checkpoint of its trainer
    translator = make_translator(model.eval(), config["vocab_size"], job["beam"])

    @torch.inference_mode()
    def translate(batch: Tensor) -> list[list[int]]:
        translator.max_length = 2 * batch.shape[1] + 10
        found = translator.translate_batch({"src": batch[..., None], "srclen": batch.ne(PAD).sum(dim=1)}, False)
        return [before_end(answers[0].tolist()) for answers in found["predictions"]]

    return model, translate


def refuse_unknown(config: dict[str, Any]) -> None:
    """Stop where OpenNMT-py has no such Transformer."""
    if config["model_type"] != "pegasus":  # jumok exports pre-norm runs as Pegasus, post-norm ones as Marian
        raise SystemExit(
            "OpenNMT-py 3.5 has pre-norm Transformers only and this run is post-norm; translate with a run trained "
            'with model.norm_position = "pre", or leave OpenNMT-py out of --engines'
        )
    if config["activation_function"] not in ACTIVATIONS:
        raise SystemExit(
            f"OpenNMT-py 3.5 has no plain feed-forward layer with {config['activation_function']}; translate with a "
            f"run of model.activation = {' or '.join(map(repr, ACTIVATIONS))}, or leave OpenNMT-py out of --engines"
        )


def build(config: dict[str, Any]) -> nn.Module:
    """Return OpenNMT-py's Transformer of the export's sizes."""
    width, vocabulary, places = config["d_model"], config["vocab_size"], config["max_position_embeddings"]
    embed_source, embed_target = (Embeddings(width, vocabulary, PAD, position_encoding=True) for _ in range(2))
    for embed in (embed_source, embed_target):
        embed.make_embedding.pe.pe = torch.empty(places, 1, width)  # comes with the weights, whatever its kind
    sizes = {
        "d_model": width,
        "heads": config["encoder_attention_heads"],
        "d_ff": config["encoder_ffn_dim"],
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "max_relative_positions": 0,
        "relative_positions_buckets": 0,
        "pos_ffn_activation_fn": config["activation_function"],
        "add_qkvbias": True,
        "norm_eps": NORM_EPSILON,
    }
    unused = {
        "copy_attn": False,
        "self_attn_type": "scaled-dot",
        "aan_useffn": False,
        "full_context_alignment": False,
        "alignment_layer": -1,
        "alignment_heads": 0,
    }
    encoder = TransformerEncoder(config["encoder_layers"], embeddings=embed_source, **sizes)
    decoder = TransformerDecoder(config["decoder_layers"], embeddings=embed_target, **sizes, **unused)
    model = NMTModel(encoder, decoder)
    model.generator = nn.Linear(width, vocabulary)
    embed_target.word_lut.weight = embed_source.word_lut.weight
    if config["tie_word_embeddings"]:
        model.generator.weight = embed_source.word_lut.weight
    return model


def renamed(name: str) -> str:
    """Return OpenNMT-py's name of a weight."""
    for theirs, its in RENAMED:
        name = name.replace(theirs, its)
    return name.replace("self_attn_layer_norm", "layer_norm_1" if name.startswith("decoder") else "layer_norm")


def make_translator(model: nn.Module, vocabulary: int, beam: int) -> Translator:
    """Return its search: argmax for one beam, else its beam search with scores a token, as jumok has them.

    By default its beam search ends with the first answer that leads the beam, which costs less and makes answers
    shorter: about one in five differs from jumok's. Asked for as many answers as the beam is wide, it looks as far as
    the other engines do.
    """
    tokens = SPECIALS + [str(number) for number in range(len(SPECIALS), vocabulary)]
    known = pyonmttok.build_vocab_from_tokens(tokens)
    return Translator(
        model,
        {"src": known, "tgt": known, "decoder_start_token": DefaultTokens.BOS},
        beam_size=beam,
        n_best=beam,
        random_sampling_topk=1 if beam == 1 else 0,
        max_length_ratio=0,
        dump_beam="",
        report_score=False,
        global_scorer=GNMTGlobalScorer(alpha=1.0, beta=0.0, length_penalty="avg", coverage_penalty="none"),
    )


def before_end(ids: list[int]) -> list[int]:
    """Return an answer without its end."""
    return ids[: ids.index(END)] if END in ids else ids
