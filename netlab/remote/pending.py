"""A request to an agent that is under way, and the records that answer it."""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Mapping
from typing import Any

from netlab.errors import HostGone, ProbeError
from netlab.remote.answers import Answers
from netlab.terminal import excerpt
from netlab.units import format_seconds

STREAMING = frozenset({"ready", "progress", "window", "trips"})
"""Types of records after which more come."""
GONE = "gone"
"""Type of the record that an inbox gets when the host is lost."""

ADVICE = {
    ("capability-missing", "congestion"): (
        "or set another `congestion` in the matrix, or none for the host's own"
    ),
}
"""What a person can do at the matrix about a fault, by its word and the request's key: what can be
done at the host its probe says."""

LOGGED = ("hello", "facts", "lock", "unlock")
"""Requests that are logged once they are answered: the others are of a trial, which has a record,
or come without end."""
_LOG = logging.getLogger(__name__)

DETAIL_CHARACTERS = 500
"""Of a host's own sentence about a fault so much is kept."""

Inbox = Callable[["Pending", Mapping[str, Any]], None]


class Pending:
    """A request under way; its records come one by one, no more than ``answers`` lets pass."""

    def __init__(self, host: str, request_id: str, inbox: Inbox | None, answers: Answers) -> None:
        self.id = request_id
        self.answers = answers
        self._host = host
        self._inbox = inbox
        self._asked_at = time.monotonic()
        self._records: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()

    def record(self, timeout_s: float) -> Mapping[str, Any]:
        """The next record; ProbeError for an error record, HostGone when the host is lost."""
        try:
            record = self._records.get(timeout=timeout_s)
        except queue.Empty:
            detail = f"nothing in {timeout_s:g} s"
            raise ProbeError(self._host, "no-answer", detail=detail) from None
        if record["type"] == GONE:
            raise HostGone(str(record["detail"]))
        if record["type"] == "error":
            raise fault_in(self._host, record)
        return record

    def deliver(self, record: Mapping[str, Any]) -> None:
        """From the reading thread."""
        if self.answers.asked.startswith(LOGGED):
            took = format_seconds(time.monotonic() - self._asked_at)
            what = "an error" if record["type"] == "error" else f"{len(record)} keys"
            _LOG.debug("%s: asked %s: %s after %s", self._host, self.answers.asked, what, took)
        if self._inbox is not None:
            self._inbox(self, record)
        else:
            self._records.put(record)


def fault_in(host: str, record: Mapping[str, Any]) -> ProbeError:
    """What an ``error`` record says."""
    path_mtu_bytes = record.get("path_mtu_bytes")
    word, key = str(record.get("error", "unknown-error")), str(record.get("key") or "")
    said = excerpt(str(record.get("detail") or key), DETAIL_CHARACTERS)
    return ProbeError(
        host,
        word,
        errno=record.get("errno"),
        detail="; ".join(filter(None, (said, ADVICE.get((word, key))))),
        path_mtu_bytes=path_mtu_bytes if isinstance(path_mtu_bytes, int) else None,
    )
