"""The tutorial, typed as it stands: on two Linux hosts and a Windows host."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import ROOT
from labs import needs_a_lab, typed

from netlab import lab, load
from netlab.lab.plan import LabOptions

# It judges texts, no figures.
pytestmark = [*needs_a_lab, pytest.mark.needs("wine", "zig"), pytest.mark.beside, pytest.mark.night]

NAME = f"t{os.getpid()}"
HOSTS = {
    "lab@192.0.2.11": "linux-a",
    "lab@192.0.2.12": "linux-b",
    "lab@192.0.2.13": "windows-a",
}
"""As the tutorial calls them → as ssh knows them here."""
SHAPES: dict[str, str] = {
    "netlab measure lab@": r" over TCP: [\d.]+ [GM]bit/s[\s\S]*more: netlab",
    "netlab init": r"lab\.yaml: 3 hosts; first\.yaml: a first matrix",
    "netlab plan": r"\d+ cells x 3 trials = \d+ trials",
    "netlab run": r"limited by",
    "netlab resume": r"report: run1/index\.html",
    "netlab report": r"report: run1/index\.html",
    "netlab compare": r"\S",
}
"""Beginning of a command → what its output has to have."""


@pytest.fixture(scope="module")
def three() -> Iterator[lab.LabState]:
    try:
        yield lab.up(LabOptions(name=NAME, linux=2, windows=1, rate=100e6))
    finally:
        lab.down(NAME)


def commands() -> list[str]:
    """Every line of a block that begins with ``netlab``, but for what needs no host."""
    text = (ROOT / "docs" / "tutorial.md").read_text()
    blocks = re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("netlab ")]


def test_every_command_of_the_tutorial_prints_the_documented_output(
    three: lab.LabState, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    # The keys are known: what a person confirms is asked on a terminal, and tested there.
    (home / ".ssh" / "config").write_text(three.ssh_config.read_text())
    lines = commands()
    assert {line.split()[1] for line in lines} >= {
        *("measure", "init", "plan", "run", "resume", "report", "compare")
    }
    for line in lines:
        for theirs, ours in HOSTS.items():
            line = line.replace(theirs, ours)  # noqa: PLW2901
        words = shlex.split(line)[1:]
        if words[0] == "measure":
            # Without a terminal nobody can be asked which of two networks is meant.
            to = load_address(three, words[1])
            words += ["--to", to, "--seconds", "1"]
        process = typed(home, *words, timeout_s=300)
        assert process.returncode == 0, (line, process.stdout, process.stderr)
        (shape,) = [shape for beginning, shape in SHAPES.items() if begins(line, beginning)]
        assert re.search(shape, process.stdout), (line, process.stdout)
        if words[0] == "measure":
            assert lines_of(process.stderr + process.stdout) >= ANSWERED, (line, process)
        if words[0] == "init":
            matrix = home / "first.yaml"
            matrix.write_text(matrix.read_text().replace("2s, warm_up: 500ms", "200ms"))
    run = load(home / "run1")
    assert {record.status for record in run.records} == {"ok"}
    assert {cell.pairing for cell in run.plan.cells} == {"LL", "LW", "WL"}


def lines_of(text: str) -> set[str]:
    """The lines without their figures, what follows a colon, and the time in a folder's name."""
    plain = re.sub(r"\d[\d.]*(-\d+)*", "N", text)
    return {re.sub(r": .*", "", line) for line in plain.splitlines() if line}


def shown() -> set[str]:
    """The lines of the tutorial's answer, but for the one that says why: that is the lab's own."""
    text = (ROOT / "docs" / "tutorial.md").read_text()
    for theirs, ours in HOSTS.items():
        # A host without an inventory has the name that ssh reaches it by.
        text = text.replace(theirs.removeprefix("lab@"), ours)
    (block,) = re.findall(r"^```\n(linux-b to linux-a\n.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return {line for line in lines_of(block) if not line.startswith("linux-a+linux-b")}


ANSWERED = shown()


def begins(line: str, beginning: str) -> bool:
    for theirs, ours in HOSTS.items():
        beginning = beginning.replace(theirs, ours)
    return line.startswith(beginning.removesuffix("lab@"))


def load_address(of: lab.LabState, host: str) -> str:
    from netlab.config.inventory import load_inventory

    assert of.hosts_file is not None
    return load_inventory(of.hosts_file).host(host).address(None)
