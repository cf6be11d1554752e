"""What people read, in their language: English stands in the code, other languages in catalogues of gettext's format.

English text of Python or JavaScript → ko/*.po → the same in Korean; a text without an entry stays English

Exceptions, JSON and logs hold English. What shows a text to a person, the command line above all, passes it through
`localized` first, so that a finished sentence ("there is no model 'gtp'; did you mean 'gpt'?") is found among the
catalogue's templates ("there is no {0} '{1}'; {2}") by `templates.py`.
"""

import os
from functools import cache
from pathlib import Path

from jumok.texts.templates import Phrasebook

LANGUAGES = {"en": "English", "ko": "한국어"}
CATALOGUES = ("help", "messages", "page")  # the files of a language: the command line's help, what is printed, pages
VARIABLES = ("JUMOK_LANG", "LC_ALL", "LC_MESSAGES", "LANG")  # the first that is set says the language


def language() -> str:
    """Return the language to speak: that of JUMOK_LANG, else of the system's locale, else English."""
    for variable in VARIABLES:
        if value := os.environ.get(variable):
            spoken = value.replace("-", "_").split("_")[0].split(".")[0].lower()
            return spoken if spoken in LANGUAGES else "en"
    return "en"


def speak(spoken: str) -> None:
    """Speak a language from now on, in the processes that this one starts, too."""
    os.environ[VARIABLES[0]] = spoken


@cache
def catalogue(spoken: str, name: str) -> dict[str, str]:
    """Return the texts of one file of a language, by their English."""
    if spoken == "en":
        return {}
    from babel.messages.pofile import read_po

    with (Path(__file__).parent / spoken / f"{name}.po").open("rb") as file:
        entries = read_po(file, locale=spoken)
    return {str(entry.id): str(entry.string) for entry in entries if entry.id and entry.string}


def localized(text: str, spoken: str = "") -> str:
    """Return a finished English text in the language that is spoken; what no catalogue has stays English."""
    spoken = spoken or language()
    return text if spoken == "en" else phrasebook(spoken).render(text)


def localized_word(word: str) -> str:
    """Return a word of a heading or a label in the language that is spoken."""
    spoken = language()
    return word if spoken == "en" else phrasebook(spoken).word(word)


@cache
def phrasebook(spoken: str) -> Phrasebook:
    """Return what the command line says in a language, its help included."""
    return Phrasebook(catalogue(spoken, "help") | catalogue(spoken, "messages"))
