"""Help and usage errors in the language that is spoken: what typer shows, passed through the catalogue first.

main.py registers commands in English → localize(app) → `jumok … --help` in Korean, where Korean is spoken
"""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from jumok.texts import language, localized, phrasebook

UsageError: Any = typer.BadParameter.__base__  # what is wrong with the command line as it was typed


class LocalHelp:
    """Before a command or a group: its help in the language that is spoken."""

    def get_usage(self, ctx: Any) -> str:
        """Return the line that says how the command is typed."""
        usage: str = super().get_usage(ctx)  # type: ignore[misc]
        return localized(usage)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help."""
        if language() != "en":
            _translate(self, ctx)
            local_words()
        super().format_help(ctx, formatter)  # type: ignore[misc]


def localize(app: typer.Typer) -> None:
    """Let every command of an app, and the app itself, show their help in the language that is spoken."""
    app.info.cls = type("LocalGroup", (LocalHelp, TyperGroup), {})
    for command in app.registered_commands:
        command.cls = type("LocalCommand", (LocalHelp, command.cls or TyperCommand), {})


def show_usage_error(error: Any) -> None:
    """Show what is wrong with the command line as typer does, in the language that is spoken."""
    from typer import rich_utils

    local_words()
    message = error.format_message()  # empty where help was shown instead
    rich_utils.rich_format_error(UsageError(localized(message), ctx=error.ctx) if message else error)


def local_words() -> None:
    """Put typer's own words (Options, [required], …) into the language that is spoken."""
    from typer import rich_utils

    if language() != "en":
        known = phrasebook(language()).texts
        for name, value in list(vars(rich_utils).items()):
            if isinstance(value, str) and value in known:
                setattr(rich_utils, name, known[value])


def _translate(command: Any, ctx: Any) -> None:
    """Translate the help of a command, of its parameters, and of the commands of a group."""
    command.help = _paragraphs(command.help)
    for parameter in command.get_params(ctx):
        if getattr(parameter, "help", None):
            parameter.help = _paragraphs(parameter.help)
            panel = getattr(parameter, "rich_help_panel", None)
            parameter.rich_help_panel = localized(panel) if panel else None
    for inner in getattr(command, "commands", {}).values():
        inner.help = _paragraphs(inner.help)


def _paragraphs(text: str | None) -> str:
    """Return help with each paragraph translated, its lines joined."""
    return "\n\n".join(localized(" ".join(part.split())) for part in (text or "").split("\n\n"))
