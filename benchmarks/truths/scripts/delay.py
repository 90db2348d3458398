"""A path with delay where the kernel has no netem: run in a lab's router, it holds every packet.

    ip netns exec ROUTER python benchmarks/truths/scripts/delay.py SECONDS INTERFACE INTERFACE

What comes in by the interfaces is routed into a TUN device, waits here, and goes on from there by
the router's own routes. It says `ready` on standard output and lives until its standard input ends.
A script of its own: nothing of netlab in it. Python forwards some 20,000 packets a second this way:
for slow cables and small windows.
"""

import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque

DEVICE = "delay"
TABLE = "100"
MOST_BYTES = 65536
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000


def main() -> None:
    """Make the device, turn the packets to it, hold them."""
    delay_ns = round(float(sys.argv[1]) * 1e9)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    ip("link", "set", DEVICE, "up")
    ip("route", "add", "default", "dev", DEVICE, "table", TABLE)
    for interface in sys.argv[2:]:
        ip("rule", "add", "iif", interface, "lookup", TABLE)
    print("ready", flush=True)
    hold(tun, delay_ns)


def ip(*words: str) -> None:
    """Ends with the program's own words where it refuses."""
    subprocess.run(["ip", *words], check=True)


def hold(tun: int, delay_ns: int) -> None:
    """Every packet goes on so long after it came, in the order in which they came."""
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
