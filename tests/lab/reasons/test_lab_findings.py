"""Limits planted in a lab are named in its findings, and a clean run is not warned of."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab, run_matrix
from netprobe_agents import build
from ports import own_port

from netlab import lab
from netlab.findings.analysis import load
from netlab.findings.finding import Finding, Kind
from netlab.lab import programs
from netlab.lab.plan import LabOptions

pytestmark = needs_a_lab

NAME = f"f{os.getpid()}"


@pytest.fixture(scope="module")
def planted() -> Iterator[lab.LabState]:
    """Two hosts with slow cables of a small MTU, and two whose cables have no limit, one of these
    with a fifth of a CPU."""
    slow = ("linux-a", "linux-b")
    options = LabOptions(
        name=NAME,
        linux=4,
        mtu=1400,
        rates=dict.fromkeys(slow, 20e6),
        cpu_shares={} if programs.quota_controller() is None else {"linux-d": 0.2},
    )
    try:
        yield lab.up(options)
    finally:
        lab.down(NAME)


def findings_of(
    of: lab.LabState, folder: Path, link: str, pairing: str, test: str
) -> list[Finding]:
    matrix = (
        f"title: planted\nlink: {link}\npairings: [{pairing}]\nrepeats: 1\n"
        f"defaults: {{duration: 1s, warm_up: 500ms}}\ntests:\n  - {{test: stream, {test}}}\n"
    )
    return [*run_matrix(of, folder, matrix).findings]


COUNTERS = "nr_periods {}\\nnr_throttled {}\\nthrottled_usec {}\\n"
VERSION_2 = f"""
mount -t tmpfs none /sys/fs/cgroup
printf '{COUNTERS.format(10, 2, 1000)}' > /sys/fs/cgroup/cpu.stat
"$0" receive bind=127.0.0.1 port=$1 seconds=4 message=1448 &
until grep -qi ":$(printf %04x "$1") 00000000:0000 0A" /proc/net/tcp; do sleep 0.01; done
"$0" send to=127.0.0.1:$1 seconds=4 message=1448 >/dev/null &
sleep 2
printf '{COUNTERS.format(20, 9, 51000)}' > /sys/fs/cgroup/cpu.stat
wait
"""


def test_the_probe_reads_cpu_quotas_of_control_groups_version_2() -> None:
    """Which this kernel may not have: the file that it would find there is played."""
    argv = ["unshare", "--mount", "sh", "-c", VERSION_2, str(build()), str(own_port())]
    environment = {**os.environ, "NETPROBE_TOKEN": "00112233445566778899aabbccddeeff"}
    process = subprocess.run(
        argv, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    result = json.loads(process.stdout.splitlines()[-1])
    quota_values = {name.removeprefix("quota_"): result[name] for name in result if "quota" in name}
    assert quota_values == {"periods": 10, "throttled_periods": 7, "throttled_ns": 50_000_000}


LARGE = "protocol: TCP, message_size: 1348, congestion: cubic"
SMALL = "protocol: TCP, message_size: 64, congestion: cubic, client_cpu: 1, server_cpu: 0"


@pytest.mark.night
@pytest.mark.produces("wire-ceiling")
def test_a_stream_at_the_wire_ceiling_gets_no_warning(cable_run: Path) -> None:
    run = load(cable_run)
    (stream,) = [record for record in run.records if record.test == "stream"]
    # TCP with timestamps over IPv4: 52 bytes of each packet of 1400 are headers, and 38 of framing
    # go with each. A tenth of a per cent is what clocks may make of it.
    ceiling_bit_per_s = 20e6 * (1400 - 52) / (1400 + 38)
    assert float(str(stream.values["throughput_bit_per_s"])) <= 1.001 * ceiling_bit_per_s
    findings = [f for f in run.findings if stream.cell in {cell for cell, _ in f.trials}]
    assert [finding.kind for finding in findings if finding.severity == "warning"] == []
    assert Kind.WIRE_CEILING in {finding.kind for finding in findings}


@pytest.mark.produces("above-wire/rate", "mtu-mismatch/stream", "interface/mtus")
def test_a_wrong_link_rate_and_a_wrong_mtu_in_the_matrix_are_named(
    planted: lab.LabState, tmp_path: Path
) -> None:
    link = "{rate: 10Mbit, mtu: 1500}"
    findings = findings_of(planted, tmp_path, link, "linux-a+linux-b", LARGE)
    by_kind = {finding.kind: finding for finding in findings}
    above, mtu = by_kind[Kind.ABOVE_WIRE_RATE], by_kind[Kind.MTU_MISMATCH_STREAM]
    assert above.evidence["throughput_bit_per_s"] > 1.05 * above.evidence["ceiling_bit_per_s"]
    assert (mtu.evidence["path_mtu_bytes"], mtu.evidence["link_mtu_bytes"]) == (1400, 1500)
    interfaces = by_kind[Kind.INTERFACE_MTUS]
    assert (interfaces.evidence["interface_mtu_bytes"], interfaces.group.host) == (1400, "")
    assert {*interfaces.words["hosts"].split(", ")} == {"linux-a", "linux-b"}
    assert Kind.INTERFACE_MTU not in by_kind


@pytest.mark.needs("quota")
@pytest.mark.produces("cpu-wait/sender-quota")
def test_a_sender_under_a_cpu_quota_is_named_with_its_throttling(
    planted: lab.LabState, tmp_path: Path
) -> None:
    link = "{rate: 10Gbit, mtu: 1400}"
    findings = findings_of(planted, tmp_path, link, "linux-c+linux-d", SMALL)
    (limit,) = [finding for finding in findings if finding.kind is Kind.CPU_WAIT_SENDER_QUOTA]
    assert limit.severity == "warning"
    assert limit.evidence["sender_throttled_share"] > 0.05
