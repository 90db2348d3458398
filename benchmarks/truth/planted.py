"""Checks whether searches find known limits of a router in the lab: `make benchmark-planted`.

A router forwards 40, 37 or 61 of 100 Mbit/s. The highest rate without loss is searched five times
for each of five frame sizes from 256 bytes upwards, with trials of 2 s. Each rate found must be
within one step of the router's rate. A queue of 20 frames in the router must show in the longest
burst. On an unshaped veth the measuring hosts are the limit: the record must name this, with the
busiest core, and must not have 100 % of the line rate. `--quick` makes each search once, which
takes about a fifth of the time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.stage import Verdict, a_lab, finish, netlab, run_words, table
from netlab.store.reader import read
from netlab.trial.record import Record, Status

LINE_MBIT = 100
PLANTED_MBIT = (40, 37, 61)
SIZES = (256, 512, 1024, 1280, 1518)
STEP = 0.02
QUEUE_FRAMES = 20
HELD_FRAMES = 4
"""Number of frames that a router holds in addition to its queue: two frames that its shaper lets
pass at once, the frame that leaves, and the frame that arrives."""
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
        # Delayed frames arrive in bursts, and a short queue would drop them.
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
    # The resolution is one step of the grid. The factor allows for rounding.
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
    """Search without a router and a shaper. The line rate is the one that the veth reports."""
    descriptions = []
    is_met = True
    test = "{test: throughput_search, frame_size: [64, 1518], resolution: 0.5 %}"
    with _searched(test, 1, rate=None) as records:
        for record in records:
            share, limit = _share(record), record.values.get("limit")
            core, host = record.values.get("limit_core"), record.values.get("limit_host")
            is_named = limit in OF_THE_TESTER and core is not None
            # If the measuring hosts are the limit at every rate, the search has no result, and its
            # reason names the host.
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
    """The records of a matrix with one test, measured in a new lab. With a rate, the lab has a
    router.
    """
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
    """The rate found, as a share of the line rate; ``None`` if no rate was found."""
    share = record.values.get("line_share")
    return float(str(share)) if record.status is Status.OK and share is not None else None


if __name__ == "__main__":
    sys.exit(main())
