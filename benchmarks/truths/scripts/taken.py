"""Lets a host of the lab read in its /proc/stat that others took its CPUs.

    nsenter --target SSHD --mount python benchmarks/truths/scripts/taken.py SHARE

A hypervisor that takes CPU time cannot be made; what it leaves behind is one column of that file.
So much of each CPU's time is moved there from the column of users, where the neighbour that really
took the time (neighbour.py) is counted. It says `ready` and lives until its standard input ends.
"""

import ctypes
import os
import select
import subprocess
import sys

REAL = "/proc/stat"
FAKE = "/run/netlab-stat"
EVERY_S = 0.005
MNT_DETACH = 2
USER, STEAL = 0, 7
"""Columns, without the CPU's name."""


def main() -> None:
    """Rewrite the file every few milliseconds, in place, its length unchanged."""
    share, real = float(sys.argv[1]), os.open(REAL, os.O_RDONLY)
    fake_columns = Told(share, lines_of(real))
    fake = os.open(FAKE, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    write(fake, fake_columns.next(lines_of(real)))
    subprocess.run(["mount", "--bind", FAKE, REAL], check=True)
    try:
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], EVERY_S)[0]:
            write(fake, fake_columns.next(lines_of(real)))
    finally:
        # The program asks /proc/self, which a process from outside does not have there.
        ctypes.CDLL(None).umount2(REAL.encode(), MNT_DETACH)


def lines_of(descriptor: int) -> list[str]:
    """Of the real file, as it is now."""
    return os.pread(descriptor, 1 << 20, 0).decode().splitlines()


def write(descriptor: int, lines: list[str]) -> None:
    """Padded: a reader never sees the end of an older text."""
    text = "\n".join(lines) + "\n"
    os.pwrite(descriptor, text.encode().ljust(1 << 14, b"\n"), 0)


class Told:
    """The columns of each CPU as they are told: none ever falls, whatever is moved."""

    def __init__(self, share: float, lines: list[str]) -> None:
        self.share = share
        self.real = columns(lines)
        self.told = columns(lines)
        self.owed = dict.fromkeys(self.real, 0.0)

    def next(self, lines: list[str]) -> list[str]:
        """The file's lines with what came since the last time, part of it in the other column."""
        for name, now in columns(lines).items():
            more = [max(0, b - a) for a, b in zip(self.real[name], now, strict=True)]
            self.owed[name] += self.share * sum(more)
            ticks = min(more[USER], int(self.owed[name]))
            self.owed[name] -= ticks
            more[USER] -= ticks
            more[STEAL] += ticks
            self.told[name] = [a + b for a, b in zip(self.told[name], more, strict=True)]
            self.real[name] = now
        words = {name: " ".join(map(str, [name, *numbers])) for name, numbers in self.told.items()}
        return [words.get(line.partition(" ")[0], line) for line in lines]


def columns(lines: list[str]) -> dict[str, list[int]]:
    """Name of each CPU, and of all → its columns."""
    cpu_columns = {}
    for line in lines:
        name, *numbers = line.split()
        if name.startswith("cpu"):
            cpu_columns[name] = [int(number) for number in numbers]
    return cpu_columns


if __name__ == "__main__":
    main()
