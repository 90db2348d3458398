"""Values that only a host can answer for: its congestion controls, its devices, its CPUs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netlab.config.document import did_you_mean
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host
from netlab.experiment.requirements import EndName

SENDS: Mapping[str, tuple[EndName, ...]] = {
    "client-sends": ("client",),
    "server-sends": ("server",),
}
"""Which end TCP's congestion control is of; both where a test has no direction, or both."""


@dataclass(frozen=True, slots=True)
class HostValues:
    """What a host has; ``None`` is not known."""

    congestion_available: tuple[str, ...] | None = None
    """Congestion controls that its system has."""
    congestion_allowed: tuple[str, ...] | None = None
    """Of those, what the login's account may choose."""
    devices: tuple[str, ...] | None = None
    """Network interfaces with an address."""
    cpus: int | None = None

    @classmethod
    def of(cls, facts: Mapping[str, Any], hello: Mapping[str, Any]) -> HostValues:
        """By what its probe says."""
        count = hello.get("cpu_count")
        addresses = _words(facts.get("addresses"))
        devices = None if addresses is None else tuple(each.partition("=")[0] for each in addresses)
        return cls(
            _words(facts.get("congestion_available")),
            _words(facts.get("congestion_allowed")),
            devices,
            count if isinstance(count, int) else None,
        )


def wrong_values(
    cell: Cell, ends: Mapping[EndName, Host], values: Mapping[str, HostValues]
) -> Iterator[str]:
    """A sentence for each value of the cell that a host does not have; ``values`` by its name."""
    known = {role: values.get(host.name, HostValues()) for role, host in ends.items()}
    settings = cell.settings
    for control, name in _controls(cell, ends):
        yield from _not_offered(control, name, values.get(name, HostValues()))
    yield from refused_controls(cell, ends, values)
    connects: EndName = "server" if settings.get("opening") == "server-connects" else "client"
    device, devices = settings.get("interface"), known[connects].devices
    if isinstance(device, str) and devices is not None and device not in devices:
        there = ", ".join(dict.fromkeys(devices))
        near = did_you_mean(device, devices)
        yield f"`{device}` is no interface of {ends[connects].name} (it has {there}){near}"
    for role in ("server", "client"):
        cpus = known[role].cpus
        for cpu in _pinned(settings, role):
            if cpus is not None and cpu >= cpus:
                yield f"{ends[role].name} has no CPU {cpu}: its {cpus} are 0 to {cpus - 1}"


def _pinned(settings: Mapping[str, Any], role: str) -> tuple[int, ...]:
    """The CPUs that a cell names of one of its ends."""
    cpu, cpus = settings.get(f"{role}_cpu"), settings.get(f"{role}_cpus")
    if isinstance(cpus, str):
        return tuple(int(each) for each in cpus.split(",") if each.isdecimal())
    return (cpu,) if isinstance(cpu, int) else ()


def refused_controls(
    cell: Cell, ends: Mapping[EndName, Host], values: Mapping[str, HostValues]
) -> Iterator[str]:
    """A sentence for each host that has the cell's congestion control, and does not let the account
    choose it that is logged in to.
    """
    for control, name in _controls(cell, ends):
        known = values.get(name, HostValues())
        available, allowed = known.congestion_available, known.congestion_allowed
        if allowed is None or control in allowed or control not in (available or (control,)):
            continue
        listed = " ".join([*allowed, control])
        yield (
            f"the account on {name} may not choose `{control}` (it may: {', '.join(allowed)}); "
            f"root there allows it: sysctl -w net.ipv4.tcp_allowed_congestion_control='{listed}'"
        )


def _controls(cell: Cell, ends: Mapping[EndName, Host]) -> Iterator[tuple[str, str]]:
    """The congestion control that a cell asks for, with the name of each host that it asks."""
    control, direction = cell.settings.get("congestion"), str(cell.settings.get("direction"))
    if isinstance(control, str) and cell.settings.get("protocol") == "TCP":
        for role in SENDS.get(direction, ("client", "server")):
            yield control, ends[role].name


def _not_offered(control: str, host: str, known: HostValues) -> Iterator[str]:
    available = known.congestion_available
    if available is not None and control not in available:
        near = did_you_mean(control, available)
        yield f"`{control}` is not offered by {host} (it has {', '.join(available)}){near}"


def _words(text: object) -> tuple[str, ...] | None:
    return tuple(word for word in text.split(",") if word) if isinstance(text, str) else None
