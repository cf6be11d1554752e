"""What the tests of tasks share."""

import pytest

from jumok.runs.job import build_model
from jumok.runs.run import load_recipe
from jumok.tasks.translation import Translation


@pytest.fixture(scope="module")
def recipe(request, tmp_path_factory):
    """Return the file of the test module's own RECIPE."""
    path = tmp_path_factory.mktemp("recipe") / "copy.toml"
    path.write_text(request.module.RECIPE)
    return path


def make(recipe, *overrides):
    """Return the task of a recipe and its model, freshly made."""
    given = load_recipe(recipe, overrides)
    task = Translation.open(given, [])
    return task, build_model(task.complete(given))
