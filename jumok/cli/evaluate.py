"""`jumok evaluate`: score a run."""

from pathlib import Path
from typing import Any

import typer

from jumok.cli.display import bar, error_console, print_table, run_folders

MOST_SHOWN = 20  # classes of a table of confusions on the terminal


def evaluate(
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    split: str = typer.Option("val", "--split", help="val, test or train."),
    source: Path | None = typer.Option(None, "--source", help="A file of your own to score (or to translate …"),
    target: Path | None = typer.Option(None, "--target", help="… with its reference translations)."),
    data: Path | None = typer.Option(None, "--data", help="The data folder, where it has moved since training."),
    to: str = typer.Option("", "--to", help="Only what is translated to this language, of a run that has several."),
    beam: int | None = typer.Option(None, "--beam", min=1, help="Hypotheses kept a sentence; 1 = greedy."),
    length_penalty: float | None = typer.Option(
        None, "--length-penalty", help="Power of the length that scores are divided by."
    ),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    engine: str = typer.Option("", "--engine", help="jumok or ctranslate2; by default what the folder is for."),
    shortlist: int | None = typer.Option(
        None, "--shortlist", min=0, help="Try so many target tokens for each source token: faster; 0 = all."
    ),
    int8: bool = typer.Option(False, "--int8", help="Numbers of 8 bits, by CTranslate2: faster, nearly as good."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Score a run on held-out data.

    A translator by BLEU, chrF, exact match and loss, by length of the source; a language model by loss, perplexity,
    bits a byte and bits a character; a classifier by accuracy, macro-F1 and confusions, beside the commonest class and
    an n-gram baseline.

    Example: [bold]jumok evaluate runs/multi30k-en-de --split val --beam 5[/bold]
    """
    import json

    from jumok import api
    from jumok.config import DecodingConfig

    console = error_console()
    predictor = api.load(run, to=to, checkpoint=checkpoint, engine=engine, int8=int8)
    changes = {"beam": beam, "length_penalty": length_penalty, "shortlist": shortlist}
    options = DecodingConfig.parse(
        predictor.options.model_dump() | {k: v for k, v in changes.items() if v is not None}, "decoding"
    )
    with bar(console, "scoring", None) as advance:
        results = api.evaluate(
            predictor,
            split=split,
            source=source,
            target=target,
            data=data,
            options=options,
            progress=lambda label, done, total: advance(done),
        )
    if as_json:
        typer.echo(json.dumps(results, ensure_ascii=False, indent=1))
        return
    name = split if source is None else "files"
    show = {
        "language-modeling": show_language,
        "masked-language-modeling": show_gaps,
        "image-classification": show_classes,
        "text-classification": show_classes,
        "translation": show_translation,
    }[predictor.run.recipe.task]
    for label, scores in results.items():
        show(label, name, scores)


def show_language(label: str, split: str, scores: dict[str, Any]) -> None:
    """Print one text's scores for people."""
    typer.echo(
        f"{label} ({split}), {scores['documents']:,} documents, {scores['tokens']:,} tokens, {scores['characters']:,} characters"
    )
    typer.echo(
        f"  loss {scores['loss']:.4f}   perplexity {scores['perplexity']:.3f}   bits a byte {scores['bits_per_byte']:.4f}   "
        f"bits a character {scores['bits_per_character']:.4f}"
    )


def show_gaps(label: str, split: str, scores: dict[str, Any]) -> None:
    """Print the scores of one text with masked tokens for people."""
    typer.echo(f"{label} ({split}), {scores['documents']:,} documents, {scores['tokens']:,} tokens")
    follows = f"   next text right {scores['next_sentence']:.2f} %" if "next_sentence" in scores else ""
    typer.echo(
        f"  masked tokens found {scores['accuracy']:.2f} %   loss {scores['loss']:.4f}   perplexity {scores['perplexity']:.3f}{follows}"
    )


def show_classes(name: str, split: str, scores: dict[str, Any]) -> None:
    """Print one table's scores for people."""
    from rich.table import Table

    images = "top5" in scores
    typer.echo(f"{name} ({split}), {scores['examples']:,} {'images' if images else 'texts'}")
    five = f"   among the first five {scores['top5']:.2f} %" if images and len(scores["labels"]) > 5 else ""
    typer.echo(
        f"  accuracy {scores['accuracy']:.2f} %   macro-F1 {scores['macro_f1']:.2f} %   loss {scores['loss']:.4f}{five}"
    )
    if scores.get("broken"):
        typer.echo(f"  {scores['broken']:,} images cannot be used and are left out")
    baselines = scores["baselines"]
    compared = [f"{label} {baselines[label]:.2f} %" for label in ("majority", "n-grams") if label in baselines]
    if compared:
        typer.echo(f"  beside it: accuracy of {', '.join(compared)}")
    if "note" in baselines:
        typer.echo(f"  {baselines['note']}")
    table = Table("is \\ was named", *scores["labels"], "F1", box=None, padding=(0, 2))
    for label, row, f1 in zip(scores["labels"], scores["confusion"], scores["f1"], strict=True):
        table.add_row(label, *(f"{count:,}" for count in row), f"{f1:.1f} %")
    if len(scores["labels"]) <= MOST_SHOWN:
        print_table(table)


def show_translation(label: str, split: str, scores: dict[str, Any]) -> None:
    """Print one corpus' scores for people."""
    from rich.table import Table

    typer.echo(f"{label} ({split}), {scores['sentences']:,} sentences, beam {scores['decoding']['beam']}")
    typer.echo(
        f"  BLEU {scores['bleu']:.2f}   chrF {scores['chrf']:.2f}   loss {scores['loss']:.4f}   perplexity {scores['perplexity']:.3f}"
    )
    typer.echo(f"  exact match ({split}): {scores['exact_match']:.1f} %")
    if scores["cut"]:
        typer.echo(f"  {scores['cut']:,} sources are longer than the model takes and were cut")
    table = Table("source tokens", "sentences", "BLEU", "exact match", box=None, padding=(0, 2))
    for bucket in scores["by_length"]:
        table.add_row(
            f"{bucket['shortest']}-{bucket['longest']}",
            f"{bucket['sentences']:,}",
            f"{bucket['bleu']:.2f}",
            f"{bucket['exact_match']:.1f} %",
        )
    print_table(table)
    typer.echo(f"  {scores['bleu_signature']}")
    typer.echo(f"  {scores['chrf_signature']}")
