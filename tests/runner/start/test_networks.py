"""The networks that hosts share: which are one, which comes first, and when a person is asked."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from random import Random
from typing import Any, cast

import pytest
from draws import chance, drawn, seeds

from netlab.errors import UsageError
from netlab.experiment.hosts import Host, SshTarget
from netlab.runner.places import AgentGroup
from netlab.runner.two_hosts import (
    FoundHost,
    link_of,
    look,
    nobody_chooses,
    shared_networks,
    why_first,
)


class Asked(AgentGroup):
    """Hosts with these facts; each interface has the rate of its name, or states none."""

    def __init__(
        self, facts: Mapping[str, Any], rates: Mapping[str, float] | None = None, ssh: str = ""
    ) -> None:
        super().__init__(lambda _line: None)
        self.of, self.rates, self.ssh = facts, rates or {}, ssh

    def log_in_to_all(self, hosts: Any) -> None:
        """All hosts are there."""

    def ssh_address(self, host: Host) -> str:
        return self.ssh

    def facts(self, host: Host, to: str | None = None) -> Mapping[str, Any]:
        if to is None:
            return {"addresses": self.of[host.name]}
        for device, local in (word.split("=") for word in self.of[host.name].split(",")):
            if ipaddress.ip_address(to) in ipaddress.ip_interface(local).network:
                speed = self.rates.get(device)
                known = {} if speed is None else {"interface_speed_bit_per_s": speed}
                return {"interface_mtu_bytes": 1500, "interface_driver": "e1000e", **known}
        raise AssertionError(f"{host.name} has no route to {to}")


def host(name: str) -> Host:
    return Host(name=name, os="L", ssh=SshTarget(name))


def found(*addresses: str, ssh: tuple[str | None, ...] = ()) -> list[FoundHost]:
    """Hosts ``a``, ``b`` … with these addresses, as a host's facts list them."""
    named = dict(zip("abcd", addresses, strict=False))
    hosts = look(Asked(named), [host(name) for name in named])
    devices = ssh or (None,) * len(hosts)
    return [
        FoundHost(it.host, it.words, it.addresses, device)
        for it, device in zip(hosts, devices, strict=True)
    ]


SERVER = (
    "lo=127.0.0.1/8,lo=::1/128,eth0=192.0.2.5/24,eth1=10.0.0.1/24,eth1=fe80::1/64,eth1=fd00::1/64"
)
CLIENT = "lo=127.0.0.1/8,eth0=198.51.100.9/24,eth1=10.0.0.2/24,eth1=fe80::2/64,eth1=fd00::2/64"
BOTH = {"a": SERVER, "b": CLIENT}


def test_ipv4_and_ipv6_of_the_same_interfaces_are_one_network() -> None:
    (network,) = shared_networks(found(SERVER, CLIENT), Asked(BOTH))
    assert network.name == "10.0.0.0/24 and fd00::/64"
    assert [(it.host.name, addresses, device) for it, addresses, device in network.ends] == [
        ("a", ("10.0.0.1", "fd00::1"), "eth1"),
        ("b", ("10.0.0.2", "fd00::2"), "eth1"),
    ]


@pytest.mark.parametrize(("version", "address"), [(4, "10.0.0.1"), (6, "fd00::1")])
def test_shared_networks_can_be_limited_to_one_ip_version(version: int, address: str) -> None:
    (network,) = shared_networks(found(SERVER, CLIENT), Asked(BOTH), version)
    assert network.ends[0][1] == (address,)


def test_a_network_in_which_two_hosts_have_the_same_address_is_not_shared() -> None:
    containers = "docker0=172.17.0.1/16"
    assert shared_networks(found(containers, containers), Asked({})) == ()


@pytest.mark.parametrize("addresses", ["", "nonsense", "eth0=", "eth0=1.2.3", "=10.0.0.1/24,,="])
def test_a_malformed_address_of_a_host_is_ignored(addresses: str) -> None:
    assert shared_networks(found(addresses, CLIENT), Asked(BOTH)) == ()


def test_several_common_networks_are_named_with_the_option_that_selects_one() -> None:
    listed = "eth1=10.0.0.{0}/24,eth1=fd00::{0}/64,eth2=10.0.1.{0}/24"
    texts = {"a": listed.format(1), "b": listed.format(2)}
    with pytest.raises(UsageError) as raised:
        nobody_chooses(shared_networks(found(*texts.values()), Asked(texts)))
    assert str(raised.value) == (
        "the hosts have several networks in common; choose one: "
        "--to 10.0.0.1 (10.0.0.0/24 and fd00::/64); --to 10.0.1.1 (10.0.1.0/24)"
    )


@pytest.mark.parametrize(
    ("ssh", "device"), [("192.0.2.5", "eth0"), ("fe80::1", "eth1"), ("203.0.113.1", None)]
)
def test_the_interface_of_ssh_is_that_with_the_address_of_its_connection(
    ssh: str, device: str | None
) -> None:
    (it,) = look(Asked({"a": SERVER}, ssh=ssh), [host("a")])
    assert it.ssh_device == device


def drawn_hosts(draw: Random) -> tuple[dict[str, str], dict[str, float], list[str | None]]:
    """Addresses of two to four hosts, rates of interfaces by name, and SSH's interface of each."""
    devices = [f"e{number}" for number in range(draw.randint(1, 4))]
    texts = {}
    for number, name in enumerate("abcd"[: draw.randint(2, 4)], start=1):
        words = [
            word
            for wire, device in enumerate(devices)
            for word, chance_of in (
                (f"{device}=10.0.{wire}.{number}/24", 0.7),
                (f"{device}=fd00:{wire}::{number}/64", 0.6),
                (f"{device}=172.17.0.1/16", 0.1),
                (f"{device}=fe80::{number}/64", 0.5),
            )
            if draw.random() < chance_of
        ]
        draw.shuffle(words)
        texts[name] = ",".join(words) or "lo=127.0.0.1/8"
    rates = {device: draw.choice([1e8, 1e9, 1e10]) for device in devices if draw.random() < 0.7}
    ssh = draw.choice([None, *devices])
    return texts, rates, [ssh for _ in texts]


@pytest.mark.parametrize("seed", seeds(60, 2000))
def test_the_first_of_the_shared_networks_is_not_that_of_ssh_and_then_the_fastest(
    seed: int,
) -> None:
    texts, rates, ssh = drawn_hosts(Random(seed))  # noqa: S311
    hosts = found(*texts.values(), ssh=tuple(ssh))
    networks = shared_networks(hosts, Asked(texts, rates))
    ways = [frozenset((it.host.name, device) for it, _, device in net.ends) for net in networks]
    assert len(set(ways)) == len(ways), "the same interfaces are one network"
    for network in networks:
        versions = {
            tuple(ipaddress.ip_address(a).version for a in own) for _, own, _ in network.ends
        }
        assert versions in ({(4,)}, {(6,)}, {(4, 6)})
        (device,) = {device for _, _, device in network.ends}
        assert network.is_of_ssh == (device == ssh[0])
        assert network.rate_bit_per_s == rates.get(device, 0.0)
    # Each address of a network with two hosts or more is in one network.
    of_wire: dict[str, set[str]] = {}
    for text in texts.values():
        for word in text.split(","):
            device, local = word.split("=")
            if local.startswith(("10.", "fd00")):
                name = str(ipaddress.ip_interface(local).network)
                of_wire.setdefault(name, set()).add(local)
    expected = {name for name, its in of_wire.items() if len(its) > 1}
    assert {name for net in networks for name in net.name.split(" and ")} == expected
    if len(networks) < 2:
        return
    best, *others = networks
    assert not best.is_of_ssh or all(it.is_of_ssh for it in others)
    rivals = [it for it in others if it.is_of_ssh == best.is_of_ssh]
    for it in rivals:
        assert (len(it.ends), it.rate_bit_per_s) <= (len(best.ends), best.rate_bit_per_s)
    why, is_doubtful = why_first(networks)
    assert is_doubtful == bool(rivals or any(len(it.ends) > len(best.ends) for it in others))
    assert ("the fastest" in why) == bool(
        rivals and all(it.rate_bit_per_s < best.rate_bit_per_s for it in rivals)
    )
    assert ("SSH does not use it" in why) == (not best.is_of_ssh)


def test_the_link_of_two_interfaces_has_the_lower_rate_and_the_smaller_mtu() -> None:
    draw = chance(4)
    for _ in range(drawn(50, 1000)):
        ways = [
            {
                "interface_speed_bit_per_s": draw.choice([None, 0, 1e8, 1e9]),
                "interface_mtu_bytes": draw.choice([None, 1500, 9000, 65536]),
                "interface_driver": draw.choice(["igb", "e1000e", "veth"]),
            }
            for _ in range(draw.randint(1, 3))
        ]
        speeds = [cast("Any", way["interface_speed_bit_per_s"]) for way in ways]
        mtus = [cast("Any", way["interface_mtu_bytes"]) for way in ways]
        is_known = all(speeds) and all(mtus) and min(mtus) < 65536
        if is_known and all(way["interface_driver"] != "veth" for way in ways):
            link = link_of(ways)
            assert link is not None
            assert (link.rate_bit_per_s, link.mtu_bytes) == (min(speeds), min(mtus))
        else:
            assert link_of(ways) is None
