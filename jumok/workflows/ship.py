"""A run made small enough to ship: what maintainers use to put a trained translator or captioner into the package.

python -m jumok.workflows.ship RUN FOLDER --data DATA --notes licences.md

RUN → recipe, tokenizer, weights as float16 → jumok/shipped/FOLDER → the same answers? → CARD.md
What the machine was, where files lay, how training went and how to go on with it stay behind. Names for the folder are
entered by hand in catalogue.SHIPPED. workflows/shipments.py has what differs between translators and captioners.
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from jumok.config.recipe import Recipe
from jumok.errors import JumokError, RunError
from jumok.predictors.base import AnyPredictor, Predictor
from jumok.runs.loading import LoadOptions, add_data_folder, load_run
from jumok.runs.run import Run
from jumok.runs.shipped import SHELF
from jumok.runs.weights import load_weights
from jumok.workflows.shipments import Compared, Shipment, shipment_of, table

BUDGET = 20_000_000  # bytes of everything on the shelf


@dataclass(frozen=True)
class Packed:
    """A folder on the shelf, and how it compares with the run it was made of."""

    folder: Path
    size: int
    compared: Compared
    unit: str

    def __str__(self) -> str:
        (before, after), parity = self.compared.scores, self.compared.parity
        differing = zip(("the first that differs", "  the run", "  packed"), parity.first_difference, strict=False)
        return "\n".join(
            [
                f"{self.folder}: {self.size / 1e6:.1f} MB",
                f"{parity.equal:,} of {parity.sentences:,} held-out {self.unit} are answered alike; their scores differ by "
                f"{parity.largest_difference:.1e} at most",
                *(f"{whose}: {text}" for whose, text in differing),
                f"{self.compared.metric} on these {self.unit}: {before:.2f} of the run, {after:.2f} packed",
            ]
        )


def pack(
    run: str | Path,
    name: str,
    *,
    shelf: Path = SHELF,
    data: str | Path | None = None,
    notes: str = "",
    recipe: str = "",
    checkpoint: str = "best",
    scored: bool = True,
) -> Packed:
    """Write a translator's or a captioner's run into shelf/name in small form; return how it compares.

    notes, in Markdown, goes into the card: licences of the data above all. recipe is what makes such a run again, the
    run's own where none is named. Without scored the card has no scores. A model that is too large is refused.
    """
    predictor = load_run(Predictor, run, LoadOptions(checkpoint=checkpoint))
    folder, fresh = shelf / name, shelf / f".{name}.new"
    if folder.exists():
        raise RunError(f"{folder} is there already; remove it, or choose another name")
    add_data_folder(predictor, data)
    shipment = shipment_of(predictor)
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        _write(shipment, fresh, name, checkpoint)
        small = load_run(type(predictor), fresh)
        small.task.corpora.folders = predictor.task.corpora.folders
        compared = shipment.compare(small)
        scores = small.evaluate("val") if scored else {}
        again = recipe or f"jumok/shipped/{name}/recipe.toml"
        (fresh / "CARD.md").write_text(card(name, shipment, compared, scores, notes, recipe=again), encoding="utf-8")
        packed = Packed(folder, _size(fresh), compared, shipment.unit)
        _refuse_too_large(packed, shipment, others=_others(shelf, fresh))
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return packed


def _write(shipment: Shipment[Any], folder: Path, name: str, checkpoint: str) -> None:
    run = shipment.run.run
    facts = {"data_folders": [], "shipped": name}
    Run.create(folder, without_places(run.recipe), tokenizers=shipment.tokenizers, facts=facts)
    (folder / "metrics.jsonl").unlink()
    shipment.bring(folder)
    weights = load_weights(run, checkpoint)
    (folder / "best").mkdir()  # a folder, not a link: an installed package has none
    file = folder / "best" / "model.safetensors"
    save_file({key: halved(key, value) for key, value in weights.items()}, file)
    file.chmod(0o644)  # the library lets none but its owner read it


def halved(name: str, value: Tensor) -> Tensor:
    """Return a tensor of floats in half their bits; the others as they are."""
    if not value.is_floating_point():
        return value
    half = value.to(torch.float16).contiguous()
    if not half.isfinite().all():
        raise RunError(f"{name} has numbers of up to {float(value.abs().max()):.1e}, which float16 cannot hold")
    return half


def without_places(recipe: Recipe) -> Recipe:
    """Return a recipe that does not tell where files lay on the machine that trained it."""
    data = recipe.data
    splits: dict[str, Any] = {
        split: [file.model_copy(update=_named(dict(file))) for file in getattr(data, split)]
        for split in ("train", "val", "test")
    }
    started = [key for key in ("source_embeddings", "target_embeddings") if getattr(recipe.model, key, "")]
    encoders = {key: config.model_copy(update=_named(dict(config))) for key, config in recipe.model.components.items()}
    return replace(
        recipe,
        data=data.model_copy(update={**splits, "folder": _last_part(data.folder)}),
        model=recipe.model.model_copy(update={**dict.fromkeys(started, ""), **encoders}),
        training=recipe.training.model_copy(update={"init": ""}),
    )


def _named(values: dict[str, Any]) -> dict[str, Any]:
    """Return the texts among some values, absolute paths cut to their last part."""
    return {key: _last_part(value) for key, value in values.items() if isinstance(value, str)}


def _last_part(name: str) -> str:
    return Path(name).name if Path(name).is_absolute() else name


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _others(shelf: Path, fresh: Path) -> int:
    return sum(_size(path) for path in shelf.iterdir() if path.is_dir() and path != fresh)


def _refuse_too_large(packed: Packed, shipment: Shipment[Any], *, others: int) -> None:
    name, size = packed.folder.name, packed.size
    if size > shipment.most_bytes:
        raise RunError(
            f"{name} takes {size / 1e6:.1f} MB, and a model of its kind may take {shipment.most_bytes / 1e6:.0f} MB; train "
            "a smaller model or vocabulary"
        )
    if size + others > BUDGET:
        raise RunError(
            f"{name} takes {size / 1e6:.1f} MB, which with {others / 1e6:.1f} MB of other models is more than "
            f"{BUDGET / 1e6:.0f} MB; train a smaller model or vocabulary"
        )


def card(
    name: str,
    shipment: Shipment[Any],
    compared: Compared,
    scores: dict[str, dict[str, Any]],
    notes: str,
    *,
    recipe: str,
) -> str:
    """Return the model card: what it is, what it learnt from, how well it does, and how to make it again."""
    run: AnyPredictor = shipment.run
    own, unit, parity = run.run.recipe, shipment.unit, compared.parity
    begun = "from the weights of an earlier run" if own.training.init else "from scratch"
    data = "" if own.data.built_in else " --data FOLDER"
    before, after = compared.scores
    lines = [
        f"# {name}\n",
        f"A {own.model.name} of {run.parameters:,} parameters{shipment.about}; its weights are kept as float16 and used "
        f"as float32. Trained by jumok {begun} for {own.training.steps:,} steps; recipe.toml has every setting.\n",
        "## Learnt from\n",
        *(f"- {title}" for title in shipment.learnt_from()),
        *(["", notes.strip()] if notes.strip() else []),
        "\n## How well it does\n",
        *(shipment.tables(scores) if scores else []),
        f"Beside the run it was made of: {parity.equal:,} of {parity.sentences:,} held-out {unit} are answered alike; "
        f"{compared.metric} on them {before:.2f} before and {after:.2f} after packing.\n",
        f"{len(compared.examples)} held-out {unit}, evenly spread and unedited:\n",
        *table(shipment.columns, compared.examples),
        "\n## Make it again\n",
        "```\n"
        f"jumok train {recipe}{data} --out runs/{name}\n"
        f"python -m jumok.workflows.ship runs/{name} {name}{data}\n"
        "```",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    """Pack a run by command."""
    parser = argparse.ArgumentParser(prog="python -m jumok.workflows.ship", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", help="the run's folder")
    parser.add_argument("name", help="the folder to make in the shelf")
    parser.add_argument("--data", help="the data folder, where it has moved since training")
    parser.add_argument("--notes", help="a Markdown file for the card: the data's licences")
    parser.add_argument(
        "--recipe", default="", help="what makes such a run again, for the card; the run's own by default"
    )
    parser.add_argument("--checkpoint", default="best", help="best, last or step-N")
    parser.add_argument("--shelf", default=str(SHELF), help="where to put it; inside the package by default")
    parser.add_argument("--no-scores", action="store_true", help="leave out the val scores, which take a while")
    given = parser.parse_args(arguments)
    try:
        notes = Path(given.notes).read_text(encoding="utf-8") if given.notes else ""
        say(
            str(
                pack(
                    given.run,
                    given.name,
                    shelf=Path(given.shelf),
                    data=given.data,
                    notes=notes,
                    recipe=given.recipe,
                    checkpoint=given.checkpoint,
                    scored=not given.no_scores,
                )
            )
        )
    except (JumokError, OSError) as error:
        print(f"jumok: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
