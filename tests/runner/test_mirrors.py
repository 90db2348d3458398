"""Hosts without an agent: whole runs against an echo."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import echoes
import pytest
from command_line import Ended, netlab
from echoes import echo
from wires import IP, OTHER_SERVER, TEST_CLIENT, TEST_SERVER, Wires, ip, wired

from netlab.build.binaries import local_probe
from netlab.errors import HostError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Mirror
from netlab.experiment.schedule import Trial
from netlab.findings.analysis import load
from netlab.kinds import RoundTrip
from netlab.measurement.ends import Ends
from netlab.measurement.engines import measure
from netlab.remote.agent import Agent
from netlab.runner.preflight import preflight_service
from netlab.runner.survey import survey
from netlab.trial.record import Status

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


def rows(folder: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Test, protocol and message size → the row of the frame."""
    frame = load(folder).frame
    records = [
        {str(name): value for name, value in row.items()} for row in frame.to_dict("records")
    ]
    return {(row["test"], row["protocol"], int(row["message_bytes"])): row for row in records}


@dataclass(frozen=True)
class Measured:
    """A run against a mirror."""

    folder: Path
    port: int
    process: Ended


def measured_with(folder: Path, *words: str, tcp: bool = True) -> Measured:
    with echo(tcp=tcp) as port:
        (folder / "matrix.yaml").write_text(MATRIX % port)
        words = ("run", "matrix.yaml", "--into", "out", "--wait", "60", *words)
        return Measured(folder / "out", port, netlab(folder, *words))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return measured_with(tmp_path_factory.mktemp("mirror"))


@pytest.mark.lab
def test_a_run_measures_a_mirror_and_records_cells_that_need_a_probe_as_impossible(
    measured: Measured,
) -> None:
    assert measured.process.returncode == 0, measured.process.stderr
    table = rows(measured.folder)
    impossible_keys = {("round_trip", "TCP", 100), ("stream", "UDP", 1000)}
    assert {key for key, row in table.items() if row["status"] == "impossible"} == impossible_keys
    for key, row in table.items():
        assert (row["server"], row["client"]) == ("board", "client")
        if key in impossible_keys:
            assert row["reason"] == "not-as-set-up"
            assert row["detail"].startswith("board is a mirror without a probe: ")
        else:
            assert (key, row["status"], row["detail"]) == (key, "ok", row["detail"])
            assert row["rtt_count"] == 50
            assert row["same_host"]
    run = load(measured.folder)
    assert run.sessions[0]["hosts"]["board"]["mirror"] == f"127.0.0.1 port {measured.port}"
    assert {host_facts["host"] for host_facts in run.facts} == {"client"}


@pytest.mark.lab
def test_a_run_against_a_mirror_has_a_report(measured: Measured) -> None:
    assert (measured.folder / "index.html").stat().st_size > 10_000


@pytest.mark.lab
def test_a_protocol_that_the_mirror_does_not_answer_is_reported_before_the_run(
    tmp_path: Path,
) -> None:
    only = ("--no-report", "--only", "round_trip", "--patience", "0")
    silent = measured_with(tmp_path, *only, tcp=False)
    assert silent.process.returncode == 3
    sentence = f"warning: TCP: board does not echo at port {silent.port} (connect-refused)"
    assert sentence in silent.process.stderr
    table = rows(silent.folder)
    assert table["round_trip", "UDP", 1000]["status"] == "ok"
    tcp_row = table["round_trip", "TCP", 1000]
    assert (tcp_row["status"], tcp_row["reason"]) == ("failed", "path-blocked")


@pytest.mark.agents
def test_netlab_hosts_lists_a_mirror_and_asks_it_nothing(tmp_path: Path) -> None:
    file = tmp_path / "hosts.yaml"
    file.write_text("hosts: {board: {os: X, mirror: {address: 192.0.2.9}}}")
    hosts_survey = survey(file)
    assert "board: fit" in hosts_survey.as_text()
    assert "192.0.2.9, port 7" in hosts_survey.as_text()
    hosts_survey.raise_for_unfit()


# Over a cable, with routes and counters


@pytest.fixture
def wires(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wires]:
    with wired(monkeypatch) as wiring:
        yield wiring


@contextmanager
def pair_matrix(wires: Wires, address: str, port: int = 7) -> Iterator[Host]:
    """An echo at the far end of the cable, without a login."""
    command = [str(IP), "netns", "exec", wires.server, sys.executable, echoes.__file__]
    with subprocess.Popen(
        [*command, address, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        yield Host(name="board", os="X", mirror=Mirror(address, port))


def client_of(wires: Wires) -> Agent:
    return wires.agent("right", wires.client, TEST_CLIENT, "fd13::2")


@pytest.mark.parametrize(("address", "ip_version"), [(TEST_SERVER, 4), ("fd13::1", 6)])
def test_a_mirror_over_a_cable_is_measured_over_ipv4_and_ipv6(
    wires: Wires, address: str, ip_version: Any
) -> None:
    client = client_of(wires)
    setup = RoundTrip(
        protocol="UDP",
        message_bytes=64,
        count=20,
        duration_s=None,
        ip_version=ip_version,
        timeout_s=10.0,
    )
    cell = Cell(pairing="XL", test="round_trip", setup=setup)
    with pair_matrix(wires, address) as host:
        verdict = preflight_service(client, host)
        assert (verdict.blocked, verdict.warnings) == ((), ())
        ends = Ends(None, client, same_host=False, mirror=host.mirror, mirror_name=host.name)
        record = measure(Trial(cell, 1), ends, 1, lambda _cell, _rate: None)
    assert (record.status, record.detail) == (Status.OK, None)
    assert (record.values["rtt_count"], record.values["lost_messages"]) == (20, 0)
    assert record.server == "board"


def test_a_mirror_behind_a_firewall_is_reported_as_blocked_for_each_protocol(wires: Wires) -> None:
    client = client_of(wires)
    wires.drop(wires.server)
    with pair_matrix(wires, TEST_SERVER) as host:
        blockages = preflight_service(client, host).blocked
    assert {blockage.protocol for blockage in blockages} == {"TCP", "UDP"}
    for blockage in blockages:
        assert (blockage.server_address, blockage.client_address) == (TEST_SERVER, TEST_CLIENT)
        assert blockage.sentence.startswith(f"{blockage.protocol}: board does not echo at port 7 (")


def test_a_mirror_that_is_reached_over_another_network_is_refused(wires: Wires) -> None:
    client = client_of(wires)
    ip("-n", wires.client, "route", "add", TEST_SERVER, "via", OTHER_SERVER)
    with (
        pair_matrix(wires, TEST_SERVER) as host,
        pytest.raises(HostError, match=r"right reaches board .* over other0"),
    ):
        preflight_service(client, host)


def test_a_client_without_an_address_of_the_ip_version_of_a_mirror_is_reported(
    wires: Wires,
) -> None:
    client = wires.agent("right", wires.client, TEST_CLIENT)
    verdict = preflight_service(client, Host(name="b", os="X", mirror=Mirror("fd13::1", 7)))
    assert verdict.warnings == ("b: host right has no IPv6 test address (addresses:)",)
