"""One column of a run's DataFrame: its type, unit and meaning. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dtype = Literal["Int64", "Float64", "string", "boolean"]


@dataclass(frozen=True, slots=True)
class Column:
    """Type, unit and meaning of one column."""

    dtype: Dtype
    unit: str
    """Empty for words, counts and shares."""
    meaning: str
