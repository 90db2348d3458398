"""A load of frames at a given rate, one way or both ways at once, with the counts of all hosts.

Before the load, netlab sends frames at half the rate for 0.1 s. They let the device learn addresses
and wake up, and they do not count. The streams of the load are opened with a packet each way, so
that the device has its state for each stream (such as a NAT entry) before the first frame. The
key ``observed_1`` means the first observed host: a host on the path that is no end of the test.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from netlab import clock
from netlab.errors import ProbeError
from netlab.ethernet import udp_message_in_frame
from netlab.experiment.estimate import LEARN_S
from netlab.experiment.host_counters import Watched
from netlab.experiment.kinds import Stream, ThroughputSearch
from netlab.experiment.rate_search import Counts, shared_drops
from netlab.experiment.records import Value
from netlab.measurement.common_window import START_AHEAD_S
from netlab.measurement.conversation import (
    Conversation,
    ConversationEnd,
    OnProgress,
    drive,
    opened_by,
)
from netlab.measurement.ends import Ends
from netlab.measurement.flow import Flow, keys_of
from netlab.measurement.host_watch import WHOSE, Watch, dropped_at_socket
from netlab.measurement.requests import can, request_keys
from netlab.remote.protocol import decimal

LEARN_SHARE = 0.5
"""Rate of the frames for learning, as a share of the rate of the load."""

OVER_S = 0.5
"""How much longer than requested a sender may take before it is stopped; checked once a second."""

SLACK_S = 5.0
"""Time beyond the expected end of a test after which the probe's own deadline ends the test."""

SENDERS = {"client-sends": ("client",), "server-sends": ("server",), "both": ("client", "server")}
"""Direction → the ends that send."""


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
    effective: Mapping[str, Value] = field(default_factory=dict)
    """Effective values of the settings at both ends of each direction, by the names of a record."""


def _nothing() -> None:
    """Default of ``on_sent``."""


@dataclass(slots=True)
class LoadFlow(Flow):
    """One direction of a load. A sender that is too slow is stopped in time."""

    longest_ns: int = 0
    """Time after which the sender is stopped."""
    on_sent: Callable[[], None] = _nothing
    """Called when the last frame has been sent."""

    def follow(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """Act as in every flow. In addition, stop a late sender; the trial then counts the frames
        sent until then.
        """
        late = side is self.sender and record.get("elapsed_ns", 0) > self.longest_ns
        if record["type"] == "progress" and late and not self.stopped:
            self.stopped = True
            self.stop(self.sender)
        Flow.follow(self, side, record)
        if record["type"] == "result" and side is self.sender:
            self.on_sent()


def learn(setup: ThroughputSearch, ends: Ends, load: OfferedLoad, line_per_s: float) -> None:
    """Send frames that do not count, so that the device learns addresses and wakes up."""
    rate = LEARN_SHARE * (load.frames_per_s or line_per_s)
    frames = max(2, setup.streams, round(rate * LEARN_S))
    flows = flows_of(setup, ends, OfferedLoad(frames, rate, frames / rate))
    try:
        drive(flows, lives_s(setup, frames / rate), lambda _side, _record: None)
    except ProbeError as fault:
        if fault.word != "no-traffic":
            raise


def offer(
    setup: ThroughputSearch,
    ends: Ends,
    load: OfferedLoad,
    on_progress: OnProgress,
    *,
    watch: Watch | None = None,
    starts: Starts | None = None,
) -> Offered:
    """Send a load and wait for the frames that are still in transit; returns the counts.

    ``watch``: a Watch that has begun; ``starts``: as in ``flows_of``. Raises ProbeError if there
    are no counts.
    """
    watch = watch or Watch.begin(ends, setup)
    flows = flows_of(setup, ends, load, residual_s=setup.residual_s, starts=starts)

    def on_sent() -> None:
        if all(flow.sender.ended for flow in flows):
            watch.all_sent()

    for flow in flows:
        flow.on_sent = on_sent
    try:
        drive(flows, lives_s(setup, load.duration_s), on_progress)
    except ProbeError as fault:
        # No frame arrived: for a single stream this is a count of 0.
        if fault.word != "no-traffic" or setup.streams > 1 or len(flows) > 1:
            raise
        if flows[0].sender.result is None:
            raise
    hosts = watch.end(_results(flows, ends))
    return Offered(_accounts(flows, hosts), hosts, _effective(flows))


def flows_of(
    setup: ThroughputSearch,
    ends: Ends,
    load: OfferedLoad,
    *,
    residual_s: float | None = None,
    starts: Starts | None = None,
) -> list[LoadFlow]:
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
    sample: dict[str, Any] = (
        {} if setup.burst is None or load.frames_per_s is None else {"burst": setup.burst}
    )
    receiving: dict[str, Any] = {} if residual_s is None else {"drain": decimal(residual_s)}
    common: dict[str, Any] = {"deadline": decimal(lives_s(setup, load.duration_s))}
    if starts is None:
        starts = _starts_soon(setup, ends) if setup.direction == "both" else {}
    ahead_s = START_AHEAD_S if starts else 0.0
    flows = []
    for sender in SENDERS[setup.direction]:
        begin = {"start_ns": starts[sender]} if sender in starts else {}
        more = {"send": common | sample | begin, "receive": common | receiving}
        flow = _flow(sender, stream, ends, more)
        flow.longest_ns = round(1e9 * (load.duration_s + OVER_S + ahead_s))
        flows.append(flow)
    return flows


def lives_s(setup: ThroughputSearch, duration_s: float) -> float:
    """Time limit in seconds at the probes for a load of this duration."""
    return START_AHEAD_S + duration_s + OVER_S + 1 + setup.residual_s + SLACK_S


def _flow(
    sender: str, stream: Stream, ends: Ends, more: Mapping[str, Mapping[str, Any]]
) -> LoadFlow:
    """The flow of one direction. ``more``: verb, ``send`` or ``receive`` → additional keys."""
    token = secrets.token_hex(16)

    def side(end: str) -> ConversationEnd:
        agent = ends.agent_of(end)
        verb = "send" if end == sender else "receive"
        keys = keys_of(stream, verb, end, agent, token) | dict(more[verb])
        return ConversationEnd(agent, verb, ends.address(end, stream), keys)

    listener, connector = opened_by(
        ends.connects("UDP"), server=side("server"), client=side("client")
    )
    connecting = request_keys(stream, connector.agent, "connect")
    return LoadFlow("", connector, listener, connecting=connecting)


def clocks(setup: ThroughputSearch, ends: Ends) -> Starts:
    """Sending end → offset of its clock from the controller's (this process's) clock, ns."""
    senders = SENDERS[setup.direction]
    return {end: ends.agent_of(end).clock_offset().offset_ns for end in senders}


def starts_at(offsets_ns: Mapping[str, int], start_ns: int) -> Starts:
    """A start by the controller's clock, converted to each sender's clock."""
    return {end: start_ns + offset for end, offset in offsets_ns.items()}


def _starts_soon(setup: ThroughputSearch, ends: Ends) -> Starts:
    offsets_ns = clocks(setup, ends)
    return starts_at(offsets_ns, clock.monotonic_ns() + round(1e9 * START_AHEAD_S))


def _results(flows: Sequence[Conversation], ends: Ends) -> dict[str, list[Mapping[str, Any]]]:
    """``client`` or ``server`` → the results of its probe."""
    return {
        end: [
            side.result
            for flow in flows
            for side in flow.sides
            if side.agent is ends.agent_of(end) and side.result is not None
        ]
        for end in WHOSE
    }


def _accounts(flows: Sequence[Flow], hosts: Mapping[str, Watched]) -> tuple[Counts, ...]:
    """The counts of each direction, with the drops of our own hosts."""
    accounts = [_counts(flow) for flow in flows]
    # The drop counters of an interface or a backlog contain the drops of both directions.
    shared = shared_drops(
        [max(0, counts.lost - counts.own_drops) for counts in accounts],
        sum(hosts[end].dropped_on_the_way for end in WHOSE),
    )
    return tuple(
        replace(counts, own_drops=counts.own_drops + own)
        for counts, own in zip(accounts, shared, strict=True)
    )


def _counts(flow: Flow) -> Counts:
    """The counts of one direction, with the drops of its receiving socket."""
    sender_result, receiver_result = flow.sender.result or {}, flow.receiver.result or {}
    return Counts(
        sent=sender_result["sent_messages"],
        received=receiver_result.get("total_messages", 0),
        sent_span_ns=max(0, sender_result["last_send_ns"] - sender_result["first_send_ns"]),
        received_span_ns=receiver_result.get("elapsed_ns", 0),
        own_drops=dropped_at_socket([receiver_result]) or 0,
    )


_IN_EFFECT = {
    "sender_": ("send_buffer", "send_method"),
    "receiver_": ("receive_buffer", "receive_method", "receive_steering"),
}
"""End of a direction → prefixes of the effective values in its result."""


def _effective(flows: Sequence[Flow]) -> dict[str, Value]:
    ways = dict(zip(WHOSE, ("to_server_", "to_client_"), strict=True)) if len(flows) > 1 else {}
    values: dict[str, Value] = {}
    for flow, way in zip(flows, ways.values() or ("",), strict=True):
        for end, result in (("sender_", flow.sender.result), ("receiver_", flow.receiver.result)):
            values |= {
                f"{way}{end}{name}": value
                for name, value in (result or {}).items()
                if name.startswith(_IN_EFFECT[end])
            }
    return values
