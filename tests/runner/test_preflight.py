"""The check before a run: real agents in two network namespaces, and facts of all kinds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from advanced_clock import passing_clock
from wires import OTHER_SERVER, TEST_CLIENT, TEST_SERVER, Wires, ip, wired

from netlab.errors import HostError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host
from netlab.experiment.schedule import Trial
from netlab.kinds import RoundTrip, Stream
from netlab.measurement.ends import Ends
from netlab.measurement.engines import measure
from netlab.remote import programs
from netlab.remote.agent import Agent
from netlab.remote.programs import RouteEnd
from netlab.runner.preflight import common_addresses, preflight
from netlab.runner.survey import survey
from netlab.runner.trial_faults import no_way
from netlab.trial.record import Status

__all__ = ["passing_clock"]

pytestmark = pytest.mark.beside


@pytest.fixture
def wires(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wires]:
    with wired(monkeypatch) as wiring:
        yield wiring


def test_the_path_check_reports_nothing_about_an_open_path(wires: Wires) -> None:
    verdict = preflight(*wires.both(port_range=(5001, 5001)))
    assert (verdict.blocked, verdict.warnings) == ((), ())


def test_udp_that_is_blocked_towards_the_server_is_reported_with_its_direction(
    wires: Wires,
) -> None:
    server, client = wires.both()
    wires.drop(wires.server, "ipproto", "udp")
    verdict = preflight(server, client)
    (blockage,) = verdict.blocked
    assert (blockage.protocol, blockage.server_address) == ("UDP", TEST_SERVER)
    assert blockage.sentence.startswith("UDP right→left is blocked (")
    assert blockage.sentence.endswith(", TCP passes")
    assert "open the ports in the firewall of left" in blockage.sentence
    assert verdict.warnings == (blockage.sentence,)


def test_udp_that_is_blocked_towards_the_client_is_reported_with_its_direction(
    wires: Wires,
) -> None:
    server, client = wires.both()
    wires.drop(wires.client, "ipproto", "udp")
    (blockage,) = preflight(server, client).blocked
    assert blockage.sentence.startswith(
        f"UDP left→right is blocked ({TEST_CLIENT} receives nothing"
    )
    assert blockage.sentence.endswith(", TCP passes")


def test_blocked_tcp_is_reported_and_udp_passes(wires: Wires) -> None:
    server, client = wires.both()
    wires.drop(wires.server, "ipproto", "tcp")
    (blockage,) = preflight(server, client).blocked
    assert blockage.sentence.startswith("TCP right→left is blocked")
    assert blockage.sentence.endswith(", UDP passes")
    assert f" to {TEST_SERVER});" in blockage.sentence, "without the port of the moment"


def test_a_blocked_range_of_ports_is_reported_with_its_numbers(wires: Wires) -> None:
    wires.drop(wires.server, "ipproto", "tcp")
    (blockage,) = preflight(*wires.both(port_range=(5001, 5003))).blocked
    assert f" to {TEST_SERVER}, ports 5001-5003);" in blockage.sentence


def test_a_path_on_which_nothing_passes_is_blocked_for_tcp_and_udp(wires: Wires) -> None:
    server, client = wires.both()
    wires.drop(wires.server)
    verdict = preflight(server, client)
    assert [blockage.protocol for blockage in verdict.blocked] == ["TCP", "UDP"]
    assert not any("passes" in blockage.sentence for blockage in verdict.blocked)


@pytest.mark.parametrize("system", ["W", "L"])
def test_the_server_connects_if_only_connections_from_the_server_pass(
    wires: Wires, system: str
) -> None:
    server, client = wires.both(os=system, port_range=(5001, 5001))
    wires.drop(wires.server, "ipproto", "tcp", "dport", "5001")
    verdict = preflight(server, client)
    assert verdict.blocked == ()
    (reversal,) = verdict.turned
    assert reversal.sentence.startswith("TCP right→left is blocked, and left→right passes")
    assert "decides about TCP timestamps" in reversal.sentence
    assert verdict.warnings == (reversal.sentence,)
    ways = verdict.connected_by(TEST_SERVER, TEST_CLIENT)
    assert ways == {"TCP": "server", "UDP": "client"}
    assert verdict.connected_by("fd13::1", "fd13::2") == {"TCP": "client", "UDP": "client"}
    for direction in ("client-sends", "server-sends"):
        cell = Cell(
            pairing="WL",
            test="stream",
            setup=Stream(protocol="TCP", message_bytes=1448, duration_s=0.1, direction=direction),
        )
        ends = Ends(server=server, client=client, same_host=False, connected_by=ways)
        record = measure(Trial(cell=cell, number=1), ends, 1, lambda _cell, _rate: None)
        assert record.status is Status.OK, record.detail
        assert record.values["connected_by"] == "server"


def test_a_cell_whose_client_must_connect_is_blocked_if_only_the_server_can_connect(
    wires: Wires,
) -> None:
    server, client = wires.both(port_range=(5001, 5001))
    wires.drop(wires.server, "ipproto", "udp", "dport", "5001")
    verdict = preflight(server, client)
    assert verdict.blocked == ()
    for opening in (None, "client-connects", "server-connects"):
        for setup in (
            Stream(protocol="UDP", message_bytes=64, opening=opening),
            Stream(protocol="TCP", message_bytes=64, opening=opening),
            RoundTrip(protocol="UDP", message_bytes=64, opening=opening),
        ):
            cell = Cell(pairing="LL", test="stream", setup=setup)
            why = no_way(cell, (server.host, client.host), verdict)
            if (setup.protocol, opening) != ("UDP", "client-connects"):
                assert why is None
                continue
            assert why is not None
            assert (why.status, why.reason) == (Status.FAILED, "path-blocked")
            assert why.detail == (
                "UDP right→left is blocked, and left→right passes, "
                "and `open: client-connects` is set"
            )


def test_a_blocked_windows_host_is_reported_with_the_firewall_rule_that_helps(wires: Wires) -> None:
    server, client = wires.both(os="W")
    server.probe_path = r"C:\Users\lab\.cache\netlab\netprobe-00.exe"
    wires.drop(wires.server, "ipproto", "udp")
    (blockage,) = preflight(server, client).blocked
    rule = "netsh advfirewall firewall add rule name=netlab dir=in action=allow"
    assert f'{rule} program="{server.probe_path}"' in blockage.sentence
    assert blockage.sentence.endswith(", TCP passes")


def test_a_route_over_another_network_than_the_test_network_is_refused(wires: Wires) -> None:
    server, client = wires.both()
    ip("-n", wires.client, "route", "add", TEST_SERVER, "via", OTHER_SERVER, "dev", "other0")
    with pytest.raises(HostError, match=r"^right reaches left .* over other0 from .*not over the"):
        preflight(server, client)


def test_a_test_address_that_the_host_does_not_have_is_refused(wires: Wires) -> None:
    server = wires.agent("left", wires.server, "10.213.1.9")
    client = wires.agent("right", wires.client, TEST_CLIENT)
    with pytest.raises(HostError, match=r"^left does not have its test address 10\.213\.1\.9; it"):
        preflight(server, client)


def test_a_missing_ipv6_address_stops_only_cells_over_ipv6(wires: Wires) -> None:
    server, client = wires.both()
    ip("-n", wires.server, "address", "delete", "fd13::1/64", "dev", "test0")
    verdict = preflight(server, client)
    assert verdict.blocked == ()
    (missing_address,) = verdict.missing
    assert (missing_address.server_address, missing_address.client_address) == (
        "fd13::1",
        "fd13::2",
    )
    assert missing_address.sentence.startswith(
        "left does not have its test address fd13::1; it has "
    )
    assert verdict.warnings == (missing_address.sentence,)
    reasons = {}
    for version in (4, 6):
        setup = Stream(protocol="UDP", message_bytes=64, ip_version=version)
        cell = Cell(pairing="LL", test="stream", setup=setup)
        reasons[version] = no_way(cell, (server.host, client.host), verdict)
    assert reasons[4] is None
    assert reasons[6] is not None
    assert (reasons[6].status, reasons[6].reason) == (Status.FAILED, "address-not-available")


def test_netlab_hosts_shows_the_interface_of_each_test_address(
    wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    inspection = wires.inspected(monkeypatch, TEST_SERVER, "fd13::1")
    assert inspection.unfit == ()
    lines = dict(inspection.lines)
    assert lines["address test, IPv4"].startswith(f"{TEST_SERVER}, test0, 10 Gbit/s")
    assert lines["address test, IPv4"].endswith("MTU 1500")
    assert lines["address test, IPv6"].startswith("fd13::1, test0")
    assert lines["kernel"] == os.uname().release
    assert lines["architecture"].startswith(os.uname().machine)


def test_a_host_whose_cable_is_unplugged_is_not_fit(
    wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    ip("-n", wires.client, "link", "set", "test0", "down")
    inspection = wires.inspected(monkeypatch, TEST_SERVER)
    (sentence,) = inspection.unfit
    assert "test0" in sentence
    assert "cable" in sentence or "is test0 up?" in sentence


def test_a_host_whose_interface_is_down_is_not_fit(
    wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    ip("-n", wires.server, "link", "set", "test0", "down")
    inspection = wires.inspected(monkeypatch, TEST_SERVER)
    (sentence,) = inspection.unfit
    assert sentence.startswith(f"{TEST_SERVER} (test) is on test0, and packets to its network")


# Without any host


class Facts:
    """A fake agent with facts only; the last facts are returned again."""

    def __init__(self, *answers: Mapping[str, Any]) -> None:
        self.host = Host(name="left", os="L", local=True, addresses={"test": ("10.0.0.1",)})
        self._said = list(answers)

    def facts(self, to: str | None = None) -> Mapping[str, Any]:
        return self._said.pop(0) if len(self._said) > 1 else self._said[0]


def counters(sent_packets: int, received_packets: int) -> dict[str, Any]:
    return {
        "route_interface": "eth1",
        "interface_sent_packets": sent_packets,
        "interface_received_packets": received_packets,
    }


def check_counters(*answers: Mapping[str, Any]) -> str | None:
    baseline, *answers_after = answers
    end = RouteEnd("left", "10.0.0.1", cast(Agent, Facts(*answers_after)))
    return programs.check_counters(end, end, baseline, {"TCP", "UDP"})


@pytest.mark.agents
@pytest.mark.usefixtures("passing_clock")
def test_interface_counters_that_rise_late_prove_the_path() -> None:
    assert check_counters(counters(5, 5), counters(5, 5), counters(9, 8), counters(9, 9)) is None


@pytest.mark.agents
@pytest.mark.usefixtures("passing_clock")
def test_interface_counters_that_do_not_rise_refuse_the_path() -> None:
    with pytest.raises(
        HostError, match="eth1 counted 4 packets out and 1 in: the traffic does not use"
    ):
        check_counters(counters(5, 5), counters(9, 6))


def test_a_path_without_interface_counters_is_a_warning() -> None:
    warning = check_counters({"route_interface": "eth1"}, {})
    assert warning is not None
    assert warning.startswith("left does not report by which interface packets to 10.0.0.1 leave")


@pytest.mark.parametrize("proved", [True, False])
def test_an_address_without_a_known_route_is_a_warning_unless_its_interface_is_proved(
    wires: Wires, monkeypatch: pytest.MonkeyPatch, proved: bool
) -> None:
    """As wine: it reports the route over IPv4, and none over IPv6."""
    server, client = wires.both()
    original = server.facts

    def facts(to: str | None = None) -> Mapping[str, Any]:
        answer = original(to=to)
        if to is None or (proved and ":" not in to):
            return answer
        return {name: value for name, value in answer.items() if "addresses" in name}

    monkeypatch.setattr(server, "facts", facts)
    warnings = preflight(server, client).warnings
    assert len(warnings) == (0 if proved else 2)
    assert all("left does not report by which interface" in warning for warning in warnings)


def test_addresses_of_two_hosts_are_paired_by_network_and_ip_version() -> None:
    left = Host(name="l", os="L", addresses={"a": ("10.0.0.1", "fd00::1"), "b": ("10.1.0.1",)})
    right = Host(name="r", os="L", addresses={"a": ("10.0.0.2",), "b": ("10.1.0.2",)})
    assert common_addresses(left, right) == (("10.0.0.1", "10.0.0.2"), ("10.1.0.1", "10.1.0.2"))
    six = Host(name="s", os="L", addresses={"a": ("fd00::3",)})
    assert common_addresses(left, six) == (("fd00::1", "fd00::3"),)
    with pytest.raises(HostError, match="r and s have no test addresses in the same network"):
        common_addresses(right, six)


@pytest.mark.lab
def test_two_hosts_on_this_machine_are_fit(tmp_path: Path) -> None:
    file = tmp_path / "hosts.yaml"
    file.write_text("hosts: {a: {local: true}, b: {local: true}}\n")
    hosts_survey = survey(file)
    assert [host.unfit for host in hosts_survey.hosts] == [(), ()]
    hosts_survey.raise_for_unfit()
    assert "a: fit" in hosts_survey.as_text()
    assert "127.0.0.1, lo" in hosts_survey.as_text()


@pytest.mark.lab
def test_a_host_that_is_away_is_not_fit_and_other_hosts_are_still_listed(tmp_path: Path) -> None:
    file = tmp_path / "hosts.yaml"
    file.write_text(
        "hosts:\n  a: {local: true}\n"
        "  b: {os: L, ssh: 'x@127.0.0.1:1', address: 10.0.0.1}\n"
        "  c: {local: true, address: 203.0.113.7}\n"
    )
    hosts_survey = survey(file)
    a, b, c = hosts_survey.hosts
    assert a.unfit == ()
    assert b.unfit == ("b: nobody listens at 127.0.0.1 port 1 (connection refused)",)
    assert c.unfit[0].startswith("it does not have the test address 203.0.113.7 (test); it has lo")
    with pytest.raises(HostError, match="not fit for measuring: b, c"):
        hosts_survey.raise_for_unfit()
