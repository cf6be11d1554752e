"""The notes' examples stay out of what is learnt: of the grammar's pairs, the phrasebook and any other, and are counted."""

from itertools import islice
from pathlib import Path

import pytest

from jumok.config import Corpus, ParallelData, TokenizerConfig
from jumok.data.builtin.examples import EXAMPLES, is_example
from jumok.data.builtin.korean import pair, pairs
from jumok.data.builtin.korean.frames import Frames
from jumok.data.builtin.korean.lexicon import lexicon
from jumok.data.builtin.korean.meaning import Clause, Entity, Meaning
from jumok.data.builtin.toys import split_of
from jumok.data.text.parallel import ParallelCorpora
from jumok.data.text.sources import read_pairs


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_known_in_any_case_and_with_any_marks(example):
    assert is_example(example)
    assert is_example(example.upper().rstrip(".?") + " !")


@pytest.mark.parametrize(
    ("text", "kept_out"),
    [
        ("The dog chased the mouse.", True), ("The cat chased a mouse!", True), ("The cat quickly chased the mouse.", True),
        ("The cat chased mouse", True), ("The dog chased the cat.", True), ("The dog chased a mouse.", False),
        ("Who is he?", False), ("I like him.", False), ("He hit me with a stick.", True), ("He hit her with a stick.", False),
        ("The animal didn't cross the road because it was too tired.", True), ("The police found the thief.", True),
        ("The cook cooked the meal.", True), ("The cook made the meal.", False), ("나는 그를 좋아해.", False), ("", False),
    ],
)  # fmt: skip
def test_from_five_words_up_one_word_more_or_less_or_other_is_too_like(text, kept_out):
    assert is_example(text) == kept_out


def test_neither_the_grammar_nor_the_phrasebook_has_one():
    made = islice(pairs("train", 4000, 9), 4000)
    for sides in (*made, *read_pairs(Corpus(set="phrasebook"), Path)):
        assert not any(map(is_example, sides)), sides


def test_the_grammar_draws_again_where_a_side_is_an_example(monkeypatch):
    words = lexicon()
    chase = next(verb for verb in words.verbs if verb.korean == "쫓다")
    cat, mouse = (Entity(words.noun(name), article="the") for name in ("고양이", "쥐"))
    example = Meaning(Clause(chase, cat, [(chase.arguments[0], mouse)], tense="past"))
    drawn: list[Meaning] = []

    def draw(frames, draw=Frames.draw):
        drawn.append(draw(frames) if drawn else example)
        return drawn[-1]

    monkeypatch.setattr(Frames, "draw", draw)
    split = split_of(example.key)
    found = pair(split, 0)
    assert found.meaning is drawn[-1] is not example
    assert not is_example(found.english)


@pytest.mark.parametrize("without", [True, False])
def test_a_recipe_drops_them_from_any_table_and_counts_them(tmp_path, monkeypatch, without):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    table = tmp_path / "pairs.tsv"
    rows = [f"사과 {number}개\t{number} apples" for number in range(30)]
    rows += [
        "누구세요?\tWho is it?",
        "고양이가 도망갔다.\tThe fox chased the mouse.",
        "나는 커피를 좋아해.\tI like coffee.",
    ]
    table.write_text("\n".join([*rows, ""]), encoding="utf-8")
    data = ParallelData.parse(
        {"train": {"file": str(table)}, "val": {"file": str(table)}, "without_examples": without}, "data"
    )
    corpora = ParallelCorpora(data, TokenizerConfig(vocabulary=300), [])
    assert corpora.train.counts.examples == (2 if without else 0)
    assert ("2 like an example" in str(corpora.train.counts)) == without
    assert len(corpora.train) == (31 if without else 33)
    assert [len(store) for store in corpora.evaluation("val").values()] == [33], "what is scored stays whole"
