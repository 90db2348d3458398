"""Trials in which data stopped, and trials that lost part of their window in short pauses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.findings.evidence import ceiling_of, offered_bit_per_s
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import WINDOW_NS
from netlab.findings.streams.host_limits import STARVED
from netlab.findings.streams.limits import FILLED, OFFERED
from netlab.findings.trial_words import in_trials
from netlab.messages import Message, _
from netlab.trial.interruptions import Cause, Interruption, interruptions, least_ns
from netlab.trial.record import FLOWS, Record, Status, as_number

if TYPE_CHECKING:
    from netlab.ethernet import Link
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
            "streams": as_number(worst.record.settings.get("streams")),
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
            figures[f"attempt_{attempt_number}_{name}"] = attempt_record.number(stop.flow + name)
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
        name: record.number(f"{flow}receiver_{name}")
        for name in ("gap_count", "gap_total_ns", "longest_gap_ns", "marks", "elapsed_ns")
    }
    streams = as_number(record.settings.get("streams")) or 1
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


STALLED = 0.03
"""Minimum share of the window in which a process did not run, for a warning. TCP may need the same
time again to regain its rate, and a figure that is 5 % off needs a warning."""
LATE = 1.03
"""Ratio of received to offered data above which there is a warning. One long receive call, or a
sender that catches up, causes a smaller ratio."""
RAN = 1.1
"""CPU time plus pauses may be at most this multiple of the window, because the kernel's accounting
is not exact. If the sum is larger, the timer ticks that show the pauses were late while the
measuring thread ran."""


@dataclass(frozen=True, slots=True)
class _Delay:
    """One delayed flow of a trial: how much it is affected (``share``), and the figures and words
    of the finding."""

    record: Record
    share: float
    figures: dict[str, float | None]
    words: dict[str, str]


def delayed_trials(run: Run, link: Link | None) -> Iterator[Finding]:
    """Warnings about delayed trials.

    They concern processes that did not run for at least 3 % of their window, hosts that lost more
    than 5 % of their CPU time, senders that sent less than requested, and windows in which more
    data arrived than were offered. A flow of a trial has at most one of these warnings. A flow
    whose data stopped has none, since another finding reports this. Imported tables have no
    windows.
    """
    if run.plan.source is not None:
        return
    rules: tuple[tuple[Kind, Callable[[Record, str], _Delay | None]], ...] = (
        (Kind.HOST_DELAY_PROCESS, _process_pause),
        (Kind.HOST_DELAY_HYPERVISOR, _stolen_cpus),
        (Kind.OFF_RATE_LESS, lambda record, flow: _omitted_messages(record, flow, link)),
        (Kind.OFF_RATE_MORE, _late_messages),
    )
    by_rule: dict[tuple[Kind, str, str], list[_Delay]] = defaultdict(list)
    for record in run.latest.values():
        stopped_flows = {interruption.flow for interruption in interruptions(record)}
        for flow in FLOWS if record.status is Status.OK else ():
            for kind, rule in rules if flow not in stopped_flows else ():
                if delayed := rule(record, flow):
                    by_rule[kind, record.cell, flow].append(delayed)
                    break
    trials = _trials_of(run)
    for (kind, cell, flow), delayed_trials in by_rule.items():
        worst = max(delayed_trials, key=lambda trial: trial.share)
        words = {**worst.words, **in_trials(len(delayed_trials), trials[cell])}
        yield finding(kind, group_of(worst.record, flow), (cell,), worst.figures, words)


def _trials_of(run: Run) -> dict[str, int]:
    """Cell → number of its trials with a result."""
    counts: dict[str, int] = defaultdict(int)
    for record in run.latest.values():
        counts[record.cell] += record.status is Status.OK
    return counts


def _process_pause(record: Record, flow: str) -> _Delay | None:
    """The end whose process paused longest; ``None`` if no process is known to have paused for long
    enough.
    """
    whole_ns = record.number(f"{flow}elapsed_ns")
    pauses = []
    for end in ("sender", "receiver", "client", "server"):
        stalled_ns, window_ns, thread_ns = (
            record.number(f"{flow}{end}_{name}")
            for name in ("stalled_ns", "elapsed_ns", "thread_ns")
        )
        window_ns = window_ns or whole_ns
        if not stalled_ns or not window_ns or stalled_ns < STALLED * window_ns:
            continue
        if stalled_ns + (thread_ns or 0) <= RAN * window_ns:
            figures: dict[str, float | None] = {"stalled_ns": stalled_ns, "window_ns": window_ns}
            words: dict[str, str] = {"cause": CAUSES[Cause.PROCESS, end]}
            pauses.append(_Delay(record, stalled_ns / window_ns, figures, words))
    return max(pauses, key=lambda pause: pause.share, default=None)


def _stolen_cpus(record: Record, flow: str) -> _Delay | None:
    """The end of a stream that lost the most CPU time to a hypervisor, if that is more than 5 %.

    Round trips are left out: stolen CPU time hardly changes their median.
    """
    ends = ("sender", "receiver")
    shares = {end: _stolen_share(record, flow + end) for end in ends}
    worst = max(ends, key=lambda end: shares[end])
    if shares[worst] <= STARVED:
        return None
    words: dict[str, str] = {"cause": CAUSES[Cause.STEAL, worst]}
    return _Delay(record, shares[worst], {"steal_share": shares[worst]}, words)


def _stolen_share(record: Record, end: str) -> float:
    """Share of stolen CPU time; 0 if the window is too short to measure it."""
    window_ns = record.number(f"{end}_elapsed_ns") or 0.0
    share = record.number(f"{end}_host_steal_share") or 0.0
    return share if window_ns >= WINDOW_NS else 0.0


def _omitted_messages(record: Record, flow: str, link: Link | None) -> _Delay | None:
    """A paced sender that omitted messages and sent less than requested below the wire ceiling."""
    size, values = as_number(record.settings.get("message_bytes")), record.values
    offered_rate = _offered_bit_per_s(record)
    skipped, messages, window_ns, throughput = (
        as_number(values.get(flow + name))
        for name in (
            "sender_skipped_messages",
            "sender_sent_messages_window",
            "sender_elapsed_ns",
            "throughput_bit_per_s",
        )
    )
    if not skipped or not offered_rate or not window_ns or messages is None or throughput is None:
        return None
    sent_rate = 8e9 * (size or 0) * messages / window_ns
    ceiling = ceiling_of(record.settings, values, flow, link)
    if sent_rate >= OFFERED * offered_rate or (
        ceiling is not None and throughput >= FILLED * ceiling
    ):
        return None
    figures: dict[str, float | None] = {
        "sent_bit_per_s": sent_rate,
        "offered_bit_per_s": offered_rate,
        "skipped_messages": skipped,
    }
    return _Delay(record, 1 - sent_rate / offered_rate, figures, {})


def _late_messages(record: Record, flow: str) -> _Delay | None:
    """A paced stream that received more within the window than was offered.

    ``None`` if a tool other than netlab's probe measured the stream, because other tools count and
    pace in their own way.
    """
    received_rate = record.number(f"{flow}throughput_bit_per_s")
    offered_rate = _offered_bit_per_s(record)
    is_coarse = record.values.get(f"{flow}receiver_coarse") == 1
    if (
        not offered_rate
        or record.settings.get("engine")
        or received_rate is None
        or received_rate <= LATE * offered_rate
        or is_coarse
    ):
        return None
    figures: dict[str, float | None] = {
        "received_bit_per_s": received_rate,
        "offered_bit_per_s": offered_rate,
    }
    return _Delay(record, received_rate / offered_rate - 1, figures, {})


def _offered_bit_per_s(record: Record) -> float | None:
    """The offered rate that the matrix requests; ``None``: as fast as possible."""
    size = as_number(record.settings.get("message_bytes"))
    return None if size is None else offered_bit_per_s(record.settings, round(size))
