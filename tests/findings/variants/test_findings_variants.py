"""What variants change on hosts has no warning."""

from __future__ import annotations

from typing import Any

from made_findings import LINK, plan_of, run_of
from made_samples import tcp, udp

from netlab.findings.analysis import RunEvidence
from netlab.findings.finding import Finding, Kind
from netlab.findings.validity import doubts
from netlab.store.journal import Note
from netlab.trial.record import Record, Status

FACTS = ({"ecn": 2, "interface_mtu_bytes": 9000}, {"ecn": 1, "interface_mtu_bytes": 1400})
RECORD = Record(
    cell="a",
    trial=1,
    attempt=1,
    status=Status.OK,
    pairing="LL",
    test="stream",
    started_at="",
    settings={},
    server="nas",
    client="pc",
    values={"same_host": False},
)


def content(*changes: dict[str, Any]) -> dict[str, Any]:
    return {"variants": {"group": {"on": {"server": [], "client": [*changes]}}}}


def of_hosts(plan_content: dict[str, Any]) -> tuple[Finding, ...]:
    """The findings about a host whose ECN and MTU were read twice, and differ; a third time none
    could be read."""
    read = (*FACTS, "none could be read")
    notes = [Note("facts", "", {"host": "nas", "facts": facts}, 1) for facts in read]
    run = run_of(plan_of((), LINK, content=plan_content), [RECORD], notes)
    return RunEvidence(run).shown_by("validity:hosts")


def test_host_facts_that_variants_change_are_not_reported_as_changed() -> None:
    (changed, mtu) = of_hosts({})
    assert (changed.kind, set(changed.words)) == (
        Kind.FACTS_CHANGED,
        {"ecn", "interface_mtu_bytes"},
    )
    assert mtu.kind is Kind.INTERFACE_MTU
    ecn = {"known": "sysctl", "wanted": [["net.ipv4.tcp_ecn", "1"]]}
    (changed, mtu) = of_hosts(content(ecn))
    assert (changed.kind, set(changed.words)) == (Kind.FACTS_CHANGED, {"interface_mtu_bytes"})
    (changed,) = of_hosts(content({"known": "mtu", "wanted": [["mtu", "1400"]]}))
    assert (changed.kind, set(changed.words)) == (Kind.FACTS_CHANGED, {"ecn"})
    assert of_hosts(content({"known": "", "wanted": []})) == ()


def test_congestion_control_and_mtu_that_variants_change_have_no_warning() -> None:
    samples = [
        tcp(cell="a", congestion="reno"),
        tcp(cell="b", congestion="cubic"),
        udp(path_mtu_bytes=1400, link_mtu_bytes=1500),
    ]

    def kinds(*changed: str) -> list[Kind]:
        return [finding.kind for finding in doubts(samples, {}, changed)]

    assert kinds() == [Kind.MTU_MISMATCH_STREAM, Kind.CONGESTION_DIFFERS]
    assert kinds("congestion") == [Kind.MTU_MISMATCH_STREAM]
    assert kinds("interface_mtu_bytes", "ecn") == [Kind.CONGESTION_DIFFERS]
    assert kinds("congestion", "interface_mtu_bytes") == []
