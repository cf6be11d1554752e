"""`jumok classify`: name the classes of texts."""

import sys
from contextlib import nullcontext
from pathlib import Path

import typer

from jumok.cli.display import bar, error_console, run_folders, warn_on
from jumok.cli.lines import chunks, one_line, output


def classify(
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    texts: list[str] = typer.Argument(None, metavar="[TEXT]...", help="Texts; none: a line of standard input each."),
    in_file: Path | None = typer.Option(None, "--in", help="Read lines from a file (.gz allowed)."),
    out_file: Path | None = typer.Option(None, "--out", help="Write verdicts to a file."),
    top: int = typer.Option(1, "--top", min=1, help="How many classes to show, the likeliest first."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON object a text."),
) -> None:
    """Name the class of each text: class, probability and text, with tabs between.

    A model of two texts takes them with a tab between.

    Example: [bold]jumok classify runs/nsmc-bert "정말 재미있어요"[/bold]
    """
    import json

    from jumok import api
    from jumok.errors import ConfigError
    from jumok.predictors.classifier import TextClassifier

    if texts and in_file:
        raise ConfigError("give texts or --in FILE, not both")
    if in_file and not in_file.exists():
        raise ConfigError(f"--in {in_file}: there is no such file")
    classifier = api.load_for(TextClassifier, run, checkpoint=checkpoint)
    silent = out_file is None and sys.stdout.isatty()
    total = len(texts) if texts else None
    console, done = error_console(), 0
    with output(out_file) as write, nullcontext(None) if silent else bar(console, "reading", total) as advance:
        for chunk in chunks(texts, in_file):
            pairs = [_split(text) if classifier.takes_two else (text, "") for text in chunk]
            tell = advance or (lambda count: None)
            verdicts = classifier.classify(pairs, progress=tell, warn=warn_on(console, done))
            done += len(chunk)
            for text, verdict in zip(chunk, verdicts, strict=True):
                best = list(verdict.probabilities.items())[:top]
                if as_json:
                    found = {"text": text, "label": verdict.label, "probability": round(verdict.probability, 6)}
                    ranked = {label: round(probability, 6) for label, probability in verdict.probabilities.items()}
                    write(json.dumps(found | {"probabilities": ranked}, ensure_ascii=False) + "\n")
                else:
                    write(
                        "\t".join(f"{label}\t{probability:.3f}" for label, probability in best)
                        + f"\t{one_line(text)}\n"
                    )


def _split(text: str) -> tuple[str, str]:
    first, _, second = text.partition("\t")
    return first, second
