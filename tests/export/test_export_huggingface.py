"""Transformers exported to Hugging Face's layout: its own library answers as the run does, logit by logit."""

import json

import pytest
import torch
from export.conftest import SHAPES, make
from torch.testing import assert_close

import jumok
from jumok import api
from jumok.data.text.tokenizer import END, START
from jumok.errors import ConfigError, DataError
from jumok.tasks.pairs import collate

SHARED = [shape for shape in SHAPES if "model.shared_embeddings=false" not in shape] + [["model.norm_position=pre", "model.positions=none"]]  # fmt: skip


@pytest.mark.parametrize("overrides", SHARED, ids=str)
@torch.no_grad()
def test_its_own_library_answers_alike(tmp_path, overrides):
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    (tmp_path / "lines.txt").write_text("a b c\n\nz y x w v\nq\nm n o p a b\n")
    parity = api.export_model(
        make(tmp_path, *overrides), tmp_path / "theirs", to="huggingface", source=tmp_path / "lines.txt"
    )
    assert (parity.sentences, parity.equal) == (4, 4)
    assert parity.largest_difference < 1e-4
    ours, model = jumok.load(tmp_path / "run"), AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "theirs").eval()
    assert type(model).__name__ == (
        "PegasusForConditionalGeneration" if "model.norm_position=pre" in overrides else "MarianMTModel"
    )
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "theirs")
    encoded = tokenizer(["a b c", "z y x w v"], padding=True, return_tensors="pt")
    batch = collate([(ids, ids[:3]) for ids in ours.task.read(["a b c", "z y x w v"])])
    assert encoded.input_ids.tolist() == batch.source.tolist()
    assert batch.inputs[0, 0] == START
    assert encoded.input_ids[1, -1] == END
    logits = model(
        input_ids=encoded.input_ids, attention_mask=encoded.attention_mask, decoder_input_ids=batch.inputs
    ).logits
    assert_close(logits, ours.model(batch), atol=1e-4, rtol=1e-4)


def test_what_its_layout_cannot_hold_is_refused(tmp_path):
    run = make(tmp_path, "model.shared_embeddings=false", "model.tied=false")
    with pytest.raises(ConfigError, match="has one table for both languages"):
        api.export_model(run, tmp_path / "theirs", to="huggingface")
    (tmp_path / "other").mkdir()
    apart = make(tmp_path / "other", "tokenizer.shared=false", "data.set=dates", "tokenizer.vocabulary=200")
    with pytest.raises(ConfigError, match="has one tokenizer for both languages"):
        api.export_model(apart, tmp_path / "theirs", to="huggingface")
    (tmp_path / "third").mkdir()
    with pytest.raises(ConfigError, match=r"Hugging Face's layout has no Transformer with model\.norm = 'batch'"):
        api.export_model(make(tmp_path / "third", "model.norm=batch"), tmp_path / "theirs", to="huggingface")
    assert not (tmp_path / "theirs").exists()


def test_the_exported_way_to_search_is_the_runs(tmp_path):
    (tmp_path / "lines.txt").write_text("a b c\n")
    run = make(tmp_path, "decoding.beam=3", "decoding.length_penalty=0.6")
    api.export_model(run, tmp_path / "theirs", to="huggingface", source=tmp_path / "lines.txt")
    settings = json.loads((tmp_path / "theirs" / "generation_config.json").read_text())
    assert (settings["num_beams"], settings["length_penalty"]) == (3, 0.6)


@pytest.mark.parametrize("overrides", [*SHARED, ["model.tied=false", "model.norm_position=pre"]], ids=str)
def test_what_was_exported_comes_back(tmp_path, overrides):
    """Answers with their scores, the tokenizer byte for byte, the way to search and the longest source are as before."""
    (tmp_path / "lines.txt").write_text("a b c\nz y x w v\nq\nm n o p a b\n")
    run = make(tmp_path, *overrides, "decoding.beam=3", "decoding.length_penalty=0.6", "data.max_length=50")
    api.export_model(run, tmp_path / "theirs", to="huggingface", source=tmp_path / "lines.txt")
    ours = jumok.load(run, jumok.Translator)
    back, missing = api.import_model(tmp_path / "theirs", tmp_path / "back")
    assert missing == []
    texts = ["a b c", "z y x w v", "q r s", "", "a " * 60]
    for one, other in zip(ours.answers(texts), back.answers(texts), strict=True):
        assert [answer.ids for answer in one] == [answer.ids for answer in other]
        assert other[0].score == pytest.approx(one[0].score, abs=1e-4)
    for side in ("source", "target"):
        assert back.task.tokenizers[side].content == ours.task.tokenizers[side].content
    assert back.options == ours.options
    assert back.longest_source == ours.longest_source
    for key in ("positions", "norm_position", "tied", "activation", "feedforward", "heads"):
        assert getattr(back.run.recipe.model, key) == getattr(ours.run.recipe.model, key)
    assert back.run.recipe.model.depths == ours.run.recipe.model.depths


def test_a_pegasus_of_others_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "lines.txt").write_text("a b c\n")
    run = make(tmp_path, "model.norm_position=pre")
    api.export_model(run, tmp_path / "theirs", to="huggingface", source=tmp_path / "lines.txt")
    content = json.loads((tmp_path / "theirs" / "tokenizer.json").read_text())
    (tmp_path / "theirs" / "tokenizer.json").write_text(json.dumps(content | {"added_tokens": []}))
    with pytest.raises(DataError, match="its tokenizer was not written by jumok export"):
        api.import_model(tmp_path / "theirs", tmp_path / "back")
    assert not (tmp_path / "back").exists()
