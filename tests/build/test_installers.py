"""pipx and uv install netlab for an account with an empty home, and it measures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from installs import FIGURE, around, done

pytestmark = [pytest.mark.night, pytest.mark.needs("cc", "installers", "index")]

WAYS = {
    "pipx": (("pipx", "install"), "checkout"),
    "uv": (("uv", "tool", "install", "--no-python-downloads"), "sdist"),
}


@pytest.mark.parametrize("way", WAYS)
def test_pipx_and_uv_install_a_command_that_measures_this_machine(
    way: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    (module, *words), fixture_name = WAYS[way]
    surroundings = around(tmp_path, PIP_NO_COMPILE="1")
    for name in list(surroundings):  # where this account keeps its own
        if name.startswith(("PIPX_", "UV_", "XDG_")):
            del surroundings[name]
    command = [sys.executable, "-m", module, *words, "--python", sys.executable]
    done([*command, str(request.getfixturevalue(fixture_name))], cwd=tmp_path, env=surroundings)
    netlab = tmp_path / "home" / ".local" / "bin" / "netlab"
    output = done([str(netlab), "measure", "--seconds", "0.5"], cwd=tmp_path, env=surroundings)
    assert FIGURE.search(output), output
    help_text = done([str(netlab), "run", "--help"], cwd=tmp_path, env=surroundings)
    assert "MATRIX" in help_text
