"""One trial of a throughput search: a load of frames at one rate, with the counts of all hosts.

Before the load, netlab sends frames at half the rate for 0.1 s. They let the device learn addresses
and wake up, and do not count. The streams are opened with a packet each way, so that the device has
its state for each stream (such as a NAT entry) before the first frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from netlab import clock, ethernet
from netlab.errors import ProbeError
from netlab.ethernet import udp_message_in_frame
from netlab.experiment.cells import Cell
from netlab.kinds import Stream, ThroughputSearch
from netlab.kinds.throughput_search import rate_search
from netlab.kinds.throughput_search.rate_search import Counts, Criteria
from netlab.kinds.throughput_search.settings import LEARN_S
from netlab.measurement.conversation import ConversationEnd, can, drive
from netlab.measurement.ends import (
    AHEAD_A_TRIAL_S,
    START_AHEAD_S,
    Ends,
    OnGoodput,
    Participant,
    alone,
    so_far,
)
from netlab.measurement.host_watch import WHOSE, Watch, dropped_at_socket
from netlab.measurement.stream import SENDERS, Flow, flows_between
from netlab.remote.answers import decimal
from netlab.trial.host_counters import Watched
from netlab.trial.record import REASONS, Value, reason_of

LEARN_SHARE = 0.5
"""Rate of the frames for learning, as a share of the rate of the load."""
OVER_S = 0.5
"""How much longer than requested a sender may take before it is stopped; checked once a second."""
SLACK_S = 5.0
"""Time beyond the expected end of a test after which the probe's own deadline ends the test."""

Starts = Mapping[str, int]
"""Sending end, ``client`` or ``server`` → its start by its own monotonic clock, ns."""


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """The frames to offer, each way."""

    frames: int
    frames_per_s: float | None
    """``None``: as fast as the sender's link takes them."""
    duration_s: float
    """Duration of the load at this rate, or at the line rate if ``frames_per_s`` is ``None``."""


@dataclass(frozen=True, slots=True)
class Offered:
    """The result of a load."""

    accounts: tuple[Counts, ...]
    """Counts of each direction."""
    hosts: Mapping[str, Watched]
    """``client``, ``server``, ``observed_1`` … → load and drops of the host."""
    effective: Mapping[str, Value]
    """Effective values of the settings at both ends of each direction, by the names of a record."""


def flows_of(
    setup: ThroughputSearch,
    ends: Ends,
    load: OfferedLoad,
    *,
    residual_s: float | None = None,
    starts: Starts | None = None,
) -> list[Flow]:
    """One flow per direction, not begun yet. ``residual_s``: how long the receivers wait for
    missing frames; ``None``: the probe's default. ``starts``: when the senders begin. If it is
    ``None``, two directions begin together in a moment, and a single direction begins at once.
    """
    stream = Stream(
        **setup.passed_on(Stream, but={"duration_s"}),
        message_bytes=udp_message_in_frame(setup.frame_bytes, ip_version=setup.ip_version),
        duration_s=None,
        count=load.frames,
        message_rate_per_s=load.frames_per_s,
        dont_fragment=all(can(ends.agent_of(end), "dont-fragment") for end in WHOSE),
    )
    if starts is None:
        starts = _starts_soon(setup, ends) if setup.direction == "both" else {}

    def keys(end: str, verb: str) -> dict[str, Any]:
        keys: dict[str, Any] = {"limit_s": lives_s(setup, load.duration_s)}
        if verb == "send" and setup.burst is not None and load.frames_per_s is not None:
            keys["burst"] = setup.burst
        if verb == "send" and end in starts:
            keys["start_ns"] = starts[end]
        if verb == "receive" and residual_s is not None:
            keys["drain"] = decimal(residual_s)
        return keys

    flows = flows_between(stream, ends, keys)
    ahead_s = START_AHEAD_S if starts else 0.0
    for flow in flows:
        flow.longest_ns = round(1e9 * (load.duration_s + OVER_S + ahead_s))
    return flows


def lives_s(setup: ThroughputSearch, duration_s: float) -> float:
    """Time limit in seconds at the probes for a load of this duration."""
    return START_AHEAD_S + duration_s + OVER_S + 1 + setup.residual_s + SLACK_S


def clocks(setup: ThroughputSearch, ends: Ends) -> Starts:
    """Sending end → offset of its clock from the controller's (this process's) clock, ns."""
    senders = SENDERS[setup.direction].values()
    return {end: ends.agent_of(end).clock_offset().offset_ns for end in senders}


def _starts_soon(setup: ThroughputSearch, ends: Ends) -> Starts:
    offsets_ns = clocks(setup, ends)
    start_ns = clock.monotonic_ns() + round(1e9 * START_AHEAD_S)
    return {end: start_ns + offset_ns for end, offset_ns in offsets_ns.items()}


def _accounts(flows: Sequence[Flow], hosts: Mapping[str, Watched]) -> tuple[Counts, ...]:
    """The counts of each direction, with the drops of our own hosts."""
    accounts = []
    for flow in flows:
        sender, receiver = flow.sender.result or {}, flow.receiver.result or {}
        counts = Counts(
            sent=sender["sent_messages"],
            received=receiver.get("total_messages", 0),
            sent_span_ns=max(0, sender["last_send_ns"] - sender["first_send_ns"]),
            received_span_ns=receiver.get("elapsed_ns", 0),
            own_drops=dropped_at_socket([receiver]) or 0,
        )
        accounts.append(counts)
    # The drop counters of an interface or a backlog contain the drops of both directions.
    shared = rate_search.shared_drops(
        [max(0, counts.lost - counts.own_drops) for counts in accounts],
        sum(hosts[end].dropped_on_the_way for end in WHOSE),
    )
    return tuple(
        replace(counts, own_drops=counts.own_drops + own)
        for counts, own in zip(accounts, shared, strict=True)
    )


_IN_EFFECT = {
    "sender_": ("send_buffer", "send_method"),
    "receiver_": ("receive_buffer", "receive_method", "receive_steering"),
}
"""End of a direction → prefixes of the effective values in its result."""


def _effective(flows: Sequence[Flow]) -> dict[str, Value]:
    return {
        f"{flow.name}{end}{name}": value
        for flow in flows
        for end, side in (("sender_", flow.sender), ("receiver_", flow.receiver))
        for name, value in (side.result or {}).items()
        if name.startswith(_IN_EFFECT[end])
    }


BEARABLE = 2
"""If an attempt at a trial has no result, at most this many further attempts follow. If they have
no result either, the search fails."""
OUTRUN = 1.25
"""A sender that exceeds the line rate by this factor is not slowed down by a link of that rate."""


@dataclass(frozen=True, slots=True)
class LineRate:
    """The line rate; the rates of the trials are shares of it."""

    bit_per_s: float
    source: str
    """Origin of the rate: ``setting``, ``link`` (of the matrix) or ``interface``."""
    frames_per_s: float
    """Highest number of frames per second, of the frame size under test."""


@dataclass(frozen=True, slots=True)
class PairResult(Offered):
    """The result of one pair of hosts in a trial."""

    verdict: rate_search.TryVerdict
    forwarded_share: float | None
    """Rate at which frames arrived, as a share of the line rate; ``None``: unknown."""
    outran: bool
    """Whether the sender passed frames to its system faster than the line carries them."""
    other_link: bool
    """Whether the frames that were passed too early are more than the sender's socket holds, so
    that the link must be faster than the line rate."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One trial with the results of all pairs."""

    share: Fraction
    """Offered rate as a share of the line rate, each way."""
    full: bool
    """Whether the trial has the full duration, so that it counts."""
    load: OfferedLoad
    said: tuple[PairResult, ...]
    """Results of this pair of hosts and then of the pairs that search together with it."""

    @property
    def own(self) -> PairResult:
        """The result of this pair of hosts."""
        return self.said[0]

    @property
    def verdict(self) -> rate_search.TryVerdict:
        """The worst verdict of all pairs."""
        return rate_search.worst(result.verdict for result in self.said)

    @property
    def lost(self) -> int:
        """Lost frames of all pairs."""
        return sum(counts.lost for result in self.said for counts in result.accounts)

    @property
    def sent_per_s(self) -> float | None:
        """Frames per second sent, of the slower direction."""
        return rate_search.least(counts.sent_per_s() for counts in self.own.accounts)

    def as_try(self, next_rate: rate_search.NextRate) -> rate_search.RateTry:
        """The trial as a step of the search."""
        share = rate_search.least(result.forwarded_share for result in self.said)
        return rate_search.RateTry(next_rate.number, next_rate.full, self.verdict, share)


def line_of(setup: ThroughputSearch, ends: Ends) -> LineRate:
    """The line rate by the test's setting, else the matrix's link, else the client's interface.

    Raises ProbeError if none of them states it.
    """
    rate, source = setup.line_rate_bit_per_s, "setting"
    if rate is None:
        rate, source = ends.link_rate_bit_per_s, "link"
    if rate is None:
        peer = ends.address("server", setup)
        facts = ends.client.facts(to=peer, interface=setup.interface)
        rate, source = facts.get("interface_speed_bit_per_s"), "interface"
    if not rate:
        detail = "its interface reports no speed: set `link` or `line_rate` in the matrix"
        raise ProbeError(ends.client.host.name, "not-as-set-up", detail=detail)
    return LineRate(float(rate), source, ethernet.frames_per_s(rate, setup.frame_bytes))


@dataclass(slots=True)
class TrialRunner:
    """Measures the trials of one search, and notes whether the link limits its senders."""

    setup: ThroughputSearch
    cell: Cell
    ends: Ends
    live: OnGoodput
    line: LineRate
    link_paces: bool = True
    """Whether the link limits a sender without a schedule to the line rate. The link limits the
    rate more exactly than a schedule. False after the sender was faster than the line in two
    trials, because of its own queue or because its link is faster than the line rate."""
    outran_before: bool = False
    """Whether the sender was faster than the line in one trial."""
    other_link: bool = False
    """Whether the sender's link is known to be faster than the line rate."""
    participant: Participant = field(default_factory=alone)
    """This pair's participant among the pairs of hosts that search together."""

    def trial(self, share: Fraction, *, full: bool) -> TrialResult:
        """Measure one trial at a share of the line rate; ``full``: with the duration that counts.

        A trial without a result is tried again a few times; ProbeError if no attempt has a result.
        """
        full_s = self.setup.duration_s or 0.0
        duration_s = full_s if full else self.setup.search_duration_s or full_s
        per_s = float(share) * self.line.frames_per_s
        frames = max(2, self.setup.streams, round(per_s * duration_s))
        has_schedule = share < 1 or not self.link_paces
        load = OfferedLoad(frames, per_s if has_schedule else None, frames / per_s)
        criteria = Criteria(
            offered_per_s=per_s,
            line_per_s=self.line.frames_per_s,
            step_share=self.setup.resolution,
            duration_s=load.duration_s,
            acceptable_loss=self.setup.acceptable_loss,
        )
        for attempts_left in range(BEARABLE, -1, -1):
            outcomes = self._attempt(load, criteria)
            faults = [outcome for outcome in outcomes if isinstance(outcome, ProbeError)]
            if faults:
                if not attempts_left or any(
                    REASONS[reason_of(fault.word)].impossible for fault in faults
                ):
                    raise faults[0]
                clock.sleep(self.setup.settle_s)
                continue
            results = tuple(outcome for outcome in outcomes if isinstance(outcome, PairResult))
            if load.frames_per_s is None and any(result.outran for result in results):
                # Only the second such trial has an effect: a single one also occurs over a link of
                # exactly the stated rate.
                if self.outran_before:
                    self.link_paces = False
                    self.other_link = any(result.other_link for result in results)
                self.outran_before = True
                return self.trial(share, full=full)
            return TrialResult(share, full, load, results)
        raise AssertionError("unreachable")

    def _attempt(
        self, load: OfferedLoad, criteria: Criteria
    ) -> tuple[PairResult | ProbeError, ...]:
        """The results of this pair and of all pairs that search together with it, or the faults.

        All pairs exchange results before a trial, and again after it, even if the trial fails. So
        no pair waits for another pair that has already begun its next trial.
        """
        try:
            self.learn(load)
            several = len(self.participant.rendezvous.names) > 1
            offsets_ns = clocks(self.setup, self.ends) if several else None
            ready: Watch | ProbeError = Watch.begin(self.ends, self.setup)
        except ProbeError as fault:
            ready = fault
        meeting = self.participant.meet(ready)
        faults = tuple(fault for fault in meeting.said if isinstance(fault, ProbeError))
        if faults or isinstance(ready, ProbeError):
            return faults
        starts = None
        if offsets_ns is not None:
            ahead_s = START_AHEAD_S + AHEAD_A_TRIAL_S * (len(meeting.said) - 1)
            start_ns = meeting.over_ns + round(1e9 * ahead_s)
            starts = {end: start_ns + offset_ns for end, offset_ns in offsets_ns.items()}
        try:
            outcome: PairResult | ProbeError = self._measure(load, criteria, ready, starts)
        except ProbeError as fault:
            outcome = fault
        return self.participant.meet(outcome).said

    def _measure(
        self, load: OfferedLoad, criteria: Criteria, watch: Watch, starts: Starts | None
    ) -> PairResult:
        """Send a load, at the same moment as the other pairs, and judge its result."""
        offered = self.offer(load, watch=watch, starts=starts)
        # Frames may go faster than the line carries them over a faster link, or into the socket and
        # the queue of the sender. In both cases a schedule must limit the rate. If the early frames
        # exceed the sender's buffer, the link is faster: a frame takes room there until it is sent.
        per_s = OUTRUN * self.line.frames_per_s
        outran = any((counts.sent_per_s() or 0.0) > per_s for counts in offered.accounts)
        buffers_bytes = [
            int(str(size))
            for name, size in offered.effective.items()
            if name.endswith("sender_send_buffer_bytes")
        ]
        held_frames = self.setup.streams * max(buffers_bytes, default=0) / self.setup.frame_bytes
        early_share = 1 - 1 / OUTRUN
        return PairResult(
            offered.accounts,
            offered.hosts,
            offered.effective,
            verdict=rate_search.judge(offered.accounts, criteria),
            forwarded_share=rate_search.forwarded_share(offered.accounts, criteria),
            outran=outran,
            other_link=outran
            and any(held_frames < counts.sent * early_share for counts in offered.accounts),
        )

    def learn(self, load: OfferedLoad) -> None:
        """Send frames that do not count, so that the device learns addresses and wakes up."""
        rate = LEARN_SHARE * (load.frames_per_s or self.line.frames_per_s)
        frames = max(2, self.setup.streams, round(rate * LEARN_S))
        flows = flows_of(self.setup, self.ends, OfferedLoad(frames, rate, frames / rate))
        try:
            drive(flows, lives_s(self.setup, frames / rate))
        except ProbeError as fault:
            if fault.word != "no-traffic":
                raise

    def offer(
        self, load: OfferedLoad, *, watch: Watch | None = None, starts: Starts | None = None
    ) -> Offered:
        """Send a load and wait for the frames that are still in transit; returns the counts.

        ``watch``: a Watch that has begun; ``starts``: as in ``flows_of``. Raises ProbeError if
        there are no counts.
        """
        setup, ends = self.setup, self.ends
        watch = watch or Watch.begin(ends, setup)
        flows = flows_of(setup, ends, load, residual_s=setup.residual_s, starts=starts)

        def on_sent() -> None:
            if all(flow.sender.ended for flow in flows):
                watch.all_sent()

        for flow in flows:
            flow.on_sent = on_sent
        try:
            drive(flows, lives_s(setup, load.duration_s), self.on_progress)
        except ProbeError as fault:
            # No frame arrived: for a single stream this is a count of 0.
            if fault.word != "no-traffic" or setup.streams > 1 or len(flows) > 1:
                raise
            if flows[0].sender.result is None:
                raise
        sides = [side for flow in flows for side in flow.sides if side.result is not None]
        results = {
            end: [side.result or {} for side in sides if side.agent is ends.agent_of(end)]
            for end in WHOSE
        }
        hosts = watch.end(results)
        return Offered(_accounts(flows, hosts), hosts, _effective(flows))

    def on_progress(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """Show the goodput in a progress record of the receiver."""
        if side.verb == "receive":
            self.live(self.cell, so_far(record))
