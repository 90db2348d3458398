"""One flow of messages between two agents: who listens, who sends, and what each is asked.

A flow lives through four steps, each driven by a record of one of its two ends::

    listen → `ready` → connect → `window` → stop the sender → its `result` → stop the receiver
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from netlab.errors import ProbeError
from netlab.probe import Agent, Pending
from netlab.setups import Stream

PROBE_SLACK_S = 10.0
"""What a probe may take beyond warm-up and window before its own deadline ends the test."""

COUNT_DEADLINE_S = 600.0
"""Deadline of a trial that is bounded by a number of messages."""

Inbox = Callable[[Pending, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Window:
    """A common window in one agent's own monotonic clock, ns."""

    start_ns: int
    open_ns: int
    close_ns: int

    def keys(self) -> dict[str, int]:
        """The request keys that state it."""
        return {
            "start_ns": self.start_ns,
            "window_open_ns": self.open_ns,
            "window_close_ns": self.close_ns,
        }


@dataclass(slots=True)
class Side:
    """One end of a flow, and what has come from it."""

    agent: Agent
    role: str
    """``send`` or ``receive``."""
    address: str
    cpu: int | None = None
    window: Window | None = None
    pending: Pending | None = None
    result: Mapping[str, Any] | None = None
    fault: ProbeError | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more comes from it (or was asked of it yet)."""
        return self.result is not None or self.fault is not None or self.pending is None


@dataclass(slots=True)
class Flow:
    """Messages one way, between a listening and a connecting side."""

    name: str
    """Prefix of its keys in the record: empty, ``to_server_`` or ``to_client_``."""
    stream: Stream
    token: str
    listener: Side
    connector: Side
    inbox: Inbox
    connected_by: str = "client"
    """Which host's side connects: it decides about TCP timestamps, and with them the MSS."""
    stopped: bool = field(default=False)

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both ends, the listening one first."""
        return self.listener, self.connector

    @property
    def sender(self) -> Side:
        """The end that sends."""
        return self.listener if self.listener.role == "send" else self.connector

    @property
    def receiver(self) -> Side:
        """The end that receives."""
        return self.listener if self.listener.role == "receive" else self.connector

    @property
    def ended(self) -> bool:
        """Whether both ends have ended."""
        return all(side.ended for side in self.sides)

    def listen(self) -> None:
        """Ask the listening side to bind."""
        keys: dict[str, Any] = {"open": "listen", "bind": self.listener.address}
        port_range = self.listener.agent.host.port_range
        if port_range is not None:
            keys["port"] = f"{port_range[0]}-{port_range[1]}"
        self._start(self.listener, keys)

    def handle(self, side: Side, record: Mapping[str, Any]) -> None:
        """Take one record of ``side`` and do what follows from it."""
        kind = record["type"]
        if kind == "ready" and side is self.listener:
            self._connect(record)
        elif kind == "window" and side is self.receiver:
            self._stop_sender()
        elif kind == "result":
            side.result = record
            if side is self.sender and not self.receiver.ended:
                self._stop(self.receiver, sent=record.get("sent_messages", 0))
        elif kind == "error":
            side.fault = ProbeError(
                side.agent.host.name,
                str(record.get("error", "system")),
                errno=record.get("errno"),
                detail=str(record.get("detail") or record.get("key") or ""),
            )

    def abort(self) -> None:
        """End what still runs; results are of no use any more."""
        for side in self.sides:
            if not side.ended:
                self._stop(side, abort=1)

    def _connect(self, ready: Mapping[str, Any]) -> None:
        if not self.connector.ended:
            return
        address = ipaddress.ip_address(self.listener.address.partition("%")[0])
        host = f"[{self.listener.address}]" if address.version == 6 else self.listener.address
        ports = ready.get("ports") or ready["port"]
        keys: dict[str, Any] = {
            "open": "connect",
            "to": f"{host}:{ports}",
            "bind": self.connector.address,
        }
        if self.stream.source_port is not None:
            keys["port"] = self.stream.source_port
        if self.stream.interface is not None:
            keys["interface"] = self.stream.interface
        self._start(self.connector, keys)

    def _start(self, side: Side, keys: dict[str, Any]) -> None:
        keys |= self._common_keys() | (self._send_keys() if side.role == "send" else {})
        if side.role == "receive" and self.stream.receive == "spinning":
            keys["spin"] = 1
        if side.cpu is not None:
            keys["cpu"] = side.cpu
        if side.window is not None:
            keys |= side.window.keys()
        side.pending = side.agent.start(side.role, inbox=self.inbox, **keys)

    def _common_keys(self) -> dict[str, Any]:
        stream = self.stream
        keys: dict[str, Any] = {
            "kind": "stream",
            "proto": stream.protocol.lower(),
            "token": self.token,
            "message": stream.message_bytes,
            "streams": stream.streams,
            "deadline": f"{deadline_s(stream):.3f}",
        }
        if stream.duration_s is not None:
            keys["seconds"] = decimal(stream.duration_s)
        if stream.count is not None:
            keys["count"] = stream.count
        if stream.warm_up_s:
            keys["warm_up"] = decimal(stream.warm_up_s)
        if stream.socket_buffer_bytes is not None:
            keys["socket_buffer"] = stream.socket_buffer_bytes
        if stream.nodelay and stream.protocol == "TCP":
            keys["nodelay"] = 1
        if stream.dont_fragment and stream.protocol == "UDP":
            keys["dont_fragment"] = 1
        if stream.dscp is not None:
            keys["dscp"] = stream.dscp
        return keys

    @property
    def chooses_congestion(self) -> bool:
        """Whether the sender is told its congestion control: only it matters, and it must be able.

        Windows lets no program choose; it keeps its own then, and the record says so.
        """
        return (
            self.stream.congestion is not None
            and self.stream.protocol == "TCP"
            and "congestion" in str(self.sender.agent.hello.get("capabilities", "")).split(",")
        )

    def _send_keys(self) -> dict[str, Any]:
        keys: dict[str, Any] = {}
        if self.chooses_congestion:
            keys["congestion"] = self.stream.congestion
        if self.stream.rate_bit_per_s is not None:
            keys["rate"] = decimal(self.stream.rate_bit_per_s)
        if self.stream.message_rate_per_s is not None:
            keys["message_rate"] = decimal(self.stream.message_rate_per_s)
        return keys

    def _stop_sender(self) -> None:
        if not self.stopped and not self.sender.ended:
            self.stopped = True
            self._stop(self.sender)

    def _stop(self, side: Side, **keys: Any) -> None:
        if side.pending is not None:
            side.agent.start("stop", test=side.pending.id, **keys)


def deadline_s(stream: Stream) -> float:
    """How long a probe lets a trial of these settings live."""
    if stream.duration_s is None:
        return COUNT_DEADLINE_S
    return stream.warm_up_s + stream.duration_s + PROBE_SLACK_S


def decimal(number: float) -> str:
    """A number as the protocol writes it: plain decimal, no exponent, no trailing zeros."""
    return f"{number:.9f}".rstrip("0").rstrip(".")
