"""Look for sentences of the phrasebook in tables of validation data, on which models are scored.

python tools/check_phrasebook.py FOLDER/koen/*.val.tsv.gz

Exits with 1 where a pair stands in a table; sentences of one side alone are told.
"""

import sys
from pathlib import Path

from jumok.data.files import read_lines

PHRASEBOOK = Path(__file__).parent.parent / "jumok" / "data" / "builtin" / "phrasebook.tsv"


def plain(text: str) -> str:
    """Return a sentence without case, marks and spaces: what differs in nothing else is the same."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def main(tables: list[str]) -> int:
    """Compare, tell, and return the exit code."""
    pairs = [line.split("\t") for line in read_lines(PHRASEBOOK)]
    given_away = 0
    for table in tables:
        rows = [{plain(cell) for cell in line.split("\t")} for line in read_lines(Path(table))]
        sentences = set().union(*rows)
        for pair in pairs:
            alike = [text for text in pair if plain(text) in sentences]
            whole = any({plain(text) for text in pair} <= row for row in rows) if len(alike) == 2 else False
            given_away += whole
            if alike:
                print(
                    f"{Path(table).name}: {'the pair' if whole else 'one side'}: {' | '.join(pair if whole else alike)}"
                )
    print(f"{len(pairs)} pairs against {len(tables)} tables: {given_away} pairs are given away")
    return int(given_away > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
