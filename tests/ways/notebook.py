"""From a notebook: models of one's own are observed and shown, recipes trained and asked. python tests/ways/notebook.py"""

import os
import sys
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

import jumok

STEPS = int(os.environ.get("STEPS", "0"))  # few of them, for a quick look whether all works; 0: the recipe's own


class OneHead(nn.Module):
    """A model of one's own: it calls F.scaled_dot_product_attention."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(29, 24)
        self.query_key_value = nn.Linear(24, 72)

    def forward(self, tokens):
        parts = self.query_key_value(self.embed(tokens)).view(*tokens.shape, 3, 2, 12).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(*parts, is_causal=True)


class ByHand(OneHead):
    """Another: it takes the softmax by hand, and marks it."""

    def forward(self, tokens):
        query, key, value = self.query_key_value(self.embed(tokens)).chunk(3, dim=-1)
        weights = jumok.watch((query @ key.transpose(1, 2) / 24**0.5).softmax(dim=-1))
        return weights @ value


def rows_sum_to_one(record):
    assert record.maps, "nothing was recorded"
    for found in record.maps:
        sums = found.weights.sum(dim=-1)
        assert torch.allclose(sums, torch.ones_like(sums), atol=1e-4), found
    return record


def look_into_models_of_ones_own():
    tokens, words = torch.tensor([[5, 3, 1, 7]]), ["the", "old", "fox", "slept"]
    for number, model in enumerate((OneHead(), ByHand())):
        with jumok.observe(model) as record:
            model(tokens)
        jumok.show(rows_sum_to_one(record), tokens=words).save(f"own-{number}.html")
        assert "slept" in Path(f"own-{number}.html").read_text(encoding="utf-8")
    layer = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(24, 2, 48, batch_first=True), 2, enable_nested_tensor=False
    )
    with jumok.observe(layer.eval()) as record:
        layer(torch.randn(1, 4, 24))
    assert len(rows_sum_to_one(record).maps) == 2
    jumok.show(record, tokens=words).save("torch.html")


def look_into_hugging_face():
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 31}
    model = T5ForConditionalGeneration(T5Config(**sizes, decoder_start_token_id=0, pad_token_id=0)).eval()
    with jumok.observe(model) as record:
        model(input_ids=torch.tensor([[5, 6, 7, 1]]), decoder_input_ids=torch.tensor([[0, 8, 9]]))
    assert len(rows_sum_to_one(record).maps) == 6
    jumok.show(record, tokens=["a", "b", "c", "</s>"], target_tokens=["<s>", "x", "y"]).save("t5.html")


def train_and_ask():
    few = {"training.steps": STEPS, "training.evaluate_sentences": 20} if STEPS else {}
    heard = []
    run = jumok.train(
        "dates-transformer", out="runs/dates", overrides=few, on_evaluation=lambda report: heard.append(report) and None
    )
    assert heard, "on_evaluation was never called"
    translator = jumok.load(run, jumok.Translator)
    assert isinstance(translator.translate("2026년 11월 15일"), str)
    first, second = translator.translate(["2026년 11월 15일", "15 novembre 2026"], beam=5)
    if not STEPS:
        assert (first, second) == ("2026-11-15", "2026-11-15")
    explanation = translator.explain("15 novembre 2026")
    assert len(repr(explanation)) < 200
    jumok.show(explanation).save("dates.html")
    with jumok.observe(translator.model) as record:
        translator.translate("le 1er mai 1999")
    assert record.maps


def train_on_data_of_ones_own():
    rows = [f"I saw play {number} and it was {('great', 'awful')[number % 2]}\t{number % 2}" for number in range(200)]
    Path("reviews.tsv").write_text("\n".join(["text\tlabel", *rows, ""]), encoding="utf-8")
    written = jumok.new_recipe(["reviews.tsv"])
    assert written.task == "text-classification"
    run = jumok.train(written.path, overrides={"training.steps": STEPS} if STEPS else {}, quiet=True)
    verdict = jumok.load(run, jumok.TextClassifier).classify("it was great")
    assert verdict.label in ("0", "1")


if __name__ == "__main__":
    os.chdir(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp())
    for step in (look_into_models_of_ones_own, look_into_hugging_face, train_and_ask, train_on_data_of_ones_own):
        print(step.__name__.replace("_", " "), flush=True)
        step()
