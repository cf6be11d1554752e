"""`jumok translate`: sentences given, or a filter from standard input to standard output."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.decoding_options import decoding_given
from jumok.cli.display import bar, error_console, run_folders, warn_on
from jumok.cli.lines import check_inputs, chunks, one_line, output
from jumok.cli.precision_option import PRECISION
from jumok.json_text import json_text

if TYPE_CHECKING:
    from jumok.api import Answer


def translate(
    context: typer.Context,
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    texts: list[str] = typer.Argument(
        None, metavar="[TEXT]...", help="Sentences; none: each line of standard input is one."
    ),
    to: str = typer.Option("", "--to", help="The target language of a run that has several: ko, en, …"),
    in_file: Path | None = typer.Option(None, "--in", help="Read lines from a file (.gz allowed)."),
    out_file: Path | None = typer.Option(None, "--out", help="Write translations to a file."),
    prefix: str = typer.Option("", "--prefix", help="Every translation begins with this."),
    stream: bool = typer.Option(False, "--stream", help="Show each word as it is written (greedy or --sample)."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    precision: str = PRECISION,
    engine: str = typer.Option("", "--engine", help="jumok or ctranslate2; by default what the folder is for."),
    int8: bool = typer.Option(False, "--int8", help="Weights of 8 bits, by CTranslate2: faster, nearly as good."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per line: text, score, tokens."),
) -> None:
    """Translate sentences; without any, lines from standard input in the same order.

    With --n-best, each line has a sentence's number, a score and a translation.

    Example: [bold]jumok translate runs/multi30k-en-de "A dog runs." --beam 5[/bold]

    In the same numbers on every machine: [bold]jumok translate ko-en "넌 누구니?" --precision fp32[/bold]

    As a filter: [bold]jumok translate runs/multi30k-en-de < input.txt > output.txt[/bold]
    """
    from jumok import api
    from jumok.errors import ConfigError

    given = decoding_given(context)
    check_inputs(texts, in_file, what="sentences")
    if stream and (as_json or "n_best" in given):
        raise ConfigError("--stream shows one translation while it is written; leave out --json and --n-best")
    how = api.LoadOptions(to=to, checkpoint=checkpoint, engine=engine, int8=int8, precision=precision)
    predictor = api.load_for(api.Translator, run, how)
    predictor.language()  # a run of several directions is refused before anything is read or shown
    options = predictor.options.changed(given)
    console = error_console()
    total = len(texts) if texts else None
    # Where the translations themselves appear on the terminal, a bar would write over them.
    silent = out_file is None and sys.stdout.isatty()
    with output(out_file) as write, nullcontext(None) if silent else bar(console, "translating", total) as advance:
        done = 0
        for chunk in chunks(texts, in_file):
            if stream:
                for number, text in enumerate(chunk, start=done):
                    warn = warn_on(console, lines_before=number)
                    for piece in predictor.stream(text, prefix=prefix, options=options, warn=warn):
                        write(one_line(piece))
                    write("\n")
            else:
                found = predictor.answers(
                    chunk,
                    options=options,
                    prefixes=[prefix] * len(chunk) if prefix else None,
                    progress=advance,
                    warn=warn_on(console, lines_before=done),
                )
                for number, (text, answers) in enumerate(zip(chunk, found, strict=True), start=done + 1):
                    write(line(number, text, answers, as_json=as_json, several=options.n_best > 1) + "\n")
            done += len(chunk)


def line(number: int, source: str, answers: "list[Answer]", *, as_json: bool, several: bool) -> str:
    """Return the output for one input line."""
    if as_json:
        best, *_ = items = [{"text": a.text, "score": round(a.score, 6), "tokens": a.tokens} for a in answers]
        return json_text({"source": source, **best, **({"answers": items} if several else {})})
    if several:
        return "\n".join(f"{number}\t{answer.score:.4f}\t{one_line(answer.text)}" for answer in answers)
    return one_line(answers[0].text)
