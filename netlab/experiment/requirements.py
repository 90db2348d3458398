"""The demands of a cell on its two ends, compared with what their probes can do. No I/O.

A cell is a combination of a server, a client, a kind of test, and settings. A probe is netlab's
program on a host.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from netlab.experiment.cells import Cell
from netlab.experiment.kinds import ROWS, LatencyUnderLoad, TestSettings
from netlab.experiment.pairings import EndName
from netlab.experiment.settings import Level


@dataclass(frozen=True, slots=True)
class Demand:
    """Something that the probe of one end must be able to do."""

    role: EndName
    capability: str
    """A word of ``capabilities`` in `hello`, docs/protocol.md."""
    what: str
    """The cell's setting that requires it."""
    needed: bool = True
    """False: without the capability the cell is measured anyway, and its record shows the lack."""


_BOTH: tuple[EndName, EndName] = ("server", "client")


def demands(cell: Cell) -> tuple[Demand, ...]:
    """All demands of a cell on its two ends."""
    return _demands_of(cell.test, cell.setup)


def lacking(cell: Cell, can: Mapping[EndName, Collection[str] | None]) -> tuple[Demand, ...]:
    """The demands that the cell's ends do not meet.

    ``can`` has the capabilities of each end. An end whose capabilities are unknown (``None``) is
    assumed to meet all demands.
    """
    return tuple(
        demand
        for demand in demands(cell)
        if (capabilities := can.get(demand.role)) is not None
        and demand.capability not in capabilities
    )


@lru_cache(maxsize=1024)
def _demands_of(test: str, setup: TestSettings) -> tuple[Demand, ...]:
    """The demands do not depend on the pairing, of which a matrix may have many thousands."""
    return tuple(_demands(test, setup))


def _demands(test: str, setup: TestSettings) -> Iterator[Demand]:
    settings: Mapping[str, Level] = {**_BY_ITSELF.get(test, {}), **setup.settings()}
    protocol = str(settings["protocol"])
    kind = {
        "payload_search": "round_trip" if protocol == "UDP" else "stream",
        "latency_under_load": "stream",
    }
    rows = [ROWS[name] for name in dict.fromkeys([*_FIRST.split(), *ROWS]) if name in settings]
    for role in _BOTH:
        yield Demand(role, kind.get(test, test), f"test: {test}")
        yield Demand(role, protocol.lower(), f"protocol: {protocol}")
        if isinstance(setup, LatencyUnderLoad):
            request_protocol = setup.request_protocol
            yield Demand(role, "round_trip", f"test: {test}")
            yield Demand(role, request_protocol.lower(), f"request_protocol: {request_protocol}")
            if setup.connections() is not None:
                yield Demand(role, "connect", "connect_rate")
                yield Demand(role, "tcp", "connect_rate")
        for row in rows:
            need, level = row.need, settings[row.field]
            if need is None or row.only_of not in (None, protocol):
                continue
            if need.at in (None, level) and _is_of(settings, role, need.of):
                word = str(level).lower() if isinstance(level, bool) else str(level)
                setting_words = need.what or f"{row.key}: {word}"
                yield Demand(role, need.capability or word, setting_words, needed=need.vital)


_FIRST = (
    "ip_version dscp dont_fragment udp_checksum server_cpu client_cpu server_cpus client_cpus "
    "latency send_method receive"
)
"""Demands that are reported first if a host lacks several, in this order."""

_BY_ITSELF: Mapping[str, Mapping[str, Level]] = {"payload_search": {"dont_fragment": True}}
"""Kind of test → settings whose demands it has, although it does not have the settings."""


def _is_of(settings: Mapping[str, Level], role: EndName, party: str) -> bool:
    """Whether ``party`` means this end; the direction of a stream decides which end sends."""
    if party not in ("sender", "receiver"):
        return party in ("both", role)
    direction = settings.get("direction")
    sends = {"client-sends": "client", "server-sends": "server"}.get(str(direction), role) == role
    return sends if party == "sender" else direction == "both" or not sends
