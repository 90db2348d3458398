"""The nettest, UDPmirror and payload experiments in the lab, as `reports/` keeps them.

`make benchmark-recorded` measures each at a tenth of its counts, at 100 Mbit/s and unshaped, among
Linux hosts and with Windows programs under wine: 15 minutes. With `--scale 1` in full: an hour and
a half. Each run lands in a folder below `--into`, with its report.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.stage import ROOT, Verdict, a_lab, finish, netlab
from netlab import load

RATE_BIT_PER_S = 100e6
FOUR = "pairings=[LL,WL,LW,WW]"


@dataclass(frozen=True, slots=True)
class Recording:
    """A shipped matrix in one kind of lab; the folder of its run is named for both."""

    name: str
    matrix: str
    rate_bit_per_s: float | None = None
    lab: dict[str, Any] = field(default_factory=dict)
    settings: tuple[str, ...] = ()


ROUTER = {"topology": "router"}
CHECKSUMS = {"checksums": "software"}
RECORDINGS = (
    Recording("nettest-lab", "nettest", RATE_BIT_PER_S, ROUTER),
    Recording("nettest-lab-unshaped", "nettest", None, ROUTER, ("pause=1s",)),
    Recording(
        "nettest-lab-windows",
        "nettest",
        RATE_BIT_PER_S,
        {**ROUTER, "windows": 1, "linux": 1},
        ("pairings=[WL,LW]", "repeats=3"),
    ),
    # Twenty trials a cell: what a checksum costs is little beside what a woken mirror scatters.
    Recording("udp-mirror-lab", "udp-mirror", RATE_BIT_PER_S, CHECKSUMS, ("repeats=20",)),
    Recording("udp-mirror-lab-unshaped", "udp-mirror", None, CHECKSUMS, ("repeats=20",)),
    Recording("udp-mirror-lab-windows", "udp-mirror", None, {"windows": 2}, (FOUR,)),
    Recording("payload-lab", "payload", RATE_BIT_PER_S, {"windows": 1}, ("pairings=[LL,WL]",)),
    Recording("payload-lab-unshaped", "payload", None),
)


def record(of: Recording, scale: float, into: Path) -> tuple[int, int, float]:
    """Measure it; trials that are ok or impossible for a host, all trials, and the seconds."""
    began = time.monotonic()
    with a_lab(of.rate_bit_per_s, **of.lab) as made, tempfile.TemporaryDirectory() as folder:
        matrix = Path(folder) / f"{of.matrix}.yaml"
        matrix.write_text(_matrix_of(of), "utf-8")
        words = ["run", str(matrix), "--into", str(into), "--hosts", str(made.hosts_file)]
        # A matrix without counts has nothing to scale.
        settings = (*of.settings, *((f"scale={scale}",) if of.matrix != "payload" else ()))
        netlab(*words, *(word for each in settings for word in ("--set", each)), accept=(0, 3))
    frame = load(into).frame
    told = int(frame["status"].isin(["ok", "impossible"]).sum())
    return told, len(frame), time.monotonic() - began


def _matrix_of(of: Recording) -> str:
    """The shipped matrix; that of a cable as fast as the CPU without the link, whose rate it is."""
    text = (ROOT / "matrices" / f"{of.matrix}.yaml").read_text("utf-8")
    if of.rate_bit_per_s is not None:
        return text
    unstated, links = re.subn(r"^link: .*\n", "", text, flags=re.MULTILINE)
    if links != 1:
        raise SystemExit(f"matrices/{of.matrix}.yaml: not one line that begins with link:")
    return unstated


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("names", nargs="*", metavar="NAME", help="all where none is named")
    words.add_argument("--scale", type=float, default=0.1, help="times every count; %(default)s")
    words.add_argument("--into", type=Path, metavar="DIR", help="a new folder without it")
    given = words.parse_args()
    known = [each.name for each in RECORDINGS]
    if unknown := set(given.names) - set(known):
        words.error(f"no recording {', '.join(sorted(unknown))}: {', '.join(known)}")
    into = given.into or Path(tempfile.mkdtemp(prefix="recorded-"))
    verdicts = []
    for each in RECORDINGS:
        if given.names and each.name not in given.names:
            continue
        told, trials, seconds = record(each, given.scale, into / each.name)
        said = f"{told} of {trials}, in {seconds:.0f} s: {into / each.name / 'index.html'}"
        verdicts.append(Verdict(told == trials, f"{each.name}: ok, or impossible, told why", said))
    met = sum(verdict.met for verdict in verdicts)
    return finish(verdicts, f"recorded: {met} of {len(verdicts)} runs at {given.scale:g} of scale")


if __name__ == "__main__":
    raise SystemExit(main())
