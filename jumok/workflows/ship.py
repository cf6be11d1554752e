"""A run made small enough to ship: what maintainers use to put a trained translator into the package.

python -m jumok.workflows.ship RUN FOLDER --data DATA --notes licences.md

RUN → recipe, tokenizer, weights as float16 → jumok/shipped/FOLDER → the same answers? → CARD.md
What the machine was, where files lay, how training went and how to go on with it stay behind. Names for the folder, one
for each direction, are entered by hand in catalogue.SHIPPED.
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

from jumok.config import ParallelData
from jumok.config.recipe import Recipe
from jumok.errors import ConfigError, JumokError, RunError
from jumok.evaluation.text import mean_scores
from jumok.export.parity import Parity, compare
from jumok.predictors.base import Predictor
from jumok.predictors.translator import Translator
from jumok.runs.loading import LoadOptions, add_data_folder, load_run
from jumok.runs.run import Run
from jumok.runs.shipped import SHELF
from jumok.runs.weights import load_weights
from jumok.workflows.export import BROUGHT

SENTENCES = 200  # held out, that run and packed model answer
EXAMPLES = 10  # of them in the card
BUDGET = 20_000_000  # bytes of everything on the shelf


@dataclass(frozen=True)
class Example:
    """A held-out sentence, its reference, and what the packed model makes of it."""

    label: str  # of its val corpus
    source: str
    reference: str
    language: str
    written: str = ""


@dataclass(frozen=True)
class Packed:
    """A folder on the shelf, and how it compares with the run it was made of."""

    folder: Path
    size: int
    parity: Parity
    bleu: tuple[float, float]  # of the run and of the packed model, on the same sentences
    examples: list[Example]

    def __str__(self) -> str:
        return (
            f"{self.folder}: {self.size / 1e6:.1f} MB\n{self.parity}\n"
            f"BLEU on these sentences: {self.bleu[0]:.2f} of the run, {self.bleu[1]:.2f} packed"
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
    """Write a translator's run into shelf/name in small form; return how it compares, or refuse what is too large.

    notes, in Markdown, goes into the card: licences of the data above all. recipe is what makes such a run again, the
    run's own where none is named. Without scored the card has no scores.
    """
    translator = load_run(Predictor, run, LoadOptions(checkpoint=checkpoint))
    if not isinstance(translator, Translator) or not translator.engine.has_model:
        raise ConfigError(f"{run} is no run of a translator; those are what jumok ships")
    folder, fresh = shelf / name, shelf / f".{name}.new"
    if folder.exists():
        raise RunError(f"{folder} is there already; remove it, or choose another name")
    add_data_folder(translator, data)
    sample = held_out(translator)
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        _write(translator, fresh, name, sample, checkpoint)
        small = load_run(Translator, fresh)
        small.task.corpora.folders = translator.task.corpora.folders
        packed = _compare(translator, small, folder, sample)
        scores = small.evaluate("val") if scored else {}
        again = recipe or f"jumok/shipped/{name}/recipe.toml"
        init = bool(translator.run.recipe.training.init)
        text = card(name, small, packed, scores, notes, recipe=again, from_scratch=not init)
        (fresh / "CARD.md").write_text(text, encoding="utf-8")
        packed = replace(packed, size=_size(fresh))
        others = sum(_size(path) for path in shelf.iterdir() if path.is_dir() and path != fresh)
        if packed.size + others > BUDGET:
            raise RunError(
                f"{name} takes {packed.size / 1e6:.1f} MB, which with {others / 1e6:.1f} MB of other models is more than "
                f"{BUDGET / 1e6:.0f} MB; train a smaller model or vocabulary"
            )
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return packed


def held_out(translator: Translator) -> list[Example]:
    """Return held-out sentences, evenly spread over the val corpora."""
    found: list[Example] = []
    stores = translator.task.open_split("val")
    for label, store in stores.items():
        languages = translator.task.languages_of(store)
        count = min(max(SENTENCES // len(stores), 1), len(store))
        for place in range(count):
            number = place * len(store) // count
            source, reference = store.text(number)
            found.append(Example(label, source, reference, languages[number]))
    return found


def _write(translator: Translator, folder: Path, name: str, sample: Sequence[Example], checkpoint: str) -> None:
    recipe = without_places(translator.run.recipe)
    tokenizers = translator.task.tokenizers
    if recipe.tokenizer.shared:
        tokenizers = {"source": tokenizers["source"]}
    Run.create(folder, recipe, tokenizers=tokenizers, facts={"data_folders": [], "shipped": name})
    (folder / "metrics.jsonl").unlink()
    lines = [f"{example.language}\t{example.source}\n" for example in sample]
    (folder / BROUGHT).write_text("".join(lines), encoding="utf-8")
    weights = load_weights(translator.run, checkpoint)
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
    assert isinstance(data, ParallelData)
    splits: dict[str, Any] = {}
    for split in ("train", "val", "test"):
        splits[split] = [
            corpus.model_copy(update={key: _last_part(getattr(corpus, key)) for key in ("source", "target", "file")})
            for corpus in getattr(data, split)
        ]
    started = [key for key in ("source_embeddings", "target_embeddings") if getattr(recipe.model, key, "")]
    return replace(
        recipe,
        data=data.model_copy(update={**splits, "folder": _last_part(data.folder)}),
        model=recipe.model.model_copy(update=dict.fromkeys(started, "")),
        training=recipe.training.model_copy(update={"init": ""}),
    )


def _last_part(name: str) -> str:
    return Path(name).name if Path(name).is_absolute() else name


def _compare(run: Translator, small: Translator, folder: Path, sample: list[Example]) -> Packed:
    """Return how a run and its packed form answer the same sentences."""
    sources, languages = [example.source for example in sample], [example.language for example in sample]
    references = [example.reference for example in sample]
    ours, theirs = (
        [(best.text, best.score) for best, *_ in predictor.answers(sources, to=languages)] for predictor in (run, small)
    )
    bleu = [mean_scores([text for text, _ in found], references, languages)["bleu"] for found in (ours, theirs)]
    written = [replace(example, written=text) for example, (text, _) in zip(sample, theirs, strict=True)]
    spread = [written[number * len(written) // EXAMPLES] for number in range(min(EXAMPLES, len(written)))]
    return Packed(folder, 0, compare(sources, ours, theirs), (bleu[0], bleu[1]), spread)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def card(
    name: str,
    small: Translator,
    packed: Packed,
    scores: dict[str, dict[str, Any]],
    notes: str,
    *,
    recipe: str,
    from_scratch: bool = True,
) -> str:
    """Return the model card: what it is, what it learnt from, how well it does, and how to make it again."""
    own, data = small.run.recipe, small.task.data
    begun = "from scratch" if from_scratch else "from the weights of an earlier run"
    to = f", told by a tag to write {', '.join(small.task.languages)}" if small.task.languages else ""
    learnt = [f"- {corpus.full_title}, weight {corpus.weight:g}" for corpus in data.train] or [f"- built-in {data.set}"]
    lines = [
        f"# {name}\n",
        f"A {own.model.name} of {small.parameters:,} parameters{to}; its weights are kept as float16 and used as "
        f"float32. Trained by jumok {begun} for {own.training.steps:,} steps; recipe.toml has every setting.\n",
        "## Learnt from\n",
        *learnt,
        *(["", notes.strip()] if notes.strip() else []),
        "\n## How well it does\n",
    ]
    if scores:
        lines += ["| val | sentences | BLEU | chrF | BLEU's signature |", "| --- | ---: | ---: | ---: | --- |"]
        lines += [
            f"| {label} | {found['sentences']:,} | {found['bleu']:.2f} | {found['chrf']:.2f} | {found['bleu_signature'].replace('|', ' ')} |"
            for label, found in scores.items()
        ]
        lines.append(
            f"\nBeam {own.decoding.beam}; chrF: {next(iter(scores.values()))['chrf_signature'].replace('|', ' ')}.\n"
        )
    lines += [
        f"Beside the run it was made of: {packed.parity.equal:,} of {packed.parity.sentences:,} held-out sentences are "
        f"answered alike; BLEU on them {packed.bleu[0]:.2f} before and {packed.bleu[1]:.2f} after packing.\n",
        f"{len(packed.examples)} held-out sentences, evenly spread and unedited:\n",
        "| val | source | reference | jumok |",
        "| --- | --- | --- | --- |",
        *(f"| {e.label} | {' | '.join(map(_cell, (e.source, e.reference, e.written)))} |" for e in packed.examples),
        "\n## Make it again\n",
        "```\n"
        f"jumok train {recipe} --data FOLDER --out runs/{name}\n"
        f"python -m jumok.workflows.ship runs/{name} {name} --data FOLDER\n"
        "```",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


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
