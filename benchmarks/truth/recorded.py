"""Measures the experiments of `reports/` in the lab: `make benchmark-recorded`.

They are measured at 100 Mbit/s or another rate, or unshaped, with Linux hosts or with Windows
programs under wine. Tests with a number of messages use a tenth of it, or all with `--scale 1`.
Each run has a folder below `--into`, with its report.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from benchmarks.stage import ROOT, Verdict, a_lab, finish, netlab
from netlab import load
from netlab.lab import LabState
from netlab.lab.network import NAMESPACES

RATE_BIT_PER_S = 100e6
LONGEST_RUN_S = 5 * 3600
ECHO_PORT = 7
FOUR = "pairings=[LL,WL,LW,WW]"


@dataclass(frozen=True, slots=True)
class Recording:
    """A matrix and the kind of lab in which it is measured. ``name`` is the folder of its run."""

    name: str
    matrix: str
    """The name of a matrix in ``matrices/``, or the file name of one next to this file."""
    rate_bit_per_s: float | None = None
    lab: dict[str, Any] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    is_scaled: bool = True
    """Whether it has numbers of messages that ``--scale`` reduces."""
    echo_at: str | None = None
    """The host on which an echo server answers that is not netlab's: the inventory's host
    ``echo``."""


ECHO_CONF = """\
service echo
{{
    id = echo
    type = INTERNAL UNLISTED
    socket_type = dgram
    protocol = udp
    port = {port}
    bind = {address}
    wait = yes
    cps = 10000000 1
    user = root
}}
"""
"""The datagram echo of xinetd. With its default ``cps``, it would pause after 50 datagrams a
second."""

ROUTER = {"topology": "router"}
QUEUED_RATE_BIT_PER_S = 20e6
"""Rate of a device whose queue of 200 full frames takes 123 ms."""
SLOW_RATE_BIT_PER_S = 10e6
"""A rate at which two CPUs can send 64-byte frames in both directions at line rate."""
# A device in the lab forwards at once, so the standard's waits of 2 and 5 s are not needed. Data in
# the sender's own buffer leaves before the shorter waits end.
SHORTER_SEARCHES = (
    *("duration=10s", "settle=200ms", "residual=1s"),
    *("resolution=1%", "back_to_back=10", "socket_buffer=512KiB"),
)
CHECKSUMS = {"checksums": "software"}
RECORDINGS = (
    Recording("nettest-lab", "nettest-lab.yaml", RATE_BIT_PER_S, ROUTER),
    Recording("nettest-lab-unshaped", "nettest", None, ROUTER, ("pause=1s",)),
    Recording(
        "nettest-lab-windows",
        "nettest",
        RATE_BIT_PER_S,
        {**ROUTER, "windows": 1, "linux": 1},
        ("pairings=[WL,LW]", "repeats=3"),
    ),
    Recording(
        "lab-report-lab", "lab-report", RATE_BIT_PER_S, {"windows": 2}, ("duration=1s",), False
    ),
    Recording(
        "engines-lab",
        "engines",
        RATE_BIT_PER_S,
        settings=("duration=1s", "repeats=3"),
        is_scaled=False,
    ),
    Recording(
        "connection-kinds-lab",
        "connection-kinds-lab.yaml",
        RATE_BIT_PER_S,
        {"linux": 4, "windows": 1, "second_rate": 10e6},
        is_scaled=False,
    ),
    Recording(
        "rfc2544-lab",
        "rfc2544",
        SLOW_RATE_BIT_PER_S,
        {**ROUTER, "device_rate": 8e6},
        ("direction=both", *SHORTER_SEARCHES),
        False,
    ),
    Recording(
        "latency-under-load-lab",
        "latency-under-load",
        QUEUED_RATE_BIT_PER_S,
        {**ROUTER, "rate": None, "device_rate": QUEUED_RATE_BIT_PER_S, "device_queue_frames": 200},
        ("direction=[client-sends,both]",),
        False,
    ),
    Recording(
        "udp-mirror-lab-pinned",
        "udp-mirror-lab-pinned.yaml",
        lab=CHECKSUMS,
        is_scaled=False,
        echo_at="linux-b",
    ),
    # Twenty trials per cell: the cost of a checksum is small compared with the scatter of the
    # mirror's wake-up times.
    Recording("udp-mirror-lab-unshaped", "udp-mirror", None, CHECKSUMS, ("repeats=20",)),
    Recording("udp-mirror-lab-windows", "udp-mirror", None, {"windows": 2}, (FOUR,)),
    Recording(
        "payload-lab",
        "payload",
        RATE_BIT_PER_S,
        {"windows": 1},
        ("pairings=[LL,WL]",),
        is_scaled=False,
    ),
    Recording("payload-lab-unshaped", "payload", is_scaled=False),
)


def record(of: Recording, scale: float, into: Path) -> tuple[int, int, float]:
    """Measure a recording. Returns the number of trials that are ok or impossible, the number of
    all trials, and the seconds that it took.
    """
    began = time.monotonic()
    with a_lab(of.rate_bit_per_s, **of.lab) as lab, tempfile.TemporaryDirectory() as folder:
        matrix = Path(folder) / f"{of.matrix}.yaml"
        matrix.write_text(_matrix_of(of), "utf-8")
        settings = (*of.settings, *((f"scale={scale}",) if of.is_scaled else ()))
        options = [word for setting in settings for word in ("--set", setting)]
        with _echo(of, lab, Path(folder)) as hosts:
            words = ["run", str(matrix), "--into", str(into), "--hosts", str(hosts)]
            netlab(*words, *options, accept=(0, 3), timeout_s=LONGEST_RUN_S)
    frame = load(into).frame
    explained_count = int(frame["status"].isin(["ok", "impossible"]).sum())
    return explained_count, len(frame), time.monotonic() - began


def _matrix_of(of: Recording) -> str:
    """The matrix with the lab's rate in its ``link``. For an unshaped cable, which has no known
    rate, the matrix without its ``link``.
    """
    shipped = ROOT / "matrices" / f"{of.matrix}.yaml"
    file = Path(__file__).with_name(of.matrix) if of.matrix.endswith(".yaml") else shipped
    text = file.read_text("utf-8")
    if of.rate_bit_per_s is None:
        new_text, links = re.subn(r"^link: .*\n", "", text, flags=re.MULTILINE)
    else:
        rate = f"rate: {of.rate_bit_per_s / 1e6:g}Mbit"
        new_text, links = re.subn(r"(?<=^link: \{)rate: \w+", rate, text, flags=re.MULTILINE)
    if links != text.count("link:") or links > 1:
        raise SystemExit(f"{file}: not one line that begins with link:")
    return new_text


@contextmanager
def _echo(of: Recording, lab: LabState, folder: Path) -> Iterator[Path | None]:
    """Run the echo server, if the recording needs one, and yield the inventory that includes it."""
    if of.echo_at is None:
        yield lab.hosts_file
        return
    (host,) = (lab_host for lab_host in lab.hosts if lab_host.name == of.echo_at)
    conf = folder / "xinetd.conf"
    conf.write_text(ECHO_CONF.format(address=host.addresses[0], port=ECHO_PORT), "utf-8")
    hosts = folder / "hosts.yaml"
    inventory = yaml.safe_load(lab.hosts_file.read_text("utf-8")) if lab.hosts_file else {}
    mirror = {"address": host.addresses[0], "port": ECHO_PORT}
    inventory["hosts"]["echo"] = {"os": "X", "mirror": mirror}
    hosts.write_text(yaml.safe_dump(inventory, sort_keys=False), "utf-8")
    inside = ("nsenter", f"--net={NAMESPACES / host.namespace}", "taskset", "--cpu-list", "1")
    words = [*inside, "xinetd", "-dontfork", "-f", str(conf), "-pidfile", str(folder / "pid")]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as echo:
        try:
            yield hosts
        finally:
            echo.terminate()


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("names", nargs="*", metavar="NAME", help="all where none is named")
    words.add_argument("--scale", type=float, default=0.1, help="times every count; %(default)s")
    words.add_argument("--into", type=Path, metavar="DIR", help="a new folder without it")
    arguments = words.parse_args()
    names = [recording.name for recording in RECORDINGS]
    if unknown := set(arguments.names) - set(names):
        words.error(f"no recording {', '.join(sorted(unknown))}: {', '.join(names)}")
    into = arguments.into or Path(tempfile.mkdtemp(prefix="recorded-"))
    verdicts = []
    for recording in RECORDINGS:
        if arguments.names and recording.name not in arguments.names:
            continue
        folder = into / recording.name
        explained_count, trials, seconds = record(recording, arguments.scale, folder)
        outcome = f"{explained_count} of {trials}, in {seconds:.0f} s: {folder / 'index.html'}"
        verdicts.append(
            Verdict(
                explained_count == trials, f"{recording.name}: ok, or impossible, told why", outcome
            )
        )
    met_count = sum(verdict.met for verdict in verdicts)
    return finish(
        verdicts, f"recorded: {met_count} of {len(verdicts)} runs at {arguments.scale:g} of scale"
    )


if __name__ == "__main__":
    raise SystemExit(main())
