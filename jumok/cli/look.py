"""`jumok look`: see where a model looked while it wrote, filled in masks, named a class or forecast."""

from pathlib import Path

import typer

from jumok.cli.decoding_options import decoding_given
from jumok.cli.display import run_folders


def look(
    context: typer.Context,
    given: list[str] = typer.Argument(
        ...,
        metavar="RUN... TEXT",
        help="A run's folder, or several to compare; then the text (to translate, to write on from, with [MASK]s, to "
        "classify, to draw), the image or the table of series (none with --film).",
        autocompletion=run_folders,
    ),
    to: str = typer.Option("", "--to", help="The target language of a run that has several."),
    target: str | None = typer.Option(
        None,
        "--target",
        help="Look at this instead of the model's own: a translation, a continuation, a class, a caption; of a "
        "forecaster the column to look at.",
    ),
    kind: str = typer.Option(
        "",
        "--kind",
        help="cross or recurrent (output looks at source: the default), encoder, decoder; window (Swin); occlusion "
        "(forecasts: what changes without a stretch of the past).",
    ),
    layer: int | None = typer.Option(
        None, "--layer", min=1, help="One layer, counted from 1; the mean of all otherwise, of an image their rollout."
    ),
    head: int | None = typer.Option(None, "--head", min=1, help="One head, counted from 1; the mean of all otherwise."),
    at: str = typer.Option(
        "", "--at", help="Forecasts: the last date or step that is known; by default the table's last."
    ),
    series: str = typer.Option("", "--series", help="Forecasts: which series of a table that has several."),
    step: int = typer.Option(1, "--step", min=1, help="Forecasts: the step ahead whose look is shown."),
    image: Path | None = typer.Option(
        None, "--image", help="Drawers: look at this image under the text, instead of a drawing of it."
    ),
    words: bool | None = typer.Option(
        None,
        "--words/--subwords",
        help="Whole words, or tokens as the model has them (default: subwords here, words on a page, of a caption or a drawing).",
    ),
    importance: bool = typer.Option(
        False, "--importance", help="Also tell what the answer loses without each head, next to how sharply it looks."
    ),
    film: bool = typer.Option(
        False,
        "--film",
        help="How attention grew in training, on sentences, images or windows kept at each evaluation: jumok look RUN --film.",
    ),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    html: Path | None = typer.Option(
        None, "--html", help="Write a page of all layers and heads to this one file: text or image."
    ),
    open_page: bool = typer.Option(False, "--open", help="Open the page in the browser."),
    matrices: bool = typer.Option(
        False, "--matrices", help="The page also has the layers' matrices, to fold out under Step by step."
    ),
    png: Path | None = typer.Option(None, "--png", help="Draw it to this file instead."),
    as_json: bool = typer.Option(False, "--json", help="Print the weights as JSON."),
) -> None:
    """Draw the attention of an answer: one line per token that looks, one column per token looked at. Of an image (ViT, Swin): a heat map; of a captioner: one map per word; of a forecaster: how much each past step was looked at; of a drawer: which cells looked at each word.

    The run decides what is done with the text: it is translated, written on from, classified, or its [MASK]s are filled.
    An image is classified, described or said in codes; a table of series is forecast, and --step chooses the step that looks back.
    With --open or --html it is a page: point at a word, a patch of the image or a step ahead, and see where it looks.

    Example: [bold]jumok look runs/dates-transformer "2026년 11월 15일"[/bold]

    Example: [bold]jumok look runs/multi30k-en-de "A dog runs." --open[/bold] (a page to look around in; --html FILE keeps it)

    Example: [bold]jumok look runs/seq2seq runs/transformer "A dog runs." --html both.html[/bold]

    Example: [bold]jumok look runs/multi30k-en-de "A dog runs." --layer 4 --png dog.png[/bold]

    Example: [bold]jumok look runs/multi30k-en-de "A dog runs." --importance --words[/bold]

    Example: [bold]jumok look runs/nsmc-bert "정말 재미있어요" --importance[/bold] (which words made the class)

    Example: [bold]jumok look runs/nsmc-pretrain "이 영화 정말 [MASK]" --open[/bold]

    Example: [bold]jumok look runs/shakespeare-char "ROMEO:" --max-length 20[/bold]

    Example: [bold]jumok look runs/dates-transformer --film --open[/bold] (from noise to alignment)

    Example: [bold]jumok look runs/cifar10-vit cat.jpg --png cat-heat.png[/bold]

    Example: [bold]jumok look runs/cifar10-vit runs/cifar10-swin cat.jpg --open[/bold] (both on one image)

    Example: [bold]jumok look runs/flickr8k-attend dog.jpg --png dog-words.png[/bold] (a caption, word by word over its image)

    Example: [bold]jumok look runs/shapes-codes image.png other.png --open[/bold] (images as their codes tell them)

    Example: [bold]jumok look runs/etth1-steps table.csv --at "2017-12-01 00:00" --step 24[/bold] (what the forecast looked at)

    Example: [bold]jumok look runs/waves-forecaster waves.csv --series wave-0 --kind occlusion --open[/bold] (what changes without a stretch of the past)

    Example: [bold]jumok look runs/shapes-attend runs/shapes-caption image.png --open[/bold] (point at a word, or at a place)

    Example: [bold]jumok look runs/shapes-dalle "a red circle" --guidance 3 --open[/bold] (which words each cell of a drawing looked at)
    """  # fmt: skip
    from jumok import api
    from jumok.cli.look_caption import look_at_caption
    from jumok.cli.look_codes import look_at_codes
    from jumok.cli.look_drawing import look_at_drawing
    from jumok.cli.look_film import look_at_film
    from jumok.cli.look_forecast import Window, look_at_forecast
    from jumok.cli.look_image import look_at_image
    from jumok.cli.look_page import Wanted
    from jumok.cli.look_text import look_at_text
    from jumok.errors import ConfigError
    from jumok.writing import check_can_write

    decoding = decoding_given(context)
    if html is not None:
        check_can_write(html, "--html")
    if matrices and (film or not (open_page or html is not None)):
        raise ConfigError("--matrices is for the page of a text or an image: add --html FILE or --open")
    if film:
        if len(given) > 1:
            raise ConfigError(f"--film is of one run and needs no text, '{given[1]}' is given: jumok look RUN --film")
        others = (to, kind, importance, decoding, as_json, at, series)
        if any(others) or target is not None or png is not None or image is not None:
            raise ConfigError(
                "--film goes with --html, --open, --words, --layer and --head only: its sentences are kept by training"
            )
        look_at_film(given[0], html=html, opened=open_page, words=words, layer=layer, head=head)
        return
    if len(given) > 1 and api.predictor_class_of(given[0]).explains == "codes":
        of_attention = (to, kind, layer, head, at, series, image, importance, decoding, matrices)
        if any(of_attention) or target is not None or step > 1 or words is not None:
            raise ConfigError(
                "image codes come from convolutions, which look at nothing: there are --png, --html, --open, --json and "
                "--checkpoint; leave the other options out"
            )
        look_at_codes(given, Wanted(checkpoint=checkpoint, png=png, html=html, opened=open_page, as_json=as_json))
        return
    *runs, text = given
    if not runs:
        raise ConfigError(f"look needs a run and a text; only '{text}' is given: jumok look RUN TEXT")
    if png is not None:
        api.check_can_draw(png)
    if png is not None and len(runs) > 1:
        raise ConfigError(f"--png draws one run, {len(runs)} are given; --html shows them side by side")
    names = api.name_runs(runs) if len(runs) > 1 else [Path(runs[0]).resolve().name]
    named = dict(zip(names, runs, strict=True))
    predictors = [api.predictor_class_of(run) for run in runs]
    if len({one.explains for one in predictors} - {""}) > 1:
        raise ConfigError("the runs are of different kinds (text, images, series); look at one kind at a time")
    if len({one.verb for one in predictors}) > 1:
        verbs = ", ".join(dict.fromkeys(one.verb for one in predictors))
        raise ConfigError(f"the runs are for different commands ({verbs}); look at one kind at a time")
    wanted = Wanted(
        kind=kind,
        layer=layer,
        head=head,
        checkpoint=checkpoint,
        png=png,
        html=html,
        opened=open_page,
        as_json=as_json,
        matrices=matrices or None,
    )
    if image is not None and predictors[0].explains != "drawing":
        raise ConfigError(f"--image {image} is for runs that draw; leave it out")
    if predictors[0].explains == "series":
        if to or decoding or importance or words is not None or matrices:
            raise ConfigError(
                "--to, --importance, --words, --matrices and the options of decoding are for text; of a table there are --at, "
                "--series, --step and --target"
            )
        look_at_forecast(named, text, wanted, Window(at, series, step, target or ""))
        return
    if at or series or step > 1:
        raise ConfigError("--at, --series and --step are for runs that forecast; leave them out")
    if predictors[0].explains == "image":
        if to or target is not None or decoding or importance or words is not None:
            raise ConfigError("--to, --target, --importance, --words and the options of decoding are for text")
        look_at_image(named, text, wanted)
        return
    asked = api.Look(to, target, decoding, importance, details=wanted.page)
    if predictors[0].explains == "drawing":
        if matrices or importance:
            raise ConfigError("--matrices and --importance are for texts and captions; leave them out")
        look_at_drawing(named, text, wanted, asked, image=image, words=words)
        return
    if predictors[0].explains == "caption":
        if matrices:
            raise ConfigError("--matrices is for the page of a text or a classified image; leave it out")
        look_at_caption(named, text, wanted, asked, words=words)
    else:
        look_at_text(named, text, wanted, asked, words=words)
