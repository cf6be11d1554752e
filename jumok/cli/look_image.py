"""`jumok look` at an image: the verdict, and a heat map of where the model looked."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.display import standard_console

if TYPE_CHECKING:
    from jumok.predictors.image_classifier import ImageClassifier, ImageExplanation


def look_at_image(
    predictor: "ImageClassifier",
    image: str,
    *,
    kind: str,
    layer: int | None,
    head: int | None,
    png: Path | None,
    as_json: bool,
    drawn: bool = True,
) -> "ImageExplanation":
    """Show where the model looked in an image: rollout over all layers, or one layer and head.

    drawn says whether the terminal gets the drawing; the explanation is handed back for a page.
    """
    from jumok.errors import ConfigError
    from jumok.lens.heat import chosen_heat, draw_heat, save_heat, save_matrices

    [file] = predictor.find([image])
    explanation = predictor.explain(file, details=not drawn)
    ranked = ", ".join(f"{label} {share:.1%}" for label, share in list(explanation.verdict.probabilities.items())[:3])
    if not explanation.record.maps:
        typer.echo(f"{file}: {ranked}\n{explanation.note}")
        mixing = getattr(predictor.model, "mixing_weights", None)
        if mixing is not None and png is not None:
            save_matrices(
                mixing().detach(), png, title="how each place (a line) is mixed from all (columns), layer by layer"
            )
            typer.echo(f"how it mixes them: {png}")
        return explanation
    maps = explanation.record.maps
    if kind and kind not in explanation.record.kinds:
        raise ConfigError(f"--kind {kind}: this model has {', '.join(explanation.record.kinds)}")
    if layer is not None and layer > len(maps):
        raise ConfigError(f"--layer {layer}: there are {len(maps)}")
    if head is not None and layer is None:
        raise ConfigError("--head needs --layer: heads of different layers have nothing in common")
    if head is not None and layer is not None and head > len(maps[layer - 1].weights):
        raise ConfigError(f"--head {head}: there are {len(maps[layer - 1].weights)}")
    heat = explanation.heat if layer is None else chosen_heat(maps[layer - 1], head)
    assert heat is not None
    what = (
        "rollout over all layers"
        if layer is None
        else f"layer {layer}, " + (f"head {head}" if head else "mean of heads")
    )
    if as_json:
        found = {"image": str(file), "label": explanation.verdict.label, "heat": heat.tolist(), "what": what}
        typer.echo(json.dumps(found, ensure_ascii=False))
        return explanation
    typer.echo(f"{file}: {ranked}")
    if png is not None:
        save_heat(explanation.pixels, heat, png, title=f"{ranked} · {what}")
        typer.echo(f"{what}: {png}")
    elif drawn:
        console = standard_console()
        typer.echo(f"{what}\n")
        console.print(draw_heat(heat, colour=console.is_terminal), soft_wrap=True)
    return explanation
