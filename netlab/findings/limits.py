"""What limited a stream, as far as its records show it. Pure.

Where the evidence does not show it there is no finding. The rules stand in ``_LIMITS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from netlab.findings.nouns import ADVICE, SEVERITY, Finding, Group, Kind
from netlab.histogram import Histogram, middle_of

FILLED, FILLED_BOTH_WAYS = 0.98, 0.96
"""Share of the wire ceiling from which on the wire is the limit; with data both ways the ceiling
is an upper bound, since acknowledgements take room."""

WINDOW_NS = 200_000_000
"""Least window that shares of CPU time are judged over: kernels count it in ticks of 1 to 16 ms."""

ON_CPU = 0.95
"""Share of the window on a CPU from which on a thread is CPU-bound."""

IN_CALLS = 0.8
"""Share of the window that send calls must fill."""

ORDINARY, IN_ORDINARY_CALLS = 0.98, 0.5
"""All but the longest fiftieth of the calls must fill half of it: an interrupt or another program
makes a few of them long, and that is not what a call costs."""

SAMPLES = 50
"""Least send calls timed that tell how long they take."""

ROOM = 0.9
"""Share of the send calls that must have found room in the socket: these wait for no queue."""

LOOKS = 8
"""How often it must have been looked for room."""

OF_BUFFER = 8
"""Least messages that fit the send buffer: with fewer, each call may wait for the queue."""

DELIVERED = 0.95
"""Least share of what was sent that must arrive for the sender to be the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """The messages that went one way in one trial that is ok; ``None`` is not known."""

    cell: str
    """Key of the cell."""
    pairing: str
    protocol: str
    message_bytes: int
    flow: str = ""
    """``to server`` or ``to client`` where the test sends both ways."""
    throughput_bit_per_s: float
    """By the receiver."""
    ceiling_bit_per_s: float | None
    """Of the wire, the lowest that the TCP options may leave."""
    same_host: bool = False
    """No wire was touched."""
    paced: bool = False
    streams: int = 1
    window_ns: int | None = None
    """The sender's."""
    calls: int | None = None
    """Send calls in that window, of all streams."""
    call_times: Histogram | None = None
    """ns inside a call, of a sample of them."""
    room_looks: int | None = None
    """How often it was looked whether the next call would find room in the socket."""
    room_share: float | None = None
    """Share of these looks that found some."""
    send_buffer_bytes: int | None = None
    """As read back."""
    thread_ns: int | None = None
    """Time on a CPU of the busiest thread of the sender, within the window."""

    @property
    def group(self) -> Group:
        """Which group its cell is of."""
        return Group(self.pairing, self.protocol, self.message_bytes, self.flow)

    @property
    def ceiling_share(self) -> float | None:
        """Throughput as a share of the wire ceiling."""
        ceiling = self.ceiling_bit_per_s
        return None if ceiling is None else self.throughput_bit_per_s / ceiling

    @property
    def calls_per_s(self) -> float | None:
        """Of all streams."""
        if self.calls is None or not self.window_ns:
            return None
        return self.calls * 1e9 / self.window_ns

    @property
    def delivered_share(self) -> float | None:
        """What arrived, as a share of what the send calls took; near 1 where nothing is lost."""
        per_s = self.calls_per_s
        return None if not per_s else self.throughput_bit_per_s / (8 * self.message_bytes * per_s)

    @property
    def thread_share(self) -> float | None:
        """Share of the window that the busiest thread was on a CPU."""
        if self.thread_ns is None or not self.window_ns:
            return None
        return self.thread_ns / self.window_ns

    def call_percentile_ns(self, share: float) -> int | None:
        """Time inside a send call that ``share`` of them do not exceed."""
        times = self.call_times
        return None if times is None or times.count < SAMPLES else times.percentile(share)

    @property
    def in_calls_share(self) -> float | None:
        """Share of the window inside send calls, as the sample tells: above 1 by its scatter."""
        return self._inside(None)

    @property
    def in_ordinary_calls_share(self) -> float | None:
        """The same of all calls but the longest."""
        return self._inside(self.call_percentile_ns(ORDINARY))

    def _inside(self, most_ns: int | None) -> float | None:
        times = self.call_times
        if times is None or times.count < SAMPLES or self.calls is None or not self.window_ns:
            return None
        each = ((middle_of(bucket, times.bits), n) for bucket, n in times.counts.items())
        sampled_ns = sum(ns * n for ns, n in each if most_ns is None or ns <= most_ns)
        return sampled_ns / times.count * self.calls / self.window_ns / self.streams


def limit_of(sending: Sending) -> Kind | None:
    """What limited it; ``None`` where it was paced, or where nothing recorded shows it."""
    if sending.paced:
        return None
    return next((kind for kind, shown in _LIMITS.items() if shown(sending)), None)


def limits(sendings: Iterable[Sending]) -> tuple[Finding, ...]:
    """One finding a group and kind, in the readings' order; a cell has at most one.

    A cell is counted where more than half of its trials show the same.
    """
    groups: dict[Group, dict[str, list[Sending]]] = {}
    for each in sendings:
        groups.setdefault(each.group, {}).setdefault(each.cell, []).append(each)
    found = []
    for group, cells in groups.items():
        by_cell = {cell: _limit_of_cell(trials) for cell, trials in cells.items()}
        for kind in dict.fromkeys(limit for limit in by_cell.values() if limit is not None):
            shown = tuple(cell for cell, limit in by_cell.items() if limit is kind)
            trials = [trial for cell in shown for trial in cells[cell] if limit_of(trial) is kind]
            found.append(
                Finding(
                    kind=kind,
                    severity=SEVERITY[kind],
                    group=group,
                    cells=shown,
                    evidence=_evidence(trials),
                    advice=ADVICE[kind],
                )
            )
    return tuple(found)


def _limit_of_cell(trials: list[Sending]) -> Kind | None:
    limits = [limit_of(trial) for trial in trials]
    most = max(limits, key=limits.count)
    return most if 2 * limits.count(most) > len(limits) else None


def _fills_the_wire(sending: Sending) -> bool:
    share = sending.ceiling_share
    if share is None or sending.same_host:
        return False
    return share >= (FILLED_BOTH_WAYS if sending.flow else FILLED)


def _is_the_senders(sending: Sending) -> bool:
    """Below what the wire carries, and what was sent arrived: then the limit may be the sender.

    TCP loses nothing; only the windows of its two ends are not quite the same.
    """
    delivered = 1.0 if sending.protocol == "TCP" else sending.delivered_share
    known = sending.same_host or sending.ceiling_bit_per_s is not None
    return (
        known
        and not _fills_the_wire(sending)
        and delivered is not None
        and delivered >= DELIVERED
        and (sending.window_ns or 0) >= WINDOW_NS
    )


def _is_on_cpu(sending: Sending) -> bool:
    """Its one thread was on a CPU all the time: it waited for nothing, neither queue nor CPU."""
    share = sending.thread_share
    return sending.streams == 1 and share is not None and share >= ON_CPU


def _is_in_calls(sending: Sending) -> bool:
    """Send calls fill the window, and what they wait for is not the queue.

    That calls take equally long shows nothing: a call that waits for room in a full buffer may
    take as long as a message is on the wire, each time anew. So the socket is asked. It has room
    for a small message only: of a large one a call may wait half way.
    """
    inside, ordinary = sending.in_calls_share, sending.in_ordinary_calls_share
    buffer_bytes = sending.send_buffer_bytes
    if inside is None or ordinary is None or buffer_bytes is None:
        return False
    return (
        inside >= IN_CALLS
        and ordinary >= IN_ORDINARY_CALLS
        and (sending.room_looks or 0) >= LOOKS
        and sending.room_share is not None
        and sending.room_share >= ROOM
        and OF_BUFFER * sending.message_bytes <= buffer_bytes
    )


_LIMITS: Mapping[Kind, Callable[[Sending], bool]] = {
    Kind.WIRE_CEILING: _fills_the_wire,
    Kind.SENDER_CPU: lambda sending: _is_the_senders(sending) and _is_on_cpu(sending),
    Kind.SENDER_CALL_RATE: lambda sending: _is_the_senders(sending) and _is_in_calls(sending),
}
"""The first that is shown is the limit: a thread that is on its CPU all the time may well be so
inside its send calls."""


def _evidence(trials: list[Sending]) -> dict[str, float]:
    """Medians of what is known of each; one that some trial lacks is left out."""
    of_each: dict[str, list[float | int | None]] = {
        "throughput_bit_per_s": [each.throughput_bit_per_s for each in trials],
        "ceiling_bit_per_s": [each.ceiling_bit_per_s for each in trials],
        "ceiling_share": [each.ceiling_share for each in trials],
        "calls_per_s": [each.calls_per_s for each in trials],
        "send_call_median_ns": [each.call_percentile_ns(0.5) for each in trials],
        "send_call_p90_ns": [each.call_percentile_ns(0.9) for each in trials],
        "in_calls_share": [each.in_calls_share for each in trials],
        "in_ordinary_calls_share": [each.in_ordinary_calls_share for each in trials],
        "send_room_share": [each.room_share for each in trials],
        "thread_share": [each.thread_share for each in trials],
    }
    known = {name: [v for v in values if v is not None] for name, values in of_each.items()}
    return {name: median(values) for name, values in known.items() if len(values) == len(trials)}
