"""Cells of a plan that the systems of its hosts cannot run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner
from folders import MATRICES
from hypothesis import given
from hypothesis import strategies as st

from netlab.cli import cli
from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
from netlab.experiment.cells import Cell, demands, lacking
from netlab.experiment.hosts import Host
from netlab.experiment.matrix import expand
from netlab.kinds import Stream, ThroughputSearch
from netlab.runner.places import HostAnswer, asking, beyond_hosts
from netlab.runner.planning import plan_of, plan_text

LAB_REPORT = MATRICES / "lab-report.yaml"
LINUX = frozenset(
    [
        "stream",
        "round_trip",
        "connect",
        "tcp",
        "udp",
        "ipv4",
        "ipv6",
        "congestion",
        "dont-fragment",
        "dscp",
        "interface",
        "pin",
        "no-checksum",
        "stamps",
    ]
)
WINDOWS = LINUX - {"congestion", "dscp", "no-checksum", "stamps", "ipv6"}

INVENTORY = """\
hosts:
  a: {os: L, local: true, addresses: {test: [198.51.100.1, "2001:db8::1"]}}
  b: {os: W, ssh: nobody@192.0.2.1, addresses: {test: [198.51.100.2, "2001:db8::2"]}}
"""
MATRIX = """\
title: beyond
link: {rate: 100Mbit, mtu: 1500}
pairings: [PAIRING]
tests:
  - {test: TEST, protocol: PROTOCOL, SIZE MORE}
"""


def one_cell(
    folder: Path, more: str, *, test: str = "stream", protocol: str = "TCP", pairing: str = "WL"
) -> Cell:
    text = MATRIX.replace("PAIRING", pairing).replace("TEST", test).replace("PROTOCOL", protocol)
    size = "" if test == "payload_search" else "message_size: 64,"
    (folder / "matrix.yaml").write_text(text.replace("SIZE", size).replace("MORE", more))
    (cell,) = expand(load_matrix(folder / "matrix.yaml"))
    return cell


@pytest.mark.parametrize(
    ("more", "test", "protocol", "pairing", "beyond"),
    [
        ("dscp: 46", "stream", "TCP", "WL", ["server dscp"]),
        ("dscp: 46", "stream", "TCP", "LW", ["client dscp"]),
        ("ip: 6", "stream", "UDP", "WL", ["server ipv6"]),
        ("congestion: cubic", "stream", "TCP", "LW", ["client congestion"]),
        ("congestion: cubic", "stream", "TCP", "WL", []),
        ("congestion: cubic, direction: both", "stream", "TCP", "WL", ["server congestion"]),
        ("server_cpu: 0, client_cpu: 0, interface: eth0", "stream", "TCP", "WL", []),
        ("udp_checksum: false", "round_trip", "UDP", "WL", ["server no-checksum"]),
        ("stack_time: true", "round_trip", "UDP", "WL", ["server stamps"]),
        ("stack_time: true", "round_trip", "UDP", "LW", []),
        ("dont_fragment: true", "stream", "UDP", "WL", []),
        ("", "connect", "TCP", "WL", []),
        ("", "payload_search", "UDP", "WL", []),
    ],
)
def test_a_cell_is_impossible_if_an_end_lacks_the_capability_of_a_setting(
    tmp_path: Path, more: str, test: str, protocol: str, pairing: str, beyond: list[str]
) -> None:
    cell = one_cell(tmp_path, more, test=test, protocol=protocol, pairing=pairing)
    server = WINDOWS if pairing[0] == "W" else LINUX
    client = WINDOWS if pairing[1] == "W" else LINUX
    gaps = lacking(cell, {"server": server, "client": client})
    assert [f"{demand.role} {demand.capability}" for demand in gaps] == beyond
    assert lacking(cell, {"server": LINUX, "client": LINUX}) == ()


@pytest.mark.parametrize(
    ("test", "protocol", "kind"),
    [
        ("stream", "TCP", "stream"),
        ("round_trip", "UDP", "round_trip"),
        ("connect", "TCP", "connect"),
        ("payload_search", "TCP", "stream"),
        ("payload_search", "UDP", "round_trip"),
    ],
)
def test_a_cell_is_impossible_if_the_probe_lacks_its_kind_of_test(
    tmp_path: Path, test: str, protocol: str, kind: str
) -> None:
    cell = one_cell(tmp_path, "", test=test, protocol=protocol)
    older = LINUX - {kind}
    (demand,) = lacking(cell, {"server": older, "client": LINUX})
    assert (demand.role, demand.capability, demand.needed) == ("server", kind, True)


def told(**host_words: frozenset[str] | None) -> Mapping[str, HostAnswer]:
    return {name: HostAnswer(words) for name, words in host_words.items()}


def test_the_plan_names_cells_that_a_host_cannot_run_and_counts_no_trial_for_them(
    tmp_path: Path,
) -> None:
    one_cell(tmp_path, "dscp: 46, duration: 10s")
    (tmp_path / "hosts.yaml").write_text(INVENTORY)
    files = tmp_path / "matrix.yaml", tmp_path / "hosts.yaml"
    plan = plan_of(*files, ask=lambda _hosts: told(a=LINUX, b=WINDOWS))
    assert list(plan.refused.values()) == ["not supported by b (dscp: 46)"]
    assert plan.trials == 0
    assert "Cannot be measured: 1 cell of WL: not supported by b (dscp: 46)" in plan_text(plan)
    assert plan_of(*files).refused == {}


def test_an_optional_capability_that_a_host_lacks_is_a_note_of_the_plan(tmp_path: Path) -> None:
    cell = one_cell(tmp_path, "congestion: cubic", pairing="LW")
    (tmp_path / "hosts.yaml").write_text(INVENTORY)
    inventory = load_inventory(tmp_path / "hosts.yaml")
    refusals, notes = beyond_hosts([cell], inventory, told(a=LINUX, b=WINDOWS))
    assert refusals == {}
    assert notes == ("b is measured without `congestion: cubic`: its system does not support it",)


def test_the_plan_reports_a_host_that_is_away_and_keeps_its_cells(tmp_path: Path) -> None:
    one_cell(tmp_path, "dscp: 46")
    (tmp_path / "hosts.yaml").write_text(INVENTORY)

    def ask(hosts: Sequence[Host]) -> Mapping[str, HostAnswer]:
        assert [host.name for host in hosts] == ["a", "b"]
        return {
            "a": HostAnswer(LINUX),
            "b": HostAnswer(None, "b: 192.0.2.1 port 22 does not answer"),
        }

    plan = plan_of(tmp_path / "matrix.yaml", tmp_path / "hosts.yaml", ask=ask)
    assert plan.refused == {}
    assert plan.notes == ("capabilities unknown: b: 192.0.2.1 port 22 does not answer",)
    assert "Note: capabilities unknown: b: 192.0.2.1" in plan_text(plan, with_cells=False)


@pytest.mark.lab
def test_the_plan_command_asks_the_hosts_unless_the_option_offline_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The local agent answers; port 9 of the loopback does not."""
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "hosts.yaml"
    file.write_text(INVENTORY.replace("nobody@192.0.2.1", "nobody@127.0.0.1:9"))
    one_cell(tmp_path, "dscp: 46")
    hosts = load_inventory(file).hosts
    answers = asking(lambda _sentence: None)(hosts)
    assert answers["a"].fault is None
    assert answers["a"].capabilities is not None and "stream" in answers["a"].capabilities
    assert answers["b"].capabilities is None and "127.0.0.1" in (answers["b"].fault or "")
    words = ["plan", str(tmp_path / "matrix.yaml"), "--hosts", str(file)]
    assert "capabilities unknown: b" in CliRunner().invoke(cli, words).output
    assert "capabilities unknown" not in CliRunner().invoke(cli, [*words, "--offline"]).output


@given(st.frozensets(st.sampled_from(sorted(LINUX))))
def test_a_cell_lacks_exactly_the_demanded_capabilities_that_the_host_does_not_offer(
    server_words: frozenset[str],
) -> None:
    cell = next(iter(expand(load_matrix(LAB_REPORT))))
    gaps = lacking(cell, {"server": server_words, "client": None})
    demand_words = {demand.capability for demand in demands(cell) if demand.role == "server"}
    assert {demand.capability for demand in gaps} == demand_words - server_words


BOTH = {"client", "server"}


@pytest.mark.parametrize(
    ("direction", "sender", "receiver"),
    [
        ("client-sends", {"client"}, {"server"}),
        ("server-sends", {"server"}, {"client"}),
        ("both", BOTH, BOTH),
    ],
)
def test_send_and_receive_methods_are_demanded_of_the_sending_and_receiving_ends(
    direction: Literal["client-sends", "server-sends", "both"],
    sender: set[str],
    receiver: set[str],
) -> None:
    for setup in (
        Stream(
            protocol="UDP",
            message_bytes=64,
            send_method="packet",
            receive="polling",
            direction=direction,
        ),
        ThroughputSearch(
            frame_bytes=64, send_method="packet", receive="polling", direction=direction
        ),
    ):
        test = "stream" if isinstance(setup, Stream) else "throughput_search"
        cell_demands = demands(Cell(pairing="LL", test=test, setup=setup))
        assert {demand.role for demand in cell_demands if demand.capability == "packet"} == sender
        assert {demand.role for demand in cell_demands if demand.capability == "poll"} == receiver
