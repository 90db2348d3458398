"""A host whose interface runs at half duplex, which a TAP can say of itself, is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab, run_matrix

from netlab import lab
from netlab.findings.finding import Kind
from netlab.lab.plan import LabOptions
from netlab.lab.programs import run

pytestmark = [*needs_a_lab, pytest.mark.night]

NAME = f"d{os.getpid()}"
RATE_BIT_PER_S = 20e6
INTERFACE, WIRE = "test", "wire"
FORWARD = """
import fcntl, os, select, socket, struct, sys
tap = os.open("/dev/net/tun", os.O_RDWR)
IFF_TAP_NO_PI, TUNSETIFF, ETH_P_ALL, OUTGOING = 0x1002, 0x400454CA, 3, 4
fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", sys.argv[1].encode(), IFF_TAP_NO_PI))
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
wire.bind((sys.argv[2], ETH_P_ALL))
print("ready", flush=True)
while True:
    ready, _, _ = select.select([tap, wire], [], [], 120)
    if not ready:
        break
    if tap in ready:
        wire.send(os.read(tap, 2048))
    if wire in ready:
        frame, address = wire.recvfrom(2048)
        if address[2] != OUTGOING:
            os.write(tap, frame)
"""


@pytest.fixture
def with_a_tap() -> Iterator[lab.LabState]:
    """Two hosts; a process carries the frames of the first between its TAP and its cable."""
    options = LabOptions(name=NAME, linux=2, rate=RATE_BIT_PER_S, checksums="software")
    try:
        of = lab.up(options)
        namespace = of.hosts[0].namespace
        ip = ("ip", "-n", namespace)
        (was,) = json.loads(run(*ip, "-json", "address", "show", "dev", INTERFACE))
        run(*ip, "link", "set", INTERFACE, "down")
        run(*ip, "address", "flush", "dev", INTERFACE)
        run(*ip, "link", "set", INTERFACE, "name", WIRE, "addrgenmode", "none")
        # With an address of its own the cable's end gives nothing that comes in to IP.
        run(*ip, "link", "set", WIRE, "address", "02:00:00:00:00:99", "promisc", "on", "up")
        run(*ip, "tuntap", "add", "dev", INTERFACE, "mode", "tap")
        run(*ip, "link", "set", INTERFACE, "address", was["address"], "up")
        for each in was["addr_info"]:
            if each["scope"] == "global":
                address = f"{each['local']}/{each['prefixlen']}"
                run(*ip, "address", "add", address, "dev", INTERFACE)
        half = ("speed", "100", "duplex", "half")
        run("ip", "netns", "exec", namespace, "ethtool", "-s", INTERFACE, *half)
        argv = ["ip", "netns", "exec", namespace, sys.executable, "-c", FORWARD, INTERFACE, WIRE]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == b"ready"
            yield of
            process.kill()
    finally:
        lab.down(NAME)


@pytest.mark.produces("interface/duplex")
def test_a_host_whose_interface_runs_at_half_duplex_is_named(
    with_a_tap: lab.LabState, tmp_path: Path
) -> None:
    matrix = (
        "title: half\nlink: {rate: 20Mbit, mtu: 1500}\npairings: [linux-b+linux-a]\nrepeats: 1\n"
        "defaults: {duration: 1s, warm_up: 0.3s}\n"
        "tests:\n  - {test: stream, protocol: TCP, message_size: 1448}\n"
    )
    findings = run_matrix(with_a_tap, tmp_path, matrix).findings
    (half,) = [finding for finding in findings if finding.kind is Kind.INTERFACE_DUPLEX]
    assert (half.group.host, half.words["interface"]) == ("linux-a", INTERFACE)
