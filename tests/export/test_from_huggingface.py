"""Models of Hugging Face's layout, brought in: the same tokens, the same logits; what is no such folder is refused."""

import json
from fractions import Fraction

import pytest
import torch
import transformers
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
from torch.testing import assert_close

from jumok import api
from jumok.data.text.tokenizer import END, START
from jumok.errors import DataError, RunError
from jumok.nn.batch import LabelBatch, TextBatch

CLOSE = {"atol": 1e-4, "rtol": 1e-4}
TEXTS = ["the quick brown fox", "jumps over the lazy dog", "a Dog, a fox and 12 dogs!"]


def shaken(model):
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpt2")
    library = Library(models.BPE())
    library.pre_tokenizer, library.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=290, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    library.train_from_iterator(TEXTS * 9, trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=library, eos_token="<|endoftext|>")
    size = len(fast)
    config = transformers.GPT2Config(
        vocab_size=size, n_positions=32, n_embd=24, n_layer=2, n_head=3, bos_token_id=0, eos_token_id=0
    )
    model = shaken(transformers.GPT2LMHeadModel(config))
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder, model, fast


@pytest.fixture(scope="module")
def bert_files(tmp_path_factory):
    """Return the tokenizer of a small BERT; its special tokens stand in the middle, as in the real one."""
    library = Library(models.WordPiece(unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer(lowercase=True)
    library.pre_tokenizer, library.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    specials = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    library.train_from_iterator(
        TEXTS * 9, trainers.WordPieceTrainer(vocab_size=80, special_tokens=specials, show_progress=False)
    )
    return transformers.BertTokenizerFast(tokenizer_object=library)


def save_bert(folder, kind, tokenizer, **changes):
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=17,
        max_position_embeddings=32, pad_token_id=0, **changes,
    )  # fmt: skip
    model = shaken(getattr(transformers, kind)(config))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def ours_of(predictor, text):
    return predictor.task.tokenizer.encode([text])[0]


def test_gpt2_has_the_same_tokens_and_logits(gpt2, tmp_path):
    folder, theirs, fast = gpt2
    writer, missing = api.import_model(folder, tmp_path / "run")
    assert missing == []
    for text in TEXTS:
        their_ids, our_ids = fast(text).input_ids, ours_of(writer, text)
        assert writer.task.tokenizer.labels(our_ids) == [fast.decode([i]).replace(" ", "▁") for i in their_ids]
        assert writer.task.tokenizer.decode(our_ids) == text
        with torch.no_grad():
            wanted = theirs(torch.tensor([[0, *their_ids]])).logits
            found = writer.model(TextBatch(torch.tensor([[END, *our_ids]]), torch.tensor([[END, *our_ids]])))
        order = [
            next(i for i, t in enumerate(writer.task.tokenizer.vocabulary) if t == token)
            for token in fast.convert_ids_to_tokens(range(1, len(fast)))
        ]
        assert_close(found[..., order], wanted[..., 1:], **CLOSE)
        assert_close(found[..., END], wanted[..., 0], **CLOSE)
        assert_close(found.logsumexp(dim=-1), wanted.logsumexp(dim=-1), **CLOSE)  # invented ids have no share


def test_gpt2_writes_what_transformers_writes(gpt2, tmp_path):
    folder, theirs, fast = gpt2
    writer, _ = api.import_model(folder, tmp_path / "run")
    ids = torch.tensor([[0, *fast("the quick").input_ids]])
    wanted = theirs.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=12, pad_token_id=0
    )[0][ids.shape[1] :]
    options = writer.options.model_copy(update={"sample": False, "max_length": 12})
    assert writer.generate("the quick", options=options) == fast.decode(wanted, skip_special_tokens=True)


@torch.no_grad()
def test_bert_fills_gaps_as_transformers_does(bert_files, tmp_path):
    theirs = save_bert(tmp_path / "bert", "BertForMaskedLM", bert_files)
    filler, missing = api.import_model(tmp_path / "bert", tmp_path / "run")
    assert sorted(missing) == ["first.bias", "first.weight", "next_sentence.bias", "next_sentence.weight"]
    text = "the quick [MASK] fox and a [MASK]"
    wanted = theirs(**bert_files(text, return_tensors="pt")).logits[0]
    places = (bert_files(text, return_tensors="pt").input_ids[0] == bert_files.mask_token_id).nonzero()[:, 0]
    wanted[:, bert_files.mask_token_id] = -1e9
    for gap, place in zip(filler.fill(text, top=3).masks, places.tolist(), strict=True):
        best = wanted[place].softmax(dim=0).topk(3)
        assert [share for _, share in gap] == pytest.approx(best.values.tolist(), abs=1e-4)
        assert [word for word, _ in gap] == [bert_files.decode([i]) for i in best.indices.tolist()]


@torch.no_grad()
def test_bert_names_classes_as_transformers_does(bert_files, tmp_path):
    theirs = save_bert(
        tmp_path / "bert", "BertForSequenceClassification", bert_files, id2label={0: "no", 1: "perhaps", 2: "yes"}
    )
    classifier, missing = api.import_model(tmp_path / "bert", tmp_path / "run")
    assert missing == []
    for text in TEXTS:
        wanted = theirs(**bert_files(text, return_tensors="pt")).logits.softmax(dim=1)[0].tolist()
        found = classifier.classify(text).probabilities
        assert [found[label] for label in ("no", "perhaps", "yes")] == pytest.approx(wanted, abs=1e-4)


@torch.no_grad()
def test_a_bare_bert_from_vocabulary_files_and_a_bin_has_the_same_states(bert_files, tmp_path):
    folder = tmp_path / "bert"
    theirs = save_bert(folder, "BertModel", bert_files)
    for name in ("tokenizer.json", "model.safetensors"):
        (folder / name).unlink()
    tokens = sorted(bert_files.get_vocab().items(), key=lambda item: item[1])
    (folder / "vocab.txt").write_text("\n".join(token for token, _ in tokens) + "\n", encoding="utf-8")
    torch.save(theirs.state_dict(), folder / "pytorch_model.bin")
    filler, missing = api.import_model(folder, tmp_path / "run")
    assert {name.split(".")[0] for name in missing} == {"transform", "transform_norm", "next_sentence"}
    for text in TEXTS:
        wanted = theirs(**bert_files(text, return_tensors="pt")).last_hidden_state
        ids = torch.tensor([[START, *ours_of(filler, text), END]])
        found = filler.model.states(LabelBatch(ids, torch.ones_like(ids).bool(), torch.zeros(1)))
        assert_close(found, wanted, **CLOSE)


def test_what_is_no_such_folder_is_refused_in_a_sentence(gpt2, bert_files, tmp_path):
    with pytest.raises(DataError, match=r"config.json is missing; a folder that save_pretrained wrote is needed"):
        api.import_model(tmp_path, tmp_path / "run")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}), encoding="utf-8")
    with pytest.raises(
        DataError, match="holds a model of type 't5'; jumok imports bert, gpt2, marian, pegasus, swin, vit"
    ):
        api.import_model(tmp_path, tmp_path / "run")
    save_bert(tmp_path / "bert", "BertModel", bert_files)
    (tmp_path / "bert" / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"has neither model.safetensors nor pytorch_model.bin"):
        api.import_model(tmp_path / "bert", tmp_path / "run")
    torch.save({"x": Fraction(1, 2)}, tmp_path / "bert" / "pytorch_model.bin")
    with pytest.raises(DataError, match=r"is not opened \(it is cut off, or holds more than tensors\)"):
        api.import_model(tmp_path / "bert", tmp_path / "run")
    assert not (tmp_path / "run").exists()
    api.import_model(gpt2[0], tmp_path / "run")
    with pytest.raises(RunError, match="already holds a run; choose another folder"):
        api.import_model(gpt2[0], tmp_path / "run")


@torch.no_grad()
def test_texts_have_the_vectors_of_transformers(bert_files, tmp_path):
    theirs = save_bert(tmp_path / "bert", "BertModel", bert_files)
    filler, _ = api.import_model(tmp_path / "bert", tmp_path / "run")
    batch = bert_files(TEXTS, padding=True, return_tensors="pt")
    mask = batch.attention_mask[..., None]
    wanted = (theirs(**batch).last_hidden_state * mask).sum(dim=1) / mask.sum(dim=1)
    assert_close(filler.embed(TEXTS), wanted, **CLOSE)
    assert_close(filler.embed(TEXTS[0]), wanted[0], **CLOSE)


@pytest.mark.parametrize("number", [-1, 20_000_000_000])
def test_numbers_that_no_token_has_are_refused_before_the_library_aborts(number, tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "n_layer": 1, "n_embd": 4, "n_head": 1}')
    (tmp_path / "vocab.json").write_text(json.dumps({"<|endoftext|>": 0, "a": 1, "b": number}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    with pytest.raises(DataError, match=f"cannot be read .*the token 'b' has the number {number}"):
        api.import_model(tmp_path, tmp_path / "run")
