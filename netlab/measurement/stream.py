"""The test ``stream``: messages one way, or both ways in one common window."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from netlab.errors import HostGone, ProbeError
from netlab.experiment.schedule import Trial
from netlab.kinds import ROWS, Stream
from netlab.measurement.conversation import (
    ConversationEnd,
    Flow,
    deadline_s,
    drive,
    heeds,
    keys_of,
    opened_by,
    request_keys,
)
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
from netlab.remote.agent import Agent
from netlab.trial.record import Value

HEADLINE_OF_RECEIVER = (
    "throughput_bit_per_s",
    "elapsed_ns",
    "received_messages",
    "lost_messages",
    "duplicate_messages",
    "reordered_messages",
    "drain_ns",
)
HEADLINE_OF_SENDER = ("sent_bit_per_s", "sent_messages", "setup_ns")


def values_of(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
    """The values of a trial; ProbeError if it has no result."""
    stream = trial.cell.setup
    assert isinstance(stream, Stream)  # noqa: S101  (for the type checker)
    window = _window(stream, ends)
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
    drive(flows, deadline_s(stream), on_progress, watch.ask)
    watch.ask_again()
    of_flows: dict[str, Value] = {}
    for flow in flows:  # meanwhile the hosts answer the requests of ``watch``
        of_flows |= flow_values(flow, stream, ends.connects(stream.protocol))
    return watch.end() | of_flows | _of_all_flows(flows, window, ends)


def flows_of(
    stream: Stream,
    ends: Ends,
    window: CommonWindow | None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> list[Flow]:
    """One flow per direction, not begun yet. The client connects, whichever end sends, unless a
    setting or a firewall requires that the server connects. ``more``: additional keys for every
    end.
    """
    names = {"client-sends": [""], "server-sends": [""], "both": ["to_server_", "to_client_"]}
    flows = []
    for name in names[stream.direction]:
        client_sends = name == "to_server_" or stream.direction == "client-sends"
        token = secrets.token_hex(16)

        def side(end: str, verb: str, token: str = token) -> ConversationEnd:
            agent = ends.agent_of(end)
            keys = keys_of(stream, verb, end, agent, token) | dict(more)
            if window is not None:
                keys |= window.in_clock_of(agent).keys()
            return ConversationEnd(agent, verb, ends.address(end, stream), keys)

        server = side("server", "receive" if client_sends else "send")
        client = side("client", "send" if client_sends else "receive")
        connects = ends.connects(stream.protocol)
        listener, connector = opened_by(connects, server=server, client=client)
        flows.append(
            Flow(
                name,
                connector,
                listener,
                connecting=request_keys(stream, connector.agent, "connect"),
            )
        )
    return flows


def _window(stream: Stream, ends: Ends) -> CommonWindow | None:
    """The common window of both directions, or of all trials of a round, if there is one."""
    if stream.duration_s is None:
        return None
    agents = ends.agent_of_server, ends.client
    if ends.window is not None and ends.window.knows(*agents):
        return ends.window
    return common_window([stream], agents) if stream.direction == "both" else None


def flow_values(flow: Flow, stream: Stream, connected_by: str) -> dict[str, Value]:
    """The values of a flow: the main values (``HEADLINE_…``), then all values of both ends."""
    sender, receiver = flow.sender.result or {}, flow.receiver.result or {}
    values: dict[str, Value] = {}
    for source, names in ((receiver, HEADLINE_OF_RECEIVER), (sender, HEADLINE_OF_SENDER)):
        values |= {flow.name + name: source[name] for name in names if name in source}
    values |= of_connection(flow.name, sender, receiver)
    if stream.congestion is not None and stream.protocol == "TCP":
        is_chosen = heeds(ROWS["congestion"], stream.protocol, flow.sender.agent)
        values[flow.name + "congestion_chosen"] = is_chosen
    values[flow.name + "connected_by"] = connected_by
    values |= prefixed(flow.name + "receiver_", receiver)
    return values | prefixed(flow.name + "sender_", sender)


def _of_all_flows(flows: list[Flow], window: CommonWindow | None, ends: Ends) -> dict[str, Value]:
    """Values of the common window. Rates may be added only if each flow sent during the whole
    window.
    """
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
    return {
        "common_window": is_common,
        "common_window_trials": window.trials,
        "common_window_open_ns": window.open_ns,
        "clock_bound_ns": window.bound_ns(*agents),
        **_drift(window, agents),
    }


def _drift(window: CommonWindow, agents: tuple[Agent, Agent]) -> dict[str, Value]:
    """The drift of the agents' clocks. If a host is lost now, there is no drift, but the result of
    the trial is kept.
    """
    try:
        return {"clock_drift_ns": window.drift_ns(*agents)}
    except (HostGone, ProbeError):
        return {}
