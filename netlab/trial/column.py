"""How a value of a record is shown: its column in a run's DataFrame, and its quantity in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from operator import methodcaller
from typing import Literal, get_args

from netlab.messages import _
from netlab.trial.record import Record
from netlab.trial.settings import Settings, rows_of

Dtype = Literal["Int64", "Float64", "string", "boolean"]


@dataclass(frozen=True, slots=True)
class Column:
    """Type, unit and meaning of one column."""

    dtype: Dtype
    unit: str
    """Empty for words, counts and shares."""
    meaning: str


UNITS: tuple[tuple[str, str, Dtype], ...] = (
    ("_bit_per_s", "bit/s", "Float64"),
    ("_per_s", "1/s", "Float64"),
    ("_bytes", "byte", "Int64"),
    ("_ns", "ns", "Int64"),
    ("_us", "us", "Int64"),
    ("_ppm", "ppm", "Float64"),
    ("_share", "", "Float64"),
    ("_messages", "", "Int64"),
    ("_packets", "", "Int64"),
    ("_s", "s", "Float64"),
)

_DTYPES: Mapping[type, Dtype] = {bool: "boolean", int: "Int64", float: "Float64", str: "string"}


def setting_columns(kind: type[Settings], *, but: Collection[str] = ()) -> dict[str, Column]:
    """The columns of the settings of a kind of test, without the settings ``but``."""
    columns: dict[str, Column] = {}
    rows = rows_of([kind])
    for name in kind.names():
        if name in but:
            continue
        row = rows[name]
        if row.column is not None:
            words = get_args(row.type)
            unit = next((unit for ending, unit, _dtype in UNITS if name.endswith(ending)), "")
            columns[name] = Column(_DTYPES[type(words[0]) if words else row.type], unit, row.column)
    return columns


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
    for flow, name in (
        ("", _("throughput")),
        ("to_server_", _("throughput to server")),
        ("to_client_", _("throughput to client")),
    )
}
"""Prefix of a flow's values → its throughput."""
