"""`--precision`: every command that answers takes it, and says what it is refused for."""

import importlib
import inspect

import pytest
from cli.conftest import jumok

from jumok.cli.precision_option import PRECISION
from jumok.training import precision

COMMANDS = ("caption", "classify", "draw", "evaluate", "fill", "forecast", "generate", "translate")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_answers_takes_it(name):
    command = getattr(importlib.import_module(f"jumok.cli.{name}"), name)
    assert inspect.signature(command).parameters["precision"].default is PRECISION


@pytest.mark.parametrize(
    ("command", "run", "given"),
    [
        ("translate", "copy_run", "a b"),
        ("evaluate", "copy_run", None),
        ("generate", "gpt_run", "a"),
        ("fill", "bert_run", "a [MASK]"),
        ("classify", "classifier_run", "a b"),
        ("caption", "shapes-captioner", "any.png"),
        ("draw", "shapes-drawer", "--json"),
    ],
)
def test_what_is_no_precision_is_refused(request, command, run, given):
    run = request.getfixturevalue(run) if run.endswith("_run") else run
    done = jumok(command, run, *([] if given is None else [given]), "--precision", "bf17")
    assert done == (2, "", "jumok: --precision bf17: did you mean 'bf16'?\n")


def test_the_same_answer_in_fp32_and_where_it_can_be_had_in_bf16(copy_run, monkeypatch):
    texts = ["a b c", "z y", "q w e r t y"]
    plain = jumok("translate", copy_run, *texts, "--json")
    assert jumok("translate", copy_run, *texts, "--json", "--precision", "fp32") == plain
    monkeypatch.setattr(precision, "processor_flags", lambda: frozenset({"avx512_bf16"}))
    near = jumok("translate", copy_run, *texts, "--precision", "bf16")
    assert near == (0, "".join(f"{text}\n" for text in texts), "")
    monkeypatch.setattr(precision, "processor_flags", lambda: frozenset({"avx2"}))
    refused = jumok("translate", copy_run, *texts, "--precision", "bf16")
    assert refused.code == 2
    assert refused.err.startswith("jumok: --precision bf16: cpu has no products in bf16 here")
