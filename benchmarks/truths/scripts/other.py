"""Sends datagrams at a steady rate, or receives them: the traffic of others.

    python benchmarks/truths/scripts/other.py sink PORT
    python benchmarks/truths/scripts/other.py send ADDRESS PORT BIT_PER_S BYTES

The script prints `ready`, and runs until it is killed or its standard input ends. It imports
nothing of netlab.
"""

import os
import socket
import sys
import threading
import time


def main() -> None:
    """Receive or send, as the first argument says."""
    threading.Thread(target=ends_with_input, daemon=True).start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        if sys.argv[1] == "sink":
            out.bind(("", int(sys.argv[2])))
            print("ready", flush=True)
            buffer = bytearray(65536)
            while True:
                out.recv_into(buffer)
        address, port, rate, size = sys.argv[2], *map(int, sys.argv[3:6])
        out.connect((address, port))
        print("ready", flush=True)
        send(out, bytes(size), size * 8 / rate)


def send(out: socket.socket, message: bytes, every_s: float) -> None:
    """Send a message every ``every_s``. A delay of up to 0.1 s is made up for."""
    due = time.monotonic()
    while True:
        due += every_s
        wait_s = due - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        elif wait_s < -0.1:
            due = time.monotonic()
        try:
            out.send(message)
        except OSError:  # nobody listens at the moment
            time.sleep(0.001)


def ends_with_input() -> None:
    """End when standard input ends, because the process that started this one is gone."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
