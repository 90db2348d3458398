"""Makes the /sys of a lab's host show that the governor of a CPU saves power.

    nsenter --target SSHD --mount python benchmarks/truths/scripts/saving.py CPU

The script prints `ready`, and runs until its standard input ends.
"""

import ctypes
import subprocess
import sys
from pathlib import Path

MNT_DETACH = 2


def main() -> None:
    """Lay a folder with a governor over that of the CPU."""
    folder = Path(f"/sys/devices/system/cpu/cpu{sys.argv[1]}")
    subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], check=True)
    try:
        (folder / "cpufreq").mkdir()
        (folder / "cpufreq" / "scaling_governor").write_text("powersave\n", encoding="ascii")
        print("ready", flush=True)
        sys.stdin.read()
    finally:
        # The program ``umount`` reads /proc/self, which this process does not have in the host.
        ctypes.CDLL(None).umount2(str(folder).encode(), MNT_DETACH)


if __name__ == "__main__":
    main()
