"""Compares the sent rate with the offered rate on an unshaped veth: `make benchmark-pacing`.

UDP is offered at rates from 1 Mbit/s to 1 Gbit/s in full frames, and up to 50 Mbit/s in messages of
64 bytes, with the sender on CPU 0 and the receiver on CPU 1. A late sender catches up by at most
one burst and reports the skipped messages; on a busy machine they explain the difference. If a
hypervisor took CPU time during a trial, the trial is repeated, whatever its result is. The table
also has the lateness of the send calls, from the histogram of each record. Run it on a quiet
machine; the load before and after is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.ends import RECEIVER_CPU, SENDER_CPU
from benchmarks.stage import Verdict, a_lab, finish, netlab, run_words, table
from netlab.store.reader import read
from netlab.trial.record import Record, Status
from netlab.units import format_rate, parse_rate

MOST_ERROR = 0.005
CASES: dict[int, tuple[str, ...]] = {
    1472: ("1Mbit", "3Mbit", "10Mbit", "30Mbit", "100Mbit", "300Mbit", "1000Mbit"),
    64: ("1Mbit", "3Mbit", "10Mbit", "20Mbit", "50Mbit"),
}
"""Message size in bytes → rates of payload."""
LEAST_MESSAGES = 400


def matrix(seconds: float, repeats: int) -> str:
    """The matrix of the rates of ``CASES``, in blocks, so that disturbances affect all rates alike.

    Each window holds at least ``LEAST_MESSAGES``, because a rate is exact only to one message.
    """
    tests = "".join(
        f"  - {{test: stream, protocol: UDP, message_size: {size}, rate: {rate}, "
        f"duration: {max(seconds, 8 * size * LEAST_MESSAGES / parse_rate(rate)):g}s}}\n"
        for size, rates in CASES.items()
        for rate in rates
    )
    return (
        f"title: pacing\npairings: [LL]\nrepeats: {repeats}\norder: shuffled\n"
        "quiet: {steal: 0.5 %, tries: 5}\n"
        f"defaults: {{warm_up: 100ms, socket_buffer: 4MiB, "
        f"client_cpu: {SENDER_CPU}, server_cpu: {RECEIVER_CPU}}}\ntests:\n{tests}"
    )


def error_of(record: Record) -> float | None:
    """Difference between sent and offered rate, as a share of the offered rate; ``None`` without a
    result.
    """
    sent_rate, offered_rate = (
        record.values.get("sent_bit_per_s"),
        record.settings.get("rate_bit_per_s"),
    )
    if record.status is not Status.OK or sent_rate is None:
        return None
    return float(str(sent_rate)) / float(str(offered_rate)) - 1


def late_ns(records: Sequence[Record], share: float) -> int | None:
    """The lateness in ns that this share of the sends did not exceed, over all records together.

    Bucket k of a histogram has the sends that were 2^k to 2^(k+1) ns late. The upper edge of the
    bucket is returned, which is at most twice the true value. ``None`` if no record has a
    histogram.
    """
    buckets: Counter[int] = Counter()
    for record in records:
        histogram = record.values.get("sender_late_histogram_ns")
        for bucket, count in enumerate(histogram if isinstance(histogram, list) else []):
            buckets[bucket] += int(count)
    threshold, tally = share * buckets.total(), 0
    for bucket in sorted(buckets):
        tally += buckets[bucket]
        if tally and tally >= threshold:
            return int(2 ** (bucket + 1))
    return None


def measured(seconds: float, repeats: int) -> list[Record]:
    """Measure in a new lab, and return the last record of every trial."""
    with a_lab() as lab, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pacing.yaml").write_text(matrix(seconds, repeats))
        words = run_words(folder / "pacing.yaml", lab.hosts_file, folder / "run")
        netlab(*words, accept=(0, 3))
        return list(read(folder / "run").latest.values())


def lines_of(
    records: Sequence[Record],
) -> tuple[list[list[str]], list[Verdict], list[dict[str, object]]]:
    """A line of the table, a verdict, and the figures, for each message size and rate."""
    cells: dict[tuple[int, float], list[Record]] = {}
    for record in records:
        size, rate = record.settings["message_bytes"], record.settings["rate_bit_per_s"]
        cells.setdefault((int(str(size)), float(str(rate))), []).append(record)
    lines, verdicts, figures = [], [], []
    for (size, rate), trials in sorted(cells.items(), key=lambda item: (-item[0][0], item[0][1])):
        errors = [error for trial in trials if (error := error_of(trial)) is not None]
        skipped = sum(int(str(r.values.get("sender_skipped_messages", 0))) for r in trials)
        message_count = sum(int(str(r.values.get("sent_messages", 0))) for r in trials)
        bursts = [int(str(r.values.get("sender_largest_burst", 0))) for r in trials]
        label = f"{size} bytes, {format_rate(rate)}"
        if not errors:
            verdicts.append(Verdict(False, label, "no result"))
            continue
        middle, worst = statistics.median(errors), max(errors, key=abs)
        share = skipped / (message_count + skipped)
        half_ns, most_ns = late_ns(trials, 0.5), late_ns(trials, 0.99)
        if half_ns is None or most_ns is None:
            verdicts.append(Verdict(False, label, "no distribution of lateness in the records"))
            continue
        lines.append(
            [
                *(label, f"{100 * middle:+.3f}", f"{100 * worst:+.3f}", f"{100 * share:.3f}"),
                *(f"{half_ns / 1e3:.1f}", f"{most_ns / 1e3:.1f}"),
                *(str(max(bursts)), str(len(errors))),
            ]
        )
        verdicts.append(
            Verdict(abs(middle) < MOST_ERROR, label, f"{100 * middle:+.3f} % off, median")
        )
        figures.append(
            {
                "message_bytes": size,
                "offered_bit_per_s": rate,
                "error_shares": errors,
                "skipped_share": share,
                "half_late_ns": half_ns,
                "p99_late_ns": most_ns,
            }
        )
    return lines, verdicts, figures


def main() -> int:
    """Measure, print the table and the verdicts. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    load_before = os.getloadavg()[0]
    lines, verdicts, figures = lines_of(measured(arguments.seconds, arguments.repeats))
    head = ["offered", "median, %", "worst, %", "skipped, %", "half late ≤ µs", "99 % late ≤ µs"]
    head += ["largest burst", "trials"]
    print(table(head, lines))
    print(f"load before {load_before:.2f}, after {os.getloadavg()[0]:.2f}, {os.cpu_count()} CPUs")
    return finish(verdicts, json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
