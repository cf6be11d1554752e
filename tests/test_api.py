"""The one door: every name is there, and opening it costs nothing."""

import subprocess
import sys

import pytest

from jumok import api


@pytest.mark.parametrize("name", api.__all__)
def test_a_public_name_is_there(name):
    assert getattr(api, name) is not None


def test_an_unknown_name_is_told():
    with pytest.raises(AttributeError, match=r"module 'jumok\.api' has no attribute 'trian'"):
        _ = api.trian


def test_importing_it_brings_in_nothing_heavy():
    """Completion of names and `jumok fetch` come through here, too."""
    code = (
        "import sys; from jumok import api; api.known_runs(); api.fetch\n"
        "print([name for name in ('torch', 'pydantic', 'tokenizers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "jumok", "trian"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Usage: jumok [OPTIONS] COMMAND" in done.stderr
    assert "No such command 'trian'" in done.stderr
