"""Limits planted in the lab, and whether a search finds them: `make benchmark-planted`.

A router forwards 40, 37 or 61 of 100 Mbit/s: every frame size of at least 256 bytes is searched
with trials of 2 s, five times, and each rate found must be within one step of the planted one. A
queue of 20 frames in the router must show in the longest burst. On an unshaped veth our own hosts
are the limit: the finding must name that, with the busiest core, and never 100 % of the line rate.
`--quick` searches each once, which takes about a fifth of the time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.stage import Verdict, a_lab, finish, netlab, run_words, table
from netlab.experiment.records import Record, Status
from netlab.store.reader import read

LINE_MBIT = 100
PLANTED_MBIT = (40, 37, 61)
SIZES = (256, 512, 1024, 1280, 1518)
STEP = 0.02
QUEUE_FRAMES = 20
HELD_FRAMES = 4
"""What a router holds besides its queue: the two frames that its shaper lets through at once, the
one that goes out, the one that comes in."""
OF_THE_TESTER = ("generator-bound", "receiver-bound")

MATRIX = """\
title: planted limits
pairings: [LL]
repeats: REPEATS
quiet: {steal: 2 %, tries: 4}
defaults: {resolution: 2 %, residual: 300ms, settle: 0s, duration: 2s, socket_buffer: 4MiB}
tests:
"""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--quick", action="store_true", help="each search once")
    repeats = 1 if words.parse_args().quick else 5
    verdicts = [_planted_rates(repeats), _planted_queue(repeats), _no_limit_of_a_device()]
    met_count = sum(verdict.met for verdict in verdicts)
    outcomes = "; ".join(verdict.measured for verdict in verdicts)
    return finish(verdicts, f"planted: {met_count} of {len(verdicts)} met: {outcomes}")


def _planted_rates(repeats: int) -> Verdict:
    rows, worst, searches, blamed = [], 0.0, 0, 0
    test = f"{{test: throughput_search, frame_size: {list(SIZES)}, burst: 500}}"
    for mbit in PLANTED_MBIT:
        # Frames that were held up come in bursts, which a short queue would lose.
        plant = {"device_rate": mbit * 1e6, "device_queue_frames": 1000}
        with _searched(test, repeats, **plant) as records:
            shares = {size: [_share(r) for r in records if _size(r) == size] for size in SIZES}
            searches += len(records)
            blamed += sum(record.values.get("limit") != "device" for record in records)
        for size, size_shares in shares.items():
            offs = [
                abs(share - mbit / LINE_MBIT) if share is not None else 1.0 for share in size_shares
            ]
            worst = max(worst, *offs)
            percentages = " ".join(
                "none" if share is None else f"{100 * share:.0f}" for share in size_shares
            )
            rows.append([f"{mbit} Mbit/s, {size} bytes", percentages])
    print(table(["planted, of 100 Mbit/s", "found, % of the line rate"], rows), end="\n\n")
    outcome = (
        f"{searches} searches, off by {100 * worst:.1f} % of the line rate at most, "
        f"{blamed} that named another limit than the device"
    )
    # A step of the grid is the resolution; a rounding beyond it is none of the search's.
    return Verdict(
        worst <= STEP * 1.001 and not blamed,
        f"each planted rate within a step of {100 * STEP:g} %, the device named",
        outcome,
    )


def _planted_queue(repeats: int) -> Verdict:
    test = f"{{test: throughput_search, frame_size: 1518, burst: 10, back_to_back: {10 * repeats}}}"
    plant = {"device_rate": 40e6, "device_queue_frames": QUEUE_FRAMES}
    with _searched(test, 1, **plant) as (record,):
        waiting_frames = record.values.get("back_to_back_waiting_frames")
        longest = record.values.get("back_to_back_frames")
        limit = record.values.get("back_to_back_limit")
    criterion = (
        f"a queue of {QUEUE_FRAMES} frames, and what else the router holds, in the longest burst"
    )
    if not isinstance(waiting_frames, float) or not isinstance(longest, float):
        return Verdict(False, criterion, f"no burst was found ({record.detail or limit})")
    return Verdict(
        QUEUE_FRAMES - 1 <= waiting_frames <= QUEUE_FRAMES + HELD_FRAMES,
        criterion,
        f"{waiting_frames:.1f} frames waiting of a burst of {longest:.1f}",
    )


def _no_limit_of_a_device() -> Verdict:
    """The line rate is what the veth says of itself; no router, no shaper."""
    descriptions = []
    is_met = True
    test = "{test: throughput_search, frame_size: [64, 1518], resolution: 0.5 %}"
    with _searched(test, 1, rate=None) as records:
        for record in records:
            share, limit = _share(record), record.values.get("limit")
            core, host = record.values.get("limit_core"), record.values.get("limit_host")
            is_named = limit in OF_THE_TESTER and core is not None
            # A search that our own hosts bound all the way down has no rate, and says who did.
            none = record.reason == "tester-bound" and "busiest core: CPU" in str(record.detail)
            is_met = is_met and (is_named or none) and (share or 0.0) < 1
            rate = "nothing" if share is None else f"{100 * share:.1f} %"
            explanation = f"{limit}, CPU {core} of {host}" if limit else str(record.detail)
            descriptions.append(f"{_size(record)} bytes {rate} ({explanation})")
    return Verdict(
        is_met, "an unshaped veth: our own host named, with its core", "; ".join(descriptions)
    )


@contextmanager
def _searched(
    test: str, repeats: int, rate: float | None = LINE_MBIT * 1e6, **device: float
) -> Iterator[Sequence[Record]]:
    """The records of a matrix of one test, in a lab of its own; a shaped one has a router."""
    link = "" if rate is None else f"link: {{rate: {LINE_MBIT}Mbit, mtu: 1500, hops: 1}}\n"
    text = link + MATRIX.replace("REPEATS", str(repeats)) + f"  - {test}\n"
    topology = "cable" if rate is None else "router"
    with (
        a_lab(rate, topology=topology, **device) as lab,
        tempfile.TemporaryDirectory() as folder,
    ):
        matrix, into = Path(folder) / "planted.yaml", Path(folder) / "run"
        matrix.write_text(text)
        netlab(*run_words(matrix, lab.hosts_file, into), accept=(0, 3))
        yield [*read(into).latest.values()]


def _size(record: Record) -> int:
    return int(str(record.settings["frame_bytes"]))


def _share(record: Record) -> float | None:
    """The rate found, of the line rate; ``None``: none."""
    share = record.values.get("line_share")
    return float(str(share)) if record.status is Status.OK and share is not None else None


if __name__ == "__main__":
    sys.exit(main())
