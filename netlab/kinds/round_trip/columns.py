"""The columns of ``round_trip`` and ``connect`` tests: of a run's table, and of the report's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from netlab.kinds.round_trip.settings import Connect, RoundTrip
from netlab.kinds.stream.settings import Stream
from netlab.messages import _
from netlab.stats import MIN_TRIALS, interval
from netlab.trial.column import Column, setting_columns
from netlab.trial.figures import (
    FEW_TRIALS,
    FigureColumn,
    Shown,
    Trials,
    blanks_of,
    in_unit,
    known,
    number,
    numbers,
    pooled,
    results_of,
    share,
    trials_shown,
)
from netlab.trial.record import Record

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


def _trials(trials: Trials) -> Shown:
    blanks = blanks_of(trials)
    if blanks and len(blanks) < len(trials):
        blanks = [
            _("{some} of {total} trials {why}", some=blanks.count(why), total=len(trials), why=why)
            for why in dict.fromkeys(blanks)
        ]
    return trials_shown(trials, blanks)


def _half_width(trials: Trials) -> Shown:
    means = numbers(trials, "rtt_mean_ns")
    if len(means) < MIN_TRIALS:
        return Shown(why=[FEW_TRIALS] if means else ())
    return Shown(interval(means).half_width / 1e3)


def _percentile(share: Fraction) -> Callable[[Trials], Shown]:
    """A percentile of the round trips of all trials together."""

    def shown(trials: Trials) -> Shown:
        histogram = pooled(trials)
        if histogram is None:
            return Shown(why=_no_singles(trials))
        few = _(
            "the {share} percentile needs at least {least} round trips.",
            share=f"{float(100 * share):g} %",
            least=f"{int(1 / (1 - share)):,}",
        )
        value = histogram.percentile(share)
        return Shown(why=[few]) if value is None else Shown(value / 1e3)

    return shown


def _longest(trials: Trials) -> Shown:
    times = numbers(trials, "rtt_max_ns")
    return Shown(max(times) / 1e3) if times else Shown(why=_no_singles(trials))


def _no_singles(trials: Trials) -> list[str]:
    return [_("single times are not recorded, only their sum.")] if results_of(trials) else []


def _requests(record: Record) -> float | None:
    """The requests that ended."""
    losses, transactions = record.number("lost_messages"), record.number("transactions")
    return None if losses is None or transactions is None else losses + transactions


TIMES: Sequence[FigureColumn[Trials]] = (
    FigureColumn(_("trials"), _trials),
    FigureColumn(_("transactions/s"), known("transactions_per_s"), "1/s"),
    FigureColumn(_("mean, µs"), known("rtt_mean_ns", 1e-3), "µs"),
    FigureColumn("± 95 %, µs", _half_width, "µs"),
    *(
        FigureColumn(in_unit("µs", f"{float(100 * share):g} %"), _percentile(share), "µs")
        for share in PERCENTILES.values()
    ),
    FigureColumn(_("longest, µs"), _longest, "µs"),
    FigureColumn(_("lost, %"), share(number("lost_messages"), _requests, _("not counted.")), "%"),
)


HANDSHAKE = FigureColumn(_("handshake, µs"), known("client_connect_mean_ns", 1e-3), "µs")
