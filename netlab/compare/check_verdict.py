"""The verdicts of a check about an expectation or a cell, the worst first."""

from __future__ import annotations

from typing import Literal

CheckVerdict = Literal["met", "not met", "cannot be judged"]

WORST_FIRST: tuple[CheckVerdict, ...] = ("not met", "cannot be judged", "met")
