"""The tests ``stream`` and ``latency_under_load``: messages one way, or both ways in one window.

For latency under load, netlab sends all requests to the agents at the start. The streams begin
later than the round trips, at a time that each request states by the clock of its agent.
``kinds/latency_under_load/phases.py`` has the phases.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from netlab import clock
from netlab.errors import HostGone, ProbeError
from netlab.experiment.schedule import Trial
from netlab.kinds import ROWS, LatencyUnderLoad, Stream
from netlab.kinds.latency_under_load.phases import (
    Phases,
    Trip,
    connection_figures,
    drained_ns,
    phase_figures,
    responsiveness_per_minute,
    settled_s,
)
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
from netlab.measurement.round_trip import Exchange, exchange_of
from netlab.remote.agent import Agent
from netlab.remote.answers import decimal
from netlab.trial.record import Value


@dataclass(slots=True)
class Flow(Conversation):
    """Messages one way, between a listening and a connecting side."""

    stopped: bool = False
    on_stop: Callable[[], None] = lambda: None
    """Called after the sender was told to stop."""

    @property
    def sender(self) -> ConversationEnd:
        """The end that sends."""
        return next(side for side in self.sides if side.verb == "send")

    @property
    def receiver(self) -> ConversationEnd:
        """The end that receives."""
        return next(side for side in self.sides if side.verb == "receive")

    def follow(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """Stop the sender after the receiver's record `window`; stop the receiver after the
        sender's record `result`.
        """
        kind = record["type"]
        if kind == "window" and side is self.receiver:
            if not self.stopped and not self.sender.ended:
                self.stopped = True
                self.stop(self.sender)
                self.on_stop()
        elif kind == "result" and side is self.sender and not self.receiver.ended:
            self.stop(self.receiver, sent=record.get("sent_messages", 0))


_KEYS = (
    "kind proto token message streams deadline seconds count warm_up socket_buffer nodelay "
    "dont_fragment dscp congestion rate message_rate method spin poll adapt cpu cpus"
)


def keys_of(stream: Stream, verb: str, end: str, agent: Agent, token: str) -> dict[str, Any]:
    """Keys of the request ``verb`` to ``end``, except those that open the streams."""
    keys = {**stream.keys(), "token": token, "deadline": decimal(deadline_s(stream))}
    return conversation.in_order(keys | conversation.request_keys(stream, agent, verb, end), _KEYS)


def deadline_s(stream: Stream) -> float:
    """The probe's time limit, in seconds, for a trial with these settings."""
    if stream.duration_s is None:
        return conversation.COUNT_DEADLINE_S
    return stream.warm_up_s + stream.duration_s + conversation.PROBE_SLACK_S


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
    conversation.drive(flows, deadline_s(stream), on_progress, watch.ask)
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
        flow = Flow.between(stream, ends.connects(stream.protocol), server, client)
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


AHEAD_S = 0.5
"""Time until the round trips begin, if the hosts answer without delay."""

_SERIES = frozenset({"rtt_histogram", "rtt_histogram_bits", "late_histogram_ns"})
"""Values that are left out of the record: the record has the list of single round trips instead."""


def values_under_load(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
    """The values of a trial; ProbeError if it has no result, or if a stream of the load fails."""
    setup = trial.cell.setup
    assert isinstance(setup, LatencyUnderLoad)  # noqa: S101  (for the type checker)
    assert setup.duration_s is not None  # noqa: S101  (this test always has a duration)
    agents = list({id(agent): agent for agent in (ends.agent_of_server, ends.client)}.values())
    offsets = [agent.clock_offset() for agent in agents]
    # netlab sends three requests, one after the other, before the first round trip; the added time
    # is enough for four. Each request takes up to twice the error bound of the clock's offset.
    opening_ns = 4 * 2 * max(offset.bound_ns for offset in offsets)
    start_ns = clock.monotonic_ns() + round(1e9 * (AHEAD_S + setup.idle_s)) + opening_ns
    close_ns = start_ns + round(1e9 * setup.duration_s)
    window = CommonWindow(start_ns, start_ns, close_ns, agents, offsets)
    lives_s = AHEAD_S + opening_ns / 1e9 + setup.round_trips_s() + conversation.PROBE_SLACK_S
    trips = exchange_of(setup.round_trips(), ends, within_s=lives_s, one_by_one=True)
    connecting, connections = setup.connections(), None
    if connecting is not None and ends.connects("TCP") == "client":
        connections = exchange_of(connecting, ends, within_s=lives_s, one_by_one=True)
    load = setup.load()
    flows = flows_of(load, ends, window, {"deadline": decimal(lives_s)})
    together: list[Conversation] = [trips, *filter(None, [connections]), *flows]

    def on_progress(side: ConversationEnd, record: Mapping[str, Any]) -> None:
        for flow in flows:
            if side is flow.receiver:
                live(trial.cell, so_far(record, flow.name))

    conversation.drive(together, lives_s, on_progress)
    values: dict[str, Value] = {}
    for flow in flows:
        values |= flow_values(flow, load, ends.connects(load.protocol))
    opened_ns, round_trips = _opened_ns(trips), _trips(trips)
    phases, settled = _phases(setup, ends, window, flows, opened_ns, round_trips)
    values |= _throughput(flows, settled)
    values |= dict(phase_figures(round_trips, phases)) | asdict(phases)
    # The first request has index 0; request n was due n / rate after it.
    lost_ns = [trip.at_ns for trip in round_trips if trip.ns is None]
    values["trip_ns"] = [trip.ns for trip in round_trips if trip.ns is not None]
    values["lost_trips"] = [round(at_ns * setup.request_rate_per_s / 1e9) for at_ns in lost_ns]
    if connections is not None:
        values |= _of_connections(connections, opened_ns, flows, phases, setup.protocol)
    for side, prefix in ((trips.asker, "client_"), (trips.mirror, "server_")):
        result = {} if side is None else side.result or {}
        values |= prefixed(prefix, {k: v for k, v in result.items() if k not in _SERIES})
    return values


def _trips(exchange: Exchange) -> list[Trip]:
    """All round trips of an exchange, in the order in which they were due."""
    trips = []
    for record in exchange.trips:
        answers = zip(record["trip_at_us"], record["trip_ns"], strict=True)
        trips += [Trip(1000 * at_us, ns) for at_us, ns in answers]
        trips += [Trip(1000 * at_us, None) for at_us in record["lost_trip_at_us"]]
    return sorted(trips, key=lambda trip: trip.at_ns)


def _opened_ns(exchange: Exchange) -> int:
    """When the first request was due by the client's clock; ProbeError without round trips."""
    if not exchange.trips:
        host = exchange.asker.agent.host.name
        raise ProbeError(host, "bad-answer", detail="the probe reported no round trip")
    return int(exchange.trips[0]["window_open_ns"])


def _phases(
    setup: LatencyUnderLoad,
    ends: Ends,
    window: CommonWindow,
    flows: Sequence[Flow],
    opened_ns: int,
    trips: Sequence[Trip],
) -> tuple[Phases, float]:
    """The phases, in ns after ``opened_ns`` by the client's clock, when the first request was due;
    and the time in s from the start of the load to the loaded phase.
    """
    client = window.in_clock_of(ends.client)
    load_ns, end_ns = client.start_ns - opened_ns, client.close_ns - opened_ns
    series = [_intervals(flow) for flow in flows]
    settled = settled_s(
        [sum(of_flows) for of_flows in zip(*(bytes_ for bytes_, _ in series), strict=False)],
        max(interval_s for _, interval_s in series),
        (end_ns - load_ns) / 1e9,
    )
    last_ns = end_ns
    for flow in flows:  # when its last send call returned
        shift_ns = client.start_ns - window.in_clock_of(flow.sender.agent).start_ns - opened_ns
        last_sent_ns = int((flow.sender.result or {}).get("last_send_ns", 0)) + shift_ns
        last_ns = max(last_ns, last_sent_ns)
    latest_ns = last_ns + round(1e9 * setup.request_timeout_s)
    drained = drained_ns(trips, last_ns, latest_ns)
    phases = Phases(
        idle_open_ns=max(0, load_ns - round(1e9 * setup.idle_s)),
        load_open_ns=load_ns,
        settled_ns=load_ns + round(1e9 * settled),
        load_close_ns=end_ns,
        drained_ns=drained,
        after_close_ns=drained + round(1e9 * setup.after_s),
    )
    return phases, settled


def _intervals(flow: Flow) -> tuple[list[int], float]:
    """Bytes that a flow's receiver took in each interval, and the length of an interval, s."""
    result = flow.receiver.result or {}
    if not result.get("interval_bytes") or not result.get("interval_ns"):
        host = flow.receiver.agent.host.name
        raise ProbeError(host, "bad-answer", detail="the probe reported no intervals")
    return list(result["interval_bytes"]), result["interval_ns"] / 1e9


def _throughput(flows: Sequence[Flow], settled: float) -> dict[str, Value]:
    """Throughput of each flow in the loaded phase alone, by its receiver's clock."""
    values: dict[str, Value] = {}
    for flow in flows:
        interval_bytes, interval_s = _intervals(flow)
        result = flow.receiver.result or {}
        first = round(settled / interval_s)
        # The last entry covers 0.5 to 1.5 intervals; only the total time is exact.
        of_phase_s = result["elapsed_ns"] / 1e9 - first * interval_s
        if first >= len(interval_bytes) or of_phase_s <= 0:
            detail = "its intervals end before the loaded phase"
            raise ProbeError(flow.receiver.agent.host.name, "bad-answer", detail=detail)
        rate = 8 * sum(interval_bytes[first:]) / of_phase_s
        values[flow.name + "throughput_bit_per_s"] = rate
        if "fairness_index" in result:
            values[flow.name + "fairness_index"] = float(result["fairness_index"])
    return values


def _of_connections(
    connections: Exchange, opened_ns: int, flows: Sequence[Flow], phases: Phases, protocol: str
) -> dict[str, Value]:
    """The single connections, with times counted from ``opened_ns``; and for TCP the responsiveness
    in round trips per minute, from them and from the round-trip times that TCP reports for the
    load's own connections, if it can be computed.
    """
    shift_ns = _opened_ns(connections) - opened_ns
    connects = [Trip(trip.at_ns + shift_ns, trip.ns) for trip in _trips(connections)]
    answers = [(connect.at_ns, connect.ns) for connect in connects if connect.ns is not None]
    values: dict[str, Value] = dict(connection_figures(connects, phases))
    values["connection_at_ns"] = [at_ns for at_ns, _ in answers]
    values["connection_ns"] = [ns for _, ns in answers]
    values["lost_connection_at_ns"] = [trip.at_ns for trip in connects if trip.ns is None]
    if protocol != "TCP":
        return values
    rtts: list[Trip] = []
    load_ns = phases.load_open_ns
    for flow in flows:
        result = flow.sender.result or {}
        series = (result.get(f"tcp_series_{name}", ()) for name in ("time_us", "rtt_us"))
        pairs = zip(*series, strict=False)
        rtts += [Trip(load_ns + 1000 * at_us, 1000 * us) for at_us, us in pairs]
    per_minute = responsiveness_per_minute(connects, rtts, load_ns, phases.load_close_ns)
    return values if per_minute is None else values | {"responsiveness_per_minute": per_minute}
