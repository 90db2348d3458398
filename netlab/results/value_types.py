"""Checks that settings and values have the types of their documented columns.

A run folder may come from elsewhere, and later code relies on numbers where numbers are expected.
A run has tens of thousands of records, but few shapes: names and types of a record's values.
Whatever depends on these alone is checked once per shape; only numbers and series are checked for
each record.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from functools import lru_cache
from typing import Any, Literal

from netlab.kinds import SETUPS
from netlab.messages import _
from netlab.results.columns import SERIES, describe, is_listed
from netlab.results.tcp_series import TCP_SERIES
from netlab.store.journal import COUNTS, PackedValues, RunCheck
from netlab.trial.record import HEADLINE_ENDINGS, LARGEST_FLOAT, Value

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

_LARGEST_SHOWN = 2**1000
"""Maximum of undocumented numbers, within the range of a float."""

_NUMBERS = ("a number", "a number of 0 or more", "anything flat")


@dataclass(slots=True)
class ValueShape:
    """Positions of the values that must be checked in each record of this shape."""

    whole: list[int] = field(default_factory=list)
    """Positions of whole numbers; ``large``: of those that are not documented."""
    large: list[int] = field(default_factory=list)
    truths: list[int] = field(default_factory=list)
    """Positions of truth values that are whole numbers."""
    floats: list[int] = field(default_factory=list)
    not_negative: list[int] = field(default_factory=list)
    lists: list[tuple[int, ValueKind]] = field(default_factory=list)

    def fits(self, values: Sequence[Value]) -> bool:
        """Whether values of this shape have the types that their names require."""
        integers = [values[place] for place in self.whole]
        floats = [values[place] for place in self.floats]
        least = [values[place] for place in self.not_negative]
        return (
            (not integers or (min(integers) > -LARGEST and max(integers) < LARGEST))  # type: ignore[operator]
            and all(-_LARGEST_SHOWN < values[place] < _LARGEST_SHOWN for place in self.large)  # type: ignore[operator]
            and all(values[place] in (0, 1) for place in self.truths)
            and floats_fit(floats)  # type: ignore[arg-type]
            and (not least or min(least) >= 0)  # type: ignore[operator]
            and all(list_fits(values[place], kind) for place, kind in self.lists)  # type: ignore[arg-type]
        )


def floats_fit(values: Sequence[float]) -> bool:
    """Whether all floats are numbers of a size that a record may hold."""
    return all(map(LARGEST_FLOAT.__ge__, map(abs, values)))


def list_fits(values: Sequence[object], kind: ValueKind) -> bool:
    """Whether a series is of this kind."""
    if isinstance(values, array):  # its numbers have one type, and are in the range of this type
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
    if kind == "a list of sizes":
        return values.typecode in COUNTS and min(values) >= 1
    if kind == "a list of whole numbers":
        return values.typecode in COUNTS
    if kind not in ("a list of numbers", "anything flat"):
        return False
    return values.typecode != "d" or floats_fit(values)


NAME = re.compile(r"[a-z][a-z0-9_]{0,127}")
"""Names of settings and values: each becomes a column."""

_MOST_SHOWN = 60
_SIZES = ("message_bytes", "frame_bytes")
"""Sizes that a cell needs; an imported table may lack them."""
_SERIES = frozenset((*SERIES, "loss_own_drops", "captured_frames", "captured_next_frames"))
TIMES_OF_AN_END = ("_gaps", "_gap_queue_full", "_late_ticks", *(f"_{name}" for name in TCP_SERIES))
COUNTS_OF_AN_END = ("_gap_count", "_gap_total_ns")
"""Endings of the names of values that one end (sender, receiver, client, server) records. Such a
name begins with the prefixes of its flow and its end."""
HEADLINES = (*HEADLINE_ENDINGS, "rtt_mean_ns")
"""Figures that a report shows and compares: they are never below 0."""


def check_settings(test: str, settings: Mapping[str, Value]) -> None:
    """ValueError for settings that no cell of this kind of test can have; see ``check_values``."""
    for name in _needed(test):
        if name not in settings:
            raise ValueError(f"a cell of the test {test} lacks {name}")
    for name in _SIZES:
        size = settings.get(name, 1)
        if type(size) is not int or size < 1:
            raise ValueError(f"{name} is {size!r:.60}, and should be a whole number above 0")
    check_values(settings)


@lru_cache(maxsize=64)
def _needed(test: str) -> tuple[str, ...]:
    defaults = SETUPS[test].defaults().items() if test in SETUPS else ()
    return tuple(name for name, default in defaults if default is MISSING and name not in _SIZES)


def check_values(values: Mapping[str, Value]) -> None:
    """ValueError, with a sentence, for the first value that its column cannot hold."""
    own = values.held if isinstance(values, PackedValues) else tuple(values.values())
    shape = _shape_of(tuple(values), tuple(map(type, own)))
    if shape is not None and shape.fits(own):
        return
    for name, value in values.items():
        if NAME.fullmatch(name) is None:
            raise ValueError(_("{name} is not a valid name", name=ascii(name)[:_MOST_SHOWN]))
        shape = _shape_of((name,), (type(value),))
        if shape is None or not shape.fits((value,)):
            text = repr(value)
            shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
            raise ValueError(f"{name} is {shown}, and should be {_kind(name)}")


def misfit(values: Mapping[str, Value]) -> str | None:
    """The error message of ``check_values``; ``None`` if all values fit."""
    try:
        check_values(values)
    except ValueError as error:
        return str(error)
    return None


@lru_cache(maxsize=4096)
def _kind(name: str) -> ValueKind:
    """The kind of a column's values; an undocumented column may hold any flat data."""
    column = describe(name)
    if name in _SERIES or name.startswith("trial_"):
        return "a list of sizes" if name.endswith("_bytes") else "a list of numbers"
    if name.endswith(TIMES_OF_AN_END):
        return "a list of whole numbers"
    if column.dtype == "string":
        return "a text" if is_listed(name) and not column.unit else "anything flat"
    if name.endswith((*HEADLINES, *COUNTS_OF_AN_END)):
        return "a number of 0 or more"
    if not is_listed(name):
        return "anything flat"
    return "a truth value" if column.dtype == "boolean" else "a number"


@lru_cache(maxsize=4096)  # limited: a file from elsewhere may have a new shape in each line
def _shape_of(names: tuple[str, ...], types: tuple[type, ...]) -> ValueShape | None:
    """The shape of values with these names and types. ``None`` if a name is invalid, or if a type
    does not fit its name.
    """
    if not all(map(NAME.fullmatch, names)):
        return None
    shape = ValueShape()
    for place, (value_type, kind) in enumerate(zip(types, map(_kind, names), strict=True)):
        if value_type is bool and kind in ("a truth value", "anything flat"):
            continue
        if value_type is str and kind in ("a text", "anything flat"):
            continue
        if value_type in (list, array):
            shape.lists.append((place, kind))
        elif value_type is int and kind in ("a truth value", "anything flat"):
            (shape.large if kind == "anything flat" else shape.truths).append(place)
        elif value_type in (int, float) and kind in _NUMBERS:
            (shape.whole if value_type is int else shape.floats).append(place)
            if kind == "a number of 0 or more":
                shape.not_negative.append(place)
        else:
            return None
    return shape


RUN_CHECK = RunCheck(settings=check_settings, values=check_values)
"""The checks of a run folder when it is read."""
