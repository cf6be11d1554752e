"""`jumok translate`: sentences given, or a filter from standard input to standard output."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.display import bar, error_console, run_folders, warn_on
from jumok.cli.lines import chunks, one_line, output

if TYPE_CHECKING:
    from jumok.tasks.translation import Answer


def translate(
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    texts: list[str] = typer.Argument(
        None, metavar="[TEXT]...", help="Sentences; none: a line of standard input each."
    ),
    to: str = typer.Option("", "--to", help="The target language of a run that has several: ko, en, …"),
    in_file: Path | None = typer.Option(None, "--in", help="Read lines from a file (.gz allowed)."),
    out_file: Path | None = typer.Option(None, "--out", help="Write translations to a file."),
    beam: int | None = typer.Option(None, "--beam", min=1, help="Hypotheses kept a sentence; 1 = greedy."),
    n_best: int | None = typer.Option(
        None, "--n-best", min=1, help="Translations a sentence: lines of number, score, text."
    ),
    length_penalty: float | None = typer.Option(
        None, "--length-penalty", help="Power of the length that scores are divided by."
    ),
    coverage_penalty: float | None = typer.Option(
        None, "--coverage-penalty", min=0.0, help="Punish source words not looked at."
    ),
    no_repeat_ngram: int | None = typer.Option(None, "--no-repeat-ngram", min=0, help="No n-gram of this size twice."),
    min_length: int | None = typer.Option(None, "--min-length", min=0, help="Tokens before the end is allowed."),
    max_length: int | None = typer.Option(None, "--max-length", min=1, help="Most tokens of a translation."),
    sample: bool = typer.Option(False, "--sample", help="Draw at random instead of searching."),
    temperature: float | None = typer.Option(
        None, "--temperature", help="With --sample: below 1 safer, above 1 wilder."
    ),
    top_k: int | None = typer.Option(None, "--top-k", min=0, help="With --sample: from the k likeliest tokens."),
    top_p: float | None = typer.Option(
        None, "--top-p", help="With --sample: from the likeliest that make up this share."
    ),
    seed: int | None = typer.Option(None, "--seed", min=0, help="With --sample: the same seed draws the same."),
    prefix: str = typer.Option("", "--prefix", help="Every translation begins with this."),
    batch_size: int | None = typer.Option(None, "--batch-size", min=1, help="Sentences translated side by side."),
    workers: int | None = typer.Option(
        None, "--workers", min=0, help="Processes that share the sentences on a CPU; 0 = what is fastest."
    ),
    shortlist: int | None = typer.Option(
        None, "--shortlist", min=0, help="Try so many target tokens for each source token: faster; 0 = all."
    ),
    stream: bool = typer.Option(False, "--stream", help="Show each word as it is written (greedy or --sample)."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    engine: str = typer.Option("", "--engine", help="jumok or ctranslate2; by default what the folder is for."),
    int8: bool = typer.Option(False, "--int8", help="Numbers of 8 bits, by CTranslate2: faster, nearly as good."),
    as_json: bool = typer.Option(False, "--json", help="A JSON object a line: text, score, tokens."),
) -> None:
    """Translate sentences; without any, lines from standard input in the same order.

    Example: [bold]jumok translate runs/multi30k-en-de "A dog runs." --beam 5[/bold]

    As a filter: [bold]jumok translate runs/multi30k-en-de < input.txt > output.txt[/bold]
    """
    from jumok import api
    from jumok.config import DecodingConfig
    from jumok.errors import ConfigError
    from jumok.predictors.translator import Translator

    if texts and in_file:
        raise ConfigError("give sentences or --in FILE, not both")
    if in_file and not in_file.exists():
        raise ConfigError(f"--in {in_file}: there is no such file")
    if stream and (as_json or n_best):
        raise ConfigError("--stream shows one translation while it is written; leave out --json and --n-best")
    predictor = api.load_for(Translator, run, to=to, checkpoint=checkpoint, engine=engine, int8=int8)
    predictor.language()  # a run of several directions is refused before anything is read or shown
    given = {
        "beam": beam,
        "n_best": n_best,
        "length_penalty": length_penalty,
        "coverage_penalty": coverage_penalty,
        "no_repeat_ngram": no_repeat_ngram,
        "min_length": min_length,
        "max_length": max_length,
        "sample": sample or None,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
        "batch_size": batch_size,
        "workers": workers,
        "shortlist": shortlist,
    }
    changes = {key: value for key, value in given.items() if value is not None}
    options = DecodingConfig.parse(predictor.options.model_dump() | changes, "decoding")
    console = error_console()
    total = len(texts) if texts else None
    # Where the translations themselves appear on the terminal, a bar would write over them.
    silent = out_file is None and sys.stdout.isatty()
    with output(out_file) as write, nullcontext(None) if silent else bar(console, "translating", total) as advance:
        done = 0
        for chunk in chunks(texts, in_file):
            if stream:
                for number, text in enumerate(chunk, start=done):
                    for piece in predictor.stream(text, prefix=prefix, options=options, warn=warn_on(console, number)):
                        write(one_line(piece))
                    write("\n")
            else:
                found = predictor.answers(
                    chunk, options=options, prefixes=[prefix] * len(chunk) if prefix else None, progress=advance,
                    warn=warn_on(console, done),
                )  # fmt: skip
                for number, (text, answers) in enumerate(zip(chunk, found, strict=True), start=done + 1):
                    write(line(number, text, answers, as_json=as_json, several=options.n_best > 1) + "\n")
            done += len(chunk)


def line(number: int, source: str, answers: "list[Answer]", *, as_json: bool, several: bool) -> str:
    """Return the output for one input line."""
    import json

    if as_json:
        best, *_ = items = [{"text": a.text, "score": round(a.score, 6), "tokens": a.tokens} for a in answers]
        return json.dumps({"source": source, **best, **({"answers": items} if several else {})}, ensure_ascii=False)
    if several:
        return "\n".join(f"{number}\t{answer.score:.4f}\t{one_line(answer.text)}" for answer in answers)
    return one_line(answers[0].text)
