"""`jumok look`: see where the model looked while it translated, or in a picture that it named."""

from pathlib import Path

import typer

from jumok.cli.display import error_console, run_folders, standard_console, warn_on


def look(
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    text: str = typer.Argument(..., help="The sentence to translate, or the picture to name."),
    target: str | None = typer.Option(None, "--target", help="Look at this translation instead of the model's own."),
    kind: str = typer.Option(
        "", "--kind", help="cross or recurrent (output looks at source: the default), encoder, decoder; window."
    ),
    layer: int | None = typer.Option(
        None, "--layer", min=1, help="One layer, counted from 1; the mean of all otherwise."
    ),
    head: int | None = typer.Option(None, "--head", min=1, help="One head, counted from 1; the mean of all otherwise."),
    beam: int | None = typer.Option(None, "--beam", min=1, help="Hypotheses kept; 1 = greedy."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    png: Path | None = typer.Option(None, "--png", help="Draw it to this file instead."),
    as_json: bool = typer.Option(False, "--json", help="Print the weights as JSON."),
) -> None:
    """Draw the attention of a translation: a line an output token, a column a source token. Of a picture: a heat map.

    Example: [bold]jumok look runs/dates-transformer "2026년 11월 15일"[/bold]

    Example: [bold]jumok look runs/multi30k-en-de "A dog runs." --layer 4 --png dog.png[/bold]

    Example: [bold]jumok look runs/cifar10-vit cat.jpg --png cat-heat.png[/bold]
    """
    import json

    import torch

    from jumok import api
    from jumok.cli.look_picture import look_at_picture
    from jumok.config import DecodingConfig
    from jumok.errors import ConfigError
    from jumok.lens.picture import check_can_draw, picture_alignment
    from jumok.lens.terminal import draw_alignment
    from jumok.predictors.picture_classifier import PictureClassifier
    from jumok.predictors.translator import Translator

    if png is not None:
        check_can_draw(png)
    predictor = api.load(run, checkpoint=checkpoint)
    if isinstance(predictor, PictureClassifier):
        if target is not None or beam is not None:
            raise ConfigError("--target and --beam are for translation")
        look_at_picture(predictor, text, kind=kind, layer=layer, head=head, png=png, as_json=as_json)
        return
    if not isinstance(predictor, Translator):
        raise ConfigError(f"{run} is a run of {predictor.run.recipe.task}; look is for translation and pictures")
    changes = {"beam": beam} if beam else {}
    options = DecodingConfig.parse(predictor.options.model_dump() | changes, "decoding")
    explanation = predictor.explain(text, target=target, options=options, warn=warn_on(error_console()))
    kinds = explanation.record.kinds
    if not kinds:
        typer.echo(f"{text}  →  {explanation.answer.text}")
        typer.echo("This model has no attention to show: all that its decoder knows of the source is one vector.")
        return
    kind = kind or next((name for name in ("cross", "recurrent") if name in kinds), kinds[0])
    maps = explanation.record.of_kind(kind)
    if not maps:
        raise ConfigError(f"--kind {kind}: this model has {', '.join(kinds)}")
    if layer is not None and layer > len(maps):
        raise ConfigError(f"--layer {layer}: there are {len(maps)}")
    chosen = [maps[layer - 1]] if layer else maps
    if head is not None and head > len(chosen[0].weights):
        raise ConfigError(f"--head {head}: there are {len(chosen[0].weights)}")
    weights = torch.stack([found.weights[head - 1] if head else found.weights.mean(dim=0) for found in chosen]).mean(
        dim=0
    )
    queries, keys = chosen[0].queries, chosen[0].keys
    if as_json:
        typer.echo(
            json.dumps(
                {"text": explanation.answer.text, "queries": queries, "keys": keys, "weights": weights.tolist()},
                ensure_ascii=False,
            )
        )
        return
    title = f"{kind} attention, {_which('layer', layer, len(maps))}, {_which('head', head, len(chosen[0].weights))}"
    if png is not None:
        picture_alignment(weights, queries, keys, png, title=title)
        typer.echo(f"{text}  →  {explanation.answer.text}\n{title}: {png}")
        return
    console = standard_console()
    console.print(f"{text}  →  {explanation.answer.text}", markup=False, soft_wrap=True)
    console.print(f"{title}\n", markup=False)
    console.print(draw_alignment(weights, queries, keys, colour=console.is_terminal), soft_wrap=True)


def _which(what: str, number: int | None, count: int) -> str:
    """Return the chosen one's name, or what the mean is of."""
    return f"{what} {number}" if number else f"mean of {count} {what}s" if count > 1 else f"its one {what}"
