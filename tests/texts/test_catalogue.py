"""Both languages are complete: every text of the code has Korean, every entry has its text, slots agree."""

import ast
import re
import sys
from pathlib import Path

import pytest

from jumok.texts import CATALOGUES, catalogue

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import texts  # noqa: E402

HANGUL = re.compile("[가-힣]")
SLOTS = re.compile(r"\{(\d+)(?::word)?\}")
SAME_IN_BOTH = {"BLEU", "chrF", "0 = layers"}  # nothing in them to translate


@pytest.fixture(scope="module")
def found():
    return texts.texts_of_the_code()


def entries():
    return [(name, *entry) for name in ("help", "messages") for entry in catalogue("ko", name).items()]


def test_every_text_of_the_code_has_korean(found):
    known = {english for name in CATALOGUES for english in catalogue("ko", name)}
    missing = [f"{text.file}:{text.line}: {text.english!r}" for text in found if text.english not in known]
    assert not missing, "python tools/texts.py prints these, ready to be pasted:\n" + "\n".join(missing)


def test_every_entry_is_used(found):
    known = {text.english for text in found}
    unused = [f"{name}.po: {english!r}" for name, english, _ in entries() if english not in known]
    assert not unused, "\n".join(unused)


@pytest.mark.parametrize("name", CATALOGUES)
def test_catalogues_are_what_gettext_reads(name):
    """Our quick reader agrees with babel: the files are gettext's, and no entry stands twice."""
    from babel.messages.pofile import read_po

    path = ROOT / "jumok" / "texts" / "ko" / f"{name}.po"
    with path.open("rb") as file:
        read = {
            str(entry.id): str(entry.string) for entry in read_po(file, locale="ko", abort_invalid=True) if entry.id
        }
    assert catalogue("ko", name) == read
    assert path.read_text(encoding="utf-8").count("\nmsgid ") == len(read) + 1, "an entry stands twice"


def test_translations_hold_the_values_of_their_english():
    """All of them, but for a plural's s, which Korean does without ("column{0}")."""
    for name, english, korean in entries():
        wanted, shown = set(SLOTS.findall(english)), set(SLOTS.findall(korean))
        plural = set(re.findall(r"[a-z]\{(\d+)\}(?=\W|$)", english))
        assert shown <= wanted, f"{name}.po: {english!r}"
        assert wanted - shown <= plural, f"{name}.po: {english!r}"


def test_translations_are_korean():
    for name, english, korean in entries():
        assert HANGUL.search(korean) or english in SAME_IN_BOTH or not re.search("[a-z]{2}", SLOTS.sub("", korean)), (
            f"{name}.po: {english!r}"
        )


def test_options_and_code_are_the_same_in_both():
    """What is to be typed stays: --options, keys of recipes, commands' names."""
    typed = re.compile(r"--[a-z0-9-]+|\b(?:training|model|data|tokenizer|decoding)\.[a-z_]+|JUMOK_[A-Z_]+")
    for name, english, korean in entries():
        assert set(typed.findall(english)) == set(typed.findall(korean)), f"{name}.po: {english!r}"


def test_no_text_is_in_two_catalogues():
    help_texts, messages = catalogue("ko", "help"), catalogue("ko", "messages")
    assert not help_texts.keys() & messages.keys()


def sources_of_commands():
    return sorted((ROOT / "jumok" / "cli").glob("*.py"))


@pytest.mark.parametrize("path", sources_of_commands(), ids=lambda path: path.stem)
def test_commands_say_what_they_say_through_the_catalogue(path, found):
    """typer.echo is for results and JSON; a literal of ours goes through say()."""
    known = {text.english for text in found}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    reader = texts.Reader(tree, command_line=True)
    said = [
        f"{path.name}:{node.lineno}: use say() for {template!r}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("typer.echo", "print")
        for argument in node.args
        if isinstance(argument, ast.Constant | ast.JoinedStr | ast.BinOp)
        for template in reader.templates(argument)
        if template.strip() in known
    ]
    assert not said, "\n".join(said)


def test_a_text_without_korean_is_noticed(tmp_path):
    """The tool itself: f-strings become templates, choices are spelt out, what nobody reads is left out."""
    source = '''
def f(name, many):
    """Return nothing that anybody sees."""
    assert name, "an assertion of ours"
    word = "lines are" if many else "line is"
    note = f"{many} {word} empty"
    name = f"the {name} itself"
    if many:
        raise TypeError("not for people at all")
    raise ConfigError(f"there is no {name!r}; {many:,} {'words' if many else 'word'} " + ("or more" if many else "or less"))
'''
    reader = texts.Reader(ast.parse(source), command_line=False)
    assert {english for english, _, _ in reader.texts()} == {
        "{0} lines are empty",
        "{0} line is empty",
        "the {0} itself",
        "there is no {0}; {1} words or more",
        "there is no {0}; {1} words or less",
        "there is no {0}; {1} word or more",
        "there is no {0}; {1} word or less",
    }
