"""The output of a run on a terminal, and on other streams."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest
from command_line import Ended, netlab_with_screen

import netlab.runner.host_pool as room
from netlab.build.binaries import local_probe
from netlab.experiment.cells import Cell
from netlab.kinds import Stream
from netlab.measurement.ends import SoFar
from netlab.runner.host_pool import HostPool
from netlab.runner.progress import Progress

MATRIX = """\
title: on a terminal
hosts: {server: {local: true}, client: {local: true}}
pairs: {LL: [server, client]}
pairings: [LL]
repeats: 2
tests: [{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit, duration: 3s}]
"""
CELL = Cell(pairing="LL", test="stream", setup=Stream(protocol="UDP", message_bytes=1448))


@pytest.mark.parametrize("is_local", [True, False])
def test_the_throughput_of_a_running_trial_is_drawn_only_if_no_host_is_this_machine(
    monkeypatch: pytest.MonkeyPatch, is_local: bool
) -> None:
    progress = Progress()
    progress.measures_here = is_local
    figures: list[str] = []
    monkeypatch.setattr(progress, "_draw", lambda _words, now="": figures.append(now))
    progress.live(CELL, SoFar("", payload_bytes=1_000_000, elapsed_s=1.0))
    progress.live(CELL, SoFar("", payload_bytes=3_000_000, elapsed_s=2.0))
    assert figures == ([] if is_local else ["8 Mbit/s", "16 Mbit/s"])


@dataclass(frozen=True)
class Drawn:
    """A run with its standard error on a terminal."""

    columns: int
    process: Ended
    text: str
    """What was drawn, without the escapes."""

    @property
    def lines(self) -> list[str]:
        """The states of the run that were drawn."""
        return [line for line in re.split(r"[\r\n]+", self.text) if "left" in line]


@pytest.fixture(scope="module", params=[60, 120])
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Of hosts that are not taken for this machine."""
    local_probe()
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "matrix.yaml").write_text(MATRIX)
    words = ("run", "matrix.yaml", "--no-report", "--into", "out", "--json", "--wait", "60")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostPool, "measures_here", False)
        patch.setattr(room, "machine_id", lambda: "another machine")
        process, output = netlab_with_screen(folder, request.param, *words)
    assert process.returncode == 0, output
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", output).decode()
    return Drawn(request.param, process, text)


@pytest.mark.lab
def test_the_progress_bar_writes_to_the_terminal_and_not_to_standard_output(drawn: Drawn) -> None:
    *records, answer = [json.loads(line) for line in drawn.process.stdout.splitlines()]
    assert [record["status"] for record in records] == ["ok", "ok"]
    assert answer["type"] == "answer"
    assert len(answer["verdicts"]) == 1
    assert "2/2" in drawn.text
    assert '"status"' not in drawn.text


@pytest.mark.lab
def test_the_terminal_shows_the_throughput_of_the_running_trial_and_the_time_left(
    drawn: Drawn,
) -> None:
    pattern = r"0/2, \d+ s left  \d+\.?\d* [kM]bit/s"
    assert any(re.search(pattern, line) for line in drawn.lines), drawn.lines
    assert any("LL stream UDP" in line for line in drawn.lines)


@pytest.mark.lab
def test_a_wide_terminal_shows_the_last_figure_too(drawn: Drawn) -> None:
    pattern = r"1/2, .*; last: \d+\.?\d* [kM]bit/s"
    is_shown = any(re.search(pattern, line) for line in drawn.lines)
    assert is_shown or drawn.columns < 120, drawn.lines


@pytest.mark.lab
def test_no_state_of_a_run_is_wider_than_the_terminal(drawn: Drawn) -> None:
    assert all(len(line) <= drawn.columns for line in drawn.lines)
