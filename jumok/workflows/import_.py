"""What `jumok import` does: a model of Hugging Face's layout becomes a run.

folder → recipe, tokenizers, weights by our names → model, with fresh weights for what the folder lacks → run folder
"""

from pathlib import Path

import torch

from jumok.errors import RunError
from jumok.export.from_huggingface import read_folder
from jumok.predictors.base import AnyPredictor, Predictor
from jumok.runs.loading import load_run
from jumok.runs.run import Run, check_recipe
from jumok.runs.weights import build_model
from jumok.training.average import model_tensors
from jumok.training.checkpoint import Checkpoints
from jumok.writing import whole_folder


def import_model(folder: str | Path, run: str | Path) -> tuple[AnyPredictor, list[str]]:
    """Bring in a model from a local folder (cli/import_.py has the kinds); return it and the parts it did not have."""
    target = Path(run)
    if Run.exists(target):
        raise RunError(f"{target} already holds a run; choose another folder")
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise RunError(f"{target} is there already; choose another folder, or remove it")
    found = read_folder(Path(folder))
    recipe = check_recipe({"data": {}, **found.raw}, name=str(folder))
    with torch.random.fork_rng(devices=[]):  # fresh weights are drawn by the recipe's seed, not by the caller's state
        model = build_model(recipe)
    own = model_tensors(model)
    with torch.no_grad():
        for name, value in found.weights.items():
            wanted = own[name].shape if name in own else ()
            if wanted != value.shape:
                raise RunError(f"{folder}: {name} has shape {tuple(value.shape)}, not {tuple(wanted)}")
            own[name].copy_(value)
    with whole_folder(target) as fresh:
        Run.create(fresh, recipe, tokenizers=found.tokenizers, facts={"data_folders": [], "imported": str(folder)})
        Checkpoints(fresh).write(0, weights=own, training={}, facts={}, best=True)
    return load_run(Predictor, target), found.missing
