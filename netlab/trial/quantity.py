"""A quantity: a kind of figure of a record, with its name, its unit and its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller

from netlab.messages import _
from netlab.trial.record import Record


@dataclass(frozen=True, slots=True)
class Quantity:
    """One kind of figure of a record."""

    name: str
    unit: str
    scale: float
    """Size of one ``unit`` in the unit of ``of`` (bit/s, ns, bytes or 1/s)."""
    more: str
    """The word for a greater value, such as ``longer``."""
    less: str
    of: Callable[[Record], float | None]
    """The figure of a record in bit/s, ns, bytes or 1/s; ``None`` if it has none."""

    @property
    def more_is_worse(self) -> bool:
        """Whether a greater value is worse: a longer time."""
        return self.more in ("longer", "larger")

    def in_unit(self, record: Record) -> float | None:
        """The figure in ``unit``."""
        value = self.of(record)
        return None if value is None else value / self.scale


def value_of(name: str) -> Callable[[Record], float | None]:
    """The function that reads a value of a record."""
    return methodcaller("number", name)


def time_of(name: str, value: str) -> Quantity:
    """The quantity of a value in ns that is written in µs."""
    return Quantity(name, "µs", 1e3, _("longer"), _("shorter"), value_of(value))


THROUGHPUTS = {
    flow: Quantity(
        name, "Mbit/s", 1e6, _("more"), _("less"), value_of(f"{flow}throughput_bit_per_s")
    )
    for flow, name in {
        "": _("throughput"),
        "to_server_": _("throughput to server"),
        "to_client_": _("throughput to client"),
    }.items()
}
"""Prefix of a flow's values → its throughput."""
