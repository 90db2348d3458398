"""The probe's binary for this machine: built from the checkout's sources when they are newer."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from netlab.errors import NetlabError, UsageError

SOURCES = Path(__file__).resolve().parent.parent / "probes"
BUILD_S = 300.0
_building = threading.Lock()


def local_probe(on_event: Callable[[str], None] | None = None) -> Path:
    """The path of a netprobe that is as new as its sources; UsageError names what is missing."""
    with _building:
        return _built(on_event)


def _built(on_event: Callable[[str], None] | None) -> Path:
    binary = SOURCES / "build" / "netprobe"
    if _is_current(binary):
        return binary
    if not SOURCES.is_dir():
        raise UsageError(f"no sources of the probe in {SOURCES}: run netlab from its checkout")
    if shutil.which("make") is None:
        raise UsageError(
            "the probe is built with make, and there is none: sudo apt-get install make"
        )
    if on_event is not None:
        on_event("building the probe for this machine")
    try:
        built = subprocess.run(
            ["make", "--no-print-directory", "-C", str(SOURCES)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NetlabError(f"building the probe in {SOURCES} failed: {error}") from None
    if built.returncode != 0 or not binary.is_file():
        said = [line for line in built.stderr.splitlines() if line.strip()]
        missing = next((line for line in said if "needs a C compiler" in line), None)
        if missing is not None:
            raise UsageError(missing.partition("*** ")[2].removesuffix(".  Stop.") or missing)
        what = "\n".join(said[:20]) or f"make ended with {built.returncode}"
        raise NetlabError(f"building the probe in {SOURCES} failed:\n{what}")
    # Make leaves a binary alone whose sources changed in time only: it is current all the same.
    binary.touch()
    return binary


def _is_current(binary: Path) -> bool:
    try:
        built_at = binary.stat().st_mtime
    except OSError:
        return False
    sources = [*SOURCES.glob("*.[ch]"), SOURCES / "Makefile"]
    return all(source.stat().st_mtime <= built_at for source in sources)
