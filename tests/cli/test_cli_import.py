"""`jumok import`: folders of Hugging Face's layout brought in and used; what is no such folder is refused in a sentence.

The folders are made on the spot of plain files, with weights whose answers are known: the GPT-2 writes a letter that hangs
on the place alone, the BERT finds "fox" in every gap. That logits equal those of transformers is tested in tests/export.
"""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from cli.conftest import jumok, listing, refusal, write_lines
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, normalizers, pre_tokenizers

WIDTH, LAYERS, HEADS, PLACES, HIDDEN = 64, 2, 2, 16, 24
PLACED = ["the", *"bcdefghijklmnop"]  # what the GPT-2 writes after so many tokens
PIECES = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "quick", "fox", "dog", "##s", "!"]
GPT2 = {
    "model_type": "gpt2", "n_layer": LAYERS, "n_embd": WIDTH, "n_head": HEADS, "n_positions": PLACES, "n_inner": HIDDEN,
    "activation_function": "gelu_new",
}  # fmt: skip
BERT = {
    "model_type": "bert", "num_hidden_layers": LAYERS, "hidden_size": WIDTH, "num_attention_heads": HEADS,
    "intermediate_size": HIDDEN, "max_position_embeddings": PLACES, "hidden_act": "gelu",
}  # fmt: skip
Change = Callable[[Path], object]


def write_folder(folder: Path, config: dict, library: Library, weights: dict[str, torch.Tensor]) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    library.save(str(folder / "tokenizer.json"))
    save_file(weights, folder / "model.safetensors")
    return folder


def norm(name: str) -> dict[str, torch.Tensor]:
    return {f"{name}.weight": torch.ones(WIDTH), f"{name}.bias": torch.zeros(WIDTH)}


def dense(name: str, *shape: int, scale: float = 1.0) -> dict[str, torch.Tensor]:
    """Return a layer of random weights, its bias as long as the last size given."""
    return {f"{name}.weight": scale * torch.randn(*shape), f"{name}.bias": torch.zeros(shape[-1])}


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory) -> Path:
    """A GPT-2 whose layers add nothing to what it is told of a place: the token to write there."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = ["<|endoftext|>", *letters, "th", "the"]
    library = Library(models.BPE({token: number for number, token in enumerate(tokens)}, [("t", "h"), ("th", "e")]))
    library.pre_tokenizer, library.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    torch.manual_seed(1)
    table = torch.randn(len(tokens), WIDTH)
    places = 4 * table[[tokens.index(token) for token in PLACED]]
    weights = {"wte.weight": table, "wpe.weight": places} | norm("ln_f")
    for number in range(LAYERS):
        layer = f"h.{number}"
        weights |= norm(f"{layer}.ln_1") | norm(f"{layer}.ln_2")
        weights |= dense(f"{layer}.attn.c_attn", WIDTH, 3 * WIDTH) | dense(f"{layer}.mlp.c_fc", WIDTH, HIDDEN)
        weights |= dense(f"{layer}.attn.c_proj", WIDTH, WIDTH, scale=0.0)
        weights |= dense(f"{layer}.mlp.c_proj", HIDDEN, WIDTH, scale=0.0)
    weights = {f"transformer.{name}": value for name, value in weights.items()}
    return write_folder(tmp_path_factory.mktemp("hub") / "gpt2", GPT2, library, weights)


@pytest.fixture(scope="module")
def bert_parts() -> tuple[Library, dict[str, torch.Tensor]]:
    library = Library(models.WordPiece({piece: number for number, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    library.normalizer, library.decoder = normalizers.BertNormalizer(lowercase=True), decoders.WordPiece()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    torch.manual_seed(2)
    table = "embeddings.{}_embeddings.weight"
    sizes = {"word": len(PIECES), "position": PLACES, "token_type": 2}
    weights = {table.format(name): torch.randn(size, WIDTH) for name, size in sizes.items()}
    weights |= norm("embeddings.LayerNorm") | dense("pooler.dense", WIDTH, WIDTH)
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            weights |= dense(f"{layer}.{part}", WIDTH, WIDTH, scale=0.1)
        weights |= norm(f"{layer}.attention.output.LayerNorm") | norm(f"{layer}.output.LayerNorm")
        weights[f"{layer}.intermediate.dense.weight"] = torch.randn(HIDDEN, WIDTH)
        weights[f"{layer}.intermediate.dense.bias"] = torch.zeros(HIDDEN)
        weights[f"{layer}.output.dense.weight"] = torch.randn(WIDTH, HIDDEN)
        weights[f"{layer}.output.dense.bias"] = torch.zeros(WIDTH)
    return library, {f"bert.{name}": value for name, value in weights.items()}


@pytest.fixture(scope="module")
def bert(tmp_path_factory, bert_parts) -> Path:
    """A BERT whose every gap is a fox, then a dog."""
    library, weights = bert_parts
    head = dense("cls.predictions.transform.dense", WIDTH, WIDTH) | norm("cls.predictions.transform.LayerNorm")
    bias = torch.zeros(len(PIECES))
    bias[PIECES.index("fox")], bias[PIECES.index("dog")] = 1000.0, 999.0
    weights = weights | {name: 1e-3 * value for name, value in head.items()} | {"cls.predictions.bias": bias}
    return write_folder(tmp_path_factory.mktemp("hub") / "bert", BERT, library, weights)


@pytest.fixture(scope="module")
def judge(tmp_path_factory, bert_parts) -> Path:
    """A BERT that takes every text for "perhaps"."""
    library, weights = bert_parts
    names = {"0": "no", "1": "perhaps", "2": "yes"}
    head = {"classifier.weight": torch.zeros(3, WIDTH), "classifier.bias": torch.tensor([0.0, 2.0, 1.0])}
    return write_folder(tmp_path_factory.mktemp("hub") / "judge", BERT | {"id2label": names}, library, weights | head)


@pytest.fixture(scope="module")
def runs(tmp_path_factory, gpt2, bert, judge) -> dict[str, Path]:
    """The three, imported."""
    folder = tmp_path_factory.mktemp("runs")
    for source in (gpt2, bert, judge):
        done = jumok("import", source, folder / source.name)
        assert done.code == 0, done.err
    return {name: folder / name for name in ("gpt2", "bert", "judge")}


# --- brought in and used


def test_import_says_what_it_made_what_is_new_and_how_to_use_it(gpt2, bert, judge, tmp_path):
    for source, model, command in ((gpt2, "gpt", "generate"), (bert, "bert", "fill"), (judge, "bert", "classify")):
        done = jumok("import", source, tmp_path / source.name)
        assert (done.code, done.err) == (0, "")
        first, *middle, last = done.out.splitlines()
        assert first.startswith(f"{tmp_path / source.name}: {model}, ")
        assert first.endswith(f" parameters, from {source}")
        assert last == f'Use it:    jumok {command} {tmp_path / source.name} "…"'
        new = ["not in the folder, started afresh: next_sentence.weight, next_sentence.bias"]
        assert middle == (new if source == bert else [])


def test_an_imported_gpt2_writes_on(runs):
    run = runs["gpt2"]
    assert jumok("generate", run, "--greedy", "--max-length", 5) == (0, "thebcde\n", "")
    assert jumok("generate", run, "xthe", "--greedy", "--max-length", 3) == (
        0,
        "xthecde\n",
        "",
    )  # two tokens, then three
    done = jumok("generate", run, "--greedy", "--max-length", 16 + 9 + 3)
    assert (
        done.out == "".join(PLACED) + "hijklmnop" + "hij\n"
    )  # eight are read again, so the next is the eighth place's
    assert done.err.startswith(f"\nwarning: the text outgrows the model's window of {PLACES} tokens")


@pytest.mark.parametrize("seed", range(4))
def test_bytes_that_are_half_a_character_come_out_the_same_piece_by_piece_and_at_once(runs, seed):
    options = ["--temperature", 30, "--max-length", 60, "--seed", seed]
    whole = json.loads(jumok("generate", runs["gpt2"], "é 넌", *options, "--json").out)["text"]
    assert jumok("generate", runs["gpt2"], "é 넌", *options).out == f"é 넌{whole}\n"
    assert "\N{REPLACEMENT CHARACTER}" in whole, "the trial has shown nothing"


def test_a_byte_level_model_knows_every_character_but_no_broken_bytes(runs):
    assert jumok("generate", runs["gpt2"], "☃", "--greedy", "--max-length", 1).code == 0
    assert refusal(jumok("generate", runs["gpt2"], "\udcff")).startswith("the model knows none of the characters of ")


def test_an_imported_bert_fills_gaps(runs):
    done = jumok("fill", runs["bert"], "The [MASK] and a quick [MASK]!", "--json", "--top", 2)
    found = json.loads(done.out)
    assert [[word for word, _ in gap] for gap in found["masks"]] == [["fox", "dog"]] * 2
    assert found["text"].startswith("the fox")
    for gap in found["masks"]:
        assert [share for _, share in gap] == pytest.approx([0.731, 0.269], abs=0.02)  # a logit apart
    assert refusal(jumok("fill", runs["bert"], "the fox")).startswith("'the fox' has no mask to fill in; ")
    assert refusal(jumok("fill", runs["bert"], "the " * 20 + "[MASK]")) == (
        f"the text has 23 tokens, the model takes {PLACES}; shorten it"
    )


def test_an_imported_classifier_names_its_own_classes(runs):
    (verdict,) = map(json.loads, jumok("classify", runs["judge"], "the quick fox", "--json").out.splitlines())
    assert verdict["probabilities"] == pytest.approx({"perhaps": 0.665, "yes": 0.245, "no": 0.090}, abs=1e-3)
    assert jumok("classify", runs["judge"], stdin="\nthe " + "dogs " * 50).out.count("perhaps\t0.665\t") == 2


def test_imported_runs_have_no_data_but_score_files_of_ones_own(runs, tmp_path):
    text = write_lines(tmp_path / "own.txt", ["the quick fox"])
    table = write_lines(tmp_path / "own.tsv", ["the fox\tperhaps", "the dog\tno"])
    for name in ("gpt2", "bert"):
        assert refusal(jumok("evaluate", runs[name])) == (
            'the recipe has no val data; add val = "FILE" to [data], or give --source'
        )
        done = jumok("evaluate", runs[name], "--source", text)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("own.txt (files), 1 document, ")
    assert refusal(jumok("evaluate", runs["judge"])) == (
        "the recipe has no val data; add val = { file = … } to [data], or give --source"
    )
    done = jumok("evaluate", runs["judge"], "--source", table)
    assert done.out.startswith("own.tsv (files), 2 texts\n  accuracy 50.00 %")
    assert "\n  no baselines: the run has no training data\n" in done.out


def test_an_imported_bert_can_be_fine_tuned(runs, tmp_path):
    write_lines(tmp_path / "train.tsv", ["the fox\tyes", "the dog\tno"] * 20)
    (tmp_path / "tune.toml").write_text(
        'task = "text-classification"\n[data]\ntrain = { file = "train.tsv" }\nval = { file = "train.tsv" }\nmax_length = 16\n'
        f'[training]\ninit = "{runs["bert"]}"\nsteps = 2\nbatch_tokens = 100\n',
        encoding="utf-8",
    )
    options = ["--out", tmp_path / "run"]
    done = jumok("train", tmp_path / "tune.toml", *options)
    assert done.code == 0, done.err
    assert f" tensors start from {runs['bert']}\n" in done.err
    assert "\nnew: project.weight, project.bias\n" in done.err
    assert jumok("classify", tmp_path / "run", "the fox").code == 0


# --- what is refused


def configured(**changes: object) -> Change:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | changes
        kept = {key: value for key, value in config.items() if value is not None}
        (folder / "config.json").write_text(json.dumps(kept), encoding="utf-8")

    return change


def holding(name: str, content: bytes) -> Change:
    return lambda folder: (folder / name).write_bytes(content)


def without(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def weightless(name: str) -> Change:
    def change(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        del weights[name]
        save_file(weights, folder / "model.safetensors")

    return change


def weighing(name: str, value: torch.Tensor) -> Change:
    return lambda folder: save_file(
        load_file(folder / "model.safetensors") | {name: value}, folder / "model.safetensors"
    )


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("gpt2", configured(model_type="t5"), "{folder} holds a model of type 't5'; jumok imports bert, gpt2, marian, pegasus, swin, vit"),
        ("gpt2", configured(model_type=None), "{folder} holds a model of type ''; jumok imports bert, gpt2, marian, pegasus, swin, vit"),
        ("gpt2", configured(add_cross_attention=True),
         "config.json: add_cross_attention is True; jumok imports models with False only"),
        ("gpt2", configured(tie_word_embeddings=False),
         "config.json: tie_word_embeddings is False; jumok imports models with True only"),
        ("bert", configured(position_embedding_type="relative_key"),
         "config.json: position_embedding_type is 'relative_key'; jumok imports models with 'absolute' only"),
        ("gpt2", configured(activation_function="mish"),
         "config.json: activation_function is 'mish'; jumok knows gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish"),
        ("gpt2", configured(n_layer=None), "{folder} is no whole gpt2: 'n_layer' is in none of its files; save it again"),
        ("gpt2", configured(n_layer=3), "{folder} is no whole gpt2: 'h.2.ln_1.weight' is in none of its files; save it again"),
        ("gpt2", configured(n_positions=17), "{folder}: embed.positions.table has shape (16, 64), not (17, 64)"),
        ("bert", configured(hidden_size=None), "{folder} is no whole bert: 'hidden_size' is in none of its files; save it again"),
        ("gpt2", weightless("transformer.wte.weight"),
         "{folder} is no whole gpt2: 'wte.weight' is in none of its files; save it again"),
        ("bert", weightless("bert.encoder.layer.1.attention.self.key.bias"),
         "{folder} is no whole bert: 'encoder.layer.1.attention.self.key.bias' is in none of its files; save it again"),
        ("gpt2", without("config.json"), "{folder}/config.json is missing; a folder that save_pretrained wrote is needed"),
        ("gpt2", holding("config.json", b"[]"), "{folder}/config.json cannot be read (it holds a list; a JSON object is needed); copy it again"),
        ("gpt2", holding("config.json", b"{"), "{folder}/config.json cannot be read (column 2: Expecting property name"),
        ("gpt2", without("model.safetensors"), "{folder} has neither model.safetensors nor pytorch_model.bin"),
        ("gpt2", holding("model.safetensors", b"cut"), "the weights in {folder} cannot be read ("),
        ("gpt2", without("tokenizer.json"), "{folder} has no tokenizer.json, and its vocabulary files cannot be read ("),
        ("bert", without("tokenizer.json"), "{folder} has no tokenizer.json, and its vocabulary files cannot be read ("),
        ("gpt2", holding("tokenizer.json", b"{}"), "{folder} is no whole gpt2: 'model' is in none of its files; save it again"),
        ("gpt2", holding("tokenizer.json", b"["), "{folder}/tokenizer.json cannot be read ("),
        ("gpt2", configured(n_layer="2"),
         "{folder}/config.json cannot be read ('n_layer' is \"2\"; a whole number is needed); copy it again"),
        ("gpt2", configured(layer_norm_epsilon=[]),
         "{folder}/config.json cannot be read ('layer_norm_epsilon' is a list; a number is needed); copy it again"),
        ("gpt2", configured(model_type=["gpt2"]),
         "{folder}/config.json cannot be read ('model_type' is a list; a text is needed); copy it again"),
        ("judge", configured(id2label=["no"]),
         "{folder}/config.json cannot be read ('id2label' is a list; a JSON object or null is needed); copy it again"),
        ("gpt2", holding("config.json", b"[" * 9999),
         "{folder}/config.json cannot be read (tables and lists stand more than 100 deep inside each other); copy it again"),
        ("gpt2", holding("tokenizer.json", b'{"model": []}'),
         "{folder}/tokenizer.json cannot be read ('model' is a list; a JSON object is needed); copy it again"),
        ("gpt2", holding("tokenizer.json", b'{"model": {"vocab": {"a": "b"}}}'),
         "{folder}/tokenizer.json cannot be read ('vocab' is a JSON object; a JSON object of whole numbers is needed); copy it again"),
        ("gpt2", holding("tokenizer.json", b'{"model": {"vocab": {}}, "added_tokens": [{"id": 1}]}'),
         "{folder}/tokenizer.json cannot be read (it has no 'content'); copy it again"),
        ("gpt2", holding("model.safetensors.index.json", b'{"weight_map": {"a": 1}}'),
         "{folder}/model.safetensors.index.json cannot be read ("),
        ("gpt2", weighing("transformer.wpe.weight", torch.full((PLACES, WIDTH), torch.nan)),
         "the weights in {folder} cannot be read (transformer.wpe.weight holds NaN, or numbers beyond all bounds); copy them again"),
        ("bert", weighing("bert.encoder.layer.1.attention.self.key.weight", torch.zeros(3)),
         "{folder}: config.json, weights and tokenizer do not belong together ("),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_brought_in(request, tmp_path, kind, change, message):
    folder = shutil.copytree(request.getfixturevalue(kind), tmp_path / "model")
    change(folder)
    before = listing(tmp_path)
    found = refusal(jumok("import", folder, tmp_path / "run"))
    assert found.startswith(message.format(folder=folder))
    assert "\n" not in found
    assert listing(tmp_path) == before, "something was written"


def test_a_tokenizer_of_another_model(gpt2, bert, tmp_path):
    folder = shutil.copytree(bert, tmp_path / "model")
    shutil.copy(gpt2 / "tokenizer.json", folder)
    assert refusal(jumok("import", folder, tmp_path / "run")) == (
        f"{folder}: the tokenizer has more tokens than the model; they do not belong together"
    )
    assert not (tmp_path / "run").exists()


def test_places_that_hold_a_run_or_cannot(gpt2, bert, runs, tmp_path):
    before = listing(runs["gpt2"])
    for source in (gpt2, bert):
        wanted = f"{runs['gpt2']} already holds a run; choose another folder"
        assert refusal(jumok("import", source, runs["gpt2"])) == wanted
    assert listing(runs["gpt2"]) == before
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    assert refusal(jumok("import", gpt2, tmp_path / "file")) == (
        f"{tmp_path / 'file'} is there already; choose another folder, or remove it"
    )
    assert refusal(jumok("import", gpt2, tmp_path / "file" / "inside")) == (
        f"{tmp_path / 'file' / 'inside'} cannot be written: {tmp_path / 'file'} is no folder; choose another folder"
    )
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"
    missing = refusal(jumok("import", tmp_path / "none", tmp_path / "run"))
    assert missing.startswith(f"{tmp_path / 'none'}/config.json is missing; ")


def test_a_disk_that_is_too_small_for_the_weights_keeps_nothing(gpt2, tmp_path, monkeypatch):
    def full(tensors, path, **options):
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("jumok.tensor_file.save_file", full)
        told = f"{tmp_path / 'run'} cannot be written: its disk is full; free some space, or choose another folder"
        assert refusal(jumok("import", gpt2, tmp_path / "run")) == told
    assert not list(tmp_path.iterdir())
    (tmp_path / "run").mkdir()
    assert jumok("import", gpt2, tmp_path / "run").code == 0
    assert jumok("generate", tmp_path / "run", "a", "--max-length", "3").code == 0


def test_names_of_classes_do_not_command_the_terminal(judge, tmp_path):
    folder = shutil.copytree(judge, tmp_path / "model")
    configured(id2label={"0": "no", "1": "[red]\x1b[31mper\x07haps\x9b1m", "2": "yes"})(folder)
    assert jumok("import", folder, tmp_path / "run").code == 0
    done = jumok("classify", tmp_path / "run", "the fox")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("[red]\\x1b[31mper\\x07haps\\x9b1m\t")
