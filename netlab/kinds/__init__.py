"""The kinds of test, in one table. To add a kind, add its folder, and its object here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING

from netlab.kinds.groups import Setup
from netlab.kinds.kind import KindOfTest
from netlab.kinds.latency_under_load.settings import LatencyUnderLoad
from netlab.kinds.payload_search.settings import PayloadSearch
from netlab.kinds.round_trip.settings import HEADLINE, Connect, RoundTrip
from netlab.kinds.stream.settings import Stream
from netlab.kinds.throughput_search.settings import ThroughputSearch
from netlab.messages import _
from netlab.trial.column import Quantity, time_of, value_of
from netlab.trial.settings import Level, rows_of

__all__ = [
    "Connect",
    "KindOfTest",
    "LatencyUnderLoad",
    "PayloadSearch",
    "RoundTrip",
    "Setup",
    "Stream",
    "ThroughputSearch",
]

# A table: each row takes as few lines as possible.
# fmt: off
_KINDS = (
    KindOfTest(
        name=_("stream"), settings=Stream, about="Messages one way, or both ways at once.",
        subject=_("the throughput of streams"), has_flows=True,
        summarised=("sender_cpu_s_per_gbit", "receiver_cpu_s_per_gbit"),
        expects=frozenset({"throughput", "loss"}), procedure="stream"),
    KindOfTest(
        name=_("round_trip"), settings=RoundTrip,
        about="Requests from the client, answered by the server's mirror: latency.",
        subject=_("the time of round trips"), label=_("round trips"),
        quantities={"rtt_mean_ns": time_of(_("mean round trip"), "rtt_mean_ns")},
        summarised=("transactions_per_s",), expects=frozenset({"round_trip", "loss"}),
        columns="settings:OF_ROUND_TRIP", figures=HEADLINE),
    KindOfTest(
        name=_("connect"), settings=Connect,
        about="Transactions with a TCP connection each: the cost of connecting.",
        subject=_("the time of TCP connections"), label=_("connections"),
        quantities={"rtt_mean_ns": time_of(_("mean transaction"), "rtt_mean_ns")},
        summarised=("transactions_per_s",), expects=frozenset({"round_trip"}),
        columns="settings:OF_CONNECT", figures=HEADLINE),
    KindOfTest(
        name=_("payload_search"), settings=PayloadSearch,
        about="The largest payload that travels in one frame, and the path's MTU.",
        subject=_("the largest payload of one frame"), label=_("payload search"),
        quantities={"payload_bytes": Quantity(
            _("payload"), _("bytes"), 1, _("more"), _("less"), value_of("payload_bytes"))},
        expects=frozenset({"payload"}), columns="settings:COLUMNS", procedure="payload_search"),
    KindOfTest(
        name=_("throughput_search"), settings=ThroughputSearch,
        subject=_("the highest rate without loss"), label=_("highest rate without loss"),
        about="The highest rate that passes without loss (RFC 2544).",
        quantities={"frames_per_s": Quantity(
            _("frames"), "1/s", 1, _("more"), _("fewer"), value_of("frames_per_s"))},
        expects=frozenset({"frames"}), columns="settings:COLUMNS", procedure="throughput_search"),
    KindOfTest(
        name=_("latency_under_load"), settings=LatencyUnderLoad,
        about="Round trips before, during and after streams that fill the path.",
        subject=_("the latency under a load"), label=_("latency under load"),
        quantities={"increase_ns": Quantity(
            _("increase of the round trip under load"),
            "ms", 1e6, _("larger"), _("smaller"), value_of("increase_ns"))},
        summarised=("idle_rtt_p50_ns", "loaded_rtt_p50_ns"), has_flows=True,
        columns="settings:COLUMNS", procedure="latency_under_load"),
)
# fmt: on

KINDS: Mapping[str, KindOfTest] = {kind.name: kind for kind in _KINDS}
SETUPS: Mapping[str, type[Setup]] = {name: kind.settings for name, kind in KINDS.items()}
ROWS = rows_of(SETUPS.values())
"""Field of each setting → the row that describes the setting."""

FIELDS: Mapping[str, frozenset[str]] = {t: frozenset(kind.names()) for t, kind in SETUPS.items()}
DEFAULTS_OF: Mapping[str, Mapping[str, Level]] = {
    test: {name: level for name, level in kind.defaults().items() if level is not MISSING}
    for test, kind in SETUPS.items()
}
"""Kind of test → defaults of its settings."""

NEEDED: Mapping[str, frozenset[str]] = {
    test: FIELDS[test] - defaults.keys() for test, defaults in DEFAULTS_OF.items()
}
EXCLUSIVE = tuple((row.field, row.excludes) for row in ROWS.values() if row.excludes)
"""Pairs of settings that exclude each other: setting one removes the other."""

ONLY_OF_TCP, ONLY_OF_UDP = (
    frozenset(row.field for row in ROWS.values() if row.only_of == protocol)
    for protocol in ("TCP", "UDP")
)
