"""The film of a run, opened: `jumok look RUN --film`."""

from pathlib import Path

from jumok.catalogue import task_class
from jumok.errors import RunError
from jumok.lens.film import Film, load_film
from jumok.runs.run import Run


def open_film(run: Path) -> Film:
    """Return the film of a run; a run without one says why, and how to get one."""
    recipe = Run.open(run).recipe
    film = load_film(run)
    if film is not None:
        return film
    if not task_class(recipe.task).filmed:
        raise RunError(f"{run} is a run of {recipe.task}; films are of texts, captions and forecasts, not of that")
    if recipe.model.why_no_film:
        raise RunError(f"{run} has no film: {recipe.model.why_no_film}")
    why = "training.probes = 0" if not recipe.training.probes else "no frames were kept of it"
    raise RunError(
        f"{run} has no film ({why}): train with training.probes = 2 in the recipe, or --set training.probes=2; "
        "a frame is then kept at each evaluation"
    )
