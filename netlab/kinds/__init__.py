"""The kinds of test, in one table. To add a kind, add its folder and its row here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING

from netlab.kinds.groups import Setup
from netlab.kinds.kind import KindOfTest
from netlab.kinds.latency_under_load import LATENCY_UNDER_LOAD
from netlab.kinds.latency_under_load.settings import LatencyUnderLoad
from netlab.kinds.payload_search import PAYLOAD_SEARCH
from netlab.kinds.payload_search.settings import PayloadSearch
from netlab.kinds.round_trip import CONNECT, ROUND_TRIP
from netlab.kinds.round_trip.settings import Connect, RoundTrip
from netlab.kinds.stream import STREAM
from netlab.kinds.stream.settings import Stream
from netlab.kinds.throughput_search import THROUGHPUT_SEARCH
from netlab.kinds.throughput_search.settings import ThroughputSearch
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

_KINDS = (
    STREAM,
    ROUND_TRIP,
    CONNECT,
    PAYLOAD_SEARCH,
    THROUGHPUT_SEARCH,
    LATENCY_UNDER_LOAD,
)

KINDS: Mapping[str, KindOfTest] = {kind.name: kind for kind in _KINDS}
"""The kinds of test, by the name that a matrix gives them."""

SETUPS: Mapping[str, type[Setup]] = {name: kind.settings for name, kind in KINDS.items()}
"""Kind of test → the class of its settings."""

ROWS = rows_of(SETUPS.values())
"""Field of each setting → the row that describes the setting."""

FIELDS: Mapping[str, frozenset[str]] = {t: frozenset(kind.names()) for t, kind in SETUPS.items()}
"""Kind of test → its settings."""

DEFAULTS_OF: Mapping[str, Mapping[str, Level]] = {
    test: {name: level for name, level in kind.defaults().items() if level is not MISSING}
    for test, kind in SETUPS.items()
}
"""Kind of test → defaults of its settings."""

NEEDED: Mapping[str, frozenset[str]] = {
    test: FIELDS[test] - defaults.keys() for test, defaults in DEFAULTS_OF.items()
}
"""Kind of test → the settings that must be given."""

EXCLUSIVE = tuple((row.field, row.excludes) for row in ROWS.values() if row.excludes)
"""Pairs of settings that exclude each other: setting one removes the other."""

ONLY_OF_TCP, ONLY_OF_UDP = (
    frozenset(row.field for row in ROWS.values() if row.only_of == protocol)
    for protocol in ("TCP", "UDP")
)
