"""From Python: a recipe as a dict, callbacks, a quiet run, one text or many, predictors that pickle, short reprs."""

import copy
import multiprocessing
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch
from cli.conftest import bert_run, classifier_run, copy_run, directions_run, gpt_run  # noqa: F401 - fixtures
from rich.cells import cell_len
from rich.console import Console

import jumok
from jumok.api import ShippedCaptioner, ShippedDrawer, ShippedTranslator, prepare_job
from jumok.catalogue import SHIPPED
from jumok.errors import ConfigError
from jumok.runs.run import Run, load_recipe
from jumok.runs.weights import load_weights
from jumok.training.notebook import NotebookBar

RECIPE = {
    "task": "translation",
    "data": {"set": "copy", "size": 300},
    "tokenizer": {"kind": "character", "vocabulary": 60},
    "model": {"name": "transformer", "layers": 1, "width": 16, "heads": 2, "feedforward": 32},
    "training": {
        "steps": 6, "batch_tokens": 200, "evaluate_every": 3, "save_every": 3, "log_every": 2, "evaluate_sentences": 5,
    },
}  # fmt: skip
SETS = [
    {"training.steps": 4, "model.width": 24, "training.betas": (0.8, 0.9)},
    {"training": {"steps": 4, "betas": [0.8, 0.9]}, "model": {"width": 24}},
    ["training.steps=4", "model.width=24", "training.betas=[0.8, 0.9]"],
]


# --- training


def test_overrides_are_the_same_however_they_are_written():
    before = copy.deepcopy(RECIPE)
    first, *others = [load_recipe(RECIPE, overrides) for overrides in SETS]
    assert (first.training.steps, first.model.width, first.training.betas) == (4, 24, [0.8, 0.9])
    assert all(other == first for other in others)
    assert before == RECIPE, "the caller's dict is the caller's"


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        ({"model.widht": 3}, r"\[model\] has no key 'widht'; did you mean 'width'"),
        ({"task.name": 3}, "task.name cannot be set: task is a value, not a table"),
        ("model.width=3", "overrides = 'model.width=3': give a list of such texts, or a dict"),
        (["model.width"], "--set model.width: must look like section.key=value"),
    ],
)
def test_wrong_overrides_are_told(overrides, why):
    with pytest.raises(ConfigError, match=why):
        load_recipe(RECIPE, overrides)


def test_a_dict_needs_a_folder_and_goes_on_by_its_saved_recipe(tmp_path):
    with pytest.raises(ConfigError, match="a recipe that is a dict has no name: say where its run is to be"):
        jumok.train(RECIPE)
    folder = tmp_path / "run"
    jumok.train(RECIPE, out=folder, quiet=True, on_evaluation=lambda report: False)
    job = prepare_job(folder / "recipe.toml", out=folder, resume=True)
    assert job.going_on
    assert prepare_job(RECIPE, out=folder, resume=True).command.startswith(f"jumok train {folder / 'recipe.toml'} ")
    named = prepare_job("dates-seq2seq", out=tmp_path / "x", overrides={"training.steps": 3, "data.set": "copy"})
    assert "--set training.steps=3 --set" in named.command


def test_callbacks_are_told_every_step_and_evaluation(tmp_path):
    steps, evaluations = [], []
    jumok.train(RECIPE, out=tmp_path / "run", on_step=steps.append, on_evaluation=evaluations.append, quiet=True)
    assert [report.step for report in steps] == [1, 2, 3, 4, 5, 6]
    assert all(report.loss > 0 and report.units_per_second > 0 for report in steps)
    assert steps[1].learning_rate == pytest.approx(2 * steps[0].learning_rate), "it is warming up"
    assert [report.step for report in evaluations] == [3, 6]
    assert evaluations[0].is_best
    assert evaluations[0].scores["loss"] > 0


def test_a_run_that_a_callback_stopped_goes_on_as_if_it_never_had(tmp_path):
    """Returning False saves first; what a callback draws is not missing in training."""

    def draw(report):
        torch.rand(3)

    whole = jumok.train(RECIPE, out=tmp_path / "whole", quiet=True)
    folder = jumok.train(
        RECIPE, out=tmp_path / "run", quiet=True, on_step=lambda report: draw(report) or report.step < 4
    )
    assert (folder / "last").resolve().name == "step-4"
    jumok.train(RECIPE, out=folder, resume=True, quiet=True, on_evaluation=draw)
    one, other = (load_weights(Run.open(run), "last") for run in (whole, folder))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_what_a_callback_raises_comes_out(tmp_path):
    def fail(report):
        raise ZeroDivisionError("of the caller's own")

    with pytest.raises(ZeroDivisionError, match="of the caller's own"):
        jumok.train(RECIPE, out=tmp_path / "run", quiet=True, on_evaluation=fail)


def test_it_is_shown_unless_it_is_to_be_quiet(tmp_path, capsys):
    jumok.train(RECIPE, out=tmp_path / "loud")
    shown = capsys.readouterr()
    assert "step 6/6" in shown.err
    assert shown.out == ""
    jumok.train(RECIPE, out=tmp_path / "quiet", quiet=True)
    assert capsys.readouterr() == ("", "")


def test_a_notebook_has_one_bar_that_is_redrawn(tmp_path, monkeypatch):
    """IPython is not among the test requirements: its display is played here."""
    drawn, first = [], []

    def display(shown, **options):
        first.append((shown, options))
        return SimpleNamespace(update=lambda bar: drawn.append(bar._repr_html_()))

    played = ModuleType("IPython.display")
    played.display = display
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", played)
    monkeypatch.setattr("jumok.training.notebook.PAUSE", 0.0)
    prepare_job(RECIPE, out=tmp_path / "run").train(Console(force_jupyter=True, stderr=True))
    bars = [shown for shown, options in first if isinstance(shown, NotebookBar)]
    assert len(bars) == 1
    assert "step 3/6 <progress" in "".join(drawn)
    assert "evaluating …" in "".join(drawn)
    assert drawn[-1].startswith('<code>step 6/6 <progress max="6" value="6"')
    assert repr(bars[0]).startswith("step 6/6 loss")


# --- one or many


def test_one_text_has_one_answer_and_a_list_a_list(copy_run, gpt_run, bert_run, classifier_run):  # noqa: F811
    translator = jumok.load(copy_run, jumok.Translator)
    assert translator.translate("a b") == "a b"
    assert translator.translate(["a b"]) == translator.translate(("a b",)) == ["a b"]
    assert [answer.text for answer in translator.answers("a b")] == ["a b"]
    writer = jumok.load(gpt_run, jumok.Writer)
    one = writer.generate("import", max_length=5, seed=3)
    assert isinstance(one, str)
    assert writer.generate(["import", "import"], max_length=5, seed=3) == [one, one]
    assert writer.generate("import", max_length=5, seed=4) != one or writer.generate("import", max_length=9) != one
    filler = jumok.load(bert_run, jumok.Filler)
    text = "the [MASK] was lovely"
    assert filler.fill([text, text]) == [filler.fill(text)] * 2
    assert filler.embed(text).shape == (32,)
    assert filler.embed([text]).shape == (1, 32)
    classifier = jumok.load(classifier_run, jumok.TextClassifier)
    verdict = classifier.classify("the film was lovely")
    assert verdict.label == classifier.classify(["the film was lovely"])[0].label
    with pytest.raises(ConfigError, match=r"a tuple is a pair of texts, and .* takes one text; give a list of texts"):
        classifier.classify(("the film", "was lovely"))


# --- loading


def test_a_run_of_another_kind_is_refused_in_pythons_words(copy_run):  # noqa: F811
    with pytest.raises(ConfigError, match=r"is a run of translation; load it as Translator, or without a kind"):
        jumok.load(copy_run, jumok.Writer)


def test_the_device_that_is_missing_is_the_callers(copy_run):  # noqa: F811
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(ConfigError, match=r"^device = 'cuda', but this machine has no such device; use auto or cpu"):
        jumok.load(copy_run, device="cuda")
    with pytest.raises(ConfigError, match=r"^training.device = 'cuda', but this machine has no such device"):
        jumok.train(RECIPE, out="runs/never", overrides={"training.device": "cuda"})


def test_the_shipped_names_are_those_of_the_type():
    assert {*ShippedTranslator.__args__, *ShippedCaptioner.__args__, *ShippedDrawer.__args__} == set(SHIPPED)


# --- pickling and printing


def ask(predictor, verb, text):
    return getattr(predictor, verb)(text)


def test_predictors_answer_in_another_process(copy_run, classifier_run, directions_run, tmp_path, monkeypatch):  # noqa: F811
    """A spawned process unpickles them with nothing of this one: neither modules nor its working directory."""
    monkeypatch.chdir(copy_run.parent)
    asked = [
        (jumok.load(copy_run.name), "translate", "a b c"),  # by a relative path
        (jumok.load(directions_run, to="ko"), "translate", "4 0 7"),
        (jumok.load(classifier_run), "classify", "the film was lovely"),
    ]
    here = [ask(*one) for one in asked]
    monkeypatch.chdir(tmp_path)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert (
            pool.starmap_async(ask, asked).get(timeout=60) == here
        )  # a pool waits forever for what cannot be unpickled


def test_only_a_loaded_predictor_pickles(copy_run):  # noqa: F811
    loaded = jumok.load(copy_run, jumok.Translator)
    made = type(loaded)(loaded.run, loaded.task, loaded.engine)
    with pytest.raises(TypeError, match=r"only a predictor that jumok.load returned can be pickled"):
        copy.copy(made)


def test_reprs_fit_a_line(copy_run):  # noqa: F811
    translator = jumok.load(copy_run, jumok.Translator)
    assert repr(translator) == f"Translator('{copy_run}')"
    found = translator.explain("가 나 다 " * 30, target="라마바 " * 30)
    assert repr(found).startswith("Explanation('")
    assert cell_len(repr(found)) < 120
    assert repr(translator.explain("a b")) == "Explanation('a b' → 'a b', 3 attention maps)"
