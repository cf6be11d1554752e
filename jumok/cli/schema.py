"""`jumok schema`: the JSON schema of recipes, for editors."""

import typer


def schema() -> None:
    """Print the JSON schema of recipes, for completion and checks in an editor.

    Example: [bold]jumok schema > recipe.schema.json[/bold]
    """
    import json

    from jumok import api

    typer.echo(json.dumps(api.recipe_schema(), indent=1, ensure_ascii=False))
