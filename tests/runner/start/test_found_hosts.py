"""The files of `netlab init`: an inventory that can be read, and a matrix that it can measure."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_interface
from pathlib import Path

import pytest
from draws import chance, drawn

from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
from netlab.ethernet import Link
from netlab.experiment.hosts import Host, SshTarget
from netlab.experiment.matrix import expand
from netlab.runner.options import possible_of
from netlab.runner.places import AgentGroup
from netlab.runner.two_hosts import (
    FoundHost,
    SharedNetwork,
    first_matrix_text,
    inventory_text,
    pairings_of,
    shared_networks,
    with_addresses,
)


def found(name: str, system: str, *addresses: tuple[str, str, str]) -> FoundHost:
    host = Host(name=name, os=system, ssh=SshTarget(name, "me"), host_key="SHA256:" + "b" * 43)
    local = tuple(
        (device, ip_interface(f"{address}/{network.partition('/')[2]}"))
        for device, address, network in addresses
    )
    return FoundHost(host, f"system {system}, x86_64", local)


class Silent(AgentGroup):
    """Hosts whose interfaces state no rate."""

    def facts(self, host: Host, to: str | None = None) -> dict[str, object]:
        return {}


def shared(hosts: Sequence[FoundHost]) -> tuple[SharedNetwork, ...]:
    return shared_networks(hosts, Silent(lambda _line: None))


MANAGED = "192.0.2.0/24"
CABLE = "10.0.0.0/24"
HOSTS = (
    found("a", "L", ("eth0", "192.0.2.1", MANAGED), ("eth1", "10.0.0.1", CABLE)),
    found("b", "L", ("eth0", "192.0.2.2", MANAGED), ("eth1", "10.0.0.2", CABLE)),
    found("c", "W", ("Ethernet", "192.0.2.3", MANAGED)),
    found("d", "L", ("eth0", "203.0.113.1", "203.0.113.0/24")),
)


def test_init_lists_the_network_of_most_hosts_first() -> None:
    assert [network.name for network in shared(HOSTS)] == [MANAGED, CABLE]


def test_init_gives_the_name_test_to_addresses_of_the_chosen_network() -> None:
    networks = shared(HOSTS)
    hosts = {host.name: host.addresses for host in with_addresses(HOSTS, networks[::-1])}
    assert hosts == {
        "a": {"test": ("10.0.0.1",), "eth0": ("192.0.2.1",)},
        "b": {"test": ("10.0.0.2",), "eth0": ("192.0.2.2",)},
        "c": {"eth0": ("192.0.2.3",)},
    }


def test_the_inventory_that_init_writes_can_be_read(tmp_path: Path) -> None:
    hosts = with_addresses(HOSTS, shared(HOSTS))
    file = tmp_path / "lab.yaml"
    file.write_text(inventory_text(hosts, {entry.host.name: entry.words for entry in HOSTS}))
    assert load_inventory(file).hosts == hosts
    assert "# system W, x86_64" in file.read_text()


@pytest.mark.parametrize("link", [None, Link(1e9, 9000)])
def test_the_matrix_that_init_writes_has_only_pairings_that_have_hosts(
    tmp_path: Path, link: Link | None
) -> None:
    draw = chance(5)
    for _ in range(drawn(8, 60)):
        systems = [draw.choice("LLWMF") for _ in range(draw.randint(2, 5))]
        listed = [
            found(f"h{i}", system, ("e", f"10.0.0.{i + 1}", CABLE))
            for i, system in enumerate(systems)
        ]
        hosts = with_addresses(listed, shared(listed))
        inventory, matrix = tmp_path / "lab.yaml", tmp_path / "first.yaml"
        inventory.write_text(inventory_text(hosts, {}))
        matrix.write_text(first_matrix_text(hosts, link))
        read = load_matrix(matrix)
        assert read.link == link
        assert set(read.pairings) == set(pairings_of(hosts))
        assert possible_of(expand(read), load_inventory(inventory)).sentence == ""
