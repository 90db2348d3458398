"""The columns of ``latency_under_load`` in the table of a run."""

from __future__ import annotations

from collections.abc import Mapping

from netlab.kinds.latency_under_load.settings import LatencyUnderLoad
from netlab.kinds.stream.settings import Stream
from netlab.trial.column import Column, Dtype, setting_columns

_PHASES: Mapping[str, str] = {
    "idle": "before the load",
    "loaded": "during the load",
    "after": "after the load",
}

_CONNECT = "time from the connect call to the answer to the first request"

_OF_A_PHASE: tuple[tuple[str, Dtype, str, str], ...] = (
    ("rtt_count", "Int64", "", "number of requests"),
    ("lost_messages", "Int64", "", "requests without an answer in time,"),
    ("rtt_p50_ns", "Int64", "ns", "median round trip"),
    ("rtt_p90_ns", "Int64", "ns", "90th percentile of the round trips"),
    ("rtt_p99_ns", "Int64", "ns", "99th percentile of the round trips"),
    ("rtt_max_ns", "Int64", "ns", "longest round trip"),
    ("connections", "Int64", "", "number of attempted connections"),
    ("lost_connections", "Int64", "", "connections without an answer within 5 s,"),
    ("connect_p50_ns", "Int64", "ns", f"median {_CONNECT},"),
    ("connect_max_ns", "Int64", "ns", f"longest {_CONNECT},"),
)

# A table: each row takes as few lines as possible.
# fmt: off
COLUMNS: Mapping[str, Column] = {
    # What was requested.
    **setting_columns(LatencyUnderLoad, but=Stream.names()),
    # What was measured.
    "increase_ns": Column("Int64", "ns",
        "median round trip under load minus the median idle round trip"),
    **{
        f"{phase}_{name}": Column(dtype, unit, f"{words} {phase_words}")
        for phase, phase_words in _PHASES.items()
        for name, dtype, unit, words in _OF_A_PHASE
    },
    "round_trips_per_minute_loaded": Column("Float64", "",
        "60 s divided by the mean of the lowest 95 % of the round trips under load"),
    "responsiveness_per_minute": Column("Float64", "",
        "RPM after draft-ietf-ippm-responsiveness-09, over TCP alone, without TLS and HTTP"),
    "fairness_index": Column("Float64", "",
        "Jain's fairness index of the streams' bytes: 1/n to 1"),
    "idle_open_ns": Column("Int64", "ns",
        "start of the first phase, counted from the first request"),
    "load_open_ns": Column("Int64", "ns", "start of the load"),
    "settled_ns": Column("Int64", "ns", "start of the loaded phase"),
    "load_close_ns": Column("Int64", "ns", "end of the loaded phase and of the load"),
    "drained_ns": Column("Int64", "ns", "start of the last phase, when the queue is empty"),
    "after_close_ns": Column("Int64", "ns", "end of the last phase"),
    "trip_ns": Column("string", "ns", "round trips one by one, in the order of their requests"),
    "lost_trips": Column("string", "", "numbers of the lost requests; the first request is 0"),
    "connection_at_ns": Column("string", "ns", "time at which each connection was attempted"),
    "connection_ns": Column("string", "ns", f"{_CONNECT}, of each connection"),
    "lost_connection_at_ns": Column("string", "ns",
        "time at which each unanswered connection was attempted"),
}
