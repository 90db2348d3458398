"""The lines of the control protocol: requests as bytes, bytes as records. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

LINE_MOST_BYTES = 1 << 16
"""Of a record; a longer line is dropped."""


def request_line(request_id: str, verb: str, keys: Mapping[str, Any]) -> bytes:
    """``ID VERB key=value …`` with its line feed, as docs/protocol.md has it."""
    words = [request_id, verb, *(f"{key}={_encoded(value)}" for key, value in keys.items())]
    return " ".join(words).encode("ascii") + b"\n"


def decimal(number: float) -> str:
    """A number as the protocol writes it: plain decimal, no exponent, no trailing zeros."""
    return f"{number:.9f}".rstrip("0").rstrip(".")


class RecordReader:
    """Splits what a probe prints into records, in bounded memory, whatever it is."""

    def __init__(self) -> None:
        self._rest = b""
        self._dropping = False

    def feed(self, part: bytes) -> Iterator[dict[str, Any] | bytes]:
        """Each record that ``part`` completes; as bytes what is none, such as a login's banner."""
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            yield line if self._dropping or len(line) > LINE_MOST_BYTES else _record_in(line)
            self._dropping = False
        if len(self._rest) > LINE_MOST_BYTES:
            dropped, self._rest, self._dropping = self._rest, b"", True
            yield dropped


def _record_in(line: bytes) -> dict[str, Any] | bytes:
    """The record that a line is, or ends with: a prompt or a colour may stand before it."""
    start = line.find(b'{"type":')
    for text in (line, line[start:]) if start > 0 else (line,):
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("type"), str):
            return record
    return line


def _encoded(value: Any) -> str:
    """No space and no control character: ``%XX`` in their place."""
    return quote(str(value), safe="/:,.[]@+~=-_") or "%00"
