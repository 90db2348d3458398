"""The test ``stream``: messages one way, or both ways in one window."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any

from netlab.errors import HostGone, ProbeError
from netlab.experiment.schedule import Trial
from netlab.kinds import ROWS, Stream
from netlab.measurement import conversation
from netlab.measurement.conversation import Conversation, ConversationEnd
from netlab.measurement.ends import (
    CommonWindow,
    Ends,
    OnGoodput,
    common_window,
    of_connection,
    prefixed,
    so_far,
)
from netlab.measurement.host_watch import DropWatch
from netlab.remote.answers import decimal
from netlab.trial.record import Value
from netlab.units import many


@dataclass(slots=True)
class Flow(Conversation):
    """Messages one way, between a listening and a connecting side."""

    stopped: bool = False
    on_stop: Callable[[], None] = lambda: None
    """Called after the sender was told to stop."""
    longest_ns: float = inf
    """Time after which the sender is stopped, if it is too slow; what it sent until then counts."""
    on_sent: Callable[[], None] = lambda: None
    """Called when the last message has been sent."""

    @property
    def sender(self) -> ConversationEnd:
        """The end that sends."""
        return next(side for side in self.sides if side.verb == "send")

    @property
    def receiver(self) -> ConversationEnd:
        """The end that receives."""
        return next(side for side in self.sides if side.verb == "receive")

    def follow(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """Stop the sender after the receiver's record `window`, or if it is late; stop the receiver
        after the sender's record `result`.
        """
        kind, is_sender = record["type"], side is self.sender
        is_late = is_sender and record.get("elapsed_ns", 0) > self.longest_ns
        if (kind == "window" and not is_sender) or (kind == "progress" and is_late):
            if not self.stopped and not self.sender.ended:
                self.stopped = True
                self.stop(self.sender)
                self.on_stop()
        elif kind == "result" and is_sender:
            if not self.receiver.ended:
                self.stop(self.receiver, sent=record.get("sent_messages", 0))
            self.on_sent()


SENDERS: Mapping[str, Mapping[str, str]] = {
    "client-sends": {"": "client"},
    "server-sends": {"": "server"},
    "both": {"to_server_": "client", "to_client_": "server"},
}
"""Direction → name of each flow, and the end that sends it."""


def deadline_s(stream: Stream) -> float:
    """The probe's time limit, in seconds, for a trial with these settings."""
    if stream.duration_s is None:
        return conversation.COUNT_DEADLINE_S
    return stream.warm_up_s + stream.duration_s + conversation.PROBE_SLACK_S


INTERVALS, SHORTEST_S, LONGEST_S = 100, 0.01, 0.1
"""Number of intervals of a series over a window, and the shortest and the longest interval."""


def interval_s(duration_s: float) -> float:
    """Length of an interval of the receiver's series, in whole milliseconds."""
    return round(min(LONGEST_S, max(SHORTEST_S, duration_s / INTERVALS)), 3)


_HEADLINES = (
    (
        *("throughput_bit_per_s", "elapsed_ns", "received_messages", "lost_messages"),
        *("duplicate_messages", "reordered_messages", "drain_ns"),
    ),
    ("sent_bit_per_s", "sent_messages", "setup_ns"),
)
"""Main values of the receiver and of the sender."""


def values_of(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
    """The values of a trial; ProbeError if it has no result."""
    stream = trial.cell.setup
    assert isinstance(stream, Stream)  # noqa: S101  (for the type checker)
    window = None
    if stream.duration_s is not None:
        agents = ends.agent_of_server, ends.client
        if ends.window is not None and ends.window.knows(*agents):
            window = ends.window
        elif stream.direction == "both":
            window = common_window([stream], agents)
    flows = flows_of(stream, ends, window)

    def on_progress(side: ConversationEnd, record: Mapping[str, Any]) -> None:
        if side.verb == "receive":
            name = next(flow.name for flow in flows if side in flow.sides)
            live(trial.cell, so_far(record, name))

    watch = DropWatch(ends, stream)
    if stream.protocol == "TCP" and len(flows) == 1:
        # A stopped sender resets the connection, which discards queued packets. These packets are
        # no loss, so drops are counted only until the sender is told to stop.
        flows[0].on_stop = watch.ask_again
    try:
        conversation.drive(flows, deadline_s(stream), on_progress, watch.ask)
    except ProbeError as fault:
        raise _explained(fault, flows, watch) from None
    watch.ask_again()
    of_flows: dict[str, Value] = {}
    for flow in flows:  # meanwhile the hosts answer the requests of ``watch``
        of_flows |= flow_values(flow, stream, ends.connects(stream.protocol))
    return watch.end() | of_flows | _of_all_flows(flows, window, ends)


def _explained(fault: ProbeError, flows: list[Flow], watch: DropWatch) -> ProbeError:
    """``fault``; if nothing arrived, with the packets that both interfaces counted, and the place
    that less than half of them passed."""
    silent = [(it, side.fault) for it in flows for side in it.sides if side.fault]
    silent = [(it, said) for it, said in silent if said.word == "no-traffic"]
    if fault.word not in conversation.FOLLOWING or not silent:
        return fault
    flow, fault = silent[0]
    watch.ask_again()
    left = watch.grown(flow.sender.agent, "interface_sent_packets")
    came = watch.grown(flow.receiver.agent, "interface_received_packets")
    if left is None or came is None:
        return fault
    sender, receiver = flow.sender.agent.host.name, flow.receiver.agent.host.name
    messages = (flow.sender.result or {}).get("sent_messages", 0)
    where = "on the way" if 2 * came < left else f"in {receiver}, as by its firewall"
    if watch.setup.protocol == "UDP" and 2 * left < messages:
        where = f"in {sender}, as by its firewall or its queue"
    elif watch.setup.protocol == "UDP" and (fragments := round(left / max(messages, 1))) > 1:
        where += f"; of the {fragments} fragments of a message, all must arrive"
    of = f" of {many(messages, 'message')}" if messages else ""
    detail = f"{many(left, 'packet')}{of} left {sender}, {came} reached {receiver}: dropped {where}"
    return ProbeError(fault.host, fault.word, detail=detail)


def flows_of(
    stream: Stream,
    ends: Ends,
    window: CommonWindow | None,
    limit_s: float | None = None,
) -> list[Flow]:
    """The flows of a trial, as ``flows_between``. ``limit_s``: instead of ``deadline_s``."""

    def keys(end: str, verb: str) -> dict[str, Any]:
        times = {} if window is None else window.keys(ends.agent_of(end))
        keys: dict[str, Any] = {"limit_s": limit_s or deadline_s(stream), **times}
        if verb == "receive" and stream.duration_s is not None:
            keys["interval"] = decimal(interval_s(stream.duration_s))
        return keys

    return flows_between(stream, ends, keys)


def flows_between(
    stream: Stream, ends: Ends, keys: Callable[[str, str], Mapping[str, Any]]
) -> list[Flow]:
    """One flow per direction, not begun yet. The client connects, whichever end sends, unless a
    setting or a firewall requires that the server connects. ``keys``: for an end and its verb, as
    in ``conversation.end_of``.
    """
    flows = []
    for name, sender in SENDERS[stream.direction].items():
        token = secrets.token_hex(16)

        def side(end: str, sender: str = sender, token: str = token) -> ConversationEnd:
            verb = "send" if end == sender else "receive"
            return conversation.end_of(stream, ends, end, verb, token=token, **keys(end, verb))

        connects = ends.connects(stream.protocol)
        flow = Flow.between(stream, connects, side("server"), side("client"))
        flow.name = name
        flows.append(flow)
    return flows


def flow_values(flow: Flow, stream: Stream, connected_by: str) -> dict[str, Value]:
    """The values of a flow: the main values, then all values of both ends."""
    sender, receiver = flow.sender.result or {}, flow.receiver.result or {}
    values: dict[str, Value] = {}
    for source, names in zip((receiver, sender), _HEADLINES, strict=True):
        values |= {flow.name + name: source[name] for name in names if name in source}
    values |= of_connection(flow.name, sender, receiver)
    if stream.congestion is not None and stream.protocol == "TCP":
        is_chosen = conversation.heeds(ROWS["congestion"], stream.protocol, flow.sender.agent)
        values[flow.name + "congestion_chosen"] = is_chosen
    values[flow.name + "connected_by"] = connected_by
    values |= prefixed(flow.name + "receiver_", receiver)
    return values | prefixed(flow.name + "sender_", sender)


def _of_all_flows(flows: list[Flow], window: CommonWindow | None, ends: Ends) -> dict[str, Value]:
    """Values of the common window: rates may be added if each flow sent during the whole of it."""
    if window is None:
        return {}
    agents = ends.agent_of_server, ends.client
    is_common = True
    for flow in flows:
        result, keys = flow.sender.result or {}, flow.sender.keys
        opens, closes = keys["window_open_ns"], keys["window_close_ns"]
        is_common = is_common and (
            result.get("first_send_ns", opens + 1) <= opens
            and result.get("last_send_ns", 0) >= closes
        )
    values: dict[str, Value] = {
        "common_window": is_common,
        "common_window_trials": window.trials,
        "common_window_open_ns": window.open_ns,
        "clock_bound_ns": window.bound_ns(*agents),
    }
    # If a host is lost now, there is no drift, but the result of the trial is kept.
    with suppress(HostGone, ProbeError):
        values["clock_drift_ns"] = window.drift_ns(*agents)
    return values
