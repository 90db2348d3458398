"""The lines of the control protocol: encodes requests and decodes records. No I/O.

A request goes to a probe (netlab's program on a host). A record is a line of JSON from the probe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from netlab.terminal import excerpt

BAD_ANSWER = "bad-answer"
"""Reason of a failed trial whose probe sent invalid records."""
LINE_MOST_BYTES = 1 << 16
"""Maximum length of a record; a longer line is dropped."""


def request_line(request_id: str, verb: str, keys: Mapping[str, Any]) -> bytes:
    """``ID VERB key=value …`` with its line feed, as in docs/protocol.md."""
    words = [request_id, verb, *(f"{key}={_encoded(value)}" for key, value in keys.items())]
    return " ".join(words).encode("ascii") + b"\n"


def decimal(number: float) -> str:
    """A number in the protocol's form: at most nine decimals, no exponent, no trailing zeros."""
    return f"{number:.9f}".rstrip("0").rstrip(".")


class RecordReader:
    """Splits the output of a probe into records, in bounded memory for any input."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._dropping = False

    def feed(self, part: bytes) -> Iterator[dict[str, Any] | bytes]:
        """Yields each record that ``part`` completes.

        A line that is not a record, such as a login's banner, is yielded as bytes. A record that is
        incomplete or too long becomes an ``error`` with the same id.
        """
        *ends, rest = part.split(b"\n")
        for end in ends:
            self._rest += end
            line = bytes(self._rest)
            self._rest.clear()
            yield line if self._dropping else record_in(line)
            self._dropping = False
        self._rest += rest
        if len(self._rest) > LINE_MOST_BYTES:
            fragment = bytes(self._rest)
            self._rest.clear()
            yield fragment if self._dropping else _broken(fragment, fragment)
            self._dropping = True


def record_in(line: bytes) -> dict[str, Any] | bytes:
    """The record that a line consists of or ends with; the line itself if it has no record.

    A prompt or a colour code may precede the record. A host may write its own names in another
    encoding, or the whole line in a 16-bit encoding.
    """
    if len(line) > LINE_MOST_BYTES:
        return _broken(line, line)
    narrow = line if _BEGINNING in line else line.replace(b"\0", b"")
    start = narrow.find(_BEGINNING)
    for text in (line, narrow[start:]) if start >= 0 else (line,):
        try:
            record = json.loads(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("type"), str):
            return record
    return line if start < 0 else _broken(narrow[start:], line)


_BEGINNING = b'{"type":'
_NAMED = re.compile(rb'\{"type":"[a-z]{1,20}","id":"([A-Za-z0-9._-]{1,32})"')
_BEFORE_BYTES = 256
"""The id of a broken record is looked for in this many bytes."""


def _broken(text: bytes, line: bytes) -> dict[str, Any] | bytes:
    """An ``error`` record with the id that the broken record in ``text`` has; ``line`` if it has no
    id.
    """
    match = _NAMED.search(text, 0, _BEFORE_BYTES)
    if match is None:
        return line
    beginning = excerpt(text[match.start() :].decode("utf-8", "replace"))
    detail = f"an incomplete record, or one of more than {LINE_MOST_BYTES} bytes: {beginning}"
    return {"type": "error", "id": match[1].decode("ascii"), "error": BAD_ANSWER, "detail": detail}


_SAFE = "/:,.[]@+~=-_"
_PLAIN = re.compile(r"[A-Za-z0-9/:,.\[\]@+~=_-]+", re.ASCII)


def _encoded(value: Any) -> str:
    """A value as text, with spaces and control characters written as ``%XX``."""
    text = str(value)
    return text if _PLAIN.fullmatch(text) else quote(text, safe=_SAFE) or "%00"
