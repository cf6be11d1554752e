"""Options that change decoding: made from DecodingConfig, by its names, types, bounds and descriptions."""

import json

import pytest
from cli.conftest import jumok
from typer.main import get_command

from jumok.cli import decoding_options
from jumok.cli.decoding_options import decoding_parameters
from jumok.cli.main import app
from jumok.config import DecodingConfig

TAKEN = {
    "translate": set(DecodingConfig.model_fields) - {"stop", "guidance"},
    "draw": {"temperature", "top_k", "top_p", "guidance", "seed", "batch_size"},
    "generate": {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "stop", "seed", "max_length"},
    "evaluate": {"beam", "length_penalty", "shortlist", "guidance", "temperature", "top_k", "top_p", "seed"},
    "compare": {"beam"},
    "look": {"beam", "max_length", "temperature", "top_k", "top_p", "guidance", "seed"},
}


@pytest.mark.parametrize("command", TAKEN)
def test_a_command_takes_fields_by_their_names(command):
    options = {option.name: option for option in get_command(app).commands[command].params}
    assert set(options) & set(DecodingConfig.model_fields) == TAKEN[command]
    for name in TAKEN[command]:
        assert options[name].opts == [f"--{name.replace('_', '-')}"]


def test_every_field_is_described_and_the_help_says_so():
    for option in decoding_parameters(()):
        description = DecodingConfig.model_fields[option.name].description
        assert description, option.name
        assert option.help.lower().startswith(description.lower())


def test_a_field_that_is_added_becomes_an_option(monkeypatch):
    class Wider(DecodingConfig):
        diversity: float = DecodingConfig.model_fields["coverage_penalty"]

    monkeypatch.setattr("jumok.config.DecodingConfig", Wider)
    assert "--diversity" in [option.opts[0] for option in decoding_parameters(())]
    assert [option.name for option in decoding_parameters(("beam", "seed"))] == ["beam", "seed"]
    assert "stop" not in [option.name for option in decoding_parameters((), ("stop",))]


def test_what_is_not_given_changes_nothing_and_zero_is_given(copy_run):
    plain = json.loads(jumok("evaluate", copy_run, "--json").out)["copy"]["decoding"]
    zero = json.loads(jumok("evaluate", copy_run, "--json", "--length-penalty", 0).out)["copy"]["decoding"]
    assert zero == plain | {"length_penalty": 0.0}
    assert not decoding_options._was_given(None)
    assert decoding_options._was_given(0)


def test_bounds_and_types_are_told(copy_run):
    done = jumok("translate", copy_run, "a", "--beam", 0)
    assert done.code == 2
    assert "Invalid value for '--beam'" in done.err
    done = jumok("translate", copy_run, "a", "--coverage-penalty", -1)
    assert done == (2, "", "jumok: decoding.coverage_penalty = -1.0: must be at least 0.0\n")
    done = jumok("translate", copy_run, "a", "--top-k", "many")
    assert done.code == 2
    assert "Invalid value for '--top-k'" in done.err


def test_options_that_only_generate_had_work_for_translation_too(copy_run):
    hot = ["--sample", "--temperature", 5, "--seed", 2]
    assert jumok("translate", copy_run, "a b c", *hot, "--min-p", 0.99).out == "a b c\n"
    done = jumok("translate", copy_run, "a b a b", "--repetition-penalty", 0.5)
    assert done == (2, "", "jumok: decoding.repetition_penalty = 0.5: must be at least 1.0\n")
