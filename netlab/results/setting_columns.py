"""The columns of the requested settings of each kind of test. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from netlab.experiment.kinds import FIELDS, ROWS, SETUPS
from netlab.results.column import Column, Dtype

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


def setting_columns(test: str) -> dict[str, Column]:
    """The columns of a test's settings.

    For a test other than ``stream``, the settings that ``stream`` also has are left out: every
    frame (table of a run) has them.
    """
    columns: dict[str, Column] = {}
    for name in SETUPS[test].names():
        row = ROWS[name]
        if row.column is not None and (test == "stream" or name not in FIELDS["stream"]):
            words = get_args(row.type)
            unit = next((unit for ending, unit, _ in UNITS if name.endswith(ending)), "")
            columns[name] = Column(_DTYPES[type(words[0]) if words else row.type], unit, row.column)
    return columns
