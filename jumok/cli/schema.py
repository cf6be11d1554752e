"""`jumok schema`: the JSON schema of recipes, for editors."""

from typing import Any

import typer

from jumok.texts import localized


def schema() -> None:
    """Print the JSON schema of recipes, for completion and checks in an editor.

    Example: [bold]jumok schema > recipe.schema.json[/bold]
    """
    from jumok import api
    from jumok.json_text import json_text

    typer.echo(json_text(described(api.recipe_schema()), indent=1))


def described(part: Any) -> Any:
    """Return a part of the schema with its descriptions, which editors show, in the language that is spoken."""
    if isinstance(part, dict):
        return {
            name: localized(inner) if name == "description" and isinstance(inner, str) else described(inner)
            for name, inner in part.items()
        }
    return [described(inner) for inner in part] if isinstance(part, list) else part
