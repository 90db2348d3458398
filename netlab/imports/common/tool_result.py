"""One test of a tool or one row of a table, before it becomes a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netlab.experiment.records import Value

NOT_RECORDED = "not-recorded"
"""Reason of a result that the output has a place for and no figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """One test of a tool, from the output of one side or of both."""

    file: str
    test: str
    server: str
    """Name or address, as printed; empty if the output has none."""
    client: str
    settings: Mapping[str, Value]
    values: Mapping[str, Value]
    started_at: str = ""
    """ISO 8601, UTC; empty if not stated."""
    identity: str = ""
    """A word that both sides print; empty if there is none."""
    reason: str | None = None
    """Reason of the closed list if there is no result."""
    detail: str | None = None
    pairing: str = ""
    """The systems of the two hosts, server first, if the output names these and no hosts."""
    unread: tuple[str, ...] = ()
    """What the output has and netlab does not understand, a sentence each."""
