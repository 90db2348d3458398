"""Uses CPUs: at real-time priority for a part of each period, or always at a nice level.

    python benchmarks/truths/scripts/neighbour.py CPUS bursts MILLISECONDS [PERIOD_MS] | nice LEVEL

Without a number the period is 100 ms.

The script prints `ready`, and runs until it is killed or its standard input ends. It imports
nothing of netlab.
"""

import os
import sys
import threading
import time

PERIOD_S = float(sys.argv[4]) / 1e3 if sys.argv[4:] else 0.1


def main() -> None:
    """Start a process per CPU, because only one thread of a Python process runs at a time."""
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
    """Use a CPU until the process is killed."""
    os.sched_setaffinity(0, {cpu})
    if mode == "bursts":
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        bursts(float(sys.argv[3]) / 1e3, begin_s)
    else:
        os.nice(int(sys.argv[3]))
    while True:
        pass


def bursts(busy_s: float, begin_s: float) -> None:
    """Spin for ``busy_s`` at the beginning of each period, on all CPUs at the same time."""
    while True:
        time.sleep(max(0.0, begin_s - time.monotonic()))
        while time.monotonic() < begin_s + busy_s:
            pass
        begin_s += PERIOD_S


def ends_with(parent: int) -> None:
    """End when the parent has ended: a child has no standard input of its own to watch."""
    while os.getppid() == parent:
        time.sleep(0.05)
    os._exit(0)


def ends_with_input() -> None:
    """End when standard input ends, because the process that started this one is gone."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
