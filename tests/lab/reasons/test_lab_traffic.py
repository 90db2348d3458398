"""Traffic of others, planted in a lab: on the stream's cable it is named, elsewhere it is not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from labs import needs_a_lab, run_matrix

from netlab import lab
from netlab.findings.finding import Finding, Kind
from netlab.lab.plan import LabOptions

pytestmark = [*needs_a_lab, pytest.mark.night]

NAME = f"o{os.getpid()}"
RATE_BIT_PER_S, OTHERS_BIT_PER_S = 100e6, 30e6
PORT = 4009
UNDISTURBED = "quiet: {steal: 3 %, tries: 4}"
"""What a hypervisor takes is no part of what is planted: such a trial is measured again."""

SINK = """
import socket, sys, time
taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
taken.bind((sys.argv[1], int(sys.argv[2])))
print("ready", flush=True)
time.sleep(60)
"""
SOURCE = """
import socket, sys, time
to, rate = (sys.argv[1], int(sys.argv[2])), float(sys.argv[3])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
begin, sent = time.monotonic(), 0
print("ready", flush=True)
while time.monotonic() - begin < 60:
    while sent * 1514 * 8 < rate * (time.monotonic() - begin):
        out.sendto(bytes(1472), to)
        sent += 1
    time.sleep(0.002)
"""


@pytest.fixture(scope="module")
def star() -> Iterator[lab.LabState]:
    """Three hosts, each with two cables."""
    try:
        options = LabOptions(name=NAME, linux=3, rate=RATE_BIT_PER_S, second_rate=RATE_BIT_PER_S)
        yield lab.up(options)
    finally:
        lab.down(NAME)


@contextmanager
def running(of: lab.LabState, host: int, script: str, *words: str) -> Iterator[None]:
    argv = ["ip", "netns", "exec", of.hosts[host].namespace, sys.executable, "-c", script, *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == b"ready"
            yield
        finally:
            with suppress(ProcessLookupError):
                process.kill()


@contextmanager
def others(of: lab.LabState, network: str, source: int, sink: int, rate: float) -> Iterator[None]:
    """Datagrams between two hosts over one of their networks; the rate is as interfaces count."""
    address = of.hosts[sink].networks[network][0]
    with (
        running(of, sink, SINK, address, str(PORT)),
        running(of, source, SOURCE, address, str(PORT), str(rate)),
    ):
        time.sleep(0.2)
        yield


def findings_of(of: lab.LabState, folder: Path, test: str) -> list[Finding]:
    matrix = (
        "title: others\nlink: {rate: 100Mbit, mtu: 1500}\npairings: [linux-b+linux-a]\n"
        f"repeats: 1\n{UNDISTURBED}\ndefaults: {{duration: 2s, warm_up: 0.5s}}\n"
        f"tests:\n  - {{test: stream, {test}}}\n"
    )
    return [*run_matrix(of, folder, matrix).findings]


TCP = "protocol: TCP, message_size: 64KiB, congestion: cubic"
UDP = "protocol: UDP, message_size: 1472"
# Where the others come in at the receiver, a sender that fills the line loses what they bring;
# no count tells theirs from its own that were lost behind the interface. This one loses less.
UDP_BELOW_THE_LINE = f"{UDP}, rate: 85Mbit"
PACED = "protocol: TCP, message_size: 64KiB, congestion: cubic, rate: 20Mbit"
OF_OTHERS = (Kind.OTHER_TRAFFIC, Kind.OTHER_TRAFFIC_BESIDE)


@pytest.mark.parametrize(
    ("source", "sink", "at", "test"),
    [
        pytest.param(0, 2, ("linux-a", "sending"), TCP, id="of-the-sender-tcp"),
        pytest.param(0, 2, ("linux-a", "sending"), UDP, id="of-the-sender-udp"),
        pytest.param(2, 1, ("linux-b", "receiving"), TCP, id="to-the-receiver-tcp"),
        pytest.param(2, 1, ("linux-b", "receiving"), UDP_BELOW_THE_LINE, id="to-the-receiver-udp"),
    ],
)
@pytest.mark.produces("other-traffic")
def test_traffic_of_others_on_the_cable_of_a_stream_is_named_as_its_limit(
    star: lab.LabState, tmp_path: Path, source: int, sink: int, at: tuple[str, str], test: str
) -> None:
    with others(star, "test", source, sink, OTHERS_BIT_PER_S):
        findings = findings_of(star, tmp_path, test)
    kinds = [finding.kind for finding in findings]
    assert Kind.OTHER_TRAFFIC in kinds, findings
    assert not {Kind.NOT_DETERMINED, Kind.CONGESTION, Kind.LOSS_LIMIT_PATH} & {*kinds}
    (other_traffic,) = (finding for finding in findings if finding.kind is Kind.OTHER_TRAFFIC)
    assert (other_traffic.words["at_host"], other_traffic.words["way"]) == at
    # Where more is sent than the cable carries, the others lose some of theirs as well.
    least = 0.1 if test == UDP_BELOW_THE_LINE else 0.85
    assert least <= other_traffic.evidence["other_bit_per_s"] / OTHERS_BIT_PER_S <= 1.1
    assert 0.98 <= other_traffic.evidence["link_filled_share"] <= 1.02


@pytest.mark.produces("other-traffic-beside")
def test_traffic_of_others_beside_a_paced_stream_is_noted_at_both_hosts(
    star: lab.LabState, tmp_path: Path
) -> None:
    with others(star, "test", 0, 1, OTHERS_BIT_PER_S):
        findings = findings_of(star, tmp_path, PACED)
    assert Kind.OTHER_TRAFFIC not in {finding.kind for finding in findings}
    notes = [finding for finding in findings if finding.kind is Kind.OTHER_TRAFFIC_BESIDE]
    assert {(finding.group.host, str(finding.words["way"])) for finding in notes} == {
        ("linux-a", "sending"),
        ("linux-b", "receiving"),
    }
    for finding in notes:
        assert 0.85 <= finding.evidence["other_bit_per_s"] / OTHERS_BIT_PER_S <= 1.1


@pytest.mark.parametrize("test", [TCP, UDP], ids=["tcp", "udp"])
def test_traffic_of_others_on_another_cable_gives_no_finding(
    star: lab.LabState, tmp_path: Path, test: str
) -> None:
    with others(star, "second", 0, 1, OTHERS_BIT_PER_S):
        findings = findings_of(star, tmp_path, test)
    assert not [finding for finding in findings if finding.kind in OF_OTHERS]


@pytest.mark.parametrize("streams", [1, 4])
def test_own_streams_in_both_directions_give_no_finding_of_other_traffic(
    star: lab.LabState, tmp_path: Path, streams: int
) -> None:
    findings = findings_of(star, tmp_path, f"{TCP}, direction: both, streams: {streams}")
    assert not [finding for finding in findings if finding.kind in OF_OTHERS]
