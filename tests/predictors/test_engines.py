"""A translator is the same whatever engine searches for it: any that says what it can do, and refuses the rest."""

from collections.abc import Iterator

import pytest
from cli.conftest import copy_run  # noqa: F401 - fixture

import jumok
from jumok.config import DecodingConfig
from jumok.errors import ConfigError
from jumok.predictors.engines import JumokEngine, TranslationEngine
from jumok.predictors.translator import Translator
from jumok.tasks.writing import Answer
from jumok.workflows.export import export_run


class Echo(TranslationEngine):
    """Answer with the source itself: no model, and nothing to look into."""

    has_model = False
    name = "echo"
    parameters = 7
    limit = 0

    def __init__(self, task):
        self.task, self.asked = task, []

    @property
    def model(self):
        raise ConfigError("echo has no model to look into")

    def search(self, sources, *, options, prefixes=None, progress=None):
        self.asked.append((len(sources), options, prefixes))
        tokenizer = self.task.source_tokenizer
        ids = [list(map(int, source)) for source in sources]
        return [[Answer(tokenizer.decode(one), -1.0, tokenizer.labels(one), one, -1.0, True)] for one in ids]

    def stream(self, source, *, options, prefix=()) -> Iterator[int]:
        yield from map(int, source)

    def mean_loss(self, store):
        return 0.25


@pytest.fixture
def echo(copy_run):  # noqa: F811
    loaded = jumok.load(copy_run)
    return Translator(loaded.run, loaded.task, Echo(loaded.task))


def test_a_loaded_run_searches_with_jumoks_own_engine(copy_run):  # noqa: F811
    translator = jumok.load(copy_run)
    assert isinstance(translator.engine, JumokEngine)
    assert translator.model is translator.engine.model
    assert translator.engine.limit == translator.model.limit
    assert "engine" not in translator.to_dict()


def test_any_engine_will_do(echo):
    assert echo.translate(["a b c", "", "z"]) == ["a b c", "", "z"]
    assert echo.engine.asked[-1][0] == 2  # nothing is searched for where there is no text
    assert "".join(echo.stream("k l m")) == "k l m"
    (scores,) = echo.evaluate("val").values()
    assert (scores["exact_match"], scores["loss"]) == (100.0, 0.25)
    assert echo.to_dict()["engine"] == "echo"
    assert echo.to_dict()["parameters"] == echo.parameters == 7


def test_options_and_prefixes_reach_the_engine(echo):
    options = DecodingConfig(beam=3)
    echo.answers(["a", "", "b"], options=options, prefixes=["x", "y", "z"])
    assert echo.engine.asked[-1] == (2, options, ["x", "z"])
    echo.translate("a", beam=4)
    assert echo.engine.asked[-1][1].beam == 4


def test_the_engines_limit_is_what_a_source_is_cut_to(echo):
    said, echo.engine.limit = [], 12
    ids = echo.read(["a " * 30], warn=said.append)[0]
    assert len(ids) + 1 <= echo.longest_source == 12
    assert [notice.line for notice in said] == [1]


def test_what_needs_the_model_is_refused_by_an_engine_that_has_none(echo, tmp_path):
    for refused in (lambda: echo.explain("a b"), lambda: echo.importance("a b"), lambda: echo.model):
        with pytest.raises(ConfigError, match="echo has no model to look into"):
            refused()
    with pytest.raises(ConfigError, match="is no run of a translator; jumok exports those to onnx"):
        export_run(echo, tmp_path / "out", kind="onnx")
