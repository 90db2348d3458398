"""All interfaces that a host used are checked."""

from __future__ import annotations

from netlab.ethernet import Link
from netlab.findings.finding import Kind
from netlab.findings.validity import hosts

LINK = Link(1e8, 1500)
GOOD = {
    "route_interface": "eth0",
    "interface_speed_bit_per_s": 100_000_000,
    "interface_mtu_bytes": 1500,
    "interface_duplex": "full",
}


def test_every_wired_interface_that_a_host_used_is_checked_against_the_link() -> None:
    slow = {**GOOD, "route_interface": "eth1", "interface_speed_bit_per_s": 10_000_000}
    half = {**GOOD, "route_interface": "eth2", "interface_duplex": "half"}
    again = {**slow, "route_interface": "eth0"}
    facts, wired = {"nas": [GOOD], "pc": [GOOD]}, frozenset({"nas", "pc"})
    checks = hosts(facts, LINK, wired, {"nas": [slow, half, again]})
    assert [(check.kind, check.group.host, check.words["interface"]) for check in checks] == [
        (Kind.INTERFACE_SPEED, "nas", "eth1"),
        (Kind.INTERFACE_DUPLEX, "nas", "eth2"),
    ]
    assert tuple(hosts(facts, LINK, frozenset({"pc"}), {"nas": [slow]})) == ()
