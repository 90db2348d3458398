"""Values that only a host can confirm: its congestion controls, its devices, its CPUs. No I/O.

A cell is one combination of a pairing (two hosts), a kind of test and its settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netlab.config.document import did_you_mean
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import EndName, Host

SENDS: Mapping[str, tuple[EndName, ...]] = {
    "client-sends": ("client",),
    "server-sends": ("server",),
}
"""Direction → the end that needs the congestion control of the cell. For a direction without an
entry, both ends need the congestion control."""


@dataclass(frozen=True, slots=True)
class HostValues:
    """Values that a host has; ``None`` means unknown."""

    congestion_available: tuple[str, ...] | None = None
    """Congestion controls of its system."""
    congestion_allowed: tuple[str, ...] | None = None
    """Congestion controls that the login's account may choose."""
    devices: tuple[str, ...] | None = None
    """Network interfaces with an address."""
    cpus: int | None = None

    @classmethod
    def of(cls, facts: Mapping[str, Any], hello: Mapping[str, Any]) -> HostValues:
        """The values in the facts of a host and in the greeting (``hello``) of its probe."""
        count = hello.get("cpu_count")
        addresses = _words(facts.get("addresses"))
        devices = None if addresses is None else tuple(word.partition("=")[0] for word in addresses)
        return cls(
            _words(facts.get("congestion_available")),
            _words(facts.get("congestion_allowed")),
            devices,
            count if isinstance(count, int) else None,
        )


def wrong_values(
    cell: Cell, ends: Mapping[EndName, Host], values: Mapping[str, HostValues]
) -> Iterator[str]:
    """A sentence for each value that the cell needs and a host does not have.

    ``values``: host name → its values.
    """
    of_ends = {role: values.get(host.name, HostValues()) for role, host in ends.items()}
    settings = cell.settings
    for control, name in _controls(cell, ends):
        yield from _not_offered(control, name, values.get(name, HostValues()))
    yield from refused_controls(cell, ends, values)
    connects: EndName = "server" if settings.get("opening") == "server-connects" else "client"
    device, devices = settings.get("interface"), of_ends[connects].devices
    if isinstance(device, str) and devices is not None and device not in devices:
        names = ", ".join(dict.fromkeys(devices))
        hint = did_you_mean(device, devices)
        yield f"{ends[connects].name} has no interface `{device}` (it has {names}){hint}"
    for role in ("server", "client"):
        cpus = of_ends[role].cpus
        for cpu in _pinned(settings, role):
            if cpus is not None and cpu >= cpus:
                yield f"{ends[role].name} has no CPU {cpu}: its CPUs are 0 to {cpus - 1}"


def _pinned(settings: Mapping[str, Any], role: str) -> tuple[int, ...]:
    """The CPUs that a cell names for one of its ends."""
    cpu, cpus = settings.get(f"{role}_cpu"), settings.get(f"{role}_cpus")
    if isinstance(cpus, str):
        return tuple(int(number) for number in cpus.split(",") if number.isdecimal())
    return (cpu,) if isinstance(cpu, int) else ()


def refused_controls(
    cell: Cell, ends: Mapping[EndName, Host], values: Mapping[str, HostValues]
) -> Iterator[str]:
    """A sentence for each host that has the cell's congestion control, but does not let the login's
    account choose it.
    """
    for control, name in _controls(cell, ends):
        host_values = values.get(name, HostValues())
        available_controls, allowed_controls = (
            host_values.congestion_available,
            host_values.congestion_allowed,
        )
        if (
            allowed_controls is None
            or control in allowed_controls
            or control not in (available_controls or (control,))
        ):
            continue
        listed = " ".join([*allowed_controls, control])
        yield (
            f"the account on {name} may not choose `{control}` (it may: "
            f"{', '.join(allowed_controls)}); "
            f"root can allow it: sysctl -w net.ipv4.tcp_allowed_congestion_control='{listed}'"
        )


def _controls(cell: Cell, ends: Mapping[EndName, Host]) -> Iterator[tuple[str, str]]:
    """The congestion control that a cell sets, with the name of each host that has to use it."""
    control, direction = cell.settings.get("congestion"), str(cell.settings.get("direction"))
    if isinstance(control, str) and cell.settings.get("protocol") == "TCP":
        for role in SENDS.get(direction, ("client", "server")):
            yield control, ends[role].name


def _not_offered(control: str, host: str, values: HostValues) -> Iterator[str]:
    available = values.congestion_available
    if available is not None and control not in available:
        hint = did_you_mean(control, available)
        yield f"`{control}` is not offered by {host} (it has {', '.join(available)}){hint}"


def _words(text: object) -> tuple[str, ...] | None:
    return tuple(word for word in text.split(",") if word) if isinstance(text, str) else None
