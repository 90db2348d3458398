"""The contract of columns: whether what was measured fits the column that it becomes. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache

from netlab.experiment.records import HEADLINE_ENDINGS
from netlab.results.columns import Dtype, describe, is_documented


def misfit(values: Mapping[str, object]) -> str | None:
    """The first value that its column cannot hold, in a sentence without its full stop.

    ``None`` where all fit. A column that is not documented holds what is flat and finite.
    """
    for name, value in values.items():
        dtype = _dtype_of(name)
        if name.endswith(_HEADLINES) and isinstance(value, int | float) and value < 0:
            return f"{name} is {value}, and is never below 0"
        if not (_is_flat(value) if dtype == "string" else _HOLDS[dtype](value)):
            kind = "a text, a number or a list of these" if dtype == "string" else dtype
            shown = repr(value)
            return f"{name} is {shown[:60]}, and its column holds {kind}"
    return None


@lru_cache(maxsize=4096)
def _dtype_of(name: str) -> Dtype:
    """A column's dtype; ``string``, which holds anything, of those that are not documented."""
    return describe(name).dtype if is_documented(name) else "string"


def _is_number(value: object) -> bool:
    if type(value) is int:
        return -(1 << 63) <= value < 1 << 64
    return type(value) is float and math.isfinite(value)


def _is_flat(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(each, str | bool) or _is_number(each) for each in value)
    return isinstance(value, str | bool) or _is_number(value)


_HEADLINES = (*HEADLINE_ENDINGS, "rtt_mean_ns")

_HOLDS: Mapping[Dtype, Callable[[object], bool]] = {
    "boolean": lambda value: value in (0, 1),
    "Int64": _is_number,  # a mean of whole numbers is none: the frame widens its column
    "Float64": _is_number,
}
