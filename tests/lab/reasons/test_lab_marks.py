"""A router whose queue marks packets in place of dropping them is named, and nothing else is."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from labs import inside, needs_a_lab, run_matrix, standing
from paths import needs_nft

from netlab import lab
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Kind

pytestmark = [*needs_a_lab, needs_nft, pytest.mark.night]

MATRIX = """\
link: {rate: 100Mbit, mtu: 1500, hops: 1}
pairings: [linux-b+linux-a]
repeats: 3
tests: [{test: stream, protocol: TCP, message_size: 64KiB, congestion: cubic, duration: 1500ms}]
"""
MARK = """\
flush ruleset
table inet test {
  chain forward {
    type filter hook forward priority filter
    oifname "linux-b" ip ecn ect0 numgen random mod 100 < 2 counter ip ecn set ce
  }
}
"""
"""A fiftieth of the packets that may be marked, as RED marks: then the queue never fills."""


@pytest.fixture(scope="module")
def routed() -> Iterator[lab.LabState]:
    with standing("marks", topology="router", rate=100e6, device_rate=20e6) as of:
        yield of


def router_of(of: lab.LabState) -> str:
    assert of.plan is not None and of.plan.router is not None
    return of.plan.router


def nft(of: lab.LabState, rules: str) -> None:
    words = ["ip", "netns", "exec", router_of(of), "nft", "-f", "-"]
    subprocess.run(words, input=rules, text=True, check=True, capture_output=True)


@contextmanager
def marking(of: lab.LabState) -> Iterator[None]:
    nft(of, MARK)
    try:
        yield
    finally:
        nft(of, "flush ruleset\n")


def counted(of: lab.LabState) -> int:
    """Packets that the router has marked."""
    words = ["ip", "netns", "exec", router_of(of), "nft", "list", "ruleset"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return int(text.split("packets ")[1].split()[0])


def use_ecn(of: lab.LabState, *, on: bool) -> None:
    for host in range(2):
        inside(of, host, "sysctl", "-qw", f"net.ipv4.tcp_ecn={int(on)}")


def kinds(run: Analysis) -> set[Kind]:
    return {finding.kind for finding in run.findings}


OTHERS = {Kind.SENT_AGAIN, Kind.CONGESTION, Kind.NOT_DETERMINED, Kind.LOSS_RECOVERY}


@pytest.mark.produces("delivery/marked")
def test_marks_of_a_router_are_told_with_their_number_and_no_loss_or_unknown_limit(
    routed: lab.LabState, tmp_path: Path
) -> None:
    use_ecn(routed, on=True)
    with marking(routed):
        run = run_matrix(routed, tmp_path, MATRIX)
        number = counted(routed)
    (found,) = (each for each in run.findings if each.kind is Kind.DELIVERY_MARKED)
    assert found.evidence["marked_packets"] == pytest.approx(number, abs=3) != 0
    share = found.evidence["marked_packets"] / found.evidence["ecn_packets"]
    assert share == pytest.approx(0.02, rel=0.5)
    assert found.claim is not None
    assert (found.claim.where, found.claim.what) == ("path", "rate")
    assert (found.claim.sender, found.claim.receiver) == ("linux-a", "linux-b")
    assert not kinds(run) & OTHERS, run.findings


@pytest.mark.parametrize("has_ecn", [True, False], ids=["no-marks", "no-ecn"])
def test_a_queue_that_does_not_mark_and_hosts_without_ecn_have_no_such_finding(
    routed: lab.LabState, tmp_path: Path, *, has_ecn: bool
) -> None:
    use_ecn(routed, on=has_ecn)
    if has_ecn:
        run = run_matrix(routed, tmp_path, MATRIX)
    else:
        with marking(routed):
            run = run_matrix(routed, tmp_path, MATRIX)
    assert Kind.DELIVERY_MARKED not in kinds(run)
    assert Kind.SENT_AGAIN in kinds(run), "the queue was full at times"
