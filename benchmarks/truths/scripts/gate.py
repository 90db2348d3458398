"""Closes an interface to packets for a part of each period.

    python benchmarks/truths/scripts/gate.py MILLISECONDS PERIOD_MS [INTERFACE]

With an interface, its MTU is 700 bytes for that time, so that it refuses long frames; without one,
a packet filter drops what comes in at the interface `test`. The script prints `ready`, and runs
until its standard input ends. It imports nothing of netlab.
"""

import os
import select
import subprocess
import sys
import time

TABLE = "inet gate"
CHAIN = "{ type filter hook input priority 0; }"
CLOSE = (
    f"add table {TABLE}; add chain {TABLE} input {CHAIN}; add rule {TABLE} input iifname test drop"
)


def main() -> None:
    """Close and open until standard input ends; open at the end."""
    closed_s, period_s = float(sys.argv[1]) / 1e3, float(sys.argv[2]) / 1e3
    close: tuple[str, ...] = ("nft", CLOSE)
    reopen: tuple[str, ...] = ("nft", f"delete table {TABLE}")
    if sys.argv[3:]:
        close, reopen = (("ip", "link", "set", sys.argv[3], "mtu", mtu) for mtu in ("700", "1500"))
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))  # its times do not depend on load
    print("ready", flush=True)
    due_s = time.monotonic()
    while not ended_before(due_s + period_s):
        due_s += period_s
        subprocess.run(close, check=True)
        is_over = ended_before(due_s + closed_s)
        subprocess.run(reopen, check=True)
        if is_over:
            break


def ended_before(moment_s: float) -> bool:
    """Wait until that time of the monotonic clock, or until standard input ends."""
    return bool(select.select([sys.stdin], [], [], max(0, moment_s - time.monotonic()))[0])


if __name__ == "__main__":
    main()
