"""show(record): labels of whatever tokenizer, sides with names, texts that were written step by step."""

import json

import pytest
import torch
from inspection.test_architectures import architectures
from inspection.test_watch import GPT
from lens.test_html import read
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn

import jumok
from jumok.config import TokenizerConfig
from jumok.data.text.tokenizer import Tokenizer as OwnTokenizer
from jumok.inspection.record import AttentionMap
from jumok.lens.labels import read_tokens
from jumok.lens.view_of_record import view_of_record

TEXT = "주목은 the attention of 모델"


def sides(page):
    """Return what looks at what: the names and labels of the sides of each kind."""
    (run,) = read(page)[0]["runs"]
    found = {one["kind"]: [run["sides"][one[part]] for part in ("queries", "keys")] for one in run["maps"]}
    return {kind: [(side["name"], side["labels"]) for side in pair] for kind, pair in found.items()}


@pytest.fixture(scope="module")
def observed():
    """Return the records of one call of a tiny model, by architecture."""
    records = {}
    for name in ("BERT", "GPT-2", "T5"):
        model = architectures.make_model(name)
        with torch.no_grad(), jumok.observe(model) as records[name]:
            model(**architectures.make_inputs(name))
    return records


def test_labels_of_what_was_read(observed):
    labels = list("abcdefg")
    assert sides(jumok.show(observed["BERT"], tokens=labels)) == {"encoder": [("text", labels)] * 2}
    assert sides(jumok.show(observed["GPT-2"], tokens=labels)) == {"decoder": [("text", labels)] * 2}
    numbers = [str(number) for number in range(1, 8)]
    assert sides(jumok.show(observed["BERT"])) == {"encoder": [("text", numbers)] * 2}


def test_labels_of_source_and_target(observed):
    source, target = list("abcdefg"), list("vwxyz")
    found = sides(jumok.show(observed["T5"], tokens=source, target_tokens=target))
    assert found == {
        "encoder": [("source", source)] * 2,
        "decoder": [("output", target), ("output so far", target)],
        "cross": [("output", target), ("source", source)],
    }
    page = jumok.show(observed["T5"], tokens=source, target_tokens=["<s>", *target])
    assert sides(page)["decoder"] == [("output", target), ("output so far", ["<s>", *target[:-1]])], "one more: written"
    assert sides(page)["cross"][0] == ("output", target)
    (run,) = read(page)[0]["runs"]
    assert (run["source"], run["answer"]) == ("abcdefg", "vwxyz")


def test_labels_that_do_not_fit(observed):
    def refused(said, name, **given):
        with pytest.raises(jumok.JumokError, match=said):
            jumok.show(observed[name], **given)

    refused("tokens has 6 labels, and the model read 7; give one per token", "BERT", tokens=list("abcdef"))
    refused("tokens has 9 labels, and the model read 7", "GPT-2", tokens=list("abcdefghi"))
    refused(r"target_tokens has 3 labels, and the model read 5 \(or one more", "T5", target_tokens=list("abc"))
    refused("target_tokens are given, and the record has no cross-attention; give tokens", "BERT", target_tokens=["a"])
    refused("tokens is a str; give a list of labels", "BERT", tokens="abcdefg")
    refused("tokens are ids; give tokenizer=… to turn them", "BERT", tokens=torch.arange(7))
    refused("tokenizer is a object; give one of transformers or of jumok", "BERT", tokens=[1], tokenizer=object())


def wrapped(kind):
    """Return a tokenizer of transformers of a kind, trained on a line."""
    transformers = pytest.importorskip("transformers")
    special = ["[UNK]", "</s>"]
    if kind == "byte-level":
        library = Tokenizer(models.BPE())
        library.pre_tokenizer, library.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=270, special_tokens=special, initial_alphabet=alphabet)
    elif kind == "metaspace":
        library = Tokenizer(models.BPE(byte_fallback=True, unk_token="[UNK]"))
        library.pre_tokenizer = pre_tokenizers.Metaspace()
        library.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
        trainer = trainers.BpeTrainer(special_tokens=[*special, *(f"<0x{byte:02X}>" for byte in range(256))])
    else:
        library = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        library.pre_tokenizer = pre_tokenizers.Whitespace()
        trainer = trainers.WordPieceTrainer(vocab_size=32, special_tokens=special)
    library.train_from_iterator([TEXT] if kind != "metaspace" else ["the attention of"], trainer)
    content = json.loads(library.to_str())
    content["added_tokens"] = content["added_tokens"][: len(special)]  # bytes are tokens like others
    library = Tokenizer.from_str(json.dumps(content))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=library, unk_token="[UNK]", eos_token="</s>")


@pytest.mark.parametrize("kind", ["byte-level", "metaspace", "wordpiece"])
def test_tokenizers_of_transformers(kind):
    tokenizer = wrapped(kind)
    ids = [*tokenizer(TEXT)["input_ids"], tokenizer.eos_token_id]
    labels, words, text = read_tokens(torch.tensor([ids, ids]), tokenizer)
    assert len(labels) == len(words) == len(ids)
    assert labels[-1] == "</s>"
    assert text.replace(" ", "").replace("##", "") == TEXT.replace(" ", "")
    assert max(words) == 5, "five words and the end"
    assert words[-1] != words[-2]
    assert not any(letter in "Ġìķ" for label in labels for letter in label)
    if kind == "byte-level":
        assert any(label.startswith("▁") for label in labels)
        assert set("".join(labels)) >= {"<", "E", "B"}, "bytes of unfinished characters are named"
    if kind == "wordpiece":
        assert any(label.startswith("##") for label in labels)
    if kind == "metaspace":
        assert labels[:4] == ("▁", "<EC>", "<A3>", "<BC>")
    whole = AttentionMap("", "encoder", 0, torch.ones(1, len(ids), len(ids)), labels, labels).merged(words, words)
    plain = [word.replace("▁", "").replace("##", "") for word in whole.keys]
    assert plain == ["주목은", "the", "attention", "of", "모델", "</s>"]


def test_tokenizers_of_jumok():
    tokenizer = OwnTokenizer.train([TEXT] * 3, TokenizerConfig(kind="word", vocabulary=50))
    labels, words, text = read_tokens(tokenizer.encode([TEXT]), tokenizer)
    assert labels == ("▁주목은", "▁the", "▁attention", "▁of", "▁모델")
    assert words == (0, 1, 2, 3, 4)
    assert text == TEXT


def test_words_of_a_tokenizer_are_on_the_page(observed):
    tokenizer = wrapped("wordpiece")
    ids = (tokenizer("the attention the")["input_ids"] * 3)[:7]
    (run,) = read(jumok.show(observed["BERT"], tokens=ids, tokenizer=tokenizer))[0]["runs"]
    assert run["sides"][0]["words"] == list(read_tokens(ids, tokenizer).words)


@pytest.mark.parametrize("name", ["GPT-2", "T5"])
def test_a_text_that_was_written_can_be_followed(name):
    model = architectures.make_model(name)
    source = architectures.make_inputs(name)["input_ids"][:1]
    with torch.no_grad(), jumok.observe(model) as record:
        written = model.generate(source, max_new_tokens=4, min_new_tokens=4)
    labels = [f"w{number}" for number in written[0].tolist()]
    given = {"tokens": labels} if name == "GPT-2" else {"tokens": list("abcdefg"), "target_tokens": labels}
    page = jumok.show(record, **given)
    (run,) = read(page)[0]["runs"]
    assert run["written"]
    assert sides(page)["decoder"] == [("output", labels[1:]), ("output so far", labels[:-1])]
    assert run["sides"][run["output"]]["labels"] == labels[1:]


def test_what_was_read_at_once_was_not_written(observed):
    assert not view_of_record(observed["BERT"]).written
    assert not view_of_record(observed["GPT-2"]).written
    assert view_of_record(observed["T5"]).written, "a target that the model was given is shown like one that it wrote"


def test_a_model_of_ones_own_with_a_module_per_head():
    model = GPT(jumok.watch)
    with jumok.observe(model) as record:
        model(torch.randn(1, 3, 12))
    page = jumok.show(record, tokens=["a", "b", "c"])
    (run,) = read(page)[0]["runs"]
    assert [(one["path"], one["layer"]) for one in run["maps"]] == [("blocks.0.heads", 0), ("blocks.1.heads", 1)]
    assert sides(page) == {"decoder": [("text", ["a", "b", "c"])] * 2}


def test_layers_with_windows_of_different_sizes_have_kinds_of_their_own():
    class Wrapped(nn.Module):
        def forward(self, x):
            return nn.functional.scaled_dot_product_attention(x, x, x)

    model = nn.ModuleDict({"wide": Wrapped(), "narrow": Wrapped()})
    with jumok.observe(model) as record:
        model["wide"](torch.randn(1, 6, 4))
        model["narrow"](torch.randn(1, 3, 4))
    assert list(sides(jumok.show(record))) == ["self 6×6", "self 3×3"]
