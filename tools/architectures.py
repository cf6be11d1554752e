"""The architectures of Hugging Face that observe reads: its maps against output_attentions, on tiny random models.

python tools/architectures.py        prints the table of docs/foreign.md
tests/inspection/test_architectures.py asks for the same, one architecture at a time
"""

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch import Tensor, nn

import jumok

# B batch · H heads · S source tokens · T target tokens · Q queries · K keys

WIDTH, HEADS, WORDS, SOURCE, TARGET = 24, 4, 61, 7, 5
Inputs = dict[str, Tensor]

# The same sizes, in the words of each family of configurations.
BERT = {
    "vocab_size": WORDS, "hidden_size": WIDTH, "num_hidden_layers": 3, "num_attention_heads": HEADS,
    "intermediate_size": 17, "max_position_embeddings": 32, "pad_token_id": 0,
}  # fmt: skip
LLAMA = BERT | {"num_key_value_heads": 2, "head_dim": 6, "bos_token_id": 1, "eos_token_id": 2}
BART = {
    "vocab_size": WORDS, "d_model": WIDTH, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS, "encoder_ffn_dim": 17, "decoder_ffn_dim": 17, "max_position_embeddings": 32,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "forced_eos_token_id": None,
}  # fmt: skip
T5 = {
    "vocab_size": WORDS, "d_model": WIDTH, "d_kv": 6, "d_ff": 17, "num_layers": 3, "num_decoder_layers": 2,
    "num_heads": HEADS, "pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
GPT2 = {
    "vocab_size": WORDS, "n_embd": WIDTH, "n_layer": 3, "n_head": HEADS, "n_positions": 32, "n_ctx": 32,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
VIT = {
    "hidden_size": WIDTH, "num_hidden_layers": 3, "num_attention_heads": HEADS, "intermediate_size": 17,
    "image_size": 12, "patch_size": 4,
}  # fmt: skip
SWIN = {
    "embed_dim": 8, "depths": [1, 2], "num_heads": [2, 4], "image_size": 32, "patch_size": 4, "window_size": 4,
}  # fmt: skip


@dataclass(frozen=True)
class Architecture:
    """One architecture: its class, the sizes of its configuration, and what it reads."""

    model: str
    sizes: dict[str, Any]
    reads: str = "text"  # text, pairs, image
    configuration: str = ""  # the name of its class, where it is not the model's with another ending

    @property
    def config(self) -> str:
        """The name of its configuration's class."""
        if self.configuration:
            return self.configuration
        for ending in ("ForConditionalGeneration", "LMHeadModel", "ForCausalLM", "MTModel", "EncoderModel", "Model"):
            if self.model.endswith(ending):
                return self.model.removesuffix(ending) + "Config"
        raise ValueError(self.model)


ARCHITECTURES = {
    "BERT": Architecture("BertModel", BERT),
    "DistilBERT": Architecture(
        "DistilBertModel", {"vocab_size": WORDS, "dim": WIDTH, "n_layers": 3, "n_heads": HEADS, "hidden_dim": 17}
    ),
    "RoBERTa": Architecture("RobertaModel", BERT),
    "XLM-RoBERTa": Architecture("XLMRobertaModel", BERT),
    "ALBERT": Architecture("AlbertModel", BERT | {"embedding_size": 11}),
    "ELECTRA": Architecture("ElectraModel", BERT | {"embedding_size": 11}),
    "DeBERTa-v2": Architecture("DebertaV2Model", BERT | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "MPNet": Architecture("MPNetModel", BERT),
    "ModernBERT": Architecture("ModernBertModel", BERT | {"cls_token_id": 1, "sep_token_id": 2}),
    "GPT-2": Architecture("GPT2LMHeadModel", GPT2),
    "GPT-Neo": Architecture(
        "GPTNeoForCausalLM",
        {"vocab_size": WORDS, "hidden_size": WIDTH, "num_layers": 2, "num_heads": HEADS, "max_position_embeddings": 32,
         "attention_types": [[["global", "local"], 1]], "window_size": 3},
    ),
    "GPT-J": Architecture("GPTJForCausalLM", GPT2 | {"rotary_dim": 4}),
    "GPT-NeoX": Architecture("GPTNeoXForCausalLM", BERT),
    "OPT": Architecture(
        "OPTForCausalLM", BERT | {"ffn_dim": 17, "word_embed_proj_dim": WIDTH}
    ),
    "BLOOM": Architecture("BloomForCausalLM", {"vocab_size": WORDS, "hidden_size": WIDTH, "n_layer": 3, "n_head": HEADS}),
    "Llama": Architecture("LlamaForCausalLM", LLAMA),
    "Mistral": Architecture("MistralForCausalLM", LLAMA | {"sliding_window": 4}),
    "Mixtral": Architecture("MixtralForCausalLM", LLAMA | {"intermediate_size": 20, "num_local_experts": 2}),
    "Qwen2": Architecture("Qwen2ForCausalLM", LLAMA),
    "Qwen3": Architecture("Qwen3ForCausalLM", LLAMA),
    "Gemma": Architecture("GemmaForCausalLM", LLAMA),
    "Gemma 2": Architecture("Gemma2ForCausalLM", LLAMA | {"sliding_window": 4}),
    "Gemma 3": Architecture("Gemma3ForCausalLM", LLAMA | {"sliding_window": 4}, configuration="Gemma3TextConfig"),
    "Phi-3": Architecture("Phi3ForCausalLM", LLAMA),
    "EXAONE 4": Architecture("Exaone4ForCausalLM", LLAMA | {"sliding_window": 4}),
    "T5": Architecture("T5ForConditionalGeneration", T5, reads="pairs"),
    "mT5": Architecture("MT5ForConditionalGeneration", T5, reads="pairs"),
    "BART": Architecture("BartForConditionalGeneration", BART, reads="pairs"),
    "mBART": Architecture("MBartForConditionalGeneration", BART, reads="pairs"),
    "Marian": Architecture("MarianMTModel", BART, reads="pairs"),
    "M2M100 (NLLB)": Architecture("M2M100ForConditionalGeneration", BART, reads="pairs"),
    "Pegasus": Architecture("PegasusForConditionalGeneration", BART, reads="pairs"),
    "ViT": Architecture("ViTModel", VIT, reads="image"),
    "DeiT": Architecture("DeiTModel", VIT, reads="image"),
    "BEiT": Architecture("BeitModel", VIT | {"use_relative_position_bias": True}, reads="image"),
    "DINOv2": Architecture("Dinov2Model", VIT, reads="image"),
    "CLIP, texts": Architecture("CLIPTextModel", BERT),
    "CLIP, images": Architecture("CLIPVisionModel", VIT, reads="image"),
    "Swin": Architecture("SwinModel", SWIN, reads="image"),
    "Swin v2": Architecture("Swinv2Model", SWIN, reads="image"),
}  # fmt: skip


def make_model(name: str) -> nn.Module:
    """Return a tiny random model of an architecture, in evaluation mode."""
    found = ARCHITECTURES[name]
    torch.manual_seed(1)
    model: nn.Module = getattr(transformers, found.model)(getattr(transformers, found.config)(**found.sizes))
    for parameter in model.parameters():  # larger weights than a fresh model's, so that attention is not even
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.3)
    return model.eval()


def make_inputs(name: str) -> Inputs:
    """Return a batch of two random examples; the second text is shorter."""
    reads, random = ARCHITECTURES[name].reads, torch.Generator().manual_seed(3)
    if reads == "image":
        size = ARCHITECTURES[name].sizes["image_size"]
        return {"pixel_values": torch.randn(2, 3, size, size, generator=random)}
    inputs = {
        "input_ids": torch.randint(5, WORDS, (2, SOURCE), generator=random),
        "attention_mask": (torch.arange(SOURCE) < torch.tensor([[SOURCE], [4]])).long(),
    }
    if reads == "pairs":
        inputs["decoder_input_ids"] = torch.randint(5, WORDS, (2, TARGET), generator=random)
    return inputs


def claimed_weights(model: Any, inputs: Inputs) -> dict[str, list[Tensor]]:
    """Return the weights that output_attentions=True gives, by kind of attention."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    theirs = model(**inputs, output_attentions=True)
    model.set_attn_implementation(before)
    alone = "decoder" if type(model).__name__.endswith(("LM", "LMHeadModel", "CLIPTextModel")) else "encoder"
    fields = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    found = {kind: theirs.get(field) for kind, field in fields.items()} | {
        alone: theirs.get("attentions") or theirs.get(fields[alone])
    }
    return {kind: list(weights) for kind, weights in found.items() if weights}


@torch.no_grad()
def compare(name: str) -> tuple[jumok.AttentionRecord, float]:
    """Return the record of an architecture and its largest difference to output_attentions."""
    model, inputs = make_model(name), make_inputs(name)
    claimed = claimed_weights(model, inputs)
    with warnings.catch_warnings(), jumok.observe(model, details=True) as record:
        warnings.simplefilter("ignore")  # of details that cannot be kept
        model(**inputs)
    largest = 0.0
    for kind, theirs in claimed.items():
        ours = [found.weights for found in record.of_kind(kind)]
        if len(ours) > len(theirs):  # a Swin gives the last block of each stage
            lasts = [place for place, found in enumerate(record.maps) if found.path.startswith("encoder.layers")]
            stages = {record.maps[place].path.split(".")[2]: place for place in lasts}
            ours = [ours[place] for place in stages.values()]
        if [one.shape for one in ours] != [one.shape for one in theirs]:
            raise SystemExit(
                f"{name}: {kind} has {[tuple(one.shape) for one in ours]}, theirs {[tuple(one.shape) for one in theirs]}"
            )
        largest = max(largest, *(float((one - other).abs().max()) for one, other in zip(ours, theirs, strict=True)))
    return record, largest


def main() -> None:
    """Print the table of architectures."""
    print("| architecture | maps: kinds × layers | largest difference | details |\n| --- | --- | --- | --- |")
    for name in sys.argv[1:] or ARCHITECTURES:
        record, largest = compare(name)
        maps = ", ".join(f"{kind} × {len(record.of_kind(kind))}" for kind in record.kinds)
        detailed = [found.kind for found in record.maps if found.details is not None]
        whole = {kind for kind in detailed if detailed.count(kind) == len(record.of_kind(kind))}
        details = "yes" if len(detailed) == len(record.maps) else ", ".join(whole) or ("some" if detailed else "no")
        print(f"| {name} | {maps} | {f'{largest:.1e}' if largest else 0} | {details} |", flush=True)


if __name__ == "__main__":
    main()
