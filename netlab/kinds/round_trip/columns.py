"""The columns of ``round_trip`` and ``connect`` tests in the table of a run."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from netlab.kinds.round_trip.settings import Connect, RoundTrip
from netlab.kinds.stream.settings import Stream
from netlab.trial.column import Column, setting_columns

PERCENTILES_OF: Mapping[str, str] = {
    "p50": "median",
    "p90": "90th percentile",
    "p99": "99th percentile",
    "p99_9": "99.9th percentile",
    "p99_99": "99.99th percentile",
}
"""Part of a column's name → the percentile in words."""

OF_ROUND_TRIP: Mapping[str, Column] = {
    # What was requested.
    **setting_columns(RoundTrip, but=Stream.names()),
    **setting_columns(Connect, but={*Stream.names(), *RoundTrip.names()}),
    # What was measured.
    "transactions_per_s": Column("Float64", "1/s", "answered requests, by the client's clock"),
    "transactions": Column("Int64", "", "answered requests in the window"),
    "stack_timed": Column("boolean", "", "whether the mirror's system can time its stack"),
    "agentless": Column("boolean", "", "whether the server is a mirror without a probe"),
    "rtt_count": Column("Int64", "", "round trips in the histogram"),
    "rtt_mean_ns": Column("Float64", "ns", "mean round trip, from the exact sum"),
    "rtt_min_ns": Column("Int64", "ns", "shortest round trip"),
    "rtt_max_ns": Column("Int64", "ns", "longest round trip"),
    "rtt_sum_ns": Column("Int64", "ns", "sum of all round trips"),
    **{
        f"rtt_{name}_ns": Column("Int64", "ns", f"{percentile} of the round trips")
        for name, percentile in PERCENTILES_OF.items()
    },
    "rtt_histogram": Column(
        "string", "", "bucket, count, bucket, count, …: see netlab.stats.histogram"
    ),
    "rtt_histogram_bits": Column("Int64", "", "the histogram has 2^bits buckets per doubling"),
    "first_rtt_ns": Column("string", "ns", "the first round trips, as many as keep_first"),
    "client_latency_from": Column(
        "string", "", "start of a round trip: intended (when it was due) or sent (when it was sent)"
    ),
    **{
        f"server_stack_{name}_ns": Column("Int64", "ns", f"{words} in the mirror's stack")
        for name, words in (
            ("mean", "mean time"),
            ("min", "shortest time"),
            ("max", "longest time"),
            *((name, f"{percentile} of the times") for name, percentile in PERCENTILES_OF.items()),
        )
    },
    "server_stack_stamps": Column(
        "string", "", "source of the time stamps: hardware, software, or capture (tcpdump)"
    ),
}

OF_CONNECT: Mapping[str, Column] = {
    **OF_ROUND_TRIP,
    "client_connect_mean_ns": Column("Float64", "ns", "mean duration of the handshake alone"),
    "client_closed_by": Column("string", "", "side that closed the connections"),
}

PERCENTILES: Mapping[str, Fraction] = {
    name: Fraction(name.removeprefix("p").replace("_", ".")) / 100 for name in PERCENTILES_OF
}
"""Part of a percentile's column name → the share of the values up to the percentile."""
