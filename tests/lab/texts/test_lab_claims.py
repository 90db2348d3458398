"""What docs/lab.md says of the lab: its file systems, one kernel, a switch, a router."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import DOCS
from labs import inside, needs_a_lab_at_rest, ssh, wait_until

from netlab import lab
from netlab.lab import programs, state
from netlab.lab.plan import LabOptions

TEXT = (DOCS / "lab.md").read_text("utf-8")
NAME = f"c{os.getpid()}"
PORT = 9009
IP_UDP_BYTES = 28


@pytest.fixture(scope="module")
def pair() -> Iterator[lab.LabState]:
    try:
        yield lab.up(LabOptions(name=NAME, rate=100e6))
    finally:
        lab.down(NAME)


@pytest.fixture(scope="module")
def star() -> Iterator[lab.LabState]:
    """Three hosts at a switch, the cable of linux-c of a smaller MTU."""
    name = f"{NAME}-s"
    try:
        yield lab.up(LabOptions(name=name, linux=3, mtus={"linux-c": 1400}))
    finally:
        lab.down(name)


@pytest.fixture(scope="module")
def routed() -> Iterator[lab.LabState]:
    """A router, and behind it a cable of a smaller MTU."""
    name = f"{NAME}-r"
    try:
        yield lab.up(LabOptions(name=name, topology="router", mtus={"linux-b": 1400}))
    finally:
        lab.down(name)


class TestAHost:
    pytestmark = needs_a_lab_at_rest

    def test_folders_that_a_lab_host_writes_to_are_in_memory(self, pair: lab.LabState) -> None:
        mounts = [line.split() for line in ssh(pair, "linux-a", "cat /proc/mounts").splitlines()]
        kinds = {words[1]: words[2] for words in mounts}
        assert {kinds[place] for place in ("/home", "/run", "/var/log")} == {"tmpfs"}

    def test_lab_hosts_solicit_no_ipv6_router_and_send_no_packet_of_several_segments(
        self, pair: lab.LabState
    ) -> None:
        for host in (0, 1):
            key = "net.ipv6.conf.test.router_solicitations"
            assert inside(pair, host, "sysctl", "-n", key) == "0"
            link = inside(pair, host, "ip", "-d", "-j", "link", "show", "dev", "test")
            assert json.loads(link)[0]["gso_max_segs"] == 1

    def test_lab_hosts_share_the_kernel_the_clock_and_the_cpu_counters_of_the_machine(
        self, pair: lab.LabState
    ) -> None:
        assert ssh(pair, "linux-a", "uname -r") == os.uname().release
        first_reading = (switches(), time.monotonic())
        words = ssh(pair, "linux-a", "grep ctxt /proc/stat; cat /proc/uptime").split()
        last_reading = (switches(), time.monotonic())
        assert first_reading[0] <= int(words[1]) <= last_reading[0]
        # Since the machine started; hundredths are cut off.
        assert first_reading[1] - 0.01 <= float(words[2]) <= last_reading[1] + 0.01
        softnet = "/proc/net/softnet_stat"
        cpus = len(Path(softnet).read_text().splitlines())
        assert len(inside(pair, 0, "cat", softnet).splitlines()) == cpus
        limit_path = "/proc/sys/net/core/rmem_max"
        assert inside(pair, 0, "cat", limit_path) == Path(limit_path).read_text().strip()

    def test_interfaces_of_lab_hosts_have_no_features_of_a_network_card(
        self, pair: lab.LabState
    ) -> None:
        assert "Speed: 10000Mb/s" in inside(pair, 0, "ethtool", "test")
        stamps = inside(pair, 0, "ethtool", "-T", "test")
        assert "hardware-transmit" not in stamps
        for option in ("-g", "-c"):  # rings, coalescing
            words = ["ip", "netns", "exec", pair.hosts[0].namespace, "ethtool", option, "test"]
            process = subprocess.run(words, capture_output=True, text=True, check=False)
            assert process.returncode != 0 or "n/a" in process.stdout

    def test_all_processes_of_a_lab_host_end_with_its_sshd(self) -> None:
        name = f"{NAME}-e"
        lab_state = lab.up(LabOptions(name=name))
        try:
            ssh(
                lab_state,
                "linux-a",
                "cp /bin/sleep . && (setsid ./sleep 599 >/dev/null 2>&1 </dev/null &)",
            )
            wait_until(lambda: asleep("599"))
            process = state.read_started(lab_state.folder / "linux-a.process")
            assert process is not None
            os.kill(process.pid, signal.SIGKILL)
            wait_until(lambda: not asleep("599"))
        finally:
            lab.down(name)


def switches() -> int:
    """How often this machine's CPUs went from one process to another so far."""
    match = re.search(r"^ctxt (\d+)$", Path("/proc/stat").read_text(), re.MULTILINE)
    assert match is not None
    return int(match[1])


def asleep(seconds: str) -> bool:
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words.read_bytes().split(b"\0")[:2] == [b"./sleep", seconds.encode()]:
                return True
        except OSError:
            continue
    return False


TAKE = """
import select, socket, sys
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
door.bind(("", int(sys.argv[1])))
print("ready", flush=True)
sizes = []
while door in (ready := select.select([door, sys.stdin], [], [])[0]):
    sizes.append(len(door.recv(65536)))
print(*sizes)
"""
"""Until its input ends and nothing waits any more."""
GIVE = """
import socket, sys, time
IP_MTU_DISCOVER, DO = 10, 2
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, DO)
for size in sys.argv[3:]:
    try:
        link.sendto(bytes(int(size)), (sys.argv[1], int(sys.argv[2])))
        print("sent")
    except OSError as error:
        print(error.errno)
    time.sleep(0.5)
"""


def sent(of: lab.LabState, by: int, to: int, *packets: int) -> tuple[list[int], list[str]]:
    """IP packets of these lengths, none to be cut up: which of them came, and what was said."""
    take = [*("ip", "netns", "exec", of.hosts[to].namespace), sys.executable, "-c", TAKE, str(PORT)]
    sizes = [str(length - IP_UDP_BYTES) for length in packets]
    pipe = subprocess.PIPE
    with subprocess.Popen(take, stdin=pipe, stdout=pipe, text=True) as taker:
        assert taker.stdin is not None and taker.stdout is not None
        assert taker.stdout.readline() == "ready\n"
        address = of.hosts[to].addresses[0]
        answers = inside(of, by, sys.executable, "-c", GIVE, address, str(PORT), *sizes).split()
        taker.stdin.close()
        arrivals = taker.stdout.read().split()
    return [int(size) + IP_UDP_BYTES for size in arrivals], answers


class TestTheWay:
    pytestmark = needs_a_lab_at_rest

    def test_a_switch_of_a_lab_drops_packets_that_are_too_long_without_a_report(
        self, star: lab.LabState
    ) -> None:
        arrivals, answers = sent(star, 0, 2, 1400, 1500, 1500, 1400)
        assert arrivals == [1400, 1400]
        assert answers == ["sent"] * 4

    def test_a_router_of_a_lab_reports_packets_that_are_too_long(
        self, routed: lab.LabState
    ) -> None:
        arrivals, answers = sent(routed, 0, 1, 1400, 1500, 1500)
        assert arrivals == [1400]
        emsgsize = "90"
        assert answers == ["sent", "sent", emsgsize]

    def test_a_switch_of_a_lab_has_no_address_no_spanning_tree_and_no_ipv6(
        self, star: lab.LabState
    ) -> None:
        assert star.plan is not None and star.plan.switch is not None
        words = ["ip", "-d", "-j", "-n", star.plan.switch]
        interfaces = json.loads(programs.run(*words, "address", "show"))
        assert [
            interface["addr_info"] for interface in interfaces if interface["ifname"] != "lo"
        ] == [[]] * (len(interfaces) - 1)
        links = json.loads(programs.run(*words, "link", "show"))
        (bridge,) = (
            link["linkinfo"]["info_data"]
            for link in links
            if link.get("linkinfo", {}).get("info_kind") == "bridge"
        )
        assert bridge["stp_state"] == 0
        sysctl = ["ip", "netns", "exec", star.plan.switch, "sysctl", "-n"]
        assert programs.run(*sysctl, "net.ipv6.conf.all.disable_ipv6").strip() == "1"


def test_the_lab_page_names_the_packages_that_netlab_looks_for() -> None:
    (linux,) = re.findall(r"`sudo apt-get install (iproute2[^`]*)`", TEXT)
    (wine,) = re.findall(r"`sudo apt-get install --no-install-recommends ([^`]*)`", TEXT)
    assert set(linux.split()) == set(programs.PROGRAMS.values())
    of_windows = set(programs.WINDOWS_PROGRAMS.values()) - set(linux.split())
    assert set(wine.split()) == of_windows


def test_the_lab_page_names_only_options_that_lab_up_has() -> None:
    from netlab.cli import cli

    group = cli.commands["lab"]
    options = {name for param in group.commands["up"].params for name in param.opts}  # type: ignore[attr-defined]
    part = TEXT[TEXT.index("`netlab lab up --help`") : TEXT.index("`netlab lab status`")]
    page_options = {*re.findall(r"--[a-z-]+", part)}
    assert len(page_options) > 7
    assert page_options - options - {"--help"} == set()
