"""Traffic of others: datagrams at a steady rate, and who takes them.

    python benchmarks/truths/scripts/other.py sink PORT
    python benchmarks/truths/scripts/other.py send ADDRESS PORT BIT_PER_S BYTES

It says `ready` and lives until it is killed or its standard input ends. A script of its own.
"""

import os
import socket
import sys
import threading
import time


def main() -> None:
    """One of the two."""
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
    """One after the other; what is late is made up for."""
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
        except OSError:  # nobody listens for a moment
            time.sleep(0.001)


def ends_with_input() -> None:
    """Whoever started it is gone."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
