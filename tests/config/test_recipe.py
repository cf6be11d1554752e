"""Recipes: strict, helpful, typed overrides, saved with every default."""

import pytest

from jumok.config.recipe import differences, find_recipe, shipped_recipes
from jumok.data.text.parallel import ParallelCorpora
from jumok.errors import ConfigError
from jumok.runs.run import load_recipe

BASE = """
task = "translation"
[data]
set = "copy"
[model]
preset = "tiny"
[training]
steps = 100
"""


def open_data(recipe):
    return ParallelCorpora(recipe.data, recipe.tokenizer, [])


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(BASE, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", shipped_recipes())
def test_every_shipped_recipe_is_valid_and_says_what_it_is(name):
    recipe = load_recipe(name)
    assert recipe.task
    head = find_recipe(name).read_text(encoding="utf-8").split("\ntask")[0]
    assert f"jumok train {name}" in head


def test_overrides_are_typed(recipe):
    changed = load_recipe(
        recipe, ["model.width=256", "model.norm=batch", "training.learning_rate=1e-4", "model.scaled=false"]
    )
    assert (changed.model.width, changed.model.norm, changed.training.learning_rate) == (256, "batch", 1e-4)
    assert changed.model.scaled is False
    assert load_recipe(recipe, ["training.betas=[0.8, 0.9]"]).training.betas == [0.8, 0.9]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.widht=3", r"\[model\] has no key 'widht'; did you mean 'width'\?"),
        ("model.width=big", "model.width = 'big': must be a whole number"),
        ("model.norm=bach", "model.norm = 'bach': must be 'layer' or 'batch'"),
        ("model.dropout=1.5", r"model.dropout = 1.5: must be below 1.0"),
        ("model.scaled=1", "model.scaled = 1: must be true or false"),
        ("model.name=transformr", "there is no model 'transformr'; did you mean 'transformer'"),
        ("task=translatoin", "there is no task 'translatoin'; did you mean 'translation'"),
        ("trainning.steps=3", "a recipe has no part 'trainning'; did you mean 'training'"),
        ("training.steps=0", "training.steps = 0: must be at least 1"),
        ("training.steps=1.5", "training.steps = 1.5: must be a whole number"),
        ("data.sett=dates", r"\[data\] has no key 'sett'; did you mean 'set'"),
        ("data.set=dats", "did you mean 'dates'"),
        ("decoding.n_best=9", "n_best .9. needs a beam at least as wide"),
        ("tokenizer.kind=bpee", "must be 'bpe', 'unigram', 'wordpiece', 'word', 'character' or 'byte'"),
        (
            "tokenizer.kind=word tokenizer.dropout=0.1",
            "tokenizer.dropout needs subwords: kind 'bpe' or 'unigram', not 'word'",
        ),
        ("tokenizer.kind=word tokenizer.target_dropout=0.1", "tokenizer.target_dropout needs subwords"),
        ("width", "must look like section.key=value"),
        ("model=3", r"model must be a table"),
        (
            "model.name=recurrent-classifier",
            r"is for text-classification, not for translation; use seq2seq or transformer",
        ),
    ],
)
def test_a_wrong_override_says_what_is_right(recipe, override, message):
    with pytest.raises(ConfigError, match=message):
        open_data(load_recipe(recipe, override.split()))


def test_a_corpus_with_a_wrong_key_names_the_place(recipe):
    recipe.write_text('[data]\ntrain = { sorce = "a", target = "b" }\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"has no key 'sorce'; did you mean 'source'"):
        load_recipe(recipe)
    recipe.write_text('[data]\ntrain = { source = "a" }\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="either source and target"):
        load_recipe(recipe)


def test_broken_files_and_unknown_names_are_told_apart(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text("task = ", encoding="utf-8")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        load_recipe(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(
        ConfigError, match=r"broken\.toml is not valid TOML: it is in UTF-16; UTF-8 is needed; mend that place"
    ):
        load_recipe(path)
    path.write_bytes(b"task = 'a'\n# caf\xe9\n")
    with pytest.raises(
        ConfigError, match=r"is not valid TOML: line 2 is not UTF-8: it holds the byte 0xE9; mend that place"
    ):
        load_recipe(path)
    path.write_text("model = " + "{ a = " * 900, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"is not valid TOML: tables and lists stand more than 100 deep"):
        load_recipe(path)
    path.write_text(f"[training]\nsteps = {'1' * 5000}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"is not valid TOML: a whole number has 5,000 digits"):
        load_recipe(path)
    with pytest.raises(ConfigError, match="there is no recipe file"):
        load_recipe(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="did you mean 'dates-transformer'"):
        load_recipe("dates-transfomer")


def test_a_saved_recipe_has_every_default_and_reads_back_equal(recipe, tmp_path):
    first = load_recipe(recipe, ["model.width=64"])
    first.save(tmp_path / "saved.toml")
    text = (tmp_path / "saved.toml").read_text(encoding="utf-8")
    for key in ("learning_rate", "feedforward", "no_repeat_ngram", "max_length", "vocabulary"):
        assert f"\n{key} = " in text
    assert load_recipe(tmp_path / "saved.toml") == first


def test_differences_allow_more_steps_and_other_intervals_only(recipe):
    saved = load_recipe(recipe)
    assert differences(saved, load_recipe(recipe, ["training.steps=200", "training.log_every=7"])) == []
    assert differences(saved, load_recipe(recipe, ["training.steps=50"])) == ["training.steps: 100 in the run, 50 now"]
    assert differences(saved, load_recipe(recipe, ["model.dropout=0.5"])) == ["model.dropout: 0.3 in the run, 0.5 now"]
    assert differences(saved.with_sizes(source_vocabulary=5, target_vocabulary=7), saved) == []


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (f"training.steps={'1' * 5000}",
         "--set training.steps is given what no recipe can hold (a whole number has 5,000 digits); give another value"),
        (f"model.width={'[' * 150}{']' * 150}",
         "--set model.width is given what no recipe can hold (tables and lists stand more than 100 deep inside each other); give another value"),
        ("model.preset=[]", "model.preset = []: must be text in quotes"),
        ("training.learning_rate=inf", "training.learning_rate = inf: input should be a finite number"),
        ("data.deviation=[0.0]", "data.deviation.0 = 0.0: must be above 0.0"),
        ("data.mean=[0.5, 0.5]", "data.mean has 2 numbers and an image 3 channels; give one for each channel"),
    ],
)  # fmt: skip
def test_values_that_no_recipe_can_hold(override, message):
    with pytest.raises(ConfigError) as told:
        load_recipe("shapes-vit", [override, "data.channels=3"])
    assert str(told.value).removeprefix("shapes-vit.toml: ") == message


def test_a_key_of_ten_thousand_parts_is_refused():
    with pytest.raises(ConfigError, match=r"must look like section\.key=value"):
        load_recipe("shapes-vit", [".".join(["a"] * 10_000) + "=1"])
