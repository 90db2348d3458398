"""One test of a tool or one row of a table, before it becomes a record (one trial's result)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netlab.experiment.records import Value

NOT_RECORDED = "not-recorded"
"""Reason of a result for which the output has a place but no figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """One test of a tool, from the output of the client, of the server, or of both."""

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
    """A word by which the outputs of client and server are recognised as one test; may be empty."""
    reason: str | None = None
    """Why there is no result: a word of netlab's fixed list; ``None`` if there is a result."""
    detail: str | None = None
    pairing: str = ""
    """The operating systems of the two hosts, server first, if the output names no hosts."""
    unread: tuple[str, ...] = ()
    """Sentences about what the output has and netlab does not understand."""
