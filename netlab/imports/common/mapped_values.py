"""Converts the texts of a table of any form to values of netlab's columns, in netlab's units."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import get_args

from netlab.experiment.hosts import role_of
from netlab.imports.common.csv_table import plain_number, shown, wrong_pairing
from netlab.kinds import ROWS, SETUPS
from netlab.results.columns import columns_of, describe
from netlab.trial.column import Column
from netlab.trial.record import Value, utc_of, utc_text
from netlab.trial.settings import NumberWithUnit, Or, Whole

HOSTS = ("pairing", "server", "client")
TIME = "started_at"
JITTER = "receiver_jitter_ns"
_OF_NETLAB = frozenset({"cell", "trial", "attempt", "status", "reason", "errno", "detail", "test"})
"""Columns that the import fills in itself; a table cannot give them."""

MAX_RATE = Decimal(10**14)
MAX_VALUE = Decimal(10**15)
"""A higher number is a typing error or an attack."""

_NUMBER = r"[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?"
_QUANTITY = re.compile(rf"({_NUMBER})\s*([A-Za-zµ/1]*)")
_WITH_COMMA = re.compile(r"[0-9]+(,[0-9]+)+(\.[0-9]+)?")

_PREFIXES = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12}
_BINARY = {"Ki": 1024, "Mi": 1024**2, "Gi": 1024**3}
_SECONDS = {"s": 0, "ms": -3, "us": -6, "µs": -6, "ns": -9}


def _times(power: int) -> dict[str, Decimal]:
    """Unit of time → its size in units of 10^-power seconds."""
    return {unit: Decimal(10) ** (exponent + power) for unit, exponent in _SECONDS.items()}


FACTORS: Mapping[str, Mapping[str, Decimal]] = {
    "bit/s": {
        **{f"{prefix}bit/s": Decimal(10) ** power for prefix, power in _PREFIXES.items()},
        **{f"{prefix}byte/s": 8 * Decimal(10) ** power for prefix, power in _PREFIXES.items()},
        **{f"{prefix}B/s": Decimal(8 * factor) for prefix, factor in _BINARY.items()},
    },
    "byte": {
        "byte": Decimal(1),
        **{f"{prefix}B": Decimal(10) ** power for prefix, power in _PREFIXES.items()},
        **{f"{prefix}B": Decimal(factor) for prefix, factor in _BINARY.items()},
    },
    "s": _times(0),
    "us": _times(6),
    "ns": _times(9),
    "1/s": {"1/s": Decimal(1), "/s": Decimal(1), "k/s": Decimal(1000)},
    "ppm": {"ppm": Decimal(1)},
    "s/Gbit": {"s/Gbit": Decimal(1)},
    "": {},
}
"""netlab's unit → unit in a table → how many of netlab's units equal the unit in the table.
``MB/s`` is left out, because some people write it for 10^6 byte/s and others for 10^6 bit/s.
"""

Read = Callable[[str], Value | None]
"""Converts a text to a value; ``None`` if the text is the word for the host's default. Raises
ValueError with a sentence for the user."""


@cache
def columns_of_test(test: str) -> Mapping[str, Column]:
    """The columns that a table can give for a kind of test, settings first."""
    settings = SETUPS[test].names()
    all_columns = {**columns_of([test]), JITTER: describe(JITTER)}
    return {
        name: column
        for name, column in sorted(all_columns.items(), key=lambda item: item[0] not in settings)
        if name in (*settings, *HOSTS, TIME)
        or (column.dtype != "string" and name not in _OF_NETLAB and not name.startswith("printed_"))
    }


def constant_value(test: str, name: str, text: str) -> Value | None:
    """The value of a column that is the same in every row. Returns and raises as ``Read`` does."""
    return text_reader(test, name, columns_of_test(test)[name].unit, ".")(text)


def text_reader(test: str, name: str, unit: str, decimal: str) -> Read:
    """The function that reads the texts of a column; numbers without a unit are in ``unit``."""
    if name in _READ:
        return _READ[name]
    column = columns_of_test(test)[name]
    if column.dtype == "boolean":
        return _truth
    if name in SETUPS[test].names():
        return _setting(name, column, unit, decimal)

    def measured(text: str) -> Value:
        exact = _exact(text, column.unit, unit, decimal)
        limit = MAX_RATE if column.unit == "bit/s" else MAX_VALUE
        if exact > limit:
            raise ValueError(f"{shown(text)} is more than {limit} {column.unit}".rstrip())
        if column.unit == "bit/s" and not exact:
            raise ValueError("0 is not a throughput; leave the field empty if nothing was measured")
        if column.dtype == "Int64":
            return _whole(text, exact) if column.unit in ("", "byte") else round(exact)
        return plain_number(exact)

    return measured


def table_number(text: str, known_unit: str, unit: str, decimal: str) -> tuple[str, Decimal]:
    """The number in a text, with a decimal point, and how many of netlab's units equal its unit. A
    unit in the text is used instead of ``unit``, the column's unit.
    """
    match = _QUANTITY.fullmatch(text.replace(",", ".", 1) if decimal == "," else text)
    if match is None:
        hint = ""
        if _WITH_COMMA.fullmatch(text):
            hint = "; write the number without separators of thousands"
        if decimal == "." and re.fullmatch(r"[0-9]+,[0-9]{1,2}", text):
            hint = "; state `decimal: ','` if the table has decimal commas"
        raise ValueError(f"{shown(text)} is not a plain number{hint}")
    factors = FACTORS[known_unit]
    own_unit = match[2] or unit
    if own_unit and own_unit not in factors:
        units = f"; known units: {', '.join(factors)}" if factors else "; this column has no unit"
        raise ValueError(f"{shown(text)}: {own_unit} is not a unit here{units}")
    return match[1], factors.get(own_unit, Decimal(1))


def _exact(text: str, known_unit: str, unit: str, decimal: str) -> Decimal:
    digits, factor = table_number(text, known_unit, unit, decimal)
    return Decimal(digits) * factor


def _setting(name: str, column: Column, unit: str, decimal: str) -> Read:
    row = ROWS[name]
    words: tuple[Value, ...] = get_args(row.type)
    absent_word = row.reads.word if isinstance(row.reads, Or) else None
    numbers = row.reads.reads if isinstance(row.reads, Or) else row.reads

    def read(text: str) -> Value | None:
        if absent_word is not None and text.lower() == absent_word:
            return None
        if words:
            for word in words:
                if text.lower() == str(word).lower():
                    return word
            raise ValueError(f"{shown(text)} is not one of {', '.join(map(str, words))}")
        if row.type is str:
            return text
        exact = _exact(text, column.unit, unit, decimal)
        if isinstance(numbers, Whole | NumberWithUnit):
            least, most = numbers.least, numbers.most
            if not least <= exact <= most:
                raise ValueError(f"{shown(text)} is not between {least:g} and {most:g}")
        elif exact > MAX_VALUE:
            raise ValueError(f"{shown(text)} is more than {MAX_VALUE}")
        return _whole(text, exact) if row.type is int else float(exact)

    return read


def _whole(text: str, exact: Decimal) -> int:
    if exact != exact.to_integral_value():
        raise ValueError(f"{shown(text)} is not a whole number")
    return int(exact)


def _truth(text: str) -> bool:
    is_true = text.lower() in ("true", "yes", "on", "1")
    if not is_true and text.lower() not in ("false", "no", "off", "0"):
        raise ValueError(f"{shown(text)} is neither true nor false")
    return is_true


def _pairing(text: str) -> str:
    for fault in wrong_pairing(text):
        raise ValueError(fault)
    return text


def _time(text: str) -> str:
    time = utc_of(text)
    if time is None:
        example = "2026-01-31T12:00:00Z (Z: UTC)"
        raise ValueError(f"{shown(text)} is not a time with its time zone, such as {example}")
    return utc_text(time)


_READ: Mapping[str, Read] = {
    TIME: _time,
    "pairing": _pairing,
    **dict.fromkeys(("server", "client"), lambda text: str(role_of(text))),
}
