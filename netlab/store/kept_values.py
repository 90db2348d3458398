"""What is kept in memory of a record that was read: its values, as small as they can be. Pure.

A run has tens of thousands of records with some hundred values each, and few sets of names. The
names are kept once for all records that have the same ones, and series as machine numbers.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from functools import lru_cache
from typing import Any

from netlab.experiment.records import Value

_LONGEST_SHARED = 64
"""Characters of a text of which one copy is kept: names of hosts and the like."""
_SIZES = (("B", 1 << 8), ("H", 1 << 16), ("I", 1 << 32), ("Q", 1 << 64))
"""Types of whole numbers from 0 on, and what is above them."""
_COUNTS = frozenset(code for code, _above in _SIZES)
_PLAIN = frozenset({int, float, bool})
_MOST_SETS = 4096
"""Sets of names that are kept; of more, records have each their own."""


class KeptValues(Mapping[str, Value]):
    """The values of one record, in their order; a series is made anew as a list when asked for."""

    __slots__ = ("_held", "_places")

    def __init__(self, places: Mapping[str, int], held: tuple[Any, ...]) -> None:
        self._places = places
        self._held = held

    def __getitem__(self, name: str) -> Value:
        value: Value = _given(self._held[self._places[name]])
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """As of any mapping."""
        place = self._places.get(name)
        return default if place is None else _given(self._held[place])

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._held)

    def values(self) -> ValuesView[Value]:
        """As of any mapping."""
        return _Given(self)

    def items(self) -> ItemsView[str, Value]:
        """As of any mapping."""
        return _NamesGiven(self)

    def in_order(self) -> Iterator[Value]:
        """All values, by themselves."""
        return map(_given, self._held)

    def __repr__(self) -> str:
        return repr(dict(self))

    def counts(self, name: str) -> Sequence[int] | None:
        """A series of whole numbers from 0 on as it is kept, which nobody may change; ``None``: it
        is none.
        """
        place = self._places.get(name)
        held = None if place is None else self._held[place]
        return held if type(held) is array and held.typecode in _COUNTS else None


class _Given(ValuesView[Value]):
    """Without looking each one up."""

    _mapping: KeptValues

    def __iter__(self) -> Iterator[Value]:
        return self._mapping.in_order()


class _NamesGiven(ItemsView[str, Value]):
    """Without looking each one up."""

    _mapping: KeptValues

    def __iter__(self) -> Iterator[tuple[str, Value]]:
        return zip(self._mapping, self._mapping.in_order(), strict=True)


def kept(values: Mapping[str, Value]) -> KeptValues:
    """The same values, kept small."""
    held = tuple(
        [each if type(each) in _PLAIN else _packed(each) for each in values.values()]  # type: ignore[arg-type]
    )
    return KeptValues(_places(tuple(values)), held)


def shared(text: str) -> str:
    """The one copy of a short text."""
    return sys.intern(text) if type(text) is str and len(text) <= _LONGEST_SHARED else text


@lru_cache(maxsize=_MOST_SETS)
def _places(names: tuple[str, ...]) -> Mapping[str, int]:
    return {shared(name): place for place, name in enumerate(names)}


def _packed(value: str | list[int] | list[float]) -> Any:
    return _as_array(value) if isinstance(value, list) else shared(value)


def _as_array(values: list[int] | list[float]) -> Any:
    """Machine numbers, where they are of one type and fit."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return array("d", values)
    if kinds != {int}:
        return values
    least, most = min(values), max(values)
    code = next((code for code, above in _SIZES if least >= 0 and most < above), "q")
    try:
        return array(code, values)
    except OverflowError:
        return values


def _given(held: Any) -> Any:
    return held.tolist() if type(held) is array else held


def all_shared(data: Any) -> Any:
    """JSON data whose names are the one copy of each."""
    if isinstance(data, dict):
        return {sys.intern(name): all_shared(each) for name, each in data.items()}
    return list(map(all_shared, data)) if isinstance(data, list) else data
