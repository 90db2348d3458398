"""The test ``stream``: messages one way, or both ways in one common window."""

from __future__ import annotations

import queue
import secrets
import time
from collections.abc import Mapping
from typing import Any

from netlab.errors import HostGone, ProbeError
from netlab.measure import Ends, Live, address_of
from netlab.measure.flow import Flow, Side, Window, deadline_s
from netlab.probe import Agent, Pending
from netlab.records import REASONS, Record, Status, Value, reason_of, utc_now
from netlab.schedule import Trial
from netlab.setups import Stream

START_AHEAD_S = 0.3
"""How far ahead a common window's start is set, for the requests to arrive."""

SETTLE_S = 0.1
"""Least time that both directions send before their common window opens."""

CONTROLLER_SLACK_S = 5.0
"""What the controller waits beyond the probes' own deadline for their last word."""

FOLLOWING = frozenset({"peer-vanished", "no-peer", "no-traffic", "stopped", "deadline"})
"""Words that one end says because of what happened at the other."""

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
NOT_MEASURED = frozenset({"type", "id", "role", "protocol", "message_bytes", "streams"})


def measure(trial: Trial, ends: Ends, attempt: int, live: Live) -> Record:
    """Run one trial on its two hosts and return what it left; never raises ``ProbeError``.

    Raises ``HostGone`` when one of the hosts is lost: then nothing is known of the trial.
    """
    stream = trial.cell.setup
    assert isinstance(stream, Stream)  # noqa: S101  (told to the type checker)
    started_at = utc_now()
    arrivals: queue.SimpleQueue[tuple[Pending, Mapping[str, Any]]] = queue.SimpleQueue()

    def inbox(pending: Pending, record: Mapping[str, Any]) -> None:
        arrivals.put((pending, record))

    status, reason, fault = Status.OK, None, None
    values: dict[str, Value] = {}
    try:
        flows = _flows(stream, trial, ends, inbox)
        _drive(flows, arrivals, trial, live, deadline_s(stream))
        for flow in flows:
            values |= _values(flow)
        values |= _of_both_flows(flows)
    except ProbeError as error:
        fault, reason = error, reason_of(error.word)
        status = Status.IMPOSSIBLE if REASONS[reason].impossible else Status.FAILED
    values["same_host"] = ends.same_host
    return Record(
        cell=trial.cell.key,
        trial=trial.number,
        attempt=attempt,
        status=status,
        pairing=trial.cell.pairing,
        server=ends.server.host.name,
        client=ends.client.host.name,
        test=trial.cell.test,
        started_at=started_at,
        settings=dict(trial.cell.settings),
        values=values,
        reason=reason,
        errno=None if fault is None else fault.errno,
        detail=None if fault is None else str(fault),
    )


def _flows(stream: Stream, trial: Trial, ends: Ends, inbox: Any) -> list[Flow]:
    """The client connects, whichever way the data go, unless a firewall lets only the server."""
    names = {"client-sends": [""], "server-sends": [""], "both": ["to_server_", "to_client_"]}
    windows = _common_windows(stream, ends) if stream.direction == "both" else {}
    connected_by = ends.connected_by.get(stream.protocol, "client")
    flows = []
    for name in names[stream.direction]:
        client_sends = name == "to_server_" or stream.direction == "client-sends"
        server = Side(
            agent=ends.server,
            role="receive" if client_sends else "send",
            address=address_of(ends.server.host, trial.cell),
            cpu=stream.server_cpu,
            window=windows.get("server"),
        )
        client = Side(
            agent=ends.client,
            role="send" if client_sends else "receive",
            address=address_of(ends.client.host, trial.cell),
            cpu=stream.client_cpu,
            window=windows.get("client"),
        )
        flows.append(
            Flow(
                name=name,
                stream=stream,
                token=secrets.token_hex(16),
                listener=client if connected_by == "server" else server,
                connector=server if connected_by == "server" else client,
                inbox=inbox,
                connected_by=connected_by,
            )
        )
    return flows


def _common_windows(stream: Stream, ends: Ends) -> dict[str, Window]:
    """One window for both directions, in each agent's own clock."""
    if stream.duration_s is None:
        return {}
    start = time.monotonic_ns() + round(START_AHEAD_S * 1e9)
    opens = start + round(max(stream.warm_up_s, SETTLE_S) * 1e9)
    closes = opens + round(stream.duration_s * 1e9)

    def in_clock_of(agent: Agent) -> Window:
        offset_ns = agent.clock_offset().offset_ns
        return Window(start + offset_ns, opens + offset_ns, closes + offset_ns)

    return {"server": in_clock_of(ends.server), "client": in_clock_of(ends.client)}


def _drive(
    flows: list[Flow],
    arrivals: queue.SimpleQueue[tuple[Pending, Mapping[str, Any]]],
    trial: Trial,
    live: Live,
    patience_s: float,
) -> None:
    """Feed every record to its flow until all have ended; raise the fault that explains most."""
    for flow in flows:
        flow.listen()
    give_up = time.monotonic() + patience_s + CONTROLLER_SLACK_S
    aborted = False
    while not all(flow.ended for flow in flows):
        try:
            pending, record = arrivals.get(timeout=max(0.0, give_up - time.monotonic()))
        except queue.Empty:
            _give_up(flows)
        if record["type"] == "gone":
            raise HostGone(str(record["detail"]))
        flow, side = next(
            (flow, side) for flow in flows for side in flow.sides if side.pending is pending
        )
        flow.handle(side, record)
        if record["type"] == "progress" and side is flow.receiver:
            live(trial.cell, _rate_so_far(record))
        if not aborted and any(side.fault for flow in flows for side in flow.sides):
            aborted = True
            for flow in flows:
                flow.abort()
    _raise_worst(flows)


def _give_up(flows: list[Flow]) -> None:
    for flow in flows:
        flow.abort()
        for side in flow.sides:
            if not side.ended:
                detail = "no last word from the probe after its own deadline"
                raise ProbeError(side.agent.host.name, "deadline", detail=detail)
    raise AssertionError("every flow has ended")


def _raise_worst(flows: list[Flow]) -> None:
    """Of several faults the one that is final, else the one that is no mere consequence."""
    faults = [side.fault for flow in flows for side in flow.sides if side.fault is not None]
    if faults:
        raise min(
            faults,
            key=lambda fault: (
                not REASONS[reason_of(fault.word)].impossible,
                fault.word in FOLLOWING,
            ),
        )


def _rate_so_far(progress: Mapping[str, Any]) -> float:
    elapsed_ns = progress.get("elapsed_ns") or 0
    return 8e9 * progress.get("bytes", 0) / elapsed_ns if elapsed_ns else 0.0


def _values(flow: Flow) -> dict[str, Value]:
    """What a flow measured: headlines first, then all that both ends said."""
    sender, receiver = flow.sender.result or {}, flow.receiver.result or {}
    values: dict[str, Value] = {}
    for source, names in ((receiver, HEADLINE_OF_RECEIVER), (sender, HEADLINE_OF_SENDER)):
        values |= {flow.name + name: source[name] for name in names if name in source}
    # Both ends agreed on the options: where the sender's system tells nothing, the receiver's does.
    for end in (sender, receiver):
        if "tcp_end_snd_mss" in end:
            values.setdefault(flow.name + "mss_bytes", end["tcp_end_snd_mss"])
        if "tcp_end_options" in end:
            options = str(end["tcp_end_options"]).split(",")
            values.setdefault(flow.name + "tcp_timestamps", "timestamps" in options)
    if flow.stream.congestion is not None and flow.stream.protocol == "TCP":
        values[flow.name + "congestion_chosen"] = flow.chooses_congestion
    values[flow.name + "connected_by"] = flow.connected_by
    for prefix, source in (("receiver_", receiver), ("sender_", sender)):
        values |= {
            f"{flow.name}{prefix}{key}": value
            for key, value in source.items()
            if key not in NOT_MEASURED
        }
    return values


def _of_both_flows(flows: list[Flow]) -> dict[str, Value]:
    """Whether a sum of two directions would be one: both sent over the whole common window."""
    windows = [flow.sender.window for flow in flows]
    if len(flows) < 2 or any(window is None for window in windows):
        return {}
    whole = True
    for flow, window in zip(flows, windows, strict=True):
        result = flow.sender.result or {}
        assert window is not None  # noqa: S101  (told to the type checker)
        whole = whole and (
            result.get("first_send_ns", window.open_ns + 1) <= window.open_ns
            and result.get("last_send_ns", 0) >= window.close_ns
        )
    return {"common_window": whole}
