"""The commands of the tutorial that need no host work as it shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from folders import DOCS
from readme import commands

from netlab.findings.finding import Kind

TEXT = (DOCS / "tutorial.md").read_text("utf-8")
LINES = [
    line
    for block in re.findall(r"^```\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
COMPLETIONS = [line for line in LINES if "_NETLAB_COMPLETE" in line]
SAID = "192.0.2.12 to 192.0.2.11"
"""The first line of the block that shows an answer, and no command."""


def test_the_tutorial_installs_netlab_with_the_commands_of_the_readme() -> None:
    of_readme = [line for line in commands() if ".venv/bin" in line]
    assert [line for line in LINES if ".venv/bin" in line] == of_readme


def test_every_code_line_of_the_tutorial_is_a_command_or_part_of_the_shown_output() -> None:
    answer = LINES[LINES.index(SAID) :][:9]
    rest = [line for line in LINES if line not in answer and line not in COMPLETIONS]
    assert [
        line for line in rest if line and not line.startswith(("netlab ", "python3 ", ".venv/"))
    ] == []
    assert len(COMPLETIONS) == 3


def test_the_answer_that_the_tutorial_shows_has_the_words_of_the_code() -> None:
    (line,) = (line for line in LINES if line.startswith(f"{SAID} over"))
    figures = r"[\d.]+ Mbit/s, [\d.]+ % of the wire ceiling"
    assert re.fullmatch(rf"{SAID} over TCP: {figures}; limit: {Kind.WIRE_CEILING.limit}", line)


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    """A PATH on which ``netlab`` is this one."""
    program = tmp_path / "netlab"
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        "from netlab.__main__ import main\n"
        "sys.argv[0] = 'netlab'\n"
        "sys.exit(main())\n"
    )
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.lab
def test_netlab_prints_a_completion_script_for_bash_zsh_and_fish(
    surroundings: dict[str, str],
) -> None:
    for shell in ("bash", "zsh", "fish"):
        (line,) = (completion for completion in COMPLETIONS if f"={shell}_source" in completion)
        asks = re.search(r"_NETLAB_COMPLETE=\w+ netlab", line)
        assert asks is not None
        output = subprocess.run(
            ["sh", "-c", asks[0]], env=surroundings, capture_output=True, text=True, check=True
        ).stdout
        assert f"_NETLAB_COMPLETE={shell}_complete" in output


@pytest.mark.lab
@pytest.mark.skipif(shutil.which("bash") is None, reason="this machine has no bash")
def test_bash_completes_netlab_commands_once_the_documented_line_was_executed(
    surroundings: dict[str, str],
) -> None:
    (line,) = (completion.partition("#")[0] for completion in COMPLETIONS if "bash" in completion)
    script = f"""
{line}
COMP_WORDS=(netlab pl) COMP_CWORD=1
_netlab_completion netlab
echo "${{COMPREPLY[*]}}"
"""
    process = subprocess.run(
        ["bash", "-c", script], env=surroundings, capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == ["plan"]
