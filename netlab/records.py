"""Records: what one trial left behind, a result or a failure with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

Value = str | int | float | bool | list[int] | list[float]
"""What a field of a record may hold. Never NaN, never a sentinel: what is not known is absent."""


class Status(StrEnum):
    """How a trial ended."""

    OK = "ok"
    FAILED = "failed"
    """Something went wrong; tried again on resume."""
    IMPOSSIBLE = "impossible"
    """The host or the protocol refuses it; final, not tried again, no error of the run."""
    PENDING = "pending"
    """Its host is away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one trial left. ``values`` holds what was measured; absent means not known."""

    cell: str
    """Key of the cell."""
    trial: int
    """From 1."""
    attempt: int
    """From 1; above 1 where the trial was tried again."""
    status: Status
    pairing: str
    server: str
    """Name of the host, empty where none was chosen."""
    client: str
    test: str
    started_at: str
    """Wall clock of the controller, ISO 8601, UTC, microseconds."""
    settings: Mapping[str, Value]
    """Everything that was requested, units in the key; absent means the host's default."""
    values: Mapping[str, Value]
    """Everything that was measured, units in the key."""
    reason: str | None = None
    """A word of the closed list, for every status but ``ok``."""
    errno: int | None = None
    """The number behind the reason, in the host's own numbering."""
    detail: str | None = None
    """One sentence for people."""
