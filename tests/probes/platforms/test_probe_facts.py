"""Facts that the probe reads from its system equal what the system says of itself."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import ROOT
from netprobe_agents import asked, build

PROTOCOL = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")

pytestmark = [pytest.mark.needs("cc"), pytest.mark.lab]


def section(title: str) -> str:
    """The protocol's text from a heading to the next one of the same depth or less."""
    heading = re.search(rf"^(#+) {re.escape(title)}$", PROTOCOL, re.MULTILINE)
    assert heading, title
    remainder = PROTOCOL[heading.end() :]
    end = re.search(rf"^#{{1,{len(heading[1])}}} ", remainder, re.MULTILINE)
    return remainder[: end.start()] if end else remainder


@pytest.fixture(scope="module")
def probe() -> Path:
    return build()


def facts(probe: Path, *words: str, within: tuple[str, ...] = ()) -> dict[str, object]:
    record = asked(*within, probe, "facts", *words)
    assert record.pop("type") == "facts"
    record.pop("id")
    return record


def test_host_facts_equal_the_values_that_the_operating_system_reports(probe: Path) -> None:
    answer = facts(probe)
    assert set(answer) <= set(re.findall(r"`([a-z][a-z0-9_]+)`", section("`facts`")))
    proc = Path("/proc/sys")
    assert answer["kernel"] == (proc / "kernel/osrelease").read_text().strip()
    assert answer["boot_id"] == (proc / "kernel/random/boot_id").read_text().strip()
    congestion = (proc / "net/ipv4/tcp_congestion_control").read_text().strip()
    assert answer["congestion"] == congestion
    assert congestion in str(answer["congestion_available"]).split(",")
    assert answer["tcp_rmem"] == " ".join((proc / "net/ipv4/tcp_rmem").read_text().split())
    assert "lo=127.0.0.1/8" in str(answer["addresses"]).split(",")
    assert not [key for key in answer if key.startswith(("route_", "interface_"))]


def test_facts_of_the_loopback_route_are_those_of_the_loopback_interface(probe: Path) -> None:
    for address in ("127.0.0.1", "::1"):
        answer = facts(probe, f"to={address}")
        assert answer["route_interface"] == "lo"
        assert answer["interface_mtu_bytes"] == int(Path("/sys/class/net/lo/mtu").read_text())
        assert answer["route_source"] == address
        assert "route_gateway" not in answer
        assert "interface_speed_bit_per_s" not in answer


@pytest.fixture
def own_network() -> Iterator[str]:
    """A network namespace of our own with one cable, both ends in it."""
    name = f"probe-units-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        for words in (
            "link add cable type veth peer name other",
            "addr add 10.9.8.1/24 dev cable",
            "link set cable mtu 1400 txqueuelen 77 up",
            "link set other up",
            "route add 10.20.0.0/16 via 10.9.8.2",
        ):
            subprocess.run(["ip", "-n", name, *words.split()], check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.mark.needs("root")
def test_facts_name_the_interface_and_the_gateway_towards_a_peer(
    probe: Path, own_network: str
) -> None:
    within = ("ip", "netns", "exec", own_network)
    answer = facts(probe, "to=10.20.30.40", within=within)
    assert answer["route_interface"] == "cable"
    assert answer["route_source"] == "10.9.8.1"
    assert answer["route_gateway"] == "10.9.8.2"
    assert answer["interface_mtu_bytes"] == 1400
    assert answer["interface_queue_length"] == 77
    assert answer["interface_driver"] == "veth"
    assert answer["interface_duplex"] == "full"
    assert answer["interface_carrier"] == 1
    assert "cable=10.9.8.1/24" in str(answer["addresses"]).split(",")
    nowhere = facts(probe, "to=10.30.0.1", within=within)
    assert not [key for key in nowhere if key.startswith(("route_", "interface_"))]
