"""Checks that settings and values have the types of their documented columns. No I/O.

A run folder may come from elsewhere, and later code relies on numbers where numbers are expected.
A cell is one combination of two hosts, test and settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING
from functools import lru_cache

from netlab.kinds import SETUPS
from netlab.messages import _
from netlab.results.columns import SERIES, describe, is_listed
from netlab.results.tcp_series import TCP_SERIES
from netlab.results.value_shapes import LARGEST, Shapes, ValueKind, list_fits
from netlab.store.reader import RunCheck
from netlab.trial.record import HEADLINE_ENDINGS, LARGEST_FLOAT, Value

NAME = re.compile(r"[a-z][a-z0-9_]{0,127}")
"""Names of settings and values: each becomes a column."""

_LARGEST_SHOWN = 2**1000
"""Maximum of undocumented numbers, within the range of a float."""
_MOST_SHOWN = 60
_SIZES = ("message_bytes", "frame_bytes")
"""Sizes that a cell needs; an imported table may lack them."""
_SERIES = frozenset(
    {
        *SERIES,
        *("loss_own_drops", "captured_frames", "captured_next_frames"),
    }
)
TIMES_OF_AN_END = (
    *("_gaps", "_gap_queue_full", "_late_ticks"),
    *(f"_{name}" for name in TCP_SERIES),
)
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
    """The settings that every cell of a kind of test must have."""
    defaults = SETUPS[test].defaults().items() if test in SETUPS else ()
    return tuple(name for name, default in defaults if default is MISSING and name not in _SIZES)


def check_values(values: Mapping[str, Value]) -> None:
    """ValueError, with a sentence, for the first value that its column cannot hold."""
    if _SHAPES.fit(values):
        return
    for name, value in values.items():
        if NAME.fullmatch(name) is None:
            raise ValueError(_("{name} is not a valid name", name=ascii(name)[:_MOST_SHOWN]))
        kind = _kind(name)
        if not _fits(value, kind):
            text = repr(value)
            text = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
            raise ValueError(f"{name} is {text}, and should be {kind}")


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


def _fits(value: object, kind: ValueKind) -> bool:
    if isinstance(value, list):
        return list_fits(value, kind)
    if isinstance(value, bool) or (kind == "a truth value" and value in (0, 1)):
        return kind in ("a truth value", "anything flat")
    if isinstance(value, str):
        return kind in ("a text", "anything flat")
    above = kind != "a number of 0 or more" or (isinstance(value, int | float) and value >= 0)
    most = _LARGEST_SHOWN if kind == "anything flat" else LARGEST
    return kind.startswith(("a number", "anything")) and _is_number(value, most) and above


def _is_number(value: object, most: int) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST_FLOAT if isinstance(value, float) else -most < value < most


def _kinds(names: tuple[str, ...]) -> tuple[ValueKind, ...] | None:
    """The kinds of the values of these names; ``None`` if a name is invalid."""
    return tuple(map(_kind, names)) if all(map(NAME.fullmatch, names)) else None


_SHAPES = Shapes(_kinds)

RUN_CHECK = RunCheck(settings=check_settings, values=check_values)
"""The checks of a run folder when it is read."""
