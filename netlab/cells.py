"""Cells: Matrix → Cells, the product of the axes with exclusions and content keys. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Settings of one ``stream`` cell. ``None`` leaves the host's default alone."""

    protocol: Literal["TCP", "UDP"]
    message_bytes: int
    """Bytes handed to one send call, 1 to 2^24."""
    socket_buffer_bytes: int | None = None
    """SO_SNDBUF and SO_RCVBUF of both ends; ``None`` is ``auto``, the kernel's own tuning."""
    duration_s: float | None = 10.0
    """Length of the window; ``None`` where ``count`` bounds the trial."""
    count: int | None = None
    """Messages to send, in place of a duration."""
    warm_up_s: float = 0.0
    direction: Literal["client-sends", "server-sends", "both"] = "client-sends"
    streams: int = 1
    ip_version: Literal[4, 6] = 4
    congestion: str | None = None
    nodelay: bool = False
    dont_fragment: bool = False
    rate_bit_per_s: float | None = None
    """Offered payload rate, open loop; ``None`` sends as fast as the socket takes it."""
    message_rate_per_s: float | None = None
    dscp: int | None = None
    source_port: int | None = None
    interface: str | None = None
    receive: Literal["blocking", "spinning"] = "blocking"
    server_cpu: int | None = None
    client_cpu: int | None = None
    network: str | None = None
    """Name of the test addresses to use; ``None`` is the first of each host."""

    def settings(self) -> dict[str, Scalar]:
        """All that is set, as flat keys with their units; ``None`` is left out."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: value for name, value in pairs if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of pairing, test and every axis value."""

    pairing: str
    """Server first, such as ``WL``."""
    test: str
    stream: Stream

    @property
    def settings(self) -> Mapping[str, Scalar]:
        """All that is set, as flat keys with their units."""
        return self.stream.settings()

    @property
    def key(self) -> str:
        """Content key, readable and unique: ``LL-stream-tcp-64-16384-1a2b3c4d``."""
        content = {"pairing": self.pairing, "test": self.test, **self.settings}
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(canonical.encode()).hexdigest()[:8]
        buffer = self.stream.socket_buffer_bytes
        words = (
            self.pairing,
            self.test,
            self.stream.protocol.lower(),
            str(self.stream.message_bytes),
            "auto" if buffer is None else str(buffer),
            digest,
        )
        return "-".join(words)
