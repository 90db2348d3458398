"""The network of a lab with Windows hosts: cables into a switch, their rate and MTU."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import (
    RATE_BIT_PER_S,
    argv,
    inside,
    inventory,
    needs_wine,
    started,
    wait_until,
    windows,
    wire_mbit_per_s,
)
from labs import WINDOWS_LAB as NAME

from netlab import lab
from netlab.lab import programs

PORT = 5301

RECEIVER = """
import socket
door = socket.create_server(("", {port}))
print("ready", flush=True)
link, _ = door.accept()
total = 0
while got := link.recv(262144): total += len(got)
print(total)
"""
SENDER = """
import socket, time
link = socket.create_connection(("{to}", {port}))
end, total = time.monotonic() + 2, 0
while time.monotonic() < end:
    link.sendall(bytes(65536)); total += 65536
print(total)
"""


@contextlib.contextmanager
def at_work(
    of: lab.LabState, name: str, deed: str, script: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Windows hosts do the deed, over SSH; Linux hosts run the script."""
    words = argv(of, name, f"lab.exe {deed}")
    if name.startswith("linux"):
        namespace = next(host.namespace for host in of.hosts if host.name == name)
        words = [programs.program("ip"), "netns", "exec", namespace, sys.executable, "-c", script]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


RATE_MBIT_PER_S = RATE_BIT_PER_S / 1e6


def frames_at(of: lab.LabState, number: int) -> int:
    """Frames that a host's test interface has taken in."""
    return int(inside(of, number, "cat", "/sys/class/net/test/statistics/rx_packets"))


def transfer(of: lab.LabState, pairing: str, port: int) -> float:
    """Send over TCP for a while; Mbit/s on the wire, once every byte has arrived."""
    to, by = inventory(of).pair(pairing)
    number = next(i for i, host in enumerate(of.hosts) if host.name == to.name)
    receiver_script = RECEIVER.format(port=port)
    sender_script = SENDER.format(to=to.address("test"), port=port)
    with at_work(of, to.name, f"take {port}", receiver_script) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline().strip() == b"ready"
        frames_before = frames_at(of, number)
        deed = f"give {to.address('test')} {port} 2000"
        with at_work(of, by.name, deed, sender_script) as sender:
            wait_until(lambda: frames_at(of, number) > frames_before + 100)
            rate = wire_mbit_per_s(of, number)
            sent_bytes, _ = sender.communicate(timeout=120)
            assert sender.returncode == 0
        received_bytes, _ = receiver.communicate(timeout=120)
    assert int(received_bytes) == int(sent_bytes) > 0
    return rate


class TestTheNetworkOfFourHosts:
    pytestmark = needs_wine

    def test_tcp_of_every_pairing_delivers_all_bytes_and_is_no_faster_than_the_cables(
        self, four_hosts: lab.LabState
    ) -> None:
        for number, pairing in enumerate(("LL", "WL", "LW", "WW")):
            assert transfer(four_hosts, pairing, PORT + number) < 1.02 * RATE_MBIT_PER_S

    @pytest.mark.night
    @pytest.mark.parametrize("pairing", ["LL", "WL", "LW", "WW"])
    def test_tcp_of_every_pairing_reaches_the_rate_of_the_cables_within_2_percent(
        self, four_hosts: lab.LabState, pairing: str
    ) -> None:
        full_rate = pytest.approx(RATE_MBIT_PER_S, rel=0.02)
        first_port = PORT + 10 + 10 * ["LL", "WL", "LW", "WW"].index(pairing)
        rates: list[float] = []
        while len(rates) < 6 and full_rate not in rates:
            rates.append(transfer(four_hosts, pairing, first_port + len(rates)))
        assert rates[-1] == full_rate, rates

    def test_every_cable_of_a_star_is_shaped_at_the_host_and_at_the_switch(
        self, four_hosts: lab.LabState
    ) -> None:
        assert four_hosts.plan is not None
        for end in (end for cable in four_hosts.plan.cables for end in cable.ends):
            queue = programs.run(
                "tc", "-d", "-n", end.namespace, "qdisc", "show", "dev", end.interface
            )
            assert "tbf" in queue and "rate 20Mbit" in queue
            assert "overhead 24 mpu 84 mtu 2047 tsize 2048" in queue

    def test_the_switch_of_a_lab_sends_frames_only_to_their_receiver(
        self, four_hosts: lab.LabState
    ) -> None:
        def frames() -> list[int]:
            return [frames_at(four_hosts, number) for number in range(4)]

        to = four_hosts.hosts[3].addresses[0]
        greet = f"import socket; socket.socket().connect_ex(('{to}', 9))"
        inside(four_hosts, 0, sys.executable, "-c", greet)
        old_counts = frames()
        send = (
            "import socket, time; link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            f"for _ in range(200): link.sendto(bytes(100), ('{to}', 9)); time.sleep(0.0005)"
        )
        inside(four_hosts, 0, sys.executable, "-c", send)
        wait_until(lambda: frames_at(four_hosts, 3) - old_counts[3] >= 200)
        arrivals = [
            new_count - old_count for old_count, new_count in zip(old_counts, frames(), strict=True)
        ]
        assert max(arrivals[1:3]) < 100, arrivals

    def test_the_mtu_of_a_cable_applies_to_windows_programs(self, four_hosts: lab.LabState) -> None:
        to = four_hosts.hosts[0].addresses[0]
        assert windows(four_hosts, f"lab.exe dgram {to} 9 1472").returncode == 0
        too_long = windows(four_hosts, f"lab.exe dgram {to} 9 1473")
        assert too_long.returncode == 1
        assert too_long.stdout.split() == [b"sendto", b"10040"], "WSAEMSGSIZE"

    def test_a_socket_of_a_windows_program_is_in_the_network_of_its_host(
        self, four_hosts: lab.LabState
    ) -> None:
        with started(four_hosts, "windows-a", f"take {PORT + 99}"):
            listening = f":{PORT + 99:04X} "
            assert listening in inside(four_hosts, 2, "cat", "/proc/net/tcp")
            assert listening not in Path("/proc/net/tcp").read_text()
            assert listening not in inside(four_hosts, 3, "cat", "/proc/net/tcp")

    def test_the_status_of_a_lab_names_its_switch_and_its_windows_hosts(
        self, four_hosts: lab.LabState
    ) -> None:
        plain = lab.status(NAME).as_json()
        assert plain["up"] is True
        assert [host["os"] for host in plain["hosts"]] == ["L", "L", "W", "W"]
        assert plain["switch"] == f"netlab-{NAME}-switch"
        assert "20 Mbit/s, MTU 1500, 4 into a switch" in lab.status(NAME).as_text()
