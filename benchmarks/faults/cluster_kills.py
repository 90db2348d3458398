"""Kills the workers of a cluster at random while it measures: `make benchmark-cluster-kills`.

A scheduler and four workers run in network namespaces of their own, over TLS. They form two sites
that reach each other's hosts over the test network only, so every trial has its two ends at two
workers. The lab report's cells of two Linux hosts are measured between two pairs of hosts. Each
kill is a SIGKILL of a random worker, which is started again up to 2 s later.

At the end all cells must be measured. At no moment may two probes have open sockets in
the test network of one host. 20 s after the run, no probe may be left. Then the run with two pairs
at two workers is timed against the same run with `parallel: false`, both in turn. Its
cells take as long as those of the lab report.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.stage import LAB_REPORT, ROOT, Verdict, a_lab, finish
from netlab.findings.analysis import load
from netlab.lab import LabState

sys.path.insert(0, str(ROOT / "tests" / "injection"))
from cluster_site import ClusterSite, cluster_site

KILLS, CELLS = 50, 208
PAIRS = "linux-a+linux-b,linux-c+linux-d"
SITES = {"north": ("linux-a", "linux-c"), "south": ("linux-b", "linux-d")}
GONE_S = 20.0
LOOK_S = 0.2
RATIO_MOST = 0.6
LAB_REPORT_S = 10
SHORT = """
title: two pairs of hosts
link: {{rate: 100Mbit, mtu: 1500}}
pairings: [linux-a+linux-b, linux-c+linux-d]
parallel: {parallel}
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: [256, 512, 1024, 1472]
    duration: {seconds:g}s
"""


@dataclass(slots=True)
class Watch:
    """Looks at the sockets of the hosts' probes in the test network until it is stopped."""

    lab: LabState
    overlaps: list[str] = field(default_factory=list)
    looks: int = 0
    busy: int = 0
    """Number of looks at a host that found a probe with open sockets."""
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self._over.wait(LOOK_S):
            for host in self.lab.hosts:
                words = ["ip", "netns", "exec", host.namespace, "ss", "-Htunap"]
                text = subprocess.run(words, capture_output=True, text=True, check=False).stdout
                address = host.addresses[0]
                lines = [line for line in text.splitlines() if f"{address}:" in line]
                pids = {pid for line in lines for pid in re.findall(r'"netprobe.*?pid=(\d+)', line)}
                self.looks += 1
                self.busy += bool(pids)
                if len(pids) > 1:
                    self.overlaps.append(f"{host.name}: probes {', '.join(sorted(pids))}")

    def stop(self) -> None:
        self._over.set()


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--kills", type=int, default=KILLS)
    words.add_argument("--seconds", type=float, default=1.0, help="a cell")
    words.add_argument("--times", type=int, default=3, help="runs of each kind that are timed")
    words.add_argument("--seed", type=int, default=1)
    arguments = words.parse_args()
    chance = random.Random(arguments.seed)  # noqa: S311  (no secret: moments that can be repeated)
    verdicts: list[Verdict] = []
    with a_lab(100e6, linux=4) as lab:
        with (
            tempfile.TemporaryDirectory() as scratch,
            cluster_site(lab, Path(scratch), SITES) as site,
        ):
            verdicts += killed(site, lab, chance, arguments.kills, arguments.seconds)
        # Each pair in one site, each site with one worker: two pairs at two workers.
        sites = {"east": ("linux-a", "linux-b"), "west": ("linux-c", "linux-d")}
        with (
            tempfile.TemporaryDirectory() as scratch,
            cluster_site(lab, Path(scratch), sites, 1) as site,
        ):
            verdicts.append(timed(site, arguments.times))
    return finish(verdicts, f"seed {arguments.seed}")


def killed(
    site: ClusterSite, lab: LabState, chance: random.Random, kills: int, seconds: float
) -> list[Verdict]:
    """One run while workers are killed; resumed if it ends before its cells are measured."""
    into, watch = site.folder / "run", Watch(lab)
    threading.Thread(target=watch.run, daemon=True).start()
    run = start(site, into, seconds)
    await_records(run, into)
    killed_workers: Counter[str] = Counter()
    while killed_workers.total() < kills:
        time.sleep(chance.uniform(0.5, 6))
        if run.poll() is not None:
            raise SystemExit(f"the run has ended before the last kill: {run.communicate()[0]}")
        name = chance.choice(site.workers)
        site.kill(name)
        killed_workers[name] += 1
        time.sleep(chance.uniform(0, 2))
        site.start(name)
    run.communicate(timeout=1800)
    run = start(site, into, seconds)
    _, code = run.communicate(timeout=1800), run.returncode
    time.sleep(GONE_S)
    watch.stop()
    left = {name: pids for name, pids in site.probes().items() if pids}
    records = load(into).records
    states = Counter(str(record.status) for record in records)
    results = [record for record in records if str(record.status) in ("ok", "impossible")]
    lost = CELLS - len({record.cell for record in results})
    return [
        Verdict(
            lost == 0 and code == 0,
            f"no cell lost in {killed_workers.total()} kills",
            f"{lost} of {CELLS} lost, {dict(states)}, exit status {code}, "
            f"{dict(sorted(killed_workers.items()))}",
        ),
        Verdict(
            not watch.overlaps and watch.busy > 0,
            "no two probes measure at one host",
            f"{len(watch.overlaps)} in {watch.looks} looks, {watch.busy} of them at a busy host"
            + "".join(f"; {overlap}" for overlap in watch.overlaps[:3]),
        ),
        Verdict(not left, f"no probe left {GONE_S:g} s after the run", str(left or "none")),
    ]


def start(site: ClusterSite, into: Path, seconds: float, *more: str) -> subprocess.Popen[str]:
    """`netlab run` of the lab report's Linux cells, between two pairs of hosts."""
    return site.typed(
        "run", str(LAB_REPORT), "--hosts", str(site.inventory), "--cluster", site.address,
        "--into", str(into), "--no-report", "--set", f"pairings=[{PAIRS}]",
        "--set", "parallel=true", "--set", f"duration={seconds:g}s", "--retries", "3", *more,
    )  # fmt: skip


def await_records(run: subprocess.Popen[str], into: Path) -> None:
    """Wait until the run has its first record."""
    journal = into / "journal.jsonl"
    while not (journal.exists() and '"kind":"record"' in journal.read_text().replace(" ", "")):
        if run.poll() is not None:
            raise SystemExit(f"the run has ended: {run.communicate()[0]}")
        time.sleep(0.2)


def timed(site: ClusterSite, times: int) -> Verdict:
    """The time of the run of two pairs at two workers, as a share of one after the other."""
    ratios = []
    for number in range(times):
        took_s = {}
        for word in ("true", "false"):
            name = f"{word}-{number}"
            text = SHORT.format(parallel=word, seconds=LAB_REPORT_S)
            (site.folder / f"{name}.yaml").write_text(text)
            words = ["--hosts", str(site.inventory), "--cluster", site.address, "--no-report"]
            run = site.typed("run", f"{name}.yaml", *words, "--into", name)
            began_s = time.monotonic()
            output, _ = run.communicate(timeout=600)
            took_s[word] = time.monotonic() - began_s
            if run.returncode:
                raise SystemExit(output)
        ratios.append(took_s["true"] / took_s["false"])
    median = statistics.median(ratios)
    return Verdict(
        median <= RATIO_MOST,
        f"two pairs at two workers: at most {RATIO_MOST} of the time of one after the other",
        f"median {median:.2f}, {min(ratios):.2f} to {max(ratios):.2f}, {times} pairs of runs",
    )


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
