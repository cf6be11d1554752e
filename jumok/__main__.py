"""`python -m jumok …`: the same command as `jumok …`."""

from jumok.cli.main import main

if __name__ == "__main__":
    main()
