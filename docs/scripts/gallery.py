"""Draws the gallery's pictures of runs whose charts are not in the checkout.

Run ``python docs/scripts/gallery.py`` after a run of reports/ was measured again. It makes a report
of a copy of each run, and keeps one chart of it in docs/pictures/gallery.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "docs" / "pictures" / "gallery"
CHARTS = {
    "lab-report-lab": "message-size-udp",
    "connection-kinds-lab": "every-host-with-every-other-1",
    "engines-lab": "message-size-udp-direction-client-sends-engine-netprobe",
    "nettest-lab": "over-time-1",
    "nettest-lab-unshaped": "round-trip-tcp-1",
    "payload-lab": "payload-udp-ipv4",
    "payload-lab-unshaped": "payload-udp-ipv4",
    "latency-under-load-lab": "latency-over-time-1",
    "rfc2544-lab": "frame-loss-1",
    "udp-mirror-lab-pinned": "round-trip-udp-1",
    "udp-mirror-lab-unshaped": "round-trip-udp-1",
    "udp-mirror-lab-windows": "round-trip-udp-1",
}
"""Recorded run → the chart in the gallery."""


def main() -> None:
    """Draw every picture again."""
    GALLERY.mkdir(exist_ok=True)
    for name, chart in CHARTS.items():
        with tempfile.TemporaryDirectory() as folder:
            run = shutil.copytree(ROOT / "reports" / name, Path(folder) / name)
            subprocess.run([sys.executable, "-m", "netlab", "report", str(run)], check=True)
            shutil.copy(run / "charts" / f"{chart}.png", GALLERY / f"{name}.png")


if __name__ == "__main__":
    main()
