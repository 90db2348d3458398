"""Measures a lab with other tools than netlab: iperf3, the kernel's counters, a plain socket."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Callable

from benchmarks.truths.site import RECEIVER, RECEIVER_CPU, SENDER, SENDER_CPU, Site
from netlab.lab.network import OVERHEAD_BYTES

Measure = Callable[[Site], float]
"""A function that measures the present state of a lab."""
SECONDS, WARM_UP_S = 1.5, 0.5
ROUNDS = 3
PORT = 5301


def iperf3(
    site: Site,
    *words: str,
    sender: str = SENDER,
    receiver: str = RECEIVER,
    warm_up_s: float = WARM_UP_S,
    seconds: float = SECONDS,
    rounds: int = ROUNDS,
) -> float:
    """The throughput at the receiver in bit/s: the median of the rounds.

    Both ends run in the control groups of their hosts.
    """
    address = site.host(receiver).addresses[0]
    server = ("iperf3", "--server", "--port", str(PORT))
    client = [
        *("iperf3", "--client", address, "--port", str(PORT), "--json"),
        *("--time", f"{seconds:g}", "--omit", f"{warm_up_s:g}"),
        *("--affinity", f"{SENDER_CPU},{RECEIVER_CPU}", *words),
    ]
    with site.running(receiver, *server, in_group=True):
        time.sleep(0.2)
        return statistics.median(_received(site, sender, client) for _ in range(rounds))


def _received(site: Site, sender: str, client: list[str]) -> float:
    argv = site.words(sender, client, in_group=True)
    process = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    output = json.loads(process.stdout)
    if "error" in output:
        raise RuntimeError(f"iperf3: {output['error']}")
    end = output["end"]
    received = end.get("sum_received") or end["sum"]
    # For UDP, some versions print the sender's bytes, and separately the share that was lost.
    loss = 0.0 if end.get("sum_received") else end["sum"].get("lost_percent", 0.0) / 100
    return float(received["bits_per_second"]) * (1 - loss)


def tcp(site: Site) -> float:
    """The throughput of one TCP stream, with the systems' default buffers, in bit/s."""
    return iperf3(site)


def tcp_over_delay(site: Site) -> float:
    """As ``tcp``, with a longer warm-up: on a path with delay a stream takes longer to reach its
    rate.
    """
    return iperf3(site, warm_up_s=1.5)


def tcp_small_buffers(site: Site) -> float:
    """The throughput of one TCP stream with buffers that hold a few milliseconds, in bit/s."""
    return iperf3(site, "--window", "64K")


def udp_small_buffers(site: Site) -> float:
    """The throughput of UDP sent as fast as possible, with such buffers, at the receiver in
    bit/s.
    """
    return iperf3(site, *["--udp", "--bitrate", "0", "--length", "1448", "--window", "64K"])


def tcp_small_messages(site: Site) -> float:
    """The throughput of one TCP stream with messages of 64 bytes, in bit/s: the sender's CPU limits
    it.
    """
    return iperf3(site, "--length", "64")


def slowest_way(site: Site) -> float:
    """The lowest throughput in a mesh, of all ordered pairs of hosts, in bit/s."""
    names = [host.name for host in site.plan.hosts]
    ways = [(sender, receiver) for sender in names for receiver in names if sender != receiver]
    return min(
        iperf3(site, sender=sender, receiver=receiver, seconds=1, rounds=1)
        for sender, receiver in ways
    )


def wire_rate(interface: str = "test", host: str = RECEIVER) -> Measure:
    """Measures what arrives at an interface while no test runs, with framing, in bit/s."""

    def measure(site: Site) -> float:
        def read() -> tuple[float, int]:
            files = f"/sys/class/net/{interface}/statistics/rx_"
            frames, octets = site.run(host, "cat", f"{files}packets", f"{files}bytes").split()
            return time.monotonic(), 8 * (int(octets) + OVERHEAD_BYTES * int(frames))

        began, first = read()
        time.sleep(1)
        end, second = read()
        return (second - first) / (end - began)

    return measure


LARGEST = """
import socket, sys
IP_MTU_DISCOVER, IP_PMTUDISC_PROBE = 10, 3
address, reply = sys.argv[1], None
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
out.connect((address, 5302))
out.settimeout(0.2)
low, high = 500, 1473
while high - low > 1:
    size = (low + high) // 2
    try:
        out.send(bytes(size))
        reply = out.recv(10)
        low = size
    except OSError:
        high = size
print(low + 28)
"""
ECHO = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as echo:
    echo.bind(("", 5302))
    while True:
        data, sender = echo.recvfrom(70000)
        echo.sendto(b"x", sender)
"""


def path_mtu(site: Site) -> float:
    """The length of the longest IP packet that arrives, in bytes, measured with a plain socket."""
    with site.running(RECEIVER, "python3", "-I", "-c", ECHO):
        time.sleep(0.3)
        address = site.host(RECEIVER).addresses[0]
        return float(site.run(SENDER, "python3", "-I", "-c", LARGEST, address))


def round_trip_ns(site: Site) -> float:
    """The round trip of a datagram of 1472 bytes and an answer of 1 byte, with a plain socket.

    The median of 200, in ns.
    """
    script = (
        "import socket, sys, time\n"
        "out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "out.connect((sys.argv[1], 5302)); out.settimeout(1); took = []\n"
        "for _ in range(200):\n"
        "    began = time.perf_counter_ns(); out.send(bytes(1472)); out.recv(10)\n"
        "    took.append(time.perf_counter_ns() - began)\n"
        "print(sorted(took)[100])\n"
    )
    with site.running(RECEIVER, "python3", "-I", "-c", ECHO):
        time.sleep(0.3)
        address = site.host(RECEIVER).addresses[0]
        return float(site.run(SENDER, "python3", "-I", "-c", script, address))


def stolen_share(site: Site) -> float:
    """The share of stolen CPU time that a host reads in its /proc/stat, over a second."""
    pid, shares = site.sshd(RECEIVER), []
    words = ["nsenter", "--target", str(pid), "--mount", "head", "-1", "/proc/stat"]
    for _ in range(2):
        output = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        shares.append([int(word) for word in output[1:9]])
        time.sleep(1)
    more = [new_ticks - old_ticks for old_ticks, new_ticks in zip(*shares, strict=True)]
    return float(more[7] / max(1, sum(more)))
