"""A pending request to an agent, and the records that answer it."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Mapping
from typing import Any

from netlab import clock
from netlab.errors import HostGone, ProbeError
from netlab.remote.answers import Answers
from netlab.terminal import excerpt
from netlab.units import format_seconds

STREAMING = frozenset(
    {"ready", "progress", "window", "trips", "started", "output", "leftover"},
)
"""Types of records that are followed by further records of the same request."""
GONE = "gone"
"""Type of the record that an inbox gets if the host is lost."""

ADVICE = {
    ("capability-missing", "congestion"): (
        "or set another `congestion` in the matrix, or none to use the host's default"
    ),
}
"""(reason, key of the request) → what a person can change in the matrix. The probe itself reports
what can be changed at the host."""

LOGGED = frozenset({"hello", "facts", "lock", "unlock"})
"""Requests whose answers are logged. The other requests belong to a trial (a measurement), whose
result is stored, or are sent again and again."""
_LOG = logging.getLogger(__name__)

DETAIL_CHARACTERS = 500
"""Length to which a host's own sentence about a fault is cut."""

Inbox = Callable[["Pending", Mapping[str, Any]], None]


class Pending:
    """A request and its records; ``answers`` validates and limits them."""

    def __init__(self, host: str, request_id: str, inbox: Inbox | None, answers: Answers) -> None:
        self.id = request_id
        self.answers = answers
        self._host = host
        self._inbox = inbox
        self._asked_at = clock.monotonic()
        self._records: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()

    def record(self, timeout_s: float) -> Mapping[str, Any]:
        """The next record; ProbeError for an error record or a timeout, HostGone if the host is
        lost.
        """
        try:
            record = clock.get(self._records, timeout_s)
        except queue.Empty:
            detail = f"nothing in {timeout_s:g} s"
            raise ProbeError(self._host, "no-answer", detail=detail) from None
        if record["type"] == GONE:
            raise HostGone(str(record["detail"]))
        if record["type"] == "error":
            raise fault_in(self._host, record)
        return record

    def deliver(self, record: Mapping[str, Any]) -> None:
        """Pass on a record; the reading thread calls it."""
        if self.answers.verb in LOGGED and _LOG.isEnabledFor(logging.DEBUG):
            took = format_seconds(clock.monotonic() - self._asked_at)
            summary = "an error" if record["type"] == "error" else f"{len(record)} keys"
            _LOG.debug("%s: asked %s: %s after %s", self._host, self.answers.asked, summary, took)
        if self._inbox is not None:
            self._inbox(self, record)
        else:
            self._records.put(record)


def fault_in(host: str, record: Mapping[str, Any]) -> ProbeError:
    """The ProbeError that reports the fault in an ``error`` record."""
    path_mtu_bytes = record.get("path_mtu_bytes")
    word, key = str(record.get("error", "unknown-error")), str(record.get("key") or "")
    detail = excerpt(str(record.get("detail") or key), DETAIL_CHARACTERS)
    return ProbeError(
        host,
        word,
        errno=record.get("errno"),
        detail="; ".join(filter(None, (detail, ADVICE.get((word, key))))),
        path_mtu_bytes=path_mtu_bytes if isinstance(path_mtu_bytes, int) else None,
    )
