"""`jumok look RUN --film`: how attention grew while the run was trained, in the terminal or as a page."""

from pathlib import Path
from typing import TYPE_CHECKING

from jumok.cli.display import print_table, say, standard_console
from jumok.cli.lines import one_line
from jumok.cli.look_page import save_page
from jumok.texts import localized_word

if TYPE_CHECKING:
    from jumok.api import Film

APART = {"forecast": "steps apart", "patches": "patches apart", "variables": "variables apart"}  # by who looks


def look_at_film(
    run: str, *, html: Path | None, opened: bool, words: bool | None, layer: int | None, head: int | None
) -> None:
    """Show the film of a run: as a page on request; otherwise one line per frame, and the last alignment."""
    from jumok import api

    film = api.open_film(run)
    if html is not None or opened:
        page = api.make_film_page(film, name=Path(run).resolve().name, words=words)
        save_page(page, html, opened=opened)
        return
    _tell(film, layer=layer, head=head)


def _tell(film: "Film", *, layer: int | None, head: int | None) -> None:
    from rich.table import Table

    from jumok import api

    console, last = standard_console(), film.frames[-1].shots[0]
    forecasts = last.answer_is == "forecast"
    reference = localized_word("what came" if forecasts else "reference")
    console.print(f"{one_line(last.source)}\n{reference}: {one_line(last.reference)}\n", soft_wrap=True)
    tells_apart = bool(last.image) or forecasts
    measured = (
        "words apart" if last.image else APART.get(last.sides[0], "steps apart") if forecasts else "on the end token"
    )
    table = Table("step", film.score, "spread", measured, box=None, pad_edge=False)
    for column in table.columns:
        column.justify = "right"
    if not last.drawing:
        table.add_column(last.answer_is)
    for frame in film.frames:
        shot, scores = frame.shots[0], film.scores.get(frame.step, {})
        score = _rounded(scores[film.score]) if film.score in scores else "–"
        figure = f"{shot.apart:.2f}" if tells_apart else f"{shot.on_end:.1%}"
        answer = [] if last.drawing else [one_line(shot.translation)]
        table.add_row(f"{frame.step:,}", score, f"{shot.entropy:.2f}", figure, *answer)
    print_table(table)
    found: api.Alignment | api.WordHeat = api.alignment_of(last.record, layer=layer, head=head)
    if last.image:
        found = api.word_heat_of(last.record, layer=layer, head=head, pixels=last.pixels, caption=last.reference)
    if last.drawing and console.is_terminal:
        console.print(api.ImageBlocks([last.drawn], [""], console.height))
    say(f"\nstep {film.frames[-1].step:,}, {found.title}\n")
    console.print(found.draw(colour=console.is_terminal), soft_wrap=True)
    if (count := len(film.frames[-1].shots)) > 1 and last.image:
        say(f"This is the first of {count} images; --open or --html FILE shows all.")
    elif count > 1 and forecasts:
        say(f"This is the first of {count} windows; --open or --html FILE shows all.")
    elif count > 1:
        say(f"This is the first of {count} sentences; --open or --html FILE shows all.")


def _rounded(score: float) -> str:
    return f"{score:.3f}" if abs(score) < 1 else f"{score:.2f}"
