"""Frames at a given rate, one way or both ways at once, and what both ends counted of them.

Before it, for a tenth of a second and at half the rate, the device learns and wakes up; nothing of
that counts. The streams of the trial itself are opened with a packet each way, so that what a
device keeps for each stream is there before its first frame.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netlab.cells import Cell
from netlab.errors import ProbeError
from netlab.lines import decimal
from netlab.measure import Ends
from netlab.measure.conversation import OnProgress, Side, can, drive, keys_of_connector
from netlab.measure.flow import Flow, keys_of
from netlab.probe import Agent
from netlab.setups import Stream, ThroughputSearch
from netlab.verdict import Account
from netlab.wire import udp_message_in_frame

LEARN_S = 0.1
LEARN_SHARE = 0.5
"""How long the device is warmed up, and at which share of the rate to come."""

AHEAD_S = 0.3
"""How far ahead the start of both directions is set, for the requests to arrive."""

OVER_S = 0.5
"""What a sender may take longer than asked before it is stopped; it is looked at once a second."""

SLACK_S = 5.0
"""What a probe may take beyond all this before its own deadline ends the test."""

RECEIVER_DROPS = ("queue_drops", "udp_receive_buffer_errors")
INTERFACE_DROPS = ("interface_dropped_packets", "interface_errors")


@dataclass(frozen=True, slots=True)
class Load:
    """What is offered, each way."""

    frames: int
    frames_per_s: float | None
    """``None``: as fast as the sender's link takes them."""
    duration_s: float
    """What it takes at that rate."""


@dataclass(slots=True)
class _Offered(Flow):
    """One direction. A sender that is too slow for its frames is stopped in time."""

    longest_ns: int = 0

    def follow(self, side: Side, record: Mapping[str, Any]) -> None:
        """As every flow; and what went out by the end of the time is the trial."""
        late = side is self.sender and record.get("elapsed_ns", 0) > self.longest_ns
        if record["type"] == "progress" and late and not self.stopped:
            self.stopped = True
            self.stop(self.sender)
        Flow.follow(self, side, record)


def learn(setup: ThroughputSearch, cell: Cell, ends: Ends, load: Load, line_per_s: float) -> None:
    """Let frames pass that do not count."""
    rate = LEARN_SHARE * (load.frames_per_s or line_per_s)
    frames = max(2, setup.streams, round(rate * LEARN_S))
    warm_up = Load(frames, rate, frames / rate)
    try:
        _drive(setup, cell, ends, warm_up, {}, lambda _side, _record: None)
    except ProbeError as fault:
        if fault.word != "no-traffic":
            raise


def offer(
    setup: ThroughputSearch, cell: Cell, ends: Ends, load: Load, on_progress: OnProgress
) -> tuple[Account, ...]:
    """Send a load and wait for what is still on its way; an account of each direction.

    Raises ProbeError where there is none.
    """
    before = _dropped(ends, cell)
    flows = _drive(setup, cell, ends, load, {"drain": decimal(setup.residual_s)}, on_progress)
    after = _dropped(ends, cell)
    dropped = sum(after[name] - before[name] for name in after if name in before)
    return tuple(_account(flow, max(0, dropped)) for flow in flows)


def _drive(
    setup: ThroughputSearch,
    cell: Cell,
    ends: Ends,
    load: Load,
    receiving: Mapping[str, Any],
    on_progress: OnProgress,
) -> list[_Offered]:
    agents = ends.agent_of_server, ends.client
    stream = Stream(
        protocol="UDP",
        message_bytes=udp_message_in_frame(setup.frame_bytes, ip_version=setup.ip_version),
        socket_buffer_bytes=setup.socket_buffer_bytes,
        duration_s=None,
        count=load.frames,
        message_rate_per_s=load.frames_per_s,
        streams=setup.streams,
        send_method=setup.send_method,
        ip_version=setup.ip_version,
        dont_fragment=all(can(agent, "dont-fragment") for agent in agents),
        dscp=setup.dscp,
        interface=setup.interface,
        receive=setup.receive,
        network=setup.network,
    )
    lives_s = AHEAD_S + load.duration_s + OVER_S + 1 + setup.residual_s + SLACK_S
    common = {"deadline": decimal(lives_s)}
    senders = {"client-sends": ["client"], "server-sends": ["server"], "both": ["client", "server"]}
    starts = _starts(ends) if setup.direction == "both" else {}
    burst = {} if setup.burst is None or load.frames_per_s is None else {"burst": setup.burst}
    flows = [
        _flow(sender, stream, cell, ends, common, burst | starts.get(sender, {}), receiving)
        for sender in senders[setup.direction]
    ]
    longest_ns = round(1e9 * (load.duration_s + OVER_S + (AHEAD_S if starts else 0)))
    for flow in flows:
        flow.longest_ns = longest_ns
    try:
        drive(flows, lives_s, on_progress)
    except ProbeError as fault:
        # Nothing of what went out arrived: of one stream that is a count.
        if fault.word != "no-traffic" or setup.streams > 1 or len(flows) > 1:
            raise
        if flows[0].sender.result is None:
            raise
    return flows


def _flow(
    sender: str,
    stream: Stream,
    cell: Cell,
    ends: Ends,
    common: Mapping[str, Any],
    sending: Mapping[str, Any],
    receiving: Mapping[str, Any],
) -> _Offered:
    token = secrets.token_hex(16)

    def side(whose: str) -> Side:
        agent = ends.agent_of_server if whose == "server" else ends.client
        verb = "send" if whose == sender else "receive"
        keys = keys_of(stream, verb, agent, token) | dict(common)
        keys |= sending if verb == "send" else receiving
        return Side(agent, verb, ends.address(whose, cell.setup), keys)

    server, client = side("server"), side("client")
    turned = ends.connects("UDP") == "server"
    return _Offered(
        name="",
        listener=client if turned else server,
        connector=server if turned else client,
        connecting=keys_of_connector(stream),
    )


def _starts(ends: Ends) -> dict[str, dict[str, int]]:
    """One start for both directions, in each sender's own clock."""
    agents: dict[str, Agent] = {"server": ends.agent_of_server, "client": ends.client}
    offsets = {whose: agent.clock_offset().offset_ns for whose, agent in agents.items()}
    start_ns = time.monotonic_ns() + round(1e9 * AHEAD_S)
    return {whose: {"start_ns": start_ns + offset} for whose, offset in offsets.items()}


def _account(flow: Flow, dropped: int) -> Account:
    sent, received = flow.sender.result or {}, flow.receiver.result or {}
    # The same frame counts as dropped by the socket and by the system.
    at_socket = max((received.get(name, 0) for name in RECEIVER_DROPS), default=0)
    return Account(
        sent=sent["sent_messages"],
        received=received.get("total_messages", 0),
        sent_span_ns=max(0, sent["last_send_ns"] - sent["first_send_ns"]),
        received_span_ns=received.get("elapsed_ns", 0),
        own_drops=dropped + at_socket,
    )


def _dropped(ends: Ends, cell: Cell) -> dict[str, int]:
    """What our two hosts' interfaces and backlogs have dropped so far, as far as they tell."""
    pair = {"server": ends.agent_of_server, "client": ends.client}
    addresses = {whose: ends.address(whose, cell.setup) for whose in pair}
    peers = {"server": addresses["client"], "client": addresses["server"]}
    machines = {agent.hello.get("machine_id") for agent in pair.values()}
    # One machine's backlog is that of whatever else it plays, the device as well.
    names = INTERFACE_DROPS + (("softnet_dropped_packets",) if len(machines) == 2 else ())
    counted: dict[str, int] = {}
    for whose, agent in pair.items():
        facts = agent.facts(to=peers[whose])
        counted |= {f"{whose}_{name}": facts[name] for name in names if name in facts}
    return counted
