"""The command line in Korean: by --lang, by JUMOK_LANG, by the system's locale; English where Hangul cannot be shown."""

import json
import os
import re
import subprocess
import sys

import pytest
from cli.conftest import EACH
from typer.testing import CliRunner

from jumok.cli.main import app, take_language
from jumok.errors import ConfigError
from jumok.texts import language

HANGUL = re.compile("[가-힣]")


def jumok(*arguments, check=None, program=("-m", "jumok"), **variables):
    """Run the command line in a process of its own, with these variables of the environment only."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "JUMOK_LANG"))}
    done = subprocess.run(
        [sys.executable, *program, *arguments],
        capture_output=True,
        env=kept | {"TERMINAL_WIDTH": "200"} | variables,
        check=False,
    )
    if check is not None:
        assert done.returncode == check, done.stderr
    return done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    ("variables", "spoken"),
    [
        ({}, "en"),
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "C"}, "en"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"JUMOK_LANG": "ko", "LC_ALL": "C"}, "ko"),
        ({"JUMOK_LANG": "", "LANG": "ko"}, "ko"),
    ],
)
def test_the_language_is_that_of_the_first_variable_that_is_set(variables, spoken, monkeypatch):
    for name in ("JUMOK_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert language() == spoken


@pytest.mark.parametrize(
    "arguments",
    [
        ["--lang", "ko", "train", "x"],
        ["train", "--lang", "ko", "x"],
        ["train", "x", "--lang", "ko"],
        ["--lang=ko", "train", "x"],
    ],
)
def test_lang_stands_before_or_after_the_command(arguments, monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "en")
    assert take_language(arguments) == ["train", "x"]
    assert language() == "ko"


def test_lang_behind_two_dashes_is_a_text(monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "en")
    assert take_language(["translate", "ko-en", "--", "--lang", "ko"]) == ["translate", "ko-en", "--", "--lang", "ko"]
    assert language() == "en"


@pytest.mark.parametrize("arguments", [["--lang", "fr"], ["train", "--lang"], ["--lang="]])
def test_a_language_that_is_not_there_is_refused(arguments, monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "en")
    with pytest.raises(ConfigError, match="must be en or ko"):
        take_language(arguments)


COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_has_no_english_sentence(command, monkeypatch):
    """Every cell of the help has Hangul, or nothing but what is typed: names, types, examples."""
    monkeypatch.setenv("JUMOK_LANG", "ko")
    monkeypatch.setenv("COLUMNS", "400")
    shown = CliRunner().invoke(app, [*command.split(), "--help"], prog_name="jumok")
    assert shown.exit_code == 0, shown.output
    for line in shown.output.splitlines():
        for cell in re.split(r" {2,}|│", re.sub(r"\[[^\]]*\]|<[^>]*>|[╭╰─╮╯]", " ", line)):
            cell = re.sub(r"jumok .*|--?[\w-]+|\S*[/.|]\S*", "", cell)
            assert HANGUL.search(cell) or not re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", cell), line


def test_help_by_the_systems_locale_and_back():
    korean, _ = jumok("--help", LANG="ko_KR.UTF-8", check=0)
    english, _ = jumok("--help", LANG="ko_KR.UTF-8", JUMOK_LANG="en", check=0)
    assert "사용법: jumok" in korean
    assert "모델을 학습합니다" in korean
    assert not HANGUL.search(english.replace("년", "").replace("월", "").replace("일", ""))


ERRORS = [
    (["train", "dates-transfomer"], "jumok: 'dates-transfomer': 그런 파일도 내장 레시피도 없습니다. 혹시 'dates-transformer'인가요?"),
    (["train"], "인자 'recipe'이(가) 필요합니다."),
    (["trian", "x"], "'trian': 그런 명령은 없습니다. 혹시 'train'인가요?"),
    (["train", "dates-transformer", "--set", "model.wdith=3"], "[model]에 'wdith' 키는 없습니다. 혹시 'width'인가요?"),
    (["train", "dates-transformer", "--set", "training.steps=0"], "training.steps = 0: 1 이상이어야 합니다."),
    (["evaluate", "ko-en", "--beam", "x"], "'--beam'의 값이 잘못되었습니다: 정수여야 합니다."),
    (["translate", "nosuch", "hi"], "내장 모델: ko-en, en-ko, fr-en, en-fr, shapes-captioner, shapes"),
]  # fmt: skip


@pytest.fixture(scope="module")
def told():
    """Return what each wrong command tells in Korean: one process for all of them, which reads torch once."""
    commands = json.dumps([arguments for arguments, _ in ERRORS])
    return jumok(commands, program=["-c", EACH], LANG="ko_KR.UTF-8", check=0)[1].split("exit 2\n")


@pytest.mark.parametrize("number", range(len(ERRORS)), ids=[" ".join(arguments) for arguments, _ in ERRORS])
def test_errors_in_korean(number, told):
    assert len(told) == len(ERRORS) + 1
    assert ERRORS[number][1] in " ".join(re.sub("[│╭╰─╮╯]", " ", told[number]).split())


def test_a_terminal_without_hangul_gets_english():
    for variables in ({"JUMOK_LANG": "ko", "PYTHONIOENCODING": "ascii"}, {"LANG": "C", "LC_ALL": "C"}):
        _, told = jumok("trian", "x", check=2, **variables)
        assert "No such command 'trian'" in told


def test_json_is_the_same_in_every_language():
    english, _ = jumok("list", "--json", JUMOK_LANG="en", check=0)
    korean, _ = jumok("list", "--json", JUMOK_LANG="ko", check=0)
    assert json.loads(english) == json.loads(korean)


def test_exceptions_in_python_are_english(monkeypatch):
    from jumok.config.recipe import find_recipe

    monkeypatch.setenv("JUMOK_LANG", "ko")
    with pytest.raises(ConfigError, match="neither a file nor a shipped recipe"):
        find_recipe("nosuch")


def test_english_reads_no_catalogue():
    code = "import sys, jumok.cli.main, jumok.texts as t; t.localized('there is no such thing'); print('jumok.texts.templates' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | {"JUMOK_LANG": "en"}
    )
    assert done.stdout.strip() == "False"
