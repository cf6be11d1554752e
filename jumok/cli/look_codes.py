"""`jumok look` at image codes: an image, what its codes tell of it, and the codes as a map."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.display import error_console, say, standard_console, warn_on
from jumok.cli.look_page import Wanted, save_page
from jumok.json_text import json_text

if TYPE_CHECKING:
    from jumok.api import RecodedImage


def look_at_codes(given: Sequence[str], wanted: Wanted) -> None:
    """Show what the codes of runs tell of images; several of them on one page or PNG."""
    from jumok import api
    from jumok.errors import ConfigError

    count = next((place for place, one in enumerate(given) if place and not (Path(one) / "run.json").exists()), 0)
    folders, images = given[:count], given[count:]
    if not folders:
        raise ConfigError(f"look at image codes needs an image, too: jumok look {given[0]} image.png")
    if wanted.png is not None:
        api.check_can_draw(wanted.png)
    names = api.name_runs(folders) if len(folders) > 1 else [Path(folders[0]).resolve().name]
    options = api.LoadOptions(checkpoint=wanted.checkpoint)
    coders = [api.load_for(api.CodePredictor, folder, options) for folder in folders]
    views = []
    for name, coder in zip(names, coders, strict=True):
        files = coder.find(images)
        found = coder.recode(files, warn=warn_on(error_console())) if len(files) > 1 else [coder.recode(files[0])]
        for file, recoded in zip(files, found, strict=True):
            if recoded is None:
                continue
            show(recoded, str(file), wanted, name=name if len(coders) > 1 else "")
            views.append(recoded.view(name))
    if not views:
        raise typer.Exit(1)  # each was told
    if wanted.png is not None:
        api.save_codes(views, wanted.png)
        say(f"image, reconstruction and codes: {wanted.png}")
    if wanted.page:
        save_page(api.make_codes_page(views), wanted.html, opened=wanted.opened)


def show(recoded: "RecodedImage", file: str, wanted: Wanted, *, name: str = "") -> None:
    """Show one image and its codes in the terminal, or print its numbers; name the run where there are several."""
    if wanted.as_json:
        told = ({"run": name} if name else {}) | recoded.to_dict() | {"image": file}
        typer.echo(json_text(told))
        return
    console = standard_console()
    begin = f"[{name}] {file}" if name else file
    say(
        f"{begin}: PSNR {recoded.psnr:.1f} dB, SSIM {recoded.ssim:.3f}, {recoded.different} different codes of "
        f"{recoded.count:,}"
    )
    if wanted.png is not None or wanted.page:
        return
    if console.is_terminal:
        console.print(recoded.draw(lines=console.height), soft_wrap=True)
    else:  # blocks without colour would tell nothing
        wide = len(str(recoded.count - 1))
        for row in recoded.codes.tolist():
            typer.echo(" ".join(f"{code:{wide}d}" for code in row))
