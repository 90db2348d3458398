"""Findings report facts of hosts that change, or that contradict the stated link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from made_findings import LINK

from netlab.ethernet import Link
from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.validity import hosts
from netlab.trial.record import Value

GOOD: Mapping[str, Value] = {
    "governor": "performance",
    "route_interface": "eth0",
    "interface_speed_bit_per_s": 100_000_000,
    "interface_mtu_bytes": 1500,
    "interface_duplex": "full",
}


def of_host(*noted: Mapping[str, Any], link: Link | None = LINK) -> tuple[Finding, ...]:
    return tuple(hosts({"nas": [{**GOOD, **facts} for facts in noted]}, link, frozenset({"nas"})))


def test_a_host_with_constant_facts_that_fit_the_link_has_no_finding() -> None:
    assert of_host({}, {}, {}) == ()
    assert tuple(hosts({}, LINK, frozenset())) == ()


def test_changed_facts_are_reported_in_order_from_the_first_to_the_last_value() -> None:
    (change,) = of_host({"kernel": "6.1", "ecn": 2}, {"kernel": "6.2"}, {"kernel": "6.1", "ecn": 0})
    assert (change.kind, change.severity) == (Kind.FACTS_CHANGED, "warning")
    assert (change.group, change.cells) == (Group(host="nas"), ())
    assert change.evidence == {"facts": 2}
    assert change.words == {"kernel": "6.1 → 6.2", "ecn": "2 → 0"}


@pytest.mark.parametrize("absent", [{"kernel": None}, {"kernel": ""}, {}])
def test_a_fact_missing_in_one_reading_is_not_reported_as_changed(absent: dict[str, Any]) -> None:
    assert of_host({"kernel": "6.1"}, absent, {"kernel": "6.1"}) == ()
    assert len(of_host({"kernel": "6.1"}, absent, {"kernel": "6.2"})) == 1


def test_a_fact_that_changes_from_zero_is_reported() -> None:
    (change,) = of_host({"ecn": 0}, {"ecn": 1})
    assert change.words == {"ecn": "0 → 1"}


@pytest.mark.parametrize(
    ("facts", "kind", "evidence", "words"),
    [
        (
            {"interface_speed_bit_per_s": 99_999_999},
            Kind.INTERFACE_SPEED,
            {"interface_speed_bit_per_s": 99_999_999, "link_rate_bit_per_s": 1e8},
            {"interface": "eth0"},
        ),
        (
            {"interface_mtu_bytes": 1501},
            Kind.INTERFACE_MTU,
            {"interface_mtu_bytes": 1501, "link_mtu_bytes": 1500, "shorter_share": 0},
            {"interface": "eth0"},
        ),
        (
            {"interface_mtu_bytes": 1499},
            Kind.INTERFACE_MTU,
            {
                "interface_mtu_bytes": 1499,
                "link_mtu_bytes": 1500,
                "shorter_share": pytest.approx(1 / 1500),
            },
            {"interface": "eth0"},
        ),
        (
            {"interface_duplex": "half"},
            Kind.INTERFACE_DUPLEX,
            {},
            {"interface": "eth0", "duplex": "half"},
        ),
    ],
)
def test_an_interface_that_contradicts_the_stated_link_is_reported_with_both_figures(
    facts: dict[str, Value], kind: Kind, evidence: dict[str, float], words: dict[str, str]
) -> None:
    (flaw,) = of_host(facts)
    assert (flaw.kind, flaw.severity, flaw.group) == (kind, "warning", Group(host="nas"))
    assert (flaw.cells, flaw.evidence, flaw.words) == ((), evidence, words)
    without_link = of_host(facts, link=None)
    assert [finding.kind for finding in without_link] == (
        [kind] if kind is Kind.INTERFACE_DUPLEX else []
    )


@pytest.mark.parametrize(
    "facts",
    [
        {"interface_speed_bit_per_s": 10**9},
        {"interface_speed_bit_per_s": None},
        {"interface_speed_bit_per_s": 0},
        {"interface_speed_bit_per_s": "10"},
        {"interface_speed_bit_per_s": True},
        {"interface_mtu_bytes": None},
        {"interface_mtu_bytes": 0},
        {"interface_mtu_bytes": True},
        {"interface_duplex": None},
        {"interface_duplex": "unknown"},
    ],
)
def test_a_faster_interface_or_an_interface_without_facts_has_no_finding(
    facts: dict[str, Any],
) -> None:
    assert of_host(facts) == ()


def test_wrong_speed_mtu_and_duplex_of_one_interface_are_all_reported() -> None:
    wrong = {"interface_speed_bit_per_s": 10**7, "interface_mtu_bytes": 9000}
    findings = of_host({**wrong, "interface_duplex": "half"})
    assert [finding.kind for finding in findings] == [
        Kind.INTERFACE_SPEED,
        Kind.INTERFACE_MTU,
        Kind.INTERFACE_DUPLEX,
    ]


def test_an_interface_is_judged_by_the_last_reading_of_each_fact() -> None:
    early = {"interface_speed_bit_per_s": 10**7}
    kinds = [finding.kind for finding in of_host(early, {})]
    assert kinds == [Kind.FACTS_CHANGED]
    late = of_host({}, early, {"interface_speed_bit_per_s": None, "interface_mtu_bytes": ""})
    assert [finding.kind for finding in late] == [Kind.FACTS_CHANGED, Kind.INTERFACE_SPEED]


@pytest.mark.parametrize("loopback", ["lo", "lo0"])
def test_a_loopback_interface_is_not_checked_against_the_link(loopback: str) -> None:
    assert of_host({"route_interface": loopback, "interface_mtu_bytes": 65536}) == ()


def test_a_half_duplex_interface_without_a_name_is_reported() -> None:
    for nameless in ({"route_interface": None}, {"route_interface": ""}):
        (finding,) = of_host({**nameless, "interface_duplex": "half"})
        assert finding.words == {"interface": "", "duplex": "half"}


def test_the_interface_of_a_host_without_wire_traffic_is_not_checked() -> None:
    noted: list[dict[str, Any]] = [{**GOOD, "interface_duplex": "half", "kernel": "1"}]
    findings = tuple(hosts({"nas": [*noted, {"kernel": "2"}]}, LINK, frozenset({"pc"})))
    assert [finding.kind for finding in findings] == [Kind.FACTS_CHANGED]


def test_hosts_under_one_hypervisor_are_one_finding() -> None:
    facts: dict[str, list[dict[str, Any]]] = {
        "a": [{"virtual": "kvm"}, {"virtual": "kvm"}],
        "b": [{"virtual": "none"}],
        "c": [{"virtual": "hyperv"}],
        "d": [{}, {"virtual": "kvm"}],
        "e": [{"virtual": ""}],
        "f": [],
    }
    findings = tuple(hosts(facts, LINK, frozenset()))
    assert [finding.kind for finding in findings] == [Kind.VIRTUAL_MACHINE] * 2
    assert [(finding.group, finding.cells) for finding in findings] == [(Group(), ())] * 2
    assert [finding.evidence for finding in findings] == [{"hosts": 2}, {"hosts": 1}]
    hypervisors = [(finding.words["hosts"], finding.words["hypervisor"]) for finding in findings]
    assert hypervisors == [("a, d", "kvm"), ("c", "hyperv")]


def test_a_host_with_contradictory_facts_about_virtualisation_is_not_called_virtual() -> None:
    (finding,) = tuple(hosts({"a": [{"virtual": "kvm"}, {"virtual": "none"}]}, LINK, frozenset()))
    assert finding.kind is Kind.FACTS_CHANGED


def test_host_findings_are_ordered_by_changes_interfaces_and_hypervisors() -> None:
    facts = [{"kernel": "1", "virtual": "kvm", "interface_duplex": "half"}, {"kernel": "2"}]
    findings = tuple(hosts({"b": facts, "a": facts}, LINK, frozenset({"a", "b"})))
    assert [(finding.kind, finding.group.host) for finding in findings] == [
        (Kind.FACTS_CHANGED, "b"),
        (Kind.FACTS_CHANGED, "a"),
        (Kind.INTERFACE_DUPLEX, "b"),
        (Kind.INTERFACE_DUPLEX, "a"),
        (Kind.VIRTUAL_MACHINE, ""),
    ]
