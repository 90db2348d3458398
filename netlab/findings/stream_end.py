"""One end of a stream: what it reports about itself and its host, for its own window; and how many
messages were lost between both."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from netlab.trial.record import NUMBER, TEXT, WHOLE, FlowValues, Recorded

DAMAGED = "receiver_{}_checksum_errors"
"""The name of a count, with the protocol."""

WINDOW_NS = 200_000_000
"""Minimum window for shares of CPU time: kernels count CPU time in ticks of 1 to 16 ms."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DerivedFigures:
    """Figures of a trial beside its record: attributes made with ``Recorded`` are values of the
    record under another name, the others are computed. ``None``: not known.
    """

    measured: FlowValues

    def but(self, **figures: Any) -> Self:
        """A copy in which these figures have other values."""
        other = copy(self)
        # Neither ``Recorded`` nor cached figures have a setter: a value of the object comes first.
        other.__dict__.update(figures)
        return other


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamEnd(DerivedFigures):
    """What one end reports about itself and its host, for its own window."""

    host: str = ""
    spins: bool = False
    """Whether the end keeps its CPU busy while it waits, as a spinning receiver or a paced sender
    does."""
    window_ns = Recorded(WHOLE, "elapsed_ns")
    interface = Recorded(TEXT, "interface")
    mtu_bytes = Recorded(WHOLE, "interface_mtu_bytes")
    """The MTU that this interface had in this trial."""
    thread_ns = Recorded(WHOLE, "thread_ns")
    """Time on a CPU of the test's busiest thread."""
    run_queue_delay_ns = Recorded(WHOLE, "run_queue_delay_ns")
    """Time in which a thread of the test was ready to run but had no CPU."""
    quota_periods = Recorded(WHOLE, "quota_periods")
    """Periods of the end's CPU quota within the window; 0: no quota."""
    throttled_periods = Recorded(WHOLE, "quota_throttled_periods")
    throttled_ns = Recorded(WHOLE, "quota_throttled_ns")
    """Time in which a quota made the end wait, summed over all CPUs."""
    steal_share = Recorded(NUMBER, "host_steal_share")
    """Share of all CPUs' time that the hypervisor gave to other machines."""
    busiest_core = Recorded(WHOLE, "host_busiest_core")
    busiest_core_share = Recorded(NUMBER, "host_busiest_core_share")
    cpu = Recorded(WHOLE, "cpu")
    """The CPU to which the end is pinned."""
    clock_ppm = Recorded(NUMBER, "raw_clock_ppm")
    """How much faster the monotonic clock ran than CLOCK_MONOTONIC_RAW, in ppm. Time
    synchronisation changes the rate of the first clock, but not of the second."""
    clock_step_ns = Recorded(WHOLE, "wall_step_ns")
    """Step of the wall clock against the monotonic clock; recorded only above 0.5 s."""

    @property
    def judged(self) -> bool:
        """Whether the end's window is long enough to judge shares of time."""
        return (self.window_ns or 0) >= WINDOW_NS

    @property
    def thread_share(self) -> float | None:
        """Share of the window in which the busiest thread was on a CPU."""
        return self.share_of(self.thread_ns)

    @property
    def run_queue_share(self) -> float | None:
        """Share of the window in which a thread was ready to run but had no CPU."""
        return self.share_of(self.run_queue_delay_ns)

    @property
    def throttled_share(self) -> float | None:
        """Share of the quota's periods in which the end was throttled; 0 without a quota."""
        if self.quota_periods is None or self.throttled_periods is None:
            return None
        return self.throttled_periods / max(1, self.quota_periods)

    @property
    def waited_share(self) -> float:
        """Share of the window in which the end had no CPU; 0 if no reason for a wait is recorded.

        The waits for different reasons overlap, so the largest share counts.
        """
        throttled = self.share_of(self.throttled_ns)
        quota = self.throttled_share if throttled is None else min(1.0, throttled)
        return max(self.run_queue_share or 0, self.steal_share or 0, quota or 0)

    @property
    def stalled_share(self) -> float:
        """Share of the window in which the process is known not to have run; else 0."""
        return self.share_of(self.measured.number("stalled_ns")) or 0.0

    def share_of(self, ns: float | None) -> float | None:
        """A time as a share of the end's window."""
        return None if ns is None or not self.window_ns else ns / self.window_ns


@dataclass(frozen=True, eq=False, kw_only=True)
class Losses(DerivedFigures):
    """Numbers of UDP messages in the whole test."""

    sent = Recorded(WHOLE, "sent_messages")
    lost = Recorded(WHOLE, "lost_messages")
    local = Recorded(WHOLE, "sender_local_drops")
    """Messages that the sender's system refused or dropped; not counted as sent."""
    other_way: int | None = 0
    """Messages of the other direction lost at the same time; over TCP, retransmitted segments."""

    @cached_property
    def receive_queue(self) -> int | None:
        """Messages without room in the receiving socket. Linux counts damaged ones there, too."""
        drops, damaged = map(self.measured.whole, ("receiver_queue_drops", DAMAGED.format("udp")))
        return None if drops is None else max(0, drops - (damaged or 0))

    @property
    def checked(self) -> int:
        """Messages whose checksum was checked, at most: a socket without room checks none."""
        return max(0, (self.sent or 0) - (self.receive_queue or 0))
