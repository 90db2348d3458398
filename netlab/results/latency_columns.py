"""The columns of ``latency_under_load``. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from netlab.results.asked_columns import asked
from netlab.results.column import Column, Dtype

_PHASES: Mapping[str, str] = {
    "idle": "before the load",
    "loaded": "while the load lasts",
    "after": "after the load",
}

_OF_A_PHASE: tuple[tuple[str, Dtype, str, str], ...] = (
    ("rtt_count", "Int64", "", "requests"),
    ("lost_messages", "Int64", "", "requests that nothing came back of in time"),
    ("rtt_p50_ns", "Int64", "ns", "round trip that half do not exceed"),
    ("rtt_p90_ns", "Int64", "ns", "round trip that 90 % do not exceed"),
    ("rtt_p99_ns", "Int64", "ns", "round trip that 99 % do not exceed"),
    ("rtt_max_ns", "Int64", "ns", "longest round trip"),
    ("connections", "Int64", "", "connections tried"),
    ("lost_connections", "Int64", "", "connections that nobody answered in 5 s"),
    ("connect_p50_ns", "Int64", "ns", "connection with its answer that half do not exceed"),
    ("connect_max_ns", "Int64", "ns", "longest connection with its answer"),
)

LATENCY_UNDER_LOAD: Mapping[str, Column] = {
    # What was requested.
    **asked("latency_under_load"),
    # What was measured.
    "increase_ns": Column("Int64", "ns", "median round trip loaded, less the median idle"),
    **{
        f"{phase}_{name}": Column(dtype, unit, f"{words} {when}")
        for phase, when in _PHASES.items()
        for name, dtype, unit, words in _OF_A_PHASE
    },
    "round_trips_per_minute_loaded": Column(
        "Float64", "", "60 s over the mean of the lowest 95 % of the round trips loaded"
    ),
    "responsiveness_per_minute": Column(
        "Float64",
        "",
        "RPM after draft-ietf-ippm-responsiveness-09, over TCP alone, without TLS and HTTP",
    ),
    "fairness_index": Column("Float64", "", "Jain's index of what the streams carried: 1/n to 1"),
    "idle_open_ns": Column("Int64", "ns", "begin of the first phase, from the first request on"),
    "load_open_ns": Column("Int64", "ns", "begin of the load"),
    "settled_ns": Column("Int64", "ns", "begin of the loaded phase"),
    "load_close_ns": Column("Int64", "ns", "its end, and that of the load"),
    "drained_ns": Column("Int64", "ns", "begin of the last phase: the queue is empty"),
    "after_close_ns": Column("Int64", "ns", "its end"),
    "trip_ns": Column("string", "ns", "round trips one by one, in the order of their requests"),
    "lost_trips": Column("string", "", "numbers of the requests that are lost, from 0"),
    "connection_at_ns": Column("string", "ns", "when each connection was tried"),
    "connection_ns": Column("string", "ns", "how long each took, with its answer"),
    "lost_connection_at_ns": Column("string", "ns", "when those were tried that nobody answered"),
}
