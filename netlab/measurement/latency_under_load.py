"""The test ``latency_under_load``: round trips before, beside and after streams that fill the path.

netlab sends all requests to the agents at the start. The streams begin later than the round trips,
at a time that each request states by the clock of its agent.
``kinds/latency_under_load/phases.py`` has the phases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from netlab import clock
from netlab.errors import ProbeError
from netlab.experiment.schedule import Trial
from netlab.kinds import LatencyUnderLoad
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
from netlab.measurement.ends import CommonWindow, Ends, OnGoodput, prefixed, so_far
from netlab.measurement.round_trip import Exchange, exchange_of
from netlab.measurement.stream import Flow, flow_values, flows_of
from netlab.trial.record import Value

AHEAD_S = 0.5
"""Time until the round trips begin, if the hosts answer without delay."""

_SERIES = frozenset({"rtt_histogram", "rtt_histogram_bits", "late_histogram_ns"})
"""Values that are left out of the record: the record has the list of single round trips instead."""


def values_of(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
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
    flows = flows_of(load, ends, window, lives_s)
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
    to_client_ns = window.offset_of(ends.client).offset_ns - opened_ns
    load_ns, end_ns = window.start_ns + to_client_ns, window.close_ns + to_client_ns
    series = [_intervals(flow) for flow in flows]
    settled = settled_s(
        [sum(of_flows) for of_flows in zip(*(bytes_ for bytes_, _ in series), strict=False)],
        max(interval_s for _, interval_s in series),
        (end_ns - load_ns) / 1e9,
    )
    last_ns = end_ns
    for flow in flows:  # when its last send call returned
        shift_ns = to_client_ns - window.offset_of(flow.sender.agent).offset_ns
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
