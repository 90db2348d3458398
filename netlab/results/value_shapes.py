"""Shapes: fast checks of records that have the same names and types of values. No I/O.

A record holds the result of one trial. The names and types of a record's values are its shape. A
run has tens of thousands of records and few shapes. Whatever depends on names and types alone is
checked once per shape; for each record, only its numbers and series are checked.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from netlab.store.journal import COUNTS, PackedValues
from netlab.trial.record import LARGEST_FLOAT, Value

ValueKind = Literal[
    "a truth value",
    "a number",
    "a number of 0 or more",
    "a text",
    "a list of numbers",
    "a list of sizes",
    "a list of whole numbers",
    "anything flat",
]

LARGEST = 2**64
"""Whole numbers must be below this: counters have 64 bits."""

_NUMBERS = ("a number", "a number of 0 or more", "anything flat")
_Places = tuple[int, ...]


@dataclass(slots=True)
class ValueShape:
    """Positions of the values that must be checked in each record of this shape."""

    whole: list[int] = field(default_factory=list)
    """Positions of whole numbers."""
    floats: list[int] = field(default_factory=list)
    not_negative: list[int] = field(default_factory=list)
    lists: list[tuple[int, ValueKind]] = field(default_factory=list)

    def fits(self, values: Sequence[Value]) -> bool:
        """Whether values of this shape have the types that their names require.

        Also ``False`` if a value needs the slower check (``check_values`` in value_types.py): an
        undocumented whole number may be larger than others.
        """
        integers = [values[place] for place in self.whole]
        floats = [values[place] for place in self.floats]
        least = [values[place] for place in self.not_negative]
        return (
            (not integers or (min(integers) > -LARGEST and max(integers) < LARGEST))  # type: ignore[operator]
            and floats_fit(floats)  # type: ignore[arg-type]
            and (not least or min(least) >= 0)  # type: ignore[operator]
            and all(list_fits(values[place], kind) for place, kind in self.lists)  # type: ignore[arg-type]
        )


_NEW = ValueShape()
"""Marks a shape that has not been computed yet."""


def shape_of(types: Sequence[type], kinds: Sequence[ValueKind]) -> ValueShape | None:
    """The shape of values of these types, expected to be of these kinds.

    ``None`` if a type does not fit its kind, or if a value needs the slower check.
    """
    shape = ValueShape()
    for place, (value_type, kind) in enumerate(zip(types, kinds, strict=True)):
        if value_type is bool and kind in ("a truth value", "anything flat"):
            continue
        if value_type is str and kind in ("a text", "anything flat"):
            continue
        if value_type in (list, array):
            shape.lists.append((place, kind))
        elif value_type in (int, float) and kind in _NUMBERS:
            (shape.whole if value_type is int else shape.floats).append(place)
            if kind == "a number of 0 or more":
                shape.not_negative.append(place)
        else:
            return None
    return shape


def floats_fit(values: Sequence[float]) -> bool:
    """Whether all floats are numbers of a size that a record may hold."""
    return all(map(LARGEST_FLOAT.__ge__, map(abs, values)))


def list_fits(values: Sequence[object], kind: ValueKind) -> bool:
    """Whether a series is of this kind."""
    if isinstance(values, array):
        return _numbers_fit(values, kind)
    kinds = set(map(type, values))
    if kind in ("a list of sizes", "a list of whole numbers"):
        least = 1 if kind == "a list of sizes" else 0
        return not kinds or (kinds == {int} and least <= min(values) and max(values) < LARGEST)  # type: ignore[type-var,operator]
    if kind not in ("a list of numbers", "anything flat") or not kinds <= {int, float, bool}:
        return False
    integers = [value for value in values if type(value) is int] if float in kinds else values
    if integers and not (min(integers) > -LARGEST and max(integers) < LARGEST):  # type: ignore[type-var,operator]
        return False
    return float not in kinds or floats_fit(values)  # type: ignore[arg-type]


def _numbers_fit(values: array[Any], kind: ValueKind) -> bool:
    """``list_fits`` for an array, whose numbers have one type and are in the range of this type."""
    if kind == "a list of sizes":
        return values.typecode in COUNTS and min(values) >= 1
    if kind == "a list of whole numbers":
        return values.typecode in COUNTS
    if kind not in ("a list of numbers", "anything flat"):
        return False
    return values.typecode != "d" or floats_fit(values)


class Shapes:
    """The shapes seen so far."""

    _MOST = 4096
    """Maximum number of shapes kept: a file from elsewhere may have a new shape in each line."""

    def __init__(self, kinds_of: Callable[[tuple[str, ...]], tuple[ValueKind, ...] | None]) -> None:
        self._kinds_of = kinds_of
        """Returns the kinds of the values of these names; ``None`` if a name is invalid."""
        self._seen: dict[tuple[tuple[str, ...], tuple[type, ...]], ValueShape | None] = {}

    def fit(self, values: Mapping[str, Value]) -> bool:
        """Whether all values of a record have the types that their names require.

        Also ``False`` if a value needs the slower check.
        """
        own = values.held if isinstance(values, PackedValues) else tuple(values.values())
        key = tuple(values), tuple(map(type, own))
        shape = self._seen.get(key, _NEW)
        if shape is _NEW:
            if len(self._seen) >= self._MOST:
                self._seen.clear()
            kinds = self._kinds_of(key[0])
            shape = self._seen[key] = None if kinds is None else shape_of(key[1], kinds)
        return shape is not None and shape.fits(own)
