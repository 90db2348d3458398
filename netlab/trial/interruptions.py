"""Finds interruptions of trials (times in which data stopped), and their causes.

They are the gaps that a probe recorded, except those that congestion or a slow pace explains.
docs/findings.md defines them (``data-stopped``); old records have no gaps, so no interruptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from netlab.trial.record import FLOWS, FlowValues, Record, Status, as_number

LONG_NS = 500_000_000
SHORT_NS = 250_000_000
LEAST_NS = 100_000_000
"""Minimum time without data for an interruption: ``LONG_NS`` in a window of ``SHORT_WINDOW_NS`` or
more. In a shorter window it is ``SHARE`` of the window, but at most ``SHORT_NS`` and at least
``LEAST_NS``."""
SHORT_WINDOW_NS = 5_000_000_000
SHARE = 0.05

RTOS = 1.5
"""A gap of at most this many time-outs (TCP's RTO, or a UDP request's time-out) counts as loss."""
ROUND_TRIPS = 1.5
"""A gap of at most this many round trips counts as TCP waiting for acknowledgements."""
UNTOLD_RTO_US = 300_000
"""Assumed retransmission time-out if the system does not report it: the minimum of Windows."""
SEVERAL = 3
"""Minimum number of late answers that show a path that takes longer than the time-out."""
DUE_TIMES = 20
"""In a flow of paced messages, a gap counts only if it is at least this many times as long as the
interval between two messages."""
HALF = 0.5
"""Minimum share of the time without data that a cause must explain."""
ROBBED = 0.9
"""The same minimum for stolen CPU time; it is higher, as a little CPU time is often stolen."""
TRIES = 3
"""Maximum number of attempts at a trial, if a host or a cable interrupted it."""


class Cause(StrEnum):
    """What stopped the data, if the record proves it. Each cause is in a host or a cable."""

    SUSPENDED = "suspended"
    """A host was suspended."""
    STEAL = "steal"
    """A hypervisor gave a host's CPUs to others."""
    PROCESS = "process"
    """The process of a probe (netlab's program on a host) did not run: its ticks, which come every
    10 ms, were late, or it did not read received data."""
    CARRIER = "carrier"
    """An interface lost its carrier."""
    CLOCK = "clock"
    """A host's clock was set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """A stop of data in one flow of a trial, or in its round trips."""

    flow: str = ""
    """Prefix of the flow's values in the record: empty, ``to_server_`` or ``to_client_``."""
    stopped_ns: int
    gaps: int
    at_ns: int | None
    """Start of the longest gap in the window, if known."""
    window_ns: int
    cause: Cause | None = None
    end: str = ""
    """``sender``, ``receiver``, ``client`` or ``server``: where the cause was."""


Gap = tuple[int, int]
"""Start and end of a gap, in ns after the beginning of the window."""


@dataclass(frozen=True, slots=True)
class _Way(FlowValues):
    """The values of one flow: those of the end that receives data, and those of the other end."""

    settings: Mapping[str, Any]
    test: str
    taking: str
    """The end that receives data: ``receiver`` or ``client``."""
    giving: str

    @property
    def ends(self) -> tuple[str, str]:
        return self.taking, self.giving

    def asked(self, name: str) -> float | None:
        return as_number(self.settings.get(name))

    @property
    def least_ns(self) -> float:
        """Minimum time without data for an interruption of this flow."""
        asked_s = self.asked("duration_s")
        return least_ns((self.number("elapsed_ns") or 0) if asked_s is None else 1e9 * asked_s)

    def intervals(self, name: str) -> list[Gap]:
        """A list of start, length, start, length … as intervals; empty for any other value."""
        pairs = [number for number in self.series(name) if type(number) is int and number >= 0]
        if len(pairs) < len(self.series(name)):
            return []
        return [(a, a + n) for a, n in zip(pairs[::2], pairs[1::2], strict=False)]


_PLACES = tuple(
    (prefix, taking, giving, tuple(f"{prefix}{taking}_{name}" for name in ("gaps", "suspended_ns")))
    for prefix in FLOWS
    for taking, giving in (("receiver", "sender"), ("client", "server"))
)
"""Each flow that a record may have, with the values that show a stop of data."""


def interruptions(record: Record) -> Iterator[Interruption]:
    """The interruptions in the streams, round trips or connections of a trial.

    A trial whose status is not ``ok`` has none.
    """
    if record.status is not Status.OK:
        return
    for prefix, taking, giving, shown_by in _PLACES:
        # A quick check first: most records have none of these values.
        if not any(name in record.values for name in shown_by):
            continue
        values, settings, test = record.values, record.settings, record.test
        if test == "latency_under_load" and taking == "client":
            own = {name: values.get(f"client_{name}") for name in ("elapsed_ns", "lost_messages")}
            values = {**values, **{name: value for name, value in own.items() if value is not None}}
            settings = {n: settings[name] for n, name in _REQUESTS.items() if name in settings}
            test = "round_trip"
        flow = _Way(values, prefix, settings, test, taking, giving)
        if stop := _stop(flow) or _suspension(flow):
            yield stop


_REQUESTS = {
    "protocol": "request_protocol",
    "message_bytes": "request_bytes",
    "message_rate_per_s": "request_rate_per_s",
    "timeout_s": "request_timeout_s",
}
"""Setting of a round trip → the same setting of the round trips that run under a load."""


def asks_again(record: Record) -> bool:
    """Whether a trial must be repeated: its record proves that a host or a cable interrupted it,
    and fewer than ``TRIES`` attempts were made.

    Any other interruption stays in the results, with its finding: leaving out bad trials would
    make the figures better than they are.
    """
    return record.attempt < TRIES and any(stop.cause for stop in interruptions(record))


def least_ns(window_ns: float) -> float:
    """Minimum time without data for an interruption in a window of this length."""
    if window_ns >= SHORT_WINDOW_NS:
        return LONG_NS
    return min(SHORT_NS, max(LEAST_NS, SHARE * window_ns))


def _stop(flow: _Way) -> Interruption | None:
    """The interruption by those gaps that pace, loss and round trips do not explain.

    Returns ``None`` if there are no such gaps, or if they are too short together.
    """
    per_s, size_bytes = flow.asked("message_rate_per_s"), flow.asked("message_bytes")
    bit_per_s = flow.asked("rate_bit_per_s")
    if bit_per_s is not None and size_bytes:
        per_s = bit_per_s / (8 * size_bytes)
    listed = flow.intervals(f"{flow.taking}_gaps")
    unpaced = [gap for gap in listed if not per_s or _length_of(gap) * per_s >= DUE_TIMES * 1e9]
    # netlab first seeks a cause of the gaps that loss and round trips do not explain. If many gaps
    # of one round trip each were included, a process that stopped for a second would explain too
    # small a share of all gaps.
    gaps = [gap for gap in unpaced if not _is_loss(gap, flow)]
    cause, end = _cause_of(gaps, flow)
    if cause is None:
        cause, end = _cause_of(unpaced, flow)
        # It is not known when a clock was set, so gaps that loss explains are not ascribed to it.
        if cause in (None, Cause.CLOCK):
            cause, end = None, ""
        else:
            gaps = unpaced
    if not gaps:
        return None
    number, stopped_ns = float(len(gaps)), float(_length_ns(gaps))
    if gaps == listed:  # of more than ten gaps only the longest are listed
        number = flow.number(f"{flow.taking}_gap_count") or number
        stopped_ns = flow.number(f"{flow.taking}_gap_total_ns") or stopped_ns
    window_ns = flow.number("elapsed_ns") or 0
    is_closed = flow.number(f"{flow.taking}_closed_by_silence") == 1
    if stopped_ns < flow.least_ns and not (is_closed and gaps[-1][1] >= window_ns):
        return None
    return Interruption(
        flow=flow.prefix,
        stopped_ns=round(stopped_ns),
        gaps=round(number),
        at_ns=max(gaps, key=_length_of)[0],
        window_ns=round(window_ns),
        cause=cause,
        end=end,
    )


def _suspension(flow: _Way) -> Interruption | None:
    """The interruption by a suspension of the end that receives data. The clock of this end stopped
    as well, so its times show no gap.
    """
    suspended_ns = flow.number(f"{flow.taking}_suspended_ns") or 0
    if suspended_ns < flow.least_ns:
        return None
    return Interruption(
        flow=flow.prefix,
        stopped_ns=round(suspended_ns),
        gaps=1,
        at_ns=None,
        window_ns=round((flow.number("elapsed_ns") or 0) + suspended_ns),
        cause=Cause.SUSPENDED,
        end=flow.taking,
    )


def _is_loss(gap: Gap, flow: _Way) -> bool:
    """Whether the gap is explained by a lost message, or by TCP that sends one TCP window per round
    trip and then waits.
    """
    if flow.test == "connect":  # any gap may be a loss: lost SYN segments are not counted
        return True
    if flow.settings.get("protocol") != "TCP":
        is_lost = flow.taking == "client" and _lost_requests(flow) > 0
        return is_lost and _length_of(gap) <= RTOS * 1e9 * (flow.asked("timeout_s") or 0)
    # For round trips, segments of both directions may be lost.
    ends = flow.ends if flow.taking == "client" else (flow.giving,)
    # Some systems count retransmitted segments, some bytes.
    counters = ("total_retrans", "bytes_retrans")
    lossy = [end for end in ends if any(flow.grown(end, name) for name in counters)]
    rtos_us = [flow.number(f"{end}_tcp_end_rto_us") or UNTOLD_RTO_US for end in lossy]
    # A system that does not record the shortest round trip records the last one.
    trips_us = [flow.number(f"{flow.giving}_tcp_end_{name}") for name in ("min_rtt_us", "rtt_us")]
    shortest_us = next(filter(None, trips_us), 0)
    explained_us = (RTOS * max(rtos_us, default=0), ROUND_TRIPS * shortest_us)
    return _length_of(gap) <= 1e3 * max(explained_us)


def _lost_requests(flow: _Way) -> float:
    """The number of requests that were never answered: late answers are a pause of the path, unless
    each of several silences ends with one. The path takes longer than the time-out then.
    """
    lost, late, gaps = (
        as_number(flow.values.get(name)) or 0
        for name in ("lost_messages", "client_late_messages", "client_gap_count")
    )
    return lost if late >= SEVERAL and gaps >= late else lost - late


def _cause_of(gaps: Sequence[Gap], flow: _Way) -> tuple[Cause | None, str]:
    """The cause that the record proves, and its end; more specific causes are tried first."""
    if not gaps:
        return None, ""
    for proofs in zip(*(_proofs(gaps, flow, end) for end in flow.ends), strict=True):
        for end, (cause, is_proved) in zip(flow.ends, proofs, strict=True):
            if is_proved:
                return cause, end
    return None, ""


def _proofs(gaps: Sequence[Gap], flow: _Way, end: str) -> Iterator[tuple[Cause, bool]]:
    """Causes at one end, and whether the record proves them."""
    stopped_ns, window_ns = _length_ns(gaps), flow.number("elapsed_ns") or 0
    suspended_ns = flow.number(f"{end}_suspended_ns") or 0
    yield Cause.SUSPENDED, suspended_ns >= HALF * max(map(_length_of, gaps))

    # The end lost the time of all its CPUs for nearly as long as data stopped.
    share = flow.number(f"{end}_host_steal_share") or 0
    lost_ns = share * (flow.number(f"{end}_elapsed_ns") or window_ns)
    yield Cause.STEAL, lost_ns >= ROBBED * stopped_ns

    # The ticks of the end were late while data stopped. The server times its ticks from the first
    # request; the client's window begins after warm-up.
    ahead_ns = round(1e9 * (flow.asked("warm_up_s") or 0)) if end == "server" else 0
    late = [(a - ahead_ns, b - ahead_ns) for a, b in flow.intervals(f"{end}_late_ticks")]
    late_ns = sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in gaps for b in late)
    yield Cause.PROCESS, late_ns >= HALF * stopped_ns

    yield Cause.CARRIER, (flow.number(f"{end}_interface_carrier_changes") or 0) > 0

    # The end's queue was full after the gap although data arrived all the time: TCP's window was
    # closed, or the socket dropped datagrams. A full queue alone proves nothing: after a loss, or
    # while a neighbour's address is resolved again, all waiting data arrives at once.
    did_not_take = end == "receiver" and 1 in flow.series(f"{end}_gap_queue_full")
    if did_not_take and flow.settings.get("protocol") == "TCP":
        closed_ns = 1e3 * (flow.grown("sender", "rwnd_limited_us") or 0)
        did_not_take = closed_ns >= HALF * stopped_ns
    elif did_not_take:
        messages, drops = flow.number("received_messages"), flow.number("receiver_queue_drops")
        running_ns = window_ns - stopped_ns
        did_not_take = (drops or 0) * running_ns >= HALF * (messages or 0) * stopped_ns > 0
    yield Cause.PROCESS, did_not_take

    yield Cause.CLOCK, flow.number(f"{end}_wall_step_ns") is not None


def _length_of(gap: Gap) -> int:
    return gap[1] - gap[0]


def _length_ns(gaps: Sequence[Gap]) -> int:
    return sum(map(_length_of, gaps))
