"""Delayed trials: a trial lost part of its window in pauses too short to count as stopped data.

There is one finding per cell (combination of settings) and flow (direction of data). The causes
are: a process did not run for part of its window; a hypervisor gave CPU time to others; a sender
omitted messages that were due; or messages that had been delayed before the window arrived within
the window.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.experiment.interruptions import Cause, interruptions
from netlab.experiment.records import FLOWS, Record, Status
from netlab.findings.evidence import ceiling_of, number, offered_bit_per_s
from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.sample import WINDOW_NS
from netlab.findings.stops.data_stopped import CAUSES, group_of
from netlab.findings.streams.host_limits import STARVED
from netlab.findings.streams.limits import FILLED, OFFERED
from netlab.findings.trial_words import in_trials

if TYPE_CHECKING:
    from netlab.experiment.matrix import Link
    from netlab.results.run import Run

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
    whole_ns = number(record.values.get(f"{flow}elapsed_ns"))
    pauses = []
    for end in ("sender", "receiver", "client", "server"):
        stalled_ns, window_ns, thread_ns = (
            number(record.values.get(f"{flow}{end}_{name}"))
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
    window_ns = number(record.values.get(f"{end}_elapsed_ns")) or 0.0
    share = number(record.values.get(f"{end}_host_steal_share")) or 0.0
    return share if window_ns >= WINDOW_NS else 0.0


def _omitted_messages(record: Record, flow: str, link: Link | None) -> _Delay | None:
    """A paced sender that omitted messages and sent less than requested below the wire ceiling."""
    size, values = number(record.settings.get("message_bytes")), record.values
    offered_rate = _offered_bit_per_s(record)
    skipped, messages, window_ns, throughput = (
        number(values.get(flow + name))
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
    received_rate = number(record.values.get(f"{flow}throughput_bit_per_s"))
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
    size = number(record.settings.get("message_bytes"))
    return None if size is None else offered_bit_per_s(record.settings, round(size))
