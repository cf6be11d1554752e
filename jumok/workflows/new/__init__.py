"""`jumok new`: a commented recipe for whatever somebody has, chosen by looking at it.

paths → places (train, val, test) → Material (what it is, how much) → Plan (sizes, and why) → RECIPE.toml
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jumok.catalogue import predictor_class
from jumok.errors import ConfigError, did_you_mean
from jumok.runs.run import Run
from jumok.runs.shipped import find_run
from jumok.workflows.new.choosing import DEFAULT_MODELS, GOES_ON_AS, choose
from jumok.workflows.new.columns import Choice
from jumok.workflows.new.drawing import CODES, DRAWING
from jumok.workflows.new.looking import look_at
from jumok.workflows.new.material import Material
from jumok.workflows.new.places import Places, find_places, holds_images
from jumok.workflows.new.plan import Plan, write_recipe
from jumok.workflows.new.plans import Size
from jumok.writing import Refusal, write_text

UNWRITTEN = Refusal(
    ConfigError, "choose another place with --out", "free some space, or choose another place with --out"
)


@dataclass(frozen=True)
class NewRecipe:
    """A recipe that was written."""

    path: Path
    task: str
    seen: list[str]  # what the data is
    chosen: list[str]  # what was chosen for it, and why
    commands: list[str]  # what to type next


def new_recipe(
    data: Sequence[str | Path],
    *,
    out: str | Path | None = None,
    task: str = "",
    val: Sequence[str | Path] = (),
    source: str = "",
    target: str = "",
    text: str = "",
    second: str = "",
    label: str = "",
    date: str = "",
    id: str = "",
    horizon: int = 0,
    model: str = "",
    preset: str = "",
    start_from: str | Path | None = None,
) -> NewRecipe:
    """Write a recipe for two files of lines, for images and their captions, or for one file, table or folder.

    What is not said is chosen. A drawer (task = "text-to-image") gets a second recipe, of the codes that it draws in. source, target, text, second, label, date and id are columns of a table (several targets or ids
    with commas between), horizon the steps to forecast. val is scored on, as many files as data. start_from is an earlier run, whose model and tokenizer the recipe takes.
    """
    if not data:
        raise ConfigError(
            "jumok new needs your data: two files of lines, a table, a folder of images (and captions), or text"
        )
    paths = [Path(path) for path in data]
    path = Path(out) if out is not None else Path(f"{_name(paths)}.toml")
    if path.exists():
        raise ConfigError(f"{path} exists already; choose another name with --out, or remove it")
    if task and task not in DEFAULT_MODELS:
        raise ConfigError(
            f"--task {task}: jumok new has no recipe for such a task; {did_you_mean(task, DEFAULT_MODELS)}"
        )
    places = find_places(paths, [Path(file) for file in val])
    earlier = Run.open(find_run(start_from).folder) if start_from is not None else None
    if earlier is not None and not task:
        task = _task_to_go_on_with(earlier, places)
    material = look_at(places, task, Choice(source, target, text, second, label, date, id, horizon))
    if material.task == DRAWING:
        return _drawer_and_codes(path, material, Size(model, preset, earlier))
    plan = _write(path, material, Size(model, preset, earlier))
    return NewRecipe(path, plan.task, material.seen, plan.chosen, [*_first(path), _use(path, material)])


def _drawer_and_codes(path: Path, material: Material, size: Size) -> NewRecipe:
    """Write two recipes: the image codes, and the drawer that draws in them."""
    codes = path.with_name(f"{path.stem}-codes.toml")
    if codes.exists():
        raise ConfigError(f"{codes} exists already; choose another name with --out, or remove it")
    own = replace(size, codes=Path("runs") / codes.stem)
    plan = _write(path, material, own)
    first = _write(codes, replace(material, task=CODES), Size())
    chosen = [*(f"{codes.name}: {line}" for line in first.chosen), *plan.chosen]
    return NewRecipe(path, plan.task, material.seen, chosen, [*_first(codes), *_first(path), _use(path, material)])


def _write(path: Path, material: Material, size: Size) -> Plan:
    """Write the recipe for what somebody has; return what it says."""
    plan = choose(material, size)
    write_text(path, write_recipe(plan, path, command=shlex.quote(str(path))), UNWRITTEN)
    return plan


def _first(path: Path) -> list[str]:
    """Return the commands that check a recipe and train it."""
    command = shlex.quote(str(path))
    return [f"jumok check {command}", f"jumok train {command}"]


def _use(path: Path, material: Material) -> str:
    """Return the command that uses a recipe's run."""
    run = shlex.quote(f"runs/{path.stem}")
    return f"jumok {predictor_class(material.task).verb} {run} {shlex.quote(material.example)}"


def _name(paths: Sequence[Path]) -> str:
    """Return a name for a recipe: that of the file or folder, or of both files."""
    if len(paths) == 1:
        return paths[0].absolute().name.split(".")[0] or "recipe"
    if any(map(holds_images, paths)):  # images and captions
        return "-".join(path.absolute().name.split(".")[0] for path in paths)
    return "-".join(path.name for path in paths)


def _task_to_go_on_with(earlier: Run, places: Places) -> str:
    """Return the task that an earlier run can go on with, where the data leaves no other; nothing otherwise."""
    *others, last = GOES_ON_AS.get(earlier.recipe.task, ("",))
    is_text = places["train"][0].suffix in (".txt", ".md", ".text", ".gz") or places["train"][0].is_dir()
    return last if not others or is_text else ""
