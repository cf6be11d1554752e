"""What files and models say is shown on a terminal, and never obeyed by it: control characters are spelt out."""

import io
import sys

import pytest
from rich.table import Table
from rich.text import Text

from jumok.cli.display import LocalConsole, PlainConsole, echo, print_table, say
from jumok.cli.lines import output
from jumok.texts import visible

ODD = "[red]a\x1b[2Jb\x07\x9b31m\x7f\r"
SHOWN = "[red]a\\x1b[2Jb\\x07\\x9b31m\\x7f\\x0d"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_control_characters_are_spelt_out_and_everything_else_stays():
    assert visible(ODD) == SHOWN
    for text in ("", "한국어 \U0001f600 é\t“x”\n", "e\u0301 \u200d \u00a0"):
        assert visible(text) == text


@pytest.mark.parametrize("console", [PlainConsole, LocalConsole])
def test_a_console_keeps_its_own_colours_and_obeys_no_text(console):
    file = io.StringIO()
    shown = console(file=file, force_terminal=True, markup=False, highlight=False, width=200, color_system="standard")
    shown.print(ODD, soft_wrap=True)
    shown.print(Text(ODD, style="bold red"), soft_wrap=True)
    with shown.status("working"):
        pass
    text = file.getvalue()
    assert text.count(SHOWN.replace("\\x07", "").replace("\\x0d", "")) + text.count(SHOWN) == 2, ascii(text)
    assert "\x1b[1;31m" in text
    assert "\x1b[2J" not in text


def test_tables_and_messages(capsys):
    table = Table(ODD)
    table.add_row(ODD)
    print_table(table, as_given=[ODD])
    say(ODD)
    found = capsys.readouterr().out
    assert "\x1b" not in found
    assert found.count(SHOWN) == 3


def test_what_a_model_writes_is_exact_in_a_pipe_and_harmless_on_a_terminal(monkeypatch, capsys):
    with output(None) as write:
        write(ODD)
    assert capsys.readouterr().out == ODD
    monkeypatch.setattr(sys, "stdout", Terminal())
    echo(ODD, nl=False)
    with output(None) as write:
        write(ODD)
    assert sys.stdout.getvalue() == SHOWN * 2
