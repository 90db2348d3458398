"""Shell completion: hosts, pairings, kinds of test, cells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from netlab.cli import cli

MATRIX = """\
title: t
hosts:
  nas: {local: true}
  laptop: {local: true}
pairings: [LL, nas+laptop]
tests: [{test: stream, protocol: TCP, message_size: 64, duration: 1s}]
"""


def offered(words: list[str], prefix: str) -> list[str]:
    shell = ShellComplete(cli, {}, "netlab", "_NETLAB_COMPLETE")
    return [completion.value for completion in shell.get_completions(words, prefix)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text(MATRIX)


def test_shell_completion_offers_hosts_of_the_inventory(tmp_path: Path) -> None:
    assert offered(["measure"], "") == []
    (tmp_path / "lab.yaml").write_text(MATRIX)
    assert offered(["measure"], "") == ["nas", "laptop"]
    assert offered(["measure", "nas"], "la") == ["laptop"]
    assert offered(["measure", "--hosts", "m.yaml"], "N") == ["nas"]


def test_shell_completion_offers_pairings_tests_and_cells() -> None:
    assert offered(["run", "m.yaml", "--only"], "") == ["LL", "stream", "nas+laptop"]
    assert offered(["run", "m.yaml", "--only"], "ll,st") == ["ll,stream"]
    cells = offered(["run", "m.yaml", "--redo"], "")
    assert "failed" in cells
    assert len([word for word in cells if word.startswith("LL-stream")]) == 1


@pytest.mark.parametrize("matrix", ["none.yaml", "broken.yaml"])
def test_shell_completion_offers_nothing_for_an_unreadable_matrix(
    tmp_path: Path, matrix: str
) -> None:
    (tmp_path / "broken.yaml").write_text("tests: [")
    assert offered(["run", matrix, "--only"], "") == []


@pytest.mark.lab
def test_netlab_hosts_prints_hosts_as_json() -> None:
    outcome = CliRunner().invoke(cli, ["hosts", "m.yaml", "--json"])
    (nas, laptop) = json.loads(outcome.stdout)
    assert (nas["host"], laptop["host"]) == ("nas", "laptop")
    assert nas["fit"] is True
    assert nas["facts"]["reachable"] == "on this machine"
