"""How commands end that are stopped: in a word, with the exit code of what stopped them, and without a traceback."""

import errno
import os
import signal
import sys
from pathlib import Path

import pytest
from forked import Command

import jumok.__main__
from jumok.decoding.workers import LEAST


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a command; none is left after the test."""
    commands = []

    def begin(*arguments, **options):
        commands.append(Command(*arguments, folder=tmp_path, **options))
        return commands[-1]

    yield begin
    for command in commands:
        left = command.others()
        command.kill_all()
        assert not left


@pytest.fixture
def unread():
    """Return a pipe that nobody reads, as after `| head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.fixture
def many_lines(tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("Where is the station?\n" * 1000)
    return path


@pytest.fixture
def some_lines(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text("Where is the station?\n" * 2 * LEAST)
    return path


FILTERS = {
    "translate": ["translate", "en-ko", "I like you."],
    "translate, shared": ["translate", "en-ko", "--workers", "2", "--in", "FILE"],
    "sample": ["sample", "dates"],
    "list": ["list"],
    "json": ["list", "--json"],
    "recipe": ["recipe", "dates-transformer"],
    "help": ["--help"],
    "help of a command": ["train", "--help"],
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_reader_that_leaves_ends_a_command_in_silence(name, start, unread, some_lines):
    """`jumok … | head -1`: 141 is what a shell reports of `cat` in its place."""
    command = start(*(some_lines if part == "FILE" else part for part in FILTERS[name]), stdout=unread)
    assert (command.wait(), command.err) == (141, "")


def test_and_one_that_leaves_before_the_last_of_what_waits_to_be_written(start, unread, monkeypatch):
    monkeypatch.setattr("typer.echo", print)
    command = start("--version", stdout=unread)
    assert (command.wait(), command.err) == (141, "")


def test_a_reader_of_messages_that_leaves_does_so_too(start, unread):
    """`jumok … 2>&1 | head -1`: nobody is there to be told what is wrong."""
    assert start("train", "nosuch", before=lambda: os.dup2(unread, 2)).wait() == 2
    assert start("translate", "en-ko", "I like you.", stdout=unread, before=lambda: os.dup2(unread, 2)).wait() == 141


def test_a_pipe_of_ours_that_breaks_is_no_reader_that_left(start, monkeypatch):
    def break_a_pipe():
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("jumok.config.recipe.shipped_recipes", break_a_pipe)
    command = start("list")
    assert command.wait() == 1
    assert command.err.strip().endswith("BrokenPipeError: [Errno 32] Broken pipe"), "a bug shows as one"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("name", ["translate", "list", "json", "help"])
def test_a_full_disk_behind_standard_output_is_told(name, start):
    full = os.open("/dev/full", os.O_WRONLY)
    command = start(*FILTERS[name], stdout=full)
    os.close(full)
    assert command.wait() == 2
    assert command.err == "jumok: the disk of standard output is full; free some space, or write to another place\n"


def test_streams_that_the_caller_closed_are_read_and_written_by_nobody(start):
    def close():
        sys.stdin = sys.stdout = None

    assert start("list", before=close).wait() == 0
    assert start("translate", "en-ko", before=close).wait() == 0


def test_a_folder_that_was_removed_is_told(start, tmp_path):
    def leave():
        (tmp_path / "gone").mkdir()
        os.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()

    command = start("list", before=leave)
    assert command.wait() == 2
    assert command.err == "jumok: the folder that this was called in is not there any more; go to another: cd\n"


# --- Ctrl-C


def test_ctrl_c_stops_a_command_that_waits_for_its_input_in_a_word(start, monkeypatch):
    monkeypatch.setattr("jumok.cli.lines.CHUNK", 1)
    reading, writing = os.pipe()
    command = start("translate", "en-ko", stdin=reading)
    os.write(writing, b"I like you.\n")
    assert command.until(lambda: command.out)
    command.kill(signal.SIGINT)
    assert (command.wait(), command.err) == (130, "jumok: stopped\n")
    os.close(reading), os.close(writing)


def test_ctrl_c_reaches_all_processes_and_one_of_them_answers(start, many_lines):
    """A terminal signals the whole group."""
    command = start("translate", "en-ko", "--workers", "3", "--in", many_lines)
    assert command.until(lambda: len(command.others()) == 3)
    os.killpg(command.process, signal.SIGINT)
    assert (command.wait(), command.err) == (130, "jumok: stopped\n")
    assert not command.others()


def test_ctrl_c_is_heard_while_libraries_are_read(start, monkeypatch):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("jumok.api.load_for", interrupted)
    command = start("translate", "en-ko", "I like you.")
    assert (command.wait(), command.err) == (130, "jumok: stopped\n")


def test_and_while_the_command_line_itself_is_read(monkeypatch, capsys):
    class Interrupting:
        """What is asked for modules, and answers with Ctrl-C."""

        def find_spec(self, *_):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.delitem(sys.modules, "jumok.cli.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting()])
    with pytest.raises(SystemExit) as leaving:
        jumok.__main__.main()
    assert leaving.value.code == 130
    assert capsys.readouterr().err == "jumok: stopped\n"
