"""README's own lab, typed as it stands: on two hosts that its own command makes."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from folders import MATRICES
from labs import typed
from readme import TEXT, blocks, commands

from netlab import lab, load
from netlab.config.inventory import load_inventory

NAME = f"e{os.getpid()}"
LOGINS = {"lab@192.0.2.11": "linux-a", "lab@192.0.2.12": "linux-b"}
"""README's hosts → as ssh knows them here."""
TEST_ADDRESSES = {"198.51.100.1": "linux-a", "198.51.100.2": "linux-b"}
SHAPES = {
    "measure": r" over TCP: [\d.]+ [GM]bit/s[\s\S]*more: netlab report",
    "init": r"lab\.yaml: 2 hosts; first\.yaml: a first matrix",
    "hosts": r"red[\s\S]*blue",
    "plan": r"416 cells",
    "run": r"cells? fills? the wire[\s\S]*of wire[\s\S]*report: run\d/index\.html",
    "resume": r"report: run1/index\.html",
    "status": r"104 of 416 trials done: \d+ ok",
    "report": r"report: run1/index\.html",
    "compare": r"cannot tell",
    "check": r"78 met",
}
"""Command → what its output has to have."""
SHORT = {"measure": ("--seconds", "1"), "run": ("--set", "duration=300ms")}
"""What a test lays over a command, so that 104 cells of 10 s do not take 20 minutes."""
EXPECTED = """
expect:
  - throughput: {at_least: 1 % of the ceiling}
    when: {pairing: LL, message_size: [64, 576, 1500]}
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.LabState]:
    """The lab that the README makes with a command in a sentence."""
    (command,) = re.findall(r"`netlab (lab up --rate 100mbit)`", TEXT)
    hosts = tmp_path_factory.mktemp("hosts") / "hosts.yaml"
    try:
        words = [*command.split(), "--name", NAME, "--hosts", str(hosts)]
        subprocess.run([sys.executable, "-m", "netlab", *words], check=True, capture_output=True)
        lab_state = lab.status(NAME)
        assert lab_state.up
        yield lab_state
    finally:
        lab.down(NAME)


@pytest.fixture
def home(two: lab.LabState, tmp_path: Path) -> Path:
    """Of a person whose ssh knows the hosts, with netlab's matrices at hand."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    (home / ".ssh" / "config").write_text(two.ssh_config.read_text())
    (home / "matrices").symlink_to(MATRICES)
    return home


def here(text: str, of: lab.LabState) -> str:
    """README's text with the lab's names and addresses in place of its own."""
    for theirs, ours in LOGINS.items():
        text = text.replace(theirs, ours)
    for theirs, host in TEST_ADDRESSES.items():
        text = text.replace(theirs, address_of(of, host))
    return text


def address_of(of: lab.LabState, host: str) -> str:
    assert of.hosts_file is not None
    return load_inventory(of.hosts_file).host(host).address(None)


def type_it(line: str, of: lab.LabState, home: Path) -> str:
    """What a line answers; it has to end well and have its shape."""
    words = shlex.split(here(line, of))[1:]
    if words[0] == "measure":
        # Without a terminal nobody can be asked which of two networks is meant.
        words += ["--to", address_of(of, words[1])]
    process = typed(home, *words, *SHORT.get(words[0], ()), timeout_s=300)
    assert process.returncode == 0, (line, process.stdout, process.stderr)
    assert re.search(SHAPES[words[0]], process.stdout), (line, process.stdout)
    return process.stdout


@pytest.mark.needs("lab")
@pytest.mark.beside  # judges texts, no figures
@pytest.mark.night
def test_every_command_of_the_readme_prints_the_documented_output(
    two: lab.LabState, home: Path
) -> None:
    lines = [line for line in commands() if line.startswith("netlab ")]
    assert {line.split()[1] for line in lines} == set(SHAPES)
    (inventory,) = (block for block in blocks("yaml") if "hosts:" in block)
    for line in lines:
        command = line.split()[1]
        if command == "hosts":
            # The reader writes the inventory now, where init has left another.
            (home / "lab.yaml").write_text(here(inventory, two))
            assert set(yaml.safe_load(inventory)["hosts"]) == {"red", "blue"}
        if command == "compare":
            (again,) = (line for line in lines if line.startswith("netlab run "))
            type_it(again.replace("--into run1", "--into run2"), two, home)
        if command == "check":
            # What is expected may be written there after the run.
            with (home / "run1" / "matrix.yaml").open("a") as matrix:
                matrix.write(EXPECTED)
        type_it(line, two, home)
    records = load(home / "run1").latest.values()
    assert len(records) == 104
    # From a small buffer Linux sends no message of 64512 bytes.
    assert {(record.status, record.reason) for record in records} - {("ok", None)} <= {
        ("impossible", "no-buffers")
    }
    subprocess.run([sys.executable, "-c", PYTHON], cwd=home, check=True)


PYTHON = """
import netlab
run = netlab.load("run1")
sentence = run.answer.verdicts[0].sentence
assert "".join(sentence.split()) in "".join(repr(run).split())
table = run.summary()
assert {"mean", "low", "high", "n"} <= set(table.columns) and len(table) > 90
assert run.plot().get_legend() is not None
assert len(run.frame) == 416
"""


def test_the_python_code_that_the_readme_names_is_part_of_its_test() -> None:
    (sentence,) = re.findall(r"\*\*Python\.\*\* [^\n]*", TEXT)
    for word in ('run = netlab.load("run1")', "run.summary()", "run.plot()", "run.frame"):
        assert f"`{word}`" in sentence
        assert word in PYTHON
