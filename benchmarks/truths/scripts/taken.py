"""Makes the /proc/stat of a lab's host show that others took CPU time.

    nsenter --target SSHD --mount python benchmarks/truths/scripts/taken.py SHARE

A test cannot make a hypervisor that takes CPU time, but the only trace of it is a column of this
file. The script moves the share SHARE of each CPU's time there from the column for user programs,
in which the program that really used the time (neighbour.py) is counted. It prints `ready`, and
runs until its standard input ends.
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
"""Numbers of columns, without the column of the CPU's name."""


def main() -> None:
    """Rewrite the file every few milliseconds in place, always with the same length."""
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
        # The program ``umount`` reads /proc/self, which this process does not have in the host.
        ctypes.CDLL(None).umount2(REAL.encode(), MNT_DETACH)


def lines_of(descriptor: int) -> list[str]:
    """The present lines of the real file."""
    return os.pread(descriptor, 1 << 20, 0).decode().splitlines()


def write(descriptor: int, lines: list[str]) -> None:
    """Write the lines, padded to a fixed length: so no reader sees the end of an older text."""
    text = "\n".join(lines) + "\n"
    os.pwrite(descriptor, text.encode().ljust(1 << 14, b"\n"), 0)


class Told:
    """The columns of each CPU as the host reads them. No column ever decreases."""

    def __init__(self, share: float, lines: list[str]) -> None:
        self.share = share
        self.real = columns(lines)
        self.told = columns(lines)
        self.owed = dict.fromkeys(self.real, 0.0)

    def next(self, lines: list[str]) -> list[str]:
        """The file's lines with the growth since the last call, a share of it moved to the column
        of stolen time.
        """
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
    """Name of each CPU, and ``cpu`` for all together → its columns."""
    cpu_columns = {}
    for line in lines:
        name, *numbers = line.split()
        if name.startswith("cpu"):
            cpu_columns[name] = [int(number) for number in numbers]
    return cpu_columns


if __name__ == "__main__":
    main()
