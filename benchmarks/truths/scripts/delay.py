"""Delays every packet in a lab's router, or those that a host sends, for kernels without netem.

    ip netns exec ROUTER python benchmarks/truths/scripts/delay.py SECONDS INTERFACE INTERFACE
    ip netns exec HOST python benchmarks/truths/scripts/delay.py SECONDS own

Packets that arrive at the interfaces are routed into a TUN device and wait in this script. Then
they are forwarded by the router's own routes. The script prints `ready`, and runs until its
standard input ends. It imports nothing of netlab. Python forwards about 20,000 packets per second
this way, which is enough only for slow cables and small windows.
"""

import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

DEVICE = "delay"
TABLE = "100"
OWN = (
    *(("ip_forward", "1"), (f"conf/{DEVICE}/accept_local", "1")),
    *(("conf/all/rp_filter", "0"), (f"conf/{DEVICE}/rp_filter", "0")),
)
"""Settings with which the kernel forwards a packet that has an address of its own."""
MOST_BYTES = 65536
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000


def main() -> None:
    """Make the device, route the packets into it, and delay them."""
    delay_ns = round(float(sys.argv[1]) * 1e9)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    ip("link", "set", DEVICE, "up")
    ip("route", "add", "default", "dev", DEVICE, "table", TABLE)
    if sys.argv[2:] == ["own"]:
        delay_own()
    else:
        for interface in sys.argv[2:]:
            ip("rule", "add", "iif", interface, "lookup", TABLE)
    print("ready", flush=True)
    hold(tun, delay_ns)


def delay_own() -> None:
    """Route what this host itself sends at the interface ``test`` into the device. The host must
    then forward packets with its own address.
    """
    for name, value in OWN:
        Path("/proc/sys/net/ipv4", name).write_text(value, encoding="ascii")
    chain = "ip delay output { type route hook output priority mangle; }"
    rule = f"ip delay output oifname test meta mark set {TABLE}"
    nft = f"add table ip delay; add chain {chain}; add rule {rule}"
    subprocess.run(["nft", nft], check=True)
    ip("rule", "add", "fwmark", TABLE, "lookup", TABLE)


def ip(*words: str) -> None:
    """Run ``ip``; an exception ends the script if it fails."""
    subprocess.run(["ip", *words], check=True)


def hold(tun: int, delay_ns: int) -> None:
    """Forward every packet ``delay_ns`` after its arrival, in the order of arrival."""
    queue: deque[tuple[int, bytes]] = deque()
    while True:
        now_ns = time.monotonic_ns()
        while queue and queue[0][0] <= now_ns:
            os.write(tun, queue.popleft()[1])
        wait_s = (queue[0][0] - now_ns) / 1e9 if queue else None
        ready, _, _ = select.select([tun, sys.stdin], [], [], wait_s)
        if sys.stdin in ready and not os.read(sys.stdin.fileno(), 1):
            return
        while tun in ready:
            try:
                queue.append((time.monotonic_ns() + delay_ns, os.read(tun, MOST_BYTES)))
            except BlockingIOError:
                break


if __name__ == "__main__":
    main()
