"""Limits the queue of each CPU of this machine for received frames, until its standard input ends.

    python benchmarks/truths/scripts/backlog.py FRAMES

The setting belongs to the whole machine, not to a lab: so it returns even if whoever started the
script is killed.
"""

import sys
from pathlib import Path

SETTING = Path("/proc/sys/net/core/netdev_max_backlog")


def main() -> None:
    """Set it, print `ready`, wait, and set it back."""
    usual = SETTING.read_text()
    SETTING.write_text(sys.argv[1])
    try:
        print("ready", flush=True)
        sys.stdin.read()
    finally:
        SETTING.write_text(usual)


if __name__ == "__main__":
    main()
