"""Pairings may name hosts and networks, in a matrix and in an inventory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
from netlab.errors import MatrixError, UsageError
from netlab.experiment.hosts import (
    Host,
    Inventory,
    is_by_name,
    labels_of,
    match_of,
    role_of,
    roles_of,
)
from netlab.experiment.matrix import Matrix, expand
from netlab.runner.planning import plan_json, plan_of, plan_text

HOSTS = """\
hosts:
  nas: {os: L, ssh: a@nas, addresses: {lan: 10.0.0.1}}
  guest:
    {os: L, ssh: a@guest, addresses: {bridge: 10.0.0.2, nat: 10.1.0.2}, machine: pc, shares: up}
  desk: {os: W, ssh: a@desk, addresses: {lan: 10.0.0.3}, machine: pc, shares: [up, hub]}
  box: {os: X, mirror: {address: 10.0.0.9}}
"""
TEST = "tests: [{test: stream, protocol: TCP, message_size: 1448, duration: 2s}]\n"


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.yaml"
    path.write_text(HOSTS)
    return path


@pytest.fixture
def inventory(hosts: Path) -> Inventory:
    return load_inventory(hosts)


@pytest.fixture
def load(tmp_path: Path, hosts: Path) -> Any:
    def from_text(pairings: str, tail: str = "") -> Matrix:
        path = tmp_path / "m.yaml"
        path.write_text(f"title: t\npairings: {pairings}\n{tail}{TEST}", encoding="utf-8")
        return load_matrix(path, None, hosts)

    return from_text


def test_a_role_in_a_pairing_is_a_host_or_a_host_in_one_network() -> None:
    assert [str(role) for role in roles_of("nas+guest@nat")] == ["nas", "guest@nat"]
    assert role_of("guest@nat").network == "nat"
    assert is_by_name("nas+guest")
    assert not is_by_name("WL")
    assert labels_of("WL") == ("W", "L")
    assert labels_of("nas+guest@nat") == ("nas", "guest@nat")


@pytest.mark.parametrize(
    "text", ["", "+", "nas+", "+nas", "na s+b", "a+b+c", "a@+b", "nas", "-a+b"]
)
def test_a_pairing_that_does_not_name_two_hosts_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"neither a valid name of a host|does not name two hosts"):
        roles_of(text)


def test_the_pairings_all_are_every_pair_of_hosts_with_mirrors_only_as_server(
    load: Any,
) -> None:
    matrix = load("all")
    assert matrix.pairings == (
        *("nas+nas", "nas+guest", "nas+desk"),
        *("guest+nas", "guest+guest", "guest+desk"),
        *("desk+nas", "desk+guest", "desk+desk"),
        # A mirror answers; it never asks.
        *("box+nas", "box+guest", "box+desk"),
    )


def test_pairings_between_named_hosts_may_name_a_network_of_a_host(load: Any) -> None:
    matrix = load("{between: [nas, guest@bridge, guest@nat, desk], inside: false}")
    assert matrix.pairings == (
        *("nas+guest@bridge", "nas+guest@nat", "nas+desk"),
        *("guest@bridge+nas", "guest@nat+nas", "desk+nas"),
    )


def test_pairings_listed_one_by_one_need_no_inventory(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(f"title: t\npairings: [nas+guest@nat, WL]\n{TEST}")
    matrix = load_matrix(path)
    assert [cell.pairing for cell in expand(matrix)] == ["nas+guest@nat", "WL"]
    assert plan_json(plan_of(path, None))["pairings"][0]["client"] == "guest"


def test_cell_keys_differ_by_network_and_direction_of_a_pair(load: Any) -> None:
    keys = [cell.key for cell in expand(load("{between: [nas, guest@bridge, guest@nat]}"))]
    assert len(keys) == len(set(keys)) == 9


def test_pairs_of_hosts_are_part_of_the_matrix_content_but_their_order_is_not(load: Any) -> None:
    same = load("{between: [desk, nas]}")
    assert load("{between: [nas, desk]}").content_hash == same.content_hash
    assert load("{between: [nas, desk], inside: false}").content_hash != same.content_hash


@pytest.mark.parametrize(
    ("pairings", "fault"),
    [
        ("everybody", "2:11: pairings: `everybody` is not one of all"),
        ("[nas+]", "2:12: pairings[0]: '' is neither a valid name of a host"),
        ("{between: []}", "pairings.between: is empty"),
        ("{between: [nas, nas]}", "the same value as number 1"),
        ("{between: [a b]}", "'a b' is neither a valid name of a host"),
        ("{between: some}", "`some` is not one of all"),
        ("{among: [nas]}", "pairings.among: unknown key"),
        ("{between: [nas], inside: false}", "2:11: pairings: no two hosts"),
    ],
)
def test_a_wrong_choice_of_hosts_for_pairings_is_refused(
    load: Any, pairings: str, fault: str
) -> None:
    with pytest.raises(MatrixError) as caught:
        load(pairings)
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    ("pairings", "fault"),
    [
        ("{between: [nas, cellar]}", "is called `cellar`; there are nas, guest, desk, box"),
        ("{between: [guest@wifi, nas]}", "guest has no address in `wifi`; there are bridge, nat"),
    ],
)
def test_an_unknown_host_or_network_in_pairings_is_reported_with_the_known_names(
    load: Any, pairings: str, fault: str
) -> None:
    with pytest.raises(UsageError) as caught:
        load(pairings)
    assert fault in str(caught.value)


def test_the_word_all_for_pairings_is_refused_without_an_inventory(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(f"title: t\npairings: all\n{TEST}")
    with pytest.raises(UsageError, match="--hosts FILE"):
        load_matrix(path)


def test_a_network_in_a_role_takes_precedence_over_the_default_network(
    inventory: Inventory,
) -> None:
    ((server, client),) = inventory.candidates("guest@nat+nas")
    assert (server.name, client.name) == ("guest", "nas")
    assert server.address(None) == server.address("bridge") == "10.1.0.2"
    assert client.address(None) == "10.0.0.1"
    ((server, _),) = inventory.candidates("guest+nas")
    assert server.address(None) == "10.0.0.2"


def test_a_host_uses_the_network_named_for_its_peer_if_the_host_has_an_address_in_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "hosts.yaml"
    networks = "addresses: {lan: 10.0.0.%d, wifi: 10.1.0.%d}"
    path.write_text(
        "hosts:\n"
        f"  a: {{os: L, ssh: a, {networks % (1, 1)}}}\n"
        f"  b: {{os: L, ssh: b, {networks % (2, 2)}}}\n"
        "  c: {os: L, ssh: c, addresses: {lan: 10.0.0.3}}\n"
    )
    inventory = load_inventory(path)
    assert [host.address(None) for host in inventory.pair("a@wifi+b")] == ["10.1.0.1", "10.1.0.2"]
    assert [host.address("lan") for host in inventory.pair("b+a@wifi")] == ["10.1.0.2", "10.1.0.1"]
    assert [host.address(None) for host in inventory.pair("a@wifi+c")] == ["10.1.0.1", "10.0.0.3"]
    assert [host.address(None) for host in inventory.pair("a@wifi+b@lan")] == [
        "10.1.0.1",
        "10.0.0.2",
    ]


def test_a_pairing_that_names_a_mirror_host_as_client_is_refused(inventory: Inventory) -> None:
    with pytest.raises(UsageError, match="box is a mirror: it answers"):
        inventory.pair("nas+box")
    assert [host.name for host in inventory.pair("box+nas")] == ["box", "nas"]


def test_a_pair_occupies_its_machines_and_the_shared_links_between_them(
    inventory: Inventory,
) -> None:
    needs = match_of("", inventory.pair("nas+desk")).needs
    assert set(needs) == {"nas", "pc", ("share", "up"), ("share", "hub")}
    assert match_of("", inventory.pair("guest+desk")).needs == ("pc",)
    match = match_of("nas+guest@nat", inventory.pair("nas+guest@nat"))
    assert (match.server_machine, match.client_machine) == ("nas", "pc")
    assert match.shares == {"up"}
    assert match_of("guest+desk", inventory.pair("guest+desk")).inside


@pytest.mark.parametrize("shares", ["3", "[up, '']", "{a: b}"])
def test_a_shared_link_without_a_valid_name_is_refused(tmp_path: Path, shares: str) -> None:
    path = tmp_path / "hosts.yaml"
    path.write_text(f"hosts: {{a: {{local: true, shares: {shares}}}}}\n")
    with pytest.raises(MatrixError, match="is not a name of a link or switch"):
        load_inventory(path)


def test_the_plan_shows_the_parallel_rounds_and_the_time_saved(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    hosts = "".join(f"  {name}: {{local: true}}\n" for name in "abcd")
    path.write_text(f"title: t\npairings: all\nparallel: true\n{TEST}hosts:\n{hosts}")
    plan = plan_of(path, None)
    plan_data = plan_json(plan)
    assert (plan_data["trials"], plan_data["rounds"]) == (16, 7)
    # Six rounds of two pairs and one of four, each with a common window.
    assert plan_data["seconds"] == pytest.approx(7 * 2.02 + 6 * 0.405 + 0.415)
    assert plan_data["seconds_one_by_one"] == pytest.approx(16 * 2.02)
    assert ["a+a", "b+b", "c+c", "d+d"] in plan_data["at_the_same_time"]
    text = plan_text(plan)
    assert "16 by name  4 hosts" in text
    assert "Up to 4 trials at once: 17 s instead of 32.3 s one by one" in text


def test_all_pairings_are_ordered_by_server_and_then_by_client() -> None:
    two = Inventory("lab.yaml", tuple(Host(name=name, os="L") for name in "ab"), {})
    assert two.every_pairing(None, inside=True) == ("a+a", "a+b", "b+a", "b+b")
    assert two.every_pairing(["a", "b"], inside=False) == ("a+b", "b+a")
