"""Folders of Hugging Face's layout, with tiny random weights: GPT-2, BERT, ViT, Swin, Marian; SentencePiece models."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from campaign.target import Given, Target
from campaign.targets import runs
from jumok import api
from jumok.errors import JumokError
from jumok.export.sentencepiece import read_pieces, unigram_tokenizer

WIDTH, WIDER, PLACES, LAYERS = 8, 12, 20, 1
Shapes = Iterator[tuple[str, tuple[int, ...]]]


def _linear(name: str, out: int, into: int) -> Shapes:
    yield f"{name}.weight", (out, into)
    yield f"{name}.bias", (out,)


def _norm(name: str, width: int = WIDTH) -> Shapes:
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)


def _random(*parts: Shapes) -> dict[str, Tensor]:
    torch.manual_seed(5)
    return {name: 0.1 * torch.randn(shape) for part in parts for name, shape in part}


def _write(folder: Path, config: dict[str, Any], weights: dict[str, Tensor], **files: Any) -> None:
    for name, content in {"config": config, **files}.items():
        (folder / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def import_folder(use: Callable[[api.AnyPredictor], object]) -> Callable[[Given], None]:
    """Return what brings a folder in and asks the run something."""

    def read(given: Given) -> None:
        found = api.import_model(given.folder, given.out / "run")[0]
        try:
            use(found)
        except JumokError:
            shutil.rmtree(given.out / "run")  # brought in whole, and only what was asked of it is refused
            raise

    return read


# --- text

LETTERS = [*"abcdefghijklmnopqrstuvwxyz", "Ġ", "th", "he", "the"]


def write_gpt2(folder: Path) -> None:
    """Write a GPT-2 with the vocabulary of its own files."""
    tokens = ["<|endoftext|>", *LETTERS]
    layer = "transformer.h.0"
    weights = _random(
        _shapes({"transformer.wte.weight": (len(tokens), WIDTH), "transformer.wpe.weight": (PLACES, WIDTH)}),
        _norm(f"{layer}.ln_1"), _norm(f"{layer}.ln_2"), _norm("transformer.ln_f"),
        _turned(f"{layer}.attn.c_attn", WIDTH, 3 * WIDTH), _turned(f"{layer}.attn.c_proj", WIDTH, WIDTH),
        _turned(f"{layer}.mlp.c_fc", WIDTH, WIDER), _turned(f"{layer}.mlp.c_proj", WIDER, WIDTH),
    )  # fmt: skip
    config = {
        "model_type": "gpt2", "n_layer": LAYERS, "n_embd": WIDTH, "n_head": 2, "n_inner": WIDER, "n_positions": PLACES,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "resid_pdrop": 0.1, "vocab_size": len(tokens),
    }  # fmt: skip
    _write(folder, config, weights, vocab={token: number for number, token in enumerate(tokens)})
    (folder / "merges.txt").write_text("#version: 0.2\nt h\nh e\nth e\n", encoding="utf-8")


def write_gpt2_tokenizer(folder: Path) -> None:
    """Write a GPT-2 with tokenizer.json instead."""
    write_gpt2(folder)
    library = Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.save(str(folder / "tokenizer.json"))


def _shapes(shapes: dict[str, tuple[int, ...]]) -> Shapes:
    yield from shapes.items()


def _turned(name: str, into: int, out: int) -> Shapes:
    """Yield a linear layer as GPT-2 keeps it."""
    yield f"{name}.weight", (into, out)
    yield f"{name}.bias", (out,)


def _bert_layer(name: str) -> Iterator[Shapes]:
    for part in ("query", "key", "value"):
        yield _linear(f"{name}.attention.self.{part}", WIDTH, WIDTH)
    yield _linear(f"{name}.attention.output.dense", WIDTH, WIDTH)
    yield _norm(f"{name}.attention.output.LayerNorm")
    yield _linear(f"{name}.intermediate.dense", WIDER, WIDTH)
    yield _linear(f"{name}.output.dense", WIDTH, WIDER)
    yield _norm(f"{name}.output.LayerNorm")


def write_bert(folder: Path) -> None:
    """Write a BERT that names classes, with vocab.txt."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film", "was", "fine", *"abcdefgh", "##s"]
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    weights = _random(
        _shapes({
            "bert.embeddings.word_embeddings.weight": (len(tokens), WIDTH),
            "bert.embeddings.position_embeddings.weight": (PLACES, WIDTH),
            "bert.embeddings.token_type_embeddings.weight": (2, WIDTH),
        }),
        _norm("bert.embeddings.LayerNorm"), *_bert_layer("bert.encoder.layer.0"),
        _linear("bert.pooler.dense", WIDTH, WIDTH), _linear("classifier", 2, WIDTH),
    )  # fmt: skip
    config = {
        "model_type": "bert", "num_hidden_layers": LAYERS, "hidden_size": WIDTH, "num_attention_heads": 2, "intermediate_size": WIDER,
        "max_position_embeddings": PLACES, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.1,
        "id2label": {"0": "bad", "1": "good"},
    }  # fmt: skip
    _write(folder, config, weights, tokenizer_config={"do_lower_case": True})


def write_bert_bin(folder: Path) -> None:
    """Write the same with weights as older folders have them."""
    from safetensors.torch import load_file

    write_bert(folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


# --- SentencePiece

ENGLISH = [
    "a dog runs in the park",
    "two men are talking",
    "the cat sat on the mat",
    "she reads a good book today",
] * 20
FRENCH = [
    "un chien court dans le parc",
    "deux hommes parlent",
    "le chat est sur le tapis",
    "elle lit un bon livre",
] * 20


def write_pieces(path: Path, lines: list[str]) -> list[str]:
    """Train a SentencePiece model; return its pieces."""
    import io

    import sentencepiece

    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=made, vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )  # fmt: skip
    path.write_bytes(made.getvalue())
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]


def make_pieces(folder: Path) -> None:
    write_pieces(folder / "source.spm", ENGLISH)


def read_sentencepiece(given: Given) -> None:
    """Read a SentencePiece model, and cut a text as it does."""
    pieces = read_pieces(given.file)
    order = dict(enumerate(pieces.scores, start=4))
    unigram_tokenizer(pieces, order).encode(["a dog ﬁnds a “book”"])


def write_marian(folder: Path) -> None:
    """Write a Marian translator as opus-mt has it."""
    pieces = [*write_pieces(folder / "source.spm", ENGLISH), *write_pieces(folder / "target.spm", FRENCH)]
    tokens = ["</s>", "<unk>", *dict.fromkeys(pieces), "<pad>"]
    parts = [_shapes({"model.shared.weight": (len(tokens), WIDTH), "final_logits_bias": (1, len(tokens))})]
    for stack in ("encoder", "decoder"):
        layer = f"model.{stack}.layers.0"
        for attention in ("self_attn", "encoder_attn")[: 1 if stack == "encoder" else 2]:
            parts += [_linear(f"{layer}.{attention}.{name}_proj", WIDTH, WIDTH) for name in ("q", "k", "v", "out")]
            parts += [_norm(f"{layer}.{attention}_layer_norm")]
        parts += [
            _linear(f"{layer}.fc1", WIDER, WIDTH),
            _linear(f"{layer}.fc2", WIDTH, WIDER),
            _norm(f"{layer}.final_layer_norm"),
        ]
    pad = len(tokens) - 1
    config = {
        "model_type": "marian", "d_model": WIDTH, "encoder_layers": LAYERS, "decoder_layers": LAYERS, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": WIDER, "decoder_ffn_dim": WIDER, "activation_function": "swish",
        "scale_embedding": True, "static_position_embeddings": True, "pad_token_id": pad, "eos_token_id": 0,
        "decoder_start_token_id": pad, "max_position_embeddings": PLACES, "vocab_size": len(tokens),
    }  # fmt: skip
    _write(
        folder, config, _random(*parts), vocab={token: number for number, token in enumerate(tokens)},
        generation_config={"num_beams": 2, "length_penalty": 1.0},
    )  # fmt: skip


# --- images

PREPARED = {"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.4]}
IMAGE = {"image_size": 16, "num_channels": 3, "hidden_act": "gelu", "id2label": {"0": "cat", "1": "dog", "2": "bird"}}


def write_vit(folder: Path) -> None:
    layer = "vit.encoder.layer.0"
    weights = _random(
        _shapes({
            "vit.embeddings.position_embeddings": (1, 5, WIDTH), "vit.embeddings.cls_token": (1, 1, WIDTH),
            "vit.embeddings.patch_embeddings.projection.weight": (WIDTH, 3, 8, 8),
            "vit.embeddings.patch_embeddings.projection.bias": (WIDTH,),
        }),
        *(_linear(f"{layer}.attention.attention.{part}", WIDTH, WIDTH) for part in ("query", "key", "value")),
        _linear(f"{layer}.attention.output.dense", WIDTH, WIDTH), _linear(f"{layer}.intermediate.dense", WIDER, WIDTH),
        _linear(f"{layer}.output.dense", WIDTH, WIDER), _norm(f"{layer}.layernorm_before"), _norm(f"{layer}.layernorm_after"),
        _norm("vit.layernorm"), _linear("classifier", 3, WIDTH),
    )  # fmt: skip
    config = IMAGE | {
        "model_type": "vit", "patch_size": 8, "num_hidden_layers": LAYERS, "hidden_size": WIDTH, "num_attention_heads": 2,
        "intermediate_size": WIDER, "layer_norm_eps": 1e-12,
    }  # fmt: skip
    _write(folder, config, weights, preprocessor_config=PREPARED)


def write_swin(folder: Path) -> None:
    parts = [
        _shapes({
            "swin.embeddings.patch_embeddings.projection.weight": (WIDTH, 3, 2, 2),
            "swin.embeddings.patch_embeddings.projection.bias": (WIDTH,),
        }),
        _norm("swin.embeddings.norm"),
    ]  # fmt: skip
    for stage in range(2):
        layer, width = f"swin.encoder.layers.{stage}.blocks.0", WIDTH << stage
        parts += [_linear(f"{layer}.attention.self.{part}", width, width) for part in ("query", "key", "value")]
        parts += [_shapes({f"{layer}.attention.self.relative_position_bias_table": (49, 2)})]
        parts += [
            _linear(f"{layer}.attention.output.dense", width, width),
            _linear(f"{layer}.intermediate.dense", 2 * width, width),
        ]
        parts += [_linear(f"{layer}.output.dense", width, 2 * width)]
        parts += [_norm(f"{layer}.layernorm_before", width), _norm(f"{layer}.layernorm_after", width)]
    down = "swin.encoder.layers.0.downsample"
    parts += [_norm(f"{down}.norm", 4 * WIDTH), _shapes({f"{down}.reduction.weight": (2 * WIDTH, 4 * WIDTH)})]
    parts += [_norm("swin.layernorm", 2 * WIDTH), _linear("classifier", 3, 2 * WIDTH)]
    config = IMAGE | {
        "model_type": "swin", "patch_size": 2, "embed_dim": WIDTH, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4,
        "mlp_ratio": 2.0, "layer_norm_eps": 1e-5, "drop_path_rate": 0.0,
    }  # fmt: skip
    _write(folder, config, _random(*parts), preprocessor_config=PREPARED)


def _with_image(write: Callable[[Path], None]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        write(folder)
        runs.write_image(folder)

    return make


def classify_image(given: Given) -> None:
    """Bring a classifier of images in, and ask it."""
    found, _ = api.import_model(given.folder, given.out / "run")
    assert isinstance(found, api.ImageClassifier)
    found.classify(given.folder / "image.png")


def generate(found: Any) -> None:
    found.generate("the", options=found.options.changed({"max_length": 4}))


def classify(found: Any) -> None:
    found.classify("the film was fine")


def translate(found: Any) -> None:
    found.translate("a dog runs", beam=1)


WEIGHTS = {"model.safetensors": "safetensors", "config.json": "json"}
IMAGES = WEIGHTS | {"preprocessor_config.json": "json"}
MARIAN = WEIGHTS | {"vocab.json": "json", "generation_config.json": "json", "*.spm": "protobuf"}

# What may stand for the file beside its folder: sizes, which config.json gives, and weights.
OF_MODEL = ("its weights are damaged", "the weights of this '")

TARGETS = [
    Target("import-gpt2", write_gpt2, import_folder(generate), WEIGHTS | {"vocab.json": "json", "merges.txt": "text"}, 400, ("/import-gpt2", *OF_MODEL)),
    Target("import-gpt2-tokenizer", write_gpt2_tokenizer, import_folder(generate), WEIGHTS | {"tokenizer.json": "json"}, 500, ("/import-gpt2-tokenizer", *OF_MODEL)),
    Target("import-bert", write_bert, import_folder(classify), WEIGHTS | {"vocab.txt": "text", "tokenizer_config.json": "json"}, 500, ("/import-bert", *OF_MODEL)),
    Target("import-bert-bin", write_bert_bin, import_folder(classify), {"pytorch_model.bin": "bytes"}, 300, ("/import-bert-bin", *OF_MODEL)),
    Target("import-vit", _with_image(write_vit), classify_image, IMAGES, 400, ("/import-vit", *OF_MODEL)),
    Target("import-swin", _with_image(write_swin), classify_image, IMAGES, 400, ("/import-swin", *OF_MODEL)),
    Target("import-marian", write_marian, import_folder(translate), MARIAN, 600, ("/import-marian", *OF_MODEL)),
    Target("sentencepiece", make_pieces, read_sentencepiece, {"source.spm": "protobuf"}, 1000),
]  # fmt: skip
