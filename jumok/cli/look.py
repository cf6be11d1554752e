"""`jumok look`: see where a model looked while it translated, or in an image that it named."""

from pathlib import Path

import typer

from jumok.cli.display import error_console, run_folders, warn_on


def look(
    given: list[str] = typer.Argument(
        ...,
        metavar="RUN... TEXT",
        help="A run's folder, or several to compare; then the sentence to translate, or the image to name (none with --film).",
        autocompletion=run_folders,
    ),
    to: str = typer.Option("", "--to", help="The target language of a run that has several."),
    target: str | None = typer.Option(None, "--target", help="Look at this translation instead of the model's own."),
    kind: str = typer.Option(
        "", "--kind", help="cross or recurrent (output looks at source: the default), encoder, decoder; window (Swin)."
    ),
    layer: int | None = typer.Option(
        None, "--layer", min=1, help="One layer, counted from 1; the mean of all otherwise, of an image their rollout."
    ),
    head: int | None = typer.Option(None, "--head", min=1, help="One head, counted from 1; the mean of all otherwise."),
    words: bool | None = typer.Option(
        None,
        "--words/--subwords",
        help="Whole words, or tokens as the model has them (default: subwords here, words on a page).",
    ),
    importance: bool = typer.Option(
        False, "--importance", help="Also tell what the answer loses without each head, next to how sharply it looks."
    ),
    film: bool = typer.Option(
        False,
        "--film",
        help="How attention grew in training, on sentences kept at each evaluation: jumok look RUN --film.",
    ),
    beam: int | None = typer.Option(None, "--beam", min=1, help="Hypotheses kept; 1 = greedy."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    html: Path | None = typer.Option(
        None, "--html", help="Write a page of all layers and heads to this one file: text or image."
    ),
    open_page: bool = typer.Option(False, "--open", help="Open the page in the browser."),
    png: Path | None = typer.Option(None, "--png", help="Draw it to this file instead."),
    as_json: bool = typer.Option(False, "--json", help="Print the weights as JSON."),
) -> None:
    """Draw the attention of a translation: a line an output token, a column a source token. Of an image (ViT, Swin): a heat map.

    With --open or --html it is a page: point at a word, or at a patch of the image, and see where it looks.

    Example: [bold]jumok look runs/dates-transformer "2026년 11월 15일"[/bold]

    Example: [bold]jumok look runs/multi30k-en-de "A dog runs." --open[/bold] (a page to look around in; --html FILE keeps it)

    Example: [bold]jumok look runs/seq2seq runs/transformer "A dog runs." --html both.html[/bold]

    Example: [bold]jumok look runs/multi30k-en-de "A dog runs." --layer 4 --png dog.png[/bold]

    Example: [bold]jumok look runs/multi30k-en-de "A dog runs." --importance --words[/bold]

    Example: [bold]jumok look runs/dates-transformer --film --open[/bold] (from noise to alignment)

    Example: [bold]jumok look runs/cifar10-vit cat.jpg --png cat-heat.png[/bold]

    Example: [bold]jumok look runs/cifar10-vit runs/cifar10-swin cat.jpg --open[/bold] (both on one image)
    """  # fmt: skip
    from jumok import api
    from jumok.cli.look_film import look_at_film
    from jumok.cli.look_image import look_at_image
    from jumok.cli.look_page import check_can_write, write_image_page, write_page
    from jumok.cli.look_text import Wanted, explain_with, look_at_answer
    from jumok.config import DecodingConfig
    from jumok.errors import ConfigError
    from jumok.lens.figure import check_can_draw
    from jumok.predictors.image_classifier import ImageClassifier
    from jumok.predictors.translator import Translator
    from jumok.workflows.compare import name_runs

    if html is not None:
        check_can_write(html)
    if film:
        if len(given) > 1:
            raise ConfigError(f"--film is of one run and needs no text, '{given[1]}' is given: jumok look RUN --film")
        if to or target is not None or kind or importance or beam or png is not None or as_json:
            raise ConfigError(
                "--film goes with --html, --open, --words, --layer and --head only: its sentences are kept by training"
            )
        look_at_film(given[0], html=html, opened=open_page, words=words, layer=layer, head=head)
        return
    *runs, text = given
    if not runs:
        raise ConfigError(f"look needs a run and a text; only '{text}' is given: jumok look RUN TEXT")
    if png is not None:
        check_can_draw(png)
    if png is not None and len(runs) > 1:
        raise ConfigError(f"--png draws one run, {len(runs)} are given; --html shows them side by side")
    page, names = html is not None or open_page, name_runs(runs) if len(runs) > 1 else [Path(runs[0]).resolve().name]
    views, images = [], []
    predictors = [api.load(run, checkpoint=checkpoint) for run in runs]
    if len({isinstance(predictor, ImageClassifier) for predictor in predictors}) > 1:
        raise ConfigError("some of the runs name images and some do not; look at one kind at a time")
    for run, name, predictor in zip(runs, names, predictors, strict=True):
        if isinstance(predictor, ImageClassifier):
            if to or target is not None or beam is not None or importance or words is not None:
                raise ConfigError("--to, --target, --beam, --importance and --words are for translation")
            if len(runs) > 1 and not page:
                raise ConfigError(f"{len(runs)} runs are given; --html FILE or --open shows them on one image")
            looked = look_at_image(
                predictor, text, kind=kind, layer=layer, head=head, png=png, as_json=as_json, drawn=not page
            )
            images.append(looked.view(name))
            continue
        if not isinstance(predictor, Translator):
            raise ConfigError(f"{run} is a run of {predictor.run.recipe.task}; look is for translation and images")
        changes = {"beam": beam} if beam else {}
        options = DecodingConfig.parse(predictor.options.model_dump() | changes, "decoding")
        explanation, worth = explain_with(
            predictor,
            text,
            to=to,
            target=target,
            options=options,
            importance=importance,
            page=page,
            warn=warn_on(error_console()),
        )
        wanted = Wanted(kind, layer, head, words=bool(words), name=name if len(runs) > 1 else "")
        look_at_answer(explanation, text, worth, wanted, png=png, as_json=as_json, drawn=not page)
        views.append(explanation.view(name, worth=worth))
    if page and images:
        write_image_page(images, html, opened=open_page)
    elif page:
        write_page(views, html, words=words is not False, opened=open_page)
