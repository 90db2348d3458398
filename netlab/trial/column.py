"""One column of a run's DataFrame: its type, unit and meaning; and the columns of settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

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
            unit = next((unit for ending, unit, _ in UNITS if name.endswith(ending)), "")
            columns[name] = Column(_DTYPES[type(words[0]) if words else row.type], unit, row.column)
    return columns
