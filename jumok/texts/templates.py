"""Finished sentences found among templates: "there is no model 'gtp'" is "there is no {0} '{1}'" with two values.

text → the template with the most letters of its own that fits → its translation, with the values put in

Values that are sentences themselves are translated in the same way; a value in quotes, or of one word, is a name and
stays as it is, unless the translation asks for the word: "{1:word}".
"""

import re
from collections.abc import Mapping
from functools import cached_property

SLOT = re.compile(r"\{(\d+)(:word)?\}")
WEAK = 7  # letters: a template with fewer that begins with a slot ("{0} of {1}") is for names and numbers only
QUANTITY = re.compile(r"\d\S*( \S+){1,3}")  # 3 min 20 s
COUNTED = re.compile(r"([\d.,]+%?) (.+)")  # 3 empty lines
SEPARATORS = ("\n\n", "\n", ". ", "; ", " · ", ", ")  # between texts that are put together, widest first


class Template:
    """An English text with numbered slots, and its translation."""

    def __init__(self, english: str, translation: str) -> None:
        parts = SLOT.split(english)  # literal, number, None, literal, number, None, … literal
        self.literals, self.numbers = parts[::3], parts[1::3]
        self.letters = sum(letter.isalpha() for literal in self.literals for letter in literal)
        self.weak = self.letters < WEAK and not self.literals[0]
        self.counts = not self.literals[0] and len(self.numbers) == len(" ".join(self.literals).split()) == 1
        self.strength = self.letters, sum(map(len, self.literals))
        self.translation = translation

    def match(self, text: str) -> dict[str, str] | None:
        """Return what stands in each slot, or None where the text is not of this template."""
        first, *between, last = self.literals
        end = len(text) - len(last)
        if not text.startswith(first) or not text.endswith(last) or len(first) > end:
            return None
        values, place = [], len(first)
        for literal in between:
            found = text.find(literal, place, end)  # the first place: if any choice of places fits, this one does
            if found < 0:
                return None
            values.append(text[place:found])
            place = found + len(literal)
        values.append(text[place:end])
        if any("\n" in value and not self._stands_alone(slot) for slot, value in enumerate(values)):
            return None
        if self.counts and not values[0][:1].isdigit():  # 3 words
            return None
        if not first and ": " in values[0]:  # what stands before a colon is looked at by itself
            return None
        if len(first.strip()) > 3 and any(first in value for value in values):  # several texts of this template
            return None
        return dict(zip(self.numbers, values, strict=True))

    def _stands_alone(self, slot: int) -> bool:
        """Return whether a slot fills its lines, so that it may hold several."""
        before, after = self.literals[slot], self.literals[slot + 1]
        return (not before or before.rstrip(" ").endswith("\n")) and (not after or after.startswith("\n"))

    @cached_property
    def quoted(self) -> set[str]:
        """The numbers of the slots that stand between quotes."""
        around = zip(self.literals, self.numbers, self.literals[1:], strict=False)
        return {number for before, number, after in around if before[-1:] in ("'", '"') and after[:1] == before[-1:]}


class Phrasebook:
    """All texts of a language."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)
        templates = (Template(*pair) for pair in self.texts.items() if SLOT.search(pair[0]))
        self.templates = sorted(templates, key=lambda template: template.strength, reverse=True)

    def word(self, word: str) -> str:
        """Return a label or a heading translated as a whole, or as it is."""
        return self.texts.get(word) or self.render(word)

    def render(self, text: str) -> str:
        """Return a text translated: as a whole, else part by part; what is not known stays."""
        bare = text.strip()
        if not bare or (" " not in bare and bare not in self.texts):
            return text
        found = self._whole(bare) or self._parts(bare)
        return text if found is None else text.replace(bare, found, 1)

    def _whole(self, text: str) -> str | None:
        """Return the translation of a text that one entry stands for."""
        if found := self.texts.get(text) or self._sentence(text):
            return found
        for template in self.templates:
            values = template.match(text)
            if values is not None and not (template.weak and any(map(self._is_prose, values.values()))):
                return self._fill(template, values)
        return self._counted(text)

    def _is_prose(self, value: str) -> bool:
        """Return whether a value is neither a name nor a number with its unit nor an entry."""
        if " " not in value or value[0] in "'\"":
            return False
        if any(separator in value for separator in (": ", *SEPARATORS)):
            return True
        return not QUANTITY.fullmatch(value) and self._whole(value) is None

    def _fill(self, template: Template, values: Mapping[str, str]) -> str:
        def value(slot: re.Match[str]) -> str:
            given = values[slot[1]]
            if slot[1] in template.quoted:
                return given
            if slot[2]:
                return self.word(given)
            return self.render(given) if " " in given.strip() else given

        return SLOT.sub(value, template.translation)

    def _sentence(self, text: str) -> str | None:
        """Return the translation of an entry that was made a sentence: a capital before it, a full stop behind it."""
        stop = "." if text.endswith(".") else ""
        found = self.texts.get(text[0].lower() + text[1:].removesuffix("."))
        return f"{found}{stop}" if found else None

    def _counted(self, text: str) -> str | None:
        """Return the translation of an entry with a number before it: the number stands behind it."""
        found = COUNTED.fullmatch(text)
        entry = found and self.texts.get(found[2])
        return f"{entry} {found[1]}" if found and entry else None

    def _parts(self, text: str) -> str | None:
        """Return a text that several entries stand for, put together by a separator."""
        head, colon, rest = text.partition(": ")  # a file's name, say, before a message about it
        is_head = colon and "\n" not in text and not any(separator in head for separator in SEPARATORS)
        if is_head and (found := self.render(rest)) != rest:
            return f"{self.render(head)}: {found}"
        for separator in SEPARATORS:
            if separator in text:
                stop = "." if separator == ". " else ""
                *before, last = text.split(separator)
                parts = [*(part + stop for part in before), last]
                shown = [self.render(part) for part in parts]
                if shown != parts:
                    return separator.removeprefix(stop).join(shown)
        return None
