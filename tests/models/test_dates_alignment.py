"""On dates, attention falls on the right field: the year while the year is written, the month, the day.

A small Seq2Seq with MLP attention is trained here on dates of six languages, then looked into on days it has not seen.
"""

import datetime
import random

import pytest
import torch
from babel.dates import get_month_names

import jumok
from jumok.data.builtin.dates import write_date
from jumok.data.builtin.toys import split_of

RECIPE = """
task = "translation"
[data]
train = { file = "train.tsv" }
val = { file = "val.tsv" }
max_length = 64
[tokenizer]
kind = "character"
vocabulary = 1000
shared = false
[model]
name = "seq2seq"
attention = "mlp"
width = 48
dropout = 0.0
[training]
steps = 200
batch_tokens = 1024
learning_rate = 1e-2
warmup = 20
schedule = "cosine"
label_smoothing = 0.0
evaluate_every = 200
save_every = 200
evaluate_sentences = 20
monitor = "exact_match"
[decoding]
beam = 1
"""
LANGUAGES = ("en", "de", "fr", "es", "it", "ko")
FIELDS = {"year": range(4), "month": range(5, 7), "day": range(8, 10)}  # places of the answer's digits


@pytest.fixture(scope="module")
def predictor(tmp_path_factory):
    folder, generator = tmp_path_factory.mktemp("dates"), random.Random(5)
    days = [datetime.date(1900, 1, 1) + datetime.timedelta(days=generator.randrange(73_000)) for _ in range(3000)]
    for split in ("train", "val"):
        chosen = [day for day in days if split_of(day.isoformat()) == split]
        rows = [f"{write_date(day, LANGUAGES[i % 6], 'long')}\t{day}\n" for i, day in enumerate(chosen)]
        (folder / f"{split}.tsv").write_text("".join(rows), encoding="utf-8")
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    return jumok.load(jumok.train(folder / "recipe.toml", out=folder / "run"))


def fields_of(text: str, day: datetime.date, language: str) -> dict[str, range]:
    """Return where the year, the month and the day stand in a written date, a neighbour on each side counted in."""
    month = f"{day.month}월" if language == "ko" else get_month_names("wide", locale=language)[day.month]
    year = text.index(str(day.year))
    hidden = text[:year] + "····" + text[year + 4 :]
    first = {"year": year, "month": text.lower().index(month.lower()), "day": hidden.rindex(str(day.day))}
    if language != "ko":
        first["day"] = hidden.index(str(day.day))
    length = {"year": 4, "month": len(month), "day": len(str(day.day))}
    return {name: range(max(first[name] - 1, 0), first[name] + length[name] + 1) for name in first}


def unseen_days(count: int) -> list[datetime.date]:
    days = (datetime.date(1900, 1, 7) + datetime.timedelta(days=97 * i) for i in range(700))
    return [day for day in days if split_of(day.isoformat()) == "test"][:count]


def test_attention_falls_on_the_field_that_is_being_written(predictor):
    shares: dict[str, list[float]] = {name: [] for name in FIELDS}
    right = total = 0
    for number, day in enumerate(unseen_days(30)):
        language = LANGUAGES[number % len(LANGUAGES)]
        text = write_date(day, language, "long")
        explanation = predictor.explain(text)
        total += 1
        if explanation.answer.text != day.isoformat():
            continue
        right += 1
        (found,) = explanation.record.of_kind("recurrent")
        assert len(found.keys) == len(text) + 1
        places = fields_of(text, day, language)
        for name, written in FIELDS.items():
            mass = found.weights[0, list(written)][:, list(places[name])].sum(dim=-1)
            shares[name] += mass.tolist()
    assert right >= 0.9 * total, f"only {right} of {total} dates were read right"
    means = {name: float(torch.tensor(values).mean()) for name, values in shares.items()}
    assert all(mean >= 0.7 for mean in means.values()), means
