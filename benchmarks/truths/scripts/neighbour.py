"""A program that takes a CPU: for a part of each tenth of a second before all others, or always.

    python benchmarks/truths/scripts/neighbour.py CPUS bursts MILLISECONDS | nice LEVEL

It says `ready` and lives until it is killed or its standard input ends. A script of its own.
"""

import os
import sys
import threading
import time

PERIOD_S = 0.1


def main() -> None:
    """A process a CPU, since threads of Python take turns."""
    cpus, mode = [int(cpu) for cpu in sys.argv[1].split(",")], sys.argv[2]
    begin_s = time.monotonic() + 0.05
    for cpu in cpus[1:]:
        if os.fork() == 0:
            parent = os.getppid()
            threading.Thread(target=ends_with, args=(parent,), daemon=True).start()
            take(cpu, mode, begin_s)
    print("ready", flush=True)
    threading.Thread(target=ends_with_input, daemon=True).start()
    take(cpus[0], mode, begin_s)


def take(cpu: int, mode: str, begin_s: float) -> None:
    """Until killed."""
    os.sched_setaffinity(0, {cpu})
    if mode == "bursts":
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        bursts(float(sys.argv[3]) / 1e3, begin_s)
    else:
        os.nice(int(sys.argv[3]))
    while True:
        pass


def bursts(busy_s: float, begin_s: float) -> None:
    """Each period begins with it, on all CPUs at the same time."""
    while True:
        time.sleep(max(0.0, begin_s - time.monotonic()))
        while time.monotonic() < begin_s + busy_s:
            pass
        begin_s += PERIOD_S


def ends_with(parent: int) -> None:
    """A child has no input of its own to watch."""
    while os.getppid() == parent:
        time.sleep(0.05)
    os._exit(0)


def ends_with_input() -> None:
    """Whoever started it is gone."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
