"""What people read, in their language: English stands in the code, other languages in catalogues of gettext's format.

English text of Python or JavaScript → ko/*.po → the same in Korean; a text without an entry stays English

Exceptions, JSON and logs hold English. What shows a text to a person, the command line above all, passes it through
`localized` first, so that a finished sentence ("there is no model 'gtp'; did you mean 'gpt'?") is found among the
catalogue's templates ("there is no {0} '{1}'; {2}") by `templates.py`.
"""

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumok.texts.templates import Phrasebook

LANGUAGES = {"en": "English", "ko": "한국어"}
CATALOGUES = ("help", "messages", "page")  # the files of a language: the command line's help, what is printed, pages
ENTRY = re.compile(r'^msgid ((?:".*"\n)+)msgstr ((?:".*"(?:\n|\Z))+)', re.MULTILINE)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
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
    # Read here and not by babel, which takes ten times as long: 3 ms for 1,000 entries, at every start.
    entries = ENTRY.findall((Path(__file__).parent / spoken / f"{name}.po").read_text(encoding="utf-8"))
    return {
        english: text for english, text in ((_joined(one), _joined(two)) for one, two in entries) if english and text
    }


def _joined(lines: str) -> str:
    """Return the text of one or more lines of a .po file, each in quotes with escapes, as JSON has them."""
    return "".join(map(json.loads, lines.splitlines()))


def localized(text: str, spoken: str = "") -> str:
    """Return a finished English text in the language that is spoken; what no catalogue has stays English."""
    spoken = spoken or language()
    return text if spoken == "en" else phrasebook(spoken).render(text)


def visible(text: str) -> str:
    r"""Return text with its control characters spelt out, "\\x1b": a terminal would obey them. Lines and tabs stay."""
    return text if text.isprintable() else CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def localized_word(word: str) -> str:
    """Return a word of a heading or a label in the language that is spoken."""
    spoken = language()
    return word if spoken == "en" else phrasebook(spoken).word(word)


@cache
def phrasebook(spoken: str) -> "Phrasebook":
    """Return what the command line says in a language, its help included."""
    from jumok.texts.templates import Phrasebook

    return Phrasebook(catalogue(spoken, "help") | catalogue(spoken, "messages"))
