"""The common networks of two hosts, and their addresses there."""

from __future__ import annotations

import ipaddress

import pytest
from draws import chance, drawn

from netlab.errors import UsageError
from netlab.runner.two_hosts import common_networks, has_address, nobody_chooses, routed

SERVER = (
    "lo=127.0.0.1/8,lo=::1/128,eth0=192.0.2.5/24,eth1=10.0.0.1/24,eth1=fe80::1/64,eth1=fd00::1/64"
)
CLIENT = "lo=127.0.0.1/8,eth0=198.51.100.9/24,eth1=10.0.0.2/24,eth1=fe80::2/64,eth1=fd00::2/64"


def test_loopback_and_link_local_addresses_are_no_common_network() -> None:
    networks = common_networks({"addresses": SERVER}, {"addresses": CLIENT})
    assert [(network.server_address, network.client_address) for network in networks] == [
        ("10.0.0.1", "10.0.0.2"),
        ("fd00::1", "fd00::2"),
    ]
    assert [network.ip_version for network in networks] == [4, 6]
    assert (networks[0].network, networks[0].server_device) == ("10.0.0.0/24", "eth1")


@pytest.mark.parametrize(("version", "address"), [(4, "10.0.0.1"), (6, "fd00::1")])
def test_common_networks_can_be_limited_to_one_ip_version(version: int, address: str) -> None:
    (network,) = common_networks({"addresses": SERVER}, {"addresses": CLIENT}, version)
    assert network.server_address == address


def test_a_common_network_contains_one_address_of_each_of_two_hosts() -> None:
    draw = chance(3)
    for _ in range(drawn(30, 1000)):
        hosts = [
            [
                f"e{i}={draw.choice(['10.0.0', '10.0.1', '10.1.0', '169.254.7'])}."
                f"{draw.randint(1, 250)}/{draw.choice([16, 24, 30, 32])}"
                for i in range(draw.randint(0, 4))
            ]
            for _ in "ab"
        ]
        facts = [{"addresses": ",".join(entries)} for entries in hosts]
        for common in common_networks(facts[0], facts[1]):
            network = ipaddress.ip_network(common.network)
            server_address = ipaddress.ip_address(common.server_address)
            client_address = ipaddress.ip_address(common.client_address)
            assert server_address in network
            assert client_address in network
            assert server_address != client_address
            assert not server_address.is_link_local
            assert f"{common.server_device}={server_address}/{network.prefixlen}" in hosts[0]
            assert f"{common.client_device}={client_address}/{network.prefixlen}" in hosts[1]


@pytest.mark.parametrize("addresses", ["", "nonsense", "eth0=", "eth0=1.2.3", "=10.0.0.1/24,,="])
def test_a_malformed_address_of_a_host_is_ignored(addresses: str) -> None:
    assert common_networks({"addresses": addresses}, {"addresses": CLIENT}) == ()


def test_several_common_networks_are_named_with_the_option_that_selects_one() -> None:
    networks = common_networks({"addresses": SERVER}, {"addresses": CLIENT})
    with pytest.raises(UsageError) as raised:
        nobody_chooses(networks)
    assert str(raised.value) == (
        "the hosts have several networks in common; choose one: "
        "--to 10.0.0.1 (10.0.0.0/24, eth1); --to fd00::1 (fd00::/64, eth1)"
    )


def test_an_address_of_the_host_is_recognised_and_a_foreign_address_is_not() -> None:
    assert has_address({"addresses": SERVER}, "192.0.2.5")
    assert has_address({"addresses": SERVER}, "127.0.0.1")
    assert not has_address({"addresses": SERVER}, "10.0.0.2")
    assert has_address({}, "10.0.0.2")  # it does not tell


def test_a_route_gives_the_clients_own_address() -> None:
    network = routed("203.0.113.7", {"route_source": "10.9.9.9", "route_interface": "eth4"})
    assert network is not None
    assert (network.server_address, network.client_address) == ("203.0.113.7", "10.9.9.9")
    assert routed("203.0.113.7", {}) is None
