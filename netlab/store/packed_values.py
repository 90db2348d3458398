"""Compact storage of a record's values in memory.

A record holds the result of one trial. A run has tens of thousands of records with some hundred
values each, and few different sets of names. Records with the same names share one copy of the
names. A series of numbers is stored as an array of machine numbers.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from functools import lru_cache
from typing import Any

from netlab.experiment.records import Value

_LONGEST_SHARED = 64
"""Maximum number of characters of a text that is stored once for all records, such as the name of a
host."""
_CODES, _SIZES = "BHIQq", (1 << 8, 1 << 16, 1 << 32, 1 << 64)
"""Type codes of an array, and the first value that is too large for each unsigned one."""
COUNTS = frozenset("BHIQ")
"""The type codes of whole numbers of 0 or more."""
_MOST_SETS = 4096
"""Maximum number of sets of names that are shared; further records have their own copy."""


class PackedValues(Mapping[str, Value]):
    """The values of one record, in their order; each access to a series builds a new list."""

    __slots__ = ("_held", "_places")

    def __init__(self, places: Mapping[str, int], entries: tuple[Any, ...]) -> None:
        self._places = places
        self._held = entries

    def __getitem__(self, name: str) -> Value:
        value: Value = _as_value(self._held[self._places[name]])
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """As in any mapping."""
        place = self._places.get(name)
        if place is None:
            return default
        entry = self._held[place]
        return entry.tolist() if type(entry) is array else entry  # a report makes millions of calls

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._held)

    def values(self) -> ValuesView[Value]:
        """As in any mapping."""
        return _Values(self)

    def items(self) -> ItemsView[str, Value]:
        """As in any mapping."""
        return _Items(self)

    def in_order(self) -> Iterator[Value]:
        """All values without their names."""
        return map(_as_value, self._held)

    def __repr__(self) -> str:
        return repr(dict(self))

    @property
    def held(self) -> tuple[Any, ...]:
        """All values as they are stored; the series must not be changed."""
        return self._held

    def counts(self, name: str) -> Sequence[int] | None:
        """A series of whole numbers of 0 or more as it is stored; the caller must not change it.
        ``None`` if the value is anything else.
        """
        place = self._places.get(name)
        entry = None if place is None else self._held[place]
        return entry if type(entry) is array and entry.typecode in COUNTS else None


class _Values(ValuesView[Value]):
    """The values, without a look-up of each."""

    _mapping: PackedValues

    def __iter__(self) -> Iterator[Value]:
        return self._mapping.in_order()


class _Items(ItemsView[str, Value]):
    """Names and values, without a look-up of each."""

    _mapping: PackedValues

    def __iter__(self) -> Iterator[tuple[str, Value]]:
        return zip(self._mapping, self._mapping.in_order(), strict=True)


def packed_values(values: Mapping[str, Value]) -> PackedValues:
    """The same values in compact form."""
    entries: list[Any] = list(values.values())
    for place, kind in _other_places(tuple(map(type, entries))):
        value = entries[place]
        if kind is list:
            entries[place] = _as_array(value)
        elif len(value) <= _LONGEST_SHARED:
            entries[place] = sys.intern(value)  # as in ``shared``, without the cost of a call
    return PackedValues(_places(tuple(values)), tuple(entries))


@lru_cache(maxsize=_MOST_SETS)
def _other_places(types: tuple[type, ...]) -> tuple[tuple[int, type], ...]:
    """The places of texts and series, with their type."""
    return tuple((place, kind) for place, kind in enumerate(types) if kind in (str, list))


def shared(text: str) -> str:
    """The shared copy of a short text; a long text is returned itself."""
    return sys.intern(text) if type(text) is str and len(text) <= _LONGEST_SHARED else text


@lru_cache(maxsize=_MOST_SETS)
def _places(names: tuple[str, ...]) -> Mapping[str, int]:
    return {shared(name): place for place, name in enumerate(names)}


def _as_array(values: list[int] | list[float]) -> Any:
    """An array of machine numbers if all values have one type and fit; else the list itself."""
    # Many series have one number, because most trials have one stream.
    kind = type(values[0]) if len(values) == 1 else _one_type(values)
    if kind is float:
        return array("d", values)
    if kind is not int:
        return values
    code = _CODES[bisect_right(_SIZES, max(values))]
    try:
        return array(code, values)
    except OverflowError:  # below 0
        return _as_signed(values)


def _one_type(values: list[Any]) -> type | None:
    kinds = set(map(type, values))
    return kinds.pop() if len(kinds) == 1 else None


def _as_signed(values: list[Any]) -> Any:
    try:
        return array("q", values)
    except OverflowError:
        return values


def _as_value(entry: Any) -> Any:
    return entry.tolist() if type(entry) is array else entry


def all_shared(data: Any) -> Any:
    """The same JSON data with shared copies of its names."""
    if isinstance(data, dict):
        return {sys.intern(name): all_shared(value) for name, value in data.items()}
    return list(map(all_shared, data)) if isinstance(data, list) else data
