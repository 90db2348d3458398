"""The test ``latency_under_load``: round trips and connections before, during and after streams.

netlab sends all requests to the agents at the start. The streams begin later, at a time that each
request states by the clock of its agent. ``kinds/latency_under_load/phases.py`` has the phases.
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
from netlab.measurement.conversation import (
    PROBE_SLACK_S,
    Conversation,
    ConversationEnd,
    Flow,
    drive,
)
from netlab.measurement.ends import CommonWindow, Ends, OnGoodput, prefixed, so_far
from netlab.measurement.round_trip import Exchange, exchange_of
from netlab.measurement.stream import flow_values, flows_of
from netlab.remote.answers import ClockOffset, decimal
from netlab.trial.record import Value

AHEAD_S = 0.5
"""Time until the round trips begin, if the hosts answer without delay."""

_SERIES = frozenset({"rtt_histogram", "rtt_histogram_bits", "late_histogram_ns"})
"""Values that are left out of the record: the record has the list of single round trips instead."""


def values_of(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
    """The values of a trial; ProbeError if it has no result, or if a stream of the load fails."""
    setup = trial.cell.setup
    assert isinstance(setup, LatencyUnderLoad)  # noqa: S101  (for the type checker)
    window = _window(setup, ends)
    lives_s = AHEAD_S + _opening_ns(window.offsets) / 1e9 + setup.round_trips_s() + PROBE_SLACK_S
    trips = exchange_of(setup.round_trips(), ends, within_s=lives_s, one_by_one=True)
    connections = _connections(setup, ends, lives_s)
    load = setup.load()
    flows = flows_of(load, ends, window, {"deadline": decimal(lives_s)})
    together: list[Conversation] = [trips, *filter(None, [connections]), *flows]

    def on_progress(side: ConversationEnd, record: Mapping[str, Any]) -> None:
        for flow in flows:
            if side is flow.receiver:
                live(trial.cell, so_far(record, flow.name))

    drive(together, lives_s, on_progress)
    values: dict[str, Value] = {}
    for flow in flows:
        values |= flow_values(flow, load, ends.connects(load.protocol))
    opened_ns, round_trips = _opened_ns(trips), _trips(trips)
    phases, settled = _phases(setup, ends, window, flows, opened_ns, round_trips)
    values |= _throughput(flows, settled)
    values |= dict(phase_figures(round_trips, phases))
    values |= asdict(phases) | _one_by_one(setup, round_trips)
    if connections is not None:
        connects = _from(opened_ns, connections)
        values |= _of_connections(connects, phases)
        if setup.protocol == "TCP":
            values |= _responsiveness(connects, flows, phases)
    for side, prefix in ((trips.asker, "client_"), (trips.mirror, "server_")):
        result = {} if side is None else side.result or {}
        values |= prefixed(prefix, {k: v for k, v in result.items() if k not in _SERIES})
    return values


def _window(setup: LatencyUnderLoad, ends: Ends) -> CommonWindow:
    """The window of the load: the time from its start to its end."""
    agents = list({id(agent): agent for agent in (ends.agent_of_server, ends.client)}.values())
    offsets = [agent.clock_offset() for agent in agents]
    ahead_s = AHEAD_S + setup.idle_s
    start_ns = clock.monotonic_ns() + round(1e9 * ahead_s) + _opening_ns(offsets)
    assert setup.duration_s is not None  # noqa: S101  (this test always has a duration)
    close_ns = start_ns + round(1e9 * setup.duration_s)
    return CommonWindow(start_ns, start_ns, close_ns, agents, offsets)


def _opening_ns(offsets: Sequence[ClockOffset]) -> int:
    """Time in ns that is added to ``AHEAD_S`` for distant hosts. netlab sends three requests, one
    after the other, before the first round trip; the added time is enough for four. Each request
    takes up to twice the error bound of the clock's offset.
    """
    return 4 * 2 * max(offset.bound_ns for offset in offsets)


def _connections(setup: LatencyUnderLoad, ends: Ends, lives_s: float) -> Exchange | None:
    """The exchange that opens single connections; ``None`` if the matrix requests no connections,
    or if only the server can connect.
    """
    asking = setup.connections()
    if asking is None or ends.connects("TCP") != "client":
        return None
    return exchange_of(asking, ends, within_s=lives_s, one_by_one=True)


def _trips(exchange: Exchange) -> list[Trip]:
    """All round trips of an exchange, in the order in which they were due."""
    trips = []
    for record in exchange.trips:
        answers = zip(record["trip_at_us"], record["trip_ns"], strict=True)
        trips += [Trip(1000 * at_us, ns) for at_us, ns in answers]
        trips += [Trip(1000 * at_us, None) for at_us in record["lost_trip_at_us"]]
    return sorted(trips, key=lambda trip: trip.at_ns)


def _opened_ns(exchange: Exchange) -> int:
    """When the first request of an exchange was due, in ns by the client's clock; ProbeError if
    there are no round trips.
    """
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
    """The phases, in ns after the first request, which was due at ``opened_ns`` by the client's
    clock; and the time in s from the start of the load to the loaded phase.
    """
    client = window.in_clock_of(ends.client)
    load_ns, end_ns = client.start_ns - opened_ns, client.close_ns - opened_ns
    series = [_intervals(flow) for flow in flows]
    settled = settled_s(
        [sum(of_flows) for of_flows in zip(*(bytes_ for bytes_, _ in series), strict=False)],
        max(interval_s for _, interval_s in series),
        (end_ns - load_ns) / 1e9,
    )
    last_ns = max([end_ns, *(_last_sent_ns(flow, ends, window) - opened_ns for flow in flows)])
    latest_ns = last_ns + round(1e9 * setup.request_timeout_s)
    drained = drained_ns(trips, last_ns, latest_ns)
    return (
        Phases(
            idle_open_ns=max(0, load_ns - round(1e9 * setup.idle_s)),
            load_open_ns=load_ns,
            settled_ns=load_ns + round(1e9 * settled),
            load_close_ns=end_ns,
            drained_ns=drained,
            after_close_ns=drained + round(1e9 * setup.after_s),
        ),
        settled,
    )


def _last_sent_ns(flow: Flow, ends: Ends, window: CommonWindow) -> int:
    """When a flow's last send call returned, by the client's clock."""
    sender = flow.sender.agent
    shift_ns = window.in_clock_of(ends.client).start_ns - window.in_clock_of(sender).start_ns
    return int((flow.sender.result or {}).get("last_send_ns", 0)) + shift_ns


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


def _one_by_one(setup: LatencyUnderLoad, trips: Sequence[Trip]) -> dict[str, Value]:
    """How long each answered round trip took, in the order of the requests, and the index of each
    lost request. The first request has index 0; request n was due n / rate after it.
    """
    lost_trips = [
        round(trip.at_ns * setup.request_rate_per_s / 1e9) for trip in trips if trip.ns is None
    ]
    return {
        "trip_ns": [trip.ns for trip in trips if trip.ns is not None],
        "lost_trips": lost_trips,
    }


def _from(opened_ns: int, exchange: Exchange) -> list[Trip]:
    """The round trips of an exchange, with times counted from ``opened_ns``."""
    shift_ns = _opened_ns(exchange) - opened_ns
    return [Trip(trip.at_ns + shift_ns, trip.ns) for trip in _trips(exchange)]


def _responsiveness(
    connects: Sequence[Trip], flows: Sequence[Flow], phases: Phases
) -> dict[str, Value]:
    """The responsiveness in round trips per minute, from the single connections and the round-trip
    times that TCP reports for the load's own connections; empty if it cannot be computed.
    """
    rtts: list[Trip] = []
    for flow in flows:
        result = flow.sender.result or {}
        series = zip(
            result.get("tcp_series_time_us", ()), result.get("tcp_series_rtt_us", ()), strict=False
        )
        rtts += [Trip(phases.load_open_ns + 1000 * at_us, 1000 * us) for at_us, us in series]
    per_minute = responsiveness_per_minute(
        connects, rtts, phases.load_open_ns, phases.load_close_ns
    )
    return {} if per_minute is None else {"responsiveness_per_minute": per_minute}


def _of_connections(connects: Sequence[Trip], phases: Phases) -> dict[str, Value]:
    values: dict[str, Value] = dict(connection_figures(connects, phases))
    answers = [(connect.at_ns, connect.ns) for connect in connects if connect.ns is not None]
    return values | {
        "connection_at_ns": [at_ns for at_ns, _ in answers],
        "connection_ns": [ns for _, ns in answers],
        "lost_connection_at_ns": [connect.at_ns for connect in connects if connect.ns is None],
    }
