"""`jumok cache`: what is kept between runs, and clearing it."""

import typer

from jumok.cli.display import say


def cache(
    clear: bool = typer.Option(False, "--clear", help="Remove everything in the cache; it is made again when needed."),
) -> None:
    """Show where tokenised data is kept and how large it is, or clear it.

    Example: [bold]jumok cache --clear[/bold]
    """
    from jumok.cache import cache_entries, cache_root, cache_size, clear_cache
    from jumok.errors import counted

    if clear:
        freed = clear_cache()
        say(f"{freed / 1e6:,.1f} MB freed in {cache_root()}")
        return
    say(f"{cache_root()}: {counted(len(list(cache_entries())), 'entry', 'entries')}, {cache_size() / 1e6:,.1f} MB")
