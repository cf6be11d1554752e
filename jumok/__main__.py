"""`python -m jumok`: the same as the command `jumok`."""

from jumok.cli.main import main

main()
