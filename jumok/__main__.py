"""`jumok …`, and `python -m jumok …`: the command line, which Ctrl-C stops from the first moment on."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from jumok.cli.main import main as run
    except KeyboardInterrupt:
        from jumok.texts import localized_word

        print("jumok:", localized_word("stopped"), file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
