"""`--precision`, as every command has it that answers."""

import typer

PRECISION = typer.Option(
    "auto", "--precision", help="Of products: fp32, bf16, or auto: bf16 where model and processor do it well."
)
