"""A Marian translator brought in from a folder as opus-mt has it: the same ids, logits and translations."""

import json
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

import jumok
from jumok import api
from jumok.data.text.tokenizer import END, PAD, START
from jumok.errors import DataError
from jumok.export.sentencepiece import read_pieces
from jumok.tasks.pairs import collate

ENGLISH = ["a dog runs in the park", "two men are talking", "the cat sat on the mat", "she reads a good book today"]
FRENCH = ["un chien court dans le parc", "deux hommes parlent", "le chat est sur le tapis", "elle lit un bon livre"]
TEXTS = ["a dog runs", "The  cats TALK today", "ﬁne “books”, 中 men…", ">>fra<< two men", "x", "été sur l'eau"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny random Marian, with the SentencePiece models of two small corpora."""
    sentencepiece = pytest.importorskip("sentencepiece")
    from transformers import MarianConfig, MarianMTModel

    folder, rng = tmp_path_factory.mktemp("marian"), np.random.default_rng(4)
    pieces: dict[str, None] = {}
    for side, lines in (("source", ENGLISH), ("target", FRENCH)):
        words = " ".join(lines).split()
        text = [*lines, *(" ".join(rng.choice(words, rng.integers(2, 9))) for _ in range(300))]
        (folder / f"{side}.txt").write_text("\n".join(text))
        sentencepiece.SentencePieceTrainer.train(
            input=str(folder / f"{side}.txt"), model_prefix=str(folder / side), vocab_size=90, hard_vocab_limit=False,
            minloglevel=2,
        )  # fmt: skip
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        pieces |= dict.fromkeys(processor.id_to_piece(number) for number in range(3, processor.get_piece_size()))
    tokens = ["</s>", "<unk>", *pieces, ">>fra<<", "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"source_lang": "en", "target_lang": "fr", "tokenizer_class": "MarianTokenizer"})
    )
    torch.manual_seed(3)
    pad = len(tokens) - 1
    config = MarianConfig(
        vocab_size=len(tokens), d_model=24, encoder_layers=2, decoder_layers=1, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=37, decoder_ffn_dim=37, activation_function="swish", scale_embedding=True,
        static_position_embeddings=True, pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=None,
        bos_token_id=None, max_position_embeddings=64,
    )  # fmt: skip
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(0.2 * torch.randn_like(parameter))
        model.final_logits_bias.normal_()
        model.final_logits_bias[0, 0] += 0.5  # so that answers come to an end
        model.final_logits_bias[0, pad] = -20.0
    model.generation_config.num_beams = 3
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def ours(folder, tmp_path_factory):
    return api.import_model(folder, tmp_path_factory.mktemp("imported") / "run")[0]


@pytest.fixture(scope="module")
def theirs(folder):
    from transformers import MarianMTModel, MarianTokenizer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would like a library that tidies punctuation
        return MarianMTModel.from_pretrained(folder).eval(), MarianTokenizer.from_pretrained(folder)


def spelled(predictor, ids):
    tokens = list(predictor.task.source_tokenizer.vocabulary)
    return [tokens[number] for number in ids]


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_cut_as_theirs(ours, theirs, text):
    wanted = theirs[1].convert_ids_to_tokens(theirs[1](text).input_ids)[:-1]
    found = ["<unk>" if token == "[UNK]" else token for token in spelled(ours, ours.task.read([text])[0])]
    assert found == wanted


@torch.no_grad()
def test_logits_are_theirs(ours, theirs):
    model, tokenizer = theirs
    source = ours.task.read(["a dog runs in the park"])[0]
    target = np.asarray(ours.task.target_tokenizer.encode(["un chien court"])[0])
    batch = collate([(source, target)])
    names = list(ours.task.source_tokenizer.vocabulary)
    back = [
        {PAD: "<pad>", START: "<pad>", END: "</s>", 1: "<unk>"}.get(number, names[number])
        for number in range(len(names))
    ]
    their_ids = torch.tensor([tokenizer.encoder[token] for token in back])
    wanted = model(input_ids=their_ids[batch.source], decoder_input_ids=their_ids[batch.inputs]).logits[..., their_ids]
    keep = [number for number in range(len(names)) if number not in (PAD, START)]
    assert_close(ours.model(batch)[..., keep], wanted[..., keep], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("beam", [1, 3])
@torch.no_grad()
def test_translations_are_theirs(ours, theirs, beam):
    model, tokenizer = theirs
    texts, options = [*ENGLISH, "two good men", "the park"], ours.options.changed({"beam": beam})
    for text, found in zip(texts, ours.answers(texts, options=options), strict=True):
        encoded = tokenizer([text], return_tensors="pt")
        longest = 2 * encoded.input_ids.shape[1] + 10
        written = model.generate(**encoded, num_beams=beam, max_new_tokens=longest, early_stopping=True)
        assert found[0].text == tokenizer.decode(written[0], skip_special_tokens=True)
    assert len({found[0].text for found in ours.answers(texts, options=options)}) > 1


def test_the_recipe_takes_its_way_to_search(ours):
    assert ours.options.beam == 3
    assert jumok.load(ours.run.folder).translate("two men") == ours.translate("two men")


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_a_model_or_a_clear_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("bytes") / "source.spm"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"is no SentencePiece model|is no unigram model"):
        read_pieces(path)


def test_what_is_missing_or_other_is_named(folder, tmp_path):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "source.spm").unlink()
    with pytest.raises(DataError, match=r"source.spm is no SentencePiece model .*No such file"):
        api.import_model(copy, tmp_path / "run")
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    config = json.loads((copy / "config.json").read_text())
    for change, says in (
        ({"scale_embedding": False}, "config.json: the embeddings are not scaled"),
        ({"decoder_ffn_dim": 99}, "encoder_ffn_dim and decoder_ffn_dim differ"),
    ):
        (copy / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(DataError, match=says):
            api.import_model(copy, tmp_path / "run")
    assert not (tmp_path / "run").exists()
