"""Interruptions: trials in which data stopped, with how long, when, and what stopped them. Pure.

    the gaps that a probe recorded, less what congestion or a slow pace explains → interruption

docs/findings.md says when a gap is one (``data-stopped``), docs/protocol.md what a probe calls a
gap. Records from before there were gaps have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from netlab.experiment.records import FLOWS, Record, Status, as_number

LONG_NS = 500_000_000
SHORT_NS = 250_000_000
LEAST_NS = 100_000_000
"""Least time without data that is an interruption: of a long window; of one under
``SHORT_WINDOW_NS``; and of one so short that less is more than ``SHARE`` of it."""
SHORT_WINDOW_NS = 5_000_000_000
SHARE = 0.05

RTOS = 1.5
"""So many retransmission time-outs of TCP (or of lost requests) a gap may last and be loss."""
ROUND_TRIPS = 1.5
"""And so many round trips, where TCP sends a window in each."""
UNTOLD_RTO_US = 300_000
"""Retransmission time-out of a TCP whose system does not tell it: the least one of Windows."""
DUE_TIMES = 20
"""A gap among paced messages is so many of their due times and more."""

HALF = 0.5
"""Of the time without data, what a cause accounts for at least."""
ROBBED = 0.9
"""The same of CPU time taken away, which comes in small parts as well."""

TRIES = 3
"""Attempts at a trial in all, where a host or a cable interrupted it."""


class Cause(StrEnum):
    """What stopped the data, where a record proves it: each lies in a host or a cable."""

    SUSPENDED = "suspended"
    """A host was suspended."""
    STEAL = "steal"
    """A hypervisor gave a host's CPUs to others."""
    PROCESS = "process"
    """A probe's process did not run: its ticks came late, or it did not take what came."""
    CARRIER = "carrier"
    """An interface lost its carrier."""
    CLOCK = "clock"
    """A host's clock was set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """One flow of a trial, or its round trips, in which data stopped."""

    flow: str = ""
    """Prefix of its values: empty, ``to_server_`` or ``to_client_``."""
    stopped_ns: int
    """All its gaps together."""
    gaps: int
    at_ns: int | None
    """Start of the longest one, in the window; ``None``: not told."""
    window_ns: int
    cause: Cause | None = None
    end: str = ""
    """Of a cause: ``sender``, ``receiver``, ``client`` or ``server``."""


_MOST = 2**63
"""Counts and times are below it."""

Gap = tuple[int, int]
"""Start and end in the window, ns."""


@dataclass(frozen=True, slots=True)
class _Flow:
    """The values of one flow: of the end that data came to, and of the other one."""

    values: Mapping[str, Any]
    settings: Mapping[str, Any]
    test: str
    prefix: str
    taking: str
    """``receiver`` or ``client``."""
    giving: str

    @property
    def ends(self) -> tuple[str, str]:
        return self.taking, self.giving

    def number(self, name: str) -> float | None:
        return _number(self.values.get(self.prefix + name))

    def asked(self, name: str) -> float | None:
        return _number(self.settings.get(name))

    @property
    def least_ns(self) -> float:
        """How long its data must have stopped to be an interruption."""
        asked_s = self.asked("duration_s")
        return least_ns((self.number("elapsed_ns") or 0) if asked_s is None else 1e9 * asked_s)

    def intervals(self, name: str) -> list[Gap]:
        """Pairs of start and length, as intervals."""
        said = self.values.get(self.prefix + name)
        if not isinstance(said, list | tuple):
            return []
        if any(type(each) is not int or not 0 <= each < _MOST for each in said):
            return []
        return [(a, a + n) for a, n in zip(said[::2], said[1::2], strict=False)]

    def grown(self, end: str, name: str) -> float | None:
        """By how much a counter of that end's TCP grew over its window; ``None``: not told."""
        begin = self.number(f"{end}_tcp_begin_{name}")
        after = self.number(f"{end}_tcp_end_{name}")
        return None if begin is None or after is None else after - begin


_PLACES = tuple(
    (prefix, taking, giving, tuple(f"{prefix}{taking}_{each}" for each in ("gaps", "suspended_ns")))
    for prefix in FLOWS
    for taking, giving in (("receiver", "sender"), ("client", "server"))
)
"""Each flow that a record may have, and what it has where its data stopped."""


def interruptions(record: Record) -> Iterator[Interruption]:
    """Those of a trial that is ok; of streams, round trips and connections."""
    if record.status is not Status.OK:
        return
    for prefix, taking, giving, shown_by in _PLACES:
        # Most records show nothing at all.
        shown = any(name in record.values for name in shown_by)
        if shown and (found := _interruption(_flow_of(record, prefix, taking, giving))):
            yield found


_REQUESTS = {
    "protocol": "request_protocol",
    "message_bytes": "request_bytes",
    "message_rate_per_s": "request_rate_per_s",
    "timeout_s": "request_timeout_s",
}
"""Settings of round trips that go on beside a load, as a round trip calls them."""


def _flow_of(record: Record, prefix: str, taking: str, giving: str) -> _Flow:
    values, settings, test = record.values, record.settings, record.test
    if test == "latency_under_load" and taking == "client":
        own = {each: values.get(f"client_{each}") for each in ("elapsed_ns", "lost_messages")}
        values = {**values, **{name: value for name, value in own.items() if value is not None}}
        settings = {ours: settings[name] for ours, name in _REQUESTS.items() if name in settings}
        test = "round_trip"
    return _Flow(values, settings, test, prefix, taking, giving)


def asks_again(record: Record) -> bool:
    """Whether a trial is to be measured again: a host or a cable interrupted it, and provably.

    Any other interruption stands, with its finding: what is bad and left out would make figures
    better than they are.
    """
    return record.attempt < TRIES and any(each.cause for each in interruptions(record))


def least_ns(window_ns: float) -> float:
    """How long data must have stopped in a window to be an interruption."""
    if window_ns >= SHORT_WINDOW_NS:
        return LONG_NS
    return min(SHORT_NS, max(LEAST_NS, SHARE * window_ns))


def _interruption(flow: _Flow) -> Interruption | None:
    return _stop(flow) or _suspension(flow)


def _stop(flow: _Flow) -> Interruption | None:
    """What the gaps come to that no pace, no loss and no round trip explains."""
    listed = flow.intervals(f"{flow.taking}_gaps")
    gaps, cause, end = _gaps_with_cause([gap for gap in listed if not _is_pace(gap, flow)], flow)
    if not gaps:
        return None
    number, stopped_ns = float(len(gaps)), float(_length_ns(gaps))
    if gaps == listed:  # of more than ten gaps only the longest are listed
        number = flow.number(f"{flow.taking}_gap_count") or number
        stopped_ns = flow.number(f"{flow.taking}_gap_total_ns") or stopped_ns
    window_ns = flow.number("elapsed_ns") or 0
    closed = flow.number(f"{flow.taking}_closed_by_silence") == 1
    if stopped_ns < flow.least_ns and not (closed and gaps[-1][1] >= window_ns):
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


def _gaps_with_cause(gaps: Sequence[Gap], flow: _Flow) -> tuple[Sequence[Gap], Cause | None, str]:
    """Those that count, and what stopped the data in them.

    A cause is sought first in what loss and round trips do not explain: next to many gaps of one
    round trip each, a process that stood still for a second would account for too little.
    """
    rest = [gap for gap in gaps if not _is_loss(gap, flow)]
    cause, end = _cause_of(rest, flow)
    if cause is None:
        cause, end = _cause_of(gaps, flow)
        # That a clock was set says nothing of when: it turns no round trip into an interruption.
        if cause not in (None, Cause.CLOCK):
            return gaps, cause, end
        cause, end = None, ""
    return rest, cause, end


def _suspension(flow: _Flow) -> Interruption | None:
    """That of the end that data came to: its clock stood still, and its marks show no gap."""
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


# ---- what is none --------------------------------------------------------------------------------


def _is_pace(gap: Gap, flow: _Flow) -> bool:
    """Whether messages that were due so rarely are this far apart by themselves."""
    per_s, size_bytes = flow.asked("message_rate_per_s"), flow.asked("message_bytes")
    bit_per_s = flow.asked("rate_bit_per_s")
    if bit_per_s is not None and size_bytes:
        per_s = bit_per_s / (8 * size_bytes)
    return bool(per_s) and _length_of(gap) * (per_s or 0) < DUE_TIMES * 1e9


def _is_loss(gap: Gap, flow: _Flow) -> bool:
    """Whether it is what a lost message comes to, or TCP that sends a window each round trip."""
    if flow.test == "connect":  # nobody tells of how many connections the first packet was lost
        return True
    if flow.settings.get("protocol") != "TCP":
        lost = flow.taking == "client" and (_number(flow.values.get("lost_messages")) or 0) > 0
        return lost and _length_of(gap) <= RTOS * 1e9 * (flow.asked("timeout_s") or 0)
    # Of round trips the segments of either way may be lost.
    ends = flow.ends if flow.taking == "client" else (flow.giving,)
    again = [end for end in ends if _sent_again(end, flow)]
    told_us = [flow.number(f"{end}_tcp_end_rto_us") or UNTOLD_RTO_US for end in again]
    explained_us = (RTOS * max(told_us, default=0), ROUND_TRIPS * _shortest_trip_us(flow))
    return _length_of(gap) <= 1e3 * max(explained_us)


def _sent_again(end: str, flow: _Flow) -> bool:
    """Whether that end's TCP sent something again; some systems tell of segments, some of bytes."""
    return any(flow.grown(end, name) for name in ("total_retrans", "bytes_retrans"))


def _shortest_trip_us(flow: _Flow) -> float:
    """The last one stands for the shortest where the sender's system does not keep that."""
    ends = (f"{flow.giving}_tcp_end_{name}" for name in ("min_rtt_us", "rtt_us"))
    return next((us for name in ends if (us := flow.number(name))), 0)


# ---- what stopped the data -----------------------------------------------------------------------


def _cause_of(gaps: Sequence[Gap], flow: _Flow) -> tuple[Cause | None, str]:
    """The cause that the record proves, and at which end; the more particular one first."""
    for cause, proves in _PROOFS:
        for end in flow.ends if gaps else ():
            if proves(gaps, flow, end):
                return cause, end
    return None, ""


def _was_suspended(gaps: Sequence[Gap], flow: _Flow, end: str) -> bool:
    return (flow.number(f"{end}_suspended_ns") or 0) >= HALF * max(map(_length_of, gaps))


def _was_robbed(gaps: Sequence[Gap], flow: _Flow, end: str) -> bool:
    """All its CPUs were gone for nearly as long as data stopped."""
    share = flow.number(f"{end}_host_steal_share") or 0
    window_ns = flow.number(f"{end}_elapsed_ns") or flow.number("elapsed_ns") or 0
    return share * window_ns >= ROBBED * _length_ns(gaps)


def _stood_still(gaps: Sequence[Gap], flow: _Flow, end: str) -> bool:
    """Its ticks were late while data stopped."""
    # A mirror's ticks count from the first request on, the asker's window begins later.
    ahead_ns = round(1e9 * (flow.asked("warm_up_s") or 0)) if end == "server" else 0
    late = [(a - ahead_ns, b - ahead_ns) for a, b in flow.intervals(f"{end}_late_ticks")]
    return _overlap_ns(gaps, late) >= HALF * _length_ns(gaps)


def _did_not_take(gaps: Sequence[Gap], flow: _Flow, end: str) -> bool:
    """Its queue was full after the gap, and data had come all the while: TCP's window was closed,
    the socket dropped datagrams.

    A full queue alone shows nothing: behind a loss, or a neighbour that is resolved anew, all that
    had waited comes at once.
    """
    full = flow.values.get(f"{flow.prefix}{end}_gap_queue_full")
    if end != "receiver" or not isinstance(full, list | tuple) or 1 not in full:
        return False
    stopped_ns = _length_ns(gaps)
    if flow.settings.get("protocol") == "TCP":
        return 1e3 * (flow.grown("sender", "rwnd_limited_us") or 0) >= HALF * stopped_ns
    taken, drops = flow.number("received_messages"), flow.number("receiver_queue_drops")
    running_ns = (flow.number("elapsed_ns") or 0) - stopped_ns
    return (drops or 0) * running_ns >= HALF * (taken or 0) * stopped_ns > 0


def _lost_carrier(_gaps: Sequence[Gap], flow: _Flow, end: str) -> bool:
    return (flow.number(f"{end}_interface_carrier_changes") or 0) > 0


def _had_its_clock_set(_gaps: Sequence[Gap], flow: _Flow, end: str) -> bool:
    return flow.number(f"{end}_wall_step_ns") is not None


_PROOFS: tuple[tuple[Cause, Callable[[Sequence[Gap], _Flow, str], bool]], ...] = (
    (Cause.SUSPENDED, _was_suspended),
    (Cause.STEAL, _was_robbed),
    (Cause.PROCESS, _stood_still),
    (Cause.CARRIER, _lost_carrier),
    (Cause.PROCESS, _did_not_take),
    (Cause.CLOCK, _had_its_clock_set),
)


# ---- intervals -----------------------------------------------------------------------------------


def _length_of(gap: Gap) -> int:
    return gap[1] - gap[0]


def _length_ns(gaps: Sequence[Gap]) -> int:
    return sum(map(_length_of, gaps))


def _overlap_ns(gaps: Sequence[Gap], others: Sequence[Gap]) -> int:
    """Of intervals that do not overlap among themselves."""
    return sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in gaps for b in others)


def _number(value: object) -> float | None:
    """A number that a count or a time can be: a record from elsewhere may hold any."""
    known = as_number(value)
    return known if known is not None and -_MOST < known < _MOST else None
