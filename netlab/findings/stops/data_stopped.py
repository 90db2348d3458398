"""Stops: trials in which data stopped for a time, with the cause and all attempts.

There is one finding per cell (combination of settings) and flow (direction of data).
``netlab.experiment.interruptions`` defines an interruption.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.experiment.interruptions import Cause, Interruption, interruptions, least_ns
from netlab.experiment.records import FLOWS, Record, Status
from netlab.findings.evidence import number
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.trial_words import in_trials
from netlab.messages import Message, _

if TYPE_CHECKING:
    from netlab.results.run import Run

UNKNOWN = _("the record does not show what stopped the data")

CAUSES: Mapping[tuple[Cause, str], Message] = {
    (Cause.CARRIER, ""): _("carrier lost"),
    (Cause.CLOCK, "sender"): _("the sender’s clock was set"),
    (Cause.CLOCK, "receiver"): _("the receiver’s clock was set"),
    (Cause.CLOCK, "client"): _("the client’s clock was set"),
    (Cause.CLOCK, "server"): _("the server’s clock was set"),
    (Cause.PROCESS, "sender"): _("the sender’s process did not run"),
    (Cause.PROCESS, "receiver"): _("the receiver’s process did not run"),
    (Cause.PROCESS, "client"): _("the client’s process did not run"),
    (Cause.PROCESS, "server"): _("the server’s process did not run"),
    (Cause.STEAL, "sender"): _("the sender’s CPUs were given to other machines"),
    (Cause.STEAL, "receiver"): _("the receiver’s CPUs were given to other machines"),
    (Cause.STEAL, "client"): _("the client’s CPUs were given to other machines"),
    (Cause.STEAL, "server"): _("the server’s CPUs were given to other machines"),
    (Cause.SUSPENDED, "sender"): _("the sender was suspended"),
    (Cause.SUSPENDED, "receiver"): _("the receiver was suspended"),
    (Cause.SUSPENDED, "client"): _("the client was suspended"),
    (Cause.SUSPENDED, "server"): _("the server was suspended"),
}
"""(cause, end) → its text; the end is empty if both ends share the cause."""

SILENT = 20
"""Minimum silence for a finding, in mean intervals between two receive calls of a stream."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt at a trial, and the interruption of one of its flows."""

    record: Record
    stop: Interruption


def stopped(run: Run) -> Iterator[Finding]:
    """Warnings if data stopped in the latest attempt at a trial, which is the one that counts;
    notes if data stopped only in an earlier attempt.
    """
    latest_attempts: dict[tuple[str, str], list[_Attempt]] = defaultdict(list)
    earlier_attempts: dict[tuple[str, str], list[_Attempt]] = defaultdict(list)
    for record in run.records:
        latest = run.latest.get((record.cell, record.trial))
        # Skip trials without a result: outside the plan, or the last attempt failed or is pending.
        if latest is None or latest.status is not Status.OK:
            continue
        for stop in interruptions(record):
            attempts_by_flow = latest_attempts if latest is record else earlier_attempts
            attempts_by_flow[record.cell, stop.flow].append(_Attempt(record, stop))
    all_attempts = _attempts_of(run.records)
    for attempts in latest_attempts.values():
        yield _finding(Kind.INTERRUPTION_FINAL, attempts, all_attempts)
    for flow, attempts in earlier_attempts.items():
        latest_trials = {attempt.record.trial for attempt in latest_attempts.get(flow, ())}
        if measured_again := [
            attempt for attempt in attempts if attempt.record.trial not in latest_trials
        ]:
            yield _finding(Kind.INTERRUPTION_EARLIER, measured_again, all_attempts)


def silent_streams(run: Run) -> Iterator[Finding]:
    """Notes about cells in which one of several streams was silent while the others continued."""
    silent: dict[tuple[str, str], list[_Attempt]] = defaultdict(list)
    for record in run.latest.values():
        for flow in FLOWS if record.status is Status.OK else ():
            stop = _silence(record, flow)
            if stop is not None:
                silent[record.cell, flow].append(_Attempt(record, stop))
    for attempts in silent.values():
        worst = max(attempts, key=lambda attempt: attempt.stop.stopped_ns)
        figures = {
            "streams": number(worst.record.settings.get("streams")),
            "stopped_ns": worst.stop.stopped_ns,
            "window_ns": worst.stop.window_ns,
        }
        group, cells = group_of(worst.record, worst.stop.flow), (worst.record.cell,)
        yield finding(Kind.INTERRUPTION_ONE_STREAM, group, cells, figures)


def _attempts_of(records: Iterable[Record]) -> Mapping[str, Mapping[int, list[Record]]]:
    """Cell → trial → its attempts with a result."""
    attempts: dict[str, dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record.status is Status.OK:
            attempts[record.cell][record.trial].append(record)
    return attempts


def _finding(
    kind: Kind,
    attempts: list[_Attempt],
    all_attempts: Mapping[str, Mapping[int, list[Record]]],
) -> Finding:
    """The finding about one flow of a cell; its figures are those of the longest interruption."""
    worst = max(attempts, key=lambda attempt: attempt.stop.stopped_ns)
    record, stop = worst.record, worst.stop
    trials = len({attempt.record.trial for attempt in attempts})
    figures: dict[str, float | None] = {
        "stopped_ns": stop.stopped_ns,
        "window_ns": stop.window_ns,
        "at_ns": stop.at_ns,
        "gaps": stop.gaps,
        "trials": trials,
        "of_trials": len(all_attempts[record.cell]),
    }
    for name in ("throughput_bit_per_s", "rtt_mean_ns"):
        for attempt_number, attempt_record in enumerate(
            all_attempts[record.cell][record.trial], start=1
        ):
            figures[f"attempt_{attempt_number}_{name}"] = number(
                attempt_record.values.get(stop.flow + name)
            )
    words = {"cause": _in_words(stop), **in_trials(trials, len(all_attempts[record.cell]))}
    return finding(kind, group_of(record, stop.flow), (record.cell,), figures, words)


def _in_words(stop: Interruption) -> Message:
    if stop.cause is None:
        return UNKNOWN
    return CAUSES.get((stop.cause, stop.end)) or CAUSES[stop.cause, ""]


def group_of(record: Record, flow: str) -> Group:
    """The group of a finding about one flow of a cell; ``flow`` is the prefix of its values."""
    size = record.settings.get("message_bytes")
    return Group(
        record.pairing,
        str(record.settings.get("protocol", "")),
        size if isinstance(size, int) else None,
        FLOWS[flow],
    )


def _silence(record: Record, flow: str) -> Interruption | None:
    """The longest silence of one of several streams while the others continued.

    ``None`` if no silence was long enough, and for old records, which have no gaps.
    """
    gaps = {
        name: number(record.values.get(f"{flow}receiver_{name}"))
        for name in ("gap_count", "gap_total_ns", "longest_gap_ns", "marks", "elapsed_ns")
    }
    streams = number(record.settings.get("streams")) or 1
    longest_ns, window_ns, marks = gaps["longest_gap_ns"], gaps["elapsed_ns"], gaps["marks"]
    if gaps["gap_count"] is None or streams < 2 or not (longest_ns and window_ns and marks):
        return None
    each_ns = window_ns * streams / marks
    short = longest_ns < max(least_ns(window_ns), SILENT * each_ns)
    if short or longest_ns <= (gaps["gap_total_ns"] or 0):
        return None
    return Interruption(
        flow=flow, stopped_ns=round(longest_ns), gaps=1, at_ns=0, window_ns=round(window_ns)
    )
