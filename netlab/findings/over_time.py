"""Trials in which data stopped or paused, and changes over a run or with a period."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from operator import itemgetter

from netlab.ethernet import Link
from netlab.findings.claims import PLACE
from netlab.findings.finding import Finding, Group, Kind, finding, in_trials
from netlab.findings.rates import ceiling_of, offered_bit_per_s
from netlab.findings.series import Series
from netlab.findings.stream_end import WINDOW_NS
from netlab.findings.stream_limits import FILLED, OFFERED
from netlab.findings.stream_rules import STARVED
from netlab.messages import Message, _
from netlab.results.run import Run
from netlab.stats import mean, median, trends
from netlab.trial.interruptions import HALF, Cause, Interruption, interruptions, least_ns
from netlab.trial.record import FLOWS, Record, Status, as_number, by_cell, grouped, utc_of

UNKNOWN = _("the record does not show what stopped the data")

_OF_PATH = _("both hosts ran, so something on the path stopped them")

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


_Attempt = tuple[Record, Interruption]
"""An attempt at a trial, and the interruption of one of its flows."""


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
            attempts_by_flow[record.cell, stop.flow].append((record, stop))
    with_result = by_cell(record for record in run.records if record.status is Status.OK)
    all_attempts = {
        cell: grouped(records, lambda record: record.trial) for cell, records in with_result.items()
    }
    for attempts in latest_attempts.values():
        yield _finding(Kind.INTERRUPTION_FINAL, attempts, all_attempts)
    for flow, attempts in earlier_attempts.items():
        stopped_last = {record.trial for record, _stop in latest_attempts.get(flow, ())}
        measured_again = [attempt for attempt in attempts if attempt[0].trial not in stopped_last]
        if measured_again:
            yield _finding(Kind.INTERRUPTION_EARLIER, measured_again, all_attempts)


def _ends_ran(record: Record, stop: Interruption) -> bool:
    """Whether the processes of both ends are known to have run while data stopped."""
    names = [f"{stop.flow}{end}_stalled_ns" for end in ("sender", "receiver", "client", "server")]
    stalls = [ns for name in names if (ns := record.number(name)) is not None]
    return len(stalls) > 1 and max(stalls) <= STALLED * stop.stopped_ns


def silent_streams(run: Run) -> Iterator[Finding]:
    """Notes about cells in which one of several streams was silent while the others continued."""
    silent: dict[tuple[str, str], list[_Attempt]] = defaultdict(list)
    for record in run.latest.values():
        for flow in FLOWS if record.status is Status.OK else ():
            if stop := _silence(record, flow):
                silent[record.cell, flow].append((record, stop))
    for attempts in silent.values():
        record, stop = max(attempts, key=lambda attempt: attempt[1].stopped_ns)
        figures = {
            "streams": as_number(record.settings.get("streams")),
            "stopped_ns": stop.stopped_ns,
            "window_ns": stop.window_ns,
        }
        group = group_of(record, stop.flow)
        yield finding(Kind.INTERRUPTION_ONE_STREAM, group, (record.cell,), figures)


def _finding(
    kind: Kind, attempts: list[_Attempt], all_attempts: Mapping[str, Mapping[int, list[Record]]]
) -> Finding:
    """The finding about one flow of a cell; its figures are those of the longest interruption."""
    record, stop = max(attempts, key=lambda attempt: attempt[1].stopped_ns)
    trials = len({attempted.trial for attempted, _stop in attempts})
    figures: dict[str, float | None] = {
        "stopped_ns": stop.stopped_ns,
        "window_ns": stop.window_ns,
        "paused_share": median([it.stopped_ns / max(1, it.window_ns) for _record, it in attempts]),
        "at_ns": stop.at_ns,
        "gaps": stop.gaps,
        "trials": trials,
        "of_trials": len(all_attempts[record.cell]),
    }
    for name in ("throughput_bit_per_s", "rtt_mean_ns"):
        for number, attempted in enumerate(all_attempts[record.cell][record.trial], start=1):
            figures[f"attempt_{number}_{name}"] = attempted.number(stop.flow + name)
    cause, where = UNKNOWN, {}
    if stop.cause is not None:
        cause = CAUSES.get((stop.cause, stop.end)) or CAUSES[stop.cause, ""]
    elif all(it.cause is None and _ends_ran(attempt, it) for attempt, it in attempts):
        # Requests that arrived in time were not stopped, but their answers were.
        later = [attempt.number("server_later_max_ns") for attempt, _stop in attempts]
        is_back = all(ns is not None and ns < HALF * stop.stopped_ns for ns in later)
        cause, where = _OF_PATH, {PLACE: "path-back" if is_back else "path"}
    words = {"cause": cause, **where, **in_trials(trials, len(all_attempts[record.cell]))}
    return finding(kind, group_of(record, stop.flow), (record.cell,), figures, words)


def group_of(record: Record, flow: str) -> Group:
    """The group of a finding about one flow of a cell; ``flow`` is the prefix of its values."""
    return Group(record.pairing, record.protocol, record.message_bytes, FLOWS[flow])


def _silence(record: Record, flow: str) -> Interruption | None:
    """The longest silence of one of several streams while the others continued.

    ``None`` if no silence was long enough, and for old records, which have no gaps.
    """
    names = ("gap_count", "gap_total_ns", "longest_gap_ns", "marks", "elapsed_ns")
    own = record.flow(f"{flow}receiver_").number
    gaps, total_ns, longest_ns, marks, window_ns = map(own, names)
    streams = as_number(record.settings.get("streams")) or 1
    if gaps is None or streams < 2 or not (longest_ns and window_ns and marks):
        return None
    short = longest_ns < max(least_ns(window_ns), SILENT * window_ns * streams / marks)
    if short or longest_ns <= (total_ns or 0):
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
HELD = 0.5
"""Minimum time for which a sender waited for room in its socket, as a share of the window, compared
with the share of the messages that it left out."""
WAITED = 0.5
"""Minimum part of the pauses of a process that waits for a CPU explain."""
RAN = 1.1
"""CPU time plus pauses may be at most this multiple of the window, because the kernel's accounting
is not exact. If the sum is larger, the timer ticks that show the pauses were late while the
measuring thread ran."""


@dataclass(frozen=True, slots=True)
class _Delay:
    """One delayed flow of a trial: how much it is affected (``share``), and the figures and words
    of the finding."""

    kind: Kind
    record: Record
    share: float
    figures: Mapping[str, float | None]
    words: Mapping[str, str] = field(default_factory=dict)


def delayed_trials(
    run: Run, link: Link | None, of_mesh: Collection[str] = (), held: Collection[str] = ()
) -> Iterator[Finding]:
    """Warnings about delayed trials.

    They concern processes that did not run for at least 3 % of their window, hosts that lost more
    than 5 % of their CPU time, senders that sent less than requested, and windows in which more
    data arrived than were offered. A flow of a trial has at most one of these warnings. A flow
    whose data stopped has none, since another finding reports this; nor has a sender to a host, or
    in a mesh, that another finding calls slow (``of_mesh``: cells), or whose limit is known
    (``held``: cells). Imports have no windows.
    """
    if run.plan.source is not None:
        return
    rules = (_process_pause, _stolen_cpus, partial(_omitted_messages, link), _late_messages)
    by_rule: dict[tuple[Kind, str, str], list[_Delay]] = defaultdict(list)
    for record in run.latest.values():
        stopped_flows = {interruption.flow for interruption in interruptions(record)}
        for flow in FLOWS if record.status is Status.OK else ():
            for rule in rules if flow not in stopped_flows else ():
                if delayed := rule(record, flow):
                    by_rule[delayed.kind, record.cell, flow].append(delayed)
                    break
    trials = Counter(r.cell for r in run.latest.values() if r.status is Status.OK)
    for (kind, cell, flow), delayed_trials in by_rule.items():
        if (cell in of_mesh or cell in held) and kind in (Kind.OFF_RATE_HELD, Kind.OFF_RATE_LESS):
            continue
        worst = max(delayed_trials, key=lambda trial: trial.share)
        words = {**worst.words, **in_trials(len(delayed_trials), trials[cell])}
        keys = tuple(delay.record.key for delay in delayed_trials)
        yield finding(kind, group_of(worst.record, flow), (cell,), worst.figures, words, keys)


def _process_pause(record: Record, flow: str) -> _Delay | None:
    """The end whose process paused longest; ``None`` if no process is known to have paused for long
    enough.
    """
    whole_ns = record.number(f"{flow}elapsed_ns")
    pauses, ends = [], ("sender", "receiver", "client", "server")
    names = [
        f"{flow}{e}_{wait}" for e in ends for wait in ("run_queue_delay_ns", "quota_throttled_ns")
    ]
    longest_ns = max(record.number(name) or 0.0 for name in names)
    for end in ends:
        own = record.flow(f"{flow}{end}_").number
        stalled_ns, window_ns = own("stalled_ns"), own("elapsed_ns") or whole_ns
        if not stalled_ns or not window_ns or stalled_ns < STALLED * window_ns:
            continue
        if longest_ns >= WAITED * stalled_ns:  # an end had no CPU: other findings report this
            continue
        if stalled_ns + (own("thread_ns") or 0) <= RAN * window_ns:
            share = stalled_ns / window_ns
            figures = {"stalled_ns": stalled_ns, "window_ns": window_ns, "costs_share": share}
            place = "receiver" if end in ("receiver", "server") else "sender"
            words = {"cause": CAUSES[Cause.PROCESS, end], PLACE: place}
            pauses.append(_Delay(Kind.HOST_DELAY_PROCESS, record, share, figures, words))
    return max(pauses, key=lambda pause: pause.share, default=None)


def _stolen_cpus(record: Record, flow: str) -> _Delay | None:
    """The end of a stream that lost the most CPU time to a hypervisor, if that is more than 5 %.

    Round trips are left out: stolen CPU time hardly changes their median.
    """
    shares = {}
    for end in ("sender", "receiver"):
        window_ns = record.number(f"{flow}{end}_elapsed_ns") or 0.0
        share = record.number(f"{flow}{end}_host_steal_share") or 0.0
        shares[end] = share if window_ns >= WINDOW_NS else 0.0  # else too short to measure it
    worst, share = max(shares.items(), key=itemgetter(1))
    figures, words = {"steal_share": share}, {"cause": CAUSES[Cause.STEAL, worst]}
    delay = _Delay(Kind.HOST_DELAY_HYPERVISOR, record, share, figures, words)
    return delay if share > STARVED else None


def _omitted_messages(link: Link | None, record: Record, flow: str) -> _Delay | None:
    """A paced sender that omitted messages and sent less than requested below the wire ceiling.
    Either it waited for room in its socket, or nothing shows that it did.
    """
    sender, offered = record.flow(f"{flow}sender_"), _offered_bit_per_s(record)
    names = ("elapsed_ns", "skipped_messages", "sent_messages_window", "thread_ns")
    window_ns, skipped, messages, on_cpu_ns = map(sender.number, names)
    throughput = record.number(f"{flow}throughput_bit_per_s")
    if not skipped or not offered or not window_ns or messages is None or throughput is None:
        return None
    sent = 8e9 * (record.message_bytes or 0) * messages / window_ns
    ceiling = ceiling_of(record.settings, record.values, flow, link)
    carried = max(sent, throughput)  # what the wire took
    if sent >= OFFERED * offered or (ceiling is not None and carried >= FILLED * ceiling):
        return None
    figures = {"sent_bit_per_s": sent, "offered_bit_per_s": offered, "skipped_messages": skipped}
    sent_share, ready_ns = sent / offered, sender.number("run_queue_delay_ns")
    if on_cpu_ns is not None and ready_ns is not None:
        # It slept before messages that it sent, for a late sender does not; else it was held.
        ready_ns = max(ready_ns, sender.number("quota_throttled_ns") or 0.0)
        away_ns = on_cpu_ns + ready_ns + (sender.number("stalled_ns") or 0.0)
        stolen_share = sender.number("host_steal_share") or 0.0
        held_share = 1 - away_ns / window_ns - stolen_share - sent_share
        if held_share >= HELD * (1 - sent_share):
            figures["held_share"] = held_share
            return _Delay(Kind.OFF_RATE_HELD, record, 1 - sent_share, figures)
    return _Delay(Kind.OFF_RATE_LESS, record, 1 - sent_share, figures)


def _late_messages(record: Record, flow: str) -> _Delay | None:
    """A paced stream that received more within the window than was offered.

    ``None`` if a tool other than netlab's probe measured the stream, because other tools count and
    pace in their own way.
    """
    received = record.number(f"{flow}throughput_bit_per_s")
    offered = _offered_bit_per_s(record)
    is_coarse = record.values.get(f"{flow}receiver_coarse") == 1
    if not offered or received is None or record.settings.get("engine") or is_coarse:
        return None
    figures = {"received_bit_per_s": received, "offered_bit_per_s": offered}
    delay = _Delay(Kind.OFF_RATE_MORE, record, received / offered - 1, figures)
    return delay if received > LATE * offered else None


def _offered_bit_per_s(record: Record) -> float | None:
    size = record.message_bytes
    return None if size is None else offered_bit_per_s(record.settings, size)


CellFlow = tuple[str, str]
"""Key of a cell, and the prefix of the values of one of its flows."""


@dataclass(frozen=True, slots=True)
class BlockTable:
    """The figures of the cells that have a figure in each of the first blocks."""

    quantity: str
    """Name of the value that is the figure."""
    figures: Mapping[CellFlow, tuple[float, ...]]
    """One figure above 0 per block, starting with the first block."""

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(next(iter(self.figures.values()), ()))

    @property
    def cells(self) -> tuple[str, ...]:
        """Keys of the cells, each once."""
        return tuple(dict.fromkeys(cell for cell, _ in self.figures))

    def trials(self) -> tuple[tuple[str, int], ...]:
        """All trials, as (cell, number)."""
        return tuple((cell, 1 + block) for cell in self.cells for block in range(self.blocks))


def tables(run: Run, series: Iterable[Series]) -> tuple[BlockTable, ...]:
    """One table per quantity, without paced streams.

    If cells are repeated until their mean is precise, they have different numbers of trials. Then
    the number of blocks is chosen so that the table has the most figures.
    """
    by_quantity: dict[str, dict[CellFlow, dict[int, float]]] = defaultdict(dict)
    inside = within_blocks(run)
    for one_series in series:
        for point in one_series.points:
            if not point.paced or one_series.test != "stream":
                by_quantity[one_series.quantity][point.cell, point.prefix] = {
                    trial: figure
                    for trial, figure in enumerate(point.figures, 1)
                    if figure is not None and figure > 0 and (point.cell, trial) in inside
                }
    return tuple(_complete(quantity, cells) for quantity, cells in by_quantity.items())


def within_blocks(run: Run) -> frozenset[tuple[str, int]]:
    """The trials with a result that began before the next block began.

    Trials that were repeated later are left out, and so are trials without a recorded start.
    """
    begins: dict[int, str] = defaultdict(lambda: "~")  # after any time
    for record in run.records:
        if record.started_at:
            begins[record.trial] = min(begins[record.trial], record.started_at)
    return frozenset(
        key
        for key, record in run.latest.items()
        if record.status is Status.OK
        and record.started_at
        and begins[record.trial] <= record.started_at < begins[record.trial + 1]
    )


def lasted_s(run: Run, trials: Iterable[tuple[str, int]]) -> float | None:
    """Time from the start of the first of these trials to the start of the last, in seconds."""
    records = map(run.latest.get, trials)
    times = [begin for it in records if it and (begin := utc_of(it.started_at)) is not None]
    return (max(times) - min(times)).total_seconds() if times else None


def _complete(quantity: str, cells: Mapping[CellFlow, Mapping[int, float]]) -> BlockTable:
    """The cells that have figures in all of the first blocks; the number of blocks maximises blocks
    x cells.
    """
    block_counts = {
        cell: next(n for n in range(len(figures) + 1) if n + 1 not in figures)
        for cell, figures in cells.items()
    }
    counts = block_counts.values()
    blocks = max(sorted({*counts}), key=lambda n: n * sum(it >= n for it in counts), default=0)
    figures = {
        cell: tuple(cells[cell][block] for block in range(1, blocks + 1))
        for cell, count in block_counts.items()
        if count >= blocks > 0
    }
    return BlockTable(quantity, figures)


LEAST_BLOCKS = 6
LEAST_BLOCKS_CONSISTENT, LEAST_CELLS_CONSISTENT = 3, 5
"""If there are fewer blocks than ``LEAST_BLOCKS``: minimum number of blocks and minimum number of
cells for the finding "consistent with drift"."""
BY_CHANCE = 0.01
LEAST_CHANGE = 0.01
"""Minimum change over the run, as a share."""
LEAST_TAU = 0.6
"""Minimum of Kendall's tau: the number of pairs of blocks that change in the direction of the
drift, minus the number of the other pairs, divided by the number of all pairs. A random walk, in
which each block depends on the block before, rarely reaches this value. A drift reaches this value
unless the drift is much smaller than a random walk that is added to it."""
LATER = 0.25
"""Minimum share of the change that occurs after the second block: if only the first block differs,
the cause is a warm-up and not a drift."""

FIRST_BLOCKS = 3
FIRST_CHANGE = 0.02
FIRST_ALONE = 3.0
"""The first block must deviate more than this many times as much as any later block."""

_WHAT: Mapping[str, Message] = {
    "throughput_bit_per_s": _("throughput"),
    "rtt_mean_ns": _("round trips"),
}


def drifts(run: Run, series: Iterable[Series], *, imported: bool) -> Iterator[Finding]:
    """At most one finding per quantity, about all cells together."""
    for table in () if imported else tables(run, series):
        if table.blocks < LEAST_BLOCKS_CONSISTENT:
            continue
        residuals = _residuals(table)
        middle = _medians(residuals)
        # From the first block to the last, as a logarithm, by the Theil-Sen slope.
        change = trends.theil_sen(middle) * (len(middle) - 1)
        if table.blocks >= LEAST_BLOCKS:
            kind, trend = Kind.TREND_PROVED, trends.mann_kendall(middle)
            is_steady = abs(trend.s / math.comb(table.blocks, 2)) >= LEAST_TAU
        else:
            # With few blocks, the medians over enough cells must only rise, or only fall.
            kind, trend = Kind.TREND_POSSIBLE, trends.seasonal_kendall(residuals)
            whole, last = middle[-1] - middle[0], middle[-1] - middle[1]
            is_steady = (
                len(table.cells) >= LEAST_CELLS_CONSISTENT
                and all((later - earlier) * whole > 0 for earlier, later in pairwise(middle))
                and last / whole >= LATER
            )
        if is_steady and trend.p_value < BY_CHANCE and abs(change) > LEAST_CHANGE:
            figures = {
                "change_share": math.expm1(change),
                "blocks": table.blocks,
                "cells": len(table.cells),
                "p_value": trend.p_value,
                "lasted_s": lasted_s(run, table.trials()),
            }
            words = {"what": _WHAT[table.quantity]}
            yield finding(kind, Group(), table.cells, figures, words, table.trials())


def first_trials(run: Run, series: Iterable[Series], *, imported: bool) -> Iterator[Finding]:
    """At most one finding per quantity: in most cells the first trial is slower than later ones,
    with less throughput or longer round trips.
    """
    for table in () if imported else tables(run, series):
        if table.blocks < FIRST_BLOCKS:
            continue
        sign = 1 if table.quantity.endswith("_ns") else -1
        residuals = []
        for figures in table.figures.values():
            logs = [math.log(figure) for figure in figures]
            residuals.append([sign * (log - median(logs[1:])) for log in logs])
        # The sign test ignores ties (Dixon and Mood).
        firsts = [of_cell[0] for of_cell in residuals if of_cell[0]]
        slower = sum(residual > 0 for residual in firsts)
        first, *later = _medians(residuals)
        is_alone = first > FIRST_CHANGE and first > FIRST_ALONE * max(map(abs, later))
        most_are = 2 * slower > len(firsts) and trends.sign_p(slower, len(firsts)) < BY_CHANCE
        if is_alone and most_are:
            evidence = {
                "change_share": math.expm1(sign * first),
                "slower_cells": slower,
                "cells": len(residuals),
                "blocks": table.blocks,
            }
            trials = tuple((cell, 1) for cell in table.cells)
            words = {"what": _WHAT[table.quantity]}
            yield finding(Kind.FIRST_TRIAL_SLOWER, Group(), table.cells, evidence, words, trials)


def _residuals(table: BlockTable) -> list[list[float]]:
    """For each cell, the logarithms of its figures minus the mean of these logarithms."""
    logs = [[math.log(value) for value in figures] for figures in table.figures.values()]
    cells = zip(logs, map(mean, logs), strict=True)
    return [[log - middle for log in of_cell] for of_cell, middle in cells]


def _medians(residuals: list[list[float]]) -> list[float]:
    """The median of each block over the cells."""
    return [median(block) for block in zip(*residuals, strict=True)]
