"""Hosts without an agent, as a person measures with them: whole runs against an echo."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from echoes import echo

import netlab
from netlab.build import local_probe
from netlab.fitness import survey

MATRIX = """\
title: an echo
hosts:
  board: {os: X, mirror: {address: 127.0.0.1, port: %d}}
  client: {os: L, local: true}
pairings: [XL]
defaults: {count: 50, socket_buffer: auto}
tests:
  - {test: round_trip, protocol: [TCP, UDP], message_size: [64, 1000]}
  - {test: connect, message_size: 64}
  - {test: round_trip, protocol: TCP, message_size: 100, response_size: 10}
  - {test: stream, protocol: UDP, message_size: 1000, duration: 100ms}
"""


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    local_probe()


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "netlab", *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def rows(folder: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Test, protocol and message size → the row of the frame."""
    frame = netlab.load(folder).frame
    found = [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
    return {(row["test"], row["protocol"], int(row["message_bytes"])): row for row in found}


def test_round_trips_with_an_echo_are_measured_and_what_needs_an_agent_is_impossible(
    tmp_path: Path,
) -> None:
    with echo() as port:
        (tmp_path / "matrix.yaml").write_text(MATRIX % port)
        done = run(tmp_path, "run", "matrix.yaml", "--into", "out", "--no-report")
    assert done.returncode == 0, done.stderr
    found = rows(tmp_path / "out")
    refused = {("round_trip", "TCP", 100), ("stream", "UDP", 1000)}
    assert {key for key, row in found.items() if row["status"] == "impossible"} == refused
    for key, row in found.items():
        assert (row["server"], row["client"]) == ("board", "client")
        if key in refused:
            assert row["reason"] == "capability-missing"
            assert row["detail"].startswith("board echoes and runs no probe: ")
        else:
            assert (key, row["status"], row["detail"]) == (key, "ok", row["detail"])
            assert row["rtt_count"] == 50
            assert row["same_host"]
    session = netlab.load(tmp_path / "out").sessions[0]
    assert session["hosts"]["board"]["mirror"] == f"127.0.0.1 port {port}"
    assert {each["host"] for each in netlab.load(tmp_path / "out").facts} == {"client"}


def test_a_protocol_that_the_echo_does_not_answer_is_said_before_the_run(tmp_path: Path) -> None:
    with echo(tcp=False) as port:
        (tmp_path / "matrix.yaml").write_text(MATRIX % port)
        done = run(tmp_path, "run", "matrix.yaml", "--into", "out", "--no-report")
    assert done.returncode == 3
    assert f"warning: TCP: board does not echo at port {port} (connect-refused)" in done.stderr
    found = rows(tmp_path / "out")
    assert found["round_trip", "UDP", 1000]["status"] == "ok"
    blocked = found["round_trip", "TCP", 1000]
    assert (blocked["status"], blocked["reason"]) == ("failed", "path-blocked")


def test_the_cells_of_an_echo_have_their_report(tmp_path: Path) -> None:
    with echo() as port:
        (tmp_path / "matrix.yaml").write_text(MATRIX % port)
        done = run(tmp_path, "run", "matrix.yaml", "--into", "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "index.html").stat().st_size > 10_000


def test_hosts_lists_a_mirror_and_asks_it_nothing(tmp_path: Path) -> None:
    file = tmp_path / "hosts.yaml"
    file.write_text("hosts: {board: {os: X, mirror: {address: 192.0.2.9}}}")
    seen = survey(file)
    assert "board: fit" in seen.as_text()
    assert "192.0.2.9, port 7" in seen.as_text()
    assert json.loads(seen.as_json())[0]["mirror"].startswith("192.0.2.9")
    seen.raise_for_unfit()
