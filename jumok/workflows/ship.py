"""A run made small enough to ship: what maintainers use to put a trained translator, captioner or drawer into the package.

python -m jumok.workflows.ship RUN FOLDER --data DATA --notes licences.md

RUN → recipe, tokenizer, weights as float16 → jumok/shipped/FOLDER → the same answers? → CARD.md
What the machine was, where files lay, how training went and how to go on with it stay behind. Names for the folder are
entered by hand in catalogue.SHIPPED. workflows/shipments.py has what differs between kinds of models.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumok.errors import JumokError, RunError
from jumok.predictors.base import AnyPredictor, Predictor
from jumok.runs.loading import LoadOptions, add_data_folder, load_run
from jumok.runs.shipped import SHELF
from jumok.workflows.shipments import Compared, Shipment, shipment_of, table
from jumok.workflows.small_runs import write_small_run
from jumok.writing import whole_folder

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
    """Write a translator's, a captioner's or a drawer's run into shelf/name in small form; return how it compares.

    notes, in Markdown, goes into the card: licences of the data above all. recipe is what makes such a run again, the
    run's own where none is named. Without scored the card has no scores. A model that is too large is refused.
    """
    predictor = load_run(Predictor, run, LoadOptions(checkpoint=checkpoint, precision="fp32"))
    folder = shelf / name
    if folder.exists():
        raise RunError(f"{folder} is there already; remove it, or choose another name")
    add_data_folder(predictor, data)
    shipment = shipment_of(predictor)
    with whole_folder(folder) as fresh:
        write_small_run(predictor.run, fresh, tokenizers=shipment.tokenizers, name=name, checkpoint=checkpoint)
        shipment.bring(fresh)
        small = load_run(type(predictor), fresh, LoadOptions(precision="fp32"))
        small.task.corpora.folders = predictor.task.corpora.folders
        compared = shipment.compare(small)
        scores = shipment.scores(small) if scored else {}
        again = recipe or f"jumok/shipped/{name}/recipe.toml"
        (fresh / "CARD.md").write_text(card(name, shipment, compared, scores, notes, recipe=again), encoding="utf-8")
        packed = Packed(folder, _size(fresh), compared, shipment.unit)
        _refuse_too_large(packed, shipment, others=_others(shelf, fresh))
    return packed


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
    scores: Mapping[str, Mapping[str, Any]],
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
