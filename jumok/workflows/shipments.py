"""What is special about packing each kind of model: its held-out examples, its proof, its part of the card.

predictor of a run → Shipment → compare with the packed model → Comparison; scores → tables of the card
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from jumok.data.files import content_hash
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError
from jumok.evaluation.captions import score_captions
from jumok.evaluation.drawing_report import drawing_report
from jumok.evaluation.text import mean_scores
from jumok.export.parity import Parity, compare
from jumok.predictors.base import AnyPredictor
from jumok.predictors.captioner import CaptionWriter
from jumok.predictors.drawer import Drawer
from jumok.predictors.translator import Translator
from jumok.runs.components import component_folder
from jumok.runs.run import Run
from jumok.workflows.export import BROUGHT
from jumok.workflows.read_drawings import evaluate_drawer, find_reader
from jumok.workflows.small_runs import write_small_run

HELD_OUT = 200  # examples that run and packed model answer
EXAMPLES = 10  # of them in the card

PredictorT = TypeVar("PredictorT", bound=AnyPredictor)
FoundT = TypeVar("FoundT")


@dataclass(frozen=True)
class Compared:
    """How a run and its packed form answer the same held-out examples."""

    parity: Parity
    metric: str
    scores: tuple[float, float]  # of the run and of the packed model
    examples: list[tuple[str, ...]]  # rows of the card's table


class Shipment(ABC, Generic[PredictorT]):
    """A run that is to be packed, with its held-out examples."""

    unit: ClassVar[str]  # of held-out examples
    most_bytes: ClassVar[int]  # of a packed model
    columns: ClassVar[tuple[str, ...]]  # of the card's table of examples

    def __init__(self, run: PredictorT) -> None:
        self.run = run

    @property
    @abstractmethod
    def about(self) -> str:
        """What a card says of the model beside its name and size."""

    @property
    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizers that the packed model needs."""
        found: dict[str, Tokenizer] = self.run.task.tokenizers
        return found

    @abstractmethod
    def learnt_from(self) -> list[str]:
        """Return the data it learnt from, one title each."""

    def bring(self, folder: Path) -> None:
        """Write what the packed model needs of its data, where it needs some."""

    @abstractmethod
    def compare(self, small: PredictorT) -> Compared:
        """Return how the run and its packed form answer the held-out examples."""

    def scores(self, small: PredictorT) -> Mapping[str, Mapping[str, Any]]:
        """Return the packed model's val scores by label."""
        found: dict[str, dict[str, Any]] = small.evaluate("val")
        return found

    @abstractmethod
    def tables(self, scores: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Return the val scores by label as lines of Markdown."""


def shipment_of(run: AnyPredictor) -> "Shipment[Any]":
    """Return what packs a run, or refuse it."""
    if isinstance(run, Translator) and run.engine.has_model:
        return TranslatorShipment(run)
    if isinstance(run, CaptionWriter):
        return CaptionerShipment(run)
    if isinstance(run, Drawer):
        return DrawerShipment(run)
    raise ConfigError(
        f"{run.run.folder} is no run of a translator, a captioner or a drawer; those are what jumok ships"
    )


@dataclass(frozen=True)
class Sentence:
    """A held-out sentence and its reference."""

    label: str  # of its val corpus
    source: str
    reference: str
    language: str


class TranslatorShipment(Shipment[Translator]):
    """A translator, with sentences to prove exports with."""

    unit = "sentences"
    most_bytes = 20_000_000
    columns = ("val", "source", "reference", "jumok")

    def __init__(self, run: Translator) -> None:
        super().__init__(run)
        self.sample = held_out(run)

    @property
    def about(self) -> str:
        """The languages it writes."""
        languages = self.run.task.languages
        return f", told by a tag to write {', '.join(languages)}" if languages else ""

    @property
    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizers of both sides; a shared one once."""
        found = self.run.task.tokenizers
        return {"source": found["source"]} if self.run.run.recipe.tokenizer.shared else found

    def learnt_from(self) -> list[str]:
        """Return the corpora with their weights."""
        data = self.run.task.data
        return [f"{corpus.full_title}, weight {corpus.weight:g}" for corpus in data.train] or [f"built-in {data.set}"]

    def bring(self, folder: Path) -> None:
        """Write the held-out sentences, by which an export is proven where the data is not at hand."""
        lines = [f"{sentence.language}\t{sentence.source}\n" for sentence in self.sample]
        (folder / BROUGHT).write_text("".join(lines), encoding="utf-8")

    def compare(self, small: Translator) -> Compared:
        """Return how both translate the same sentences."""
        sources, languages = zip(*((sentence.source, sentence.language) for sentence in self.sample), strict=True)
        references = [sentence.reference for sentence in self.sample]
        ours, theirs = (
            [(best.text, best.score) for best, *_ in one.answers(sources, to=languages)] for one in (self.run, small)
        )
        before, after = (
            mean_scores([text for text, _ in found], references, languages)["bleu"] for found in (ours, theirs)
        )
        rows = [(s.label, s.source, s.reference, text) for s, (text, _) in zip(self.sample, theirs, strict=True)]
        return Compared(compare(sources, ours, theirs), "BLEU", (before, after), spread(rows, EXAMPLES))

    def tables(self, scores: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Return BLEU and chrF of each val corpus."""
        rows = [
            (
                label,
                f"{found['sentences']:,}",
                f"{found['bleu']:.2f}",
                f"{found['chrf']:.2f}",
                found["bleu_signature"].replace("|", " "),
            )
            for label, found in scores.items()
        ]
        chrf = next(iter(scores.values()))["chrf_signature"].replace("|", " ")
        return [
            *table(("val", "sentences", "BLEU", "chrF", "BLEU's signature"), rows, numbers=(1, 2, 3)),
            f"\nBeam {self.run.options.beam}; chrF: {chrf}.\n",
        ]


class CaptionerShipment(Shipment[CaptionWriter]):
    """A captioner that sees by itself: its encoder is among its weights."""

    unit = "images"
    most_bytes = 2_000_000
    columns = ("val image", "reference", "jumok")

    def __init__(self, run: CaptionWriter) -> None:
        super().__init__(run)
        if run.task.frozen is not None:
            raise ConfigError(
                f"{run.run.folder} sees through a frozen encoder, which is not among its weights; a captioner that jumok "
                "ships has an encoder of its own: train one with encoder = 'cnn'"
            )
        stores = run.task.open_split("val")
        everyone = [(label, store, number) for label, store in stores.items() for number in range(len(store))]
        self.sample = spread(everyone, HELD_OUT)

    @property
    def about(self) -> str:
        """How it writes, and what it attends with."""
        model = self.run.run.recipe.model
        attention = getattr(model, "attention", "")
        looks = f", attention = {attention}" if attention and getattr(model, "decoder", "") == "recurrent" else ""
        return f" (decoder = {getattr(model, 'decoder', '')}{looks})"

    def learnt_from(self) -> list[str]:
        """Return the built-in set, or the files of captions."""
        data = self.run.task.data
        if data.set:
            drawn = f"{data.set_size:,} images" if data.set_size else "images"
            return [f"built-in {data.set}: {drawn} drawn by jumok itself, captions = {data.captions}"]
        return [files.full_title for files in data.train]

    def compare(self, small: CaptionWriter) -> Compared:
        """Return how both describe the same images."""
        names = [store.images.names[number] for _, store, number in self.sample]
        references = [store.texts(number) for _, store, number in self.sample]
        pixels = np.stack([store.images.pixels[number] for _, store, number in self.sample])
        ours, theirs = (
            [(best.text, best.score) for best, *_ in one.answer_pixels(pixels, options=one.options)]
            for one in (self.run, small)
        )
        before, after = (score_captions([text for text, _ in found], references).cider_d for found in (ours, theirs))
        rows = [(name, texts[0], text) for name, texts, (text, _) in zip(names, references, theirs, strict=True)]
        return Compared(compare(names, ours, theirs), "CIDEr-D", (before, after), spread(rows, EXAMPLES))

    def tables(self, scores: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Return the scores of each val set beside what needs no captioner, and of objects where they are known."""
        lines = []
        figures = {"CIDEr-D": "cider_d", "BLEU-4": "bleu4", "ROUGE-L": "rouge_l"}
        for label, found in scores.items():
            rows = [
                (name, *(f"{one[figure]:.1f}" for figure in figures.values()), f"{one['distinct']:,}")
                for name, one in {"this model": found, **found["floors"]}.items()
            ]
            heads = (f"{label}, {found['images']:,} val images", *figures, "distinct captions")
            lines += [
                *table(heads, rows, numbers=(1, 2, 3, 4)),
                f"\nBeam {self.run.options.beam}; {found['signature']}.\n",
            ]
            lines += _objects(found["objects"]) if "objects" in found else []
        return lines


class DrawerShipment(Shipment[Drawer]):
    """A drawer, with the image codes that it draws in."""

    unit = "captions"
    most_bytes = 6_000_000
    columns = ("val caption", "what is read in its drawing")

    def __init__(self, run: Drawer) -> None:
        super().__init__(run)
        stores = run.task.open_split("val")
        self.sample = spread(
            [store.texts(number)[0] for store in stores.values() for number in range(len(store))], HELD_OUT
        )

    @property
    def about(self) -> str:
        """What it draws in."""
        rows, columns = self.run.model.grid
        coder = self.run.task.codes.model
        return (
            f", drawing in {rows} × {columns} codes of a model of {coder.parameter_count:,} parameters (folder codes, "
            "kept in eight bits)"
        )

    def learnt_from(self) -> list[str]:
        """Return the built-in set, or the files of captions."""
        data = self.run.task.data
        if data.set:
            drawn = f"{data.set_size:,} images" if data.set_size else "images"
            left_out = ", some combinations withheld" if data.withhold else ""
            return [f"built-in {data.set}: {drawn} drawn by jumok itself{left_out}"]
        return [files.full_title for files in data.train]

    def bring(self, folder: Path) -> None:
        """Write the image codes beside the drawer, in small form, and name these in its recipe."""
        config = self.run.task.model_config.codes
        codes = Run.open(component_folder(config, self.run.run.data_folders))
        file = write_small_run(codes, folder / "codes", tokenizers={}, name=f"{folder.name}/codes", eight_bits=True)
        recipe = Run.open(folder).recipe
        inside = config.model_copy(update={"run": "codes", "hash": content_hash([file])})
        replace(recipe, model=recipe.model.model_copy(update={"codes": inside})).save(folder / "recipe.toml")

    def compare(self, small: Drawer) -> Compared:
        """Return how both draw the same captions by the same seeds."""
        ours, theirs = (
            [(" ".join(map(str, one.codes.ravel())), one.log_probability) for one in drawer.draw(self.sample)]
            for drawer in (self.run, small)
        )
        store = next(iter(self.run.task.open_split("val").values()))
        before, after = (drawer.task.metrics(drawer.model, store)["bits"] for drawer in (self.run, small))
        return Compared(compare(self.sample, ours, theirs), "bits per code", (before, after), self._read(small))

    def _read(self, small: Drawer) -> list[tuple[str, ...]]:
        """Return some captions, and what the reader of evaluate sees in drawings of them."""
        chosen, reader = spread(self.sample, EXAMPLES), find_reader(small)
        if reader is None:
            return [(text, "") for text in chosen]
        pixels = np.stack([one.pixels for one in small.draw(chosen)])
        return list(zip(chosen, reader.read(pixels), strict=True))

    def scores(self, small: Drawer) -> Mapping[str, Mapping[str, Any]]:
        """Return what codes cost in each val set, and what a reader finds in drawings."""
        return evaluate_drawer(small, "val")

    def tables(self, scores: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Return each val set's scores; drawings stand beside the ceiling and the floor of what is read in them."""
        rows = [(label, f"{found['bits']:.3f}", f"{found['text_loss']:.3f}") for label, found in scores.items()]
        lines = [*table(("val", "bits per code", "loss of a word"), rows, numbers=(1, 2)), ""]
        for label, found in scores.items():
            read = drawing_report(label, "val", found).table
            if read is not None:
                heads = (f"{label}: right, %, as {found['reader']} reads", *read.headings[1:])
                lines += [*table(heads, read.rows, numbers=range(1, len(heads))), ""]
        return lines


def _objects(scores: Mapping[str, Any]) -> list[str]:
    """Return how many of the drawn objects were named right, in all and by how many there are."""
    figures = {"form": "form", "colour": "colour", "size": "size", "place": "place", "all objects": "all_right"}
    rows = [
        (str(one["objects"] or "any"), f"{one['scenes']:,}", *(f"{one[figure]:.1f}" for figure in figures.values()))
        for one in (*scores["by_number"], scores)
    ]
    heads = ("objects", "scenes", *(f"{name} right, %" for name in figures))
    return [*table(heads, rows, numbers=range(1, 7)), f"\nCaptions outside the grammar: {scores['unreadable']:,}.\n"]


def held_out(translator: Translator) -> list[Sentence]:
    """Return held-out sentences, evenly spread over the val corpora."""
    found: list[Sentence] = []
    stores = translator.task.open_split("val")
    for label, store in stores.items():
        languages = translator.task.languages_of(store)
        for number in spread(range(len(store)), max(HELD_OUT // len(stores), 1)):
            found.append(Sentence(label, *store.text(number), languages[number]))
    return found


def spread(items: Sequence[FoundT], most: int) -> list[FoundT]:
    """Return at most so many items, evenly spread."""
    count = min(most, len(items))
    return [items[place * len(items) // count] for place in range(count)]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> list[str]:
    """Return the lines of a Markdown table; columns of numbers stand on the right."""
    lines = [heads, ["---:" if place in numbers else "---" for place in range(len(heads))], *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
