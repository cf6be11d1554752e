"""What people read, in their language: English stands in the code, other languages in catalogues of gettext's format.

English text of Python or JavaScript → ko/*.po → the same in Korean; a text without an entry stays English
"""

import os
from functools import cache
from pathlib import Path

LANGUAGES = {"en": "English", "ko": "한국어"}
CATALOGUES = ("help", "messages", "page")  # the files of a language: the command line's help, what is printed, pages


def language() -> str:
    """Return the language to speak: that of JUMOK_LANG, else of the system's locale, else English."""
    for variable in ("JUMOK_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable):
            spoken = value.replace("-", "_").split("_")[0].split(".")[0].lower()
            return spoken if spoken in LANGUAGES else "en"
    return "en"


@cache
def catalogue(spoken: str, name: str) -> dict[str, str]:
    """Return the texts of one file of a language, by their English."""
    if spoken == "en":
        return {}
    from babel.messages.pofile import read_po

    with (Path(__file__).parent / spoken / f"{name}.po").open("rb") as file:
        entries = read_po(file, locale=spoken)
    return {str(entry.id): str(entry.string) for entry in entries if entry.id and entry.string}
