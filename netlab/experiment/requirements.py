"""What a cell demands of the systems at its ends, against what their probes can do. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from netlab.experiment.cells import Cell

EndName = Literal["server", "client"]


@dataclass(frozen=True, slots=True)
class Demand:
    """Something that one end's probe has to be able to do."""

    role: EndName
    capability: str
    """A word of ``capabilities`` in `hello`, docs/protocol.md."""
    what: str
    """The cell's setting that asks for it."""
    needed: bool = True
    """False: without it the cell is measured all the same, and its record says so."""


_BOTH: tuple[EndName, EndName] = ("server", "client")


def demands(cell: Cell) -> tuple[Demand, ...]:
    """All that a cell demands of its two ends."""
    return tuple(_demands(cell))


def lacking(cell: Cell, can: Mapping[EndName, Collection[str] | None]) -> tuple[Demand, ...]:
    """The demands that its ends do not meet; an end of which nothing is known meets all."""
    return tuple(
        demand
        for demand in demands(cell)
        if (known := can.get(demand.role)) is not None and demand.capability not in known
    )


def _demands(cell: Cell) -> Iterator[Demand]:
    settings = cell.settings
    protocol = str(settings["protocol"])
    kind = {"payload_search": "round_trip" if protocol == "UDP" else "stream"}
    for role in _BOTH:
        yield Demand(role, kind.get(cell.test, cell.test), f"test: {cell.test}")
        yield Demand(role, protocol.lower(), f"protocol: {protocol}")
        if settings.get("ip_version") == 6:
            yield Demand(role, "ipv6", "ip: 6")
        if "dscp" in settings:
            yield Demand(role, "dscp", f"dscp: {settings['dscp']}")
        if protocol == "UDP" and (settings.get("dont_fragment") or cell.test == "payload_search"):
            yield Demand(role, "dont-fragment", "the DF bit")
        if settings.get("udp_checksum") is False:
            yield Demand(role, "no-checksum", "udp_checksum: false")
        if f"{role}_cpu" in settings:
            yield Demand(role, "pin", f"{role}_cpu: {settings[f'{role}_cpu']}")
        if settings.get("latency"):
            yield Demand(role, "round_trip", "latency: true")
        if "send_method" in settings and _sends(cell, role):
            method = str(settings["send_method"])
            yield Demand(role, method, f"send_method: {method}")
        if settings.get("receive") == "polling" and _receives(cell, role):
            yield Demand(role, "poll", "receive: polling")
        if "congestion" in settings and protocol == "TCP" and _sends(cell, role):
            chosen = f"congestion: {settings['congestion']}"
            yield Demand(role, "congestion", chosen, needed=False)
    if "interface" in settings:
        yield Demand("client", "interface", f"interface: {settings['interface']}")
    if settings.get("stack_time"):
        yield Demand("server", "stamps", "stack_time: true", needed=False)


def _sends(cell: Cell, role: EndName) -> bool:
    """Whether that end sends data of its own: of a stream, the end that its direction says."""
    sender = {"client-sends": "client", "server-sends": "server"}
    return sender.get(str(cell.settings.get("direction")), role) == role


def _receives(cell: Cell, role: EndName) -> bool:
    """Whether that end receives data: of a stream, the end that its direction does not say."""
    return cell.settings["direction"] == "both" or not _sends(cell, role)
